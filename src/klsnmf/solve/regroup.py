"""Exchanges of whole clusters: one becomes two and two become one, where that explains more.

Iterations move samples one by one. Where clusters are many, a fit ends with two clusters in the
place of one and one in the place of two, and no sample gains by leaving its own. An exchange gains:
a cluster is cut in two, and two others become one.

KLS-NMF explains a cluster by one prototype, of which each sample has a share. With shares in
proportion to the lengths g_i = √K_ii, clusters c explain Σ_c s_cc/m_c of tr K, where

    s_ab = Σ_{i in a, j in b} g_i g_j K_ij,    m_c = Σ_{i in c} g_i²,

and what is left is twice the objective at λ = 0. The same comes from k-means for the samples
at length 1, x_i = φ(x_i)/g_i, with weights g_i²: s_ab/(m_a m_b) are inner products of means. To
join a and b costs

    s_aa/m_a + s_bb/m_b - (s_aa + s_bb + 2 s_ab)/(m_a + m_b),

and to cut c in two gains the same for its halves. Cuts go along the leading principal direction of
each cluster, found for all clusters with the same products, and are improved by two-means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..core.arrays import to_host
from ..core.kmeans import by_appearance
from ..core.types import Array, Labels
from ..core.work import steps, threads_for
from ..grams.base import Gram
from .solution import BY_LABELS, Start

#: An exchange must gain this share of what the clusters leave unexplained.
LEAST_GAIN = 1e-4

#: A cut must gain this share of what the smaller half explains: 0 if the halves are the same, 1 or
#: more if they have nothing in common. A large cluster gains by any cut, and small ones that are
#: far apart are cheap to join; without this rule, clusters of unequal size were lost.
LEAST_APART = 0.5

#: Rounds of exchanges; in each of them steps towards the principal directions, rounds of two-means
#: in each cluster, and rounds of k-means after the exchanges.
_ROUNDS = 10
_DIRECTION_STEPS = 5
_HALVING_ROUNDS = 3
_SETTLING_ROUNDS = 10


class Points:
    """The samples at length 1 in the space of a kernel, known by products with K."""

    def __init__(self, K: Gram) -> None:
        self.K = K
        squares = np.maximum(to_host(K.diagonal).astype(np.float64), 0)
        self.weights = squares / (squares.max() or 1)  # of moderate size; their unit is of no avail
        self.lengths = np.sqrt(self.weights)

    def likeness(self, values: Array, labels: Labels, k: int) -> Array:  # (n,), (n,) -> (n, k)
        """⟨x_i, Σ_{j in c} g_j² v_j x_j⟩ for every sample i and cluster c."""
        spread = np.zeros((len(labels), k), self.K.dtype)
        spread[np.arange(len(labels)), labels] = self.lengths * values
        product = self.K.dot(spread)
        product /= np.where(self.lengths > 0, self.lengths, 1)[:, None].astype(product.dtype)
        return product


@dataclass(frozen=True)
class Grouping:
    """Clusters of points."""

    points: Points
    labels: Labels  # (n,)
    k: int

    @cached_property
    def likeness(self) -> Array:  # (n, k)
        """⟨x_i, m_c mean_c⟩."""
        return self.points.likeness(np.ones(len(self.labels)), self.labels, self.k)

    @cached_property
    def masses(self) -> Array:  # (k,)
        """m_c."""
        return self.totals(np.ones(len(self.labels)))

    @cached_property
    def sums(self) -> Array:  # (k, k)
        """s_ab."""
        return self.sums_of(self.likeness)

    @cached_property
    def explained(self) -> Array:  # (k,)
        return quotient(np.diag(self.sums), self.masses)

    def own(self, product: Array) -> Array:  # (n, k) -> (n,)
        """For every sample the entry of its own cluster."""
        return np.take_along_axis(product, self.labels[:, None], axis=1)[:, 0].astype(np.float64)

    def totals(self, values: Array) -> Array:  # (n,) -> (k,)
        """The weighted sums over clusters."""
        return np.bincount(self.labels, weights=self.points.weights * values, minlength=self.k)

    def sums_of(self, V: Array) -> Array:  # (n, m) -> (k, m)
        """The same for every column."""
        n = len(self.labels)
        H = sparse.csr_array(
            (self.points.weights.astype(V.dtype), (self.labels, np.arange(n))), shape=(self.k, n)
        )
        return np.asarray(H @ V, dtype=np.float64)


def can_be_regrouped(starts: Sequence[Start]) -> bool:
    """Whether any start is made of labels, of three clusters or more: two others can be joined."""
    return starts[0].k > 2 and any(start.way in BY_LABELS for start in starts)


def regrouped_starts(
    starts: Sequence[Start], K: Gram, hold: Callable[[Array], Array]
) -> list[Start]:
    """With clusters exchanged where that explains more of K; no labels twice."""
    found: dict[bytes, Start] = {}
    for turn, start in enumerate(steps(starts, "regrouping")):
        labels = start.labels
        if labels is None:
            found[turn.to_bytes(8)] = start
            continue
        with threads_for(K.flops * start.k):
            better = regrouped(K, labels, start.k)
        if better is not None:
            labels = by_appearance(better)
            start = Start.of_labels(start.way, labels, start.k, hold)
        found.setdefault(by_appearance(labels).tobytes(), start)
    return list(found.values())


def regrouped(K: Gram, labels: Labels, k: int) -> Labels | None:
    """Labels after all exchanges that gain; None if there is none.

    Exchanges are followed by rounds of k-means, and kept if the clusters explain more then.
    """
    now, exchanged = settled(Grouping(Points(K), labels, k)), False
    for _ in range(_ROUNDS):
        least = LEAST_GAIN * max(K.trace - now.explained.sum(), 0.0)
        other = exchange(now, least)
        if other is None:
            break
        new = settled(Grouping(now.points, other, k))
        if new.explained.sum() <= now.explained.sum() + least:
            break
        now, exchanged = new, True
    return now.labels if exchanged else None


def settled(grouping: Grouping) -> Grouping:
    """After some rounds of k-means."""
    for _ in range(_SETTLING_ROUNDS):
        labels = nearest_means(grouping)
        if np.array_equal(labels, grouping.labels):
            break
        grouping = Grouping(grouping.points, labels, grouping.k)
    return grouping


def nearest_means(grouping: Grouping) -> Labels:  # (n,)
    """argmin_c ‖x_i - mean_c‖², that is argmax_c of 2 ⟨x_i, mean_c⟩ - ‖mean_c‖²."""
    dtype, masses = grouping.likeness.dtype, grouping.masses
    closeness = grouping.likeness * quotient(2, masses).astype(dtype)
    closeness -= quotient(grouping.explained, masses).astype(dtype)
    closeness[:, masses == 0] = -np.inf
    return np.asarray(np.argmax(closeness, axis=1))


def exchange(grouping: Grouping, least: float) -> Labels | None:
    """Labels after all exchanges that gain more than ``least``; None if there is none.

    A cluster is cut, and the two are joined that cost least: two others, or one of the halves and
    another. No cluster takes part in two exchanges, so that what they gain adds up.
    """
    cuts, costs = halves(grouping), joining_costs(grouping)
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
    return None if free.all() else new


def joining_costs(grouping: Grouping) -> Array:  # (k, k)
    """What is no longer explained when two clusters become one; infinite on the diagonal."""
    s, m, e = grouping.sums, grouping.masses, grouping.explained
    own = np.diag(s)
    costs = e[:, None] + e - quotient(own[:, None] + own + s + s.T, m[:, None] + m)
    np.fill_diagonal(costs, np.inf)
    return costs


@dataclass(frozen=True)
class Cuts:
    """A cut of each cluster: the side of each sample, and what the halves are then."""

    side: Array  # (n,), 0 or 1
    masses: Array  # (2, k)
    explained: Array  # (2, k)
    gains: Array  # (k,), -inf where the halves belong together


def half_joining_costs(grouping: Grouping, cuts: Cuts) -> Array:  # (2, k, k)
    """What is no longer explained when half of one cluster goes to another cluster."""
    own, m, e = np.diag(grouping.sums), grouping.masses, grouping.explained
    one = grouping.sums_of(grouping.likeness * cuts.side[:, None])
    between = np.stack([grouping.sums - one, one])
    within = (cuts.masses * cuts.explained)[..., None]
    together = quotient(within + own + 2 * between, cuts.masses[..., None] + m)
    costs = cuts.explained[..., None] + e - together
    costs[:, np.arange(grouping.k), np.arange(grouping.k)] = np.inf
    return costs


def halves(grouping: Grouping) -> Cuts:
    """Every cluster cut along its leading principal direction, then by two-means."""
    points, labels, k = grouping.points, grouping.labels, grouping.k
    own = grouping.own(grouping.likeness)

    def within(values: Array) -> Array:  # (n,) -> (n,)
        """⟨x_i, Σ_j g_j² v_j x_j⟩ over the cluster of i."""
        return grouping.own(points.likeness(values, labels, k))

    # Places along a direction d, t_i = ⟨x_i, d⟩ less their mean, lead to the next one, Σ g_i² t_i
    # x_i. The first leads to the sample that is furthest out.
    t = np.zeros(len(labels))
    t[_furthest(grouping, own)] = 1
    for _ in range(1 + _DIRECTION_STEPS):
        t = within(t)
        t /= np.abs(t).max() or 1
        t -= quotient(grouping.totals(t), grouping.masses)[labels]
        spread = np.sqrt(quotient(grouping.totals(t**2), grouping.masses))
        t = quotient(t, spread[labels])
    side = t > 0
    for turn in range(1 + _HALVING_ROUNDS):
        near = within(side)
        far = own - near
        masses = np.stack([grouping.totals(~side), grouping.totals(side)])
        sums = np.stack([grouping.totals(far * ~side), grouping.totals(near * side)])
        explained = quotient(sums, masses)
        if turn < _HALVING_ROUNDS:
            mass, share = masses[:, labels], explained[:, labels]
            side = quotient(2 * near - share[1], mass[1]) > quotient(2 * far - share[0], mass[0])
    gains = explained.sum(axis=0) - grouping.explained
    apart = (masses.min(axis=0) > 0) & (gains >= LEAST_APART * explained.min(axis=0))
    return Cuts(side, masses, explained, np.where(apart, gains, -np.inf))


def _furthest(grouping: Grouping, own: Array) -> Labels:
    """Of each cluster that has samples, the one least like its mean."""
    order = np.lexsort((-own, grouping.labels))
    return np.asarray(order[np.flatnonzero(np.diff(grouping.labels[order], append=-1))])


def quotient(numerator: Array | float, denominator: Array) -> Array:
    """numerator / denominator, and 0 where the denominator is 0."""
    there = denominator > 0
    return np.where(there, numerator / np.where(there, denominator, 1), 0.0)
