"""Nearest-neighbour graphs, and values on their edges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from ..core.types import Array, Matrix
from ..grams.graph import Graph

#: Numbers held at once while something is computed pair by pair.
_BLOCK = 2**23

#: What a search for neighbours may take for distances; scikit-learn would take 1024.
_MEGABYTES = 128

#: Neighbours looked at beyond those asked for, and the relative difference that is a tie.
SURPLUS = 8
TIE = 1e-5


def how_many_neighbors(n: int, k: int | None) -> int:
    """n_neighbors="auto": 10, but no more than half a cluster of average size, and at least 3.

    Of n/k samples in a cluster, each has at most n/k - 1 others; what goes beyond them links
    clusters.
    """
    return 10 if k is None else max(3, min(10, n // (2 * k)))


def neighbor_indices(
    X: Matrix, n_neighbors: int, *, approximate: bool = False
) -> NDArray[np.intp]:  # (n, m)
    """The nearest other samples of each sample, nearest first; exact unless told otherwise.

    There are fewer than ``n_neighbors`` columns when there are not that many other samples.
    """
    n = X.shape[0]
    m = min(n_neighbors, n - 1)
    if m == 0:
        return np.empty((n, 0), dtype=np.intp)
    if approximate:
        return _approximate_indices(X, m)
    with config_context(working_memory=_MEGABYTES):
        found: NDArray[np.intp] = NearestNeighbors(n_neighbors=m).fit(X).kneighbors(None, m, False)
    return found


def _approximate_indices(X: Matrix, m: int) -> NDArray[np.intp]:  # (n, m)
    """Nearly always the nearest, in a time that grows hardly faster than n."""
    from pynndescent import NNDescent  # an extra, and slow to import

    with warnings.catch_warnings():
        # Samples that it finds too few neighbours of have a number below zero for the others.
        warnings.filterwarnings("ignore", "Failed to correctly find", UserWarning)
        found, _ = NNDescent(X, n_neighbors=m + 1, random_state=0).neighbor_graph
    found = found.astype(np.intp)
    lost = np.flatnonzero((found < 0).any(axis=1))
    if lost.size:
        exact = NearestNeighbors(n_neighbors=m + 1).fit(X)
        found[lost] = exact.kneighbors(X[lost], return_distance=False)
    # A sample is its own neighbour, first as a rule; where duplicates hide it, the last one goes.
    itself = found == np.arange(len(found))[:, None]
    itself[:, -1] |= ~itself.any(axis=1)
    return np.asarray(found[~itself].reshape(len(found), m))


def nearest(
    X: Matrix,
    n_neighbors: int,
    *,
    approximate: bool = False,
    find: Callable[[int], NDArray[np.intp]] | None = None,
) -> tuple[NDArray[np.intp], Array]:  # (n, m), (n, m)
    """The nearest other samples of each sample, some more than asked for, and squared distances.

    Sorted by distances computed exactly; the surplus is for those that tie with the last. Data of
    few distinct values have many of them: the search goes on until none is left out, or there are
    too many to hold. ``find`` is another search, given the number of neighbours.
    """
    n, surplus = X.shape[0], SURPLUS
    find = find or partial(neighbor_indices, X, approximate=approximate)
    while True:
        found = find(n_neighbors + surplus)
        rows = np.repeat(np.arange(n), found.shape[1])
        d2 = squared_distances(X, rows, X, found.ravel()).reshape(found.shape)
        order = np.argsort(d2, axis=1, kind="stable")
        found, d2 = (np.take_along_axis(each, order, axis=1) for each in (found, d2))
        more = np.any(d2[:, -1] <= reach_of(d2, n_neighbors)) and found.shape[1] < n - 1
        surplus *= 4
        if not more or n * (n_neighbors + surplus) > _BLOCK:
            return found, d2


def reach_of(d2: Array, n_neighbors: int) -> Array:  # (n, m), sorted -> (n,)
    """The squared distance within which neighbours are kept: the last one's, and a bit.

    In data of few distinct values many neighbours are equally far, but for rounding. All that
    tie with the last are kept, so that neither rounding nor the order of samples decides.
    """
    return d2[:, min(n_neighbors, d2.shape[1]) - 1] * (1 + TIE)


def undirected_pairs(
    neighbors: NDArray[np.intp], kept: NDArray[np.bool_] | None = None
) -> tuple[Array, Array]:  # (pairs,), (pairs,)
    """Each pair i < j once, where j is among the (kept) neighbours of i or the reverse."""
    n, m = neighbors.shape
    i, j = np.repeat(np.arange(n), m), neighbors.ravel()
    if kept is not None:
        i, j = i[kept.ravel()], j[kept.ravel()]
    keys = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    return keys // n, keys % n


def symmetric(i: Array, j: Array, values: Array, diagonal: Array) -> sparse.csr_array:
    """The symmetric sparse matrix with these values at (i, j) and (j, i), and this diagonal."""
    n = len(diagonal)
    each = np.arange(n)
    entries = np.concatenate([values, values, diagonal])
    places = np.concatenate([i, j, each]), np.concatenate([j, i, each])
    matrix = sparse.csr_array((entries, places), shape=(n, n))
    matrix.eliminate_zeros()
    return matrix


def squared_distances(X: Matrix, i: Array, Y: Matrix, j: Array) -> Array:  # (pairs,)
    """‖x_i - y_j‖², pair by pair.

    Computed from the differences: zero for duplicates, where the usual
    ‖x_i‖² + ‖y_j‖² - 2⟨x_i, y_j⟩ leaves rounding errors.
    """
    return _by_pairs(lambda a, b: _row_sums(*2 * (a - b,)), X, i, Y, j)


def inner_products(X: Matrix, i: Array, Y: Matrix, j: Array) -> Array:  # (pairs,)
    """⟨x_i, y_j⟩, pair by pair."""
    return _by_pairs(_row_sums, X, i, Y, j)


def _row_sums(A: Any, B: Any) -> Array:
    """The sums of the rows of A ∘ B."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(B).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, B))


def _by_pairs(function: Callable[[Any, Any], Array], X: Any, i: Array, Y: Any, j: Array) -> Array:
    step = max(1, _BLOCK // X.shape[1])
    values = np.empty(len(i), X.dtype)
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        values[part] = function(X[i[part]], Y[j[part]])
    return values


def binary_graph(X: Matrix, n_neighbors: int, *, approximate: bool = False) -> Graph:
    """Weight 1 where one sample is among the nearest of the other, else 0."""
    i, j = undirected_pairs(neighbor_indices(X, n_neighbors, approximate=approximate))
    return Graph(symmetric(i, j, np.ones(len(i), X.dtype), np.zeros(X.shape[0], X.dtype)))
