"""The samples as a kernel sees them: their unit, and their rows at length 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from ..core import arrays
from ..core.arrays import namespace, on_host, to_host
from ..core.types import Matrix

#: Largest powers of two that data may be away from 1 before they are rescaled.
_MODERATE = 32

#: Scaling rows to length 1 costs one of so many dimensions at most.
_MANY_FEATURES = 20


def unit_of(X: Matrix, kernel: Any) -> float:
    """A power of two in whose units the squares of X neither overflow nor vanish.

    It is 1 for data of moderate size, and for kernels that change with the unit of X in more
    than their width: only kernels of distances and angles do not.
    """
    names = kernel if isinstance(kernel, list | tuple) else [kernel]
    free = all(name in ("self-tuning", "rbf", "cosine") for name in names)
    return moderate_unit(largest_entry(X)) if free else 1.0


def moderate_unit(size: float) -> float:
    """1, or the power of two just below numbers whose squares may overflow or vanish.

    The one just above is infinite for the largest numbers that there are.
    """
    exponent = int(np.frexp(size)[1]) - 1 if size > 0 else 0
    return 1.0 if abs(exponent) <= _MODERATE else float(np.ldexp(1.0, exponent))


def in_units(X: Matrix, unit: float) -> Matrix:
    """X / unit, without a copy where there is nothing to do."""
    if unit == 1.0:
        return X
    if sparse.issparse(X):  # scipy would multiply with 1/unit, which may be infinite
        X = X.copy()
        X.data /= np.asarray(unit, X.dtype)
        return X
    return X / (np.asarray(unit, X.dtype) if on_host(X) else unit)


def choose_row_norm(X: Matrix) -> str | None:
    """row_norm="auto": "l2" for amounts, numbers that are never negative, of 20 features or more.

    Amounts, such as intensities, counts or tf-idf, say what a sample is by their proportions; their
    sum says how bright, long or large it is. Coordinates, which can be negative, mean
    themselves, and so do coordinates that were moved away from zero: amounts come near it, in most
    features. Scaling takes one of the dimensions away: too many where there are few.
    """
    amounts = X.shape[1] >= _MANY_FEATURES and smallest_entry(X) >= 0 and _comes_near_zero(X)
    return "l2" if amounts else None


def _comes_near_zero(X: Matrix) -> bool:
    """Whether in most features that vary the smallest entry is at most half of the largest."""
    if sparse.issparse(X):  # most entries are zero
        return True
    xp = namespace(X)
    least, most = to_host(xp.min(X, axis=0)), to_host(xp.max(X, axis=0))
    varies = least < most
    return bool(np.mean(least[varies] <= most[varies] / 2) > 0.5) if varies.any() else True


def unit_rows(X: Matrix) -> Matrix:
    """X with rows of length 1; rows of zeros stay."""
    X = in_units(X, unit_of(X, "cosine"))
    return normalize(X) if on_host(X) else arrays.unit_rows(X)


def smallest_entry(X: Matrix) -> float:
    """The smallest entry that is stored, or 0 if that is less."""
    if not on_host(X):
        return float(namespace(X).min(X))
    values = X.data if sparse.issparse(X) else X
    return float(values.min(initial=0))


def largest_entry(X: Matrix) -> float:
    """max |X|, without a copy; entries that are NaN do not count."""
    if not on_host(X):
        return float(namespace(X).max(namespace(X).abs(X)))
    values = X.data if sparse.issparse(X) else X
    most = float(np.fmax.reduce(values, axis=None, initial=0))  # fmax and fmin pass over NaN
    return max(most, -float(np.fmin.reduce(values, axis=None, initial=0)))
