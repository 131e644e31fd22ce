"""Options that several commands share. Nothing heavy is imported here: ``--help`` reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..inputs import Choice, Table

#: The names in METHODS, which would take a second to import. A test compares the two.
METHOD_NAMES = (
    "kls-nmf",
    "ls-nmf",
    "gls-nmf",
    "wnmf",
    "onmf",
    "cnmf",
    "knmf",
    "rmnmf",
    "gnmf",
    "semi-nmf",
    "kernel-kmeans",
    "kmeans",
    "spectral",
)


class _Clusters(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number of clusters, or "auto"."""

    name = "number|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == "auto":
            return "auto"
        try:
            count = int(value)
        except ValueError:
            count = 0
        if count < 1:
            self.fail(
                f"{value!r} is not a number of clusters: give 1 or more, or auto.", param, ctx
            )
        return count


clusters = click.option(
    "-k",
    "--clusters",
    "k",
    type=_Clusters(),
    default="auto",
    show_default=True,
    help="The number of clusters; auto finds one.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors and the result.")
id_column = click.option("--id-column", metavar="NAME", help="The column with names of samples.")
columns = click.option(
    "--columns",
    multiple=True,
    metavar="A,B,...",
    help="The columns to cluster by. [default: all that hold numbers]",
)


def data(command: Callable[..., Any]) -> Callable[..., Any]:
    """DATA or --dataset, and the columns of a table."""
    for decorate in (
        click.option(
            "--label-column", metavar="NAME", help="The column with known classes, for scores."
        ),
        id_column,
        columns,
        click.option(
            "--dataset", metavar="NAME", help="A data set of `klsnmf data list` in place of DATA."
        ),
        click.argument("data", required=False, type=click.Path(path_type=Path)),
    ):
        command = decorate(command)
    return command


def choice(given: Sequence[str], id_column: str | None, label_column: str | None = None) -> Choice:
    """What the options say about columns."""
    from ..inputs import Choice
    from ..inputs.names import wanted_columns

    return Choice(wanted_columns(given) or None, id_column, label_column)


def read(data: Path | None, dataset: str | None, wanted: Choice) -> Table:
    """The samples that DATA or --dataset names."""
    from .. import inputs

    if (data is None) == (dataset is None):
        raise click.UsageError("Give DATA, a file or a folder of images; or --dataset NAME.")
    if data is not None:
        return inputs.read(data, wanted)
    assert dataset is not None
    if wanted.columns or wanted.id_column or wanted.label_column:
        raise click.UsageError("--dataset has no columns to choose: its classes are known.")
    return inputs.read_dataset(dataset)
