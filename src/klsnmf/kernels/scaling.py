"""The samples as a kernel sees them: their unit, and their rows at length 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..core import arrays
from ..core.arrays import namespace, to_host
from ..core.products import in_units, largest_entry, smallest_entry
from ..core.types import Matrix
from .functions import KERNELS

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
    named = [KERNELS[name] for name in names if not callable(name) and name in KERNELS]
    free = len(named) == len(names) and all(form.scale_free for form in named)
    return moderate_unit(largest_entry(X)) if free else 1.0


def moderate_unit(size: float) -> float:
    """1, or the power of two just below numbers whose squares may overflow or vanish.

    The one just above is infinite for the largest numbers that there are.
    """
    exponent = int(np.frexp(size)[1]) - 1 if size > 0 else 0
    return 1.0 if abs(exponent) <= _MODERATE else float(np.ldexp(1.0, exponent))


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
    """X with rows of length 1, computed in a unit in which they can be; rows of zeros stay."""
    return arrays.unit_rows(in_units(X, moderate_unit(largest_entry(X))))
