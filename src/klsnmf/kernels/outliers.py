"""Samples that belong to no cluster, alone or in tiny groups; and new samples unlike all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..core.types import Array, Matrix
from .functions import SCALE_NEIGHBOR

#: Neighbours whose neighbourhoods are compared with that of a sample.
_ASKED = 10

#: New samples are compared with at most this many samples of the fit.
_COMPARED = 5000

#: A sample is an outlier if its neighbourhood is this many times as wide as its neighbours' are.
_WIDER = 3.0


@dataclass(frozen=True)
class Neighbourhoods:
    """How wide the neighbourhoods of samples are: the distance to the 7th neighbour.

    A sample far from all others has a neighbourhood that is much wider than those of its
    neighbours. The same is true of a sample in a tiny group of fewer than seven. If samples are
    sparse everywhere, all neighbourhoods are wide, and no sample is an outlier.
    """

    X: Matrix  # (n, p)
    wide: Array  # (n,)

    @classmethod
    def of(cls, X: Matrix) -> tuple[Neighbourhoods, Array]:
        """The neighbourhoods of samples, and which of the samples are outliers."""
        n = X.shape[0]
        m = min(_ASKED, n - 1)
        if m < 1:
            return cls(X, np.zeros(n)), np.zeros(n, bool)
        distances, neighbors = NearestNeighbors(n_neighbors=m).fit(X).kneighbors()
        found = cls(X, distances[:, min(SCALE_NEIGHBOR, m) - 1])
        return found, found._wider(distances, neighbors)

    def outliers(self, Y: Matrix) -> Array:  # (m, p) -> (m,)
        """Which new samples are outliers."""
        m = min(_ASKED, self.X.shape[0])
        return self._wider(*NearestNeighbors(n_neighbors=m).fit(self.X).kneighbors(Y))

    def _wider(self, distances: Array, neighbors: Array) -> Array:
        own = distances[:, min(SCALE_NEIGHBOR, distances.shape[1]) - 1]
        usual = np.median(self.wide[neighbors], axis=1)
        return np.asarray((own > _WIDER * usual) & (usual > 0))


def unlike(X: Matrix, Y: Matrix) -> Array:  # (n, p), (m, p) -> (m,)
    """Which new samples Y are farther from the samples X than any of X is from the others.

    Distances are those to the 7th neighbour. If a new sample is drawn from the same distribution as
    the n samples, the chance that it is called unlike them is 1/(n + 1). Samples of X never are.
    """
    X = X[:: -(-X.shape[0] // _COMPARED)]
    m = min(SCALE_NEIGHBOR, X.shape[0] - 1)
    if m < 1:
        return np.zeros(Y.shape[0], bool)
    finder = NearestNeighbors(n_neighbors=m).fit(X)
    widest = finder.kneighbors()[0][:, -1].max()
    return np.asarray(finder.kneighbors(Y)[0][:, -1] > widest)
