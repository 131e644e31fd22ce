"""What the paper says in words, checked against rows: a page of questions and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.tables import head, line
from . import convergence, cost
from .protocol import GRIDS, S
from .published import (
    METRICS,
    OURS,
    RIVALS,
    TITLES,
    Claim,
    published,
    published_average,
    published_sizes,
)
from .selection import Found, Results, Rows, average, best_of, by_lam, difference, settings

#: What a cell says where the paper has no such table.
_NOT_PRINTED = "not in the paper"


def page(
    found: Found, rows: Rows, points: Sequence[convergence.Point], costs: Sequence[cost.Cost]
) -> str:
    """All claims for which there are rows, each with the numbers of the paper and ours."""
    common = {name: _common(results) for name, results in found.items()}
    ours = {name: results for name, results in common.items() if results.get(OURS)}
    against = {name: results for name, results in ours.items() if _rivals(results)}
    grids = {name: rows[name] for name in GRIDS if rows.get(name)}
    told: list[Claim] = []
    if ours:
        told.append(_averages(ours))
    if against:
        told += [_best_cells(against), _gains(against)]
    if large := sorted({8, 9, 10} & against.get("jaffe", {OURS: {}})[OURS].keys()):
        told.append(_large_jaffe(against["jaffe"], large))
    if ours:
        told += [_sensitivity(ours, rows), _local_term(ours, rows)]
    if grids:
        told.append(_graph_term(grids))
    if points:
        told.append(convergence.claim(points))
    if costs:
        told.append(cost.claim(costs))
    text = ["# What the paper says, and what was measured"]
    for title, answer, columns, lines in told:
        text += ["", f"## {title}", "", answer, "", *head(*columns), *(line(*one) for one in lines)]
    return "\n".join(text) + "\n"


def _common(results: Results) -> Results:
    """The same, only for the N that all columns have."""
    run = [set(column) for column in results.values() if column]
    sizes = set.intersection(*run) if run else set()
    return {
        name: {size: result for size, result in column.items() if size in sizes}
        for name, column in results.items()
    }


def _title(name: str, results: Results) -> str:
    """The set, and which N, if some are missing."""
    missing = published_sizes(name) - results[OURS].keys()
    sizes = ", ".join(map(str, sorted(results[OURS])))
    return f"{name}, only N = {sizes}" if missing else name


def _rivals(found: Results) -> list[str]:
    """The paper's other methods that have been run to the end."""
    return [name for name in RIVALS if len(found.get(name, {})) == len(found[OURS])]


def _averages(found: Found) -> Claim:
    """KLS-NMF on average over N: the paper's, ours with labels and without, plain tools."""
    columns = [OURS, "KLS-NMF, no labels", "KLS-NMF, self-tuning", "KMeans", "SpectralClustering"]
    lines, reached, close, plain = [], [], [], dict.fromkeys(columns[-2:], 0)
    for name, results in found.items():
        run = [column for column in columns if results.get(column)]
        for metric in METRICS:
            paper = published_average(name, OURS, metric, results[OURS])
            means = {column: average(results[column], metric) for column in run}
            if paper is not None:
                reached.append(means[OURS] >= paper)
            for column in plain:
                plain[column] += means.get(column, -np.inf) > means[OURS]
            if columns[1] in means:
                close.append(means[columns[1]] >= means[OURS] - 3)
            told = _NOT_PRINTED if paper is None else f"{paper:.2f}"
            numbers = [f"{means[column]:.2f}" if column in means else "" for column in columns]
            lines.append([_title(name, results), TITLES[metric], told, *numbers])
    ahead = " and ".join(f"{count} lines ({column})" for column, count in plain.items())
    compared = (
        f"KLS-NMF with the labels reaches the paper's average in {sum(reached)} of "
        f"{len(reached)} lines. Without labels it is at most 3 points lower in {sum(close)} of "
        f"{len(close)}."
        if reached
        else "The paper has no such table, so there are no numbers to compare with."
    )
    text = (
        f"{compared}\n\n"
        "The paper's average is recomputed from its rows. The next columns are ours: the paper's "
        "method and kernel, with the radius and λ that the labels choose; the defaults, which see "
        "no label; the default kernel with the λ that the labels choose, and with the starts and "
        "iterations of the paper's method; and scikit-learn's tools.\n\n"
        f"A plain tool that sees no label is ahead of the paper's method with labels in {ahead}. "
        "The rules of the defaults see no label, but they were chosen while looking at the labels "
        "of these sets.\n\n"
        "The intervals below treat random subsets as independent. If N is close to the number of "
        "classes, subsets share most of their samples, and some differ only in their starts. Such "
        "intervals are too narrow."
    )
    return Claim("Averages over N", text, ["set", "score", "paper", *columns], lines)


