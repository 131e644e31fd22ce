"""Very many equal samples, called a crowd: each is linked to some of the others, not to all.

All of them are nearest neighbours of each other, and keeping every tie would mean a matrix of all
pairs. Instead, the samples of a crowd stand in a circle, and each is linked to those that are
certain numbers of steps away. The numbers are drawn at random and are the same for all. Such a
graph is as good as one of all pairs: its second eigenvalue is far below the first, so that the
crowd stays together [AR94]_.

.. [AR94] Noga Alon, Yuval Roichman. *Random Cayley graphs and expanders*. Random Structures and
   Algorithms 5 (1994), 271-284.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..core.arithmetic import canonical
from ..core.types import Array, Labels, Matrix

#: Equals that each sample of a crowd has: with those that have it, twice as many. The second
#: eigenvalue of ten thousand is about 0.7 of the first then.
_EQUALS = 16

#: A number without a common divisor with most others, which spreads places over a round.
_SPREAD = 2654435761


def crowds_of(X: Matrix, rows: Labels, least: int) -> list[Labels]:
    """The places of equal samples among these rows, for each group of at least this size."""
    if sparse.issparse(X):
        together = defaultdict(list)
        some = canonical(X[rows])
        for i, (start, end) in enumerate(zip(some.indptr[:-1], some.indptr[1:], strict=True)):
            parts = some.indices[start:end].tobytes(), some.data[start:end].tobytes()
            together[parts].append(rows[i])
        groups = [np.array(members) for members in together.values()]
    else:
        some = np.ascontiguousarray(X[rows] + 0.0)  # so that zero has one sign
        keys = some.view(np.dtype((np.void, some.itemsize * some.shape[1]))).ravel()
        _, inverse = np.unique(keys, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        groups = np.split(rows[order], np.cumsum(np.bincount(inverse))[:-1])
    return [members for members in groups if len(members) >= least]


def nearest_in_crowds(
    n: int, crowds: list[Labels], count: int, search: Callable[[Labels], tuple[Array, Array]]
) -> tuple[Array, Array]:  # (n, m), (n, m)
    """Neighbours and squared distances where there are crowds of more than ``count`` samples.

    ``search`` finds them among some of the samples, given by their places: all except those of
    crowds, of which so many stand for the rest that nobody needs more.
    """
    crowd, rank = np.full(n, -1), np.zeros(n, np.intp)
    for c, members in enumerate(crowds):
        crowd[members], rank[members] = c, np.arange(len(members))
    some = np.flatnonzero((crowd < 0) | (rank < count))
    places, distances = search(some)
    width = max(places.shape[1], count)
    found = np.zeros((n, width), np.intp)
    d2 = np.full((n, width), np.inf, distances.dtype)
    found[some, : places.shape[1]], d2[some, : places.shape[1]] = some[places], distances
    sizes = np.array([len(members) for members in crowds])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    everyone = np.concatenate(crowds)
    # Who is near a crowd has others of it than the next one: nobody is everyone's neighbour.
    inside = crowd[found] >= 0
    whose = crowd[found[inside]]
    shift = np.broadcast_to((np.arange(n) * _SPREAD)[:, None], found.shape)[inside]
    found[inside] = everyone[starts[whose] + (rank[found[inside]] + shift) % sizes[whose]]
    for members in crowds:
        g = len(members)
        steps = 1 + np.random.RandomState(0).permutation(g - 1)[:_EQUALS]
        steps = np.resize(steps, count)  # a link that is there twice is one
        found[members, :count] = members[(np.arange(g)[:, None] + steps) % g]
        found[members, count:] = found[members, count - 1 : count]
        d2[members, :count], d2[members, count:] = 0, np.inf
    return found, d2
