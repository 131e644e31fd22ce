"""The learned similarity W Gᵀ, ordered by cluster, as a picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .pictures import shaded
from .run import Run

#: The number of rows and columns of the picture.
_SIDE = 320


class Similarity(NamedTuple):
    uri: str
    shown: int
    bounds: list[tuple[int, float, float]]  # cluster, first and last place, as shares of a side
    within: float  # share of all similarity that is between samples of one cluster


def similarity(run: Run) -> Similarity | None:
    """The picture; None for methods that learn no similarity."""
    W, G = (getattr(run.estimator, name, None) for name in ("W_", "G_"))
    if W is None or G is None:
        return None
    W, G = (np.maximum(np.asarray(V, dtype=np.float64), 0) for V in (W, G))
    total = float(W.sum(axis=0) @ G.sum(axis=0))
    if not np.isfinite(total) or total <= 0:
        return None
    within = float(np.sum(run.sums(W) * run.sums(G)) / total)

    order = np.lexsort((-run.strength, run.labels))
    places = np.linspace(0, len(order) - 1, min(_SIDE, len(order))).round().astype(int)
    shown = order[places]
    S = W[shown] @ G[shown].T
    # The largest percent of values has the same colour.
    positive = S[S > 0]
    top = np.quantile(positive, 0.99) if positive.size else 1.0

    labels = run.labels[shown]
    bounds = []
    for cluster in np.unique(labels):
        found = np.flatnonzero(labels == cluster)
        bounds.append((int(cluster), found[0] / len(shown), (found[-1] + 1) / len(shown)))
    return Similarity(shaded(np.clip(S / top, 0, 1)), len(shown), bounds, within)
