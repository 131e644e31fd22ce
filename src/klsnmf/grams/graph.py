"""A neighbour graph: symmetric weights A, its degrees, and products with it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..core.arrays import namespace
from ..core.types import Array
from .base import Weights
from .device import DeviceGram
from .sparse import SparseGram


class Graph(SparseGram, Weights):
    """The symmetric weights A ≥ 0 of a graph, and its degrees."""

    @cached_property
    def degrees(self) -> Array:  # (n, 1)
        return np.asarray(self.K.sum(axis=1), self.dtype).reshape(-1, 1)

    def in_single_precision(self) -> Graph:
        return Graph(self.K.astype(np.float32, copy=False))


class DeviceGraph(DeviceGram, Weights):
    """The same as an array on a device."""

    @cached_property
    def degrees(self) -> Array:  # (n, 1)
        return namespace(self.K).sum(self.K, axis=1)[:, None]
