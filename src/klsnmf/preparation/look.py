"""What a table looks like: which columns hold counts, and which have different units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..core.types import Array, Labels, Matrix
from ..core.words import short
from ..io.table import Table

#: Columns whose spreads differ by more than this have different units, or are remarked on.
_UNEVEN = 10.0

#: A column with this share of the variance decides nearly alone.
_ALONE = 0.9

#: So many columns of whole numbers are of one kind. Counts are of so many things at least,
MANY = 20
#: and of most of them there are none in a sample, or of some a hundred times as many as usual.
_ZEROS, _TAIL = 0.2, 100.0
#: Samples differ in how much was counted by this share of the mean.
_DEPTHS = 0.15
#: Where more columns than this share reach the largest number, that is the end of a scale, as for
#: pixels and ratings.
_AT_THE_END = 0.05

#: Amounts without a sign of which so many are zero are of one kind: pixels, shares of words.
_BLANK = 0.3

#: Columns that are looked at together, so that no second table is in memory.
_AT_ONCE = 256

#: Columns are centred, and so are components of something, if means are below this many spreads.
_CENTRED = 1e-3


@dataclass(frozen=True)
class Counts:
    """Columns that hold counts."""

    which: Labels  # places
    zeros: float  # the share of zeros


@dataclass(frozen=True)
class Units:
    """Columns of different units."""

    which: Labels  # places
    ratio: float  # the largest spread over the smallest


def counts_in(table: Table) -> Counts | None:
    """The columns of counts: whole numbers, many of them zero, of samples of uneven depth."""
    X = table.X
    which = np.flatnonzero(whole_columns(X))
    if len(which) < MANY:
        return None
    values = X if len(which) == X.shape[1] else X[:, which]
    known = values.data if sparse.issparse(values) else values[np.isfinite(values)]
    amounts, size = known[known > 0], float(np.prod(values.shape))
    if not len(amounts):
        return None
    zeros = 1 - len(amounts) / (size if sparse.issparse(values) else len(known))
    largest = amounts.max()
    if zeros < _ZEROS and largest < _TAIL * np.median(amounts):
        return None
    at_the_end = _largest_of_columns(values) == largest
    depths = np.asarray(np.nansum(values, axis=1) if not sparse.issparse(values) else values.sum(1))
    if at_the_end.mean() > _AT_THE_END or depths.std() < _DEPTHS * depths.mean():
        return None
    return Counts(which, float(zeros))


def units_in(table: Table, beside: Counts | None = None) -> Units | None:
    """The columns beside counts, if they have different units."""
    if sparse.issparse(table.X):
        return None
    which = np.arange(table.X.shape[1])
    if beside is not None:
        which = np.setdiff1d(which, beside.which)
    X = np.asarray(table.X)[:, which]
    each = spreads(X)
    varied = each[each > 0]
    if not len(varied):
        return None
    ratio = float(varied.max() / varied.min())
    if beside is None and (ratio <= _UNEVEN or _of_one_kind(X, each)):
        return None
    return Units(which, ratio)


def _of_one_kind(X: Array, spread: Array) -> bool:  # (n, p), (p,)
    """Whether numbers are amounts of one thing, or components that were made from others."""
    known = X[np.isfinite(X)]
    if known.min() >= 0 and (known == 0).mean() >= _BLANK:
        return True
    with np.errstate(over="ignore"):
        means = np.nanmean(X, axis=0, where=np.isfinite(X))
    return bool((np.abs(means) <= _CENTRED * spread).all())


def whole_columns(X: Matrix) -> Array:  # (n, p) -> (p,)
    """Which columns hold whole numbers, none of them negative, gaps aside."""
    if sparse.issparse(X):
        wrong = (X.data < 0) | (X.data != np.rint(X.data))
        broken = np.bincount(X.indices[wrong], minlength=X.shape[1])
        return broken == 0
    # Most tables of measurements are told by a few rows.
    whole = np.full(X.shape[1], True)
    for rows in (slice(20), slice(None)):
        part = X[rows]
        whole &= (np.isnan(part) | ((part >= 0) & (part == np.rint(part)))).all(axis=0)
        if not whole.any():
            break
    return whole


def _largest_of_columns(X: Matrix) -> Array:  # (n, p) -> (p,)
    if sparse.issparse(X):
        return np.asarray(X.max(axis=0).todense()).ravel()
    found: Array = np.fmax.reduce(X, axis=0)
    return found


def uneven(table: Table) -> str | None:
    """A remark if some named column varies far more than another."""
    if table.features is None or table.image_shape is not None or sparse.issparse(table.X):
        return None
    spread = spreads(table.X)
    varied = np.flatnonzero(spread)
    if not varied.size:
        return None
    most, least = int(np.argmax(spread)), int(varied[np.argmin(spread[varied])])
    ratio = spread[most] / spread[least]
    if ratio <= _UNEVEN:
        return None
    alone = _ALONE * np.square(spread / spread[most]).sum() < 1
    outcome = "this one decides almost alone" if alone else "the widest dominate"
    return (
        f"Columns have very different spreads ({short(table.features[most])} has "
        f"{float(f'{ratio:.2g}'):.0f} times that of {short(table.features[least])}), so {outcome}. "
        "If the columns have different units, use --scale standard."
    )


def spreads(X: Array) -> Array:  # (n, p) -> (p,)
    """The standard deviations of what is known; 0 if that is constant up to rounding."""
    found = np.zeros(X.shape[1])
    for begin in range(0, len(found), _AT_ONCE):
        part = X[:, begin : begin + _AT_ONCE].astype(np.float64)
        known = np.isfinite(part)
        part[~known] = 0
        count = np.maximum(known.sum(axis=0), 1)
        largest = np.abs(part).max(axis=0, initial=0)
        part /= np.where(largest > 0, largest, 1)  # so that no square overflows
        part -= part.sum(axis=0) / count
        part[~known] = 0
        spread = np.sqrt(np.square(part).sum(axis=0) / count)
        found[begin : begin + _AT_ONCE] = np.where(spread > 1e-12, largest * spread, 0)
    return found
