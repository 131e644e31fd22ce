"""New samples that are unlike all samples of a fit."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..core.types import Array, Matrix
from .functions import SCALE_NEIGHBOR

#: New samples are compared with at most this many samples of the fit.
_COMPARED = 5000


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
