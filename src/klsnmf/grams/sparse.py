"""K as a sparse matrix: most pairs of samples have nothing in common."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import Array
from ..threads import allowed_threads, side_by_side
from .base import Gram, Order, multiply_wide

#: Neighbours of a sample, at most, where an order of the samples is looked for.
_MOST_NEIGHBORS = 10_000

#: A thread more is worth its start for this many products of two numbers, about a millisecond.
_PRODUCTS_PER_THREAD = 5e6


class SparseGram(Gram):
    """A symmetric sparse K of shape (n, n), in CSR form."""

    order = "C"

    def __init__(self, K: sparse.csr_array) -> None:
        self.K = K
        self.shape = (K.shape[0], K.shape[0])
        self.dtype = K.dtype
        self.flops = 2.0 * K.nnz
        self.diagonal = K.diagonal()
        least, most = float(K.data.min(initial=0)), float(K.data.max(initial=0))
        self.largest = max(-least, most)
        self.nonnegative = least >= 0

    def multiply(self, V: Array, out: Array) -> None:
        multiply_wide(lambda wide: times(self.K, wide), V, out)

    def column(self, i: int) -> Array:
        # K is symmetric: its row i is its column i, and rows are what CSR stores.
        column = np.zeros(self.shape[0], self.dtype)
        row = slice(self.K.indptr[i], self.K.indptr[i + 1])
        column[self.K.indices[row]] = self.K.data[row]
        return column

    def square_sums(self, weights: Array) -> Array:
        return np.asarray(self.K.power(2) @ weights)

    @cached_property
    def positive(self) -> SparseGram:
        return self if self.nonnegative else SparseGram(self.K.maximum(0).tocsr())

    def reordered(self) -> tuple[Gram, Order, Order]:
        # The order takes the square of the neighbours of a sample as time: no hubs.
        if self.K.nnz and np.diff(self.K.indptr).max() > _MOST_NEIGHBORS:
            return super().reordered()
        order = csgraph.reverse_cuthill_mckee(self.K, symmetric_mode=True)
        back = np.empty_like(order)
        back[order] = np.arange(len(order), dtype=order.dtype)
        return SparseGram(self.K[order][:, order]), order, back

    def smallest_distance(self) -> float:
        # Where K_ij is not stored, D_ij = d_i + d_j: only the smallest d matters there.
        d = self.diagonal
        stored = self.K.tocoo()
        stored_least = float((d[stored.row] + d[stored.col] - 2 * stored.data).min(initial=0))
        least = min(stored_least, 2 * float(d.min()))
        return least / self.largest if self.largest else 0.0

    def asymmetry(self) -> float:
        """The largest |K_ij - K_ji| relative to ``largest``."""
        most = float(np.abs((self.K - self.K.T).data).max(initial=0))
        return most / self.largest if self.largest else 0.0


def times(K: sparse.csr_array, V: Array) -> Array:  # (m, n), (n, k) -> (m, k)
    """K @ V; scipy multiplies on one thread, so parts of the rows are given a thread each."""
    useful = 1 + int(K.nnz * V.shape[1] // _PRODUCTS_PER_THREAD)
    threads = min(useful, allowed_threads().get("blas", 1))
    if threads == 1:
        return np.asarray(K @ V)
    out = np.empty((K.shape[0], V.shape[1]), np.result_type(K, V))

    def work(part: tuple[slice, sparse.csr_array]) -> None:
        rows, matrix = part
        out[rows] = matrix @ V

    side_by_side(work, row_parts(K, threads))
    return out


def row_parts(K: sparse.csr_array, count: int) -> list[tuple[slice, sparse.csr_array]]:
    """Some rows each, with about as many entries; views, no copies."""
    aims = np.linspace(0, K.nnz, count + 1)[1:-1]
    edges = [0, *np.searchsorted(K.indptr, aims).tolist(), K.shape[0]]
    parts = []
    for start, stop in pairwise(edges):
        first, last = K.indptr[start], K.indptr[stop]
        entries = K.data[first:last], K.indices[first:last], K.indptr[start : stop + 1] - first
        parts.append(
            (slice(start, stop), sparse.csr_array(entries, shape=(stop - start, K.shape[1])))
        )
    return parts
