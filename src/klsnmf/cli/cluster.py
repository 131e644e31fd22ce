"""``klsnmf cluster``: clusters, strengths, a model and a report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.words import plural
from . import options
from .asked import Asked
from .estimate import parts_of_clustering
from .output import printable, show_json, show_notes, show_table

if TYPE_CHECKING:
    from ..io.table import Table
    from ..preparation.base import Preparation
    from .fits import Fitted


class ReportError(RuntimeError):
    """A report that could not be made, though the other results could."""


@click.command(short_help="Cluster samples: labels, a model and a report.")
@options.source
@options.clusters
@options.method
@click.option(
    "--sizes",
    type=click.Choice(["auto", "even", "free"]),
    help="even if the clusters are of about equal size, free if some are rare; auto decides.",
)
@options.max_iter
@click.option(
    "--checkpoint",
    type=options.PATH,
    metavar="FILE",
    help="Save the state of a long fit in this file; the same command continues from it.",
)
@click.option(
    "--levels",
    is_flag=True,
    help="Write the clusters of every level that -k auto finds, one column per level.",
)
@click.option(
    "--join",
    is_flag=True,
    help="Write the table of DATA too, with the cluster beside each row.",
)
@options.append
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0)
@click.option(
    "--out",
    type=options.PATH,
    help="The folder for the results. [default: NAME-clusters, with the name of DATA]",
)
@click.option(
    "--force",
    is_flag=True,
    help="Replace earlier results, or write into a folder with other files.",
)
@options.quiet("Print nothing but errors, and the result with --json.")
@options.as_json
@click.pass_context
def cluster(
    ctx: click.Context,
    source: options.Source,
    k: int | str,
    method: str,
    sizes: str | None,
    max_iter: int | None,
    checkpoint: Path | None,
    levels: bool,
    join: bool,
    append: Path | None,
    seed: int,
    out: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Cluster the samples in DATA.

    DATA is a table (.csv, .tsv, .csv.gz, .xlsx, .parquet), an array (.npy, .npz, .mat), a sparse
    matrix (.npz, .mtx), cells (.h5ad), a folder of images or of texts (.txt), or - for a table from
    the standard input. Several files of the same columns, or a folder of them, are joined row
    by row. Rows are samples. The results go into a folder: labels.csv (id, cluster, membership
    strength), model.npz (for klsnmf predict), report.html and result.json.

    With --append MODEL, the samples are new ones. They join the clusters of the model, which are
    renewed if enough samples belong to none of them. The folder then has the labels of the new
    samples, and the model of all samples.
    """
    from .results import (
        Placing,
        earlier,
        explained,
        finish,
        require_free,
        result_folder,
        write_labels,
    )
    from .working import elapsed, working

    folder = out or _default_folder(source)
    if append is not None:
        options.require_alone(ctx)
        ctx.meta[options.APPEND](append, source, folder, force=force, quiet=quiet, as_json=as_json)
        return
    asked = Asked(source, k, method, seed, max_iter, folder, sizes, checkpoint, levels, join)
    _require_meaning(asked)
    before = earlier(folder)
    # A fit that continues from a checkpoint may replace the results of the same command.
    same = before is not None and before.get("command") == asked.command
    goes_on = checkpoint is not None and same
    require_free(folder, force=force or goes_on)
    with working(quiet) as display:
        display.title(f"Reading {source}")
        import numpy as np

        from .samples import blank_samples, not_used, prepared, read

        table = read(source)
        joined = _joined(source) if join else None
        with result_folder(folder) as aside:
            from ..estimators.strengths import strengths
            from .fits import fit, has_parameter, require_levels

            read_table, (table, preparation) = table, prepared(table, source, [method])
            if levels:
                require_levels(table, method)
            display.title(f"Clustering {table.name} by {method}")
            display.plan(parts_of_clustering(method, *_size(table), k))
            fitted = fit(method, k, seed, table, max_iter, **asked.parameters)
            display.title("Measuring strengths", "strengths")
            strength = strengths(fitted.estimator, table.X)
            blank, blank_notes = blank_samples(table)
            strength = np.where(blank, 0, strength)
            summary = _summary(table, asked, fitted, strength, preparation)
            notes = [*table.messages, *blank_notes]
            if max_iter is not None and not has_parameter(method, "max_iter"):
                notes.append(f"--max-iter was ignored: {method} has no such setting.")
            display.title(f"Writing results to {folder}", "results")
            with explained(folder):
                with (aside / "labels.csv").open("w", encoding="utf-8", newline="") as file:
                    found_labels = fitted.estimator.labels_, strength
                    more_columns = fitted.levels if levels else None, summary["words"]
                    write_labels(file, table.ids, *found_labels, *more_columns)
                if joined is not None:
                    _write_joined(source, table, aside / joined, *found_labels, summary["words"])
                notes += _write_model(fitted.estimator, aside, asked, table, preparation)
                shown = {"units": preparation.units, "aside": not_used(read_table, table)}
                found, failure = _write_report(
                    table, fitted, strength, asked, notes, aside, **shown
                )
                told = [*notes, *table.warnings, *fitted.told, *found]
                summary["messages"] = [*told, str(failure)] if failure else told
                summary["folder"] = str(folder)
                summary["seconds"] = round(elapsed(), 3)
                finish(aside, summary)
    with Placing(folder, done=True):
        if not quiet:
            show_notes([*told, *_replaced(before, asked)])
        if as_json:
            show_json(summary)
        elif not quiet:
            _show(summary, table)
    if failure:
        raise failure


