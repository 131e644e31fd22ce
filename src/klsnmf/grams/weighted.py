"""Sums of several kernel matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.arrays import on_host
from ..core.types import Matrix
from .array import DenseGram
from .base import Gram
from .sparse import SparseGram


def matrix_for_sum(K: Gram) -> Matrix:  # (n, n)
    """All entries of K, if there is room for them."""
    if not K.stored:  # unit vectors, in the order of the product too, and K
        _require(K.shape[0], 3 * K.dtype.itemsize)
    return K.entries()


def weighted_sum(matrices: Sequence[Matrix], weights: Sequence[float]) -> DenseGram | SparseGram:
    """Σ w_m M_m; sparse if all matrices are."""
    pairs = list(zip(weights, matrices, strict=True))
    if all(sparse.issparse(matrix) for matrix in matrices) or not on_host(matrices[0]):
        total = pairs[0][0] * pairs[0][1]
        for weight, matrix in pairs[1:]:
            total = total + weight * matrix
        return SparseGram(sparse.csr_array(total)) if sparse.issparse(total) else DenseGram(total)
    n, dtype = matrices[0].shape[0], np.result_type(*[matrix.dtype for matrix in matrices])
    _require(n, 2 * dtype.itemsize)  # the sum, and a part of it
    dense = np.zeros((n, n), dtype)
    for weight, matrix in pairs:
        dense += weight * (matrix.toarray() if sparse.issparse(matrix) else matrix)
    return DenseGram(dense)


def _require(n: int, itemsize: int) -> None:
    """Refuse matrices that would not fit, of so many bytes an entry in all of them together."""
    memory.require(
        float(n) ** 2 * itemsize,
        f"The sum of several kernels of {n} samples",
        "Use one kernel, or fit a part of the rows.",
    )
