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

from ..core.arithmetic import tall_times
from ..core.types import Array, Labels
from ..core.work import threads_for
from ..grams.walk import Features, weighed_sums

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
_DIRECTION_STEPS = 5
_FEWEST_CUT = 4

#: What is explained is more than that, where something is divided by it.
_TINY = float(np.finfo(np.float32).tiny)

#: Samples of a part that stands for all if they are more than twice as many, and for each cluster.
_PART = 10_000
_PART_OF_CLUSTER = 500

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
    each, dtype = np.arange(len(labels)), F.along.dtype
    shares = (1 / np.sqrt(np.bincount(labels, minlength=k)[labels])).astype(dtype)
    for turn in range(steps):
        sums = weighed_sums(labels, shares, k, F.along)
        alone = np.bincount(labels, F.beside * np.square(shares), k)
        explained = np.einsum("ij,ij->i", sums, sums, dtype=np.float64) + alone
        root = np.sqrt(np.maximum(explained, _TINY)).astype(dtype)
        closeness = tall_times(F.along, (sums / root[:, None]).T)
        closeness[each, labels] += F.beside * shares / root[labels]
        new = closeness.argmax(axis=1)
        if turn == steps - 1 or (turn > 1 and np.array_equal(new, labels)):
            break
        labels = new
        shares = np.maximum(closeness[each, labels], 0) / root[labels]
        length = np.sqrt(np.bincount(labels, np.square(shares), k))
        shares /= np.where(length > 0, length, 1).astype(dtype)[labels]
    return Clusters(labels, explained, shares, sums)


def exchanged(F: Features, now: Clusters, cutter: Cutter | None = None) -> Clusters:
    """Clusters after exchanges: one is cut in two and two others are joined, where that pays."""
    k = len(now.explained)
    if k < 3:
        return _other_halves(F, now) if k == 2 else now
    cutter, failed = cutter or Cutter(F), set[tuple[bytes, ...]]()
    for _ in range(_EXCHANGES):
        members, costs = members_of(now.labels, k), joining_costs(now)
        cuts = cutter.cuts(members, now.sums)
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
    both = members_of(now.labels, 2)
    for c, cut in enumerate(halves(F, both, now.sums)):
        for half in (both[c][cut.side], both[c][~cut.side]):
            labels = now.labels.copy()
            labels[half] = 1 - c
            found = settled(F, labels, 2)
            if found.total > now.total * (1 + _GAIN):
                return found
    return now


def part_of(n: int, k: int) -> Labels | slice:
    """The samples that tell which start is best: a part of many, else all."""
    size = max(_PART, _PART_OF_CLUSTER * k)
    if n <= 2 * size:
        return slice(None)
    return np.sort(np.random.RandomState(0).permutation(n)[:size])


def best_of(F: Features, starts: Sequence[Labels], k: int, *, exchange: bool = True) -> Clusters:
    """From these starts the clusters that explain most, after exchanges.

    Starts are labels of the samples of `part_of`, which tell which of them is best.
    """
    part = part_of(len(F.beside), k)
    if not isinstance(part, slice):
        few = best_of(F[part], starts, k, exchange=exchange)
        return settled(F, (F.along @ (few.sums / _lengths(few.sums)).T).argmax(axis=1), k)
    with threads_for(2.0 * F.along.size * k):
        found = {round(one.total, 9): one for one in (settled(F, each, k) for each in starts)}
        best = [found[total] for total in sorted(found, reverse=True)[:_FINALISTS]]
        cutter = Cutter(F)
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

    def cuts(self, members: Sequence[Array], sums: Array) -> list[Cut]:  # (k, m)
        keys = [each.tobytes() for each in members]
        new = [c for c, key in enumerate(keys) if key not in self.seen]
        if new:
            found = halves(self.F, [members[c] for c in new], sums[new])
            self.seen |= {keys[c]: cut for c, cut in zip(new, found, strict=True)}
        return [self.seen[key] for key in keys]


