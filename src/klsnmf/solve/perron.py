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
from scipy import sparse

from ..core.types import Array, Labels
from ..grams.walk import sums_over_clusters

#: Steps of a start at most, and of the two halves of a cluster.
_STEPS = 30
_HALVING_STEPS = 8

#: Exchanges at most, and cuts that are tried for one. A cut that gains so much less than the
#: join costs may still pay, as clusters settle after it.
_EXCHANGES = 30
_TRIES = 5
_HOPE = 1.2

#: What must be gained by an exchange, as a share of what is explained: more than rounding.
_GAIN = 1e-6

#: Steps towards the direction in which a cluster is widest, and the fewest samples that are cut.
_DIRECTION_STEPS = 8
_FEWEST_CUT = 4

#: Starts, of those that explain most, whose clusters are exchanged.
_FINALISTS = 3


@dataclass(frozen=True)
class Clusters:
    """Clusters of samples with the features F, and their prototypes."""

    labels: Labels  # (n,)
    explained: Array  # (k,), λ_max(K_cc)
    closeness: Array  # (n, k), ⟨F_i, p_c⟩
    prototypes: Array  # (k, m)

    @property
    def total(self) -> float:
        return float(self.explained.sum())


def settled(F: Array, labels: Labels, k: int, steps: int = _STEPS) -> Clusters:  # (n, m), (n,)
    """The clusters that exact steps lead to; what they explain never falls."""
    n, each = len(labels), np.arange(len(labels))
    prototypes = _at_length_one(sums_over_clusters(labels, k) @ F)
    for turn in range(steps):
        closeness = F @ prototypes.T
        new = closeness.argmax(axis=1)
        if turn and np.array_equal(new, labels):
            break
        labels = new
        if turn < steps - 1:
            shares = np.maximum(closeness[each, labels], 0)
            weights = sparse.csr_array((shares, (labels, each)), shape=(k, n))
            prototypes = _at_length_one(weights @ F)
    explained = np.bincount(labels, np.square(closeness[each, labels]), k)
    return Clusters(labels, explained, closeness, prototypes)


def exchanged(F: Array, now: Clusters) -> Clusters:
    """Clusters after exchanges: one is cut in two and two others are joined, where that pays."""
    k = len(now.explained)
    if k < 3:
        return now
    cutter, failed = _Cutter(F), set[tuple[bytes, ...]]()
    for _ in range(_EXCHANGES):
        members, costs = _members(now.labels, k), joining_costs(now)
        cuts = [cutter.cut(each, p) for each, p in zip(members, now.prototypes, strict=True)]
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
            found = settled(F, labels, k)
            if found.total > now.total * (1 + _GAIN):
                better = found
                break
            failed.add(move)
        if better is None:
            break
        now = better
    return now


def best_of(F: Array, starts: Sequence[Labels], k: int, *, exchange: bool = True) -> Clusters:
    """From these starts the clusters that explain most, after exchanges."""
    found = {round(one.total, 9): one for one in (settled(F, labels, k) for labels in starts)}
    best = [found[total] for total in sorted(found, reverse=True)[:_FINALISTS]]
    return max((exchanged(F, one) if exchange else one for one in best), key=lambda one: one.total)


def joining_costs(now: Clusters) -> Array:  # (k, k)
    """What is no longer explained when two clusters become one, at most; infinite below a < b.

    The prototype of the two is looked for between their own.
    """
    labels, B, P, e = now.labels, now.closeness, now.prototypes, now.explained
    M = sums_over_clusters(labels, len(e))
    Q, R = M @ B**2, M @ (B * B[np.arange(len(labels)), labels][:, None])
    # The block of both in the basis p_a and what p_b has besides: a 2 × 2 matrix.
    aa, bb, ab = Q.diagonal()[:, None] + Q.T, Q + Q.diagonal(), R + R.T
    cosine = np.clip(P @ P.T, -1, 1)
    sine = np.sqrt(np.maximum(1 - cosine**2, np.finfo(float).tiny))
    same = sine < np.sqrt(np.finfo(B.dtype).eps)
    across = np.where(same, 0, (ab - cosine * aa) / sine)
    beside = np.where(same, 0, (bb - 2 * cosine * ab + cosine**2 * aa) / sine**2)
    largest = (aa + beside) / 2 + np.sqrt(np.square((aa - beside) / 2) + across**2)
    costs = e[:, None] + e - largest
    costs[np.tril_indices(len(e))] = np.inf
    return np.asarray(costs)


@dataclass(frozen=True)
class Cut:
    """A cluster in two: what both parts explain, and who is in the second."""

    total: float
    side: Array  # (members,)


class _Cutter:
    """Cuts clusters in two; those that it has seen before it remembers."""

    def __init__(self, F: Array) -> None:
        self.F, self.seen = F, dict[bytes, Cut]()

    def cut(self, members: Array, p: Array) -> Cut:
        key = members.tobytes()
        if key not in self.seen:
            self.seen[key] = halves(self.F[members], p)
        return self.seen[key]


def halves(F: Array, p: Array | None = None) -> Cut:  # (members, m), (m,)
    """By the direction in which a cluster is widest beside its prototype, then exact steps."""
    none = Cut(-np.inf, np.zeros(len(F), bool))
    if len(F) < _FEWEST_CUT:
        return none
    p = _at_length_one(F.sum(axis=0)[None])[0] if p is None else p
    beside = F - (F @ p)[:, None] * p
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


def _at_length_one(P: Array) -> Array:  # (k, m)
    length = np.sqrt(np.square(P).sum(axis=1))
    return np.asarray(P / np.where(length > 0, length, 1)[:, None])
