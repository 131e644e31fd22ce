"""Exchanges of whole clusters: one becomes two and two become one, where that explains more.

Iterations move samples one by one. Where clusters are many, a fit ends with two clusters in the
place of one and one in the place of two, and no sample gains by leaving its own. An exchange gains:
a cluster is cut in two, and two others become one.

Clusters c of n_c samples explain Σ_c s_cc/n_c of tr K, with s_ab = Σ_{i in a, j in b} K_ij; what is
left is twice the objective at λ = 0 where every sample of a cluster weighs the same. To join a and
b costs

    s_aa/n_a + s_bb/n_b - (s_aa + s_bb + 2 s_ab)/(n_a + n_b),

and to cut c in two gains the same for its halves. Cuts go along the leading principal direction of
each cluster, found for all clusters with the same products, and are improved by two-means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ._typing import Array, Labels
from .devices import to_host
from .grams import Gram

#: An exchange must gain this share of what the clusters leave unexplained.
LEAST_GAIN = 1e-4

#: Rounds of exchanges; in each of them steps towards the principal directions, rounds of two-means
#: in each cluster, and rounds of k-means after the exchanges.
_ROUNDS = 10
_DIRECTION_STEPS = 5
_HALVING_ROUNDS = 3
_SETTLING_ROUNDS = 10


@dataclass(frozen=True)
class Grouping:
    """Clusters, and what a product with K says of them."""

    labels: Labels  # (n,)
    k: int
    KH: Array  # (n, k), H the indicators of the clusters

    @classmethod
    def of(cls, K: Gram, labels: Labels, k: int) -> Grouping:
        return cls(labels, k, K.dot(spread(np.ones(len(labels), K.dtype), labels, k)))

    @cached_property
    def sizes(self) -> Array:  # (k,)
        return np.bincount(self.labels, minlength=self.k)

    @cached_property
    def sums(self) -> Array:  # (k, k)
        """s_ab, added up in float64."""
        return _sums_by_label(self.KH, self.labels, self.k)

    @cached_property
    def explained(self) -> Array:  # (k,)
        return np.diag(self.sums) / np.maximum(self.sizes, 1)

    def own(self, product: Array) -> Array:  # (n, k) -> (n,)
        """For every sample the entry of its own cluster."""
        return np.take_along_axis(product, self.labels[:, None], axis=1)[:, 0]

    def means(self, values: Array) -> Array:  # (n,) -> (k,)
        """The means over clusters."""
        return self.totals(values) / np.maximum(self.sizes, 1)

    def totals(self, values: Array) -> Array:  # (n,) -> (k,)
        return np.bincount(self.labels, weights=values, minlength=self.k)


def regrouped(K: Gram, labels: Labels, k: int) -> Labels | None:
    """Labels after all exchanges that gain; None if there is none.

    Exchanges are followed by rounds of k-means, and kept if the clusters explain more then.
    """
    if k < 3:
        return None
    now, exchanged = settled(K, Grouping.of(K, labels, k)), False
    for _ in range(_ROUNDS):
        least = LEAST_GAIN * (K.trace - now.explained.sum())
        other = exchange(K, now, least)
        if other is None:
            break
        new = settled(K, Grouping.of(K, other, k))
        if new.explained.sum() < now.explained.sum() + least:
            break
        now, exchanged = new, True
    return now.labels if exchanged else None


def settled(K: Gram, grouping: Grouping) -> Grouping:
    """After some rounds of k-means in the space of the kernel."""
    for _ in range(_SETTLING_ROUNDS):
        labels = nearest_means(grouping.KH, grouping.sizes, grouping.explained)
        if np.array_equal(labels, grouping.labels):
            break
        grouping = Grouping.of(K, labels, grouping.k)
    return grouping


def nearest_means(KH: Array, sizes: Array, explained: Array) -> Labels:  # (n, k), (k,), (k,)
    """argmin_c of the squared distance to the mean of c: K_ii - 2 (KH)_ic/n_c + s_cc/n_c²."""
    closeness = (2 * KH - explained) / np.maximum(sizes, 1)
    return np.asarray(np.argmax(np.where(sizes > 0, closeness, -np.inf), axis=1))


def exchange(K: Gram, grouping: Grouping, least: float) -> Labels | None:
    """Labels after all exchanges that gain more than ``least``; None if there is none.

    A cluster is cut, and the two are joined that cost least: two others, or one of the halves and
    another. No cluster takes part in two exchanges, so that what they gain adds up.
    """
    cuts, costs = halves(K, grouping), joining_costs(grouping)
    half_costs = half_joining_costs(grouping, cuts)
    pairs = np.argwhere(np.triu(costs < cuts.gains.max() - least, 1))
    pairs = pairs[np.argsort(costs[tuple(pairs.T)], kind="stable")]
    old, new, free = grouping.labels, grouping.labels.copy(), np.ones(grouping.k, dtype=bool)
    for c in np.argsort(-cuts.gains, kind="stable"):
        if cuts.gains[c] <= least:
            break
        if not free[c]:
            continue
        others = free & (np.arange(grouping.k) != c)
        with_half = np.where(others, half_costs[:, c], np.inf)
        half, other = np.unravel_index(np.argmin(with_half), with_half.shape)
        two = pairs[others[pairs].all(axis=1)][:1]
        with_two = costs[tuple(two[0])] if len(two) else np.inf
        if cuts.gains[c] - min(with_half[half, other], with_two) <= least:
            continue
        cut = (old == c) & (cuts.side == half)
        if with_half[half, other] <= with_two:
            new[cut] = other
            free[[c, other]] = False
        else:
            a, b = two[0]
            new[old == b] = a
            new[cut] = b
            free[[a, b, c]] = False
    return None if free.all() else new


def joining_costs(grouping: Grouping) -> Array:  # (k, k)
    """What is no longer explained when two clusters become one; infinite on the diagonal."""
    s, n, e = grouping.sums, grouping.sizes, grouping.explained
    own = np.diag(s)
    costs = e[:, None] + e - (own[:, None] + own + s + s.T) / np.maximum(n[:, None] + n, 1)
    np.fill_diagonal(costs, np.inf)
    return costs


def half_joining_costs(grouping: Grouping, cuts: Cuts) -> Array:  # (2, k, k)
    """The same for a half of one cluster and another cluster."""
    e, n, own = grouping.explained, grouping.sizes, np.diag(grouping.sums)
    one = _sums_by_label(grouping.KH * cuts.side[:, None], grouping.labels, grouping.k)
    between = np.stack([grouping.sums - one, one])
    within = (cuts.sizes * cuts.explained)[..., None]
    together = (within + own + 2 * between) / np.maximum(cuts.sizes[..., None] + n, 1)
    costs = cuts.explained[..., None] + e - together
    costs[:, np.arange(grouping.k), np.arange(grouping.k)] = np.inf
    return costs


@dataclass(frozen=True)
class Cuts:
    """A cut of each cluster: the side of each sample, and what the halves are then."""

    side: Array  # (n,), 0 or 1
    sizes: Array  # (2, k)
    explained: Array  # (2, k)
    gains: Array  # (k,), -inf where a half is empty


def halves(K: Gram, grouping: Grouping) -> Cuts:
    """Every cluster cut along its leading principal direction, then by two-means."""
    k, labels = grouping.k, grouping.labels
    own = grouping.own(grouping.KH)

    def within(values: Array) -> Array:  # (n,) -> (n,)
        """The product with K of each cluster on its own."""
        return grouping.own(K.dot(spread(values.astype(K.dtype), labels, k)))

    # The directions are looked for beginning with the likeness to the sample that is furthest out.
    direction = np.zeros(len(labels))
    direction[_furthest(K, grouping, own)] = 1
    for _ in range(1 + _DIRECTION_STEPS):
        direction = within(direction)
        direction = direction - grouping.means(direction)[labels]
        length = np.sqrt(grouping.means(direction**2))
        direction /= np.where(length > 0, length, 1)[labels]
    side = direction > 0
    for turn in range(1 + _HALVING_ROUNDS):
        near = within(side)
        far = own - near
        sizes = np.stack([grouping.totals(~side), grouping.totals(side)])
        sums = np.stack([grouping.totals(far * ~side), grouping.totals(near * side)])
        explained = sums / np.maximum(sizes, 1)
        if turn < _HALVING_ROUNDS:
            size, share = np.maximum(sizes, 1)[:, labels], explained[:, labels]
            side = (2 * near - share[1]) / size[1] > (2 * far - share[0]) / size[0]
    gains = explained.sum(axis=0) - grouping.explained
    return Cuts(side, sizes, explained, np.where(sizes.min(axis=0) > 0, gains, -np.inf))


def _furthest(K: Gram, grouping: Grouping, own: Array) -> Labels:
    """Of each cluster that has samples, the one furthest from its mean."""
    distances = np.asarray(to_host(K.diagonal)) - 2 * own / grouping.sizes[grouping.labels]
    order = np.lexsort((distances, grouping.labels))
    last = np.flatnonzero(np.diff(grouping.labels[order], append=-1))
    return np.asarray(order[last])


def spread(values: Array, labels: Labels, k: int) -> Array:  # (n,), (n,) -> (n, k)
    """An array with the value of each sample in the column of its cluster."""
    columns = np.zeros((len(labels), k), values.dtype)
    columns[np.arange(len(labels)), labels] = values
    return columns


def _sums_by_label(V: Array, labels: Labels, k: int) -> Array:  # (n, m), (n,) -> (k, m)
    """The sums of the rows of each cluster, in float64."""
    n = len(labels)
    H = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    return np.asarray(H @ V)
