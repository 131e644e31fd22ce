"""Diffusion: samples are also alike if a few steps from neighbour to neighbour join them.

S = Deg^-½ K Deg^-½ is one step, S^t are t of them, and K_t is S^t scaled to unit diagonal. For even
t it is positive semidefinite whatever the signs of the eigenvalues of K, its squared distances
are never negative, and the objective is a better judge of starts than with K itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.arithmetic import row_lengths, step
from ..core.arrays import cast, namespace, on_host, set_diagonal, slices, to_host, without_tiny
from ..core.types import Array
from .array import DenseGram
from .base import Gram, inverse_root, multiply_wide
from .spectral import (
    ENOUGH,
    FEWEST_STEPS,
    MOST_STEPS,
    SpectralDiffusion,
    diffuse_along_eigenvectors,
)

#: K_t is formed where one dense product is faster than t sparse ones: up to this many samples
#: for each step (sparse products are slower by operation, but have few), and never with more than
#: `_MOST_FORMED`.
_FORMED_PER_STEP = 200
_MOST_FORMED = 8000

#: Up to this many samples dense powers of S are worth their time. Steps leave few eigenvectors.
#: These are found sooner than a power of S and make iterations shorter, unless samples are few.
_MOST_SQUARED = 4000
_FEW_SAMPLES = 1000

#: Up to this many steps are taken one by one for new samples; for more, a power of S is computed.
_FEW_STEPS = 16

#: A power of S with more than this share of its entries filled is kept dense.
_FILLED = 0.1

#: Rows of S^(t/2) computed together when only their lengths are wanted, and entries of S^(t/2)
#: that are not too many for that.
_ROWS = 2048
_MOST_ENTRIES = 2e9


@dataclass(frozen=True)
class Diffusion:
    """t steps S^t on the samples of a fit, and the scale c that gives K_t a unit diagonal."""

    S: Any  # (n, n), sparse or dense
    degrees: Array  # (n,)
    steps: int
    c: Array  # (n, 1)

    way: ClassVar[str] = "products"
    cheaper: ClassVar[bool] = False

    def gram(self) -> Gram:
        """K_t, by products with S; formed on a device."""
        if on_host(self.S):
            return DiffusedGram(self)
        return self.formed(power(self.S, self.steps // 2))

    def formed(self, half: Any) -> DenseGram:
        """K_t as an array, from S^(t/2)."""
        half = self.c * (half.toarray() if sparse.issparse(half) else half)
        full = without_tiny(half @ half.T)  # no subnormal products later
        set_diagonal(full, cast(self.c[:, 0] > 0, full.dtype))
        return DenseGram(full)

    def walk(self, V: Array, steps: int) -> Array:  # (n, k) -> (n, k)
        """S^steps V."""
        for _ in range(steps):
            V = step(self.S, V)
        return V

    def walk_on(self, V: Array) -> Array:  # (n, k) -> (n, k)
        """S^(t - 1) V: what is left of the way after a new sample's first step."""
        if self._jumps:
            return self.rest @ (self.rest @ self.walk(V, 1))
        return self.walk(V, self.steps - 1)

    @property
    def scale(self) -> Array:  # (n, 1)
        return self.c

    def of_new(self, product: Array, lengths: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        """k(y, X) W and k(y, y), from S^t(y, X) c W and S^t(y, y)."""
        xp = namespace(lengths)
        return product / xp.sqrt(lengths)[:, None], xp.ones_like(lengths)

    def lengths(self, rows: sparse.csr_array) -> Array:  # (m, n) -> (m,)
        """Squared lengths of what rows of first steps become half-way: rows S^(t/2 - 1)."""
        if self._jumps:
            return row_lengths(rows @ self.rest)
        for _ in range(self.steps // 2 - 1):
            rows = rows @ self.S
        return row_lengths(rows)

    @property
    def flops(self) -> float:
        """Operations of all steps with one column."""
        return self.steps * 2.0 * (self.S.nnz if sparse.issparse(self.S) else self.S.size)

    def in_single_precision(self) -> Diffusion:
        if self.c.dtype == np.float32:
            return self
        S, degrees, c = (each.astype(np.float32) for each in (self.S, self.degrees, self.c))
        return Diffusion(S, degrees, self.steps, c)

    def host_copy(self) -> Diffusion:
        """The same with arrays of the host; S is sparse there if most of it is zero."""
        if on_host(self.S):
            return self
        S, degrees, c = (to_host(each) for each in (self.S, self.degrees, self.c))
        if np.count_nonzero(S) <= _FILLED * S.size:
            S = sparse.csr_array(S)
        return Diffusion(S, degrees, self.steps, c)

    @property
    def _jumps(self) -> bool:
        """Whether new samples take a power of S at once."""
        return self.steps // 2 - 1 > _FEW_STEPS

    @cached_property
    def rest(self) -> Any:  # (n, n)
        """S^(t/2 - 1): what is left of half the way after a new sample's first step."""
        return power(self.S, self.steps // 2 - 1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "rest"}


@dataclass(frozen=True)
class TwoSteps(Diffusion):
    """Two steps on samples whose K, and so S, is known by its products: S is never formed.

    Two of them have a diagonal that products tell; after more it takes eigenvectors.
    """

    #: Why a model file does not hold it.
    not_stored = (
        "A dense kernel with diffusion=2 is asked at each step, by workers or tile by tile, so a "
        "model file does not hold it: set diffusion=0 or 4, or n_neighbors for a sparse kernel, "
        "and fit again."
    )

    def lengths(self, rows: sparse.csr_array) -> Array:  # (m, n) -> (m,)
        """Squared lengths of rows of first steps, which are half the way."""
        return row_lengths(rows.toarray())

    @property
    def flops(self) -> float:
        return self.steps * float(self.S.K.flops)

    def in_single_precision(self) -> TwoSteps:
        return self


#: Ways to know K_t, and what new samples need.
Steps = Diffusion | SpectralDiffusion


class DiffusedGram(Gram):
    """K_t, never formed: K_t V = c∘S(S(…(c∘V)))."""

    order = "C"

    def __init__(self, diffusion: Diffusion) -> None:
        self.diffusion = diffusion
        diagonal = (diffusion.c[:, 0] > 0).astype(diffusion.c.dtype)
        super().__init__(diagonal, diffusion.flops, largest=1.0, nonnegative=True)

    def multiply(self, V: Array, out: Array) -> None:
        multiply_wide(self.spread, V, out)

    def in_single_precision(self) -> DiffusedGram:
        rough = self.diffusion.in_single_precision()
        return self if rough is self.diffusion else DiffusedGram(rough)

    def spread(self, V: Array) -> Array:  # (n, k) -> (n, k)
        d = self.diffusion
        return d.c * d.walk(d.c * V, d.steps)

    def column(self, i: int) -> Array:
        unit = np.zeros((self.shape[0], 1), self.dtype)
        unit[i] = 1
        return self.spread(unit)[:, 0]

    @cached_property
    def positive(self) -> Gram:
        return self

    def smallest_distance(self) -> float:
        return 0.0


def diffuse(K: Gram, steps: int, k: int) -> tuple[Gram, Steps]:
    """The Gram of K_t for K ≥ 0 and an even t; formed where that is faster.

    Distances are small differences, so the diagonal of S^t must be exact. Where it cannot be had
    the steps are taken along the eigenvectors that k clusters need, which know their own diagonal.
    """
    if steps < 2 or steps % 2:
        raise ValueError(f"diffusion={steps} must be an even number of steps, or 0 for none.")
    K = _at_hand(K)
    if not K.stored:
        return _two_steps(K) if steps == 2 else diffuse_along_eigenvectors(K, k, steps)
    S, degrees = K.normalized()
    half = power(S, steps // 2) if _worth_forming(S, steps) else None
    diagonal = _diagonal_of_power(S, steps) if half is None else row_lengths(half)
    if diagonal is None:
        return diffuse_along_eigenvectors(K, k, steps)
    diffusion = Diffusion(S, degrees, steps, inverse_root(diagonal))
    return _gram(diffusion, half), diffusion


def diffuse_enough(K: Gram, k: int) -> tuple[Gram, Diffusion | SpectralDiffusion]:
    """The Gram of K_t with as many steps as k clusters need: 4, doubled until tr(S^t) ≤ 2k.

    tr(S^t) counts the directions in which samples still differ after t steps, from n down to the
    number of pieces of the graph. k clusters need k of them; what goes far beyond is detail that
    the objective would follow instead of the clusters. Images need 4 to 16 steps, long thin
    curves hundreds. With too many samples for dense powers of S, or for many of them, steps are
    taken along its leading eigenvectors.
    """
    K, n, here = _at_hand(K), K.shape[0], on_host(K.diagonal)
    if not K.stored or (n > _MOST_SQUARED and here):
        return diffuse_along_eigenvectors(K, k)
    S, degrees = K.normalized()
    steps, half = FEWEST_STEPS, S @ S
    while steps < MOST_STEPS and to_host(row_lengths(half)).sum() > ENOUGH * k:
        if n > _FEW_SAMPLES and here:
            return diffuse_along_eigenvectors(K, k)
        steps *= 2
        half = _squared(half)
    diffusion = Diffusion(S, degrees, steps, inverse_root(row_lengths(half)))
    return _gram(diffusion, half if _worth_forming(S, steps) else None), diffusion


def _at_hand(K: Gram) -> Gram:
    """A K of moderate size as an array, so that all kinds of Gram come out alike."""
    return K if K.stored or K.shape[0] > _MOST_SQUARED else DenseGram(K.entries())


def power(S: Any, m: int) -> Any:  # (n, n)
    """S^m, by squaring."""
    done = S
    for digit in bin(m)[3:]:
        done = _squared(done)
        if digit == "1":
            done = S @ done
    return done


def _squared(A: Any) -> Any:
    """A², dense once it is no longer sparse."""
    if sparse.issparse(A) and A.nnz > _FILLED * A.shape[0] ** 2:
        A = A.toarray()
    return A @ A


def _two_steps(K: Gram) -> tuple[Gram, TwoSteps]:
    S, degrees = K.normalized()
    weights = np.square(inverse_root(degrees)[:, 0])
    diffusion = TwoSteps(S, degrees, 2, inverse_root(weights * K.square_sums(weights)))
    return diffusion.gram(), diffusion


def _gram(diffusion: Diffusion, half: Any) -> Gram:
    """K_t as an array from S^(t/2), or by products with S where that is None."""
    return DiffusedGram(diffusion) if half is None else diffusion.formed(half)


def _worth_forming(S: Any, steps: int) -> bool:
    """Whether K_t is small enough for an array, and for the two that are needed to make it."""
    if not on_host(S):  # it is no sparse matrix there: one product is faster than several
        return True
    n, free = S.shape[0], memory.available()
    small = n <= min(_FORMED_PER_STEP * steps, _MOST_FORMED)
    return small and (free is None or 4 * n**2 * S.dtype.itemsize < free)


def _diagonal_of_power(S: Any, steps: int) -> Array | None:  # (n,)
    """The diagonal of S^t: squared lengths of the rows of S^(t/2), some rows at a time.

    None where there are too many entries.
    """
    n, half = S.shape[0], steps // 2
    stored = S.nnz if sparse.issparse(S) else S.size
    if n * min(float(n), (stored / n) ** half) > _MOST_ENTRIES:
        return None
    diagonal = np.empty(n, S.dtype)
    for some in slices(n, _ROWS):
        rows = S[some]
        for _ in range(half - 1):
            rows = rows @ S
        diagonal[some] = row_lengths(rows)
    return diagonal
