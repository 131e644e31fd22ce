"""``klsnmf predict``: the clusters of new samples."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .output import show_json, show_notes

if TYPE_CHECKING:
    from ..inputs import Choice, Table


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@options.columns
@options.id_column
@click.option("--out", type=click.Path(path_type=Path), help="A .csv file. [default: print]")
@click.option("--force", is_flag=True, help="Replace the file.")
@options.quiet
@options.as_json
def predict(
    model: Path,
    data: Path,
    columns: Sequence[str],
    id_column: str | None,
    out: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find the clusters of new samples in DATA with a MODEL of klsnmf cluster.

    MODEL is a model.npz, or the folder it is in. Nothing in it is run, whoever made it. DATA is
    of the same kind as before; a table may have its columns in another order, and more of them.
    """
    from .results import write_file, write_labels
    from .working import working

    with working(quiet) as display:
        display.title(f"Reading {model}")
        estimator, about = _load(model)
        display.title(f"Reading {data}")
        table = _read(data, about, options.choice(columns, id_column), model)
        display.title(f"Placing the samples of {data}")
        labels, strengths = _assign(estimator, table, model)
    if not quiet:
        show_notes(table.messages)
    text = io.StringIO()
    write_labels(text, table.ids, labels, strengths)
    if out is not None:
        write_file(out, text.getvalue(), force=force)
    if as_json:
        show_json(
            [
                {"id": name, "cluster": label, "strength": round(strength, 4)}
                for name, label, strength in zip(
                    table.ids, labels.tolist(), strengths.tolist(), strict=True
                )
            ]
        )
    elif out is None:
        click.echo(text.getvalue(), nl=False)


def _load(model: Path) -> tuple[Any, dict[str, Any]]:
    from ..saving import ModelError, load

    file = model / "model.npz" if model.is_dir() else model
    if not file.exists():
        raise ModelError(
            f"{file} does not exist. Give the model.npz that klsnmf cluster wrote, or its folder."
        )
    try:
        return load(file)
    except OSError as error:
        raise ModelError(
            f"{file} could not be read: {error.strerror or error}. Check that you may read it."
        ) from error


def _read(data: Path, about: dict[str, Any], given: Choice, model: Path) -> Table:
    """The new samples, with the columns and the shape that the model knows."""
    from .. import inputs
    from ..inputs import Choice, InputError

    features, shape = about.get("features"), about.get("image_shape")
    images = data.is_dir()
    if images and not shape:
        raise InputError(
            f"{data} is a folder of images, and {model} was not made from images. Give data of "
            "the kind that it was made from."
        )
    columns = given.columns or features or about.get("columns")
    named = Choice(columns, given.id_column or about.get("id_column"))
    if images and shape:
        named = Choice(image_shape=tuple(int(side) for side in shape))
    elif data.suffix.lower() in (".npy", ".mtx"):
        named = Choice(given.columns, given.id_column)
    table = inputs.read(data, named)
    if table.X.shape[1] != about.get("n_features"):
        raise InputError(
            f"{data} has {table.X.shape[1]} features, and {model} was made from "
            f"{about.get('n_features')}. Give samples that are described in the same way."
        )
    return table


def _assign(estimator: Any, table: Table, model: Path) -> tuple[Any, Any]:
    from ..saving import ModelError
    from ..strengths import assign

    table.require_numbers(gaps=estimator.__sklearn_tags__().input_tags.allow_nan)
    try:
        return assign(estimator, table.X)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{table.name} could not be placed by {model}: {error}. If the data are of the right "
            "kind, the model is damaged: make it again with klsnmf cluster."
        ) from error
