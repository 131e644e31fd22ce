"""Products and sums of tall and sparse matrices, at the speed of the machine."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .arrays import namespace, on_host
from .threads import allowed_threads, side_by_side
from .types import Array

#: A thread more is worth its start for this many products of two numbers, about a millisecond.
_PRODUCTS_PER_THREAD = 5e6


def times(K: sparse.csr_array, V: Array) -> Array:  # (m, n), (n, k) -> (m, k)
    """K @ V; scipy multiplies on one thread, so parts of the rows are given a thread each."""
    useful = 1 + int(K.nnz * V.shape[1] // _PRODUCTS_PER_THREAD)
    threads = min(useful, allowed_threads().get("blas", 1))
    if threads == 1:
        return np.asarray(K @ V)
    out = np.empty((K.shape[0], V.shape[1]), np.result_type(K, V))

    def work(part: tuple[slice, sparse.csr_array]) -> None:
        rows, matrix = part
        out[rows] = matrix @ V

    side_by_side(work, row_parts(K, threads))
    return out


def row_parts(K: sparse.csr_array, count: int) -> list[tuple[slice, sparse.csr_array]]:
    """Some rows each, with about as many entries; views, no copies."""
    aims = np.linspace(0, K.nnz, count + 1)[1:-1]
    edges = [0, *np.searchsorted(K.indptr, aims).tolist(), K.shape[0]]
    parts = []
    for start, stop in pairwise(edges):
        first, last = K.indptr[start], K.indptr[stop]
        entries = K.data[first:last], K.indices[first:last], K.indptr[start : stop + 1] - first
        parts.append(
            (slice(start, stop), sparse.csr_array(entries, shape=(stop - start, K.shape[1])))
        )
    return parts


def row_lengths(A: Any) -> Array:  # (m, n) -> (m,)
    """The squared lengths of the rows."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    if not on_host(A):
        return namespace(A).sum(A * A, axis=1)
    return np.asarray(np.einsum("ij,ij->i", A, A))
