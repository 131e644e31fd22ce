"""Kernels of samples that live on a device: all pairs are computed there, some rows at a time.

A device multiplies arrays fast and follows lists of neighbours slowly. So K has all entries, even
where neighbours are asked for: the others are zero. The rules for widths and neighbours are those
of the host, which gets the distances of each sample to its nearest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import (
    all_finite,
    cast,
    device_of,
    like,
    namespace,
    require_same_place,
    set_diagonal,
    slices,
    smallest,
    to_host,
    unit_rows,
    widest,
)
from ..core.types import Array
from ..grams import DeviceGram
from .functions import (
    KERNELS,
    SCALE_NEIGHBOR,
    Kernel,
    KernelFunction,
    is_wide,
    neighbors_wanted,
    width_of,
)
from .neighbors import TIE, reach_of
from .similarity import FittedKernel

#: Entries of K that are computed together.
_BLOCK = 2**23

#: An array of the device's library.
DeviceArray = Any


@dataclass(frozen=True)
class DeviceKernel(FittedKernel):
    """A fitted kernel whose samples, radii and reach are arrays on a device."""

    def cross(self, Y: DeviceArray) -> tuple[DeviceArray, DeviceArray]:  # (m, n), (m,)
        """k(y, x) for new samples y and all x, zero where neighbours are not kept, and k(y, y)."""
        xp = namespace(Y)
        if self.kernel == "cosine":
            Y = unit_rows(Y)
        old = Points.of(self.X)
        new = Points.of(Y, old.centre)
        q, near = xp.zeros_like(new.squares) + self.r[0], None
        if self.n_neighbors is not None or self.kernel == "self-tuning":
            near, radii = self._near(new.distances(old))
            q = radii if self.kernel == "self-tuning" else q
        if callable(self.kernel):
            k = _called(self.kernel, Y, self.X)
            each = (Y[i : i + 1, :] for i in range(Y.shape[0]))
            own = xp.concat([_called(self.kernel, y, y)[0, :] for y in each])
        else:
            form = KERNELS[self.kernel]
            k = form.profile(_measure(form, new, old), q[:, None], self.r)
            own = form.profile(_own_measure(form, new), q, q)
        if self.n_neighbors is not None:
            k = xp.where(near, k, 0)
        return cast(k, Y.dtype), cast(own, Y.dtype)

    def _near(self, d2: DeviceArray) -> tuple[DeviceArray, DeviceArray]:  # (m, n), (m,)
        """Which samples each new one keeps, as on the host, and its radius."""
        xp = namespace(d2)
        m = min(d2.shape[1], 1 + max(SCALE_NEIGHBOR, self.n_neighbors or 0))
        nearest = smallest(d2, m)
        # A sample at distance zero is taken to be the new one itself, once.
        itself = cast(nearest[:, :1] == 0, xp.int64)

        def reach(neighbor: int) -> DeviceArray:  # (m, 1)
            last = xp.minimum(itself + (neighbor - 1), m - 1)
            return xp.take_along_axis(nearest, last, axis=1)

        r = xp.sqrt(reach(SCALE_NEIGHBOR)[:, 0])
        r = xp.where(r > 0, r, xp.min(self.r))
        furthest = reach(self.n_neighbors or SCALE_NEIGHBOR) * (1 + TIE)
        return (d2 <= self.reach) | (d2 <= furthest), r

    def host_copy(self) -> FittedKernel:
        X, width = to_host(self.X), to_host(self.width)
        r, reach = (to_host(each).astype(X.dtype) for each in (self.r, self.reach))
        return FittedKernel(self.kernel, X, r, self.n_neighbors, reach, width)


def fit_device_kernel(
    X: DeviceArray, kernel: str | KernelFunction, radius: float | str, n_neighbors: int | None
) -> tuple[DeviceGram, DeviceKernel]:
    """As ``kernel_matrices.fit_kernel``, for X on a device."""
    xp, n = namespace(X), X.shape[0]
    if kernel == "cosine":
        X = unit_rows(X)
    points = Points.of(X)
    d2 = points.nearest(min(neighbors_wanted(kernel, radius, n_neighbors), n - 1))
    width, r = width_of(d2, kernel, radius)
    reach = reach_of(d2, n_neighbors) if n_neighbors and n > 1 else np.zeros(n)
    r, reach = like(r, X, widest(X)), like(reach, X, widest(X))
    if kernel == "self-tuning":
        width = cast(r, X.dtype)
    fitted = DeviceKernel(kernel, X, r, n_neighbors, reach, width)

    def kept(values: DeviceArray, rows: slice, columns: slice) -> DeviceArray:
        if n_neighbors is None:
            return values
        d2 = points.part(rows).distances(points.part(columns))
        return xp.where((d2 <= reach[rows][:, None]) | (d2 <= reach[columns]), values, 0)

    if callable(kernel):
        given = _symmetric_call(kernel, X)
        if n_neighbors is None:
            return DeviceGram(given), fitted
        return DeviceGram(_symmetric(n, X, X.dtype, lambda i, j: kept(given[i, j], i, j))), fitted
    form = KERNELS[kernel]

    def block(i: slice, j: slice) -> DeviceArray:
        measure = _measure(form, points.part(i), points.part(j))
        return kept(form.profile(measure, r[i][:, None], r[j]), i, j)

    K = _symmetric(n, X, X.dtype, block)
    if n_neighbors is None and X.dtype == xp.float32 and is_wide(form, float(xp.mean(K))):
        K = _symmetric(n, X, widest(X), block)
    if form.of_distance:  # the distance of a sample to itself is zero, whatever rounding says
        set_diagonal(K, 1)
    return DeviceGram(K), fitted


@dataclass(frozen=True)
class Points:
    """Samples in the best precision of their device, about a centre: that keeps rounding small."""

    X: DeviceArray  # (n, p), as they are
    centred: DeviceArray  # (n, p)
    squares: DeviceArray  # (n,), their squared distances to the centre
    centre: DeviceArray  # (p,)

    @classmethod
    def of(cls, X: DeviceArray, centre: DeviceArray | None = None) -> Points:
        """The samples X, about their mean if no centre is given."""
        xp = namespace(X)
        X = cast(X, widest(X))
        if centre is None:
            centre = xp.mean(X, axis=0)
        centred = X - centre
        return cls(X, centred, xp.sum(centred * centred, axis=1), centre)

    def part(self, rows: slice) -> Points:
        return Points(self.X[rows, :], self.centred[rows, :], self.squares[rows], self.centre)

    def distances(self, others: Points) -> DeviceArray:  # (n, m)
        """Squared distances; those within rounding of zero are zero."""
        xp = namespace(self.X)
        sums = self.squares[:, None] + others.squares
        d2 = sums - 2 * (self.centred @ others.centred.T)
        rounding = 4 * self.X.shape[1] ** 0.5 * xp.finfo(d2.dtype).eps
        return xp.where(d2 > rounding * sums, d2, 0)

    def nearest(self, m: int) -> Array:  # (n, m), on the host
        """The squared distances of each sample to the m nearest others, in ascending order."""
        n = self.X.shape[0]
        found = (
            to_host(smallest(self.part(rows).distances(self), m + 1))
            for rows in slices(n, _BLOCK // n)
        )
        # The first is the sample itself, or as good as that.
        return np.concatenate(list(found))[:, 1:]


def _measure(form: Kernel, A: Points, B: Points) -> DeviceArray:  # (n, m)
    return A.distances(B) if form.of_distance else A.X @ B.X.T


def _own_measure(form: Kernel, A: Points) -> DeviceArray:  # (n,)
    xp = namespace(A.X)
    return xp.zeros_like(A.squares) if form.of_distance else xp.sum(A.X * A.X, axis=1)


def _symmetric(
    n: int, home: DeviceArray, dtype: Any, block: Callable[[slice, slice], DeviceArray]
) -> DeviceArray:  # (n, n)
    """A symmetric array from the blocks of its rows from the diagonal on."""
    K = namespace(home).empty((n, n), dtype=dtype, device=device_of(home))
    for rows in slices(n, _BLOCK // n):
        columns = slice(rows.start, n)
        values = cast(block(rows, columns), dtype)
        K[rows, columns] = values
        K[columns, rows] = values.T
        own = values[:, : values.shape[0]]
        K[rows, rows] = (own + own.T) / 2  # both are right up to rounding
    return K


def _symmetric_call(kernel: KernelFunction, X: DeviceArray) -> DeviceArray:  # (n, n)
    K = _called(kernel, X, X)
    if DeviceGram(K).asymmetry() > namespace(K).finfo(K.dtype).eps ** 0.5:
        raise ValueError("kernel(X, X) is not symmetric; a kernel is.")
    return K


def _called(kernel: KernelFunction, X: DeviceArray, Y: DeviceArray) -> DeviceArray:
    """What a function of the user's returns, if it will do."""
    K: Any = kernel(X, Y)
    require_same_place(K, "What kernel(X, Y) returns", X, "X")
    shape = (X.shape[0], Y.shape[0])
    if tuple(K.shape) != shape or not namespace(X).isdtype(K.dtype, ("real floating", "integral")):
        raise ValueError(
            f"kernel returned an array of shape {tuple(K.shape)} and type {K.dtype} for {shape[0]} "
            f"and {shape[1]} samples; it must return real numbers in an array of shape {shape}."
        )
    if not all_finite(K):
        raise ValueError("kernel returned NaN or infinity; it must return finite numbers.")
    return cast(K, X.dtype)
