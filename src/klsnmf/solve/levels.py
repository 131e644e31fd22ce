"""Slow directions of a walk: how many clusters they tell, and the clusters at each level.

What is seen is judged in :mod:`klsnmf.kernels.count`. One set of eigenvectors serves it all.
"""

from __future__ import annotations

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

#: Candidates go up to this many clusters, or to the most if the answer may lie beyond; and each has
#: at least so many samples on average.
MOST_AT_FIRST = 40
_FEW = 20_000  # of more samples half as many candidates come first: eigenvectors take the time
_MOST = 160
_SMALLEST = 4

#: Beyond the first candidates clusters must be clear by more than this: their number alone makes
#: for a high score.
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

#: Clusters hold in a graph of more neighbours if the best score there is this share of the usual
#: one. On shapes 0.6 to 0.9 do alike; on 30 other sets 0.6 costs a hundredth of adjusted Rand.
_HOLDS = 0.75

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
    n_found: int  # clusters of more samples than a neighbourhood
    evenness: float


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
    def separate(self) -> bool:
        """Whether the clusters are separate pieces."""
        return bool(1 - self.slow.values[self.evidence.chosen - 1] < _SEPARATE)

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
            if one.graph is not None and one.slow.spectrum is not None
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
    """The evidence in the usual graph, and in a second one where clusters can be thin.

    Samples along a curve have gaps by chance, and with few neighbours a curve breaks there. With
    more neighbours such gaps close, and the borders of clusters stay. So both graphs count if
    clusters are nearly as clear in a graph of more neighbours, which shows no finer ones. If they
    are not, neighbours are of other clusters before there are as many as usual, and a graph of
    fewer neighbours is the second one. Clusters that are separate pieces are left alone then, and
    need no second graph at all if their number is clear.
    """

    def on(q: int, most: int = MOST_AT_FIRST) -> Counted:
        graph = graphs.graph(q)
        found = count(graph.K, q, rng, graphs.numbers.dimension or PLANE, most)
        return replace(found, graph=graph, graphs=graphs)

    numbers, usual = graphs.numbers, on(graphs.numbers.usual)
    seen, alone = usual.evidence, replace(usual, seen=(usual,))
    if seen.chosen == 1 or not numbers.fewer or (usual.separate and seen.clear):
        return alone
    for q in numbers.more:
        wide = on(q, max(_EACH, 2 * seen.chosen))
        if wide.evidence.score.max(initial=0) >= _HOLDS * seen.score.max():
            return together(usual, wide)
    return alone if usual.separate else together(usual, on(numbers.fewer[0]))


def together(usual: Counted, other: Counted) -> Counted:
    """The evidence of two graphs: scores are means, all else is from the graph that is clearer.

    A graph of more neighbours than half a cluster of average size says nothing of the clusters.
    """

    def clearer(k: int) -> Counted:
        return max(usual, other, key=lambda one: one.evidence.of(k, "score"))

    numbers = np.union1d(usual.evidence.candidates, other.evidence.candidates)
    own, others = ([one.evidence.of(k, "score") for k in numbers] for one in (usual, other))
    has_room = other.neighbors <= np.maximum(usual.neighbors, usual.slow.n // (2 * numbers))
    score = np.where(has_room, np.add(own, others) / 2, own)
    chosen = chosen_of(numbers, score)
    best = clearer(chosen)
    known = numbers < len(best.slow.values)
    parts = {
        name: np.array([clearer(k).evidence.of(k, name) for k in numbers[known]])
        for name in ("persistence", "explained", "by_chance")
    }
    eigenvalues = best.evidence.eigenvalues
    evidence = Evidence(
        numbers[known], **parts, score=score[known], eigenvalues=eigenvalues, chosen=chosen
    )
    return replace(best, evidence=evidence, seen=(usual, other))


def count(
    K: Gram,
    q: int,
    rng: np.random.RandomState,
    dimension: float = PLANE,
    most: int = MOST_AT_FIRST,
) -> Counted:
    """The evidence in a graph of q neighbours, which lie in so many dimensions.

    Or in another kernel matrix. At first there are so many candidates at most.
    """
    n = K.shape[0]
    limit = max(1, n // _SMALLEST)
    most = min(most, MOST_AT_FIRST if n <= _FEW else MOST_AT_FIRST // 2, limit)
    known: dict[int, Look] = {}
    while True:
        slow = slow_directions(K, min(most + 1, n), rng)
        found = evidence_of(slow, q, rng, known, dimension)
        pieces = 1 - slow.values[-1] < _SEPARATE
        beyond = pieces or 1.5 * found.chosen >= most or _still_rising(found.clarity)
        if not beyond or most >= min(limit, _MOST):
            return Counted(found, slow, rng)
        most = min(2 * most, limit, _MOST)


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
    evenness = np.array([known[k].evenness for k in asked])
    real = (n_found >= 2) & ((numbers <= MOST_AT_FIRST) | (clarity(explained, chance) > _HALF))
    score = np.where(real, scores(persistence, explained, chance, evenness, numbers), 0.0)
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
    return Look(
        explained_by(labels, slow.U[:, :k], np.sqrt(slow.shares)),
        int((sizes > how_many_neighbors(slow.n, k)).sum()),
        evenness_of(sizes),
    )


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


def explained_by(labels: Array, U: Array, root: Array) -> float:  # (n,), (n, k), (n,)
    """The share of the variance of k directions, but the constant one, that k clusters explain."""
    k = U.shape[1]
    sums = weighed_sums(labels, root, k, U)
    weights = np.bincount(labels, np.square(root), k)
    whole = (np.square(sums).sum(axis=1) / np.maximum(weights, np.finfo(float).tiny)).sum()
    return float((whole - 1) / (k - 1))


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
