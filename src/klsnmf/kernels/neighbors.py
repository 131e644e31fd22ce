"""Nearest-neighbour graphs, and values on their edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core.arithmetic import all_distances, centred
from ..core.arrays import slices, smallest, to_host
from ..core.types import Array, Matrix
from ..grams.graph import Graph
from .cells import COMPARED, Cells
from .crowds import crowds_of, nearest_in_crowds
from .search import (
    TIE,
    Search,
    nearest_others,
    search_among,
    sorted_exactly,
)

#: How many numbers are in memory while something is computed pair by pair.
_BLOCK = 2**23

#: How many more neighbours are searched than asked for.
SURPLUS = 8


def how_many_neighbors(n: int, k: int | None) -> int:
    """n_neighbors="auto": 10, but no more than half a cluster of average size, and at least 3.

    In a cluster of n/k samples, each has at most n/k - 1 others. Further neighbours would link
    clusters.
    """
    return 10 if k is None else max(3, min(10, n // (2 * k)))


def neighbor_indices(
    X: Matrix, n_neighbors: int, *, approximate: bool = False
) -> NDArray[np.intp]:  # (n, m)
    """The nearest other samples of each sample, nearest first; exact by default.

    There are fewer than ``n_neighbors`` columns if there are not so many other samples.
    """
    n = X.shape[0]
    m = min(n_neighbors, n - 1)
    if m == 0:
        return np.empty((n, 0), dtype=np.intp)
    if approximate:
        return _in_cells(X, m)[0]
    return nearest_others(X, np.arange(n), m)[0]


def nearest(
    X: Matrix,
    n_neighbors: int,
    *,
    approximate: bool = False,
    find: Callable[[int], NDArray[np.intp]] | None = None,
    search: Search | None = None,
    told: Callable[[Cells], None] | None = None,
) -> tuple[NDArray[np.intp], Array]:  # (n, m), (n, m)
    """The nearest other samples of each sample, some more than asked for, and squared distances.

    They are sorted by exact distances. The further ones are for ties with the last. Data of few
    distinct values have many ties: for such samples the search goes on until none is left out, or
    until there are too many for memory. The other samples have infinitely far neighbours in these
    columns. If very many samples are equal, each keeps some of its equals.
    ``find`` is another search, which gets the number of neighbours. ``search`` is a search among X
    that has already begun. ``told`` gets the cells of an approximate search.
    """
    search = search or search_among(X)
    n, surplus, alone = X.shape[0], SURPLUS, find is None
    m = min(n_neighbors + surplus, n - 1)
    if find:
        found, d2 = sorted_exactly(X, X, find(m))
    elif approximate:
        found, d2 = _in_cells(X, m, told)
    else:
        found, d2 = search(np.arange(n), m)
    equal = np.flatnonzero((d2[:, -1:] == 0).any(axis=1))
    if alone and equal.size and (crowds := crowds_of(X, equal, 2 + found.shape[1])):

        def among(some: NDArray[np.intp]) -> tuple[Array, Array]:
            return nearest(X[some], n_neighbors, approximate=approximate)

        return nearest_in_crowds(n, crowds, 1 + found.shape[1], among)
    while found.shape[1] < n - 1:
        surplus *= 4
        rows = np.flatnonzero(d2[:, -1] <= reach_of(d2, n_neighbors))
        if not rows.size or n * (n_neighbors + surplus) > _BLOCK:
            break
        sorted_rows, distances = search(rows, min(n_neighbors + surplus, n - 1))
        beyond = ((0, 0), (0, distances.shape[1] - d2.shape[1]))
        found, d2 = np.pad(found, beyond, "edge"), np.pad(d2, beyond, constant_values=np.inf)
        found[rows], d2[rows] = sorted_rows, distances
    return found, d2


def _in_cells(
    X: Matrix, m: int, told: Callable[[Cells], None] | None = None
) -> tuple[NDArray[np.intp], Array]:  # (n, m), (n, m)
    """The nearest that cells hold. They have a copy of X, which ends with the search."""
    cells = Cells(X, m, compared=COMPARED)
    if told is not None:
        told(cells)
    return cells.nearest_others()


def nearest_distances(X: Matrix, m: int) -> Array:  # (n, p) -> (n, m), on the host
    """Squared distances of each sample to the m nearest others, sorted, by all distances."""
    X = centred(X, X)
    n = X.shape[0]
    found = (
        to_host(smallest(all_distances(X[rows, :], X), m + 1)) for rows in slices(n, _BLOCK // n)
    )
    # The first is the sample itself, or as good as that.
    return np.concatenate(list(found))[:, 1:]


def reach_of(d2: Array, n_neighbors: int) -> Array:  # (n, m), sorted -> (n,)
    """The squared distance within which neighbours are kept: the last one's, and a bit.

    In data of few distinct values, many neighbours are equally far, up to rounding. All ties with
    the last neighbour are kept, so that neither rounding nor the order of samples decides.
    """
    return d2[:, min(n_neighbors, d2.shape[1]) - 1] * (1 + TIE)


def undirected_pairs(
    neighbors: NDArray[np.intp], kept: NDArray[np.bool_] | None = None
) -> tuple[Array, Array, Array]:  # (pairs,) each
    """Each pair i < j once, where j is among the (kept) neighbours of i or the reverse.

    It also returns the place of each pair among all that are kept.
    """
    n, m = neighbors.shape
    i, j = np.repeat(np.arange(n), m), neighbors.ravel()
    if kept is not None:
        i, j = i[kept.ravel()], j[kept.ravel()]
    keys, places = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True)
    return keys // n, keys % n, places


def symmetric(i: Array, j: Array, values: Array, diagonal: Array) -> sparse.csr_array:
    """The symmetric sparse matrix with these values at (i, j) and (j, i), and this diagonal."""
    n = len(diagonal)
    each = np.arange(n)
    entries = np.concatenate([values, values, diagonal])
    places = np.concatenate([i, j, each]), np.concatenate([j, i, each])
    matrix = sparse.csr_array((entries, places), shape=(n, n))
    matrix.eliminate_zeros()
    return matrix


def binary_graph(X: Matrix, n_neighbors: int, *, approximate: bool = False) -> Graph:
    """Weight 1 if one sample is among the nearest of the other, and 0 otherwise."""
    i, j, _ = undirected_pairs(neighbor_indices(X, n_neighbors, approximate=approximate))
    return Graph(symmetric(i, j, np.ones(len(i), X.dtype), np.zeros(X.shape[0], X.dtype)))
