"""Options that several commands share. Nothing heavy is imported here: ``--help`` reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ..core.words import meant, plural
from ..io.errors import require_exists
from ..methods import METHODS

if TYPE_CHECKING:
    from ..io.table import Choice

PATH = click.Path(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


class _Clusters(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number of clusters, or "auto"."""

    name = "number|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == "auto":
            return "auto"
        with suppress(ValueError):
            if (count := int(value)) >= 1:
                return count
        self.fail(f"{value!r} is not a number of clusters: give 1 or more, or auto.", param, ctx)


class _Method(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """A name in METHODS; the error about another name suggests the most similar one."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value not in METHODS:
            self.fail(no_such("method", value, METHODS), param, ctx)
        return value


class _DataSet(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A name of a data set; the error about another name suggests the most similar one."""

    name = "name"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value not in (names := self._names()):
            self.fail(no_such("data set", value, names), param, ctx)
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]

    def _names(self) -> list[str]:
        from ..datasets.registry import REGISTRY

        return list(REGISTRY)


DATA_SET = _DataSet()


def no_such(kind: str, name: str, names: Iterable[str]) -> str:
    """The error about a name that does not exist."""
    names = list(names)
    return f"There is no {kind} {name!r}. {meant(name, names)}Choose one of {', '.join(names)}."


