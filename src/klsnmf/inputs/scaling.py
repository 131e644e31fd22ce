"""Columns of different units: who would notice, and what brings them to one scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from .._typing import Array
from ..words import short
from .table import InputError, Table

#: Columns whose spreads differ by more than this are remarked on.
_UNEVEN = 10.0

#: A column with this share of the variance decides nearly alone.
_ALONE = 0.9


@dataclass(frozen=True)
class Scale:
    """What was taken from each column, and what it was divided by.

    Attributes
    ----------
    mean : (p,)
    spread : (p,) the standard deviations; 1 for a column that is constant
    """

    mean: Array
    spread: Array

    def apply(self, table: Table) -> Table:
        return replace(table, X=(table.X - self.mean) / self.spread)


def standard(table: Table) -> Scale:
    """The scale that gives each column mean 0 and variance 1; gaps do not count, and stay."""
    if sparse.issparse(table.X):
        raise InputError(
            f"{table.name} is sparse, and --scale standard would fill its zeros. Leave the option "
            "out, or give a dense table."
        )
    if table.image_shape is not None:
        raise InputError(
            f"{table.name} holds images, whose pixels are on one scale already. Leave --scale out."
        )
    table.require_numbers(gaps=True)
    found = StandardScaler().fit(table.X)
    return Scale(found.mean_, found.scale_)


def stored(scale: Any, p: int) -> Scale:
    """The scale that a model file holds, checked: it may come from a stranger."""
    mean, spread = (np.asarray(scale[name], dtype=np.float64) for name in ("mean", "spread"))
    good = mean.shape == spread.shape == (p,) and np.isfinite(mean).all()
    if not good or not (np.isfinite(spread) & (spread > 0)).all():
        raise ValueError(f"its scale is not that of {p} columns")
    return Scale(mean, spread)


def uneven(table: Table) -> str | None:
    """A remark if some named column varies far more than another."""
    if table.features is None or table.image_shape is not None or sparse.issparse(table.X):
        return None
    known = np.isfinite(table.X)
    X = np.where(known, table.X, 0)
    largest = np.abs(X).max(initial=0)
    if largest == 0:
        return None
    X = X / largest  # so that no square overflows
    count = np.maximum(known.sum(axis=0), 1)
    mean = X.sum(axis=0) / count
    variance = (np.square(X - mean) * known).sum(axis=0) / count
    # What is left of a constant column is rounding.
    varied = np.flatnonzero(variance > (np.finfo(np.float64).eps * count * mean) ** 2)
    if not varied.size:
        return None
    most = varied[np.argmax(variance[varied])]
    least = varied[np.argmin(variance[varied])]
    ratio = float(np.sqrt(variance[most] / variance[least]))
    if ratio <= _UNEVEN:
        return None
    alone = variance[most] > _ALONE * variance.sum()
    outcome = "and decides nearly alone" if alone else "which hardly counts beside it"
    return (
        f"{short(table.features[most])} varies {float(f'{ratio:.2g}'):.0f} times as much as "
        f"{short(table.features[least])}, {outcome}. If the columns have different units, use "
        "--scale standard."
    )
