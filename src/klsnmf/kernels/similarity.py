"""Similarities: kernels fitted to samples, which compare them with new samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from ..core import arithmetic, arrays
from ..core.types import Array, Labels, Matrix
from ..core.work import side_by_side, tell, threads_for, threads_of_blas
from ..grams.base import Gram
from ..grams.diffused import Steps
from ..grams.sparse import Links
from ..grams.spectral import first_steps
from ..grams.weighted import WeightedGram
from .among import Among, near, near_wanted
from .functions import Kernel, KernelFunction, density, kernel_of

#: How many entries of k(X_new, X) are computed at once, and how many rows of few entries.
_CROSS = 2**25
_ROWS = 2**17

#: New samples for which a thread more is worth it.
_ROWS_PER_THREAD = 256


class Similarity(Protocol):
    """A kernel fitted to samples x, with all that is needed to compare new samples y with them.

    It holds no matrix of all pairs, unless new samples need it. A new kind inherits from it,
    defines ``rows`` and ``nearest``, and inherits ``SimilarityContract`` in the tests. With a
    precomputed kernel, y are rows k(y, x).
    """

    @property
    def width(self) -> Any:
        """What the user knows as the width: σ, each sample's radius, or None."""
        return None

    @property
    def steps(self) -> float | None:
        """Steps of diffusion; None without."""
        return None

    @property
    def samples(self) -> Matrix | None:
        """The samples x, if they are kept."""
        return None

    def at_once(self, n: int) -> int:
        """How many rows of n entries are made at once."""
        return _CROSS // n

    @abstractmethod
    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        """k(y, x) for new samples y and all x, and k(y, y).

        Samples of the fit get their rows of K again; some kinds allow small differences.
        """

    def make_ready(self) -> None:
        """Make what all rows need, before threads ask for them."""
        return None

    def order_of(self, Y: Matrix) -> Labels | None:  # (m, p) -> (m,)
        """An order of new samples in which rows are made faster, some at a time; None if any."""
        return None

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        """k(Y, X) W, and k(y, y)."""
        return _by_rows(self, Y, W.shape[0], lambda k, own: (k @ W, own))

    @abstractmethod
    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        """The nearest to each y among some samples of the fit, given by their places."""

    def host_copy(self) -> Similarity:
        """The same with numpy's arrays in place of device arrays."""
        record: Any = self
        moved = {f.name: arrays.host_copy(getattr(self, f.name)) for f in fields(record)}
        copy: Similarity = replace(record, **moved)
        return copy


@dataclass(frozen=True)
class View:
    """A similarity as a fit sees it: with the matrices K, which are not kept."""

    base: Gram  # that starts come from
    K: Gram  # to factorize
    kernel: Similarity  # for new samples
    local: bool = True  # whether a local term adds anything: lam="auto" is 0 where it does not

    def weighted(self, weight: Array) -> View:  # (n,)
        """The same for samples with weights, where K is that before diffusion."""
        K = WeightedGram(self.K, weight)
        return replace(self, base=K, K=K)


