"""The samples themselves as a matrix of products: X and Xᵀ."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.types import Array, Matrix
from .base import Operator


class Data(Operator):
    """A matrix of shape (n, p), dense or in CSR form. It is neither copied nor changed."""

    def __init__(self, X: Matrix) -> None:
        self.X = canonical(X) if sparse.issparse(X) else X
        self.shape = (X.shape[0], X.shape[1])
        self.dtype = X.dtype
        self.order = "C" if self.is_sparse else "F"
        self.flops = 2.0 * self.values.size

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def values(self) -> Array:
        """The entries that are stored."""
        return self.X.data if sparse.issparse(self.X) else self.X

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return bool(self.values.min(initial=0) >= 0)

    @cached_property
    def T(self) -> Data:
        return Data(self.X.T)

    def in_single_precision(self) -> Data:
        """A copy in float32; itself if it is that already, or sparse, or if there is no room.

        Products with a sparse matrix take the time of its indices, whatever the precision.
        """
        if self.dtype == np.float32 or self.is_sparse or not memory.fits(self.values.nbytes / 2):
            return self
        return Data(self.X.astype(np.float32))

    def multiply(self, V: Array, out: Array) -> None:
        if self.is_sparse:
            for block, product in zip(V, out, strict=True):
                product[...] = self.X @ np.ascontiguousarray(block)
            return
        # (XV)ᵀ = VᵀXᵀ: in this order every fit's block is contiguous, and one product serves all.
        fits, p, k = V.shape
        np.matmul(V.mT.reshape(fits * k, p), self.X.T, out=out.mT.reshape(fits * k, self.shape[0]))

    @cached_property
    def square_sum(self) -> float:
        """‖X‖², added up in float64."""
        return float(np.einsum("i,i->", *2 * (self.values.ravel(order="K"),), dtype=np.float64))

    @cached_property
    def row_square_sums(self) -> Array:  # (n,)
        """‖x_i‖²."""
        if sparse.issparse(self.X):
            # What overflows is infinite, as in the sum below: checks say it in words.
            with np.errstate(over="ignore"):
                return np.asarray(self.X.power(2).sum(axis=1), self.dtype).ravel()
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))


def filled_share(X: Matrix) -> float:
    """The share of the entries that are stored; all of an array are."""
    return X.nnz / max(X.shape[0] * X.shape[1], 1) if sparse.issparse(X) else 1.0


def canonical(X: Matrix) -> sparse.csr_array:
    """X in CSR form with every entry stored once: its squares would be wrong otherwise."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
