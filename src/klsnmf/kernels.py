"""Kernels k(x, y), and rules for their widths.

Named kernels are functions of either the squared distance or the inner product of two
samples, so that one profile serves the dense matrix and single pairs alike. The Gaussian
kernels are one formula, exp(-d²/(r_i r_j)): "rbf" has the same r = √2·σ for all samples,
"self-tuning" gives each sample its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from . import memory
from ._typing import Array, Matrix
from .devices import namespace, on_host, slices, tiny, to_host, without_tiny
from .grams import DenseGram, Diffusion, Gram, LowRankGram, SparseGram, SpectralDiffusion, TiledGram
from .grams.data import Data
from .grams.spectral import inverse_root
from .grams.tiled import tile_side
from .graphs import (
    SURPLUS,
    TIE,
    inner_products,
    nearest,
    reach_of,
    squared_distances,
    symmetric,
    undirected_pairs,
)
from .plans import Plan, make_plan
from .tiles import KernelTiles, nystrom

if TYPE_CHECKING:
    from .engines import RemoteSamples

#: The neighbour whose distance is a sample's own scale in the self-tuning kernel, the
#: choice of Zelnik-Manor and Perona, "Self-tuning spectral clustering" (2004).
SCALE_NEIGHBOR = 7

#: A float32 kernel matrix is made in float64 where 1 - k(x, y) is below this on average:
#: D is a difference of numbers that close, and float32 would leave little of it.
WIDE = 0.02

#: Distances held at once between new samples and old ones.
_BLOCK = 2**23

#: Entries of k(X_new, X) made at once.
_CROSS = 2**25

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


def linear_product(X: Matrix, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
    """⟨Y, X⟩ W, and ⟨y, y⟩, by products with X and Y alone."""
    prototypes = np.asarray(safe_sparse_dot(X.T, W))
    return np.asarray(safe_sparse_dot(Y, prototypes)), Data(Y).row_square_sums


def never_negative(kernel: str | KernelFunction, X: Matrix) -> bool:
    """Whether k is known to be below zero for no two samples of X."""
    return not callable(kernel) and (KERNELS[kernel].never_negative or Data(X).nonnegative)


@dataclass(frozen=True)
class FittedKernel:
    """A kernel with its width, on the samples it was fitted to. It can be asked about new ones.

    Attributes
    ----------
    X : (n, p) samples
    r : (n,) array, the radius of each sample
    n_neighbors : how many neighbours are kept, None for all
    reach : (n,) array, the squared distance of each sample to the last neighbour it keeps
    width : what the user knows as the width: σ, each sample's radius, or None
    """

    kernel: str | KernelFunction
    X: Matrix
    r: Array
    n_neighbors: int | None
    reach: Array
    width: Any

    def cross(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        """k(y, x) for new samples y and all x, sparse if neighbours are kept, and k(y, y).

        Samples that the kernel was fitted to get their rows of K again.
        """
        if self.kernel == "cosine":
            Y = normalize(Y)
        m, sparse_rows = Y.shape[0], self.n_neighbors is not None
        each, q = np.arange(m), np.full(m, self.r[0], self.r.dtype)
        if sparse_rows or self.kernel == "self-tuning":
            (i, j), radii = self._near(Y)
            q = radii if self.kernel == "self-tuning" else q
        if callable(self.kernel):
            k = _called(self.kernel, Y, self.X)
            own = np.array([_called(self.kernel, Y[[e]], Y[[e]])[0, 0] for e in each], Y.dtype)
            values = k[i, j] if sparse_rows else k
        else:
            form = KERNELS[self.kernel]
            own = form.pairs(Y, q, each, Y, q, each)
            if sparse_rows:
                values = form.pairs(Y, q, i, self.X, self.r, j)
            else:
                values = form.dense(Y, q, self.X, self.r)
        if sparse_rows:
            return sparse.csr_array((values, (i, j)), shape=(m, len(self.r))), own
        return values, own

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        """k(Y, X) W, and k(y, y)."""
        if self.kernel in ("linear", "cosine") and self.n_neighbors is None and on_host(Y):
            return linear_product(self.X, normalize(Y) if self.kernel == "cosine" else Y, W)
        return _by_rows(self, Y, W.shape[0], lambda k, own: (k @ W, own))

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        """Of some samples of the fit, given by their places, the nearest to each y."""
        X, Y = to_host(self.X), to_host(Y)
        if self.kernel == "cosine":
            Y = normalize(Y)
        return np.asarray(among[pairwise_distances_argmin(Y, X[among])])

    def _near(self, Y: Matrix) -> tuple[tuple[Array, Array], Array]:
        """The pairs (i, j) that are kept, and the radius of each y.

        y keeps its nearest samples, and those that have y within their own reach. A sample at
        distance zero is taken to be y itself, once.
        """
        n = self.X.shape[0]
        kept_i, kept_j, radii = [], [], []
        m = min(n, 1 + max(SCALE_NEIGHBOR, self.n_neighbors or 0) + SURPLUS)
        step = max(1, _BLOCK // n)
        for start in range(0, Y.shape[0], step):
            part = Y[start : start + step]
            rough = euclidean_distances(part, self.X, squared=True)
            near = np.argpartition(rough, m - 1, axis=1)[:, :m]
            rows = np.repeat(np.arange(len(near)), m)
            exact = squared_distances(part, rows, self.X, near.ravel()).reshape(-1, m)
            order = np.argsort(exact, axis=1, kind="stable")
            near = np.take_along_axis(near, order, axis=1)
            distance = np.sqrt(np.take_along_axis(exact, order, axis=1))
            itself = (distance[:, 0] == 0).astype(int)
            last = np.minimum(itself + SCALE_NEIGHBOR, m) - 1
            radii.append(distance[np.arange(len(near)), last])
            if self.n_neighbors is not None:
                last = np.minimum(itself + self.n_neighbors, m) - 1
                furthest = np.square(distance[np.arange(len(near)), last]) * (1 + TIE)
                # What lies within reach of either is found roughly, then looked at exactly.
                slack = 1e-5 * (rough.max() + self.reach.max())
                i, j = np.nonzero(rough <= np.maximum(self.reach, furthest[:, None]) + slack)
                d2 = squared_distances(part, i, self.X, j)
                within = (d2 <= self.reach[j]) | (d2 <= furthest[i])
                keys = np.unique(i[within] * n + j[within])
                kept_i.append(keys // n + start)
                kept_j.append(keys % n)
        r = np.concatenate(radii) if radii else np.empty(0, self.r.dtype)
        r = np.where(r > 0, r, self.r.min()).astype(self.r.dtype)
        none = [np.empty(0, np.intp)]
        return (np.concatenate(kept_i or none), np.concatenate(kept_j or none)), r


def fit_kernel(
    X: Matrix,
    kernel: str | KernelFunction,
    radius: float | str,
    n_neighbors: int | None,
    plan: Plan | None = None,
    workers: RemoteSamples | None = None,
) -> tuple[Gram, FittedKernel]:
    """The Gram of a kernel on the samples X, and the kernel with its width.

    With ``n_neighbors`` an entry is kept where one sample is among that many nearest of the
    other, and on the diagonal. ``workers``, who have the samples too, compare all pairs of them.
    """
    n = X.shape[0]
    if plan is None:
        room = None if workers is None else np.inf
        plan = make_plan(X.shape, X.dtype.itemsize, kernel, n_neighbors, room=room)
    if kernel == "cosine":
        X = normalize(X)
    wanted = neighbors_wanted(kernel, radius, n_neighbors)
    if wanted and n > 1:
        find = workers.neighbor_indices if workers is not None and plan.by_workers else None
        neighbors, d2 = nearest(X, wanted, approximate=plan.approximate, find=find)
    else:
        neighbors, d2 = np.empty((n, 0), np.intp), np.empty((n, 0), X.dtype)
    width, r = width_of(d2, kernel, radius)
    reach = reach_of(d2, n_neighbors) if n_neighbors and n > 1 else np.zeros(n, X.dtype)
    fitted = FittedKernel(kernel, X, r, n_neighbors, reach, width)
    if n_neighbors is None:
        return _all_pairs(kernel, X, r, plan, workers), fitted
    i, j = undirected_pairs(neighbors, d2 <= reach[:, None])
    if callable(kernel):
        K = _symmetric_call(kernel, X)
        return SparseGram(symmetric(i, j, K[i, j], K.diagonal())), fitted
    pairs, each = KERNELS[kernel].pairs, np.arange(n)
    values, diagonal = pairs(X, r, i, X, r, j), pairs(X, r, each, X, r, each)
    return SparseGram(symmetric(i, j, values, diagonal)), fitted


def _all_pairs(
    kernel: str | KernelFunction, X: Matrix, r: Array, plan: Plan, workers: RemoteSamples | None
) -> Gram:
    """K with all its entries: as an array, by tiles, of low rank, or on the workers."""
    if callable(kernel):
        return DenseGram(_symmetric_call(kernel, X))
    form = KERNELS[kernel]
    if plan.gram == "low-rank" and plan.exact:
        return LowRankGram(X)
    if workers is not None:
        return workers.gram(form, r)
    if plan.gram == "dense":
        return DenseGram(_dense(form, X, r, plan.max_memory))
    tiles = KernelTiles(form, X, r, X.dtype)
    if is_wide(form, tiles.mean()):
        tiles = replace(tiles, dtype=np.dtype(np.float64))
    if plan.gram == "low-rank":
        return nystrom(tiles)
    return TiledGram(tiles, tile_side(tiles.dtype.itemsize, plan.max_memory))


def _symmetric_call(kernel: KernelFunction, X: Matrix) -> Array:  # (n, n)
    K = _called(kernel, X, X)
    if DenseGram(K).asymmetry() > np.sqrt(np.finfo(K.dtype).eps):
        raise ValueError("kernel(X, X) is not symmetric; a kernel is.")
    return K


def _by_rows(
    kernel: Any, Y: Matrix, n: int, of_rows: Callable[[Matrix, Array], tuple[Array, Array]]
) -> tuple[Array, Array]:  # (m, k), (m,)
    """What becomes of k(y, x) and k(y, y), some rows y at a time."""
    some = slices(Y.shape[0], _CROSS // n) if Y.shape[0] else [slice(0)]
    parts = [of_rows(*kernel.cross(Y[rows, :])) for rows in some]
    xp = namespace(parts[0][0])
    return xp.concat([kW for kW, _ in parts]), xp.concat([own for _, own in parts])


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


def _dense(form: Kernel, X: Matrix, r: Array, max_memory: float | None) -> Array:
    K = form.dense(X, r, X, r)
    if K.dtype == np.float32 and is_wide(form, K.mean(dtype=np.float64)):
        del K
        memory.require(
            8.0 * X.shape[0] ** 2,
            f"The kernel matrix of {X.shape[0]} samples, so wide that it needs double precision,",
            memory.SMALLER_KERNEL,
            max_memory,
        )
        X, r = X.astype(np.float64), r.astype(np.float64)
        K = form.dense(X, r, X, r)
    # The distance of a sample to itself is zero, whatever rounding says.
    if form.profile is gaussian:
        np.fill_diagonal(K, 1)
    return K


def is_wide(form: Kernel, mean: float) -> bool:
    """Whether K is so close to constant that float32 would lose its squared distances."""
    return form.profile is gaussian and 1 - mean < WIDE


def _called(kernel: KernelFunction, X: Matrix, Y: Matrix) -> Array:  # (len(X), len(Y))
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


@dataclass(frozen=True)
class PrecomputedKernel:
    """A kernel known by its numbers only: new samples bring k(x_new, x) along.

    k(x_new, x_new) is not among them. It is at least max_j k(x_new, x_j)²/K_jj, and that for the
    samples of the fit; this stands in, or K_jj where all of them are the same.

    Attributes
    ----------
    diagonal : (n,) array, that of the kernel matrix
    """

    diagonal: Array
    width: None = None

    def cross(self, k: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        d, xp = self.diagonal, namespace(self.diagonal)
        if bool(xp.all(d == d[0])):
            ones = np.ones(k.shape[0], k.dtype) if on_host(k) else xp.ones_like(k[:, 0])
            return k, ones * d[0]
        each = xp.where(d > 0, 1 / xp.where(d > 0, d, 1), 0)
        if sparse.issparse(k):
            bounds = (k.multiply(k) @ sparse.diags_array(each)).max(axis=1)
            return k, bounds.toarray().ravel().astype(k.dtype)
        return k, xp.max(k * k * each, axis=1)

    def product(self, k: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        return k @ W, self.cross(k)[1]

    def nearest(self, k: Matrix, among: Array) -> Array:  # (m, n), (some,) -> (m,)
        """Of some samples of the fit, given by their places, the one most alike each new one."""
        k = to_host(k)
        return np.asarray(among[np.asarray(k[:, among].argmax(axis=1)).ravel()])


@dataclass(frozen=True)
class DiffusedKernel:
    """A kernel after diffusion: a new sample takes one step to the old ones, then as they do."""

    base: FittedKernel | PrecomputedKernel
    diffusion: Diffusion | SpectralDiffusion

    @property
    def width(self) -> Any:
        return self.base.width

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        return self.base.nearest(Y, among)

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        d = self.diffusion
        there = d.walk(d.c * W, d.steps - 1)
        xp = namespace(W)

        def of_rows(k: Matrix, own: Array) -> tuple[Array, Array]:
            step = _first_steps(k, inverse_root(d.degrees))
            length = xp.sqrt(xp.maximum(d.lengths(step), tiny(W)))
            return (step @ there) / length[:, None], xp.ones_like(own)

        return _by_rows(self.base, Y, W.shape[0], of_rows)


def _first_steps(k: Matrix, root: Array) -> Matrix:  # (m, n), (n, 1) -> (m, n)
    """From new samples to old ones: k(y, x) scaled as the steps S between old ones are."""
    if not on_host(k):
        return inverse_root(namespace(k).sum(k, axis=1)) * k * root[:, 0]
    k = sparse.csr_array(k)
    own = sparse.diags_array(inverse_root(k.sum(axis=1))[:, 0])
    return (own @ k @ sparse.diags_array(root[:, 0])).tocsr()
