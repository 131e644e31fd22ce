"""Kernels k(x, y), and rules for their widths.

A named kernel is one profile: a function of the scaled squared distance d²/(r_x r_y) of two
samples, or of their inner product. It serves the array, tiles, single pairs and arrays on a device
alike. The Gaussian kernels are the profile exp(-t): "rbf" has the same r = √2·σ for all samples,
"self-tuning" gives each sample its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arithmetic, arrays
from ..core.types import Array, Matrix

#: The neighbour whose distance is a sample's own scale in the self-tuning kernel, the
#: choice of Zelnik-Manor and Perona, "Self-tuning spectral clustering" (2004).
SCALE_NEIGHBOR = 7

#: A radius counts as at most so many times larger or smaller than the usual one, where links count
#: by density: a handful of equal samples is not endlessly dense.
_MOST_DENSE = 4.0

#: A float32 kernel matrix is made in float64 where 1 - k(x, y) is below this on average:
#: D is a difference of numbers that close, and float32 would leave little of it.
WIDE = 0.02

#: A function from the user: k(X, Y) -> array of shape (len(X), len(Y)).
KernelFunction = Callable[[Any, Any], Array]


def _never(tiny: float) -> float:
    return np.inf


@dataclass(frozen=True)
class Kernel:
    """A named kernel: how a pair is measured, and the function of this measure.

    ``profile`` is a function of the scaled squared distance, or of the inner product, which it may
    overwrite. ``end`` is for kernels of distances that decay fast: the scaled squared distance at
    which the profile is √tiny, given the smallest number of full precision.
    """

    profile: Callable[..., Array]
    radii: str | None = None  # "each" sample has its own, "one" for all, None for inner products
    unit_length: bool = False  # whether samples are scaled to length 1 first
    linear: bool = False  # whether it is the inner product itself
    never_negative: bool = True  # whether no value is below zero, whatever the samples
    end: Callable[[float], float] = _never

    @property
    def of_distance(self) -> bool:
        return self.radii is not None

    @property
    def own_value(self) -> float:
        """k(x, x) of a kernel of distances."""
        return float(self.profile(np.zeros(1))[0])

    def prepared(self, X: Matrix) -> Matrix:
        """The samples as the kernel compares them."""
        return arrays.unit_rows(X) if self.unit_length else X

    def nonnegative(self, X: Matrix) -> bool:
        """Whether k is known to be below zero for no two samples of X."""
        return self.never_negative or arithmetic.smallest_entry(X) >= 0

    def is_wide(self, mean: float) -> bool:
        """Whether K is so close to constant that float32 would lose its squared distances."""
        return self.of_distance and self.own_value - mean < WIDE * self.own_value

    def ready(self, X: Matrix, about: Matrix) -> Matrix:
        """Prepared samples in the form that ``dense`` wants on their device."""
        return arithmetic.centred(X, about) if self.of_distance else X

    def dense(self, X: Matrix, r: Array, Y: Matrix, q: Array) -> Array:  # (len(X), len(Y))
        """k between all samples of X and of Y, ready and with radii r and q."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused later
            if self.of_distance:
                return self._of_distances(arithmetic.all_distances(X, Y), r[:, None], q)
            return self.profile(arithmetic.all_products(X, Y))

    def pairs(
        self, X: Matrix, r: Array, i: Array, Y: Matrix, q: Array, j: Array, d2: Array
    ) -> Array:  # (pairs,)
        """k between samples i of X and j of Y, at these squared distances, which it overwrites."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.of_distance:
                return self._of_distances(d2, r[i], q[j])
            return self.profile(arithmetic.inner_products(X, i, Y, j))

    def own(self, X: Matrix) -> Array:  # (len(X),)
        """k(x, x); the distance of a sample to itself is zero, whatever rounding says."""
        if self.of_distance:
            return arrays.zeros(X.shape[0], X) + self.own_value
        with np.errstate(over="ignore", invalid="ignore"):
            return arrays.cast(
                self.profile(arithmetic.row_lengths(arrays.in_best_type(X))), X.dtype
            )

    def matrix(self, X: Matrix, r: Array) -> Array:  # (n, n)
        """k between all samples of X."""
        K = self.dense(X, r, X, r)
        if self.of_distance:
            arrays.set_diagonal(K, self.own_value)
        return K

    def kept(self, X: Matrix, r: Array, i: Array, j: Array, d2: Array) -> tuple[Array, Array]:
        """The entries of ``matrix`` at (i, j), and its diagonal: (pairs,), (n,)."""
        return self.pairs(X, r, i, X, r, j, d2), self.own(X)

    def blocks(self, X: Matrix, r: Array) -> Callable[[slice, slice], Array]:
        """The same for some rows and columns at a time, in the best precision of a device."""
        X = self.ready(X, X)
        return lambda i, j: self.dense(X[i, :], r[i], X[j, :], r[j])

    def _of_distances(self, d2: Array, r_i: Array, r_j: Array) -> Array:
        """The profile of d²/(r_i r_j), zero where the result is too small to compute with."""
        with np.errstate(over="ignore", under="ignore"):
            d2 /= r_i
            d2 /= r_j
            return arrays.without_tiny(self.profile(d2))


@dataclass(frozen=True)
class GivenKernel(Kernel):
    """A function from the user, which is called for all pairs at once."""

    profile: KernelFunction
    never_negative: bool = False

    def nonnegative(self, X: Matrix) -> bool:
        return False

    def dense(self, X: Matrix, r: Array, Y: Matrix, q: Array) -> Array:
        return called(self.profile, X, Y)

    def pairs(
        self, X: Matrix, r: Array, i: Array, Y: Matrix, q: Array, j: Array, d2: Array
    ) -> Array:
        return called(self.profile, X, Y)[i, j]

    def own(self, X: Matrix) -> Array:
        each = (X[i : i + 1, :] for i in range(X.shape[0]))
        found = [called(self.profile, x, x)[:, 0] for x in each]
        return arrays.namespace(X).concat([arrays.zeros(0, X), *found])

    def matrix(self, X: Matrix, r: Array) -> Array:
        K = called(self.profile, X, X)
        if arithmetic.asymmetry(K) > arrays.namespace(K).finfo(K.dtype).eps ** 0.5:
            raise ValueError("kernel(X, X) is not symmetric. A kernel must be: k(x, y) = k(y, x).")
        return K

    def kept(self, X: Matrix, r: Array, i: Array, j: Array, d2: Array) -> tuple[Array, Array]:
        K = self.matrix(X, r)
        return K[i, j], K.diagonal()

    def blocks(self, X: Matrix, r: Array) -> Callable[[slice, slice], Array]:
        K = self.matrix(X, r)
        return lambda i, j: K[i, j]


def gaussian(t: Array) -> Array:
    """exp(-t)."""
    return arrays.exp_minus(t)


def _gaussian_end(tiny: float) -> float:
    return float(-np.log(tiny) / 2)


def inner_product(product: Array) -> Array:
    """⟨x, y⟩."""
    return product


def polynomial(product: Array) -> Array:
    """(⟨x, y⟩ + 1)²."""
    product += 1
    product *= product
    return product


KERNELS = {
    "self-tuning": Kernel(gaussian, radii="each", end=_gaussian_end),
    "rbf": Kernel(gaussian, radii="one", end=_gaussian_end),
    "linear": Kernel(inner_product, linear=True, never_negative=False),
    "cosine": Kernel(inner_product, linear=True, unit_length=True, never_negative=False),
    "polynomial": Kernel(polynomial),
}


def kernel_of(kernel: str | KernelFunction) -> Kernel:
    """A kernel by its name, or a function from the user."""
    return GivenKernel(kernel) if callable(kernel) else KERNELS[kernel]


def called(kernel: KernelFunction, X: Matrix, Y: Matrix) -> Array:  # (len(X), len(Y))
    """What the user's function returns, after a check."""
    K = arrays.as_array(kernel(X, Y), X, "What kernel(X, Y) returns")
    shape, real = (X.shape[0], Y.shape[0]), ("bool", "integral", "real floating")
    if tuple(K.shape) != shape or not arrays.namespace(K).isdtype(K.dtype, real):
        raise ValueError(
            f"kernel returned an array of shape {tuple(K.shape)} and type {K.dtype} for {shape[0]} "
            f"and {shape[1]} samples; it must return real numbers in an array of shape {shape}."
        )
    if not arrays.all_finite(K):
        raise ValueError("kernel returned NaN or infinity; it must return finite numbers.")
    return arrays.cast(K, X.dtype)


