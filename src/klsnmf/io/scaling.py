"""Columns of different units: who would notice, and what brings them to one scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from ..core.types import Array
from ..core.words import short
from .table import InputError, Table

#: Columns whose spreads differ by more than this are remarked on.
_UNEVEN = 10.0

#: A column with this share of the variance decides nearly alone.
_ALONE = 0.9


@dataclass(frozen=True)
class Scale:
    """What was taken from each column, and what it was divided by."""

    mean: Array  # (p,)
    spread: Array  # (p,) the standard deviations; 1 for a column that is constant

    def apply(self, table: Table) -> Table:
        with np.errstate(over="ignore"):  # infinity is refused later
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
    with np.errstate(over="ignore", invalid="ignore"):
        found = StandardScaler().fit(table.X)
    if not np.isfinite([found.mean_, found.scale_]).all():
        raise InputError(
            f"{table.name} has numbers too large to scale. Divide them by a constant, or leave "
            "such columns out."
        )
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
    spread = np.array([_spread(column) for column in table.X.T])
    varied = np.flatnonzero(spread)
    if not varied.size:
        return None
    most, least = int(np.argmax(spread)), int(varied[np.argmin(spread[varied])])
    ratio = spread[most] / spread[least]
    if ratio <= _UNEVEN:
        return None
    alone = _ALONE * np.square(spread / spread[most]).sum() < 1
    outcome = "and decides nearly alone" if alone else "which hardly counts beside it"
    return (
        f"{short(table.features[most])} varies {float(f'{ratio:.2g}'):.0f} times as much as "
        f"{short(table.features[least])}, {outcome}. If the columns have different units, use "
        "--scale standard."
    )


def _spread(column: Array) -> float:  # (n,)
    """The standard deviation of what is known, 0 if that is constant but for rounding."""
    known = column[np.isfinite(column)]
    largest = np.abs(known).max(initial=0)
    if largest == 0:
        return 0.0
    spread = float(np.std(known / largest))  # so that no square overflows
    return float(largest) * spread if spread > 1e-12 else 0.0