@dataclass(frozen=True)
class FittedKernel(Similarity):
    """A kernel with its width, on the samples it was fitted to."""

    kernel: str | KernelFunction
    X: Matrix  # (n, p)
    r: Array  # (n,), the radius of each sample
    n_neighbors: int | None  # how many are kept, None for all
    reach: Array  # (n,), the squared distance of each sample to the last neighbour it keeps
    width: Any = None
    search: str = "auto"  # of new samples' neighbours: "exact", or in cells among very many
    usual: float | None = None  # the radius where links count 1, if they count by density

    @property
    def samples(self) -> Matrix:
        return self.X

    @cached_property
    def among(self) -> Among:
        """The samples as new ones search them, made ready once."""
        return Among(self.X, near_wanted(self.n_neighbors), self.search)

    @property
    def form(self) -> Kernel:
        return kernel_of(self.kernel)

    @property
    def radii(self) -> str | None:
        """Whether each sample has a radius of its own, or all have one, or none."""
        return self.form.radii

    def at_once(self, n: int) -> int:
        listed = self.n_neighbors is not None and arrays.follows_lists(self.X)
        return _ROWS if listed else super().at_once(n)

    def make_ready(self) -> None:
        if self._searches:
            self.among.make_ready()

    def order_of(self, Y: Matrix) -> Labels | None:  # (m, p) -> (m,)
        return self.among.order_of(self.form.prepared(Y)) if self._searches else None

    @property
    def _searches(self) -> bool:
        """Whether new samples look for neighbours."""
        return self.n_neighbors is not None or self.form.radii == "each"

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        """Sparse if neighbours are kept, on a device with zeros."""
        form, X = self.form, self.X
        Y = form.prepared(Y)
        q = arrays.zeros(Y.shape[0], self.r) + self.r[0]
        if self._searches:
            kept, radii = near(Y, self.among, self.n_neighbors, self.reach, self.r)
            q = radii if form.radii == "each" else q
        if self.n_neighbors is not None:
            values = kept.entries(form, Y, q, X, self.r)
        else:
            values = form.dense(form.ready(Y, X), q, form.ready(X, X), self.r)
        values, own = arrays.of_one_type(values, Y), form.own(Y)
        if self.usual is None:
            return values, own
        here = density(q, self.usual)
        return arithmetic.times_sides(here, values, density(self.r, self.usual)), own * here**2

    def by_density(self, usual: float) -> FittedKernel:
        """k(x, y) times the density of samples around x and around y."""
        return replace(self, usual=usual)

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        if self.form.linear and self.n_neighbors is None:
            # ⟨Y, X⟩ W, and ⟨y, y⟩, by products with X and Y alone.
            X, Y, V = map(arrays.in_best_type, (self.X, self.form.prepared(Y), W))
            kW = arithmetic.product(Y, arithmetic.product(X.T, V))
            return arrays.of_one_type(kW, W), arrays.of_one_type(arithmetic.row_lengths(Y), W)
        return super().product(Y, W)

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        X, Y = arrays.to_host(self.X), self.form.prepared(arrays.to_host(Y))
        return _nearest(Y, X, among)

    def host_copy(self) -> FittedKernel:
        X, width = arrays.to_host(self.X), arrays.to_host(self.width)
        r, reach = (arrays.cast(arrays.to_host(each), X.dtype) for each in (self.r, self.reach))
        return replace(self, X=X, r=r, reach=reach, width=width)


@dataclass(frozen=True)
class PrecomputedKernel(Similarity):
    """A kernel that is known only by its numbers. New samples are given as k(x_new, x).

    k(x_new, x_new) is not given. It is at least max_j k(x_new, x_j)²/K_jj, with equality for the
    samples of the fit. This bound is used, or K_jj if all of them are equal.
    """

    diagonal: Array  # (n,), that of the kernel matrix
    width: None = None

    n_neighbors: ClassVar[None] = None
    radii: ClassVar[None] = None

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        d, xp = self.diagonal, arrays.namespace(self.diagonal)
        if bool(xp.all(d == d[0])):
            return Y, arrays.zeros(Y.shape[0], Y) + d[0]
        each = xp.where(d > 0, 1 / xp.where(d > 0, d, 1), 0)
        if sparse.issparse(Y):
            bounds = (Y.multiply(Y) @ sparse.diags_array(each)).max(axis=1)
            return Y, bounds.toarray().ravel().astype(Y.dtype)
        return Y, xp.max(Y * Y * each, axis=1)

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        return Y @ W, self.rows(Y)[1]

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, n), (some,) -> (m,)
        """The most similar one."""
        k = arrays.to_host(Y)
        return np.asarray(among[np.asarray(k[:, among].argmax(axis=1)).ravel()])


