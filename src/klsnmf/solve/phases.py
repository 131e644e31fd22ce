"""From a problem to solutions: restarts and values of λ in one batch, phase after phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .. import models
from ..core.arrays import like, namespace, on_host, to_host
from ..core.kmeans import by_appearance
from ..core.progress import steps
from ..core.threads import threads_for
from ..core.types import Array, Labels
from ..grams.base import Gram
from ..grams.graph import Graph
from ..models.base import lengths
from .checkpoint import NO_JOURNAL, Journal
from .loop import Callback, Progress, Solution, Status, lowest, solve
from .regroup import regrouped
from .starts import BY_LABELS, Start, labels_of, start_of_labels

#: A step of the way: its name, and what makes its model from K and λ.
Phase = tuple[str, Callable[[Gram, float], models.LSNMF]]

#: Steps that all starts take, and how many starts of each kind go on from there.
SCREENING_STEPS = 3
FINALISTS = 2


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
    graph: Graph | None,
    graph_weight: float,
) -> list[Phase]:
    """The models that a solver runs one after the other."""
    signed = not K.nonnegative
    if signed and solver == "paper":
        raise ValueError(
            'solver="paper" needs a kernel with no negative entry, and this one has some: '
            'use solver="soft" or "auto".'
        )
    free = models.SignedLSNMF if signed else models.LSNMF
    if not orthogonal:
        if solver in ("paper", "exact"):
            raise ValueError(
                f"solver={solver!r} makes the columns of G orthogonal: "
                'with orthogonal=False use solver="auto" or "soft".'
            )
        if graph is not None:
            raise ValueError(
                f"graph_weight={graph_weight} has a meaning only if the columns of G are "
                "orthogonal: use orthogonal=True, or graph_weight=0."
            )
        return [("soft", free)]
    if graph is not None:
        if solver == "exact":
            raise ValueError(
                f'solver="exact" does not know the graph term: with graph_weight={graph_weight} '
                'use solver="soft" or "auto".'
            )
        if solver == "paper":
            return [("paper", partial(models.GLSNMF, graph=graph, gamma=graph_weight))]
        tied = models.SignedGLSNMF if signed else models.SymmetricGLSNMF
        return [("soft", partial(tied, graph=graph, gamma=graph_weight))]
    exact = models.SignedExactKLSNMF if signed else models.ExactKLSNMF
    phases: dict[str, list[Phase]] = {
        "paper": [("paper", models.KLSNMF)],
        "soft": [("soft", models.SignedKLSNMF if signed else models.SymmetricKLSNMF)],
        "exact": [("exact", exact)],
        # Both steps of LS-NMF descend, and it bears a larger λ than the symmetrised rule.
        "auto": [("soft", free), ("exact", exact)],
    }
    return phases[solver]


def chosen(problem: Problem, *, regroup: bool) -> Problem:
    """The same problem with the starts that are fitted to the end.

    Only fits that end exactly can tell good starts early.
    """
    ways = Counter(start.way for start in problem.starts)
    many = max(ways.values()) > FINALISTS
    regroup = regroup and _can_be_regrouped(problem.starts)
    if problem.phases[-1][0] != "exact" or not (many or regroup):
        return problem
    # Single precision tells starts apart as well, in half the time.
    K = problem.K.in_single_precision()
    if many:
        problem, stopped = _screened(problem, K, list(ways))
        if stopped:
            return replace(problem, callback=lambda progress: True)
    return _regrouped(problem, K) if regroup else problem


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

    _, model = problem.phases[-1]
    tried = solve(
        [model(K, 0.0)] * len(problem.starts),
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


def _can_be_regrouped(starts: Sequence[Start]) -> bool:
    """Whether any start is made of labels, of three clusters or more: two others can be joined."""
    k = starts[0].factors["G"].shape[1]
    return k > 2 and any(start.way in BY_LABELS for start in starts)


def _regrouped(problem: Problem, K: Gram) -> Problem:
    """With clusters exchanged in the starts where that explains more; none of them twice."""
    found: dict[bytes, Start] = {}
    for turn, start in enumerate(steps(problem.starts, "regrouping")):
        labels, k = labels_of(start), start.factors["G"].shape[1]
        if labels is None:
            found[turn.to_bytes(8)] = start
            continue
        with threads_for(K.flops * k):
            better = regrouped(K, labels, k)
        if better is not None:
            labels = by_appearance(better)
            start = start_of_labels(start.way, labels, k, problem.K.hold)
        found.setdefault(by_appearance(labels).tobytes(), start)
    return replace(problem, starts=list(found.values()))


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
    for remaining, (name, model) in zip(
        range(len(problem.phases), 0, -1), problem.phases, strict=True
    ):
        budget = -(-left // remaining)
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
        for before, solution in zip(done, solutions, strict=False):
            for key, values in before.history.items():
                solution.history[key] = np.concatenate([values, solution.history[key]])
            if solution.status is Status.EXHAUSTED:
                solution.verdict = f"stopped after {solution.n_iter} iterations"
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
        if solution.status is Status.COLLAPSED or solution.n_found < k:
            break
        if lam > 0:
            sound.append(lam)
    return sound


def tidied(
    W: Array, G: Array, labels: Labels, *, by_appearance: bool
) -> tuple[Array, Array, Labels]:
    """Columns of G of length 1, and labels that count from 0 without a gap.

    W Gᵀ stays as it is. Clusters are numbered as their first samples come, or else as their
    columns stand; columns that no sample is labelled with go last.
    """
    length, labels = lengths(G), to_host(labels)
    used, first = np.unique(labels, return_index=True)
    if by_appearance:
        used = used[np.argsort(first)]
    order = np.concatenate([used, np.setdiff1d(np.arange(G.shape[1]), used)])
    number = np.empty(G.shape[1], dtype=np.intp)
    number[order] = np.arange(G.shape[1])
    W, G, labels = W * length, G / length, number[labels]
    if on_host(G):
        return W[:, order], G[:, order], labels
    xp, columns = namespace(G), like(order, G)
    return xp.take(W, columns, axis=1), xp.take(G, columns, axis=1), like(labels, G)
