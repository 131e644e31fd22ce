"""How the matrix of a kernel is made: sparse, as an array, by tiles, of low rank, on workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.preprocessing import normalize

from ..core import memory
from ..core.types import Array, Matrix
from ..grams import DenseGram, Gram, LowRankGram, SparseGram, TiledGram
from ..grams.tiled import tile_side
from .functions import (
    KERNELS,
    Kernel,
    KernelFunction,
    called,
    gaussian,
    is_wide,
    neighbors_wanted,
    width_of,
)
from .neighbors import nearest, reach_of, symmetric, undirected_pairs
from .plan import Plan, make_plan
from .similarity import FittedKernel
from .tiles import KernelTiles, nystrom

if TYPE_CHECKING:
    from .engines import RemoteSamples


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


def _symmetric_call(kernel: KernelFunction, X: Matrix) -> Array:  # (n, n)
    K = called(kernel, X, X)
    if DenseGram(K).asymmetry() > np.sqrt(np.finfo(K.dtype).eps):
        raise ValueError("kernel(X, X) is not symmetric; a kernel is.")
    return K
