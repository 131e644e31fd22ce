"""Links weighed by shared neighbours, pair by pair."""

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