@dataclass(frozen=True)
class LinkedKernel(Similarity):
    """A kernel that keeps neighbours, and weighs links by the neighbours that are shared."""

    base: FittedKernel
    links: Links

    @property
    def r(self) -> Array:  # (n,)
        """The radius of each sample."""
        return self.base.r

    @property
    def usual(self) -> float | None:
        return self.base.usual

    def by_density(self, usual: float) -> LinkedKernel:
        return replace(self, base=self.base.by_density(usual))

    @property
    def samples(self) -> Matrix | None:
        return self.base.samples

    @property
    def width(self) -> Any:
        return self.base.width

    def at_once(self, n: int) -> int:
        return self.base.at_once(n)

    def make_ready(self) -> None:
        self.base.make_ready()

    def order_of(self, Y: Matrix) -> Labels | None:  # (m, p) -> (m,)
        return self.base.order_of(Y)

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        k, own = self.base.rows(Y)
        return self.links.weighed(k), own

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        return self.base.nearest(Y, among)


@dataclass(frozen=True)
class CopiedKernel(Similarity):
    """A kernel fitted to distinct samples, for all samples of which some are equal.

    A new sample is as similar to a copy as to its original.
    """

    base: LinkedKernel
    which: Array  # (n,), the place of each sample among the distinct ones

    @property
    def samples(self) -> Matrix | None:
        samples = self.base.samples
        return None if samples is None else arrays.at(samples, self.which)

    @property
    def width(self) -> Any:
        return arrays.at(self.base.width, self.which)

    @property
    def r(self) -> Array:  # (n,)
        """The radius of each sample."""
        return arrays.at(self.base.r, self.which)

    @property
    def usual(self) -> float | None:
        return self.base.usual

    def by_density(self, usual: float) -> CopiedKernel:
        return replace(self, base=self.base.by_density(usual))

    def at_once(self, n: int) -> int:
        return self.base.at_once(n)

    def make_ready(self) -> None:
        self.base.make_ready()

    def order_of(self, Y: Matrix) -> Labels | None:  # (m, p) -> (m,)
        return self.base.order_of(Y)

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        k, own = self.base.rows(Y)
        return arrays.at(k, self.which, axis=1), own

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        distinct, first = np.unique(arrays.to_host(self.which)[among], return_index=True)
        found = self.base.nearest(Y, distinct)
        return np.asarray(among[first[np.searchsorted(distinct, found)]])


@dataclass(frozen=True)
class DiffusedKernel(Similarity):
    """A kernel after diffusion. A new sample takes one step to the old ones, then continues there.

    Samples of the fit get their rows again, except for what the eigenvectors leave out if diffusion
    uses them. k(y, y) = 1 if a sample resembles no other.
    """

    base: Similarity
    diffusion: Steps

    @property
    def samples(self) -> Matrix | None:
        return self.base.samples

    @property
    def width(self) -> Any:
        return self.base.width

    @property
    def steps(self) -> float:
        return self.diffusion.steps

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        c = self.diffusion.c
        return self.product(Y, arrays.identity(c.shape[0], c))

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        d = self.diffusion
        there = d.walk_on(d.scale * W)
        xp = arrays.namespace(W)

        def of_rows(k: Matrix, own: Array) -> tuple[Array, Array]:
            step = first_steps(k, d.degrees)
            return d.of_new(step @ there, xp.maximum(d.lengths(step), arrays.tiny(W)))

        return _by_rows(self.base, Y, W.shape[0], of_rows)

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        return self.base.nearest(Y, among)


