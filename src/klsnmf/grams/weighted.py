"""Samples with weights ω: a weight of 2 is the sample twice.

Let rows of W and G be the same for copies of a sample. With W' = Ω^½ W and G' = Ω^½ G, sums over
all copies are sums over samples,

    tr K - 2 tr(WᵀKG) + tr(WᵀKW · GᵀG)  of the copies  =  the same of  K' = Ω^½ K Ω^½, W' and G',
    tr(WᵀDG)                            of the copies  =  tr(W'ᵀD'G'),  D' = Ω^½ D Ω^½,

and GᵀG = I becomes G'ᵀG' = I. So every rule of the models is that of the copies if it is given K'
and D'. D' are not the distances that belong to K'. The vector of ones becomes √ω.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..core.types import Array
from .base import Gram


class WeightedGram(Gram):
    """Ω^½ K Ω^½, by products with K, and the distances Ω^½ D Ω^½."""

    weight: Array

    def __init__(self, K: Gram, weight: Array) -> None:
        self.K, self.order, self.clipped = K, K.order, K.clipped
        self.weight = weight.astype(K.dtype)
        self.root = np.sqrt(weight).astype(K.dtype)[:, None]
        largest = K.largest * float(weight.max())
        super().__init__(K.diagonal * self.weight, K.flops, largest, K.nonnegative)

    def multiply(self, V: Array, out: Array) -> None:
        weighted = self.stack(*V.shape)
        np.multiply(V, self.root, out=weighted)
        self.K.multiply(weighted, out)
        out *= self.root

    def column(self, i: int) -> Array:
        return self.K.column(i) * self.root[:, 0] * self.root[i, 0]

    @cached_property
    def positive(self) -> Gram:
        return self if self.nonnegative else WeightedGram(self.K.positive, self.weight)

    def in_single_precision(self) -> Gram:
        K = self.K.in_single_precision()
        return self if K is self.K else WeightedGram(K, self.weight)

    def smallest_distance(self) -> float:
        return self.K.smallest_distance()

    def distances(self, V: Array, KV: Array, scale: float = 1.0) -> Array:  # all (n, k)
        root, d = self.root, self.K.diagonal[:, None]
        DV = root * (scale * np.sum(root * d * V, axis=0))
        DV += root * d * (scale * np.sum(root * V, axis=0))
        DV -= 2 * scale * KV
        return np.abs(DV, out=DV)

    def total_distance(self, W: Array, G: Array, WKG: float) -> float:
        own, ones = (self.root * self.K.diagonal[:, None])[:, 0], self.root[:, 0]
        return float((own @ W) @ (ones @ G) + (ones @ W) @ (own @ G)) - 2 * WKG

    def count(self, some: Array) -> float:
        return float(self.weight[some].sum(dtype=np.float64))

    def median(self, values: Array) -> float:
        """That of all copies, if weights are whole numbers."""
        order = np.argsort(values, kind="stable")
        below = np.cumsum(self.weight[order], dtype=np.float64)
        middle = [np.searchsorted(below, below[-1] / 2, side) for side in ("left", "right")]
        return float(np.mean(values[order[middle]]))

    def each(self, values: Array) -> Array:
        return values / self.weight
