"""K = ΦΦᵀ + diag(δ), with products that only use Φ."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from ..core.arithmetic import over_threads, tall_parts, threads_worth
from ..core.arrays import slices
from ..core.types import Array, Matrix
from .base import Data, Gram, fits_single_precision

#: How many samples represent all others if a kernel is approximated.
LANDMARKS = 500

#: How many numbers of a stack are handled together.
_NUMBERS = 2**20

#: Sums of squares that differ by so many times the precision are the same.
_ROUNDING = 64


class LowRankGram(Gram):
    """A positive semidefinite K of rank r, and a diagonal: K is never formed.

    With the samples for Φ it is the linear kernel, exactly; other kernels are approximated.

    Parameters
    ----------
    features : (n, r) dense or sparse Φ
    diagonal : (n,) array, the diagonal that K shall have, from which δ ≥ 0 follows; None for δ = 0
    nonnegative : whether K stands for a matrix without negative entries. Where the
        approximation leaves less in the product with a factor than the diagonal gives, it is
        raised to that. By default this is the case where Φ has no negative entry.
    """

    def __init__(
        self, features: Matrix, diagonal: Array | None = None, nonnegative: bool | None = None
    ) -> None:
        self.features = Data(features)
        self.order = self.features.order
        lengths = self.features.row_square_sums
        given, self.rest = lengths, None
        if diagonal is not None:
            self.rest = np.maximum(diagonal - lengths, 0)
            # Exactly as wished where only rounding is beyond it; an approximation can be far.
            beyond = lengths > (1 + _ROUNDING * np.finfo(features.dtype).eps) * diagonal
            given = np.where(beyond, lengths, diagonal)
        self.clipped = bool(nonnegative) and not self.features.nonnegative
        nonnegative = self.features.nonnegative if nonnegative is None else nonnegative
        # |⟨φ, ψ⟩| ≤ max(‖φ‖², ‖ψ‖²)
        super().__init__(given, 2 * self.features.flops, float(given.max()), nonnegative)

    def multiply(self, V: Array, out: Array) -> None:
        if self.features.is_sparse:
            middle = self.stack(V.shape[0], self.features.shape[1], V.shape[2])
            self.features.T.multiply(V, middle)
            self.features.multiply(middle, out)
            self._complete(V, out)
            return
        # (ΦΦᵀV)ᵀ = VᵀΦ Φᵀ: so one product serves all fits, for some samples at a time.
        X, (fits, n, k) = self.features.X, V.shape
        wide, product = V.mT.reshape(fits * k, n), out.mT.reshape(fits * k, n)
        useful = threads_worth(V.size * X.shape[1])
        parts = tall_parts(n, useful, max(1, _NUMBERS // (fits * k)))
        sums = np.empty((len(parts), fits * k, X.shape[1]), V.dtype)

        def inward(place: int) -> None:
            np.matmul(wide[:, parts[place]], X[parts[place]], out=sums[place])

        over_threads(inward, len(parts), useful)
        middle = sums.sum(axis=0)

        def outward(place: int) -> None:
            product[:, parts[place]] = middle @ X[parts[place]].T

        over_threads(outward, len(parts), useful)
        self._complete(V, out)

    def _complete(self, V: Array, out: Array) -> None:
        """Add what the diagonal has beside ΦΦᵀ, and raise what is too little."""
        clip = self.clipped and V.min() >= 0
        if self.rest is None and not clip:
            return
        some = _NUMBERS // (V.shape[0] * V.shape[2])
        for rows in slices(self.shape[0], some):  # all at once would leave the cache
            if self.rest is not None:
                out[:, rows] += self.rest[rows, None] * V[:, rows]
            if clip:
                # Of a K without negative entries the diagonal alone gives so much. Zero would be
                # too little: a denominator that is zero makes a factor grow without bound.
                np.maximum(out[:, rows], self.diagonal[rows, None] * V[:, rows], out=out[:, rows])

    def column(self, i: int) -> Array:
        row = self.features.X[[i]]
        row = row.toarray() if sparse.issparse(row) else row
        column = np.asarray(self.features.X @ row[0])
        if self.rest is not None:
            column[i] += self.rest[i]
        return column

    def square_sums(self, weights: Array) -> Array:
        # Σ_j ⟨φ_i, φ_j⟩² w_j = φ_iᵀ (Σ_j w_j φ_j φ_jᵀ) φ_i, and the diagonal put right.
        if self.features.is_sparse:
            return super().square_sums(weights)
        X, d = self.features.X, self.features.row_square_sums
        sums = np.einsum("ij,ij->i", X @ (X.T @ (X * weights[:, None])), X)
        return np.asarray(sums + weights * (np.square(self.diagonal) - np.square(d)))

    @cached_property
    def positive(self) -> Gram:
        """Φ⁺Φ⁺ᵀ + Φ⁻Φ⁻ᵀ + diag(δ): it is above K and above 0, if not the least that is."""
        if self.nonnegative:
            return self
        X, diagonal = self.features.X, None if self.rest is None else self.diagonal
        if sparse.issparse(X):
            return LowRankGram(sparse.hstack([X.maximum(0), (-X).maximum(0)]).tocsr(), diagonal)
        return LowRankGram(np.hstack([np.maximum(X, 0), np.maximum(-X, 0)]), diagonal)

    def in_single_precision(self) -> LowRankGram:
        """Itself where float32 would lose too much."""
        if not fits_single_precision(self.largest, self.mean):
            return self
        features = self.features.in_single_precision()
        if features is self.features:
            return self
        diagonal = None if self.rest is None else self.diagonal.astype(np.float32)
        return LowRankGram(features.X, diagonal, self.nonnegative)

    @property
    def mean(self) -> float:
        """The mean entry, without the diagonal δ: the squared length of the mean of Φ."""
        mean = np.asarray(self.features.X.mean(axis=0), np.float64)
        return float(mean @ mean)

    def smallest_distance(self) -> float:
        """Zero: these are real distances between samples, which are never negative."""
        return 0.0