@dataclass(frozen=True)
class LiftedKernel(Similarity):
    """⟨x - m, y - m⟩ + h²: the linear kernel of samples that are lifted by h above their mean m.

    If h is large, every sample has the same weight in the leading eigenvector of its cluster, and
    exact steps at λ = 0 are those of k-means: a cluster c explains n_c h² + n_c ‖mean_c - m‖², up
    to a part that falls with h². If h is at least the length of every sample, no entry is negative.
    """

    X: Matrix  # (n, p)
    mean: Array  # (p,), zero for a sparse X, which stays sparse so
    height: float

    @property
    def samples(self) -> Matrix:
        return self.X

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        Y = self.centred(Y)
        k = Y @ self.centred(self.X).T
        k = k.toarray() if sparse.issparse(k) else k
        return k + self.height**2, arithmetic.row_lengths(Y) + self.height**2

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        Y, xp = self.centred(Y), arrays.namespace(W)
        kW = arithmetic.product(Y, arithmetic.product(self.centred(self.X).T, W))
        lifted = self.height**2
        return kW + lifted * xp.sum(W, axis=0), arithmetic.row_lengths(Y) + lifted

    def centred(self, Y: Matrix) -> Matrix:
        return Y if sparse.issparse(Y) else Y - self.mean

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        X, Y = arrays.to_host(self.X), arrays.to_host(Y)
        return _nearest(Y, X, among)


@dataclass(frozen=True)
class MixedKernel(Similarity):
    """Σ β_m k_m; ``weights`` include the scales of the kernels."""

    parts: Sequence[Similarity]
    weights: Sequence[float]

    @property
    def samples(self) -> Matrix | None:
        return self.parts[0].samples

    def rows(self, Y: Matrix) -> tuple[Matrix, Array]:  # (m, n), (m,)
        return self._total([part.rows(Y) for part in self.parts])

    def product(self, Y: Matrix, W: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        return self._total([part.product(Y, W) for part in self.parts])

    def _total(self, found: Sequence[tuple[Matrix, Array]]) -> tuple[Matrix, Array]:
        """Sums of both, of a type that holds them all."""
        pairs = list(zip(self.weights, found, strict=True))
        values, own = ([weight * each[i] for weight, each in pairs] for i in range(2))
        return reduce(add, values), reduce(add, own)

    def nearest(self, Y: Matrix, among: Array) -> Array:  # (m, p), (some,) -> (m,)
        """By the first kernel: a sample that is near in no kernel has no better judge."""
        return self.parts[0].nearest(Y, among)


def _nearest(Y: Matrix, X: Matrix, among: Array) -> Array:  # (m, p), (n, p), (some,) -> (m,)
    """For each y the nearest of some samples of X."""
    with threads_for(2.0 * Y.shape[0] * len(among) * X.shape[1]):
        return np.asarray(among[pairwise_distances_argmin(Y, X[among])])


def _by_rows(
    kernel: Similarity, Y: Matrix, n: int, of_rows: Callable[[Matrix, Array], tuple[Array, Array]]
) -> tuple[Array, Array]:  # (m, k), (m,)
    """What becomes of k(y, x) and k(y, y), some rows y at a time, on the host over threads."""
    host, m = arrays.follows_lists(Y), Y.shape[0]
    threads = threads_of_blas(m // _ROWS_PER_THREAD) if host else 1
    rows_at_once = min(kernel.at_once(n), -(-m // threads))
    some = list(arrays.slices(m, rows_at_once)) if m else [slice(0, 0)]
    kernel.make_ready()
    order = kernel.order_of(Y) if len(some) > 1 else None
    parts, done = dict[int, tuple[Array, Array]](), 0

    def work(places: range) -> None:
        nonlocal done
        for place in places:
            rows = some[place]
            mine = Y[rows, :] if order is None else Y[order[rows]]
            parts[place] = of_rows(*kernel.rows(mine))
            done += rows.stop - rows.start
            tell("new samples", done, m)

    side_by_side(work, [range(t, len(some), threads) for t in range(threads)])
    xp = arrays.namespace(parts[0][0])
    kW, own = zip(*(parts[place] for place in range(len(some))), strict=True)
    kW, own = xp.concat(kW), xp.concat(own)
    if order is None:
        return kW, own
    back = np.argsort(order)
    return kW[back], own[back]
