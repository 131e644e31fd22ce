"""Exchanges of whole clusters: one becomes two and two become one, if that lowers f.

Iterations move samples one by one. If there are many clusters, a fit may end with two clusters in
the place of one and one in the place of two, and no single sample gains by leaving its cluster. An
exchange can help: a cluster is cut in two, and two others become one.

At λ = 0 clusters explain Σ_c g_cᵀKg_c of tr K, and what is left is twice the objective; at best g_c
is the leading eigenvector of the cluster's block, and explains its eigenvalue. Of all vectors made
of g_a and g_b alone the best explains the larger eigenvalue of the two by two matrix

    g_aᵀKg_a  g_aᵀKg_b
    g_bᵀKg_a  g_bᵀKg_b,

so that a and b joined explain that at least. To join them costs no more than what is missing to the
sum of the diagonal, and one product with K tells it for all pairs. To cut c in two gains what the
same says of its halves. Cuts go along the second eigenvector of each block, found for all clusters
with the same products, and are improved by exact steps of the two halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..core.arrays import to_host
from ..core.types import Array, Labels
from ..core.work import threads_for
from ..grams.base import Gram
from ..models.ls_nmf import EXACT, LocalSimilarity
from .loop import solve
from .solution import BY_LABELS, Solution, Start

#: An exchange must gain this share of what the clusters leave unexplained.
LEAST_GAIN = 1e-5

#: A cut must gain this share of what the smaller half explains: 0 if the halves are the same, 1 if
#: they have nothing in common. A large cluster gains by any cut, and small ones that are
#: far apart are cheap to join; without this rule, clusters of unequal size were lost.
LEAST_APART = 0.5

#: The number of rounds of exchanges. In each round: steps towards the second eigenvectors, exact
#: steps of the halves of each cluster, and exact steps of all clusters after the exchanges.
_ROUNDS = 10
_DIRECTION_STEPS = 5
_HALVING_STEPS = 3
SETTLING_STEPS = 10


def can_be_regrouped(starts: Sequence[Start]) -> bool:
    """Whether any start comes from labels of at least three clusters, so that two can be joined."""
    return starts[0].k > 2 and any(start.way in BY_LABELS for start in starts)


def settled(K: Gram, labels: Sequence[Labels], k: int) -> list[Solution]:
    """Exact steps at λ = 0, from labels."""
    each = [K.hold(K.root * np.eye(k)[some]) for some in labels]
    model = LocalSimilarity(K, 0.0, EXACT)
    starts = [{"W": G, "G": G} for G in each]
    return solve([model] * len(starts), starts, max_iter=SETTLING_STEPS, tol=0, phase="regrouping")


def regrouped(K: Gram, solutions: Sequence[Solution]) -> list[Solution]:
    """Solutions at λ = 0 after all exchanges that gain.

    Exchanges are followed by exact steps, and kept if the objective is lower then.
    """
    now, k = list(solutions), solutions[0].factors["G"].shape[1]
    active = list(range(len(now)))
    for _ in range(_ROUNDS):
        found = {}
        for place in active:
            with threads_for(K.flops * k):
                other = exchange(Grouping.of(K, now[place]), _least(now[place]))
            if other is not None:
                found[place] = other
        if not found:
            break
        tried = dict(zip(found, settled(K, list(found.values()), k), strict=True))
        active = [
            i for i, new in tried.items() if new.objective < now[i].objective - _least(now[i])
        ]
        for place in active:
            now[place] = tried[place]
    return now


def _least(solution: Solution) -> float:
    return LEAST_GAIN * max(solution.objective, 0.0)


@dataclass(frozen=True)
class Grouping:
    """Clusters: the label of every sample, and its entry in the vector g of its cluster.

    The vectors have length 1, except for those of clusters without samples.
    """

    K: Gram
    labels: Labels  # (n,)
    shares: Array  # (n,)
    k: int

    @classmethod
    def of(cls, K: Gram, solution: Solution) -> Grouping:
        """The clusters of a solution of exact steps."""
        G, labels = to_host(solution.factors["G"]), to_host(solution.labels)
        return cls.with_shares(K, labels, entries(G, labels), G.shape[1])

    @classmethod
    def with_shares(cls, K: Gram, labels: Labels, values: Array, k: int) -> Grouping:
        """The clusters with vectors proportional to the positive parts of the values."""
        values = np.maximum(values, 0)
        length = np.sqrt(np.bincount(labels, weights=values**2, minlength=k))
        return cls(K, labels, quotient(values, length[labels]), k)

    @cached_property
    def likeness(self) -> Array:  # (n, k)
        """KG."""
        return self.product(self.shares)

    @cached_property
    def explained(self) -> Array:  # (k,)
        """g_cᵀKg_c."""
        return self.totals(self.shares * self.own(self.likeness))

    def product(self, values: Array) -> Array:  # (n,) -> (n, k)
        """Σ_{j in c} K_ij v_j for every sample i and cluster c."""
        spread = np.zeros((len(self.labels), self.k), self.K.dtype)
        spread[np.arange(len(self.labels)), self.labels] = values
        return self.K.dot(spread)

    def own(self, product: Array) -> Array:  # (n, k) -> (n,)
        """For every sample, the entry of its own cluster."""
        return entries(product, self.labels)

    def totals(self, values: Array) -> Array:  # (n,) -> (k,)
        """The sums over clusters."""
        return np.bincount(self.labels, weights=values, minlength=self.k)

    def inner(self, V: Array) -> Array:  # (n, m) -> (k, m)
        """GᵀV."""
        n = len(self.labels)
        entries = self.shares.astype(V.dtype), (self.labels, np.arange(n))
        return np.asarray(sparse.csr_array(entries, shape=(self.k, n)) @ V, dtype=np.float64)


def entries(V: Array, c: Labels) -> Array:  # (n, k), (n,) -> (n,)
    """The entry of each row in column c."""
    return np.take_along_axis(V, c[:, None], axis=1)[:, 0].astype(np.float64)


def joined(a: Array, b: Array, between: Array) -> Array:
    """The larger eigenvalue of the matrix with a and b on the diagonal.

    A combination of vectors without negative entries has none: below zero there is nothing between.
    """
    return (a + b) / 2 + np.hypot((a - b) / 2, np.maximum(between, 0))


def joining_costs(grouping: Grouping) -> Array:  # (k, k)
    """What is no longer explained when two clusters become one; infinite on the diagonal."""
    e = grouping.explained
    costs = e[:, None] + e - joined(e[:, None], e, grouping.inner(grouping.likeness))
    np.fill_diagonal(costs, np.inf)
    return costs


@dataclass(frozen=True)
class Cuts:
    """A cut of each cluster: the halves, c and c + k, and what the cut gains."""

    halves: Grouping
    gains: Array  # (k,), -inf where the halves belong together

    @property
    def side(self) -> Array:  # (n,)
        """The half of each sample, 0 or 1."""
        return self.halves.labels // len(self.gains)


def half_joining_costs(grouping: Grouping, cuts: Cuts) -> Array:  # (2, k, k)
    """What is no longer explained when half of one cluster goes to another cluster."""
    k, halves = grouping.k, cuts.halves
    own, e = halves.explained[:, None], grouping.explained
    costs = own + e - joined(own, e, halves.inner(grouping.likeness))
    costs = costs.reshape(2, k, k)
    costs[:, np.arange(k), np.arange(k)] = np.inf
    return costs


def best_cuts(grouping: Grouping) -> Cuts:
    """Every cluster cut along the second eigenvector of its block, then by exact steps."""
    K, labels, g, k = grouping.K, grouping.labels, grouping.shares, grouping.k
    t = np.zeros(len(labels))
    t[_worst(grouping)] = 1
    for _ in range(1 + _DIRECTION_STEPS):
        t = grouping.own(grouping.product(t))
        t -= g * grouping.totals(g * t)[labels]  # what lies along the first eigenvector
        t = quotient(t, np.sqrt(grouping.totals(t**2))[labels])
    # The first eigenvector may be zero in all of one half, and the second in most of the other.
    halves = Grouping.with_shares(K, labels + k * (t > 0), np.hypot(g, t), 2 * k)
    for _ in range(_HALVING_STEPS):
        near, far = (entries(halves.likeness, labels + half) for half in (k, 0))
        root = np.sqrt(np.maximum(halves.explained, 0))
        side = quotient(near, root[labels + k]) > quotient(far, root[labels])
        values = np.where(side, near, far)
        halves = Grouping.with_shares(K, labels + k * side, values, 2 * k)
    explained = halves.explained.reshape(2, k)
    gains = explained.sum(axis=0) - grouping.explained
    apart = (explained.min(axis=0) > 0) & (gains >= LEAST_APART * explained.min(axis=0))
    return Cuts(halves, np.where(apart, gains, -np.inf))


def _worst(grouping: Grouping) -> Labels:
    """For each cluster that has samples, the sample that is explained worst."""
    squares = grouping.own(grouping.likeness) ** 2
    left = to_host(grouping.K.diagonal) - quotient(squares, grouping.explained[grouping.labels])
    order = np.lexsort((grouping.K.each(left), grouping.labels))
    return np.asarray(order[np.flatnonzero(np.diff(grouping.labels[order], append=-1))])


def best_moves(grouping: Grouping) -> tuple[Array, Labels]:  # (n,), (n,)
    """What it gains to move one sample to the best other cluster, and which that is.

    Exact steps compare a sample with all clusters as they are, its own with the sample in it. In
    small clusters that keeps samples where they are. The vector of the cluster that a sample
    leaves explains λ - g_i²(λ - K_ii)/(1 - g_i²) without it, if it is an eigenvector.
    """
    labels, e, squares = grouping.labels, grouping.explained, grouping.shares**2
    single = to_host(grouping.K.diagonal).astype(np.float64)
    gains = joined(e, single[:, None], grouping.likeness) - e
    gains[np.arange(len(labels)), labels] = -np.inf
    target = np.argmax(gains, axis=1)
    loss = quotient(squares * (e[labels] - single), 1 - squares)
    return np.where(squares < 1, entries(gains, target) - loss, -np.inf), target


def exchange(grouping: Grouping, least: float) -> Labels | None:
    """Labels after all exchanges that gain more than ``least``; None if there is none.

    A cluster is cut, and the two are joined that cost least: two others, or one of the halves and
    another. Then single samples are moved. No cluster takes part in two exchanges, so that what
    they gain adds up.
    """
    cuts, costs = best_cuts(grouping), joining_costs(grouping)
    half_costs = half_joining_costs(grouping, cuts)
    pairs = np.argwhere(np.triu(costs < cuts.gains.max() - least, 1))
    pairs = pairs[np.argsort(costs[tuple(pairs.T)], kind="stable")]
    old, new, free = grouping.labels, grouping.labels.copy(), np.ones(grouping.k, dtype=bool)
    first = 0  # of the pairs that can still be joined
    for c in np.argsort(-cuts.gains, kind="stable"):
        if cuts.gains[c] <= least:
            break
        if not free[c]:
            continue
        while first < len(pairs) and not free[pairs[first]].all():
            first += 1
        two = next((pair for pair in pairs[first:] if free[pair].all() and c not in pair), None)
        with_two = np.inf if two is None else costs[tuple(two)]
        with_half = np.where(free, half_costs[:, c], np.inf)
        half, other = np.unravel_index(np.argmin(with_half), with_half.shape)
        if cuts.gains[c] - min(with_half[half, other], with_two) <= least:
            continue
        cut = (old == c) & (cuts.side == half)
        if two is None or with_half[half, other] <= with_two:
            new[cut] = other
            free[[c, other]] = False
        else:
            a, b = two
            new[old == b] = a
            new[cut] = b
            free[[a, b, c]] = False
    gains, target = best_moves(grouping)
    for i in np.argsort(-gains, kind="stable"):
        if gains[i] <= least:
            break
        two = [old[i], target[i]]
        if free[two].all():
            new[i] = target[i]
            free[two] = False
    return None if free.all() else new


def quotient(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator, or 0 where the denominator is 0."""
    there = denominator > 0
    return np.where(there, numerator / np.where(there, denominator, 1), 0.0)
