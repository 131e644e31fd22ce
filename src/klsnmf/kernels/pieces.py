"""Which separate pieces of a graph belong together, if there are more pieces than clusters.

No walk leads from piece to piece, so the graph cannot tell which are near. The samples can. Were
there links between two pieces of a and b samples at a distance d, a walk would forget in which of
the two it began after a time that goes with

    d² ab / (a + b):

twice the distance takes four times as long, and the way out of a larger piece is found later. So
the two pieces for which this is smallest are joined, then the next two, until as many are left as
there are clusters. d is the distance between the two nearest samples.

Small pieces far from all others would stay separate for long. If there are enough much larger
pieces, the small ones are outliers rather than clusters, and join their nearest piece first.
"""

from __future__ import annotations

import numpy as np

from ..core.arithmetic import all_distances
from ..core.types import Array, Labels, Matrix

#: A piece is small if at least k pieces have more than so many times its samples.
_LARGER = 3

#: At most so many pieces are compared with each other, the largest; all others are small.
_MOST_PIECES = 512

#: How many samples represent their pieces, in all, and at least for each piece.
_ASKED = 4096
_FEWEST = 8


def joined(X: Matrix, piece: Labels, k: int) -> Labels:  # (n, p), (n,) -> (n,)
    """Pieces, numbered from 0, joined to k groups; unchanged if there are no more than k."""
    sizes = np.bincount(piece)
    if len(sizes) <= k:
        return piece
    order = np.argsort(-sizes, kind="stable")
    is_large = _LARGER * sizes[order] >= sizes[order[k - 1]]
    is_large[_MOST_PIECES:] = False
    is_large[:k] = True
    large, small = order[is_large], order[~is_large]
    samples = _samples_of_each(piece, max(_FEWEST, _ASKED // len(large)))
    group = np.empty(len(sizes), np.intp)
    group[large] = np.arange(len(large))
    if small.size:
        group[small] = _distances(X, samples, small, large).argmin(axis=1)
    among = _distances(X, samples, large, large)
    group = _joined(among, np.bincount(group, weights=sizes), k)[group]
    return np.asarray(group[piece])


def _joined(d2: Array, sizes: Array, k: int) -> Labels:  # (c, c), (c,) -> (c,)
    """Pieces joined two by two, until k are left."""
    group = np.arange(len(sizes))
    np.fill_diagonal(d2, np.inf)
    for _ in range(len(sizes) - k):
        time = d2 * (sizes[:, None] * sizes / (sizes[:, None] + sizes))
        a, b = np.unravel_index(time.argmin(), time.shape)
        group[group == b] = a
        d2[a] = d2[:, a] = np.minimum(d2[a], d2[b])
        d2[b] = d2[:, b] = d2[a, a] = np.inf
        sizes[a] += sizes[b]
    return np.unique(group, return_inverse=True)[1]


def _samples_of_each(piece: Labels, most: int) -> list[Labels]:  # (n,)
    """For each piece at most so many of its samples, drawn at random."""
    mixed = np.random.RandomState(0).permutation(len(piece))
    mixed = mixed[np.argsort(piece[mixed], kind="stable")]
    return [some[:most] for some in np.split(mixed, np.cumsum(np.bincount(piece))[:-1])]


def _distances(X: Matrix, samples: list[Labels], of: Labels, to: Labels) -> Array:
    """Squared distances between the nearest samples of pieces: (len(of), len(to))."""
    others = np.concatenate([samples[b] for b in to])
    begins = np.cumsum([0, *(len(samples[b]) for b in to[:-1])])
    Y = X[others]
    found = [np.minimum.reduceat(all_distances(X[samples[a]], Y).min(axis=0), begins) for a in of]
    return np.array(found, np.float64)
