"""Every feature of every cluster: means, and how far the members differ in it from all others.

The page has the means of the clusters, in standard deviations of all samples. From these it
computes effect sizes, also of clusters that its reader has merged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.types import Array, Labels
from .run import Run
from .text import plain

_LONGEST = 60


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
    """Those that set clusters apart most, if k times all of them are more than ``entries``.

    None for images and kernels, whose columns have no meaning of their own.
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
    """Columns less their means, each in a unit that keeps squares finite; sparse ones as given."""
    if sparse.issparse(run.X):
        return run.X, np.ones(run.X.shape[1])
    rows = run.rows(slice(None)) - run.means
    unit = np.abs(rows).max(axis=0, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    return rows / unit, unit


def name_of(run: Run, place: int) -> str:
    """The name of a column, made when it is asked for: there may be millions."""
    return plain(run.features[place] if run.features else f"feature {place}", _LONGEST)


def _dense(values: Any) -> Array:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)
