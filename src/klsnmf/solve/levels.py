"""Slow directions of a walk: how many clusters they tell, and the clusters at each level.

What is seen is judged in :mod:`klsnmf.kernels.count`. One set of eigenvectors serves it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import issparse
from sklearn.metrics import adjusted_rand_score

from ..core.types import Array, Labels, Matrix
from ..core.work import steps, threads_for
from ..grams.base import Gram
from ..grams.sparse import SparseGram
from ..grams.spectral import ENOUGH, Spectrum, leading_eigenvectors, spectrum_of
from ..grams.walk import Features, Walk, sums_over_clusters, weighed_sums
from ..kernels.count import (
    KNOWN_TO,
    PLANE,
    Evidence,
    by_chance,
    chosen_of,
    clarity,
    evenness_of,
    scores,
)
from ..kernels.graphs import NeighborGraph, NeighborGraphs, numbers_of_neighbors
from ..kernels.levels import Level, Profile
from ..kernels.neighbors import how_many_neighbors
from ..kernels.pieces import joined
from .choose import RULE, Answer, weighed
from .perron import settled

#: Candidates go up to this many clusters, and to twice as many where the answer is near the end, so
#: that it may lie beyond, at most to this; and each has at least so many samples on average.
MOST_AT_FIRST = 30
_NEAR_THE_END = 1.25
_MOST = 160
_SMALLEST = 4

#: In other graphs they go up to twice as many as the usual one tells, and at least to this.
_ELSEWHERE = 20

#: Beyond so many clusters they must be clear by more than this: their number alone makes for a high
#: score.
MANY = 40
_HALF = 0.5

#: Beyond so many clusters the most persistent of every few numbers is looked at.
_EACH = 20
_EVERY = 4

#: More candidates are looked at where the last are so much clearer than those half-way.
_RISE = 0.05

#: Clusters whose directions are lost more slowly than this are separate pieces.
_SEPARATE = 3e-5

#: Slow directions are compared on this many samples.
_ASKED = 1500

#: Stability: samples of a part at most.
_PART = 1000

#: Beyond so many samples fewer graphs count, because each takes as long as a fit.
_FEW = 4000

#: If more than this share of the samples is lonely, links count by rank. Of 63 public sets this is
#: one, with 11 %; all others, and draws without clusters, have less than 1 %.
_LONELY = 0.03

#: Pieces are joined to a level where those that are joined next are this much farther apart.
_FARTHER = 2.0


@dataclass(frozen=True)
class Directions:
    """The slow directions of a walk among samples."""

    values: Array  # (m,), eigenvalues of S, descending
    U: Array  # (n, m)
    shares: Array  # (n,), of the time that a walk spends with each sample
    spectrum: Spectrum | None = None  # the same with more, where K is a graph

    @property
    def n(self) -> int:
        return len(self.U)


class Look(NamedTuple):
    """What is seen of k clusters in k directions."""

    explained: float
    modularity: float
    evenness: float
    n_found: int  # clusters of more samples than a neighbourhood


@dataclass(frozen=True)
class Counted:
    """How the number of clusters was found: the evidence, and what it was seen in."""

    evidence: Evidence
    slow: Directions
    rng: np.random.RandomState
    graph: NeighborGraph | None = None
    graphs: NeighborGraphs | None = None  # of which it is one
    seen: tuple[Counted, ...] = ()  # what each graph says that counts

    def profile(self, labels: Labels, X: Matrix | None = None) -> Profile:
        """The levels; that of the chosen number has these labels.

        No walk leads from one separate piece to another, and none sees which are nearer. So where
        clusters are pieces, the samples X tell which of them make up coarser ones.
        """
        chosen = self.evidence.chosen
        known = {chosen: labels}
        levels = [self._level(k, known.get(k)) for k in self.evidence.levels]
        cut = levels[0].cut
        if X is not None and cut is not None and cut < RULE.separate:
            levels += joined_levels(X, labels, chosen)
        best = sorted(levels[1:], key=lambda level: -level.score)
        return Profile((levels[0], *best), self.evidence)

    @property
    def neighbors(self) -> int:
        return 0 if self.graph is None else self.graph.q

    def graphs_for(self, k: int) -> NeighborGraphs | None:
        """The same graphs to choose from for k clusters, where their number is theirs to choose."""
        graphs = self.graphs
        if graphs is None or graphs.there is not None or k < 2 or not graphs.numbers.by_rule:
            return None
        known = tuple(
            (one.graph, Walk(one.slow.spectrum, len(one.slow.values) // ENOUGH))
            for one in self.seen
            if one.graph is not None
            and one.graph.weights == "distance"
            and one.slow.spectrum is not None
        )
        return replace(graphs, k=k, numbers=numbers_of_neighbors(graphs.distinct, k), known=known)

    def _level(self, k: int, labels: Labels | None) -> Level:
        slow, of = self.slow, self.evidence.of
        walk = None if slow.spectrum is None or k < 2 else Walk(slow.spectrum, k)
        if labels is None:
            labels = self._labels(walk, k)
        cut = None if walk is None else walk.lost(labels)
        stability = _stability(slow, k, self.rng)
        told = of(k, "score"), of(k, "persistence"), of(k, "clarity")
        return Level(k, labels, *told, stability, cut)

    def _labels(self, walk: Walk | None, k: int) -> Labels:
        """k clusters along the slow directions, even or free as a fit would take them."""
        begin = clusters_along(self.slow, k, self.rng.permutation(self.slow.n)[:_ASKED])
        if walk is None or self.graph is None:
            return numbered(begin)
        even, free = (_answer(self.graph, walk, begin, even) for even in (True, False))
        better = RULE.prefers(weighed([walk], free, even), how_many_neighbors(self.slow.n, k))
        return numbered((free if better else even).labels)


def _answer(graph: NeighborGraph, walk: Walk, begin: Labels, even: bool) -> Answer:
    labels = settled(walk.features(even=even), begin, walk.k).labels
    return Answer.of(labels, graph, walk, even=even)


def joined_levels(X: Matrix, labels: Labels, k: int) -> list[Level]:  # (n, p), (n,)
    """Coarser levels of separate clusters, by the distances of their means.

    A level is there if the clusters that are joined next are much farther apart than those that
    were joined last. A walk takes a time that goes with the square of the distance. And a fit with
    as many clusters must join the same ones, by the distances of their nearest samples.
    """
    if k < 3:
        return []
    M = sums_over_clusters(labels, k)
    sums = M @ X
    means = np.asarray(sums.toarray() if issparse(sums) else sums) / M.sum(axis=1)[:, None]
    links = linkage(means, "average")
    found = []
    for c in range(2, k):
        last, next_one = links[k - c - 1, 2], links[k - c, 2]
        if next_one > _FARTHER * last:
            time = 2 * float(np.log(next_one / max(last, np.finfo(float).tiny)))
            score = float(np.sqrt(time / (1 + time) * (c - 1)))
            groups = joined(X, labels, c)
            if adjusted_rand_score(fcluster(links, c, "maxclust")[labels], groups) == 1:
                level = Level(c, numbered(groups), score, time, 1.0, 1.0, 0.0, joined=True)
                found.append(level)
    return found


def numbered(labels: Labels) -> Labels:
    """Clusters numbered as they appear, as those of a fit are."""
    _, first, each = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.intp)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[each])


def count_on(graphs: NeighborGraphs, rng: np.random.RandomState) -> Counted:
    """The evidence in the usual graph, and in others too where clusters can be thin.

    Samples along a curve have gaps by chance, and with few neighbours a curve breaks there. With
    more neighbours such gaps close. But clusters that are thin or near each other are one then, and
    only fewer neighbours tell them apart, or links that count by density. None of these graphs is
    right for all data. A number that is right is seen in most of them, and wrong ones differ: so
    all count alike. Among many samples gaps are small, and links by density are enough.

    Where many samples are lonely, walks see these and nothing else. Then distances do not tell who
    is near, and only ranks count.
    """

    def on(graph: NeighborGraph, most: int | None = None) -> Counted:
        found = count(graph.K, graph.q, rng, graphs.numbers.dimension or PLANE, most)
        return replace(found, graph=graph, graphs=graphs)

    numbers, graph = graphs.numbers, graphs.graph(graphs.numbers.usual)
    usual = on(graph.by_rank() if graph.lonely > _LONELY else graph)
    few = len(usual.slow.U) <= _FEW
    others = [graphs.graph(q) for q in numbers.fewer[:1] if few]
    for wide in (graphs.graph(q) for q in numbers.more if numbers.fewer):
        others += [wide] * few + [wide.by_density()]
    most = max(_ELSEWHERE, 2 * usual.evidence.chosen)
    return together([usual, *(on(graph, most) for graph in others)])


def together(seen: Sequence[Counted]) -> Counted:
    """The evidence of several graphs, the usual one first.

    Scores are means, and all else is from the graph that is clearest. A graph of more neighbours
    than a cluster of average size has samples says nothing of the clusters.
    """
    usual = seen[0]
    if len(seen) == 1:
        return replace(usual, seen=(usual,))

    def clearest(k: int) -> Counted:
        return max(seen, key=lambda one: one.evidence.of(k, "score"))

    numbers = np.unique(np.concatenate([one.evidence.candidates for one in seen]))
    room = np.maximum(usual.neighbors, usual.slow.n // numbers)
    score, graphs = np.zeros(len(numbers)), np.zeros(len(numbers))
    for one in seen:
        has_room = one.neighbors <= room
        score += has_room * [one.evidence.of(k, "score") for k in numbers]
        graphs += has_room
    score /= graphs
    chosen = chosen_of(numbers, score)
    best = clearest(chosen)
    known = numbers < len(best.slow.values)
    parts = {
        name: np.array([clearest(k).evidence.of(k, name) for k in numbers[known]])
        for name in ("persistence", "explained", "by_chance")
    }
    eigenvalues = best.evidence.eigenvalues
    evidence = Evidence(
        numbers[known], **parts, score=score[known], eigenvalues=eigenvalues, chosen=chosen
    )
    return replace(best, evidence=evidence, seen=tuple(seen))


def count(
    K: Gram,
    q: int,
    rng: np.random.RandomState,
    dimension: float = PLANE,
    most: int | None = None,
) -> Counted:
    """The evidence in a graph of q neighbours, which lie in so many dimensions.

    Or in another kernel matrix. There are so many candidates at most; else as many as it takes.
    """
    n = K.shape[0]
    limit = max(1, n // _SMALLEST)
    last = min(_MOST if most is None else most, limit)
    m, known = min(MOST_AT_FIRST if most is None else most, limit), dict[int, Look]()
    while True:
        slow = slow_directions(K, min(m + 1, n), rng)
        found = evidence_of(slow, q, rng, known, dimension)
        pieces = 1 - slow.values[-1] < _SEPARATE
        beyond = pieces or _NEAR_THE_END * found.chosen >= m or _still_rising(found.clarity)
        if not beyond or m >= last:
            return Counted(found, slow, rng)
        m = min(2 * m, last)


def _still_rising(clarity: Array) -> bool:
    """Whether clusters become clearer the more there are: there may be more still."""
    half, few = len(clarity) // 2, max(1, len(clarity) // 8)
    if half < few:
        return False
    return bool(clarity[-few:].mean() > clarity[half - few : half].mean() + _RISE)


def slow_directions(K: Gram, m: int, rng: np.random.RandomState) -> Directions:
    if isinstance(K, SparseGram) and K.nonnegative:
        spectrum = spectrum_of(K, -(-m // ENOUGH))  # of so many clusters it finds m exactly
        values, U, degrees = spectrum.values[:m], spectrum.U[:, :m], spectrum.degrees
    else:
        spectrum = None
        with threads_for(K.flops * m):
            values, U = leading_eigenvectors(K, m, rng)
        degrees = np.abs(K.dot(np.ones((K.shape[0], 1), K.dtype))[:, 0])
    degrees = np.asarray(degrees, np.float64)
    shares = degrees / max(float(degrees.sum()), np.finfo(float).tiny)
    return Directions(np.clip(values.astype(np.float64), 0, 1), U, shares, spectrum)


def evidence_of(
    slow: Directions,
    q: int,
    rng: np.random.RandomState,
    known: dict[int, Look],
    dimension: float = PLANE,
) -> Evidence:
    """What was seen, judged; looks that are known are not taken again."""
    values, n = slow.values, slow.n
    time = persistence_of(values, n)
    asked = worth_a_look(time)
    some = rng.permutation(n)[:_ASKED]
    for k in steps([k for k in asked if k not in known], "numbers of clusters"):
        known[k] = look(slow, k, some)
    numbers = np.array(asked, int)
    persistence = time[numbers - 1]
    explained = np.array([known[k].explained for k in asked])
    n_found = np.array([known[k].n_found for k in asked], int)
    chance = by_chance(values, numbers, n, q, dimension)
    clear = clarity(explained, chance)
    evenness, modularity = (
        np.array([getattr(known[k], name) for k in asked]) for name in ("evenness", "modularity")
    )
    real = (n_found >= 2) & ((numbers <= MANY) | (clear > _HALF))
    told = scores(numbers, persistence, clear, evenness, modularity, dimension)
    score = np.where(real, told, 0.0)
    # Several directions may lead to the same number of clusters, where others are specks.
    order = np.lexsort((-score, n_found))
    order = order[n_found[order] >= 2]
    candidates, first = np.unique(n_found[order], return_index=True)
    kept = order[first]
    return Evidence(
        candidates,
        persistence[kept],
        explained[kept],
        chance[kept],
        score[kept],
        values,
        chosen_of(candidates, score[kept]),
    )


def persistence_of(values: Array, n: int) -> Array:  # (m,) -> (m - 1,)
    """How long k = 1, 2, ... clusters are seen, in logarithms."""
    rates = np.maximum(1 - values, 0) + max(KNOWN_TO, 1 / n**2)
    return np.asarray(np.log(rates[1:] / rates[:-1]))


def worth_a_look(persistence: Array) -> list[int]:
    """Numbers from 2 up; of many clusters only the most persistent of every few numbers."""
    numbers = list(range(2, min(_EACH, len(persistence)) + 1))
    for begin in range(_EACH, len(persistence), _EVERY):
        numbers.append(begin + 1 + int(persistence[begin : begin + _EVERY].argmax()))
    return numbers


def look(slow: Directions, k: int, some: Array) -> Look:
    """What k slow directions say."""
    labels = clusters_along(slow, k, some)
    sizes = np.bincount(labels, minlength=k)
    n_found = int((sizes > how_many_neighbors(slow.n, k)).sum())
    return Look(*told_by(labels, slow, k), evenness_of(sizes), n_found)


def clusters_along(slow: Directions, k: int, some: Array) -> Labels:  # (few,) -> (n,)
    """k clusters along k slow directions, found among some samples, of all of them.

    Samples of different clusters are nearly orthogonal there. So a QR decomposition that takes the
    sample which is farthest from those it has finds one of each (Damle, Minden and Ying, "Simple,
    direct and efficient multi-way spectral clustering", 2019), without any chance.
    """
    F = np.ascontiguousarray(slow.U[some, :k])
    u, _, v = np.linalg.svd(F[_one_of_each(F)].T)
    begin = np.abs(F @ (u @ v)).argmax(axis=1)  # the nearest orthogonal matrix
    sums = settled(Features(F, np.zeros(len(F), F.dtype)), begin, k).sums
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    return np.asarray((slow.U[:, :k] @ (sums / np.where(lengths > 0, lengths, 1)).T).argmax(axis=1))


def _one_of_each(F: Array) -> Array:  # (few, k) -> (k,)
    """The first k columns of a QR decomposition of Fᵀ with pivoting, by LAPACK without detours."""
    few, k = F.shape
    (decompose,) = linalg.get_lapack_funcs(("geqp3",), (F,))
    places = decompose(F.T, lwork=2 * few + 32 * (few + 1))[1]
    return np.asarray(places[:k] - 1)


def told_by(labels: Labels, slow: Directions, k: int) -> tuple[float, float]:  # (n,)
    """The share of k directions that k clusters explain, and the modularity of these clusters.

    Of the variance of the directions but the constant one; and of a step of the walk, which keeps
    λ_j of direction j.
    """
    sums = weighed_sums(labels, np.sqrt(slow.shares), k, slow.U[:, :k])
    weights = np.bincount(labels, slow.shares, k)
    squares = np.square(sums)
    whole = (squares.sum(axis=1) / np.maximum(weights, np.finfo(float).tiny)).sum()
    kept = (squares @ slow.values[:k]).sum() - np.square(weights).sum()
    return float((whole - 1) / (k - 1)), float(np.clip(kept, 0, 1))


def _stability(slow: Directions, k: int, rng: np.random.RandomState) -> float:
    """How far clusters agree that are found from two parts without a common sample."""
    if k < 2:
        return 1.0
    size = max(k, min(_PART, slow.n // 2))
    order = rng.permutation(slow.n)
    return float(
        adjusted_rand_score(
            *(clusters_along(slow, k, one) for one in (order[:size], order[-size:]))
        )
    )
