"""The nearest samples of a fit, for new ones: exactly, or in the cells around each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arithmetic import all_distances, centred
from ..core.arrays import cast, follows_lists, namespace, slices, smallest
from ..core.sketch import MANY
from ..core.types import Array, Labels, Matrix
from ..core.work import side_by_side, threads_of_blas
from .cells import Cells, Division
from .functions import SCALE_NEIGHBOR, Kernel
from .search import TIE, Found, Rough

#: Rough distances of an exact search that are held at once, for each thread.
_BLOCK = 2**22


class Among:
    """Samples X of a fit, to be searched for the nearest of new ones, any number of times."""

    #: The samples in cells, if the search of the fit divided them.
    division: Division | None = None

    def __init__(self, X: Matrix, wanted: int, search: str = "auto") -> None:
        self.X, self.wanted = X, min(wanted, X.shape[0])
        self.approximate = search != "exact" and X.shape[0] > MANY

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("_rough", "_cells", "division")
        return {name: value for name, value in vars(self).items() if name not in made_again}

    def make_ready(self) -> None:
        """Make what every search needs; on a device nothing."""
        if follows_lists(self.X):
            _ = self._cells if self.approximate else self._rough

    @cached_property
    def _rough(self) -> Rough:
        return Rough(self.X)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.X, self.wanted, self.division)

    def order_of(self, Y: Matrix) -> Labels | None:  # (m, p) -> (m,)
        """An order of new samples in which parts of them are searched faster, if there is one."""
        if not self.approximate or not follows_lists(Y):
            return None
        return np.concatenate(self._cells.division.divided(Y))

    def nearest(self, Y: Matrix, reach: Array | None = None) -> Found:  # (m, p), (n,)
        """At least as many as are wanted of the nearest x of each y, for each y nearest first.

        And the x that have y within their reach, which is squared: all of them, or in a search of
        cells those that it comes across.
        """
        none = *np.empty((2, 0), np.intp), np.empty(0, Y.dtype)
        exactly = not self.approximate
        parts = self._exactly(Y, reach) if exactly else self._cells.nearest(Y, self.wanted, reach)
        i, j, d2 = map(np.concatenate, zip(none, *parts, strict=True))
        order = np.argsort(i, kind="stable")
        return i[order], j[order], d2[order]

    def _exactly(self, Y: Matrix, reach: Array | None) -> list[Found]:
        rough = self._rough

        def of(some: slice) -> Found:
            i, j, d2 = rough.nearest(Y[some], self.wanted, reach)
            return i + some.start, j, d2

        return _each(list(slices(Y.shape[0], _BLOCK // self.X.shape[0])), of)


def _each(parts: Sequence[slice], of: Callable[..., Found]) -> list[Found]:
    """What is found for each part, by as many threads as there are."""
    found: list[Found] = []

    def work(places: range) -> None:
        for place in places:
            found.append(of(parts[place]))

    if parts:
        threads = threads_of_blas(len(parts))
        side_by_side(work, [range(t, len(parts), threads) for t in range(threads)])
    return found


def near_wanted(n_neighbors: int | None) -> int:
    """How many of the nearest tell which are kept, and the radius; the first may be y itself."""
    return 1 + max(SCALE_NEIGHBOR, n_neighbors or 0)


@dataclass(frozen=True)
class Pairs:
    """Which new samples i keep which samples j of the fit, as lists, with squared distances."""

    i: Array
    j: Array
    d2: Array

    def entries(self, form: Kernel, Y: Matrix, q: Array, X: Matrix, r: Array) -> Matrix:  # (m, n)
        """k(y, x) where a pair is kept, else zero; radii are q and r."""
        values = form.pairs(Y, q, self.i, X, r, self.j, self.d2.copy())
        return sparse.csr_array((values, (self.i, self.j)), shape=(Y.shape[0], X.shape[0]))


@dataclass(frozen=True)
class Mask:
    """The same as truth values of all pairs, for devices."""

    kept: Array  # (m, n)

    def entries(self, form: Kernel, Y: Matrix, q: Array, X: Matrix, r: Array) -> Array:  # (m, n)
        values = form.dense(form.ready(Y, X), q, form.ready(X, X), r)
        return namespace(values).where(self.kept, values, 0)


def near(
    Y: Matrix, among: Among, n_neighbors: int | None, reach: Array, r: Array
) -> tuple[Pairs | Mask, Array]:
    """The pairs that new samples Y keep, and the radius of each y, never zero.

    y keeps its nearest samples, and those that have y within their own reach. A sample at
    distance zero is taken to be y itself, once.
    """
    search = _near_pairs if follows_lists(among.X) else _near_mask
    kept, radii = search(Y, among, n_neighbors, reach)
    xp = namespace(r)
    return kept, cast(xp.where(radii > 0, radii, xp.min(r)), r.dtype)


def _near_mask(
    Y: Matrix, among: Among, n_neighbors: int | None, reach: Array
) -> tuple[Mask, Array]:  # (m, n), (m,)
    """By all distances."""
    X, xp = among.X, namespace(among.X)
    d2 = all_distances(centred(Y, X), centred(X, X))
    m = min(d2.shape[1], near_wanted(n_neighbors))
    nearest = smallest(d2, m)
    itself = cast(nearest[:, :1] == 0, xp.int64)

    def last(neighbor: int) -> Array:  # (m, 1)
        return xp.take_along_axis(nearest, xp.minimum(itself + (neighbor - 1), m - 1), axis=1)

    furthest = last(n_neighbors or SCALE_NEIGHBOR) * (1 + TIE)
    return Mask((d2 <= reach) | (d2 <= furthest)), xp.sqrt(last(SCALE_NEIGHBOR)[:, 0])


def _near_pairs(
    Y: Matrix, among: Among, n_neighbors: int | None, reach: Array
) -> tuple[Pairs, Array]:  # (m,)
    """By lists of the nearest."""
    i, j, d2 = among.nearest(Y, reach if n_neighbors else None)
    first = np.searchsorted(i, np.arange(Y.shape[0]))
    itself = d2[first] == 0

    def last(neighbor: int) -> Array:  # (m,)
        return np.asarray(d2[first + np.minimum(itself + neighbor, among.wanted) - 1])

    radii = np.sqrt(last(SCALE_NEIGHBOR)).astype(reach.dtype, copy=False)
    if n_neighbors is None:
        return Pairs(i[:0], j[:0], d2[:0]), radii
    within = (d2 <= reach[j]) | (d2 <= (last(n_neighbors) * (1 + TIE))[i])
    return Pairs(i[within], j[within], d2[within]), radii
