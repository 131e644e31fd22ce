"""From parameters and samples to a similarity and its matrix: first a plan, then the Gram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..core import arrays, memory
from ..core.arithmetic import all_distances, centred, filled_share
from ..core.spellings import spelled_now
from ..core.types import Array, Matrix
from ..core.work import stage
from ..grams.array import DenseGram
from ..grams.base import Gram
from ..grams.diffused import diffuse, diffuse_enough
from ..grams.graph import Graph
from ..grams.low_rank import LowRankGram
from ..grams.sparse import SparseGram, weigh_links
from ..grams.tiled import TiledGram, tile_side
from .cells import Cells, Division
from .copies import copies_in
from .functions import KERNELS, KernelFunction, kernel_of, neighbors_wanted, width_of
from .graphs import NeighborGraphs, Numbers, numbers_of_neighbors
from .inputs import check_definite, check_gram, check_graph, precomputed_gram
from .neighbors import (
    binary_graph,
    how_many_neighbors,
    nearest,
    nearest_distances,
    reach_of,
    symmetric,
    undirected_pairs,
)
from .plan import Plan, choose_search, make_plan, plan_there, require_memory
from .search import Search, search_among
from .similarity import (
    DiffusedKernel,
    FittedKernel,
    LinkedKernel,
    PrecomputedKernel,
    Similarity,
    View,
)
from .tiles import KernelTiles, nystrom
from .workers import RemoteSamples

#: How many entries of K are computed together on a device.
_BLOCK = 2**23


@dataclass(frozen=True)
class KernelSettings:
    """The parameters of a kernel and of its matrix, and what they make of samples.

    Fields are like the parameters of estimators with the same names. ``kernel`` may be a list, and
    ``gram`` may be "samples": see ``make_plan``. ``workers`` have the samples too.
    """

    kernel: Any
    radius: float | str = "auto"
    n_neighbors: int | str | None = None
    diffusion: int | str = 0
    sizes: str | None = None
    gram: str = "auto"
    max_memory: float | None = None
    neighbor_search: str = "auto"
    verbose: int = 0
    workers: RemoteSamples | None = None

    @classmethod
    def of(cls, estimator: Any, **fixed: Any) -> KernelSettings:
        """The parameters of an estimator with these names, and settings that it fixes."""
        names = [field.name for field in fields(cls) if hasattr(estimator, field.name)]
        given = {name: spelled_now(name, getattr(estimator, name)) for name in names}
        return cls(**given | fixed)

    @property
    def kernels(self) -> list[Any]:
        """The kernels, one or several."""
        if not isinstance(self.kernel, list | tuple):
            return [self.kernel]
        if not self.kernel:
            raise ValueError("kernel is an empty list; it must hold at least one kernel.")
        for kernel in self.kernel:
            if not callable(kernel) and kernel not in KERNELS:
                raise ValueError(
                    f"kernel={self.kernel!r} holds {kernel!r}; a list of kernels holds functions "
                    f"and names among {', '.join(KERNELS)}."
                )
        return list(self.kernel)

    @property
    def counts(self) -> bool:
        """Whether the kernel depends on how many samples are near, so that copies are needed."""
        if len(self.kernels) > 1 or self.diffusion not in (0, "auto", "unweighted"):
            return True
        kernel, kept = self.kernels[0], self.n_neighbors
        if kernel == "precomputed":
            return False
        some = None if kept is None or isinstance(kept, str) else kept
        return neighbors_wanted(kernel_of(kernel), self.radius, some) > 0

    def views(self, X: Matrix, unit: float, k: int | None, *, local: bool) -> list[View]:
        """Each kernel on the samples X, given in this unit.

        With k = None as far as it does not depend on the number of clusters. ``local`` says
        whether distances are wanted, which must not be negative then.
        """
        return [self._view(kernel, X, unit, k, local) for kernel in self.kernels]

    @memory.explained("The kernel matrix", memory.SMALLER_KERNEL)
    def _view(self, kernel: Any, X: Matrix, unit: float, k: int | None, local: bool) -> View:
        base, fitted = self._fit(kernel, X, unit, k)
        check_gram(base, local=local)
        if not base.nonnegative and (kernel == "precomputed" or callable(kernel)):
            check_definite(base)
        return View(base, base, fitted) if k is None else self._diffused(base, fitted, k)

    @memory.explained("The kernel matrix", memory.SMALLER_KERNEL)
    def graphs(self, X: Matrix, k: int) -> NeighborGraphs | None:
        """Graphs of one search, to choose from; None where parameters leave no choice."""
        kernel, sparse = self.kernels[0], self.n_neighbors is not None and self.gram == "auto"
        lone = len(self.kernels) == 1 and kernel != "precomputed" and not callable(kernel)
        each = lone and kernel_of(kernel).radii == "each"
        if not (self.diffusion == "auto" and self.sizes is not None and sparse and each):
            if self.sizes == "free":
                raise ValueError(
                    'sizes="free" is for neighbour graphs: it needs diffusion="auto", '
                    'kernel="self-tuning", gram="auto" and n_neighbors.'
                )
            return None
        home, X = X, arrays.to_host(X)
        given: Any = self.n_neighbors
        copies, workers, there_too = copies_in(X), self.workers, home
        if copies is not None:
            X, workers = X[copies.distinct], None  # workers know all samples
            there_too = arrays.at(home, arrays.like(copies.distinct, home))
        among = search_among(X)
        by_rule = given == "auto"
        numbers = numbers_of_neighbors(X, k, search=among) if by_rule else Numbers(int(given))
        there = None
        if not arrays.follows_lists(home):
            plan = self._plan(kernel, home, numbers.usual)
            require_memory(home, 7, "Diffusion", "Set diffusion=0, or fit a part of the rows.")
            there = partial(fit_kernel, there_too, kernel, "auto", plan=plan)
        plan = self._plan(kernel, X, numbers.most)
        if self.verbose:
            print("; ".join(plan.reasons))
        division: Division | None = None

        def told(cells: Cells) -> None:
            nonlocal division
            division = cells.division
            if self.verbose:
                print(cells)

        found = search(X, kernel, "auto", numbers.most, plan, workers, among, told)
        made: Any = {"plan": plan, "workers": workers, "found": found, "division": division}
        fit = partial(fit_kernel, X, kernel, "auto", **made)
        return NeighborGraphs(numbers, home, fit, k, there, copies=copies)

    def _fit(
        self, kernel: Any, X: Matrix, unit: float, k: int | None
    ) -> tuple[Gram, FittedKernel | PrecomputedKernel]:
        """The kernel before diffusion."""
        if kernel == "precomputed":
            K = precomputed_gram(X)
            return K, PrecomputedKernel(K.diagonal)
        radius = self.radius if self.radius == "auto" else float(self.radius) / unit
        n_neighbors: Any = self.n_neighbors
        if n_neighbors == "auto":
            sparse = kernel_of(kernel).radii == "each" and self.gram == "auto"
            n_neighbors = how_many_neighbors(X.shape[0], k) if sparse else None
        plan = self._plan(kernel, X, n_neighbors)
        if self.verbose:
            print("; ".join(plan.reasons))
        return fit_kernel(X, kernel, radius, n_neighbors, plan, self.workers)

    def _plan(self, kernel: Any, X: Matrix, n_neighbors: int | None) -> Plan:
        if not arrays.follows_lists(X):
            return plan_there(X, self.gram, self.neighbor_search, self.max_memory)
        undiffused = self.diffusion in (0, "auto", "unweighted")
        plan = make_plan(
            X.shape,
            X.dtype.itemsize,
            kernel,
            n_neighbors,
            gram=self.gram,
            max_memory=self.max_memory,
            neighbor_search=self.neighbor_search,
            room=None if self.workers is None else self.workers.workers.memory(),
            filled=filled_share(X),
            nonnegative=kernel_of(kernel).nonnegative(X),
            sparse=issparse(X),
            by_samples=undiffused and len(self.kernels) == 1,
        )
        return replace(plan, asked=self.neighbor_search)

    def _diffused(self, base: Gram, fitted: FittedKernel | PrecomputedKernel, k: int) -> View:
        """K after some steps of diffusion, if there are any; "auto" weighs links too."""
        steps: Any = self.diffusion
        by_rule = isinstance(steps, str)
        if steps == 0 or (by_rule and fitted.radii != "each"):
            return View(base, base, fitted)
        if not base.nonnegative:
            raise ValueError(
                f"diffusion={steps} needs a kernel with no negative entry, and this one has some: "
                "set diffusion=0."
            )
        if not arrays.follows_lists(base.diagonal):
            remedy = "Set diffusion=0, or fit a part of the rows."
            require_memory(base.entries(), 7, "Diffusion", remedy)
        first: Similarity = fitted
        if steps == "auto" and fitted.n_neighbors is not None:
            base, links = weigh_links(base)
            first = LinkedKernel(fitted, links)
        K, diffusion = diffuse_enough(base, k) if by_rule else diffuse(base, steps, k)
        if self.verbose:
            print(f"{diffusion.steps} steps of diffusion, by {diffusion.way}")
        # Starts come from K before diffusion, where that is not the more expensive of the two.
        return View(K if diffusion.cheaper else base, K, DiffusedKernel(first, diffusion))

    def graph(self, graph_neighbors: Any, X: Matrix | None, K: Gram) -> Graph:
        """The graph of GLS-NMF, where K is: nearest neighbours of samples, or a matrix."""
        if not isinstance(graph_neighbors, Integral):
            arrays.require_same_place(graph_neighbors, "graph_neighbors", K.diagonal, "X")
            return check_graph(graph_neighbors, K.shape[0], K.dtype)
        if X is None:
            raise ValueError(
                'graph_neighbors is a number, and with kernel="precomputed" there are no samples '
                "to find neighbours of: give the graph as a matrix."
            )
        approximate, *_ = choose_search(X.shape, self.neighbor_search, filled=filled_share(X))
        X = X.astype(K.dtype, copy=False)
        return binary_graph(X, int(graph_neighbors), approximate=approximate).beside(K)


def fit_kernel(
    X: Matrix,
    kernel: str | KernelFunction,
    radius: float | str,
    n_neighbors: int | None,
    plan: Plan | None = None,
    workers: RemoteSamples | None = None,
    found: tuple[Array, Array] | None = None,
    division: Division | None = None,
) -> tuple[Gram, FittedKernel]:
    """The Gram of a kernel on the samples X, and the kernel with its width.

    With ``n_neighbors`` an entry is kept where one sample is among that many nearest of the
    other, and on the diagonal. ``workers``, who have the samples too, compare all pairs of them.
    ``found`` are the neighbours of a search, if it was made: as many as asked for, or more; and
    ``division`` is that of the samples into cells, if it made one.
    """
    n, form = X.shape[0], kernel_of(kernel)
    if plan is None and arrays.follows_lists(X):
        room = None if workers is None else np.inf
        plan = make_plan(X.shape, X.dtype.itemsize, kernel, n_neighbors, room=room)
    plan = plan or plan_there(X, "auto", "auto", None)
    neighbors, d2 = found or search(X, kernel, radius, n_neighbors, plan, workers)
    X = form.prepared(X)
    width, r = width_of(d2, form, radius)
    reach = reach_of(d2, n_neighbors) if n_neighbors and n > 1 else np.zeros(n, d2.dtype)
    if form.radii == "each":
        width = arrays.cast(arrays.like(width, X), X.dtype)
    radii, reaches = arrays.like(r, X), arrays.like(reach, X)
    fitted = FittedKernel(kernel, X, radii, n_neighbors, reaches, width, plan.asked)
    if plan.gram == "blocks":
        return _in_blocks(fitted), fitted
    if n_neighbors is None:
        return _all_pairs(fitted, plan, workers), fitted
    kept = d2 <= reach[:, None]
    i, j, places = undirected_pairs(neighbors, kept)
    values, diagonal = form.kept(X, r, i, j, d2[kept][places])
    near = None
    if division is not None:
        near = np.concatenate(division.members)
        fitted.among.division = division
    return SparseGram(symmetric(i, j, values, diagonal), near), fitted


def search(
    X: Matrix,
    kernel: str | KernelFunction,
    radius: float | str,
    n_neighbors: int | None,
    plan: Plan,
    workers: RemoteSamples | None = None,
    among: Search | None = None,
    told: Callable[[Cells], None] | None = None,
) -> tuple[Array, Array]:  # (n, m), (n, m)
    """The neighbours that a kernel needs, nearest first, and squared distances.

    ``among`` is a search among X that was begun already, and ``told`` gets the cells of an
    approximate one.
    Of samples on a device distances alone: K has all entries there.
    """
    n, form = X.shape[0], kernel_of(kernel)
    among = None if form.unit_length else among
    X, wanted = form.prepared(X), min(neighbors_wanted(form, radius, n_neighbors), n - 1)
    none = np.empty((n, 0), np.intp)
    if plan.gram == "blocks":
        return none, nearest_distances(X, wanted)
    if not wanted:
        return none, np.empty((n, 0), X.dtype)
    find = workers.neighbor_indices if workers is not None and plan.by_workers else None
    with stage("neighbours"):
        return nearest(X, wanted, approximate=plan.approximate, find=find, search=among, told=told)


def _all_pairs(fitted: FittedKernel, plan: Plan, workers: RemoteSamples | None) -> Gram:
    """K with all its entries: as an array, by tiles, of low rank, or on the workers."""
    form, X, r = fitted.form, fitted.X, fitted.r
    if plan.gram == "low-rank" and plan.exact:
        return LowRankGram(X)
    if workers is not None:
        return workers.gram(form, r)
    if plan.gram == "dense":
        return DenseGram(_dense(fitted, plan.max_memory))
    tiles = KernelTiles(form, X, r, X.dtype)
    if form.is_wide(tiles.mean()):
        tiles = replace(tiles, dtype=np.dtype(np.float64))
    if plan.gram == "low-rank":
        return nystrom(tiles)
    return TiledGram(tiles, tile_side(tiles.dtype.itemsize, plan.max_memory))


def _dense(fitted: FittedKernel, max_memory: float | None) -> Array:  # (n, n)
    form, X, r = fitted.form, fitted.X, fitted.r
    K = form.matrix(X, r)
    if K.dtype == np.float32 and form.is_wide(arrays.mean_entry(K)):
        del K
        memory.require(
            8.0 * X.shape[0] ** 2,
            f"The kernel matrix of {X.shape[0]} samples, so wide that it needs double precision,",
            memory.SMALLER_KERNEL,
            max_memory,
        )
        K = form.matrix(X.astype(np.float64), r.astype(np.float64))
    return K


def _in_blocks(fitted: FittedKernel) -> DenseGram:
    """K as an array on the device of the samples, made there some rows at a time.

    It has all entries, even where neighbours are asked for: the others are zero.
    """
    form, X, n, reach = fitted.form, fitted.X, fitted.X.shape[0], fitted.reach
    xp, entries, points = arrays.namespace(X), form.blocks(X, fitted.r), centred(X, X)

    def block(i: slice, j: slice) -> Array:
        values = entries(i, j)
        if fitted.n_neighbors is None:
            return values
        d2 = all_distances(points[i, :], points[j, :])
        return xp.where((d2 <= reach[i][:, None]) | (d2 <= reach[j]), values, 0)

    K = _symmetric(n, X, X.dtype, block)
    wide = fitted.n_neighbors is None and form.is_wide(arrays.mean_entry(K))
    if wide and X.dtype == xp.float32:
        K = _symmetric(n, X, arrays.widest(X), block)
    if form.of_distance:
        arrays.set_diagonal(K, form.own_value)
    return DenseGram(K)


def _symmetric(
    n: int, home: Array, dtype: Any, block: Callable[[slice, slice], Array]
) -> Array:  # (n, n)
    """A symmetric array from the blocks of its rows from the diagonal on."""
    K = arrays.namespace(home).empty((n, n), dtype=dtype, device=arrays.device_of(home))
    for rows in arrays.slices(n, _BLOCK // n):
        columns = slice(rows.start, n)
        values = arrays.cast(block(rows, columns), dtype)
        K[rows, columns] = values
        K[columns, rows] = values.T
        own = values[:, : values.shape[0]]
        K[rows, rows] = (own + own.T) / 2  # both are right up to rounding
    return K
