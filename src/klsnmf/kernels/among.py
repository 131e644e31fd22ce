"""The nearest samples of a fit, for new ones: exactly, or in the cells around each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..core.arrays import slices
from ..core.types import Array, Matrix
from ..core.work import allowed_threads, side_by_side
from .cells import Cells, nearest_centre
from .search import Rough, block_of

#: Among more samples than these only cells are searched: nobody knows how many new samples come,
#: and each of them would be compared with all.
MANY = 30_000

#: Rough distances of an exact search that are held at once, for each thread.
_BLOCK = 2**22

#: Pairs i, j of a new sample and one of the fit, with squared distances.
Found = tuple[Array, Array, Array]


class Among:
    """Samples X of a fit, to be searched for the nearest of new ones, any number of times."""

    def __init__(self, X: Matrix, wanted: int, search: str = "auto") -> None:
        self.X, self.wanted = X, min(wanted, X.shape[0])
        self.approximate = search != "exact" and X.shape[0] > MANY

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("_rough", "_cells")
        return {name: value for name, value in vars(self).items() if name not in made_again}

    @cached_property
    def _rough(self) -> Rough:
        return Rough(self.X)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.X, self.wanted)

    def nearest(self, Y: Matrix, reach: Array | None = None) -> Found:  # (m, p), (n,)
        """At least as many as are wanted of the nearest x of each y, for each y nearest first.

        And the x that have y within their reach, which is squared: all of them, or in a search of
        cells those that it comes across.
        """
        none = *np.empty((2, 0), np.intp), np.empty(0, Y.dtype)
        parts = self._in_cells(Y, reach) if self.approximate else self._exactly(Y, reach)
        i, j, d2 = map(np.concatenate, zip(none, *parts, strict=True))
        order = np.argsort(i, kind="stable")
        return i[order], j[order], d2[order]

    def _exactly(self, Y: Matrix, reach: Array | None) -> list[Found]:
        rough = self._rough

        def of(some: slice) -> Found:
            i, j, d2 = rough.nearest(Y[some], self.wanted, reach)
            return i + some.start, j, d2

        return _each(list(slices(Y.shape[0], _BLOCK // self.X.shape[0])), of)

    def _in_cells(self, Y: Matrix, reach: Array | None) -> list[Found]:
        cells = self._cells
        own = nearest_centre(Y, cells.centres)
        order = np.argsort(own, kind="stable")
        edges = np.searchsorted(own[order], np.arange(len(cells.centres) + 1))

        def of(c: int) -> Found:
            who, among = order[edges[c] : edges[c + 1]], cells.around(c)
            rough, within = Rough(self.X[among]), None if reach is None else reach[among]
            found = []
            for some in slices(len(who), block_of(len(among))):
                i, j, d2 = rough.nearest(Y[who[some]], self.wanted, within)
                found.append((who[some][i], among[j], d2))
            i, j, d2 = map(np.concatenate, zip(*found, strict=True))
            return i, j, d2

        return _each(np.unique(own).tolist(), of)


def _each(parts: Sequence[slice] | Sequence[int], of: Callable[..., Found]) -> list[Found]:
    """What is found for each part, by as many threads as there are."""
    found: list[Found] = []

    def work(places: range) -> None:
        for place in places:
            found.append(of(parts[place]))

    if parts:
        threads = max(1, min(len(parts), allowed_threads().get("blas", 1)))
        side_by_side(work, [range(t, len(parts), threads) for t in range(threads)])
    return found
