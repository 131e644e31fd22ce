"""What the scripts of the page work with: all samples, in few characters.

Numbers are packed as they lie in memory, in base64; names are text. Nothing here is HTML: the
template writes it as JSON that cannot end its element.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..core.tables import harmless
from ..core.types import Array, Labels
from .features import Features, name_of
from .run import Run
from .text import number, plain

#: A value that is not known, where the others are from 0 to 65534.
_UNKNOWN = 65535

#: Colours run between these quantiles of a column, so that a few extreme values do not take all.
_COLOURED = (0.02, 0.98)


def workbench(
    run: Run, which: Labels, found: Features | None, samples: int, columns: int
) -> dict[str, Any]:
    """Samples in about so many characters, and values of the points in about so many.

    Where there is not room for all samples, those of the map, ``which``, are all that is known.
    """
    n = len(run.labels)
    names = _names(run, np.arange(n), samples)
    whole = names is not None
    known = np.arange(n) if whole else which
    names = names or _names(run, which, None)
    labels = np.asarray(run.estimator.labels_)
    return {
        "n": n,
        "sizes": run.sizes.tolist(),
        "rows": None if whole else packed(known, np.uint32),
        **(names or {}),
        "cluster": packed(run.labels[known], _unsigned(run.n_clusters)),
        "strength": packed([_four_decimals(s) for s in run.strength[known].tolist()], np.uint16),
        "outliers": np.flatnonzero(labels[known] < 0).tolist(),
        "classes": _classes(run, known),
        "points": packed(which if whole else np.arange(len(which)), np.uint32),
        "levels": _levels(run, which),
        "columns": _columns(run, which, found, columns),
        "features": None if found is None else _features(run, found),
        "command": bool(run.command),
    }


def packed(values: Any, kind: Any) -> str:
    """Numbers as their bytes, the smallest first, in base64."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def _unsigned(count: int) -> Any:
    return np.uint8 if count <= 256 else np.uint16 if count <= _UNKNOWN else np.uint32


def _four_decimals(strength: float) -> int:
    """In units of 0.0001, as labels.csv rounds it."""
    return int(f"{min(max(strength, 0.0), 6.5):.4f}".replace(".", ""))


def _names(run: Run, known: Labels, room: int | None) -> dict[str, Any] | None:
    """Names as labels.csv has them, and as they are shown where that differs.

    ``ids`` is None where names count the rows from 1. Without room for whole names they are cut;
    without room for these there is nothing.
    """
    # A cluster takes 1 byte or more of a sample and a strength 2, and base64 a third more.
    if room is not None and 4 * len(known) > room:
        return None
    if len(known) == len(run.ids) and all(run.ids[i] == str(i + 1) for i in range(len(known))):
        return {"ids": None, "shown": {}, "cut": False}
    ids = [harmless(run.ids[i]) for i in known.tolist()]
    shown = [run.id_of(i) for i in known.tolist()]
    differs = {i: b for i, (a, b) in enumerate(zip(ids, shown, strict=True)) if a != b}
    if room is None or _characters([*ids, *differs.values()]) + 4 * len(known) <= room:
        return {"ids": ids, "shown": differs, "cut": False}
    if _characters(shown) + 4 * len(known) <= room:
        return {"ids": [harmless(name) for name in shown], "shown": {}, "cut": True}
    return None


def _characters(names: list[str]) -> int:
    """How long they are on the page, where letters beyond ASCII are written in six characters."""
    return sum(len(name) + 5 * (len(name.encode()) - len(name)) + 4 for name in names)


def _classes(run: Run, known: Labels) -> dict[str, Any] | None:
    """The true labels by name, and which each sample has, counted from 1; 0 is none."""
    if run.classes is None:
        return None
    names, which = run.classes
    of = packed(which[known] + 1, _unsigned(len(names) + 1))
    return {"names": [plain(name) for name in names], "of": of}


def _levels(run: Run, which: Labels) -> list[dict[str, Any]]:
    """The clusters of the points at every other level."""
    profile: Any = getattr(run.estimator, "levels_", None) or ()
    others = sorted((level for level in profile), key=lambda level: level.n_clusters)
    return [
        {
            "count": int(level.n_clusters),
            "of": packed(np.asarray(level.labels)[which], _unsigned(level.n_clusters)),
        }
        for level in others
        if level.n_clusters != run.n_clusters
    ]


def _columns(run: Run, which: Labels, found: Features | None, room: int) -> list[dict[str, Any]]:
    """Values of the points, from 0 to 65534 between the least and the greatest."""
    if found is None:
        return []
    chosen = found.places[found.most_telling(max(1, room // (3 * len(which) + 100)))]
    some: Any = run.X[which][:, chosen]
    values = some.toarray() if hasattr(some, "toarray") else np.asarray(some, dtype=np.float64)
    return [
        {"name": name_of(run, j), **_column(column)}
        for j, column in zip(chosen.tolist(), values.T, strict=True)
    ]


def _column(values: Array) -> dict[str, Any]:  # (m,)
    finite = np.isfinite(values)
    if not finite.any():
        return {
            "low": 0,
            "high": 0,
            "ends": [0, 1],
            "of": packed(np.full(len(values), _UNKNOWN), np.uint16),
        }
    low, high = float(values[finite].min()), float(values[finite].max())
    # Halves, so that the width of a column of huge numbers is finite.
    width = 2 * (high / 2 - low / 2) if np.isfinite(high - low) else np.finfo(np.float64).max
    steps = np.full(len(values), _UNKNOWN)
    steps[finite] = np.rint((_UNKNOWN - 1) * ((values[finite] - low) / (width or 1.0)))
    ends = np.quantile(steps[finite], _COLOURED).round().astype(int).tolist()
    if ends[0] == ends[1]:
        ends = [0, _UNKNOWN - 1]
    return {"low": low, "high": high, "ends": ends, "of": packed(steps, np.uint16)}


def _features(run: Run, found: Features) -> dict[str, Any]:
    unit = float(np.abs(found.centers).max(initial=0.0)) / 32767 or 1.0
    return {
        "names": [name_of(run, j) for j in found.places.tolist()],
        "total": number(run.X.shape[1]),
        "means": packed(found.means, np.float64),
        "spreads": packed(found.spreads, np.float64),
        "centers": packed(np.rint(found.centers / unit), np.int16),
        "unit": unit,
    }
