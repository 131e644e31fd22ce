"""Functions for blocks of rows of K. They are pure, because workers may run them twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import slices
from ..core.types import Array
from ..core.version import __version__

#: Numbers of a block that are looked at together: no temporary array of its size.
_LOOK = 2**20


def settled(A: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """A in rows one after the other, at an address as numpy would choose it.

    What comes out of a message may lie at an odd address. numpy copies that before a product, in
    another order of memory, and the product is then rounded differently.
    """
    return np.require(A, dtype, ["C", "A"])


class VersionError(RuntimeError):
    """A worker has another version of klsnmf than its client, so its numbers may differ."""


def of_one_version(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns, if the client has the same version as this worker."""
    if version != __version__:
        raise VersionError(f"a worker has klsnmf {__version__}, and its client {version}")
    return function(*arguments)


def same(value: Any) -> Any:
    """Data of the client as a task, so that the scheduler can send them to another worker."""
    return value


@dataclass(frozen=True)
class Cut:
    """Where n rows are cut into blocks."""

    edges: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, block: int) -> slice:
        return slice(self.edges[block], self.edges[block + 1])

    def __iter__(self) -> Iterator[slice]:
        return (self[block] for block in range(len(self)))

    def place(self, i: int) -> tuple[int, int]:
        """The block of row i, and its place there."""
        block = int(np.searchsorted(self.edges, i, side="right")) - 1
        return block, i - self.edges[block]


def describe(block: Array, rows: slice) -> tuple[Array, float, float, float]:
    """The diagonal in these rows, and the least, the greatest and the sum of their entries."""
    total = float(block.sum(dtype=np.float64))
    return np.diagonal(block[:, rows]).copy(), float(block.min()), float(block.max()), total


def product(block: Array, V: Array) -> Array:  # (m, n), (columns, n) -> (columns, m)
    """V blockᵀ, written so that BLAS reads the block along its rows, which is faster."""
    return (settled(block) @ settled(V).T).T


def row(block: Array, i: int) -> Array:  # (n,)
    return block[i].copy()


def positive_part(block: Array) -> Array:
    return np.maximum(block, 0)


def in_single(block: Array) -> Array:
    return block.astype(np.float32)


def square_sums(block: Array, weights: Array) -> Array:  # (m, n), (n,) -> (m,)
    return np.concatenate([np.square(block[some]) @ weights for some in _looks(block)])


def smallest_distance(block: Array, rows: slice, d: Array) -> float:
    """The smallest K_ii + K_jj - 2 K_ij in these rows."""
    own = d[rows, None]
    return min(float((own[some] + d - 2 * block[some]).min()) for some in _looks(block))


def _looks(block: Array) -> Iterator[slice]:
    return slices(len(block), _LOOK // block.shape[1])