def neighbors_wanted(form: Kernel, radius: float | str, n_neighbors: int | None) -> int:
    """How many nearest samples must be known: those that are kept, and for the width."""
    if form.radii == "each" or (form.radii == "one" and radius == "auto"):
        return max(n_neighbors or 0, SCALE_NEIGHBOR)
    return n_neighbors or 0


def width_of(d2: Array, form: Kernel, radius: float | str) -> tuple[Any, Array]:
    """The width as the user knows it, and r for every sample."""
    if form.radii == "each":
        r = local_radii(d2)
        return r, r
    if form.radii == "one":
        width = typical_radius(d2) if radius == "auto" else float(radius)
        return width, np.full(len(d2), np.sqrt(2) * width, d2.dtype)
    return None, np.ones(len(d2), d2.dtype)


def local_radii(d2: Array) -> Array:  # (n, m), sorted -> (n,)
    """Each sample's distance to its 7th neighbour; never zero.

    If so many neighbours are duplicates, the smallest radius of the other samples is used, so that
    duplicates are alike (k = 1) and everything else is far away.
    """
    n, m = d2.shape
    if m == 0:
        return np.ones(n, d2.dtype)
    r = np.sqrt(d2[:, min(SCALE_NEIGHBOR, m) - 1])
    positive = r[r > 0]
    return np.where(r > 0, r, positive.min() if positive.size else 1).astype(d2.dtype)


def typical_radius(d2: Array) -> float:
    """σ for "rbf": the median distance of a sample to its 7th neighbour."""
    return float(np.median(local_radii(d2)))


def density(r: Array, usual: float) -> Array:  # (m,) -> (m,)
    """How dense samples lie where their radii are r, beside a place where the radius is usual.

    1/r², the density in a plane.
    """
    return arrays.namespace(r).clip(usual / r, 1 / _MOST_DENSE, _MOST_DENSE) ** 2
