"""How clusters are read from coefficients: each sample's largest, or k-means on all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from ._typing import Array, Labels
from .inits import by_appearance, kmeans

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
    """

    means: KMeans
    number: Labels

    def labels(self, G: Array) -> Labels:  # (m, k) -> (m,)
        if len(G) == 0:
            return np.empty(0, dtype=np.intp)
        found: Labels = self.number[self.means.predict(normalize(G))]
        return found


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
    if how == "kmeans":
        return _grouped(G, rng)
    lost = labels[~G.any(axis=1)]
    return labels, Largest(int(lost[0] if lost.size else np.argmax(np.bincount(labels))))


def _grouped(G: Array, rng: np.random.RandomState) -> tuple[Labels, Grouped]:
    rows, k = normalize(G), G.shape[1]
    means = kmeans(rows, k, rng, n_init=_RUNS)
    found = means.labels_
    labels = by_appearance(found)
    number = np.zeros(k, dtype=np.intp)
    number[found] = labels
    return labels, Grouped(means, number)
