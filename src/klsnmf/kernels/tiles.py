"""Tiles of a kernel matrix, computed from the samples when they are needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..core.arrays import slices
from ..core.types import Array, Matrix
from ..grams.base import fits_single_precision
from ..grams.low_rank import LANDMARKS, LowRankGram
from .functions import Kernel

#: If the error of d²/(r_i r_j) in float32 would be larger than this, it is computed in float64.
_PRECISION = 1e-4

#: How many rows are computed together.
_ROWS = 2**14


@dataclass(frozen=True)
class KernelTiles:
    """A named kernel on samples X with radii r, tile by tile.

    Kernels of distances are made by one matrix product and a few passes over the result: with two
    columns more on either side d²/(r_i r_j) is an inner product,

        ⟨(-√2 x/r_x, ‖x‖²/r_x, -1/r_x), (√2 y/r_y, 1/r_y, -‖y‖²/r_y)⟩.
    """

    form: Kernel
    X: Matrix
    r: Array
    dtype: np.dtype[Any]
    cut: bool = False  # negative entries set to zero

    metric = True  # named kernels are positive semidefinite, or of distances with K_ij ≤ K_ii

    def __post_init__(self) -> None:
        _ = self.sides  # before several threads ask for them

    @cached_property
    def sides(self) -> tuple[Matrix, Matrix]:  # (n, q), (n, q)
        """The factors of rows and columns in the inner product."""
        if not self.form.of_distance:
            X = self.X.astype(self.dtype, copy=False)
            return X, X
        X, r = self.X.astype(np.float64), self.r.astype(np.float64)[:, None]
        if not sparse.issparse(X):
            X -= X.mean(axis=0)  # distances stay, and what cancels in their computation shrinks
            squares = np.einsum("ij,ij->i", X, X)[:, None]
        else:
            squares = X.multiply(X).sum(axis=1).reshape(-1, 1)
        rounding = np.finfo(self.dtype).eps * float((squares / r**2).max())
        dtype = self.dtype if rounding < _PRECISION else np.dtype(np.float64)

        def join(*columns: Array) -> Matrix:
            if sparse.issparse(X):
                return sparse.hstack([X.multiply(np.sqrt(2) / r), *columns], "csr", dtype)
            return np.hstack([X * (np.sqrt(2) / r), *columns]).astype(dtype, copy=False)

        return -join(-squares / r, 1 / r), join(1 / r, -squares / r)

    def tile(self, rows: Any, columns: Any) -> Array:
        """k between samples of these rows and of these columns; slices or indices."""
        left, right = self.sides
        product = left[rows] @ right[columns].T
        values: Array = product.toarray() if sparse.issparse(product) else product
        if self.form.of_distance:
            # Rounding may leave d² < 0. Numbers so small that their products would be subnormal
            # slow everything down: the least of the others does as well.
            np.clip(values, 0, self.form.end(np.finfo(self.dtype).tiny), out=values)
            values = values.astype(self.dtype, copy=False)
        values = self.form.profile(values)
        if self.cut:
            np.maximum(values, 0, out=values)
        if isinstance(rows, slice) and isinstance(columns, slice) and rows == columns:
            np.fill_diagonal(values, self.diagonal[rows])
        return values

    @cached_property
    def diagonal(self) -> Array:  # (n,)
        return self.form.own(self.X).astype(self.dtype, copy=False)

    @cached_property
    def largest(self) -> float:
        """No entry is larger than the largest on the diagonal.

        Kernels are positive semidefinite, or of distances and then largest at distance zero.
        """
        return float(self.diagonal.max())

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is negative, as far as this is known without all pairs."""
        return self.cut or self.form.nonnegative(self.X)

    def positive(self) -> KernelTiles:
        return replace(self, cut=True)

    def in_single_precision(self) -> KernelTiles:
        if self.dtype == np.float32 or not fits_single_precision(self.largest, self.mean()):
            return self
        return replace(self, dtype=np.dtype(np.float32))

    def mean(self) -> float:
        """The mean entry, estimated from some samples."""
        some = np.unique(np.linspace(0, self.X.shape[0] - 1, 1000).astype(np.intp))
        return float(self.tile(some, some).mean(dtype=np.float64))


def nystrom(tiles: KernelTiles) -> LowRankGram:
    """K ≈ K_L K_LL⁻¹ K_Lᵀ for some samples L drawn at random, its diagonal put right.

    Williams and Seeger, "Using the Nyström method to speed up kernel machines" (2000). What L does
    not span of a sample goes to the diagonal. If K has no negative entry, negative entries of the
    approximation are errors.
    """
    n = len(tiles.diagonal)
    landmarks = np.sort(np.random.RandomState(0).permutation(n)[:LANDMARKS])
    core = tiles.tile(landmarks, landmarks).astype(np.float64)
    core[np.diag_indices_from(core)] = tiles.diagonal[landmarks]
    values, vectors = linalg.eigh(core)
    kept = values > len(values) * np.finfo(tiles.dtype).eps * values[-1]
    back = (vectors[:, kept] / np.sqrt(values[kept])).astype(tiles.dtype)
    features = np.empty((n, back.shape[1]), tiles.dtype)
    for part in slices(n, _ROWS):
        features[part] = tiles.tile(part, landmarks) @ back
    return LowRankGram(features, tiles.diagonal, tiles.nonnegative or None)
