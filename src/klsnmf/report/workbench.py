"""The data about samples for the scripts of the page.

Nothing here is HTML. The template writes it as JSON that cannot end its element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tables import harmless
from ..core.types import Labels
from .packing import packed, unsigned
from .run import Run
from .text import plain


def workbench(run: Run, which: Labels, room: int) -> dict[str, Any]:
    """All samples, in about so many characters.

    If there is no room for all, only the samples of the map, ``which``.
    """
    n = len(run.labels)
    names = _names(run, np.arange(n), room)
    whole = names is not None
    known = np.arange(n) if whole else which
    names = names or _names(run, which, None)
    labels = np.asarray(run.estimator.labels_)
    return {
        "n": n,
        "sizes": run.sizes.tolist(),
        "rows": None if whole else packed(known, np.uint32),
        **(names or {}),
        "cluster": packed(run.labels[known], unsigned(run.n_clusters)),
        "strength": packed([_four_decimals(s) for s in run.strength[known].tolist()], np.uint16),
        "outliers": np.flatnonzero(labels[known] < 0).tolist(),
        "classes": _classes(run, known),
        "points": packed(which if whole else np.arange(len(which)), np.uint32),
        "levels": _levels(run, which),
        "command": bool(run.command),
    }


def _four_decimals(strength: float) -> int:
    """The strength in units of 0.0001, rounded as in labels.csv."""
    return int(f"{min(max(strength, 0.0), 6.5):.4f}".replace(".", ""))


def _names(run: Run, known: Labels, room: int | None) -> dict[str, Any] | None:
    """Names as in labels.csv, and as they are shown if that differs.

    ``ids`` is None if names count the rows from 1. If there is no room for whole names they are
    cut, and if there is no room for those the result is None.
    """
    # A cluster takes at least 1 byte per sample, a strength 2, and base64 a third more.
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
    """The length of names on the page; a letter beyond ASCII takes six characters."""
    return sum(len(name) + 5 * (len(name.encode()) - len(name)) + 4 for name in names)


def _classes(run: Run, known: Labels) -> dict[str, Any] | None:
    """The names of the true labels, and each sample's label, counted from 1; 0 is none."""
    if run.classes is None:
        return None
    names, which = run.classes
    of = packed(which[known] + 1, unsigned(len(names) + 1))
    return {"names": [plain(name) for name in names], "of": of}


def _levels(run: Run, which: Labels) -> list[dict[str, Any]]:
    """The clusters of the points at every other level."""
    profile: Any = getattr(run.estimator, "levels_", None) or ()
    others = sorted((level for level in profile), key=lambda level: level.n_clusters)
    return [
        {
            "count": int(level.n_clusters),
            "of": packed(np.asarray(level.labels)[which], unsigned(level.n_clusters)),
        }
        for level in others
        if level.n_clusters != run.n_clusters
    ]
