"""``klsnmf predict`` and ``klsnmf cluster --append``: new samples for the clusters of a model."""

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
from .output import printable, show_json, show_lines, show_notes, show_table

if TYPE_CHECKING:
    from ..io.table import Choice, Table
    from ..kernels.unlike import Beside
    from ..preparation.base import Preparation

#: Files in which arrays have names, which are not names of columns.
_ARRAYS = (".npz", ".mat")

_LEAVE_OUT = "For a model that leaves out such rows, use klsnmf cluster with --missing drop-rows."


@click.command(short_help="Find the clusters of new samples with a model.")
@click.argument("model", type=options.PATH)
@click.argument("data", type=options.PATH)
@options.columns(
    "The columns to use as those of the model, in the same order. [default: the same names]"
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
    missing values are filled in.

    Strength compares clusters: 1 if one suits the sample much better than all others, 0 if two suit
    it equally, or if the sample is unlike all samples of the model. A high strength does not say
    that the model knows samples of this kind. Novelty does: it is the share of the model's samples
    that are nearer to their nearest sample than this one is. If many samples have 0.99 or more,
    they may be of a new kind.
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
        labels, strengths, known = _placed(estimator, table, model)
        blank, notes = blank_samples(table)
        strengths[blank] = 0
        notes = [*gaps, *notes, *_strangers(strengths[~blank]), *_far(known, strengths > 0)]
        novelty = None if known is None else known.novelty
    if not quiet:
        show_notes([*table.messages, *notes])
    text = io.StringIO()
    words = _words(about, int(labels.max()) + 1)
    write_labels(text, table.ids, labels, strengths, words=words, novelty=novelty)
    if out is not None:
        write_file(out, text.getvalue(), force=force)
    if as_json:
        found = {"cluster": labels.tolist(), "strength": _rounded(strengths)}
        found |= {} if novelty is None else {"novelty": _rounded(novelty)}
        rows = zip(table.ids, *found.values(), strict=True)
        show_json([dict(zip(("id", *found), row, strict=True)) for row in rows])
    elif out is None:
        show_lines(text.getvalue())
    elif not quiet:
        click.echo(f"{plural(len(table.ids), 'sample')} written to {printable(str(out))}")


def append(
    model: Path, source: options.Source, folder: Path, force: bool, quiet: bool, as_json: bool
) -> None:
    """``klsnmf cluster --append MODEL``: place samples, renew clusters, write the new model."""
    from .results import Placing, explained, finish, require_free, result_folder, write_labels
    from .working import elapsed, working

    _require_model(model)
    if source.data is None or source.more:
        raise click.UsageError("Give one file or folder of new samples with --append.")
    require_free(folder, force=force)
    with working(quiet) as display:
        display.title(f"Reading {model}")
        estimator, about = _load(model)
        if not hasattr(estimator, "partial_fit"):
            raise ModelError(
                f"{model} was made by {about.get('method')}, which cannot take in new samples. "
                "Use klsnmf predict, or a model of kls-nmf or gls-nmf."
            )
        display.title(f"Reading {source.data}")
        table = _read(source.data, about, source.wanted, model)
        notes = _filled(about["preparation"], table)
        table = about["preparation"].apply(table)
        table.require_numbers(gaps=False, last_resort=_LEAVE_OUT)
        display.title(f"Adding the samples of {source.data}")
        with result_folder(folder) as aside:
            strengths, novelty, told = _add(estimator, table, model)
            summary = _appended(estimator, table, model, source)
            about |= {"words": None} if summary["renewed"] else {}  # of clusters that were
            summary["messages"] = [*table.messages, *notes, *told]
            with explained(folder):
                with (aside / "labels.csv").open("w", encoding="utf-8", newline="") as file:
                    labels, words = estimator.labels_, _words(about, estimator.n_clusters_)
                    more = {"words": words, "novelty": novelty}
                    write_labels(file, table.ids, labels, strengths, **more)
                from ..io.model_file import save

                save(estimator, aside / "model.npz", **about)
                summary |= {"folder": str(folder), "seconds": round(elapsed(), 3)}
                finish(aside, summary)
    with Placing(folder, done=True):
        if not quiet:
            show_notes(summary["messages"])
        if as_json:
            show_json(summary)
        elif not quiet:
            _show_appended(summary)


def _add(estimator: Any, table: Table, model: Path) -> tuple[Any, Any, list[str]]:
    """``partial_fit``; strengths and novelty as ``klsnmf predict`` has them, and notes on these."""
    import warnings

    from ..estimators.strengths import compared
    from .samples import blank_samples

    found = compared(estimator, table.X)  # with what the model knew before
    assert found is not None  # there is no partial_fit without samples
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a sketch warns of is not about the samples
        try:
            estimator.partial_fit(table.X)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{table.name} could not be added to {model}: {error}") from error
    blank, notes = blank_samples(table)
    strengths = estimator.strengths_.copy()
    strengths[blank] = 0
    if estimator._stream.renewed != estimator.n_samples_seen_:  # else it knows them by now
        strengths[found.unlike] = 0
        notes += _far(found, strengths > 0)
    return strengths, found.novelty, [*notes, *_strangers(strengths[~blank])]


def _appended(estimator: Any, table: Table, model: Path, source: options.Source) -> dict[str, Any]:
    import shlex

    import numpy as np

    from ..core.version import __version__
    from .results import MADE_BY
    from .samples import size_of

    labels, seen = estimator.labels_, estimator.n_samples_seen_
    sizes = np.bincount(labels[labels >= 0], minlength=estimator.n_clusters_)
    return {
        "made_by": MADE_BY,
        "klsnmf": __version__,
        "data": table.name,
        "command": shlex.join(["klsnmf", "cluster", "--append", str(model), str(source.data)]),
        **size_of(table),
        "n_samples_seen": int(seen),
        "n_samples_fitted": len(estimator.fitted_on_),
        "renewed": estimator._stream.renewed == seen,
        "n_clusters": int(estimator.n_clusters_),
        "sizes": sizes.tolist(),
    }


def _show_appended(summary: dict[str, Any]) -> None:
    show_table(["cluster", "new samples"], list(enumerate(summary["sizes"])))
    how = "were made again" if summary["renewed"] else "stayed as they were"
    click.echo(
        f"{plural(summary['n_samples'], 'new sample')}, {summary['n_samples_seen']} in all. The "
        f"clusters {how}. Results are in {printable(summary['folder'])}: "
        f"{', '.join(summary['files'])}"
    )


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


def _far(found: Beside | None, known: Any) -> list[str]:  # (n,)
    """A note on samples that may be of a kind that the model does not know."""
    far = 0 if found is None else found.far(known)
    if not far:
        return []
    return [
        f"{far} of {plural(len(known), 'sample')} are farther from the nearest sample of the model "
        "than 99% of the model's samples are from theirs. By chance it would be about "
        f"{max(1, round(0.01 * len(known)))}. They may be of a kind that the model does not know; "
        "their strength does not show this. Look at those with a novelty of 0.99 or more."
    ]


def _rounded(values: Any) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


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


def _placed(estimator: Any, table: Table, model: Path) -> tuple[Any, Any, Beside | None]:
    """Clusters and strengths of new samples, and how they compare with those of the model."""
    from ..estimators.strengths import assign, compared

    table.require_numbers(
        gaps=estimator.__sklearn_tags__().input_tags.allow_nan,
        last_resort=_LEAVE_OUT,
    )
    try:
        labels, strengths = assign(estimator, table.X)
        found = compared(estimator, table.X)
        if found is not None:
            strengths[found.unlike] = 0
        return labels, strengths, found
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{table.name} could not be placed by {model}: {error}. If the data are of the right "
            "kind, the model is damaged: make it again with klsnmf cluster."
        ) from error
