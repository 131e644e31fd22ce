"""``klsnmf compare``: several methods on the same data, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from ..core.words import plural
from ..methods import DETAILS, METHODS
from . import options
from .output import printable, show_json, show_notes, show_table

if TYPE_CHECKING:
    from ..io.table import Table
    from ..kernels.count import Evidence

#: The methods that are compared when none is named: one of each kind.
_USUAL = ("kls-nmf", "gnmf", "semi-nmf", "kernel-kmeans", "kmeans", "spectral")


#: The smallest cluster of HDBSCAN.
_LEAST_OF_CLUSTER = 10


@dataclass
class _Outcome:
    """One method: its clusters for each seed, or why there are none.

    If the user did not name a method and it cannot use the data, it is left out. Other problems are
    failures.
    """

    method: str
    failure: str | None = None
    left_out: str | None = None
    labels: list[Any] = field(default_factory=list)  # (seeds) of (n,)
    seconds: list[float] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    remark: str = ""


@click.command(short_help="Compare several methods on the same samples.")
@options.source
@options.clusters
@click.option(
    "--methods",
    metavar="A,B,...",
    help=f"The methods to compare, or all. [default: {','.join(_USUAL)}, without those that cannot "
    "use the data]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    help="How many times to run each method, each time with another seed.",
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

    DATA is as for klsnmf cluster. If classes are known, the scores of each method are shown,
    averaged over the seeds. Stability shows how much a method agrees with itself from seed to seed
    (adjusted Rand index). A table shows how much two methods agree with each other (NMI and
    adjusted Rand index). If methods agree, the clusters are likely to be real; if not, look twice.
    With -k auto, HDBSCAN is included, which finds its own number of clusters.
    """
    chosen = _chosen(methods)
    named = methods not in (None, "all")
    from .working import working

    with working(quiet) as display:
        display.title(f"Reading {source}")
        from .samples import last_resort, prepared, read, refusal, require_samples

        table, _ = prepared(read(source), source, chosen if named else chosen[:1])
        display.title(f"Choosing the number of clusters of {table.name}")
        bears_gaps = any("nan" in DETAILS[method].accepts for method in chosen)
        table.require_numbers(gaps=bears_gaps, last_resort=last_resort(table, "--methods"))
        require_samples(k, table)
        from .fits import count_clusters

        evidence = count_clusters(table, seed=0) if k == "auto" else None
        count = int(k) if evidence is None else evidence.chosen
        outcomes = []
        for i, method in enumerate(chosen):
            display.title(f"Method {i + 1} of {len(chosen)}, {method}")
            if reason := refusal(method, table):
                reasons = (reason, None) if named else (None, reason)
                outcomes.append(_Outcome(method, *reasons))
            else:
                outcomes.append(_run(method, count, seeds, table, max_iter))
        if evidence is not None:
            display.title("HDBSCAN, which chooses its own number of clusters")
            outcomes.append(_by_density(seeds, table))
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
        raise click.UsageError("Name at least one method after --methods.")
    return chosen


def _run(method: str, k: int, seeds: int, table: Table, max_iter: int | None) -> _Outcome:
    """Fit one method with each seed; its failure does not stop the others."""
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


def _by_density(seeds: int, table: Table) -> _Outcome:
    """HDBSCAN, which finds its own number of clusters and uses no seed."""
    import numpy as np
    from sklearn.cluster import HDBSCAN

    outcome, begun = _Outcome("hdbscan"), time.perf_counter()
    try:
        labels = HDBSCAN(_LEAST_OF_CLUSTER, copy=True).fit_predict(table.X)
    except (ValueError, TypeError) as error:
        outcome.left_out = " ".join(str(error).split())
        return outcome
    outcome.labels = [labels] * seeds
    outcome.seconds = [time.perf_counter() - begun]
    found, noise = len(np.unique(labels[labels >= 0])), float(np.mean(labels < 0))
    outcome.remark = f"finds {plural(found, 'cluster')}, and calls {noise:.0%} noise"
    return outcome


def _result(
    table: Table, k: int, evidence: Evidence | None, outcomes: Sequence[_Outcome]
) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from ..metrics import nmi
    from ..report.findings import doubts
    from .fits import facts
    from .samples import scores_of, size_of

    def mean(values: Iterable[float]) -> float | None:
        values = list(values)
        return float(np.mean(values)) if values else None

    def alike(measure: Callable[..., float], pairs: Iterable[Any]) -> float | None:
        return mean(measure(a, b) for a, b in pairs)

    rows = []
    for one in outcomes:
        scored = [each for labels in one.labels if (each := scores_of(table, labels))]
        row = {name: getattr(one, name) for name in ("method", "failure", "left_out", "remark")}
        names = scored[0] if scored else ()
        row["scores"] = {name: mean(each[name] for each in scored) for name in names} or None
        row["stability"] = alike(adjusted_rand_score, combinations(one.labels, 2))
        row["seconds"] = mean(one.seconds)
        rows.append(row)
    agreement = []
    for one, two in combinations([one for one in outcomes if one.labels and not one.failure], 2):
        pairs = list(zip(one.labels, two.labels, strict=True))
        scores = {"nmi": alike(nmi, pairs), "ari": alike(adjusted_rand_score, pairs)}
        agreement.append({"methods": [one.method, two.method], **scores})
    notes = [*table.messages, *table.warnings, *(note.in_command for note in doubts(evidence))]
    notes += [note for one in outcomes for note in one.messages]
    return {
        "data": table.name,
        **size_of(table),
        "n_clusters": k,
        "evidence": facts(evidence),
        "seeds": max((len(one.labels) for one in outcomes), default=0),
        "methods": rows,
        "agreement": agreement,
        "messages": list(dict.fromkeys(notes)),
    }


def _show(result: dict[str, Any], table: Table) -> None:
    from .samples import columns_used

    click.echo(
        f"{printable(result['data'])}: {plural(result['n_samples'], 'sample')}, "
        f"{plural(result['n_clusters'], 'cluster')}, {plural(result['seeds'], 'seed')}"
    )
    if used := columns_used(table):
        click.echo(printable(used))
    scored: list[str] = next(
        (list(each["scores"]) for each in result["methods"] if each["scores"]), []
    )
    rows = []
    for each in result["methods"]:
        values = [*((each["scores"] or {}).get(name) for name in scored), each["stability"]]
        remark = f"left out: {each['left_out']}" if each["left_out"] else each["remark"]
        if each["failure"]:
            remark = f"failed: {printable(each['failure'])}"
        rows.append([each["method"], *map(_short, values), _short(each["seconds"], 1), remark])
    show_table(["method", *scored, "stability", "seconds", "remark"], rows)
    if pairs := result["agreement"]:
        click.echo("Agreement between methods:")
        rows = [[*pair["methods"], _short(pair["nmi"]), _short(pair["ari"])] for pair in pairs]
        show_table(["method", "and", "NMI", "adjusted Rand"], rows)


def _short(value: float | None, decimals: int = 3) -> str:
    return "" if value is None else f"{value:.{decimals}f}"
