"""Strengths of samples for any fitted clusterer, including those of scikit-learn, on the host.

If an estimator has ``scores``, strengths come from them (see ``labels``). Otherwise they come from
distances to means, or from the share of the 10 nearest neighbours that have the same label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..core.arithmetic import nearness
from ..core.arrays import host_copy, slices, to_host
from ..core.sketch import MANY
from ..core.types import Array, Labels, Matrix
from ..core.work import tell
from ..kernels.unlike import Beside, beside
from .labels import strength

#: How many neighbours have a vote.
NEIGHBORS = 10

#: A sample with less strength could as well be in another cluster. This holds for methods whose
#: strengths are high for clear clusters. For other methods, scores or distances are close for all
#: clusters on any data.
WEAK = 0.3
_TELLING = ("kls-nmf", "gls-nmf", "spectral")

#: Rows that are scored together; and more of them among more samples of a fit than these, of which
#: cells are searched: each cell is then made ready once for all of them.
_ROWS = 1000
_MORE_ROWS = 2**17


def strengths(estimator: Any, X: Matrix) -> Array:  # (n, p) -> (n,)
    """The strength of each sample of the fit, X, in its cluster, between 0 and 1."""
    if hasattr(estimator, "strengths_"):
        return np.asarray(to_host(estimator.strengths_))
    labels, X = to_host(estimator.labels_), to_host(X)
    return _votes(X, labels) if by_votes(estimator) else strength(_scores(estimator, X), labels)


def by_votes(estimator: Any) -> bool:
    """Whether strengths are votes of neighbours, because the estimator offers nothing better."""
    return not hasattr(estimator, "scores") and not hasattr(estimator, "cluster_centers_")


def assign(estimator: Any, X: Matrix) -> tuple[Labels, Array]:  # (m, p) -> (m,), (m,)
    """The clusters of new samples, and the strength of each sample in its cluster."""
    if not hasattr(estimator, "predict"):
        raise ValueError(
            f"{type(estimator).__name__} cannot place new samples. Cluster with another method, "
            "such as kls-nmf or kmeans."
        )
    scores = _scores(host_copy(estimator), to_host(X))
    labels = np.argmax(scores, axis=1)
    return labels, strength(scores, labels)


def weak_members(
    method: str, labels: Labels, strength: Array, k: int
) -> Labels | None:  # (n,), (n,) -> (k,)
    """How many samples of each cluster are weak; None for methods whose strengths do not tell.

    A median hides a small group that was put into a large cluster.
    """
    if method not in _TELLING:
        return None
    return np.bincount(labels[(strength < WEAK) & (labels >= 0)], minlength=k)


def compared(estimator: Any, X: Matrix) -> Beside | None:  # (m, p)
    """New samples beside those of the fit, if the estimator keeps these."""
    kernel = getattr(estimator, "_similarity", None)
    known = None if kernel is None else kernel.samples
    if known is None:
        return None
    host = host_copy(estimator)
    return beside(to_host(known), host._samples_as_seen(to_host(X)))


def _scores(estimator: Any, X: Matrix) -> Array:  # (m, k)
    """Some rows at a time."""
    many = len(getattr(estimator, "W_", ())) > MANY
    found, n = [], X.shape[0]
    for rows in slices(n, _MORE_ROWS if many else _ROWS) if n else [slice(0)]:
        found.append(_scores_of(estimator, X[rows]))
        tell("thousands of samples", -(-(rows.stop or 0) // 1000), -(-n // 1000))
    return np.concatenate(found)


def _scores_of(estimator: Any, X: Matrix) -> Array:  # (m, k)
    if hasattr(estimator, "scores"):
        return np.asarray(estimator.scores(X))
    return nearness(estimator.transform(X))


def _votes(X: Matrix, labels: Labels) -> Array:  # (n,)
    n = len(labels)
    if n == 1:
        return np.ones(1)
    finder = NearestNeighbors(n_neighbors=min(NEIGHBORS, n - 1)).fit(X)
    near = finder.kneighbors(return_distance=False)  # a sample is not its own neighbour
    shares: Array = (labels[near] == labels[:, None]).mean(axis=1)
    return shares
