"""How clusters are read from coefficients: each sample's largest, or k-means on all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from ..core.kmeans import by_appearance, draw_seed, kmeans
from ..core.types import Array, Labels

#: Runs of k-means on the coefficients; the best is kept.
_RUNS = 10


@dataclass(frozen=True)
class Largest:
    """labels="argmax": the largest coefficient names the cluster.

    Attributes
    ----------
    default : the label of a sample whose coefficients are all zero
    """

    default: int

    def labels(self, G: Array) -> Labels:  # (m, k) -> (m,)
        return np.where(G.any(axis=1), np.argmax(G, axis=1), self.default)


@dataclass(frozen=True)
class Grouped:
    """labels="kmeans": the nearest mean of the rows of G, rows at length 1.

    Attributes
    ----------
    means : the fitted k-means
    number : (k,) array, the label of each of its clusters
    default : the label of a sample whose coefficients are all zero
    """

    means: KMeans
    number: Labels
    default: int

    def labels(self, G: Array) -> Labels:  # (m, k) -> (m,)
        known = G.any(axis=1)
        labels = np.full(len(G), self.default, dtype=np.intp)
        if known.any():
            labels[known] = self.number[self.means.predict(normalize(G[known]))]
        return labels


Reading = Largest | Grouped


def lost_with_most(labels: Labels, G: Array) -> Labels:  # (n,), (n, k) -> (n,)
    """The labels, but samples whose coefficients are all zero go where most others are."""
    known = G.any(axis=1)
    most = np.argmax(np.bincount(labels[known])) if known.any() else 0
    return np.where(known, labels, most)


def read_labels(
    G: Array, labels: Labels, how: str, rng: np.random.RandomState
) -> tuple[Labels, Reading]:  # (n, k), (n,) -> (n,)
    """The labels of the samples, and the rule for new ones.

    ``G`` has columns of length 1, and ``labels`` are those of the largest coefficients.
    """
    known = np.asarray(G.any(axis=1))
    if how == "kmeans" and known.any():
        return _grouped(G, known, rng)
    lost = labels[~known]
    return labels, Largest(int(lost[0] if lost.size else np.argmax(np.bincount(labels))))


def _grouped(G: Array, known: Array, rng: np.random.RandomState) -> tuple[Labels, Grouped]:
    """k-means on the known rows: those of zeros would be a cluster of their own."""
    rows, k = normalize(G[known]), G.shape[1]
    means = kmeans(rows, min(k, len(rows)), draw_seed(rng), n_init=_RUNS)
    number = np.zeros(len(means.cluster_centers_), dtype=np.intp)
    number[means.labels_] = by_appearance(means.labels_)
    default = int(np.argmax(np.bincount(number[means.labels_])))
    reading = Grouped(means, number, default)
    labels = np.full(len(G), default, dtype=np.intp)
    labels[known] = number[means.labels_]
    return labels, reading
