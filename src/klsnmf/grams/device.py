"""K as an array on a device: all products are made there."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..core.arrays import cast, device_of, like, namespace, on_host, precision, to_host
from ..core.types import Array
from .dense import DenseGram


class DeviceGram(DenseGram):
    """A symmetric K of shape (n, n), an array of another library than numpy.

    Stacks and products live on its device. Arrays of the host may be multiplied too: they go there,
    and the product comes back.
    """

    def __init__(self, K: Any) -> None:
        xp, n = namespace(K), K.shape[0]
        self.K = K
        self.shape = (n, n)
        self.dtype = precision(K)
        self.flops = 2.0 * n**2
        self.diagonal = xp.asarray(xp.linalg.diagonal(K), copy=True)
        least, most = float(xp.min(K)), float(xp.max(K))
        self.largest = max(-least, most)
        self.nonnegative = least >= 0

    @cached_property
    def trace(self) -> float:
        return float(to_host(self.diagonal).sum(dtype=np.float64))

    def stack(self, fits: int, rows: int, k: int) -> Array:  # (fits, rows, k)
        xp = namespace(self.K)
        zeros = xp.zeros((fits, k, rows), dtype=self.K.dtype, device=device_of(self.K))
        return xp.matrix_transpose(zeros)

    def multiply(self, V: Array, out: Array) -> None:
        xp = namespace(self.K)
        fits, n, k = V.shape
        product = xp.reshape(xp.matrix_transpose(V), (fits * k, n)) @ self.K
        out[...] = xp.matrix_transpose(xp.reshape(product, (fits, k, n)))

    def hold(self, V: Array) -> Array:
        return like(V, self.K, self.K.dtype)

    def dot(self, V: Array) -> Array:  # (n, k) -> (n, k)
        if on_host(V):
            return np.asarray(to_host(self.dot(self.hold(V))))
        return (cast(V, self.K.dtype).T @ self.K).T

    def column(self, i: int) -> Array:
        return self.K[i, :]

    def square_sums(self, weights: Array) -> Array:
        return (self.K * self.K) @ weights

    @property
    def mean(self) -> float:
        return float(namespace(self.K).mean(self.K))


def gram_of(K: Any) -> DenseGram:
    """The Gram of an array, wherever it lives."""
    return DenseGram(K) if on_host(K) else DeviceGram(K)
