"""From a problem to solutions: restarts and values of λ in one batch, phase after phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..core.arrays import namespace, to_host
from ..core.types import Array
from ..grams.base import Gram, Weights
from ..models.base import Model
from ..models.ls_nmf import EXACT, FREE, PRINTED, SYMMETRIC, LocalSimilarity, Step
from .loop import NO_JOURNAL, Journal, solve
from .regroup import can_be_regrouped, regrouped_starts
from .solution import Callback, Progress, Solution, Start, Status, lowest

#: Steps that all starts take, and how many starts of each kind go on from there.
SCREENING_STEPS = 3
FINALISTS = 2


class Phase(NamedTuple):
    """A part of the way: its name, what makes its model from K and λ, and whether G is exact."""

    name: str
    model: Callable[[Gram, float], Model]
    exact: bool = False


@dataclass(frozen=True)
class Problem:
    """What all fits of one call share."""

    K: Gram
    starts: Sequence[Start]
    phases: Sequence[Phase]
    max_iter: int
    tol: float
    callback: Callback | None = None
    journal: Journal = NO_JOURNAL
    run: Callable[..., list[Solution]] = solve


def choose_phases(
    solver: str,
    K: Gram,
    *,
    orthogonal: bool,
    graph: Weights | None,
    graph_weight: float,
) -> list[Phase]:
    """The steps that a solver takes, one kind after the other."""
    if solver == "paper" and not K.nonnegative:
        raise ValueError(
            'solver="paper" needs a kernel with no negative entry, and this one has some: '
            'use solver="soft" or "auto".'
        )
    if not orthogonal and solver in ("paper", "exact"):
        raise ValueError(
            f"solver={solver!r} makes the columns of G orthogonal: "
            'with orthogonal=False use solver="auto" or "soft".'
        )
    if not orthogonal and graph is not None:
        raise ValueError(
            f"graph_weight={graph_weight} has a meaning only if the columns of G are "
            "orthogonal: use orthogonal=True, or graph_weight=0."
        )
    if graph is not None and solver == "exact":
        raise ValueError(
            f'solver="exact" does not know the graph term: with graph_weight={graph_weight} '
            'use solver="soft" or "auto".'
        )
    steps: dict[str, list[tuple[str, Step]]] = {
        "paper": [("paper", PRINTED)],
        "soft": [("soft", SYMMETRIC)],
        "exact": [("exact", EXACT)],
        # Both rules of LS-NMF descend, and it bears a larger λ than the symmetrised rule.
        "auto": [("soft", FREE), ("exact", EXACT)],
    }
    chosen = steps["soft" if solver == "auto" and graph is not None else solver]
    if not orthogonal:
        chosen = [("soft", FREE)]
    model = partial(LocalSimilarity, graph=graph, gamma=graph_weight)
    return [Phase(name, partial(model, step=step), step is EXACT) for name, step in chosen]


def with_best_starts(problem: Problem, *, regroup: bool) -> Problem:
    """The same problem with the starts that are fitted to the end.

    Only fits that end exactly can tell good starts early.
    """
    ways = Counter(start.way for start in problem.starts)
    many = max(ways.values()) > FINALISTS
    regroup = regroup and can_be_regrouped(problem.starts)
    if not problem.phases[-1].exact or not (many or regroup):
        return problem
    # Single precision tells starts apart as well, in half the time.
    K = problem.K.in_single_precision()
    if many:
        problem, stopped = _screened(problem, K, list(ways))
        if stopped:
            return replace(problem, callback=lambda progress: True)
    if not regroup:
        return problem
    return replace(problem, starts=regrouped_starts(problem.starts, K, problem.K.hold))


def _screened(problem: Problem, K: Gram, ways: Sequence[str]) -> tuple[Problem, bool]:
    """With the most promising starts only, two of each kind; and whether the callback said stop.

    A few exact steps at λ = 0 tell which starts will end low: on digits the order of 44 starts
    after five steps and at the end had a rank correlation of 0.96. Kinds are not compared with each
    other that early: labels from eigenvectors begin lower than labels from k-means, which may
    end lower yet.
    """
    stopped = False

    def report(progress: Progress) -> bool:
        nonlocal stopped
        stopped = bool(problem.callback and problem.callback(progress))
        return stopped

    tried = solve(
        [problem.phases[-1].model(K, 0.0)] * len(problem.starts),
        [start.factors for start in problem.starts],
        max_iter=SCREENING_STEPS,
        tol=0,
        callback=report,
        phase="screening",
    )
    order = sorted(range(len(tried)), key=lambda i: tried[i].objective)
    best = [problem.starts[i] for i in order]
    kept = [start for way in ways for start in [s for s in best if s.way == way][:FINALISTS]]
    return replace(problem, starts=kept), stopped


def best_by_lam(problem: Problem, lams: Sequence[float]) -> list[Solution]:
    """The start with the lowest objective at each λ, of those that did not collapse if any."""
    count = len(problem.starts)
    solutions = _run_phases(
        problem,
        [start.factors for start in problem.starts] * len(lams),
        [lam for lam in lams for _ in range(count)],
    )
    return [lowest(solutions[first : first + count]) for first in range(0, len(solutions), count)]


def _run_phases(
    problem: Problem, starts: Sequence[dict[str, Array]], lams: Sequence[float]
) -> list[Solution]:
    """One phase begins where the one before ended; each has its share of max_iter."""
    done: list[Solution] = []
    left = problem.max_iter
    for place, (name, model, exact) in enumerate(problem.phases):
        budget = -(-left // (len(problem.phases) - place))
        if budget == 0:
            break
        solutions = problem.run(
            [model(problem.K, lam) for lam in lams],
            [solution.factors for solution in done] or starts,
            max_iter=budget,
            tol=problem.tol,
            callback=problem.callback,
            phase=name,
            keeper=problem.journal.keeper(continues=bool(done)),
        )
        left -= max(solution.n_iter for solution in solutions)
        for solution in solutions:
            solution.history["solver"] = np.full(solution.n_iter, name)
            solution.exact = exact
        for before, solution in zip(done, solutions, strict=False):
            for key, values in before.history.items():
                solution.history[key] = np.concatenate([values, solution.history[key]])
        done = solutions
        if any(solution.status is Status.STOPPED for solution in done):
            break
    return done


def collapse_lam(problem: Problem) -> float:
    """λ*: the λ at which half of the samples are better off in no cluster, at the start.

    λ is meaningful relative to this number. W_i = 0 is best for sample i as soon as
    λ ≥ max_k (KG)_ik / (DG)_ik; λ* is the median of that over the samples, and over the starts. It
    is 0 where samples are equal up to rounding: there is nothing local to learn.
    """
    found = []
    for start in problem.starts:
        G = start.factors["G"]
        KG = problem.K.dot(G)
        DG = problem.K.distances(G, KG)
        xp = namespace(KG)
        rounding = 100 * xp.finfo(KG.dtype).eps * problem.K.largest * xp.sum(G, axis=0)
        known = rounding < DG
        ratio = xp.where(known, KG / xp.where(known, DG, 1), xp.inf)
        found.append(np.median(to_host(xp.max(ratio, axis=1))))
    lam = float(np.median(found))
    return lam if 0 < lam < np.inf else 0.0


def safe_lams(
    problem: Problem, lams: Sequence[float], solutions: Sequence[Solution]
) -> list[float]:
    """Values of λ that do not collapse, up to the first that does.

    They are among those that were fitted, if any; else found by trying a ladder of values around
    λ*, all in one batch from the first start.
    """
    if fitted := _sound_lams(lams, solutions):
        return fitted
    ladder = [float(lam) for lam in collapse_lam(problem) * 2.0 ** np.arange(-8, 4) if lam > 0]
    if not ladder:
        return []
    tried = best_by_lam(replace(problem, starts=problem.starts[:1]), ladder)
    return _sound_lams(ladder, tried)


def _sound_lams(lams: Sequence[float], solutions: Sequence[Solution]) -> list[float]:
    """Each λ > 0 with clusters of samples at it and at all that are smaller."""
    k = solutions[0].factors["G"].shape[1]
    sound = []
    for lam, solution in sorted(zip(lams, solutions, strict=True), key=lambda pair: pair[0]):
        if solution.collapsed or solution.n_found < k:
            break
        if lam > 0:
            sound.append(lam)
    return sound
