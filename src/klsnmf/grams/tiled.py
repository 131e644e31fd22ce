"""K is never stored: tiles are computed, used and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..core.arrays import slices
from ..core.types import Array
from ..core.work import allowed_threads, side_by_side
from .base import Gram

#: Rows and columns of a tile: it stays in the processor's cache while it is made and used. And the
#: fewest, where memory is short.
TILE = 512
_SMALLEST = 16

#: Arrays of a tile's size that each thread holds at a time.
_ARRAYS = 4


def tile_side(itemsize: int, max_memory: float | None) -> int:
    """Rows and columns of tiles that take, on all threads together, so many gigabytes at most."""
    if max_memory is None:
        return TILE
    numbers = max_memory * 1e9 / (allowed_threads().get("blas", 1) * _ARRAYS * itemsize)
    return int(np.clip(np.sqrt(numbers), _SMALLEST, TILE))


class Tiles(Protocol):
    """A symmetric matrix that can compute any of its tiles.

    ``tile`` must be safe to call from several threads.
    """

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def diagonal(self) -> Array: ...  # (n,)

    @property
    def largest(self) -> float:
        """The largest |K_ij|, or a bound of it."""

    @property
    def nonnegative(self) -> bool:
        """Whether it is known that no entry is below zero."""

    @property
    def metric(self) -> bool:
        """Whether it is known that no squared distance K_ii + K_jj - 2 K_ij is below zero."""

    def tile(self, rows: slice, columns: slice) -> Array:
        """The entries in these rows and columns, as a new array."""

    def positive(self) -> Tiles:
        """The same of K⁺ = max(K, 0)."""

    def in_single_precision(self) -> Tiles:
        """The same in float32, if that loses little."""


class TiledGram(Gram):
    """A kernel matrix that is computed again for every product.

    Each pair of tiles that mirror each other is made once and used for both. The memory it
    takes is that of a few tiles and, for each thread, of one product.
    """

    order = "F"

    def __init__(self, tiles: Tiles, side: int | None = None) -> None:
        self.tiles = tiles
        self.side = TILE if side is None else side
        flops = 2.0 * len(tiles.diagonal) ** 2
        super().__init__(tiles.diagonal, flops, tiles.largest, tiles.nonnegative)

    def multiply(self, V: Array, out: Array) -> None:
        # (KV)ᵀ = VᵀK, as for an array: a tile is multiplied with all fits at once.
        fits, n, k = V.shape
        V, product = V.mT.reshape(fits * k, n), out.mT.reshape(fits * k, n)
        threads = max(1, min(allowed_threads().get("blas", 1), n // self.side))
        sums = [product] + [np.empty_like(product) for _ in range(threads - 1)]

        def work(share: int) -> None:
            sums[share][...] = 0
            # Stripes grow shorter as they go: dealt out in turn, all shares are about equal.
            for rows in list(self._stripes())[share::threads]:
                for columns, tile in self._from_diagonal(rows):
                    sums[share][:, columns] += V[:, rows] @ tile
                    if columns.start > rows.start:
                        sums[share][:, rows] += V[:, columns] @ tile.T

        side_by_side(work, range(threads))
        for other in sums[1:]:
            product += other

    def _stripes(self) -> Iterator[slice]:
        return slices(self.shape[0], self.side)

    def _from_diagonal(self, rows: slice) -> Iterator[tuple[slice, Array]]:
        """The tiles of a stripe from the diagonal on, and their columns."""
        for columns in self._stripes():
            if columns.start >= rows.start:
                yield columns, self.tiles.tile(rows, columns)

    def square_sums(self, weights: Array) -> Array:
        sums = np.zeros_like(self.diagonal)
        for rows in self._stripes():
            for columns, tile in self._from_diagonal(rows):
                np.square(tile, out=tile)
                sums[rows] += tile @ weights[columns]
                if columns.start > rows.start:
                    sums[columns] += weights[rows] @ tile
        return sums

    def column(self, i: int) -> Array:
        column = np.concatenate(
            [self.tiles.tile(rows, slice(i, i + 1))[:, 0] for rows in self._stripes()]
        )
        column[i] = self.diagonal[i]
        return column

    @cached_property
    def positive(self) -> Gram:
        return self if self.nonnegative else TiledGram(self.tiles.positive(), self.side)

    def in_single_precision(self) -> Gram:
        rough = self.tiles.in_single_precision()
        return self if rough is self.tiles else TiledGram(rough, self.side)

    def smallest_distance(self) -> float:
        if self.tiles.metric:
            return 0.0
        d, least = self.diagonal, 0.0
        for rows in self._stripes():
            for columns, tile in self._from_diagonal(rows):
                least = min(least, float((d[rows, None] + d[columns] - 2 * tile).min()))
        return least / self.largest if self.largest else 0.0