def _best_cells(found: Found) -> Claim:
    """In how many cells of the tables KLS-NMF is the best of the six methods."""
    lines, best, cells = [], 0, 0
    for name, results in found.items():
        rivals = _rivals(results)
        theirs, ours = [], []
        for size, result in results[OURS].items():
            for metric in METRICS:
                others = [results[rival][size].mean(metric) for rival in rivals]
                ours.append(round(result.mean(metric), 2) >= round(max(others), 2))
                if (name, size, OURS) in published():
                    theirs.append(_printed_lead(name, size, metric) >= 0)
        printed = f"{sum(theirs)} of {len(theirs)}" if theirs else _NOT_PRINTED
        in_ours = f"{sum(ours)} of {len(ours)}"
        lines.append([_title(name, results), printed, in_ours, len(rivals)])
        best, cells = best + sum(ours), cells + len(ours)
    return Claim(
        "Claim: KLS-NMF is the best of the six methods in almost all cells of the tables",
        f"Here it is the best, or as good as the best, in {best} of {cells} pairs of N and score.",
        ["set", "in the paper's tables", "in ours", "rivals that have been run"],
        lines,
    )


def _printed_lead(name: str, size: int, metric: str) -> float:
    """KLS-NMF minus the best of the others in a cell of the paper's tables."""
    ours, *others = (published()[name, size, column][metric] for column in (OURS, *RIVALS))
    return ours - max(others)


def _gains(found: Found) -> Claim:
    """KLS-NMF minus the best of the other methods, on average over N."""
    lines, gains = [], []
    for name, results in found.items():
        sizes = results[OURS]
        for metric in METRICS:
            averages = {rival: average(results[rival], metric) for rival in _rivals(results)}
            best = max(averages, key=lambda rival: averages[rival])
            gains.append(average(sizes, metric) - averages[best])
            printed, *others = (
                published_average(name, column, metric, sizes) for column in (OURS, *RIVALS)
            )
            told = _NOT_PRINTED
            if printed is not None:
                told = f"{printed - max(value or 0.0 for value in others):+.2f}"
            gap = difference(sizes, results[best], metric)
            over = f"{gap[0]:+.2f} ± {gap[1]:.2f}" if gap else ""
            shown = TITLES[metric], told, f"{gains[-1]:+.2f}", best, over
            lines.append([_title(name, results), *shown])
    enough, within = sum(gain >= 3 for gain in gains), sum(3 <= gain <= 6 for gain in gains)
    return Claim(
        "Claim: it improves the average scores by 3 to 6 points over the best of the others",
        f"Here it gains 3 to 6 points in {within} of {len(gains)} lines, and more in "
        f"{enough - within}. The gains go from {min(gains):+.2f} to {max(gains):+.2f}. The gain is "
        "KLS-NMF minus the other method with the highest average, where every N counts once. For "
        "all methods, settings are chosen with the labels. The last column is the mean of the "
        "paired differences over all subsets, each counted once, with its 95 % interval.",
        ["set", "score", "in the paper's tables", "in ours", "best rival", "over subsets"],
        lines,
    )


