"""A neighbour graph: symmetric weights A ≥ 0, its degrees, and products with it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import cast, namespace, on_host
from ..core.types import Array, Matrix
from .array import DenseGram
from .base import Gram, Weights
from .sparse import SparseGram


class Graph(Weights):
    """The symmetric weights A of a graph of n samples, in CSR form or an array on a device."""

    def __init__(self, A: Matrix, degrees: Array | None = None) -> None:
        if degrees is not None:
            self.degrees = degrees
        self.weights = SparseGram(A) if sparse.issparse(A) else DenseGram(A)
        self.shape, self.dtype = self.weights.shape, self.weights.dtype
        self.order, self.flops = self.weights.order, self.weights.flops

    def multiply(self, V: Array, out: Array) -> None:
        self.weights.multiply(V, out)

    def stack(self, fits: int, rows: int, k: int) -> Array:
        return self.weights.stack(fits, rows, k)

    def hold(self, V: Array) -> Array:
        return self.weights.hold(V)

    def dot(self, V: Array) -> Array:
        return self.weights.dot(V)

    @cached_property
    def degrees(self) -> Array:  # (n, 1)
        A = self.weights.K
        if sparse.issparse(A):
            return np.asarray(A.sum(axis=1), self.dtype).reshape(-1, 1)
        return namespace(A).sum(A, axis=1)[:, None]

    def in_single_precision(self) -> Graph:
        single = namespace(self.weights.K).float32
        return Graph(cast(self.weights.K, single), cast(self.degrees, single))

    def weighted(self, weight: Array | None) -> Graph:  # (n,)
        """The graph of samples with weights ω: Ω^½AΩ^½, with the degrees of A among all copies."""
        if weight is None:
            return self
        root, A = sparse.diags_array(np.sqrt(weight)), self.weights.K
        return Graph((root @ A @ root).tocsr(), (A @ weight)[:, None])

    def beside(self, K: Gram) -> Graph:
        """The same graph where products with K are made: sparse, or as an array on a device."""
        A: Any = self.weights.K
        return self if on_host(K.diagonal) else Graph(K.hold(A.toarray()))
