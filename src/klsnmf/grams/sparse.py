"""K as a sparse matrix: most pairs of samples have nothing in common."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..core.products import times
from ..core.types import Array
from .base import Gram, Order, inverse_root, multiply_wide

#: Neighbours of a sample, at most, where an order of the samples is looked for.
_MOST_NEIGHBORS = 10_000


class SparseGram(Gram):
    """A symmetric sparse K of shape (n, n), in CSR form."""

    order = "C"
    stored = True

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

    def entries(self) -> sparse.csr_array:
        return self.K

    def normalized(self, *, formed: bool = True) -> tuple[sparse.csr_array, Array]:
        degrees = np.asarray(self.K.sum(axis=1)).ravel()
        scale = sparse.diags_array(inverse_root(degrees.astype(self.dtype))[:, 0])
        return (scale @ self.K @ scale).tocsr(), degrees

    def without_strangers(self, fewest: int, least: float) -> Gram:
        S = sparse.csr_array(self.normalized()[0])
        S.data[S.data < least] = 0
        S.eliminate_zeros()
        _, piece = csgraph.connected_components(S, directed=False)
        kept = np.bincount(piece)[piece] >= fewest
        if kept.all() or not kept.any():
            return self
        return SparseGram(sparse.csr_array(self.K[kept][:, kept]))

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
