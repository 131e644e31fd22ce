"""What a table looks like: which columns hold counts, and which have different units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..core.types import Array, Labels, Matrix
from ..core.words import short
from ..io.table import Table

#: Columns whose spreads differ by more than this factor have different units.
_UNEVEN = 10.0

#: A column with this share of the variance decides almost alone.
_ALONE = 0.9

#: At least this many columns of whole numbers are taken as one group, such as counts.
MANY = 20
#: Counts have at least this share of zeros, or a largest number that is this many times the median.
_ZEROS, _TAIL = 0.2, 100.0
#: The sums of the rows of counts have at least this standard deviation, as a share of their mean.
_DEPTHS = 0.15
#: If more than this share of columns reach the largest number, it is the end of a scale, as for
#: pixels and ratings.
_AT_THE_END = 0.05

#: A column varies less than counts if its variance is this many standard errors below its mean.
_ERRORS = 3.0
#: A column never below this share of its mean is a count only if it correlates with the others.
_NEVER_NEAR_ZERO = 0.1
_FOLLOWS = 0.3
#: A total makes up this share of the sum of all columns, and correlates this much with the others.
_SHARE_OF_TOTAL, _FOLLOWS_CLOSELY = 0.2, 0.9

#: Nonnegative amounts with at least this share of zeros have one unit: pixels, shares of words.
_BLANK = 0.3

#: This many columns are looked at together, so that there is no second table in memory.
_AT_ONCE = 256

#: Columns count as centred, like principal components, if means are below this many spreads.
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
    """The columns of counts: whole numbers, many of them zero, with uneven sums of rows."""
    X = table.X
    which = np.flatnonzero(whole_columns(X))
    if len(which) >= MANY:
        which = which[_alike(X if len(which) == X.shape[1] else X[:, which])]
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


def _alike(X: Matrix) -> Array:  # (n, p) -> (p,)
    """Which columns of whole numbers vary as counts of one kind do.

    A count varies at least by chance: its variance is its mean or more. A batch or a sex varies
    less. A count comes near 0, or it is larger in samples where more was counted. An age does
    neither. A total is large, and nearly proportional to the sum of the other columns.
    """
    n = X.shape[0]
    if sparse.issparse(X):
        known = sparse.csr_array((np.nan_to_num(X.data), X.indices, X.indptr), X.shape)
        squares = np.asarray(known.multiply(known).sum(axis=0)).ravel()
        least = np.asarray(known.min(axis=0).todense()).ravel()
    else:
        known = np.nan_to_num(X) if np.isnan(X).any() else X
        squares, least = np.einsum("ij,ij->j", known, known), np.fmin.reduce(X, axis=0)
    mean = np.asarray(known.sum(axis=0)).ravel() / n
    variance = np.maximum(squares / n - mean**2, 0)
    some = np.where(mean > 0, mean, 1)
    errors = np.sqrt(2 / n + 1 / (n * some))
    alike = variance >= (1 - _ERRORS * errors) * mean
    depth = known @ alike.astype(known.dtype)
    for j in np.argsort(-mean, kind="stable"):
        total = mean[j] > _SHARE_OF_TOTAL * mean[alike].sum()
        if not alike[j] or not (total or least[j] > _NEVER_NEAR_ZERO * mean[j]):
            continue
        own = known[:, [j]].toarray().ravel() if sparse.issparse(known) else known[:, j]
        follows = _correlation(own, depth - own)
        if follows < _FOLLOWS or (total and follows > _FOLLOWS_CLOSELY):
            alike[j], depth = False, depth - own
    return alike


def _correlation(x: Array, y: Array) -> float:  # (n,), (n,)
    x, y = x - x.mean(), y - y.mean()
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / lengths if lengths else 0.0


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
    """Whether all columns have one unit: amounts of one thing, or components."""
    known = X[np.isfinite(X)]
    if known.min() >= 0 and (known == 0).mean() >= _BLANK:
        return True
    with np.errstate(over="ignore"):
        means = np.nanmean(X, axis=0, where=np.isfinite(X))
    return bool((np.abs(means) <= _CENTRED * spread).all())


def whole_columns(X: Matrix) -> Array:  # (n, p) -> (p,)
    """Which columns hold only whole numbers that are not negative; gaps are ignored."""
    if sparse.issparse(X):
        wrong = (X.data < 0) | (X.data != np.rint(X.data))
        broken = np.bincount(X.indices[wrong], minlength=X.shape[1])
        return broken == 0
    # A few rows suffice to recognise most measurements.
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
    """The standard deviations of the known values; 0 if they are constant up to rounding."""
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
