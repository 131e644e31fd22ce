"""``klsnmf cluster --append MODEL``: new samples join the clusters of an earlier result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.words import plural
from ..io.errors import InputError, ModelError
from . import options
from .output import printable, show_json, show_notes, show_table
from .predict import load_model, read_like, require_model, strangers, words_known

if TYPE_CHECKING:
    from ..io.table import Table

#: What may be said beside --append; all else was decided when the model was made.
ALLOWED = (
    *("append", "data", "columns", "id_column", "skip_broken", "sheets", "text_column"),
    *("out", "force", "quiet", "as_json"),
)


def require_alone(ctx: click.Context) -> None:
    """Refuse options that --append can do nothing with."""
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name not in ALLOWED and ctx.get_parameter_source(name) is given:
            raise click.UsageError(
                f"Leave out {parameter.opts[0]}: with --append, the model has decided that."
            )


def append(
    model: Path, source: options.Source, folder: Path, *, force: bool, quiet: bool, as_json: bool
) -> None:
    """Place new samples, renew the clusters if they should be, write labels and the new model."""
    from .results import Placing, explained, finish, require_free, result_folder, write_labels
    from .working import elapsed, working

    require_model(model)
    if source.data is None or source.more:
        raise click.UsageError("Give one file or folder of new samples with --append.")
    require_free(folder, force=force)
    with working(quiet) as display:
        display.title(f"Reading {model}")
        estimator, about = load_model(model)
        if not hasattr(estimator, "partial_fit"):
            raise ModelError(
                f"{model} was made by {about.get('method')}, which cannot go on with new samples. "
                "Use klsnmf predict, or a model of kls-nmf or gls-nmf."
            )
        display.title(f"Reading {source.data}")
        table = read_like(source.data, about, source.wanted, model)
        table = about["preparation"].apply(table)
        table.require_numbers(
            gaps=False,
            last_resort="For a model that fills gaps, use klsnmf cluster with --missing median.",
        )
        display.title(f"Adding the samples of {source.data}")
        with result_folder(folder) as aside:
            known = getattr(estimator, "_stream", None)
            _add(estimator, table, model)
            renewed = known is None or estimator._stream.renewed > known.renewed
            about |= {"words": None} if renewed else {}
            summary = _summary(estimator, table, model, source)
            summary["messages"] = [*table.messages, *strangers(estimator.strengths_)]
            with explained(folder):
                with (aside / "labels.csv").open("w", encoding="utf-8", newline="") as file:
                    labels, words = estimator.labels_, words_known(about, estimator.n_clusters_)
                    write_labels(file, table.ids, labels, estimator.strengths_, words=words)
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
            _show(summary)


def _add(estimator: Any, table: Table, model: Path) -> None:
    """``partial_fit``, whose warnings are of a sketch and not of the samples."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.partial_fit(table.X)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{table.name} could not be added to {model}: {error}") from error


def _summary(estimator: Any, table: Table, model: Path, source: options.Source) -> dict[str, Any]:
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


def _show(summary: dict[str, Any]) -> None:
    show_table(["cluster", "new samples"], list(enumerate(summary["sizes"])))
    how = "were made again" if summary["renewed"] else "stayed as they were"
    click.echo(
        f"{plural(summary['n_samples'], 'new sample')}, {summary['n_samples_seen']} in all. The "
        f"clusters {how}. Results are in {printable(summary['folder'])}: "
        f"{', '.join(summary['files'])}"
    )
