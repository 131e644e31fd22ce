"""Kernels on the samples they were fitted to: what they say of new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from ..core.arrays import namespace, on_host, slices, tiny, to_host
from ..core.types import Array, Matrix
from ..grams import Diffusion, Links, SpectralDiffusion
from ..grams.data import Data
from ..grams.normalized import inverse_root
from .functions import KERNELS, SCALE_NEIGHBOR, KernelFunction, called
from .neighbors import SURPLUS, TIE, squared_distances

#: Distances held at once between new samples and old ones.
_BLOCK = 2**23

#: Entries of k(X_new, X) made at once.
_CROSS = 2**25


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
            k = called(self.kernel, Y, self.X)
            own = np.array([called(self.kernel, Y[[e]], Y[[e]])[0, 0] for e in each], Y.dtype)
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


def linear_product(X: Matrix, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
    """⟨Y, X⟩ W, and ⟨y, y⟩, by products with X and Y alone."""
    prototypes = np.asarray(safe_sparse_dot(X.T, W))
    return np.asarray(safe_sparse_dot(Y, prototypes)), Data(Y).row_square_sums


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
class LinkedKernel:
    """A kernel that keeps neighbours, and weighs links by the neighbours that are shared."""

    base: FittedKernel
    links: Links

    @property
    def width(self) -> Any:
        return self.base.width

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        return self.base.nearest(Y, among)

    def cross(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        k, own = self.base.cross(Y)
        return self.links.weighed(k), own


@dataclass(frozen=True)
class DiffusedKernel:
    """A kernel after diffusion: a new sample takes one step to the old ones, then as they do."""

    base: FittedKernel | LinkedKernel | PrecomputedKernel
    diffusion: Diffusion | SpectralDiffusion

    @property
    def width(self) -> Any:
        return self.base.width

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        return self.base.nearest(Y, among)

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        d = self.diffusion
        there = d.walk_on(d.c * W)
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


def _by_rows(
    kernel: Any, Y: Matrix, n: int, of_rows: Callable[[Matrix, Array], tuple[Array, Array]]
) -> tuple[Array, Array]:  # (m, k), (m,)
    """What becomes of k(y, x) and k(y, y), some rows y at a time."""
    some = slices(Y.shape[0], _CROSS // n) if Y.shape[0] else [slice(0)]
    parts = [of_rows(*kernel.cross(Y[rows, :])) for rows in some]
    xp = namespace(parts[0][0])
    return xp.concat([kW for kW, _ in parts]), xp.concat([own for _, own in parts])
