"""K as an array in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.arrays import cast, namespace, on_host, slices
from ..core.products import times
from ..core.types import Array
from .base import Gram

#: What to do where K fits, and K⁺ beside it does not.
_FEWER = (
    "A kernel with negative entries needs it too: set n_neighbors for a sparse kernel, or "
    'gram="low-rank" or "tiled", where there are such parameters, or fit a part of the rows.'
)

#: Entries looked at together when K is checked: no temporary array of K's size.
_BLOCK = 2**20

#: A stack with fewer than one entry in so many is multiplied as a sparse matrix: it takes as long
#: where there is one entry in 10 to 19.
_SPARSE = 20


class DenseGram(Gram):
    """A symmetric array K of shape (n, n). K is neither copied nor changed."""

    order = "F"

    def __init__(self, K: Array) -> None:
        # K is symmetric, so its transpose serves when that is the contiguous one.
        self.K = K.T if K.flags.f_contiguous else np.ascontiguousarray(K)
        self.shape = (K.shape[0], K.shape[0])
        self.dtype = K.dtype
        self.flops = 2.0 * K.size
        self.diagonal = K.diagonal().copy()
        least, most = float(K.min()), float(K.max())
        self.largest = max(-least, most)
        self.nonnegative = least >= 0

    def multiply(self, V: Array, out: Array) -> None:
        # (KV)ᵀ = VᵀK: in this order every fit's block is contiguous, and one product serves all.
        fits, n, k = V.shape
        wide, product = V.mT.reshape(fits * k, n), out.mT.reshape(fits * k, n)
        # An exact G has one entry a row: its product is a sum of rows of K for each cluster.
        if _SPARSE * np.count_nonzero(wide) < wide.size:
            product[...] = times(sparse.csr_array(wide), self.K)
        else:
            np.matmul(wide, self.K, out=product)

    @property
    def mean(self) -> float:
        """The mean entry."""
        return float(self.K.mean(dtype=np.float64))

    def in_single_precision(self) -> DenseGram:
        """Itself where float32 would lose too much: numbers far from 1, or all nearly the same."""
        moderate = 1e-6 < self.largest < 1e6
        if self.dtype == np.float32 or not moderate or self.mean >= 0.98 * self.largest:
            return self
        if on_host(self.K) and not memory.fits(self.K.nbytes / 2):
            return self
        return type(self)(cast(self.K, namespace(self.K).float32))

    def column(self, i: int) -> Array:
        return self.K[i]

    def square_sums(self, weights: Array) -> Array:
        return np.concatenate([np.square(self.K[rows]) @ weights for rows in self._blocks()])

    @cached_property
    def positive(self) -> DenseGram:
        if self.nonnegative:
            return self
        if on_host(self.K):
            memory.require(self.K.nbytes, "The positive part of the kernel matrix", _FEWER)
        return type(self)(namespace(self.K).maximum(self.K, 0))

    def smallest_distance(self) -> float:
        d, xp = self.diagonal, namespace(self.K)
        distances = (d[rows][:, None] + d - 2 * self.K[rows, :] for rows in self._blocks())
        least = min(float(xp.min(block)) for block in distances)
        return least / self.largest if self.largest else 0.0

    def asymmetry(self) -> float:
        """The largest |K_ij - K_ji| relative to ``largest``."""
        xp = namespace(self.K)
        differences = (self.K[rows, :] - self.K[:, rows].T for rows in self._blocks())
        most = max(float(xp.max(xp.abs(block))) for block in differences)
        return most / self.largest if self.largest else 0.0

    def _blocks(self) -> Iterator[slice]:
        return slices(self.shape[0], _BLOCK // self.shape[0])
