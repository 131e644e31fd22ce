"""Kernels k(x, y), and rules for their widths.

Named kernels are functions of either the squared distance or the inner product of two
samples, so that one profile serves the dense matrix and single pairs alike. The Gaussian
kernels are one formula, exp(-d²/(r_i r_j)): "rbf" has the same r = √2·σ for all samples,
"self-tuning" gives each sample its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import safe_sparse_dot

from ..core.arrays import namespace, on_host, without_tiny
from ..core.types import Array, Matrix
from ..grams.data import Data
from .neighbors import inner_products, squared_distances

#: The neighbour whose distance is a sample's own scale in the self-tuning kernel, the
#: choice of Zelnik-Manor and Perona, "Self-tuning spectral clustering" (2004).
SCALE_NEIGHBOR = 7

#: A float32 kernel matrix is made in float64 where 1 - k(x, y) is below this on average:
#: D is a difference of numbers that close, and float32 would leave little of it.
WIDE = 0.02

#: A kernel of the user's: k(X, Y) -> array of shape (len(X), len(Y)).
KernelFunction = Callable[[Any, Any], Array]


@dataclass(frozen=True)
class Kernel:
    """A named kernel: how a pair is measured, and what becomes of the measure.

    ``profile(measure, r_i, r_j)`` may overwrite the measure.
    """

    of_distance: bool
    profile: Callable[[Array, Array, Array], Array]
    never_negative: bool = True

    def dense(self, X: Matrix, r: Array, Y: Matrix, q: Array) -> Array:  # (len(X), len(Y))
        """k between all samples of X and of Y, whose radii are r and q."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused later
            if self.of_distance:
                measure = euclidean_distances(X, None if Y is X else Y, squared=True)
            else:
                measure = safe_sparse_dot(X, Y.T, dense_output=True)
            return self.profile(measure, r[:, None], q)

    def pairs(
        self, X: Matrix, r: Array, i: Array, Y: Matrix, q: Array, j: Array
    ) -> Array:  # (pairs,)
        """k between samples i of X and j of Y, pair by pair."""
        with np.errstate(over="ignore", invalid="ignore"):
            measure = (squared_distances if self.of_distance else inner_products)(X, i, Y, j)
            return self.profile(measure, r[i], q[j])


def gaussian(d2: Array, r_i: Array, r_j: Array) -> Array:
    """exp(-d²/(r_i r_j)), zero where the result is too small to compute with."""
    with np.errstate(over="ignore", under="ignore"):
        d2 /= r_i
        d2 /= r_j
        if not on_host(d2):
            return without_tiny(namespace(d2).exp(-d2))
        np.exp(np.negative(d2, out=d2), out=d2)
    return without_tiny(d2)


def inner_product(product: Array, r_i: Array, r_j: Array) -> Array:
    """⟨x, y⟩."""
    return product


def polynomial(product: Array, r_i: Array, r_j: Array) -> Array:
    """(⟨x, y⟩ + 1)²."""
    product += 1
    product *= product
    return product


KERNELS = {
    "self-tuning": Kernel(of_distance=True, profile=gaussian),
    "rbf": Kernel(of_distance=True, profile=gaussian),
    "linear": Kernel(of_distance=False, profile=inner_product, never_negative=False),
    "cosine": Kernel(of_distance=False, profile=inner_product, never_negative=False),
    "polynomial": Kernel(of_distance=False, profile=polynomial),
}


def never_negative(kernel: str | KernelFunction, X: Matrix) -> bool:
    """Whether k is known to be below zero for no two samples of X."""
    return not callable(kernel) and (KERNELS[kernel].never_negative or Data(X).nonnegative)


def is_wide(form: Kernel, mean: float) -> bool:
    """Whether K is so close to constant that float32 would lose its squared distances."""
    return form.profile is gaussian and 1 - mean < WIDE


def called(kernel: KernelFunction, X: Matrix, Y: Matrix) -> Array:  # (len(X), len(Y))
    """What a function of the user's returns, if it will do."""
    returned: Any = kernel(X, Y)
    K: Array = returned.toarray() if sparse.issparse(returned) else np.asarray(returned)
    shape = X.shape[0], Y.shape[0]
    if K.shape != shape or K.dtype.kind not in "fiub":
        raise ValueError(
            f"kernel returned an array of shape {K.shape} and type {K.dtype} for {shape[0]} and "
            f"{shape[1]} samples; it must return real numbers in an array of shape {shape}."
        )
    if not np.isfinite(K).all():
        raise ValueError("kernel returned NaN or infinity; it must return finite numbers.")
    return K.astype(X.dtype, copy=False)


def neighbors_wanted(
    kernel: str | KernelFunction, radius: float | str, n_neighbors: int | None
) -> int:
    """How many nearest samples must be known: those that are kept, and for the width."""
    if kernel == "self-tuning" or (kernel == "rbf" and radius == "auto"):
        return max(n_neighbors or 0, SCALE_NEIGHBOR)
    return n_neighbors or 0


def width_of(d2: Array, kernel: str | KernelFunction, radius: float | str) -> tuple[Any, Array]:
    """The width as the user knows it, and r for every sample."""
    if kernel == "self-tuning":
        r = local_radii(d2)
        return r, r
    if kernel == "rbf":
        width = typical_radius(d2) if radius == "auto" else float(radius)
        return width, np.full(len(d2), np.sqrt(2) * width, d2.dtype)
    return None, np.ones(len(d2), d2.dtype)


def local_radii(d2: Array) -> Array:  # (n, m), sorted -> (n,)
    """Each sample's distance to its 7th neighbour; never zero.

    Where that many neighbours are duplicates the smallest radius of the others stands in, so
    that duplicates are alike (k = 1) and everything else is far away.
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
