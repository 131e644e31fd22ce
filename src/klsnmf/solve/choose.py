"""Which graph to use, and which sizes of clusters: one judge decides among candidates.

A graph of neighbours gives two answers. In the *even* one samples have equal weight (α = 1), so
clusters tend to be of equal size; in the *free* one clusters have equal weight (α = 0), and a
small piece counts as much as a large one. Both are computed, by exact steps with W = G, which take
milliseconds. The judge is the share of walks that leave their cluster before details are forgotten
(see :mod:`klsnmf.grams.walk`). It is 0 for separate pieces, it uses no labels, and it can be
compared between graphs.

The even answer of the usual graph, 10 neighbours, stands unless another is clearly better:

1. The free answer is taken if it loses much less, on graphs of few and of many neighbours alike,
   and says as much of where walks end, or each of its clusters keeps most of its walks. A few
   samples far from all others are not a cluster.
2. Fewer neighbours are taken if less is lost with them, because clusters are thin. They are tried
   only if neighbours lie along curves and sheets; in many dimensions more is lost with fewer
   neighbours. Clusters that are already separate pieces do not change.
3. An answer of links that count by density is taken if it loses less, in few dimensions too. Walks
   then do not cross the samples scattered between clusters. They judge both answers, on the graph
   of the one that stood.
4. If noise decides which samples are near, nearly all walks leave their clusters, and the graph
   says nothing about clusters. Means of many samples may. So k-means is used, as the clusters of
   another kernel (:class:`klsnmf.kernels.similarity.LiftedKernel`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.preprocessing import normalize

from ..core.kmeans import draw_seed, in_their_span, kmeans, kmeans_labels
from ..core.types import Labels, Matrix
from ..core.work import stage, tell
from ..grams.walk import Walk
from ..kernels.graphs import NeighborGraph, NeighborGraphs
from ..kernels.neighbors import how_many_neighbors
from ..kernels.similarity import View
from .perron import best_of, part_of

#: The number of starts from the eigenvectors of a graph with n_init="auto".
TRIES = 3

#: Runs of k-means on a part of many samples for each of them.
_TRIES_ON_A_PART = 3

#: Runs of k-means if its clusters are the answer.
TRIES_FOR_MEANS = 10

#: Less information than this counts as none, in nats.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Evidence:
    """The evidence for an answer instead of another: a free one instead of the even one.

    Attributes
    ----------
    ratio : what it loses as a share of what the even answer loses, the geometric mean over graphs
    kept : the share of walks that stay in the cluster that keeps fewest, the mean over graphs
    tells : the information it has beyond that of the even answer, in logarithms, the mean
    smallest : samples of its smallest cluster
    """

    ratio: float
    kept: float
    tells: float
    smallest: int


@dataclass(frozen=True)
class Rule:
    """When an answer is better than another.

    Attributes
    ----------
    look : a free answer is looked at on a second graph, which takes about as long as the first, if
        it loses less than this share of what the even one loses on the usual graph. The second
        graph rarely changes more than this: a limit of 0.8 took twice the time for digits, and
        answered 1 of 170 planted draws better
    clear : a free answer loses less than this share by both graphs. Free answers that were better
        than even ones had ratios of 0.672 or less, of those above 0.70 most were worse
    less : an answer with fewer neighbours, or by density, loses less than this share of what the
        other loses; 0.8 to 0.95 decide alike
    keeps : if each cluster of a free answer keeps more than this share of its walks, the answer may
        tell less. Clusters of unequal size tell less than halves of the largest, though each is
        clear. Planted ones kept 0.86 and more; the specks beside one large cluster that are the
        free answer for handwritten letters kept 0.64
    separate : clusters that lose less than this are pieces of the graph
    nothing : clusters that lose more than this say nothing. Of texts, which are noisy too, up to
        0.78 is lost, of DNA sequences 0.97
    """

    look: float = 0.68
    clear: float = 0.68
    less: float = 7 / 8
    keeps: float = 0.8
    separate: float = 0.05
    nothing: float = 0.9

    def is_worth_a_look(self, free: Evidence) -> bool:
        """Whether a free answer loses so much less that it is worth a second judge."""
        return free.ratio < self.look

    def prefers(self, free: Evidence, smallest: int) -> bool:
        """Whether a free answer is better than the even one, by all judges."""
        tells = free.tells > 0 or free.kept > self.keeps
        return free.smallest > smallest and free.ratio < self.clear and tells

    def best(self, free: Sequence[Evidence], smallest: int) -> int | None:
        """Which free answer is taken, if any; they are in the order of their neighbours.

        The fewer neighbours there are, the more chance decides where a cluster ends. So an answer
        with fewer of them must lose an eighth less.
        """
        best, least = None, np.inf
        for place, one in reversed(list(enumerate(free))):
            if one.ratio < self.less * least and self.prefers(one, smallest):
                best, least = place, one.ratio
        return best

    def is_thin(self, lost: float, usual: float) -> bool:
        """Whether fewer neighbours are better, by what is lost with them and with the usual."""
        return usual >= self.separate and lost < self.less * usual

    def is_denser(self, dense: Evidence) -> bool:
        """Whether an answer by density is better than the other, where links count by density."""
        return dense.ratio < self.less

    def says_nothing(self, lost: float) -> bool:
        """Whether clusters mean nothing: walks end in them wherever they began."""
        return lost > self.nothing


RULE = Rule()


@dataclass(frozen=True)
class Answer:
    """Clusters: the graph they come from, whether they are even, and what is lost of walks.

    ``smallest`` is the size of the smallest cluster, in which copies count once.
    """

    labels: Labels
    q: int
    even: bool
    lost: float
    smallest: int

    @classmethod
    def of(cls, labels: Labels, graph: NeighborGraph, walk: Walk, *, even: bool) -> Answer:
        smallest = int(graph.counts(labels, walk.k).min())
        return cls(labels, graph.q, even, walk.lost(labels), smallest)


@dataclass(frozen=True)
class Choice:
    """The answer that was taken, its similarity, the walk that judged it, and the others."""

    answer: Answer
    view: View
    walk: Walk
    others: list[Answer]

    def __str__(self) -> str:
        answer, steps = self.answer, self.view.kernel.steps
        lost = f"{answer.lost:.0%} of walks leave their clusters"
        if steps is None:
            return f"graph of {answer.q} neighbours; {lost}, so means of samples are taken"
        weigh = "sample" if answer.even else "cluster"
        return (
            f"graph of {answer.q} neighbours, {steps:.3g} steps of diffusion, by eigenvectors; "
            f"{weigh}s have equal weight; {lost}"
        )


@dataclass
class Asked:
    """A graph and its answers, which do not depend on other graphs."""

    graph: NeighborGraph
    walk: Walk
    seed: int
    tries: int = TRIES
    exchange: bool = True
    answers: list[Answer] = field(default_factory=list)

    @property
    def k(self) -> int:
        return self.walk.k

    @cached_property
    def part(self) -> Labels | slice:
        return part_of(len(self.walk.shares), self.k)

    @cached_property
    def starts(self) -> list[Labels]:
        """Labels from the leading eigenvectors, with rows of length 1 and with rows as they are."""
        U = self.walk.spectrum.U[self.part, : self.k]
        rng = np.random.RandomState(self.seed)
        *seeds, last = (draw_seed(rng) for _ in range(self.tries + 1))
        found = list(kmeans_labels(normalize(U), self.k, seeds, _TRIES_ON_A_PART))
        scaled = U / np.sqrt(self.walk.shares[self.part])[:, None]
        found.append(kmeans(scaled, self.k, last, tries=_TRIES_ON_A_PART).labels_)
        tell("starts", len(found), len(found))
        return found

    @stage("answers")
    def answer(
        self, known: Sequence[Labels], others: Sequence[Labels] = (), *, even: bool
    ) -> Answer:
        """The best from its own starts, from labels that are known, and from others of a part."""
        F, starts = self.walk.features(even=even), [*self.starts, *others]
        starts += [labels[self.part] for labels in known]
        best = best_of(F, starts, self.k, exchange=self.exchange)
        self.answers.append(Answer.of(best.labels, self.graph, self.walk, even=even))
        return self.answers[-1]


def choose(
    graphs: NeighborGraphs,
    X: Matrix,
    rng: np.random.RandomState,
    *,
    sizes: str = "auto",
    tries: int = TRIES,
    exchange: bool = True,
    rule: Rule = RULE,
) -> Choice:
    """The graph and the kind of clusters for samples X, and the clusters themselves."""
    k = graphs.k
    X = in_their_span(X)
    of_samples: Labels = kmeans(X[part_of(X.shape[0], k)], k, draw_seed(rng)).labels_
    seed = draw_seed(rng)
    smallest = how_many_neighbors(graphs.distinct.shape[0], k)

    def ask(graph: NeighborGraph) -> Asked:
        asked.append(Asked(graph, graphs.walk(graph), seed, tries, exchange))
        return asked[-1]

    def is_sound(other: Answer) -> bool:
        return other.even or sizes == "free" or other.smallest > smallest

    asked: list[Asked] = []
    at = ask(graphs.graph(graphs.numbers.usual))
    answer = at.answer([], [of_samples], even=sizes != "free")
    if sizes == "auto":
        free = at.answer([answer.labels], even=False)
        if rule.is_worth_a_look(weighed([at.walk], free, answer)):
            judges = [at, *(ask(graphs.graph(q)) for q in graphs.numbers.more)]
            answer = _even_or_free(judges, answer, free, smallest, rule)
    # In more pieces than there are clusters a graph cannot tell them.
    fewer = (graph for q in graphs.numbers.fewer if (graph := graphs.graph(q)).pieces <= k)
    for graph in fewer if answer.lost >= rule.separate else ():
        thin = ask(graph)
        means_too = [of_samples] if answer.even else []
        other = thin.answer([answer.labels], means_too, even=answer.even)
        if is_sound(other) and rule.is_thin(other.lost, answer.lost):
            at, answer = thin, other
        break
    if graphs.numbers.dense and answer.lost >= rule.separate:
        dense = ask(asked[0].graph.by_density())
        other = dense.answer([answer.labels], even=answer.even)
        judge = dense.walk if at is asked[0] else graphs.walk(at.graph.by_density())
        if is_sound(other) and rule.is_denser(weighed([judge], other, answer)):
            at, answer = dense, other
    view = graphs.view(at.graph, at.walk, even=answer.even)
    if graphs.numbers.noisy and sizes == "auto" and rule.says_nothing(answer.lost):
        means: Labels = kmeans(X, k, draw_seed(rng), n_init=TRIES_FOR_MEANS).labels_
        answer, view = replace(answer, labels=means, lost=at.walk.lost(means)), graphs.means()
    others = [each for one in asked for each in one.answers if each.labels is not answer.labels]
    return Choice(answer, view, at.walk, others)


def _even_or_free(
    judges: Sequence[Asked], even: Answer, free: Answer, smallest: int, rule: Rule
) -> Answer:
    """The even answer, or the free answer of a judge that all of them find clearly better."""
    walks = [judge.walk for judge in judges]
    found = [free, *(judge.answer([free.labels], even=False) for judge in judges[1:])]
    best = rule.best([weighed(walks, each, even) for each in found], smallest)
    answer = even if best is None else found[best]
    return replace(answer, q=judges[0].graph.q, lost=walks[0].lost(answer.labels))


def weighed(walks: Sequence[Walk], free: Answer, even: Answer) -> Evidence:
    """What these walks say for a free answer, or for one by density instead of the other."""
    lost, of_even = (np.array([w.lost(each.labels) for w in walks]) for each in (free, even))
    told, by_even = (
        np.maximum([w.information(each.labels) for w in walks], _NOTHING) for each in (free, even)
    )
    return Evidence(
        ratio=float(np.exp(np.log(lost / of_even).mean())),
        kept=float(np.mean([w.stays(free.labels).min() for w in walks])),
        tells=float(np.log(told / by_even).mean()),
        smallest=free.smallest,
    )
