"""The gate: every array from outside is checked here before it is used.

Readers of files, models and checkpoints pass their arrays through these functions. The loops of
numpy and scipy do not check: an index out of range ends the process, or reads other memory. An
error here is a ValueError; the caller adds the name of the file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import memory

#: How many rows and columns a sparse matrix may claim without entries, and for each entry. A file
#: of a few bytes could claim any number, and each row and column costs time and memory.
_ROWS, _COLUMNS = 10**6, 2**22
_FOR_AN_ENTRY = 100

#: The largest side of a matrix, and the largest product of sides, for computations with 64 bits.
_LONGEST = 2**62


def need(condition: bool | np.bool_, reason: str) -> None:
    """Refuse content that does not meet a condition."""
    if not condition:
        raise ValueError(reason)


def array(
    value: Any,
    what: str,
    kinds: str = "f",
    shape: Sequence[int | None] | None = None,
    least: float | None = None,
    most: float | None = None,
    finite: bool = True,
) -> NDArray[Any]:
    """An array of these kinds of numbers and this shape, with entries from least to most.

    None in a shape means any length.
    """
    need(isinstance(value, np.ndarray), f"{what} is not an array")
    need(value.dtype.kind in kinds, f"{what} holds {value.dtype}")
    if shape is not None:
        sides = zip(value.shape, shape, strict=False)
        fits = value.ndim == len(shape) and all(b in (None, a) for a, b in sides)
        wanted = ", ".join("any" if side is None else str(side) for side in shape)
        need(fits, f"{what} has shape {value.shape} in place of ({wanted})")
    if value.dtype.kind in "fc":
        need(not finite or np.isfinite(value).all(), f"{what} has an entry that is not finite")
    if value.size and (least is not None or most is not None):
        low, high = value.min(), value.max()
        need(least is None or low >= least, f"{what} has an entry below {least}")
        need(most is None or high <= most, f"{what} has an entry above {most}")
    return value


def sides_of(stored: Any, what: str, axes: int | None = None) -> tuple[int, ...]:
    """The claimed sides of an array: whole numbers whose product does not overflow."""
    found = np.asarray(stored)
    need(found.dtype.kind in "iuf" and 0 < found.size <= 32, f"{what} has an invalid shape")
    if found.dtype.kind == "f":
        whole = np.isfinite(found).all() and (found == np.rint(found)).all()
        need(whole, f"{what} has an invalid shape")
    sides = tuple(int(side) for side in found.ravel())
    need(axes in (None, len(sides)), f"{what} has {len(sides)} sides")
    need(min(sides) >= 0 and math.prod(max(side, 1) for side in sides) < _LONGEST,
         f"{what} has an invalid shape")  # fmt: skip
    return sides


def csr(
    data: Any, indices: Any, indptr: Any, stored_shape: Any, what: str, *, by: str = "rows"
) -> sparse.csr_array:
    """The sparse matrix with these parts, stored by rows or by columns, after all checks.

    Pointers must rise from 0 to the number of entries, and indices must be in range; they are
    sorted. scipy's own check misses a matrix whose last pointer is not positive.
    """
    n, p = _matrix(data, stored_shape, what)
    lines, side = (n, p) if by == "rows" else (p, n)
    count = len(data)
    for part, name in ((indices, "indices"), (indptr, "pointers")):
        array(part, f"{what}, its {name},", "iu", (None,))
    need(len(indptr) == lines + 1, f"{what} has {len(indptr)} pointers for {lines} {by}")
    need(len(indices) == count, f"{what} has {len(indices)} indices for {count} entries")
    pointers = _within(indptr, count, f"{what}, its pointers,")
    need(
        pointers[0] == 0 and pointers[-1] == count and (pointers[1:] >= pointers[:-1]).all(),
        f"{what} has pointers that do not rise from 0 to the number of its entries",
    )
    places = _within(indices, side - 1, f"{what}, its indices,")
    make = sparse.csr_array if by == "rows" else sparse.csc_array
    found = sparse.csr_array(make((data, places, pointers), shape=(n, p)))
    if not found.has_sorted_indices:
        found = found.copy()  # the parts may be read only
        found.sort_indices()
    return found


def coo(data: Any, row: Any, column: Any, stored_shape: Any, what: str) -> sparse.csr_array:
    """The sparse matrix of these entries, if all of them are in range."""
    n, p = _matrix(data, stored_shape, what)
    for part in (row, column):
        array(part, f"{what}, its indices,", "iu", (len(data),))
    i, j = (
        _within(part, side - 1, f"{what}, its indices,") for part, side in ((row, n), (column, p))
    )
    return sparse.csr_array(sparse.coo_array((data, (i, j)), shape=(n, p)))


def _matrix(data: Any, stored_shape: Any, what: str) -> tuple[int, int]:
    """The sides of a sparse matrix with such entries, if there is room for it."""
    array(data, f"{what}, its entries,", "biuf", (None,), finite=False)
    n, p = sides_of(stored_shape, what, 2)
    require_filled(n, p, len(data), what)
    return n, p


def require_filled(n: int, p: int, entries: int, what: str) -> None:
    """Refuse a sparse matrix with far too many rows or columns for its entries or for memory."""
    claims = (n, _ROWS, "rows"), (p, _COLUMNS, "columns")
    for side, free, name in claims:
        need(
            side <= max(free, _FOR_AN_ENTRY * entries),
            f"{what} claims {side} {name} for {entries} entries: nearly all are empty",
        )
    memory.require(16.0 * (n + p) + 32.0 * entries, what, "Use fewer rows.")


def _within(indices: NDArray[Any], most: int, what: str) -> NDArray[Any]:
    """Indices from 0 to most, as numbers of 32 bits if these suffice, else of 64."""
    array(indices, what, "iu", least=0, most=most)
    return indices.astype(np.int32 if most < 2**31 else np.int64, copy=False)


def with_short_indices(X: sparse.csr_array) -> sparse.csr_array:
    """X with indices of 32 bits, which k-means insists on, if they suffice."""
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array((X.data, indices, indptr), shape=X.shape)