method = click.option(
    "--method", type=_Method(list(METHODS)), default="kls-nmf", help="How to cluster."
)
clusters = click.option(
    *("-k", "--clusters", "k"),
    type=_Clusters(),
    default="auto",
    help="The number of clusters; auto chooses it.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
data_home = click.option(
    "--data-home",
    type=FOLDER,
    help="The folder of the data sets. [default: $KLSNMF_DATA, or ~/klsnmf_data]",
)
max_iter = click.option(
    "--max-iter",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="The maximum number of iterations. [default: depends on the method]",
)
skip_broken = click.option(
    "--skip-broken", is_flag=True, help="Leave out images that cannot be read."
)

sheets = click.option(
    *("--sheet", "sheets"),
    multiple=True,
    metavar="NAME",
    help="The sheet of a workbook, or several, which are joined row by row. For an .h5ad "
    "file, the layer or embedding, such as X_pca. [default: the first sheet, or X]",
)
text_column = click.option(
    "--text-column",
    metavar="NAME",
    help="A column of text to cluster by, instead of numbers. The words of each text are used.",
)


#: Where a context of click has the function that does what --append asks for.
APPEND = "klsnmf.cli.append"

#: What may be said beside --append; all else was decided when the model was made.
_BESIDE_APPEND = (
    *("append", "data", "columns", "id_column", "skip_broken", "sheets", "text_column"),
    *("out", "force", "quiet", "as_json"),
)
append = click.option(
    "--append",
    type=PATH,
    metavar="MODEL",
    help="Add the samples of DATA to the clusters of an earlier result: its model.npz or folder.",
)


def require_alone(ctx: click.Context) -> None:
    """Refuse options that --append can do nothing with."""
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name not in _BESIDE_APPEND and ctx.get_parameter_source(name) is given:
            raise click.UsageError(
                f"Leave out {parameter.opts[0]}: with --append, the settings of the model are used."
            )


def quiet(text: str) -> Callable[..., Any]:
    """--quiet, with what it does in this command."""
    return click.option("--quiet", "-q", is_flag=True, help=text)


def columns(text: str) -> Callable[..., Any]:
    """--columns, with what it does in this command."""
    return click.option("--columns", multiple=True, metavar="A,B,...", help=text)


@dataclass(frozen=True)
class Steps:
    """How to prepare a table before it is clustered."""

    prepare: str = "auto"
    scale: str | None = None
    missing: str | None = None
    pca: int | None = None

    @property
    def signed(self) -> str | None:
        """The option that makes negative numbers, if there is one."""
        if self.pca is not None:
            return f"--pca {self.pca}"
        return "--scale standard" if self.scale == "standard" else None


def id_column(text: str) -> Callable[..., Any]:
    """--id-column, with what it does in this command."""
    return click.option("--id-column", metavar="NAME", help=text)


@dataclass(frozen=True)
class Source:
    """What to cluster: DATA or --dataset, which columns, and how to prepare them."""

    data: Path | None
    dataset: str | None
    wanted: Choice
    steps: Steps
    more: tuple[Path, ...] = ()  # further parts of DATA

    def __str__(self) -> str:
        others = f" and {plural(len(self.more), 'other')}" if self.more else ""
        return f"{self.data or self.dataset}{others}"


def source(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options for DATA or --dataset, for columns and for preparation, as a Source."""

    @wraps(command)
    def gathered(data: Sequence[Path], dataset: str | None, **others: Any) -> Any:
        _require_one(data, dataset)
        first, *more = data or (None,)
        of_choice = ("columns", "id_column", "label_column", "skip_broken", "exclude", "encode")
        wanted = choice(*(others.pop(name) for name in (*of_choice, "sheets", "text_column")))
        steps = Steps(*(others.pop(field.name) for field in fields(Steps)))
        return command(source=Source(first, dataset, wanted, steps, tuple(more)), **others)

    for decorate in (
        skip_broken,
        sheets,
        text_column,
        click.option(
            "--scale",
            type=click.Choice(["none", "standard", "log", "log-median"]),
            help="standard gives every column mean 0 and variance 1, for columns of different "
            "units; log takes log1p of counts per 10,000, log-median per the median of their "
            "sums, for counts. [default: by --prepare]",
        ),
        click.option(
            "--prepare",
            type=click.Choice(["auto", "none"]),
            default="auto",
            help="auto looks at a table and decides which columns to leave out, which scale to "
            "use and how to fill gaps. It prints what it does. Other options take precedence.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["drop-rows", "drop-columns", "median", "knn"]),
            help="What to do with missing values: leave out the rows or the columns that have "
            "some, or fill them in with medians or from the nearest samples.",
        ),
        click.option(
            "--pca",
            type=click.IntRange(min=1),
            metavar="NUMBER",
            help="Reduce the columns to this many principal components first.",
        ),
        click.option(
            "--encode",
            multiple=True,
            metavar="A,B,...",
            help="Columns of categories. Each category becomes a column of its own.",
        ),
        click.option("--exclude", multiple=True, metavar="A,B,...", help="Columns to leave out."),
        click.option(
            "--label-column", metavar="NAME", help="The column with known classes, for scores."
        ),
        id_column("The column with sample names."),
        columns(
            "The columns to cluster by: names, or patterns such as 'GENE*'. [default: all that "
            "hold numbers]"
        ),
        click.option(
            "--dataset",
            type=DATA_SET,
            metavar="NAME",
            help="A data set from `klsnmf data list`, instead of DATA.",
        ),
        click.argument("data", nargs=-1, type=PATH),
    ):
        gathered = decorate(gathered)
    return gathered


def _require_one(data: Sequence[Path], dataset: str | None) -> None:
    """Refuse obvious mistakes at once, before anything large is imported."""
    if data and dataset is not None:
        raise click.UsageError(
            f"You gave both DATA, {str(data[0])!r}, and --dataset {dataset}. Give one of them."
        )
    for path in data:
        require_exists(path)
    if not data and dataset is None:
        raise click.UsageError("Give DATA, a file or a folder; or --dataset NAME.")


def choice(
    given: Sequence[str],
    id_column: str | None,
    label_column: str | None = None,
    skip_broken: bool = False,
    exclude: Sequence[str] = (),
    encode: Sequence[str] = (),
    sheets: Sequence[str] = (),
    text_column: str | None = None,
) -> Choice:
    """What the options say about columns, sheets and images."""
    from ..io.table import Choice, split_names

    asked = (
        tuple(text for text in texts if split_names(text)) for texts in (given, exclude, encode)
    )
    columns, left_out, words = asked
    if text_column is not None and (columns or words):
        raise click.UsageError(
            "Leave out --columns and --encode: with --text-column, text is used instead of numbers."
        )
    return Choice(
        columns=columns or None,
        exclude=left_out,
        words=words,
        id_column=id_column,
        label_column=label_column,
        sheets=tuple(sheets),
        text_column=text_column,
        skip_broken=skip_broken,
    )
