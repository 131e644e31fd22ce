"""Membership strength: how clearly a sample belongs to its cluster rather than to the next best.

It is between 0, a tie, and 1, no doubt. What it is read from depends on the kind of method:

- scores (KLS-NMF, LS-NMF, GLS-NMF; RMNMF): the gain b_k/√C_kk of putting the sample into cluster k,
  from which new samples get their labels; 1 - second/first.
- coefficients (WNMF, ONMF, Semi-NMF, GNMF, CNMF, KNMF): the row of G, whose largest entry is the
  label; 1 - second/first.
- distances (k-means, kernel k-means, and labels="kmeans"): to the means; 1 - first/second.
- neighbours (spectral clustering, which has neither): the share of the 10 nearest neighbours
  that have the same label.

Here "first" is the sample's own cluster. Strengths of different kinds are not comparable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from ..core.arrays import host_copy, to_host
from ..core.products import in_units
from ..core.progress import steps
from ..core.types import Array, Labels, Matrix
from ..models.new_samples import NewSamples
from .base import LocalSimilarityNMF
from .factorization import Factorization
from .kernel import KernelFactorization, KernelKMeans, NearestMean
from .labels import Grouped

#: How many neighbours have a vote.
NEIGHBORS = 10

#: Rows that go through a kernel together.
_ROWS = 1000


def strengths(estimator: Any, X: Matrix) -> Array:  # (n, p) -> (n,)
    """The strength of each sample of the fit, X, in its cluster, between 0 and 1; on the host."""
    estimator, X = host_copy(estimator), to_host(X)
    labels: Labels = estimator.labels_
    if by_votes(estimator):
        return _votes(X, labels)
    return _of(estimator, X, labels, fitted=True)


def by_votes(estimator: Any) -> bool:
    """Whether strengths are votes of neighbours, for want of anything in the estimator."""
    return not isinstance(estimator, LocalSimilarityNMF | Factorization | KMeans)


def assign(estimator: Any, X: Matrix) -> tuple[Labels, Array]:  # (m, p) -> (m,), (m,)
    """The clusters of new samples, and the strength of each in its own; on the host."""
    estimator, X = host_copy(estimator), to_host(X)
    if not hasattr(estimator, "predict"):
        raise ValueError(
            f"{type(estimator).__name__} cannot place new samples. Cluster with another method, "
            "such as kls-nmf or kmeans."
        )
    labels: Labels = estimator.predict(X)
    return labels, _of(estimator, X, labels, fitted=False)


def _of(estimator: Any, X: Matrix, labels: Labels, *, fitted: bool) -> Array:
    if isinstance(estimator, KMeans):
        return from_distances(estimator.transform(X), labels)
    if isinstance(getattr(estimator, "_reading", None), Grouped):
        reading: Grouped = estimator._reading
        rows = normalize(estimator.G_ if fitted else estimator.transform(X))
        distances = np.empty((len(rows), len(reading.number)))
        distances[:, reading.number] = reading.means.transform(rows)
        return from_distances(distances, labels)
    if isinstance(estimator, KernelKMeans):
        return from_distances(np.sqrt(_read(estimator, X, _kernel_distances, fitted)), labels)
    free = isinstance(estimator, KernelFactorization)
    if isinstance(estimator, LocalSimilarityNMF) and not free:
        return from_scores(_read(estimator, X, NewSamples.scores, fitted), labels)
    if isinstance(estimator, Factorization) and estimator.orthogonal:
        return from_scores(_factor_gains(estimator, X), labels)
    return from_scores(estimator.G_ if fitted else estimator.transform(X), labels)


def from_scores(scores: Array, labels: Labels) -> Array:  # (n, k), (n,) -> (n,)
    """1 - second/first; 0 where the own score is not positive, 1 if there is no other cluster."""
    if scores.shape[1] == 1:
        return np.ones(len(labels))
    own, other = _own_and_other(np.maximum(scores, 0), labels, np.max, 0.0)
    return np.clip(1 - other / np.where(own > 0, own, np.inf), 0, 1) * (own > 0)


def from_distances(distances: Array, labels: Labels) -> Array:  # (n, k), (n,) -> (n,)
    """1 - first/second; 0 where both are zero, 1 if there is no other cluster."""
    own, other = _own_and_other(distances, labels, np.min, np.inf)
    return np.clip(1 - own / np.where(other > 0, other, 1), 0, 1) * (other > 0)


def _own_and_other(
    values: Array, labels: Labels, best: Any, none: float
) -> tuple[Array, Array]:  # (n,), (n,)
    """The value of each sample's own cluster, and the best of all others."""
    values = values.astype(np.float64)
    each = np.arange(len(labels))
    own = values[each, labels]
    values[each, labels] = none
    return own, best(values, axis=1, initial=none)


def _read(estimator: Any, X: Matrix, read: Any, fitted: bool) -> Array:  # (n, k)
    """What ``read`` makes of the products with the kernel, some rows at a time."""
    # What a diffusion keeps is K itself, and neighbours need not be found again.
    if fitted and (known := estimator._kernel.of_fit(estimator.W_)) is not None:
        return np.asarray(read(estimator._new, *known))
    parts = [
        read(estimator._new, *estimator._products(X[start : start + _ROWS])[1])
        for start in steps(range(0, X.shape[0], _ROWS), "thousands of samples")
    ]
    return np.concatenate(parts)


def _kernel_distances(new: NearestMean, kW: Array, own: Array) -> Array:  # (m, k)
    """‖φ(x) - m_k‖²; column k of W is the mean times its length."""
    length = new.length
    return np.maximum(own[:, None] - 2 * kW / length + np.diag(new.C) / length**2, 0)


def _factor_gains(estimator: Factorization, X: Matrix) -> Array:  # (n, k)
    """⟨x, h_k⟩/‖h_k‖: rows of an orthogonal G have one entry, which nothing stands beside."""
    X = in_units(estimator._checked(X, reset=False), estimator._unit)
    H = estimator.components_ / np.asarray(estimator._unit, estimator.components_.dtype)
    lengths = np.sqrt(np.einsum("kp,kp->k", H, H))
    return np.asarray(safe_sparse_dot(X, H.T)) / np.where(lengths > 0, lengths, np.inf)


def _votes(X: Matrix, labels: Labels) -> Array:  # (n,)
    n = len(labels)
    if n == 1:
        return np.ones(1)
    finder = NearestNeighbors(n_neighbors=min(NEIGHBORS, n - 1)).fit(X)
    near = finder.kneighbors(return_distance=False)  # a sample is not its own neighbour
    shares: Array = (labels[near] == labels[:, None]).mean(axis=1)
    return shares