def _large_jaffe(results: Results, sizes: Sequence[int]) -> Claim:
    lines, leads, printed = [], [], []
    for size in sizes:
        for metric in METRICS:
            means = {rival: results[rival][size].mean(metric) for rival in _rivals(results)}
            best = max(means, key=lambda rival: means[rival])
            ours = results[OURS][size]
            leads.append(ours.mean(metric) - means[best])
            printed.append(_printed_lead("jaffe", size, metric))
            gap = difference({size: ours}, {size: results[best][size]}, metric)
            half = f" ± {gap[1]:.2f}" if gap and gap[2] > 1 else ""
            told = f"{printed[-1]:+.2f}", f"{leads[-1]:+.2f}{half}"
            lines.append([size, TITLES[metric], *told, best])
    return Claim(
        "Claim: on JAFFE with large N it improves all scores by about 8 points",
        f"Here its lead goes from {min(leads):+.2f} to {max(leads):+.2f} points, and in the "
        f"paper's own tables from {min(printed):+.2f} to {max(printed):+.2f}. The lead is KLS-NMF "
        "minus the best of the others at the same N, with the 95 % interval of the paired "
        "differences over subsets.",
        ["N", "score", "in the paper's tables", "in ours", "best rival"],
        lines,
    )


def _sensitivity(found: Found, rows: Rows) -> Claim:
    """How accuracy varies with λ at the chosen radius and the smallest N, as in the paper."""
    lines, steady, steady_below, known_below = [], 0, 0, 0
    for name, results in found.items():
        size = min(results[OURS])
        curve = by_lam(rows[name], size, results[OURS][size].setting["radius"])
        every = [one.mean("accuracy") for *_, one in curve]
        small = [one.mean("accuracy") for _, share, one in curve if share < 0.1]
        known_below += bool(small)
        steady += max(every) - min(every) <= 3
        steady_below += bool(small) and max(small) - min(small) <= 3
        lines.append([name, size, _range(every), _range(small)])
    return Claim(
        "Claim: it is insensitive to λ",
        f"Here accuracy varies by at most 3 points over all λ on {steady} of {len(lines)} sets, "
        f"and over λ below a tenth of λ* on {steady_below} of {known_below}. λ* is the λ at which "
        "half of the samples fit no cluster. The table is for the smallest N and the chosen "
        "radius.",
        ["set", "N", "lowest to highest, all λ", "lowest to highest, λ < λ*/10"],
        lines,
    )


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f} ({len(values)} values)" if values else ""


def _local_term(found: Found, rows: Rows) -> Claim:
    """The same method with λ = 0 and the radius that is best then."""
    lines, helps = [], 0
    for name, results in found.items():
        tried = {size: settings(rows[name], OURS, size) for size in results[OURS]}
        without = {
            size: best_of(one for one in mine if one.setting["lam"] == 0)
            for size, mine in tried.items()
        }
        gap = difference(results[OURS], without, "accuracy")
        assert gap is not None
        helps += gap[0] > gap[1]
        means = [f"{average(each, 'accuracy'):.2f}" for each in (results[OURS], without)]
        lines.append([_title(name, results), *means, f"{gap[0]:+.2f} ± {gap[1]:.2f}"])
    return Claim(
        "Claim: learning local similarity helps",
        f"Here the local term gains more than its 95 % interval on {helps} of {len(lines)} sets. "
        "The table compares the accuracy with λ and radius chosen with the labels, and with λ = 0 "
        "and the radius chosen with the labels. The difference is paired over all subsets. "
        "Choosing among more settings already adds a little by itself.",
        ["set", "λ > 0", "λ = 0", "difference"],
        lines,
    )


def _graph_term(rows: Rows) -> Claim:
    """GLS-NMF over λ × γ: how much the graph term changes."""
    lines, gains = [], []
    for name, mine in rows.items():
        size = GRIDS[name].sizes[0]
        found = settings(mine, "GLS-NMF", size)
        best = best_of(found)
        low = best_of(one for one in found if one.setting["graph_weight"] == min(S))
        most, weakest = best.mean("accuracy"), low.mean("accuracy")
        least = min(one.mean("accuracy") for one in found)
        gains.append(most - weakest)
        at = f"λ = {best.setting['lam']:g}, γ = {best.setting['graph_weight']:g}"
        told = f"{least:.1f} to {most:.1f}", at, f"{weakest:.1f}"
        lines.append([GRIDS[name].dataset, size, *told])
    return Claim(
        "GLS-NMF: a graph term on top",
        f"The best γ gains {min(gains):.1f} to {max(gains):.1f} points of accuracy over the "
        "smallest, each with its best λ. Both are chosen with the labels. The radius is 1, and the "
        "graph has 5 neighbours.",
        ["set", "N", "lowest to highest", "best at", f"best with γ = {min(S):g}"],
        lines,
    )
