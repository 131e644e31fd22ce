"""Every feature of every cluster: the mean, and how far it differs from the other samples.

The page holds the means of the clusters, in standard deviations of all samples. From these it
computes effect sizes, also for clusters that the reader has merged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.types import Array, Labels
from .packing import UNKNOWN, packed, unsigned
from .run import Run
from .text import number, plain

_LONGEST = 60

#: Colours go from one quantile of a column to the other, so that extreme values have no effect.
_COLOURED = (0.02, 0.98)


class Features(NamedTuple):
    """Some features, in the order of their columns."""

    places: Labels  # (q,), columns of X
    telling: Array  # (q,), the share of a feature's variance that is between clusters
    means: Array  # (q,), over all samples
    spreads: Array  # (q,), standard deviations over all samples; 1 where a feature is constant
    centers: Array  # (k, q), means of the clusters, from the mean of all, in spreads

    def most_telling(self, count: int) -> Labels:
        """The positions of the features that set clusters apart most, in the order of columns."""
        return np.sort(np.argsort(-self.telling, kind="stable")[:count])


def features(run: Run, entries: int) -> Features | None:
    """The features that set clusters apart most, at most ``entries`` numbers in all.

    None for images and kernels, because their columns have no meaning of their own.
    """
    if run.image_shape is not None or run.kernel_only:
        return None
    known, unit = _centred(run)
    centers = _dense(run.sums(known)) / np.maximum(run.sizes, 1)[:, None]
    squares = known.multiply(known) if sparse.issparse(known) else known**2
    variance = np.asarray(squares.mean(axis=0)).ravel()
    if sparse.issparse(known):
        centers = centers - run.means
        variance = variance - run.means**2
    floor = 1e-12 * np.maximum((run.means / unit) ** 2, np.finfo(np.float64).tiny)
    varies = variance > floor
    spreads = np.sqrt(np.where(varies, variance, 1.0))
    centers = np.where(varies, centers, 0.0) / spreads
    telling = run.sizes / len(run.labels) @ centers**2
    found = Features(np.arange(run.X.shape[1]), telling, run.means, spreads * unit, centers)
    chosen = found.most_telling(max(1, entries // run.n_clusters))
    return Features(*(part[..., chosen] for part in found))


def _centred(run: Run) -> tuple[Any, Array]:  # (n, p), (p,)
    """Centred columns, in units that keep squares finite; sparse columns are not changed."""
    if sparse.issparse(run.X):
        return run.X, np.ones(run.X.shape[1])
    rows = run.rows(slice(None)) - run.means
    unit = np.abs(rows).max(axis=0, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    return rows / unit, unit


def _name(run: Run, place: int) -> str:
    """The name of a column, made only when needed: there may be millions."""
    return plain(run.features[place] if run.features is not None else f"feature {place}", _LONGEST)


def _dense(values: Any) -> Array:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def columns(run: Run, which: Labels, found: Features | None, room: int) -> list[dict[str, Any]]:
    """The values of the points, from 0 for the smallest to 65534 for the largest."""
    if found is None:
        return []
    chosen = found.places[found.most_telling(max(1, room // (3 * len(which) + 100)))]
    some: Any = run.X[which][:, chosen]
    values = some.toarray() if hasattr(some, "toarray") else np.asarray(some, dtype=np.float64)
    return [
        {"name": _name(run, j), **_column(column)}
        for j, column in zip(chosen.tolist(), run.in_units(values, chosen).T, strict=True)
    ]


def columns_aside(run: Run, which: Labels, room: int) -> list[dict[str, Any]]:
    """The same for columns that were not used. Text has a list of names, and 0 for a gap."""
    found = []
    for name, values in list(run.aside.items())[: max(1, room // (3 * len(which) + 100))]:
        some = [values[i] for i in which.tolist()]
        if all(isinstance(value, str | None) for value in some):
            kinds = sorted({value for value in some if value is not None})
            place = {kind: j + 1 for j, kind in enumerate(kinds)}
            of = packed([place.get(value, 0) for value in some], unsigned(len(kinds) + 1))
            shown: dict[str, Any] = {"names": [plain(kind) for kind in kinds], "of": of}
        else:
            shown = _column(np.asarray(some, dtype=np.float64))
        found.append({"name": plain(name, _LONGEST), "aside": True, **shown})
    return found


def _column(values: Array) -> dict[str, Any]:  # (m,)
    finite = np.isfinite(values)
    if not finite.any():
        return {
            "low": 0,
            "high": 0,
            "ends": [0, 1],
            "of": packed(np.full(len(values), UNKNOWN), np.uint16),
        }
    low, high = float(values[finite].min()), float(values[finite].max())
    # Halved first, so that the width is finite even for huge numbers.
    width = 2 * (high / 2 - low / 2) if np.isfinite(high - low) else np.finfo(np.float64).max
    steps = np.full(len(values), UNKNOWN)
    steps[finite] = np.rint((UNKNOWN - 1) * ((values[finite] - low) / (width or 1.0)))
    ends = np.quantile(steps[finite], _COLOURED).round().astype(int).tolist()
    if ends[0] == ends[1]:
        ends = [0, UNKNOWN - 1]
    return {"low": low, "high": high, "ends": ends, "of": packed(steps, np.uint16)}


def packed_features(run: Run, found: Features) -> dict[str, Any]:
    unit = float(np.abs(found.centers).max(initial=0.0)) / 32767 or 1.0
    return {
        "names": [_name(run, j) for j in found.places.tolist()],
        "total": number(run.X.shape[1]),
        "means": packed(run.in_units(found.means, found.places), np.float64),
        "spreads": packed(found.spreads * run.units[1][found.places], np.float64),
        "centers": packed(np.rint(found.centers / unit), np.int16),
        "unit": unit,
    }