def _require_meaning(asked: Asked) -> None:
    """Refuse options that have no meaning for the method."""
    from ..methods import DETAILS

    signs = asked.source.steps.signed
    if signs and "signed" not in DETAILS[asked.method].accepts:
        raise click.UsageError(
            f"{signs} makes negative numbers, and {asked.method} accepts none. Leave it "
            "out, or use another method, such as kls-nmf or semi-nmf."
        )
    if asked.levels and (asked.k != "auto" or not DETAILS[asked.method].counts):
        counting = ", ".join(name for name, each in DETAILS.items() if each.counts)
        raise click.UsageError(
            f"--levels needs -k auto and one of these methods: {counting}. Add them, or leave "
            "--levels out."
        )
    for name in asked.parameters:
        from .fits import has_parameter  # takes a second, so only if it is needed

        if not has_parameter(asked.method, name):
            having = [method for method in DETAILS if has_parameter(method, name)]
            raise click.UsageError(
                f"--{name} works with {' and '.join(having)}, not with {asked.method}. Leave "
                f"it out, or use --method {having[0]}."
            )


def _replaced(before: dict[str, Any] | None, asked: Asked) -> list[str]:
    """A note if results of another command were in the folder."""
    if before is None or before.get("command") == asked.command:
        return []
    from .results import came_from

    return [f"The earlier results in {asked.folder} were replaced. {came_from(before)}"]


def _default_folder(source: options.Source) -> Path:
    from ..core.files import ending
    from ..io.errors import STANDARD_INPUT

    if source.data is None:
        return Path(f"{source}-clusters")
    if source.data == STANDARD_INPUT:
        return Path("stdin-clusters")
    whole = source.data.resolve()  # so that "." has a name
    name = whole.name if whole.is_dir() else whole.name[: -len(ending(whole)) or None]
    return Path(f"{name}-clusters")


def _joined(source: options.Source) -> str:
    """The name of the file for --join; an error if there is no table to join with."""
    from ..io.join import joined_name
    from ..io.read import files_of

    if source.data is None:
        raise click.UsageError("--join is for files of tables. Leave it out with --dataset.")
    return joined_name(files_of([source.data, *source.more]))


def _write_joined(
    source: options.Source, table: Table, path: Path, labels: Any, strength: Any, words: Any
) -> None:
    from ..io.join import write
    from ..io.read import files_of

    columns = {"cluster": labels.tolist(), "strength": [round(s, 4) for s in strength.tolist()]}
    if words:
        columns["words"] = [" ".join(words[label]) for label in labels]
    parts = [] if source.data is None else [source.data, *source.more]
    write(files_of(parts), source.wanted, table, columns, path)


def _write_model(
    estimator: Any, folder: Path, asked: Asked, table: Table, preparation: Preparation
) -> list[str]:
    """Write the model if it would be useful; otherwise return a note that says why not."""
    from ..io.model_file import can_save, save
    from .samples import words_of

    if not can_save(estimator):
        return [f"There is no model.npz: {asked.method} cannot place new samples."]
    save(
        estimator,
        folder / "model.npz",
        method=asked.method,
        columns=asked.source.wanted.columns,
        id_column=asked.source.wanted.id_column,
        image_shape=None if table.image_shape is None else list(table.image_shape),
        preparation=preparation,
        words=words_of(table, estimator.labels_),
    )
    return []


