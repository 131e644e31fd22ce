"""K as an array in memory: numpy's, or that of another library where it keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import sparse

from ..core import arrays, memory
from ..core.arithmetic import asymmetry, is_nearly_empty, over_threads, threads_worth, times
from ..core.arrays import slices
from ..core.types import Array
from .base import Gram, fits_single_precision, inverse_root

#: The remedy if K fits into memory, but not K⁺ beside it.
_FEWER = (
    "A kernel with negative entries needs it too: set n_neighbors for a sparse kernel, or "
    'gram="low-rank" or "tiled", where there are such parameters, or fit a part of the rows.'
)

#: How many entries of K are checked together, to avoid a temporary array of its size.
_BLOCK = 2**20

#: A stack with fewer than one entry in so many is multiplied as a sparse matrix: it takes as long
#: where there is one entry in 10 to 19.
_SPARSE = 20

#: Columns of K that a product takes together at least: with fewer BLAS is slower.
_COLUMNS = 1000


class DenseGram(Gram):
    """A symmetric array K of shape (n, n). K is neither copied nor changed.

    Stacks and products live where K does. Arrays of the host may be multiplied with a K on a
    device too: they go there, and the product comes back.
    """

    order = "F"
    stored = True

    def __init__(self, K: Array) -> None:
        # K is symmetric, so its transpose serves when that is the contiguous one.
        self.K = K
        if arrays.on_host(K):
            self.K = np.ascontiguousarray(K.T if K.flags.f_contiguous else K)
        xp = arrays.namespace(K)
        diagonal = xp.asarray(xp.linalg.diagonal(K), copy=True)
        least, most = float(xp.min(K)), float(xp.max(K))
        super().__init__(diagonal, 2.0 * K.shape[0] ** 2, max(-least, most), least >= 0)

    def stack(self, fits: int, rows: int, k: int) -> Array:  # (fits, rows, k)
        xp = arrays.namespace(self.K)
        zeros = xp.zeros((fits, k, rows), dtype=self.K.dtype, device=arrays.device_of(self.K))
        return xp.matrix_transpose(zeros)

    def hold(self, V: Array) -> Array:
        return arrays.like(V, self.K, self.K.dtype)

    def multiply(self, V: Array, out: Array) -> None:
        # (KV)ᵀ = VᵀK: in this order every fit's block is contiguous, and one product serves all.
        xp = arrays.namespace(self.K)
        fits, n, k = V.shape
        wide = xp.reshape(xp.matrix_transpose(V), (fits * k, n))
        if not arrays.on_host(self.K):
            out[...] = xp.matrix_transpose(xp.reshape(wide @ self.K, (fits, k, n)))
            return
        product = out.mT.reshape(fits * k, n)
        # An exact G has one entry a row: its product is a sum of rows of K for each cluster.
        if is_nearly_empty(wide, wide.size / _SPARSE):
            product[...] = times(sparse.csr_array(wide), self.K)
            return
        useful = threads_worth(float(wide.size) * n)
        parts = list(slices(n, max(-(-n // useful), _COLUMNS)))

        def work(place: int) -> None:
            np.matmul(wide, self.K[:, parts[place]], out=product[:, parts[place]])

        over_threads(work, len(parts), useful)

    def dot(self, V: Array) -> Array:  # (n, k) -> (n, k)
        if arrays.on_host(self.K):
            return super().dot(V)
        if arrays.on_host(V):
            return np.asarray(arrays.to_host(self.dot(self.hold(V))))
        return (arrays.cast(V, self.K.dtype).T @ self.K).T

    @property
    def mean(self) -> float:
        """The mean entry."""
        return arrays.mean_entry(self.K)

    @property
    def _bytes(self) -> float:
        return float(self.shape[0]) ** 2 * self.dtype.itemsize

    def in_single_precision(self) -> DenseGram:
        """K in float32; itself if that would lose too much or does not fit into memory."""
        if self.dtype == np.float32 or not fits_single_precision(self.largest, self.mean):
            return self
        if not memory.fits(self._bytes / 2, free=arrays.free_memory(self.K)):
            return self
        return type(self)(arrays.cast(self.K, arrays.namespace(self.K).float32))

    def entries(self) -> Array:
        return self.K

    def normalized(self, *, formed: bool = True) -> tuple[Array, Array]:
        if not formed:
            return super().normalized()
        degrees = arrays.namespace(self.K).sum(self.K, axis=1)
        root = inverse_root(degrees)
        memory.require(
            self._bytes,
            f"Diffusion of {self.shape[0]} samples by a dense matrix",
            "Set diffusion=0, or n_neighbors for a sparse kernel, or fit a part of the rows.",
            free=arrays.free_memory(self.K),
        )
        S = root * self.K
        S *= root[:, 0]
        return S, degrees

    def column(self, i: int) -> Array:
        return self.K[i, :]

    def square_sums(self, weights: Array) -> Array:
        xp = arrays.namespace(self.K)
        return xp.concat([xp.square(self.K[rows, :]) @ weights for rows in self._blocks()])

    @cached_property
    def positive(self) -> DenseGram:
        if self.nonnegative:
            return self
        free = arrays.free_memory(self.K)
        memory.require(self._bytes, "The positive part of the kernel matrix", _FEWER, free=free)
        return type(self)(arrays.namespace(self.K).maximum(self.K, 0))

    def smallest_distance(self) -> float:
        d, xp = self.diagonal, arrays.namespace(self.K)
        distances = (d[rows][:, None] + d - 2 * self.K[rows, :] for rows in self._blocks())
        least = min(float(xp.min(block)) for block in distances)
        return least / self.largest if self.largest else 0.0

    def asymmetry(self) -> float:
        """The largest |K_ij - K_ji| relative to ``largest``."""
        return asymmetry(self.K)

    def _blocks(self) -> Iterator[slice]:
        return arrays.slices(self.shape[0], _BLOCK // self.shape[0])
