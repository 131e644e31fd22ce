"""Walks on a graph, written out: matrices of all pairs, sums one by one."""

import numpy as np


def steps(K, t):
    """Sᵗ by all eigenvectors; those of negative eigenvalues are left out."""
    root = 1 / np.sqrt(K.sum(axis=1))
    values, U = np.linalg.eigh(root[:, None] * K * root)
    return (U * np.maximum(values, 0) ** t) @ U.T


def crossings(K, labels, k, t):
    """P(in r now, in s after t steps) of a walk that has gone on for ever."""
    degrees = K.sum(axis=1)
    share = degrees / degrees.sum()
    walk = np.sqrt(share)[:, None] * steps(K, t) * np.sqrt(share)
    p = np.zeros((k, k))
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            p[a, b] += walk[i, j]
    p = np.maximum(p, 0)
    return p / p.sum()


def lost(K, labels, k, t):
    p = crossings(K, labels, k, t)
    return (k - sum(p[c, c] / p[c].sum() for c in range(k))) / (k - 1)


def information(K, labels, k, t):
    p = crossings(K, labels, k, t)
    r = p.sum(axis=1)
    each = [(a, b) for a in range(k) for b in range(k) if p[a, b] > 0]
    return sum(p[a, b] * np.log(p[a, b] / (r[a] * r[b])) for a, b in each)


def joined_cost(K, labels, a, b):
    """What is no longer explained when two clusters become one."""
    blocks = [labels == a, labels == b, (labels == a) | (labels == b)]
    one, two, both = (np.linalg.eigvalsh(K[np.ix_(s, s)])[-1] for s in blocks)
    return one + two - both


def halves(F, own, p, steps, directions):
    """A cluster in two: what both explain after exact steps, and who is in the second.

    F has a row for each sample, ``own`` what each has with itself beside; p is the direction beside
    which the widest one is looked for, from the furthest sample. Where several are as far, rounding
    decides between them: there is an answer for each.
    """
    p = p / np.linalg.norm(p)
    beside = F - np.outer(F @ p, p)
    lengths = np.array([row @ row for row in beside])
    furthest = np.flatnonzero(lengths >= lengths.max() * (1 - 1e-9))
    return [_halves(F, own, beside, beside[first], steps, directions) for first in furthest]


def _halves(F, own, beside, direction, steps, directions):
    place = beside @ direction
    for _ in range(directions):
        place = beside @ (beside.T @ place)
        place = place / np.linalg.norm(place)
    side = (place > 0).astype(int)
    g = np.array([1 / np.sqrt(np.sum(side == s)) for s in side])
    for turn in range(steps):
        sums = [F[side == s].T @ g[side == s] for s in (0, 1)]
        explained = [sums[s] @ sums[s] + own[side == s] @ g[side == s] ** 2 for s in (0, 1)]
        near = np.array([F @ sums[s] / np.sqrt(explained[s]) for s in (0, 1)]).T
        for i, s in enumerate(side):
            near[i, s] += own[i] * g[i] / np.sqrt(explained[s])
        new = near.argmax(axis=1)
        if turn == steps - 1 or (turn > 1 and (new == side).all()):
            break
        side = new
        g = np.array([max(near[i, s], 0) / np.sqrt(explained[s]) for i, s in enumerate(side)])
        for s in (0, 1):
            g[side == s] /= np.linalg.norm(g[side == s]) or 1
    return sum(explained), side == 1


def ends(K, labels, k, t):
    """The chance that a walk from i is in cluster c after t steps."""
    walk = np.linalg.matrix_power(K / K.sum(axis=1, keepdims=True), round(t))
    return np.array([[row[labels == c].sum() for c in range(k)] for row in walk])


def between(p, labels, a):
    """The share of the samples of a that are a third of the way to another cluster, by medians."""
    way = set()
    for b in set(labels) - {a}:
        place = p[:, b] / np.maximum(p[:, a] + p[:, b], 1e-300)
        here, there = (np.median(place[labels == c]) for c in (a, b))
        for i in np.flatnonzero(labels == a):
            if there > here and place[i] - here > (there - here) / 3:
                way.add(int(i))
    return len(way) / (labels == a).sum()


def without_background(p):
    """Less what the quietest quarter of the pairs of clusters exchange, by the time spent there."""
    r, k = p.sum(axis=1), len(p)
    shares = sorted(p[a, b] / (r[a] * r[b]) for a in range(k) for b in range(a))
    quiet = shares[(len(shares) - 1) // 4]
    return np.array([[max(p[a, b] - quiet * r[a] * r[b], 0) for b in range(k)] for a in range(k)])
