"""``klsnmf predict``: the clusters of new samples."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.words import plural
from ..io.errors import InputError, ModelError, require_exists
from ..methods import METHODS
from . import options
from .estimate import Part
from .output import printable, show_json, show_lines, show_notes

if TYPE_CHECKING:
    from ..io.table import Choice, Table
    from ..preparation.base import Preparation

#: Files in which arrays have names, which are not names of columns.
_ARRAYS = (".npz", ".mat")


@click.command(short_help="Find the clusters of new samples with a model.")
@click.argument("model", type=options.PATH)
@click.argument("data", type=options.PATH)
@options.columns(
    "The columns to use for those of the model, in its order. [default: the same names]"
)
@options.id_column("The column with sample names. [default: as for the model]")
@options.skip_broken
@options.sheets
@options.text_column
@click.option("--out", type=options.PATH, help="A .csv file. [default: print]")
@click.option("--force", is_flag=True, help="Replace the file.")
@options.quiet("Show no progress and no notes, only errors and the result.")
@options.as_json
def predict(
    model: Path,
    data: Path,
    columns: Sequence[str],
    id_column: str | None,
    skip_broken: bool,
    sheets: Sequence[str],
    text_column: str | None,
    out: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find the clusters of new samples in DATA with a MODEL of klsnmf cluster.

    MODEL is a model.npz, or the folder it is in. No code in it is run, whoever made it. DATA is
    of the same kind as for klsnmf cluster. A table needs columns with the same names, in any order;
    it may have others. New samples are prepared in the same way as the samples of the model, and
    missing values are filled in. Strength 0 means that a sample is unlike all samples of the model.
    """
    _require_model(model)
    require_exists(data)
    from .results import write_file, write_labels
    from .samples import blank_samples
    from .working import working

    with working(quiet) as display:
        display.title(f"Reading {model}")
        estimator, about = _load(model)
        display.title(f"Reading {data}")
        given = options.choice(
            columns, id_column, None, skip_broken, sheets=sheets, text_column=text_column
        )
        table = _read(data, about, given, model)
        display.title(f"Placing the samples of {data}")
        display.plan([Part("thousands of samples", None)])
        gaps = _filled(about["preparation"], table)
        table = about["preparation"].apply(table)
        labels, strengths = _placed(estimator, table, model)
        blank, notes = blank_samples(table)
        strengths[blank] = 0
        notes = [*gaps, *notes, *_strangers(strengths[~blank])]
    if not quiet:
        show_notes([*table.messages, *notes])
    text = io.StringIO()
    write_labels(text, table.ids, labels, strengths, words=_words(about, int(labels.max()) + 1))
    if out is not None:
        write_file(out, text.getvalue(), force=force)
    if as_json:
        rows = zip(table.ids, labels.tolist(), strengths.tolist(), strict=True)
        show_json([{"id": i, "cluster": c, "strength": round(s, 4)} for i, c, s in rows])
    elif out is None:
        show_lines(text.getvalue())
    elif not quiet:
        click.echo(f"{plural(len(table.ids), 'sample')} written to {printable(str(out))}")


def _words(about: dict[str, Any], k: int) -> list[list[str]] | None:
    """The words of each cluster of texts, if the model has them."""
    words = about.get("words")
    if not isinstance(words, list) or len(words) < k:
        return None
    return words if all(_are_words(some) for some in words) else None


def _are_words(some: Any) -> bool:
    return isinstance(some, list) and all(type(word) is str for word in some)


def _strangers(strengths: Any) -> list[str]:  # (n,)
    """A note on samples that the model knows nothing about."""
    alone, n = int((strengths <= 0).sum()), len(strengths)
    if not alone:
        return []
    one = alone == 1
    return [
        f"{alone} of {plural(n, 'sample')} {'is' if one else 'are'} unlike every sample of the "
        f"model, so {'its cluster means' if one else 'their clusters mean'} nothing (strength 0). "
        "Check that the columns have the units of the model's data."
    ]


