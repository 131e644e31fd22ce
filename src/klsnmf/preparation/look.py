"""What a table looks like: what its columns are, and what that means for their scale."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..core.types import Array
from ..core.words import short
from ..io.table import Table

#: Columns whose spreads differ by more than this are remarked on.
UNEVEN = 10.0

#: A column with this share of the variance decides nearly alone.
_ALONE = 0.9


def uneven(table: Table) -> str | None:
    """A remark if some named column varies far more than another."""
    if table.features is None or table.image_shape is not None or sparse.issparse(table.X):
        return None
    spread = np.array([spread_of(column) for column in table.X.T])
    varied = np.flatnonzero(spread)
    if not varied.size:
        return None
    most, least = int(np.argmax(spread)), int(varied[np.argmin(spread[varied])])
    ratio = spread[most] / spread[least]
    if ratio <= UNEVEN:
        return None
    alone = _ALONE * np.square(spread / spread[most]).sum() < 1
    outcome = "this one decides almost alone" if alone else "the widest dominate"
    return (
        f"Columns have very different spreads ({short(table.features[most])} has "
        f"{float(f'{ratio:.2g}'):.0f} times that of {short(table.features[least])}), so {outcome}. "
        "If the columns have different units, use --scale standard."
    )


def spread_of(column: Array) -> float:  # (n,)
    """The standard deviation of what is known, 0 if that is constant but for rounding."""
    known = column[np.isfinite(column)]
    largest = np.abs(known).max(initial=0)
    if largest == 0:
        return 0.0
    spread = float(np.std(known / largest))  # so that no square overflows
    return float(largest) * spread if spread > 1e-12 else 0.0
