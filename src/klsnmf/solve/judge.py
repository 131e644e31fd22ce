"""A score of any clusters, which needs no true labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ..core.arrays import to_host
from ..core.types import Array, Labels, Matrix
from ..grams.base import Gram
from ..kernels.build import KernelSettings
from ..kernels.count import PLANE, by_chance, clarity, evenness_of, scores
from ..kernels.inputs import choose_row_norm, scaled, unit_of
from .levels import MANY, numbered, persistence_of, slow_directions, told_by


def walk_score(X: Any, labels: Any) -> float:
    """How clearly the samples X fall into these clusters: higher is better.

    Use it to compare numbers of clusters, settings and methods on the same X, and also the labels
    of other packages: it depends only on X and the labels. It is like scikit-learn's
    ``silhouette_score``, and suits clusters of any shape.

    A random walk goes from neighbour to neighbour in X. Clusters have a high score if the walk
    stays in them for long, and if they explain the directions in which it is slow. It is the score
    by which ``n_clusters="auto"`` chooses (see :doc:`/levels`). A score below 0 means that cuts of
    a single piece would explain more. If all samples are in one cluster, or each is in its own, the
    score is 0.

    Scores of different X cannot be compared, and a few dozen samples are too few. Missing values
    are filled with the mean of their feature.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        Numbers or names of clusters. All samples labelled -1 count as one cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from klsnmf import walk_score
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> walk_score(X, y) > walk_score(X, X[:, 0] > 0.5)
    True
    """
    X = check_array(
        to_host(X),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    labels = np.asarray(to_host(labels))
    if labels.shape != (X.shape[0],):
        raise ValueError(
            f"labels has shape {labels.shape}; it must be ({X.shape[0]},), one per sample of X."
        )
    if X.shape[0] < 2:
        return 0.0
    X = _without_gaps(X)
    X = scaled(X, choose_row_norm(X), unit_of(X, "self-tuning"))
    settings = KernelSettings("self-tuning", n_neighbors="auto", diffusion="auto", sizes="auto")
    graphs = settings.graphs(X, 2)
    assert graphs is not None  # these settings allow a choice of the graph
    q = graphs.numbers.usual
    return score_of(labels, graphs.graph(q).K, q, graphs.numbers.dimension or PLANE)


def score_of(labels: Labels, K: Gram, q: int, dimension: float = PLANE) -> float:  # (n,)
    """The score of clusters in a graph of q neighbours, which lie in so many dimensions."""
    labels = numbered(labels)
    n, k = K.shape[0], int(labels.max()) + 1
    if not 1 < k < n:
        return 0.0
    # The same directions for every number of clusters, so that scores can be compared.
    slow = slow_directions(K, min(max(k, MANY) + 1, n), np.random.RandomState(0))
    explained, modularity = told_by(labels, slow, k)
    numbers = np.array([k])
    chance = by_chance(slow.values, numbers, n, q, dimension)
    if explained <= chance[0]:
        return float(explained - chance[0])
    time = persistence_of(slow.values, n)[numbers - 1]
    clear = clarity(np.array([explained]), chance)
    evenness = np.array([evenness_of(np.bincount(labels))])
    return float(scores(numbers, time, clear, evenness, np.array([modularity]), dimension)[0])


def _without_gaps(X: Matrix) -> Matrix:
    """X, with the mean of a feature in place of each gap."""
    if not np.isnan(X.data if sparse.issparse(X) else X).any():
        return X
    X = X.toarray() if sparse.issparse(X) else X
    known: Array = ~np.isnan(X)
    means = np.where(known, X, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, X, means).astype(X.dtype)
