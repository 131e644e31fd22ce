"""The exact solver at λ = 0 in the space of a few features: K = FFᵀ.

There W = G, and G holds the leading eigenvectors of the clusters' blocks of K, which have no
negative entry (Perron). Clusters c explain Σ_c λ_max(K_cc) of tr K, and what is left is twice the
objective. With F the leading eigenvector of a block is known by a prototype, a vector p_c of length
1 in the space of the features: G_ic ∝ ⟨F_i, p_c⟩. A step gives every sample to the prototype
that explains most of it, and turns the prototypes:

    c(i) = argmax_c ⟨F_i, p_c⟩,    p_c ← Σ_{i in c} ⟨F_i, p_c⟩ F_i  at length 1.

It takes n·m·k operations, a start milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.types import Array, Labels
from ..grams.walk import Features, sums_over_clusters

#: Steps of a start at most, after an exchange, and of the two halves of a cluster.
_STEPS = 30
_EXCHANGING_STEPS = 8
_HALVING_STEPS = 8

#: Exchanges at most, and cuts that are tried for one. A cut that gains so much less than the
#: join costs may still pay, as clusters settle after it.
_EXCHANGES = 30
_TRIES = 5
_HOPE = 1.2

#: What must be gained by an exchange, as a share of what is explained: more than rounding.
_GAIN = 1e-5

#: Steps towards the direction in which a cluster is widest, and the fewest samples that are cut.
_DIRECTION_STEPS = 8
_FEWEST_CUT = 4

#: Starts, of those that explain most, whose clusters are exchanged.
_FINALISTS = 3


@dataclass(frozen=True)
class Clusters:
    """Clusters of samples, G and FᵀG."""

    labels: Labels  # (n,)
    explained: Array  # (k,), λ_max(K_cc)
    shares: Array  # (n,), the entry of each sample in its column of G
    sums: Array  # (k, m), the rows of GᵀF

    @property
    def total(self) -> float:
        return float(self.explained.sum())


def settled(F: Features, labels: Labels, k: int, steps: int = _STEPS) -> Clusters:  # (n,)
    """The clusters that exact steps lead to; what they explain never falls."""
    each, G = np.arange(len(labels)), sums_over_clusters(labels, k, F.along.dtype)
    G.data /= np.sqrt(np.bincount(labels, minlength=k))[labels]
    for turn in range(steps):
        sums = G @ F.along
        alone = np.bincount(labels, F.beside * np.square(G.data), k)
        explained = np.square(sums).sum(axis=1, dtype=np.float64) + alone
        root = np.sqrt(np.maximum(explained, np.finfo(np.float32).tiny)).astype(G.dtype)
        closeness = F.along @ (sums / root[:, None]).T
        closeness[each, labels] += F.beside * G.data / root[labels]
        new = closeness.argmax(axis=1)
        if turn == steps - 1 or (turn > 1 and np.array_equal(new, labels)):
            break
        labels = new
        shares = np.maximum(closeness[each, labels], 0) / root[labels]
        length = np.sqrt(np.bincount(labels, np.square(shares), k))
        G.indices[:], G.data[:] = labels, shares / np.where(length > 0, length, 1)[labels]
    return Clusters(labels, explained, G.data, sums)


def exchanged(F: Features, now: Clusters, cutter: Cutter | None = None) -> Clusters:
    """Clusters after exchanges: one is cut in two and two others are joined, where that pays."""
    k = len(now.explained)
    if k < 3:
        return _other_halves(F, now) if k == 2 else now
    cutter, failed = cutter or Cutter(F), set[tuple[bytes, ...]]()
    for _ in range(_EXCHANGES):
        members, costs = _members(now.labels, k), joining_costs(now)
        cuts = [cutter.cut(each, p) for each, p in zip(members, now.sums, strict=True)]
        gains = np.array([cut.total for cut in cuts]) - now.explained
        better = None
        for c in np.argsort(-gains, kind="stable")[:_TRIES]:
            others = costs.copy()
            others[c] = others[:, c] = np.inf
            a, b = np.unravel_index(others.argmin(), others.shape)
            move = tuple(members[each].tobytes() for each in (c, a, b))
            if gains[c] <= 0 or _HOPE * gains[c] <= others[a, b] or move in failed:
                continue
            labels = np.where(now.labels == b, a, now.labels)
            labels[members[c][cuts[c].side]] = b
            found = settled(F, labels, k, _EXCHANGING_STEPS)
            if found.total > now.total * (1 + _GAIN):
                better = found
                break
            failed.add(move)
        if better is None:
            break
        now = better
    return now


def _other_halves(F: Features, now: Clusters) -> Clusters:
    """Of two clusters one half of one goes to the other, where that pays."""
    for c, (members, p) in enumerate(zip(_members(now.labels, 2), now.sums, strict=True)):
        side = halves(F[members], p).side
        for half in (members[side], members[~side]):
            labels = now.labels.copy()
            labels[half] = 1 - c
            found = settled(F, labels, 2)
            if found.total > now.total * (1 + _GAIN):
                return found
    return now


def best_of(F: Features, starts: Sequence[Labels], k: int, *, exchange: bool = True) -> Clusters:
    """From these starts the clusters that explain most, after exchanges."""
    found = {round(one.total, 9): one for one in (settled(F, labels, k) for labels in starts)}
    best, cutter = [found[total] for total in sorted(found, reverse=True)[:_FINALISTS]], Cutter(F)
    better = [exchanged(F, one, cutter) for one in best] if exchange else best
    return max(better, key=lambda one: one.total)


def joining_costs(now: Clusters) -> Array:  # (k, k)
    """What is no longer explained when two clusters become one, at most; infinite below a < b.

    The leading eigenvector of both is looked for between their own.
    """
    e, across = now.explained, now.sums @ now.sums.T
    half = (e[:, None] - e) / 2
    costs = (e[:, None] + e) / 2 - np.sqrt(half**2 + across**2)
    costs[np.tril_indices(len(e))] = np.inf
    return np.asarray(costs)


@dataclass(frozen=True)
class Cut:
    """A cluster in two: what both parts explain, and who is in the second."""

    total: float
    side: Array  # (members,)


class Cutter:
    """Cuts clusters in two; those that it has seen before it remembers."""

    def __init__(self, F: Features) -> None:
        self.F, self.seen = F, dict[bytes, Cut]()

    def cut(self, members: Array, p: Array) -> Cut:
        key = members.tobytes()
        if key not in self.seen:
            self.seen[key] = halves(self.F[members], p)
        return self.seen[key]


def halves(F: Features, p: Array | None = None) -> Cut:  # (m,)
    """Of these samples, by the direction in which they are widest beside p, then exact steps."""
    none, V = Cut(-np.inf, np.zeros(len(F.beside), bool)), F.along
    if len(V) < _FEWEST_CUT:
        return none
    p = V.sum(axis=0) if p is None else p
    p = p / (np.sqrt(p @ p) or 1)
    beside = V - (V @ p)[:, None] * p
    place = beside @ beside[np.square(beside).sum(axis=1).argmax()]
    for _ in range(_DIRECTION_STEPS):
        place = beside @ (beside.T @ place)
        place /= np.sqrt(place @ place) or 1
    side = place > 0
    if side.all() or not side.any():
        return none
    both = settled(F, side.astype(np.intp), 2, _HALVING_STEPS)
    return Cut(both.total, both.labels == 1)


def _members(labels: Labels, k: int) -> list[Array]:
    """Who is in each cluster."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, k)))