def _write_report(
    table: Table,
    fitted: Fitted,
    strength: Any,
    asked: Asked,
    notes: Sequence[str],
    folder: Path,
    **more: Any,
) -> tuple[list[str], ReportError | None]:
    """Write the report. Return its remarks or what to install, and an error if it failed."""
    told: list[str] = []
    none = "There is no report.html:"
    estimator, rows = fitted.estimator, getattr(fitted.estimator, "fitted_on_", None)
    if rows is not None:
        estimator = estimator._as_shown()
        table, strength = table.only(rows), strength[rows]
        aside = more.get("aside", {})
        more["aside"] = {name: [values[i] for i in rows] for name, values in aside.items()}
        notes = [*notes, "This report shows the samples that were fitted."]
    try:
        from ..report import page
        from ..report.findings import remarks
        from ..report.run import Run

        run = Run(
            name=table.name,
            command=asked.command,
            method=asked.method,
            estimator=estimator,
            X=table.X,
            ids=table.ids,
            features=table.features,
            target=table.target,
            image_shape=table.image_shape,
            strength=strength,
            seconds=fitted.seconds,
            messages=[*table.warnings, *fitted.messages],
            notes=list(notes),
            **more,
        )
        told += remarks(run)
        page.write(run, folder / "report.html")
    except OSError:
        raise
    except ImportError as error:
        told.append(f"{none} {error}")
    except Exception as error:
        why = f"it could not be made ({type(error).__name__}: {error})"
        failure = ReportError(f"{none} {why}. The labels and the other results were kept.")
        failure.__cause__ = error
        return told, failure
    return told, None


def _summary(
    table: Table, asked: Asked, fitted: Fitted, strength: Any, preparation: Preparation
) -> dict[str, Any]:
    import numpy as np

    from ..core.version import __version__
    from ..estimators.strengths import weak_members
    from .fits import facts
    from .results import MADE_BY
    from .samples import scores_of, size_of, words_of

    labels = fitted.estimator.labels_
    sizes = np.bincount(labels)
    weak = weak_members(asked.method, labels, strength, len(sizes))
    medians = [np.median(strength[labels == c]) if size else 0 for c, size in enumerate(sizes)]
    return {
        "made_by": MADE_BY,
        "klsnmf": __version__,
        "data": table.name,
        "command": asked.command,
        "method": asked.method,
        **size_of(table),
        "scale": " and ".join(preparation.scales) or "none",
        "n_clusters_asked": asked.k,
        "n_clusters": len(sizes),
        "evidence": facts(fitted.evidence),
        "levels": fitted.level_facts,
        "sizes": sizes.tolist(),
        "strengths": [round(float(median), 4) for median in medians],
        "weak": None if weak is None else weak.tolist(),
        "words": words_of(table, labels),
        "scores": scores_of(table, labels),
        "iterations": int(getattr(fitted.estimator, "n_iter_", 0)),
        "ended": getattr(fitted.estimator, "verdict_", None),
        "fit_seconds": round(fitted.seconds, 3),
    }


def _size(table: Table) -> tuple[int, float]:
    """The number of samples, and the mean count of stored numbers per sample."""
    n = table.X.shape[0]
    return n, getattr(table.X, "nnz", table.X.size) / max(n, 1)


def _show(summary: dict[str, Any], table: Table) -> None:
    from ..estimators.strengths import WEAK
    from .fits import LEVEL
    from .samples import columns_used

    strengths = [f"{strength:.2f}" for strength in summary["strengths"]]
    columns: list[Sequence[object]] = [summary["sizes"], strengths]
    header = ["cluster", "samples", "median strength"]
    if weak := summary["weak"]:
        header.append(f"below {WEAK}")
        columns.append(weak)
    if words := summary["words"]:
        header.append("words")
        columns.append([printable(" ".join(some)) for some in words])
    show_table(header, list(zip(count(), *columns, strict=False)))
    if scores := summary["scores"]:
        show_table(["score", "value"], [(name, f"{scores[name]:.3f}") for name in scores])
    if used := columns_used(table):
        click.echo(printable(used))
    if levels := summary["levels"]:
        click.echo("Levels, the chosen one first:")
        told = (
            {name: "" if v is None else f"{v:.2f}" for name, v in one.items()} for one in levels
        )
        rows = [
            [one["n_clusters"], *(each[name] for name in LEVEL)]
            for one, each in zip(levels, told, strict=True)
        ]
        show_table(["clusters", *LEVEL], rows)
    if summary["evidence"] and summary["evidence"]["clear"]:
        click.echo(summary["evidence"]["verdict"])
    click.echo(
        f"{plural(summary['n_samples'], 'sample')} in {plural(summary['n_clusters'], 'cluster')}, "
        f"{summary['seconds']:.1f} s (the fit {summary['fit_seconds']:.1f} s). Results are in "
        f"{printable(summary['folder'])}: {', '.join(summary['files'])}"
    )