def halves(F: Features, members: Sequence[Array], sums: Array | None = None) -> list[Cut]:
    """Of each of these clusters, by the direction in which it is widest, then exact steps.

    Beside its mean, or the direction that ``sums`` tell, (k, m). All clusters go side by side.
    """
    k, sizes = len(members), np.array([len(each) for each in members])
    cuts = [Cut(-np.inf, np.zeros(size, bool)) for size in sizes]
    some = [c for c in range(k) if sizes[c] >= _FEWEST_CUT]
    if not some:
        return cuts
    F = F[np.concatenate([members[c] for c in some])]
    cluster = np.repeat(some, sizes[some])
    side = _widest(F.along, cluster, k, sums) > 0
    both = np.bincount(cluster, side, k) * np.bincount(cluster, ~side, k) > 0
    kept = both[cluster]
    found = _settled_halves(F[kept], cluster[kept], side[kept], k) if kept.any() else {}
    return [found.get(c, cut) for c, cut in enumerate(cuts)]


def _widest(V: Array, cluster: Labels, k: int, sums: Array | None) -> Array:  # (n, m) -> (n,)
    """Where each sample is along the direction in which its cluster, in order, is widest."""
    ones = np.ones(len(V), V.dtype)
    p = weighed_sums(cluster, ones, k, V) if sums is None else sums
    p = p / _lengths(p)
    V = V - (V * p[cluster]).sum(axis=1)[:, None] * p[cluster]
    lengths = np.einsum("ij,ij->i", V, V)
    furthest = np.lexsort((-lengths, cluster))[np.searchsorted(cluster, np.arange(k)) % len(V)]
    place = np.einsum("ij,ij->i", V, V[furthest][cluster])
    for _ in range(_DIRECTION_STEPS):
        direction = weighed_sums(cluster, place, k, V)
        place = np.einsum("ij,ij->i", V, (direction / _lengths(direction))[cluster])
    return place


def _lengths(V: Array) -> Array:  # (k, m) -> (k, 1)
    """Those of rows, 1 for rows of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", V, V))[:, None]
    return np.where(lengths > 0, lengths, 1).astype(V.dtype)


def _settled_halves(F: Features, cluster: Labels, side: Array, k: int) -> dict[int, Cut]:
    """The steps of `settled` for the two sides of each cluster, which see no other.

    A cluster that stands still leaves.
    """
    found: dict[int, Cut] = {}
    dtype = F.along.dtype
    half = 2 * cluster + side
    shares = (1 / np.sqrt(np.bincount(half)[half])).astype(dtype)
    for turn in range(_HALVING_STEPS):
        half = 2 * cluster + side
        sums = weighed_sums(half, shares, 2 * k, F.along)
        alone = np.bincount(half, F.beside * np.square(shares), 2 * k)
        explained = np.einsum("ij,ij->i", sums, sums, dtype=np.float64) + alone
        root = np.sqrt(np.maximum(explained, _TINY)).astype(dtype)
        sums /= root[:, None]
        own, other = (np.einsum("ij,ij->i", F.along, sums[h]) for h in (half, half ^ 1))
        own += F.beside * shares / root[half]
        moves = np.where(side, other >= own, other > own)  # the first of two that are as good
        if turn > 1 or turn == _HALVING_STEPS - 1:
            still = np.bincount(cluster, moves, k) == 0
            ended = (still | (turn == _HALVING_STEPS - 1))[cluster]
            for c in np.unique(cluster[ended]):
                total = float(explained[2 * c] + explained[2 * c + 1])
                found[int(c)] = Cut(total, side[cluster == c])
            if ended.all():
                break
        else:
            ended = np.zeros(len(side), bool)
        side = side ^ moves
        half = half ^ moves
        shares = np.maximum(np.where(moves, other, own), 0) / root[half]
        length = np.sqrt(np.bincount(half, np.square(shares), 2 * k))
        shares /= np.where(length > 0, length, 1).astype(dtype)[half]
        if ended.any():
            F, cluster, side, shares = F[~ended], cluster[~ended], side[~ended], shares[~ended]
    return found


def members_of(labels: Labels, k: int) -> list[Array]:
    """Who is in each cluster."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, k)))
