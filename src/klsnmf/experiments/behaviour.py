"""Claims about the way to the result: that it descends, that it settles, what a step costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.tables import head, line
from .cost import Cost, exponent

#: The fits whose way is shown: random subsets of classes, λ, σ and iterations.
SUBSETS = 10
LAM, RADIUS = 0.001, 1.0
ITERATIONS = 500


@dataclass(frozen=True)
class Point:
    """One iteration of a fit, and what is known of the whole fit.

    Attributes
    ----------
    rises : how often the objective rose, beyond rounding
    settled : the iteration from which on it is within 1/1000 of its lowest value
    rate : the factor by which changes of W and G shrink from one iteration to the next, at the end
    """

    set: str
    N: int
    subset: int
    solver: str
    rises: int
    settled: int
    rate: float
    iteration: int
    objective: float
    change_W: float
    change_G: float
    version: str
    protocol: str


def claim(words: str) -> list[str]:
    """The head of a part of the page."""
    return ["", f"## Claim: {words}", ""]


def descent(points: Sequence[Point]) -> list[str]:
    """Rises of the objective, iterations until it settles, the rate at the end."""
    if not points:
        return []
    firsts = [point for point in points if point.iteration == 1]
    printed = [point for point in firsts if point.solver == "paper"]
    listed, powers, unsettled = [], [], 0
    for name, solver in dict.fromkeys((point.set, point.solver) for point in firsts):
        mine = [point for point in firsts if (point.set, point.solver) == (name, solver)]
        settled = [point.settled for point in mine]
        these = [point for point in points if (point.set, point.solver) == (name, solver)]
        falling = sum(_still_falls([p for p in these if p.subset == one.subset]) for one in mine)
        powers.append(_power(these))
        unsettled += falling if solver == "paper" else 0
        listed.append(
            line(
                name,
                mine[0].N,
                {"paper": "as printed", "soft": "symmetrised", "exact": "exact"}[solver],
                f"{sum(point.rises > 0 for point in mine)} of {len(mine)}",
                f"{np.mean(settled):.0f}, {max(settled)}",
                f"{falling} of {len(mine)}",
                f"{np.median([point.rate for point in mine]):.4f}",
                f"{powers[-1]:.1f}",
            )
        )
    rates = [point.rate for point in printed]
    return [
        *claim("the objective falls at every step, and settles within about 100 iterations"),
        f"Here, with the rules as printed, it rises in {sum(p.rises > 0 for p in printed)} of "
        f"{len(printed)} fits, and has settled after 100 iterations in "
        f"{sum(p.settled <= 100 for p in printed)}, after 200 in "
        f"{sum(p.settled <= 200 for p in printed)}; in {unsettled} it still falls in the last "
        f"fifth of the {ITERATIONS} iterations that were run, by more than 1/1000, and has not "
        "settled at all. Near the end the change of W and G shrinks "
        f"by a factor of {np.median(rates):.4f} an iteration (median); read as a power of the "
        f"iteration, t to the minus a, a goes from {min(powers):.1f} to {max(powers):.1f}.",
        "",
        f"λ = {LAM:g}, radius {RADIUS:g}, {SUBSETS} subsets of each set, {ITERATIONS} iterations "
        "from labels of k-means. A rise counts if beyond rounding. Settled is the iteration from "
        "which on the objective is within 1/1000 of its lowest value; where fits still fall, it "
        "would be later with more iterations.",
        "",
        *head(
            *("set", "N", "rules", "fits with a rise", "settled, mean and most"),
            *("still falling", "factor", "a"),
        ),
        *listed,
    ]


def _still_falls(points: Sequence[Point]) -> bool:
    """Whether the objective of one fit falls by more than 1/1000 in the last fifth."""
    late = [point.objective for point in points if point.iteration >= 0.8 * ITERATIONS]
    return bool(late) and late[0] > 1.001 * late[-1]


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


def cost_of_an_iteration(costs: Sequence[Cost]) -> list[str]:
    """Exponents of time, one of n, k and p growing."""
    if not costs:
        return []
    listed, told = [], []
    for grows in dict.fromkeys(cost.grows for cost in costs):
        mine = [cost for cost in costs if cost.grows == grows]
        sizes = [getattr(cost, grows) for cost in mine]
        cells: list[str] = []
        for times in ([c.iteration for c in mine], [c.before for c in mine]):
            cells.append(", ".join(f"{1000 * seconds:.1f}" for seconds in times))
            cells.append(f"{exponent(sizes, times):.2f}")
        told.append(f"{grows} to the power {cells[1]}")
        listed.append(line(grows, f"{sizes[0]}, {sizes[-1]}", *cells))
    return [
        *claim("an iteration costs O(n²p + n²k)"),
        f"Here the time of an iteration grows with {', '.join(told)}; n²k would be 2, 1 and 0. The "
        "kernel matrix is computed once, before the first iteration: n²p is paid once and not in "
        "each. Exponents are slopes of lines through the logarithms; small matrices do not fill "
        "the processor, which makes them smaller.",
        "",
        *head("what grows", "from, to", "an iteration, ms", "exponent", "before, ms", "exponent"),
        *listed,
    ]
