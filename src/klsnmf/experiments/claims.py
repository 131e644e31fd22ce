"""What the paper says in words, checked against rows: a page of questions and numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from .convergence import Point
from .cost import Cost, exponent
from .figures import by_lam
from .published import METRICS, published, published_average, published_sizes
from .rows import Row
from .selection import Result, average, best_of, difference, settings
from .tables import TITLES

OURS = "KLS-NMF"
RIVALS = ("WNMF", "RMNMF", "CNMF", "KNMF", "ONMF")

#: set -> column -> N -> what it reaches
Found = Mapping[str, Mapping[str, Mapping[int, Result]]]


def page(
    found: Found,
    rows: Mapping[str, Sequence[Row]],
    points: Sequence[Point],
    costs: Sequence[Cost],
) -> str:
    """All claims, each with what the paper's own tables and ours say of it."""
    found = {name: _common(results) for name, results in found.items()}
    parts = [
        ["# What the paper says, and what was measured", ""],
        _averages(found),
        _best_cells(found),
        _gains(found),
        _large_jaffe(found),
        _sensitivity(found, rows),
        _local_term(found, rows),
        _descent(points),
        _cost(costs),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _common(results: Mapping[str, Mapping[int, Result]]) -> dict[str, dict[int, Result]]:
    """The same with those N only that have been run for all columns that have been run."""
    run = [set(column) for column in results.values() if column]
    sizes = set.intersection(*run) if run else set()
    return {
        name: {size: result for size, result in column.items() if size in sizes}
        for name, column in results.items()
    }


def _title(name: str, results: Mapping[str, Mapping[int, Result]]) -> str:
    """The set, and which N, if some are missing."""
    missing = published_sizes(name) - results[OURS].keys()
    sizes = ", ".join(map(str, sorted(results[OURS])))
    return f"{name}, only N = {sizes}" if missing else name


def _rivals(found: Mapping[str, Mapping[int, Result]]) -> list[str]:
    """The paper's other methods that have been run to the end."""
    most = len(found.get(OURS, {}))
    return [name for name in RIVALS if most and len(found.get(name, {})) == most]


def _line(*fields: object) -> str:
    return "| " + " | ".join(map(str, fields)) + " |"


def _head(*fields: str) -> list[str]:
    return [_line(*fields), "|" + "---|" * len(fields)]


def _claim(words: str) -> list[str]:
    return ["", f"## Claim: {words}", ""]


def _averages(found: Found) -> list[str]:
    """KLS-NMF on average over N: the paper's, ours with labels and without, plain tools."""
    columns = [OURS, "KLS-NMF, no labels", "KLS-NMF, self-tuning", "KMeans", "SpectralClustering"]
    text = [
        "## Averages over N",
        "",
        "The paper's average is recomputed from its rows. The next columns are ours: the paper's "
        "method and kernel with the radius and λ that the labels choose; the defaults, which see "
        "no label; the default kernel with the λ that the labels choose; scikit-learn's tools.",
        "",
        *_head("set", "score", "paper", *columns),
    ]
    for name, results in found.items():
        if not results.get(OURS):
            continue
        for metric in METRICS:
            paper = published_average(name, OURS, metric, results[OURS])
            means = [
                f"{average(results[column], metric):.2f}" if results.get(column) else ""
                for column in columns
            ]
            told = "not in the paper" if paper is None else f"{paper:.2f}"
            text.append(_line(_title(name, results), TITLES[metric], told, *means))
    return text


def _best_cells(found: Found) -> list[str]:
    """In how many cells of the tables KLS-NMF is the best of the six methods."""
    listed, best, cells = [], 0, 0
    for name, results in found.items():
        rivals = _rivals(results)
        theirs = ours = total = known = 0
        for size, result in results.get(OURS, {}).items():
            for metric in METRICS:
                total += 1
                printed = published().get((name, size, OURS), {}).get(metric)
                if printed is not None:
                    known += 1
                    others = [published()[name, size, rival][metric] for rival in RIVALS]
                    theirs += printed >= max(others)
                others = [results[rival][size].mean(metric) for rival in rivals]
                ours += round(result.mean(metric), 2) >= round(max(others, default=0.0), 2)
        if total:
            printed_too = f"{theirs} of {known}" if known else "not in the paper"
            title = _title(name, results)
            listed.append(_line(title, printed_too, f"{ours} of {total}", len(rivals)))
            best, cells = best + ours, cells + total
    return [
        *_claim("KLS-NMF is the best of the six methods in almost all cells of the tables"),
        f"Here it is the best, or as good as the best, in {best} of {cells} pairs of N and score.",
        "",
        *_head("set", "in the paper's tables", "in ours", "rivals that have been run"),
        *listed,
    ]


def _gains(found: Found) -> list[str]:
    """KLS-NMF minus the best of the other methods, on average over N."""
    listed, gains = [], []
    for name, results in found.items():
        rivals = _rivals(results)
        for metric in METRICS if rivals else ():
            averages = {rival: average(results[rival], metric) for rival in rivals}
            best = max(averages, key=lambda rival: averages[rival])
            gains.append(average(results[OURS], metric) - averages[best])
            gap = difference(results[OURS], results[best], metric)
            printed = [
                published_average(name, rival, metric, results[OURS]) for rival in (OURS, *RIVALS)
            ]
            told = "not in the paper"
            if printed[0] is not None:
                told = f"{printed[0] - max(value or 0.0 for value in printed[1:]):+.2f}"
            over = f"{gap[0]:+.2f} ± {gap[1]:.2f}" if gap else ""
            title = _title(name, results)
            listed.append(_line(title, TITLES[metric], told, f"{gains[-1]:+.2f}", best, over))
    enough = sum(gain >= 3 for gain in gains)
    return [
        *_claim("it improves the average scores by 3 to 6 points over the best of the others"),
        f"Here it gains at least 3 points in {enough} of {len(gains)} lines. KLS-NMF minus the "
        "rival with the highest average; settings are chosen with the labels for all. The last "
        "column is the mean over all subsets with its 95 % interval, paired.",
        "",
        *_head("set", "score", "in the paper's tables", "in ours", "best rival", "over subsets"),
        *listed,
    ]


def _large_jaffe(found: Found) -> list[str]:
    results = found.get("jaffe", {})
    rivals = _rivals(results)
    if not rivals or not {8, 9, 10} <= results[OURS].keys():
        return []
    listed = []
    for size in (8, 9, 10):
        for metric in METRICS:
            printed = {rival: published()["jaffe", size, rival][metric] for rival in RIVALS}
            theirs = published()["jaffe", size, OURS][metric] - max(printed.values())
            ours = results[OURS][size].mean(metric) - max(
                results[rival][size].mean(metric) for rival in rivals
            )
            listed.append(_line(size, TITLES[metric], f"{theirs:+.2f}", f"{ours:+.2f}"))
    return [
        *_claim("on JAFFE with large N it improves all scores by about 8 points"),
        "KLS-NMF minus the best of the others at the same N, in points. The paper's own tables "
        "do not show 8 points either.",
        "",
        *_head("N", "score", "in the paper's tables", "in ours"),
        *listed,
    ]


def _sensitivity(found: Found, rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """How accuracy varies with λ at the chosen radius and the smallest N, as in the paper."""
    listed, steady, steady_below = [], 0, 0
    for name, results in found.items():
        if not results.get(OURS):
            continue
        size = min(results[OURS])
        curve = by_lam(rows[name], size, results[OURS][size].setting["radius"])
        every = [means["accuracy"] for *_, means in curve]
        small = [means["accuracy"] for _, share, means in curve if share < 0.1]
        steady += max(every) - min(every) <= 3
        steady_below += bool(small) and max(small) - min(small) <= 3
        below = f"{min(small):.1f} to {max(small):.1f} ({len(small)} values)" if small else ""
        full = f"{min(every):.1f} to {max(every):.1f} ({len(every)} values)"
        listed.append(_line(name, size, full, below))
    return [
        *_claim("it is insensitive to λ"),
        f"Here accuracy varies by at most 3 points over all λ on {steady} of {len(listed)} sets, "
        f"and over λ below a tenth of λ* on {steady_below} of {len(listed)}. λ* is the λ at which "
        "half of the samples fit no cluster. Smallest N, chosen radius.",
        "",
        *_head("set", "N", "lowest to highest, all λ", "lowest to highest, λ < λ*/10"),
        *listed,
    ]


def _local_term(found: Found, rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """The same method with λ = 0 and the radius that is best then."""
    listed, helps, total = [], 0, 0
    for name, results in found.items():
        without = {}
        for size in results.get(OURS, {}):
            zero = {
                setting: scores
                for setting, scores in settings(rows[name], OURS, size).items()
                if json.loads(setting)["lam"] == 0
            }
            without[size] = best_of(zero)
        if not without:
            continue
        gap = difference(results[OURS], without, "accuracy")
        assert gap is not None
        helps, total = helps + (gap[0] > gap[1]), total + 1
        listed.append(
            _line(
                _title(name, results),
                f"{average(results[OURS], 'accuracy'):.2f}",
                f"{average(without, 'accuracy'):.2f}",
                f"{gap[0]:+.2f} ± {gap[1]:.2f}",
            )
        )
    return [
        *_claim("learning local similarity helps"),
        f"Here the local term gains more than its 95 % interval on {helps} of {total} sets. "
        "Accuracy with λ and radius chosen with the labels, and with λ = 0 and the radius chosen "
        "with the labels; the difference is paired over all subsets. Choosing among more "
        "settings adds a little by itself.",
        "",
        *_head("set", "λ > 0", "λ = 0", "difference"),
        *listed,
    ]


def _descent(points: Sequence[Point]) -> list[str]:
    """Rises of the objective, iterations until it settles, the rate at the end."""
    if not points:
        return []
    text = [
        *_claim("the objective falls at every step, and settles within about 100 iterations"),
        "λ = 0.001, radius 1, ten subsets of each set, 500 iterations from labels of k-means. A "
        "rise counts if beyond rounding. Settled is the iteration from which on the objective "
        "is within 1/1000 of its lowest value. The factor is that by which the change of W and G "
        "shrinks in an iteration near the end. It is close to 1, and the change falls like a power "
        "of the iteration, t to the minus a, with a from the last 400 iterations: slower than "
        "linear convergence.",
        "",
        *_head("set", "N", "rules", "fits with a rise", "settled, mean and most", "factor", "a"),
    ]
    firsts = [point for point in points if point.iteration == 1]
    for name, solver in dict.fromkeys((point.set, point.solver) for point in firsts):
        mine = [point for point in firsts if (point.set, point.solver) == (name, solver)]
        settled = [point.settled for point in mine]
        text.append(
            _line(
                name,
                mine[0].N,
                {"paper": "as printed", "soft": "symmetrised", "exact": "exact"}[solver],
                f"{sum(point.rises > 0 for point in mine)} of {len(mine)}",
                f"{np.mean(settled):.0f}, {max(settled)}",
                f"{np.median([point.rate for point in mine]):.4f}",
                f"{_power([p for p in points if (p.set, p.solver) == (name, solver)]):.1f}",
            )
        )
    return text


def _power(points: Sequence[Point]) -> float:
    """a of a change that falls like t to the minus a, the median over subsets."""
    found = []
    for subset in {point.subset for point in points}:
        late = [point for point in points if point.subset == subset and point.iteration >= 100]
        change = np.hypot([p.change_W for p in late], [p.change_G for p in late])
        moving = change > 0
        if moving.sum() > 1:
            t = np.array([point.iteration for point in late], dtype=float)
            found.append(-exponent(t[moving], change[moving]))
    return float(np.median(found)) if found else np.nan


def _cost(costs: Sequence[Cost]) -> list[str]:
    """Exponents of time, one of n, k and p growing."""
    if not costs:
        return []
    text = [
        *_claim("an iteration costs O(n²p + n²k)"),
        "The kernel matrix is computed once, before the first iteration: n²p is paid once and "
        "not in each. Exponents are slopes of lines through the logarithms; small matrices "
        "do not fill the processor, so they are lower than in theory.",
        "",
        *_head("what grows", "from, to", "an iteration, ms", "exponent", "before, ms", "exponent"),
    ]
    for grows in dict.fromkeys(cost.grows for cost in costs):
        mine = [cost for cost in costs if cost.grows == grows]
        sizes = [getattr(cost, grows) for cost in mine]
        cells: list[str] = []
        for times in ([c.iteration for c in mine], [c.before for c in mine]):
            cells.append(", ".join(f"{1000 * seconds:.1f}" for seconds in times))
            cells.append(f"{exponent(sizes, times):.2f}")
        text.append(_line(grows, f"{sizes[0]}, {sizes[-1]}", *cells))
    return text
