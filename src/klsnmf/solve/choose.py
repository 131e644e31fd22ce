"""Which graph, and clusters of what sizes: candidates are made, and one judge decides.

A graph of neighbours gives two answers. In the *even* one every sample weighs the same (α = 1), so
clusters tend to be of equal size; in the *free* one every cluster weighs the same (α = 0), and a
small piece counts as much as a large one. Both are computed, by exact steps with W = G, which take
milliseconds. The judge is a walk: the share of walks that leave their cluster before detail is
forgotten (see :mod:`klsnmf.grams.walk`). It is 0 for separate pieces, it knows no labels, and it
can be compared from graph to graph.

The even answer of the usual graph, 10 neighbours, stands unless another is clearly better:

1. A graph in more pieces than there are clusters cannot give them: more neighbours are taken.
2. The free answer is taken where it loses much less, on graphs of few and of many neighbours alike,
   and says as much of the samples. A few samples far from all others are no cluster.
3. Fewer neighbours are taken where less is lost with them: clusters are thin there. In most data
   more is lost with fewer neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.preprocessing import normalize

from ..core.arithmetic import product
from ..core.kmeans import draw_seed, kmeans
from ..core.types import Array, Labels, Matrix
from ..core.work import steps
from ..grams.walk import Walk, sums_over_clusters
from ..kernels.graphs import NeighborGraph, NeighborGraphs
from ..kernels.neighbors import how_many_neighbors
from ..kernels.similarity import View
from .perron import best_of

#: Starts from the eigenvectors of a graph.
_SPECTRAL_STARTS = 3

#: Steps at most in which clusters are made to tell more.
_INFORMED_STEPS = 40


@dataclass(frozen=True)
class Rule:
    """When an answer is better than another.

    Attributes
    ----------
    clear : what a free answer loses, as a share of what the even one loses, if it is clearly better
    less : what is lost with another number of neighbours, as a share, if that is better
    same : information that differs by less, in logarithms, is the same
    separate : clusters that lose less than this are pieces of the graph
    """

    clear: float = 0.65
    less: float = 0.875
    same: float = 0.02
    separate: float = 0.05


RULE = Rule()


@dataclass(frozen=True)
class Answer:
    """Clusters: the graph they come from, whether they are even, and what is lost of walks."""

    labels: Labels
    q: int
    even: bool
    lost: float

    @property
    def smallest(self) -> int:
        return int(np.bincount(self.labels).min())


@dataclass(frozen=True)
class Choice:
    """The answer that was taken, its similarity, the walk that judged it, and the others."""

    answer: Answer
    view: View
    walk: Walk
    others: list[Answer]

    def __str__(self) -> str:
        answer, weigh = self.answer, "sample" if self.answer.even else "cluster"
        return (
            f"graph of {answer.q} neighbours, {self.walk.time:.3g} steps of diffusion, by "
            f"eigenvectors; every {weigh} weighs the same; {answer.lost:.0%} of walks leave their "
            "clusters"
        )


@dataclass
class Asked:
    """A graph that is asked for answers."""

    graph: NeighborGraph
    walk: Walk
    rng: np.random.RandomState
    exchange: bool = True
    answers: list[Answer] = field(default_factory=list)

    @property
    def k(self) -> int:
        return self.walk.k

    @cached_property
    def starts(self) -> list[Labels]:
        """Labels from the leading eigenvectors: rows at length 1, and as the walk has them."""
        U = self.walk.spectrum.U[:, : self.k]
        E = normalize(U)
        found = [self._kmeans(E) for _ in steps(range(_SPECTRAL_STARTS), "starts")]
        return [*found, self._kmeans(U / np.sqrt(self.walk.shares)[:, None])]

    def _kmeans(self, E: Array) -> Labels:
        labels: Labels = kmeans(E, self.k, draw_seed(self.rng)).labels_
        return labels

    def answer(self, others: Sequence[Labels], *, even: bool) -> Answer:
        F = self.walk.features(even=even)
        best = best_of(F, [*self.starts, *others], self.k, exchange=self.exchange)
        return self._noted(best.labels, even)

    def informed(self, answer: Answer) -> Answer:
        """The same after steps that let it tell more of where walks end."""
        return self._noted(informed(self.walk, answer.labels), answer.even)

    def _noted(self, labels: Labels, even: bool) -> Answer:
        self.answers.append(Answer(labels, self.graph.q, even, self.walk.lost(labels)))
        return self.answers[-1]


def choose(
    graphs: NeighborGraphs,
    X: Matrix,
    rng: np.random.RandomState,
    *,
    sizes: str = "auto",
    exchange: bool = True,
    rule: Rule = RULE,
) -> Choice:
    """The graph and the kind of clusters for samples X, and the clusters themselves."""
    k = graphs.k
    usual, *others = graphs.numbers
    smallest = min(usual, how_many_neighbors(X.shape[0], k))
    asked: dict[int, Asked] = {}

    def ask(q: int) -> Asked:
        if q not in asked:
            graph = graphs.graph(q)
            like = next(iter(asked.values())).walk if asked else None
            asked[q] = Asked(graph, graphs.walk(graph, like), rng, exchange)
        return asked[q]

    of_samples: Labels = kmeans(X, k, draw_seed(rng)).labels_
    first = ask(usual)
    more = [q for q in others if q > usual]
    while first.graph.pieces > k and more:
        first = ask(more.pop(0))
    answer = first.answer([of_samples], even=sizes != "free")
    judges = [first]
    if sizes == "auto":
        if more:
            judges.append(ask(more.pop()))
        answer = _even_or_free(judges, answer, X, smallest, rule)
    at, least = first, rule.less * answer.lost
    if answer.lost < rule.separate:  # pieces already: there is nothing to gain
        others = more = []
    for q in [q for q in others if q < first.graph.q] + more:
        other = ask(q)
        if other.graph.pieces > k:
            continue
        known = [answer.labels, of_samples] if answer.even else [answer.labels]
        found = other.answer(known, even=answer.even)
        if found.lost < least and (sizes == "free" or answer.even or found.smallest > smallest):
            at, least, answer = other, found.lost, found
    if sizes == "auto" and answer.even and at.graph.q < first.graph.q:
        answer = _even_or_free([at], answer, X, at.graph.q, rule)
    everything = [each for one in asked.values() for each in one.answers if each is not answer]
    view = graphs.view(at.graph, at.walk, even=answer.even)
    return Choice(answer, view, at.walk, everything)


def _even_or_free(
    judges: Sequence[Asked], even: Answer, X: Matrix, smallest: int, rule: Rule
) -> Answer:
    """The even answer, or a free one that all judges together find better.

    Free answers of the first judge, and one of the other, which must be the better for it.
    """
    first, *witnesses = judges
    free = first.answer([even.labels], even=False)
    candidates = [(free, True), (first.informed(free), True)]
    candidates += [(other.answer([free.labels], even=False), False) for other in witnesses]
    best, least = even, 1.0
    for answer, ours in candidates:
        if answer.smallest <= smallest or len(np.unique(answer.labels)) < first.k:
            continue
        walks = [judge.walk for judge in judges]
        lost = [(w.lost(answer.labels), w.lost(even.labels)) for w in walks]
        ratio = float(np.exp(np.mean([np.log(a / b) for a, b in lost])))
        told = [(w.information(answer.labels), w.information(even.labels)) for w in walks]
        gain = np.mean([np.log(max(a, 1e-9) / max(b, 1e-9)) for a, b in told])
        informative = gain > (-rule.same if ours else rule.same)
        separate = np.mean([a for a, _ in lost]) < rule.separate
        clear = ratio < rule.clear and (informative or separate)
        agreed = ours and ratio < rule.less and informative
        agreed = agreed and left_of_variance(X, answer.labels) < left_of_variance(X, even.labels)
        if ratio < least and (clear or agreed):
            best, least = answer, ratio
    return best


def informed(walk: Walk, labels: Labels) -> Labels:  # (n,) -> (n,)
    """Labels that tell more of where walks end: each sample goes where its own walk speaks for.

    A sample gets the cluster c for which log p_T(s|c) is largest, averaged over the clusters s that
    its walk is in after T steps. Steps go on while the information grows.
    """
    best, kept, k = -np.inf, labels, walk.k
    powers = walk.spectrum.values**walk.time
    for _ in range(_INFORMED_STEPS):
        now = walk.information(labels)
        if now <= best + 1e-7:
            break
        best, kept = now, labels
        p = walk.crossings(labels)
        r = p.sum(axis=1, keepdims=True)
        L = np.log(np.maximum(p / np.maximum(r, np.finfo(float).tiny), 1e-6))
        L = np.where(r > 0, L, -50)
        A = sums_over_clusters(labels, k) @ walk.weighed
        labels = (walk.spectrum.U @ ((L @ A) * powers).T).argmax(axis=1)
    return kept


def left_of_variance(X: Matrix, labels: Labels) -> float:
    """The squared distances of samples to the means of their clusters, in all."""
    k = int(labels.max()) + 1
    M = sums_over_clusters(labels, k)
    counts = np.maximum(np.bincount(labels, minlength=k), 1)
    sums = np.asarray(product(M, X))
    squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.square(X).sum(dtype=np.float64)
    return float(squares - (np.square(sums).sum(axis=1) / counts).sum())
