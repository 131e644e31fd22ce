"""Links weighed by shared neighbours and by density, pair by pair."""

import numpy as np


def shared(A, B):
    """|A ∩ B| / |A ∪ B|."""
    return len(A & B) / len(A | B)


def weighed(k, K):
    """k ∘ J²: rows k of samples, old or new, that are linked with the samples of K."""
    linked = [set(np.flatnonzero(row > 0)) for row in K]
    out = np.zeros_like(k)
    for i, row in enumerate(k):
        own = set(np.flatnonzero(row > 0))
        for j in own:
            out[i, j] = row[j] * shared(own, linked[j]) ** 2
    return out


def by_density(k, r_rows, r, usual):
    """k times the density at both ends: 1/r² in units of the usual radius, at most 16 times more
    or less."""
    out = np.zeros_like(k)
    for i, j in np.ndindex(k.shape):
        ends = [min(max(usual / radius, 1 / 4), 4) ** 2 for radius in (r_rows[i], r[j])]
        out[i, j] = k[i, j] * ends[0] * ends[1]
    return out


def copies(X):
    """The first sample of each kind, and for each sample the place of its kind."""
    first = [next(j for j in range(len(X)) if (X[i] == X[j]).all()) for i in range(len(X))]
    distinct = sorted(set(first))
    return np.array(distinct), np.array([distinct.index(i) for i in first])


def spread(K, which):
    """K between distinct samples, for all samples."""
    n = len(which)
    return np.array([[K[which[i], which[j]] for j in range(n)] for i in range(n)])
