"""``klsnmf cluster``: groups, how sure they are, a model and a report."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .output import printable, show_json, show_notes, show_table

if TYPE_CHECKING:
    from ..inputs import Table
    from .fits import Fitted


@click.command()
@options.data
@options.clusters
@click.option(
    "--method",
    type=click.Choice(options.METHOD_NAMES),
    default="kls-nmf",
    show_default=True,
    help="How to cluster.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The folder for the results. [default: NAME-clusters, NAME that of DATA]",
)
@click.option("--force", is_flag=True, help="Write into a folder that holds other files.")
@options.quiet
@options.as_json
def cluster(
    data: Path | None,
    dataset: str | None,
    columns: Sequence[str],
    id_column: str | None,
    label_column: str | None,
    k: int | str,
    method: str,
    seed: int,
    out: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Cluster the samples in DATA.

    DATA is a table (.csv, .tsv, .parquet), an array (.npy, .npz, .mat), a sparse matrix (.npz,
    .mtx) or a folder of images. Rows are samples. The results go into a folder: labels.csv (id,
    cluster, membership strength), model.npz (for klsnmf predict), report.html and result.json.
    """
    from .results import SUMMARY, explained, result_folder, write_labels
    from .working import working

    wanted = options.choice(columns, id_column, label_column)
    with working(quiet) as display:
        display.title(f"Reading {data or dataset}")
        table = options.read(data, dataset, wanted)
        folder = out or _default_folder(data, dataset)
        with result_folder(folder, force=force) as aside:
            from ..strengths import strengths
            from .fits import fit

            display.title(f"Clustering {table.name} by {method}")
            fitted = fit(method, k, seed, table)
            display.title("Measuring strengths")
            strength = strengths(fitted.estimator, table.X)
            command = _command(data, dataset, wanted, k, method, seed, folder)
            summary = _summary(table, method, command, fitted, strength)
            display.title(f"Writing {folder}")
            with explained(folder):
                with (aside / "labels.csv").open("w", encoding="utf-8", newline="") as file:
                    write_labels(file, table.ids, fitted.estimator.labels_, strength)
                summary["messages"] += _write_model(fitted.estimator, aside, method, table, wanted)
                summary["messages"] += _write_report(
                    table, method, command, fitted, strength, summary["messages"], aside
                )
                summary["files"] = sorted([*(file.name for file in aside.iterdir()), SUMMARY])
                summary["folder"] = str(folder)
                (aside / SUMMARY).write_text(json.dumps(summary, indent=2), encoding="utf-8")
    if not quiet:
        show_notes(summary["messages"])
    if as_json:
        show_json(summary)
    elif not quiet:
        _show(summary)


def _default_folder(data: Path | None, dataset: str | None) -> Path:
    if data is None:
        return Path(f"{dataset}-clusters")
    whole = data.resolve()  # so that "." has a name
    return Path(f"{whole.name if whole.is_dir() else whole.stem}-clusters")


def _write_model(estimator: Any, folder: Path, method: str, table: Table, wanted: Any) -> list[str]:
    """The model, where it would be of use; else why there is none."""
    from ..saving import can_save, save

    if not can_save(estimator):
        return [f"There is no model.npz: {method} cannot place new samples."]
    save(
        estimator,
        folder / "model.npz",
        method=method,
        n_features=int(table.X.shape[1]),
        features=None if table.features is None else list(table.features),
        columns=wanted.columns,
        id_column=wanted.id_column,
        image_shape=None if table.image_shape is None else list(table.image_shape),
    )
    return []


def _write_report(
    table: Table,
    method: str,
    command: str,
    fitted: Fitted,
    strength: Any,
    messages: Sequence[str],
    folder: Path,
) -> list[str]:
    """The report, if what draws it is installed; else what to install."""
    try:
        from .. import report

        run = report.Run(
            name=table.name,
            command=command,
            method=method,
            estimator=fitted.estimator,
            X=table.X,
            ids=table.ids,
            features=table.features,
            target=table.target,
            image_shape=table.image_shape,
            strength=strength,
            seconds=fitted.seconds,
            messages=list(messages),
        )
        report.write(run, folder / "report.html")
    except OSError:
        raise
    except Exception as error:  # a report that fails must not take the results with it
        return [f"There is no report.html: {error}"]
    return []


def _command(
    data: Path | None,
    dataset: str | None,
    wanted: Any,
    k: int | str,
    method: str,
    seed: int,
    folder: Path,
) -> str:
    """The line that does it again."""
    words = ["klsnmf", "cluster", *(["--dataset", str(dataset)] if data is None else [str(data)])]
    words += ["-k", str(k), "--method", method, "--seed", str(seed)]
    if wanted.columns:
        words += ["--columns", ",".join(wanted.columns)]
    if wanted.id_column:
        words += ["--id-column", wanted.id_column]
    if wanted.label_column:
        words += ["--label-column", wanted.label_column]
    return shlex.join([*words, "--out", str(folder)])


def _summary(
    table: Table, method: str, command: str, fitted: Fitted, strength: Any
) -> dict[str, Any]:
    import numpy as np

    from .. import __version__
    from .fits import scores_of
    from .results import MADE_BY

    labels = fitted.estimator.labels_
    sizes = np.bincount(labels)
    means = np.bincount(labels, weights=strength) / np.maximum(sizes, 1)
    return {
        "made_by": MADE_BY,
        "klsnmf": __version__,
        "data": table.name,
        "command": command,
        "method": method,
        "n_samples": int(table.X.shape[0]),
        "n_features": int(table.X.shape[1]),
        "n_clusters": len(sizes),
        "sizes": sizes.tolist(),
        "strengths": [round(float(mean), 4) for mean in means],
        "scores": scores_of(table, labels),
        "iterations": int(getattr(fitted.estimator, "n_iter_", 0)),
        "ended": getattr(fitted.estimator, "verdict_", None),
        "seconds": round(fitted.seconds, 3),
        "messages": [*table.messages, *fitted.messages],
    }


def _show(summary: dict[str, Any]) -> None:
    show_table(
        ["cluster", "samples", "mean strength"],
        [
            [cluster, size, f"{strength:.2f}"]
            for cluster, (size, strength) in enumerate(
                zip(summary["sizes"], summary["strengths"], strict=True)
            )
        ],
    )
    if summary["scores"]:
        show_table(
            ["score", "value"],
            [[name, f"{value:.3f}"] for name, value in summary["scores"].items()],
        )
    click.echo(
        f"{summary['n_samples']} samples in {summary['n_clusters']} clusters, "
        f"{summary['seconds']:.1f} s. Results are in {printable(summary['folder'])}: "
        f"{', '.join(summary['files'])}"
    )
