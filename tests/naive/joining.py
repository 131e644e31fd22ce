"""Separate pieces joined to groups, and the walk on them, written slowly."""

import numpy as np


def joined(X, piece, k, larger=3):
    """Small pieces join their nearest, then those that a walk would confuse first: (n,) labels."""
    label = np.array(piece)
    sizes = np.bincount(piece)
    kth = np.sort(sizes)[::-1][k - 1]
    large = [c for c in range(len(sizes)) if larger * sizes[c] >= kth]

    def d2(a, b):  # of the nearest two samples that were in these pieces at the beginning
        return min(np.square(x - y).sum() for x in X[piece == a] for y in X[piece == b])

    distance = {(a, b): d2(a, b) for a in range(len(sizes)) for b in range(len(sizes)) if a != b}
    home = {c: c for c in large}
    for c in range(len(sizes)):
        if c not in large:
            home[c] = min(large, key=lambda b: distance[c, b])
    label = np.array([home[c] for c in piece])

    def time(a, b):
        near = min(distance[x, y] for x in large for y in large if (top[x], top[y]) == (a, b))
        n_a, n_b = (label == a).sum(), (label == b).sum()
        return near * n_a * n_b / (n_a + n_b)

    top = {c: c for c in large}
    while len(names := sorted(set(top.values()))) > k:
        a, b = min(((a, b) for a in names for b in names if a < b), key=lambda two: time(*two))
        label[label == b] = a
        top = {c: a if t == b else t for c, t in top.items()}
    return label


def walk_on_groups(K, piece, group):
    """S, but within a group no walk remembers the piece in which it began: (n, n)."""
    degrees = K.sum(axis=1)
    S = K / np.sqrt(np.outer(degrees, degrees))
    for part, sign in ((piece, -1), (group, 1)):
        for c in np.unique(part):
            v = np.where(part == c, np.sqrt(degrees), 0.0)
            v /= np.linalg.norm(v)
            S = S + sign * np.outer(v, v)
    return S
