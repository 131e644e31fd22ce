"""New samples beside those of a fit: how far they are from them, and which are unlike all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import betabinom
from sklearn.neighbors import NearestNeighbors

from ..core.types import Array, Matrix
from .functions import SCALE_NEIGHBOR

#: New samples are compared with at most this many samples of the fit.
_COMPARED = 5000

#: A new sample is far if it is farther away than this share of the samples of the fit.
FAR = 0.99

#: So many far samples or more are told if chance alone makes so many with a smaller probability.
_BY_CHANCE = 0.001


class Beside(NamedTuple):
    """New samples, compared with those of a fit.

    Attributes
    ----------
    novelty : (m,) array
        The share of the samples of the fit that are nearer to their nearest sample than the new
        one is to its nearest. Of samples of the same kind as those of the fit, about one in a
        hundred has 0.99 or more.
    unlike : (m,) array
        Which are farther from the samples of the fit than any of these is from the others. The
        distances are those to the 7th neighbour. If a new sample is drawn from the same
        distribution as the n samples, the chance is 1/(n + 1).
    n : how many samples of the fit they were compared with
    """

    novelty: Array
    unlike: Array
    n: int

    def far(self, among: Array) -> int:
        """How many of some new samples are far; 0 if chance explains as many.

        A sample is far if at most r of the n samples are as far. For samples of the same kind, the
        chance of this is itself a matter of chance, Beta(r + 1, n - r).
        """
        count, r = int((self.novelty[among] >= FAR).sum()), int((1 - FAR) * self.n)
        by_chance = betabinom.sf(count - 1, int(among.sum()), r + 1, self.n - r)
        return count if by_chance < _BY_CHANCE else 0


def beside(X: Matrix, Y: Matrix) -> Beside:  # (n, p), (m, p)
    """The new samples Y, compared with the samples X of a fit."""
    X = X[:: -(-X.shape[0] // _COMPARED)]
    n = X.shape[0]
    m = min(SCALE_NEIGHBOR, n - 1)
    if m < 1:
        return Beside(np.zeros(Y.shape[0]), np.zeros(Y.shape[0], bool), n)
    finder = NearestNeighbors(n_neighbors=m).fit(X)
    own, new = finder.kneighbors()[0], finder.kneighbors(Y)[0]
    novelty = np.searchsorted(np.sort(own[:, 0]), new[:, 0]) / n
    return Beside(novelty, np.asarray(new[:, -1] > own[:, -1].max()), n)
