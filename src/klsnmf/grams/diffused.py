"""Diffusion: alike is also what can be reached in a few steps from one sample to the next.

S = Deg^-½ K Deg^-½ is one step, S^t are t of them, and K_t is S^t scaled to unit diagonal. For even
t it is positive semidefinite whatever the signs of the eigenvalues of K, its squared distances
are never negative, and the objective is a better judge of starts than with K itself.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from .._typing import Array
from .base import Gram
from .dense import DenseGram
from .sparse import SparseGram

#: Up to this many samples K_t is formed: one dense product is faster than t sparse ones there.
_SMALL = 4000

#: Rows of S^(t/2) computed together when only their lengths are wanted.
_ROWS = 2048


class DiffusedGram(Gram):
    """K_t for a sparse K ≥ 0 and an even number of steps, never formed: K_t V = c∘S(S(…(c∘V)))."""

    order = "C"

    def __init__(self, base: SparseGram, steps: int) -> None:
        if steps < 2 or steps % 2:
            raise ValueError(f"steps={steps}; diffusion takes an even number of steps, 2 or more.")
        self.S = normalized(base.K)
        self.steps = steps
        self.shape, self.dtype = base.shape, base.dtype
        self.flops = steps * base.flops
        self.c = (1 / np.sqrt(_diagonal_of_power(self.S, steps))).astype(self.dtype)[:, None]
        self.diagonal = np.ones(self.shape[0], self.dtype)
        self.largest, self.nonnegative = 1.0, True

    def multiply(self, V: Array, out: Array) -> None:
        for block, product in zip(V, out, strict=True):
            product[...] = self.spread(block)

    def spread(self, V: Array) -> Array:  # (n, k) -> (n, k)
        V = self.c * V
        for _ in range(self.steps):
            V = self.S @ V
        return self.c * V

    def column(self, i: int) -> Array:
        unit = np.zeros((self.shape[0], 1), self.dtype)
        unit[i] = 1
        return self.spread(unit)[:, 0]

    @cached_property
    def positive(self) -> Gram:
        return self

    def smallest_distance(self) -> float:
        return 0.0


def diffused(base: SparseGram, steps: int) -> Gram:
    """The Gram of K_t, formed if there are few samples."""
    lazy = DiffusedGram(base, steps)
    if lazy.shape[0] > _SMALL:
        return lazy
    half = np.asarray(lazy.c * sparse.linalg.matrix_power(lazy.S, steps // 2).toarray())
    K = half @ half.T
    K *= np.sqrt(np.finfo(K.dtype).tiny) < K  # no subnormal products later
    np.fill_diagonal(K, 1)
    return DenseGram(K)


def normalized(K: sparse.csr_array) -> sparse.csr_array:
    """S = Deg^-½ K Deg^-½."""
    root = 1 / np.sqrt(K.sum(axis=1))
    scale = sparse.diags_array(root.astype(K.dtype))
    return (scale @ K @ scale).tocsr()


def _diagonal_of_power(S: sparse.csr_array, steps: int) -> Array:  # (n,)
    """The diagonal of S^t: squared lengths of the rows of S^(t/2), some rows at a time."""
    diagonal = np.empty(S.shape[0])
    for start in range(0, S.shape[0], _ROWS):
        rows = S[start : start + _ROWS]
        for _ in range(steps // 2 - 1):
            rows = rows @ S
        diagonal[start : start + _ROWS] = rows.multiply(rows).sum(axis=1)
    return diagonal
