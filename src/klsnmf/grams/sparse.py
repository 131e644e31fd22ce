"""K as a sparse matrix: most pairs of samples have nothing in common."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from .._typing import Array
from .base import Gram


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
        for block, product in zip(V, out, strict=True):
            product[...] = self.K @ np.ascontiguousarray(block)

    def column(self, i: int) -> Array:
        # K is symmetric: its row i is its column i, and rows are what CSR stores.
        column = np.zeros(self.shape[0], self.dtype)
        row = slice(self.K.indptr[i], self.K.indptr[i + 1])
        column[self.K.indices[row]] = self.K.data[row]
        return column

    @cached_property
    def positive(self) -> SparseGram:
        return self if self.nonnegative else SparseGram(self.K.maximum(0).tocsr())

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
