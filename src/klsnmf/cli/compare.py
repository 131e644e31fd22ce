"""``klsnmf compare``: several methods on the same data, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from ..core.words import plural
from ..methods import METHODS
from . import options
from .output import printable, show_json, show_notes, show_table

if TYPE_CHECKING:
    from ..io.table import Table
    from ..kernels.count import Evidence

#: The methods that are compared when none is named: one of each kind.
_USUAL = ("kls-nmf", "gnmf", "semi-nmf", "kernel-kmeans", "kmeans", "spectral")


@dataclass
class _Outcome:
    """One method: its clusters for each seed, or why there are none.

    A method that nobody named is left out where it cannot take the data; all else is a failure.
    """

    method: str
    labels: list[Any] = field(default_factory=list)  # (seeds) of (n,)
    seconds: list[float] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    failure: str | None = None
    left_out: str | None = None


@click.command(short_help="Compare several methods on the same samples.")
@options.source
@options.clusters
@click.option(
    "--methods",
    metavar="A,B,...",
    help=f"The methods to compare, or all. [default: {','.join(_USUAL)}, without those that cannot "
    "take the data]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="How often each method starts anew.",
)
@options.max_iter
@options.quiet("Show no progress and no notes, only errors and the result.")
@options.as_json
def compare(
    source: options.Source,
    k: int | str,
    methods: str | None,
    seeds: int,
    max_iter: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Cluster the samples in DATA by several methods, and compare what they find.

    DATA is as for klsnmf cluster. With known classes, each method has its scores, averaged over
    the seeds. With or without: how much a method agrees with itself from seed to seed (stability,
    the adjusted Rand index), and how much two methods agree with each other (NMI and adjusted Rand
    index). Where methods agree, the clusters are likely to be in the data; where they do not, look
    twice.
    """
    chosen = _chosen(methods)
    named = methods not in (None, "all")
    from .working import working

    with working(quiet) as display:
        display.title(f"Reading {source}")
        from .samples import prepared, read, refusal

        table, _ = prepared(read(source), source)
        display.title(f"Counting the clusters of {table.name}")
        _require_usable(k, chosen, table)
        evidence = _evidence(k, table)
        count = int(k) if evidence is None else evidence.chosen
        outcomes = []
        for i, method in enumerate(chosen):
            display.title(f"Method {i + 1} of {len(chosen)}, {method}")
            reason = refusal(method, table)
            if reason is None:
                outcomes.append(_run(method, count, seeds, table, max_iter))
            elif named:
                outcomes.append(_Outcome(method, failure=reason))
            else:
                outcomes.append(_Outcome(method, left_out=reason))
    result = _result(table, count, evidence, outcomes)
    if not quiet:
        show_notes(result["messages"])
    if as_json:
        show_json(result)
    else:
        _show(result, table)
    if any(outcome.failure for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _chosen(methods: str | None) -> list[str]:
    if methods is None:
        return list(_USUAL)
    if methods == "all":
        return list(METHODS)
    chosen = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    for name in chosen:
        if name not in METHODS:
            raise click.UsageError(options.no_such("method", name, METHODS))
    if not chosen:
        raise click.UsageError("--methods names no method.")
    return chosen


def _require_usable(k: int | str, methods: Sequence[str], table: Table) -> None:
    """Refuse a table that none of the methods can take, and say where it is wrong."""
    from ..methods import DETAILS
    from .samples import last_resort, require_samples

    table.require_numbers(
        gaps=any("nan" in DETAILS[method].accepts for method in methods),
        last_resort=last_resort(table, "--methods"),
    )
    require_samples(k, table)


def _evidence(k: int | str, table: Table) -> Evidence | None:
    if k != "auto":
        return None
    from .fits import count_clusters

    return count_clusters(table, seed=0)


def _run(method: str, k: int, seeds: int, table: Table, max_iter: int | None) -> _Outcome:
    """Fit one method from each seed; what goes wrong is its own affair."""
    from .fits import fit

    outcome = _Outcome(method)
    for seed in range(seeds):
        try:
            fitted = fit(method, k, seed, table, max_iter)
        except Exception as error:
            explained = isinstance(error, ValueError | MemoryError) and str(error)
            outcome.failure = " ".join((str(error) if explained else repr(error)).split())
            break
        outcome.labels.append(fitted.estimator.labels_)
        outcome.seconds.append(fitted.seconds)
        outcome.messages += [f"{method}: {message}" for message in fitted.told]
    return outcome


def _result(
    table: Table, k: int, evidence: Evidence | None, outcomes: Sequence[_Outcome]
) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from ..metrics import nmi
    from ..report.findings import doubts
    from .fits import facts
    from .samples import scores_of

    def mean(values: Any) -> float | None:
        values = list(values)
        return float(np.mean(values)) if values else None

    rows = []
    for one in outcomes:
        scored = [each for labels in one.labels if (each := scores_of(table, labels))]
        pairs = combinations(one.labels, 2)
        rows.append(
            {
                "method": one.method,
                "failure": one.failure,
                "left_out": one.left_out,
                "scores": {name: mean(each[name] for each in scored) for name in scored[0]}
                if scored
                else None,
                "stability": mean(adjusted_rand_score(a, b) for a, b in pairs),
                "seconds": mean(one.seconds),
            }
        )
    done = [one for one in outcomes if one.labels and not one.failure]
    agreement = [
        {
            "methods": [one.method, two.method],
            "nmi": mean(nmi(a, b) for a, b in zip(one.labels, two.labels, strict=True)),
            "ari": mean(
                adjusted_rand_score(a, b) for a, b in zip(one.labels, two.labels, strict=True)
            ),
        }
        for one, two in combinations(done, 2)
    ]
    return {
        "data": table.name,
        "n_samples": int(table.X.shape[0]),
        "n_features": int(table.X.shape[1]),
        "columns": None if table.features is None else list(table.features),
        "n_clusters": k,
        "evidence": facts(evidence),
        "seeds": max((len(one.labels) for one in outcomes), default=0),
        "methods": rows,
        "agreement": agreement,
        "messages": list(
            dict.fromkeys(
                [
                    *table.messages,
                    *table.warnings,
                    *(note.in_command for note in doubts(evidence)),
                    *(note for one in outcomes for note in one.messages),
                ]
            )
        ),
    }


def _show(result: dict[str, Any], table: Table) -> None:
    from .samples import columns_used

    click.echo(
        f"{printable(result['data'])}: {plural(result['n_samples'], 'sample')}, "
        f"{plural(result['n_clusters'], 'cluster')}, {plural(result['seeds'], 'seed')}"
    )
    if used := columns_used(table):
        click.echo(printable(used))
    named: dict[str, float] = next(
        (row["scores"] for row in result["methods"] if row["scores"]), {}
    )
    show_table(
        ["method", *named, "stability", "seconds", "remark"],
        [
            [
                row["method"],
                *(_short(row["scores"] and row["scores"][name]) for name in named),
                _short(row["stability"]),
                "" if row["seconds"] is None else f"{row['seconds']:.1f}",
                _remark(row),
            ]
            for row in result["methods"]
        ],
    )
    if result["agreement"]:
        click.echo("Agreement between methods:")
        show_table(
            ["method", "and", "NMI", "adjusted Rand"],
            [
                [*pair["methods"], _short(pair["nmi"]), _short(pair["ari"])]
                for pair in result["agreement"]
            ],
        )


def _remark(row: dict[str, Any]) -> str:
    if row["failure"]:
        return f"failed: {printable(row['failure'])}"
    return f"left out: {row['left_out']}" if row["left_out"] else ""


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
