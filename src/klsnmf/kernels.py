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
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from . import memory
from ._typing import Array, Matrix
from .grams import DenseGram, Gram, SparseGram
from .graphs import (
    inner_products,
    neighbor_indices,
    squared_distances,
    symmetric,
    undirected_pairs,
)

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

    def dense(self, X: Matrix, r: Array) -> Array:  # (n, p), (n,) -> (n, n)
        if self.of_distance:
            measure = euclidean_distances(X, squared=True)
        else:
            measure = safe_sparse_dot(X, X.T, dense_output=True)
        return self.profile(measure, r[:, None], r)

    def pairs(self, X: Matrix, r: Array, i: Array, j: Array) -> Array:  # (pairs,)
        measure = (squared_distances if self.of_distance else inner_products)(X, i, j)
        return self.profile(measure, r[i], r[j])


def gaussian(d2: Array, r_i: Array, r_j: Array) -> Array:
    """exp(-d²/(r_i r_j)), zero where the result is too small to compute with."""
    with np.errstate(over="ignore", under="ignore"):
        d2 /= r_i
        d2 /= r_j
        np.exp(np.negative(d2, out=d2), out=d2)
    d2 *= np.sqrt(np.finfo(d2.dtype).tiny) < d2
    return d2


def inner_product(product: Array, r_i: Array, r_j: Array) -> Array:
    """⟨x, y⟩."""
    return product


def polynomial(product: Array, r_i: Array, r_j: Array) -> Array:
    """(⟨x, y⟩ + 1)²."""
    product += 1
    return np.square(product, out=product)


KERNELS = {
    "self-tuning": Kernel(of_distance=True, profile=gaussian),
    "rbf": Kernel(of_distance=True, profile=gaussian),
    "linear": Kernel(of_distance=False, profile=inner_product),
    "cosine": Kernel(of_distance=False, profile=inner_product),
    "polynomial": Kernel(of_distance=False, profile=polynomial),
}


def gram(
    X: Matrix, kernel: str | KernelFunction, radius: float | str, n_neighbors: int | None
) -> tuple[Gram, Any]:
    """The Gram of a kernel on the samples X, and its width: σ, or each sample's own.

    With ``n_neighbors`` an entry is kept where one sample is among that many nearest of the
    other, and on the diagonal.
    """
    n = X.shape[0]
    if n_neighbors is None or callable(kernel):
        memory.require(
            float(n) ** 2 * X.dtype.itemsize,
            f"The kernel matrix of {n} samples",
            "Give n_neighbors, for a sparse kernel, or fit a part of the rows.",
        )
    if callable(kernel):
        K = _called(kernel, X)
        if n_neighbors is None:
            return DenseGram(K), None
        i, j = undirected_pairs(neighbor_indices(X, n_neighbors))
        return SparseGram(symmetric(i, j, K[i, j], K.diagonal())), None

    if kernel == "cosine":
        X = normalize(X)
    wanted = n_neighbors or 0
    if kernel == "self-tuning" or (kernel == "rbf" and radius == "auto"):
        wanted = max(wanted, SCALE_NEIGHBOR)
    neighbors = neighbor_indices(X, wanted)
    width, r = _width(X, neighbors, kernel, radius)
    form = KERNELS[kernel]
    if n_neighbors is None:
        return DenseGram(_dense(form, X, r)), width
    i, j = undirected_pairs(neighbors[:, :n_neighbors])
    each = np.arange(n)
    diagonal = form.pairs(X, r, each, each)
    return SparseGram(symmetric(i, j, form.pairs(X, r, i, j), diagonal)), width


def _width(X: Matrix, neighbors: Array, kernel: str, radius: float | str) -> tuple[Any, Array]:
    """The width as the user knows it, and r for every sample."""
    if kernel == "self-tuning":
        r = local_radii(X, neighbors)
        return r, r
    if kernel == "rbf":
        width = typical_radius(X, neighbors) if radius == "auto" else float(radius)
        return width, np.full(X.shape[0], np.sqrt(2) * width, X.dtype)
    return None, np.ones(X.shape[0], X.dtype)


def _dense(form: Kernel, X: Matrix, r: Array) -> Array:
    K = form.dense(X, r)
    wide = form.profile is gaussian and 1 - K.mean(dtype=np.float64) < WIDE
    if wide and K.dtype == np.float32:
        K = form.dense(X.astype(np.float64), r.astype(np.float64))
    # The distance of a sample to itself is zero, whatever rounding says.
    if form.profile is gaussian:
        np.fill_diagonal(K, 1)
    return K


def _called(kernel: KernelFunction, X: Matrix) -> Array:
    n = X.shape[0]
    K = np.asarray(kernel(X, X))
    if K.shape != (n, n) or K.dtype.kind not in "fiub":
        raise ValueError(
            f"kernel(X, X) returned an array of shape {K.shape} and type {K.dtype}; "
            f"it must return real numbers in an array of shape ({n}, {n})."
        )
    return K.astype(X.dtype, copy=False)


def local_radii(X: Matrix, neighbors: Array) -> Array:  # (n, p), (n, m) -> (n,)
    """Each sample's distance to its 7th neighbour; never zero.

    Where that many neighbours are duplicates the smallest radius of the others stands in, so
    that duplicates are alike (k = 1) and everything else is far away.
    """
    n, m = neighbors.shape
    if m == 0:
        return np.ones(n, X.dtype)
    seventh = neighbors[:, min(SCALE_NEIGHBOR, m) - 1]
    r = np.sqrt(squared_distances(X, np.arange(n), seventh))
    positive = r[r > 0]
    return np.where(r > 0, r, positive.min() if positive.size else 1).astype(X.dtype)


def typical_radius(X: Matrix, neighbors: Array) -> float:
    """σ for "rbf": the median distance of a sample to its 7th neighbour."""
    return float(np.median(local_radii(X, neighbors)))