def _filled(preparation: Preparation, table: Table) -> list[str]:
    """A note on gaps in new samples, if the model fills them."""
    import numpy as np
    from scipy import sparse

    from ..preparation.gaps import Fill, FillMedian

    count = 0 if sparse.issparse(table.X) else int(np.isnan(table.X).sum())
    fill = next((step for step in preparation.steps if isinstance(step, Fill)), None)
    if not count or fill is None:
        return []
    medians = isinstance(fill, FillMedian)
    way = "with the medians" if medians else "from the nearest"
    verb = "is" if count == 1 else "are"
    return [f"{plural(count, 'missing value')} {verb} filled in {way} of the model's samples."]


def _load(model: Path) -> tuple[Any, dict[str, Any]]:
    from ..io.model_file import load
    from .results import require_one_run

    file = _file_of(model)
    try:
        if model.is_dir():
            require_one_run(model, file.name)
        return load(file)
    except OSError as error:
        raise ModelError(
            f"{file} could not be read: {error.strerror or error}. Check that you have permission "
            "to read it."
        ) from error


def _file_of(model: Path) -> Path:
    return model / "model.npz" if model.is_dir() else model


def _require_model(model: Path) -> None:
    """Refuse a model that does not exist, before anything large is imported."""
    file = _file_of(model)
    if file.exists():
        return
    if model.is_dir():
        from .results import earlier

        method = (earlier(model) or {}).get("method")
        if method in METHODS:
            raise ModelError(
                f"{model} holds results of {method} without a model: {method} cannot place new "
                "samples. Cluster with another method, such as kls-nmf or kmeans."
            )
    raise ModelError(
        f"{file} does not exist. Give the model.npz that klsnmf cluster wrote, or its folder."
    )


def _read(data: Path, about: dict[str, Any], given: Choice, model: Path) -> Table:
    """The new samples, with the columns and the shape that the model knows."""
    from ..io import read
    from ..io.table import Choice

    preparation = about["preparation"]
    features, shape = preparation.features, about.get("image_shape") or ()
    images = data.is_dir() and read.folder_kind(data) == "images"
    if images and not shape:
        raise InputError(
            f"{data} is a folder of images, and {model} was not made from images. Give data of "
            "the same kind."
        )
    columns = given.columns or features or about.get("columns")
    exact = not given.columns and bool(features)
    words, ids = preparation.words, given.id_column or about.get("id_column")
    named = Choice(columns, words=words, id_column=ids, sheets=given.sheets, exact=exact)
    if text := preparation.text_column:
        column = given.text_column or text
        named = Choice(id_column=ids, sheets=given.sheets, text_column=column)
        if data.is_dir() and read.folder_kind(data) == "texts":
            named = Choice()
    if images:
        named = Choice(image_shape=tuple(map(int, shape)), skip_broken=given.skip_broken)
    elif data.suffix.lower() in (".npy", ".mtx") or (features and data.suffix.lower() in _ARRAYS):
        # Columns of a table have no meaning in a file of arrays.
        named = Choice(given.columns, id_column=given.id_column)
    table = read.read(data, named)
    found, known = table.X.shape[1], preparation.n_features
    if found != known:
        raise InputError(
            f"{data} has {found} features, and {model} was made from {known}. Give samples "
            "with the same features."
        )
    return table


def _placed(estimator: Any, table: Table, model: Path) -> tuple[Any, Any]:
    from ..estimators.strengths import assign, strangers

    table.require_numbers(
        gaps=estimator.__sklearn_tags__().input_tags.allow_nan,
        last_resort="For a model that leaves out such rows, use klsnmf cluster with --missing "
        "drop-rows.",
    )
    try:
        labels, strengths = assign(estimator, table.X)
        strengths[strangers(estimator, table.X)] = 0
        return labels, strengths
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{table.name} could not be placed by {model}: {error}. If the data are of the right "
            "kind, the model is damaged: make it again with klsnmf cluster."
        ) from error
