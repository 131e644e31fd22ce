"""Samples that belong to no cluster, alone or in tiny groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.arithmetic import filled_share
from ..core.arrays import like, to_host
from ..core.types import Array, Labels, Matrix
from .among import Among
from .functions import SCALE_NEIGHBOR
from .neighbors import nearest
from .plan import choose_search

#: Neighbours whose neighbourhoods are compared with that of a sample.
_ASKED = 10

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
        approximate, *_ = choose_search(X.shape, "auto", filled=filled_share(X))
        neighbors, d2 = nearest(X, m, approximate=approximate)
        found = cls(X, np.sqrt(d2[:, min(SCALE_NEIGHBOR, m) - 1]))
        return found, found._wider(np.sqrt(d2[:, :m]), neighbors[:, :m])

    def outliers(self, Y: Matrix) -> Array:  # (m, p) -> (m,)
        """Which new samples are outliers."""
        i, j, d2 = self._among.nearest(Y)
        first = np.searchsorted(i, np.arange(Y.shape[0]))
        places = first[:, None] + np.arange(self._among.wanted)
        return self._wider(np.sqrt(d2[places]), j[places])

    @cached_property
    def _among(self) -> Among:
        return Among(self.X, _ASKED)

    def _wider(self, distances: Array, neighbors: Array) -> Array:
        own = distances[:, min(SCALE_NEIGHBOR, distances.shape[1]) - 1]
        usual = np.median(self.wide[neighbors], axis=1)
        return np.asarray((own > _WIDER * usual) & (usual > 0))


def without_outliers(X: Matrix | None, labels: Labels) -> dict[str, Any]:
    """Labels in which samples that belong to no cluster have -1; and what tells new ones."""
    assert X is not None  # it is only where a kernel is given
    known, apart = Neighbourhoods.of(X)
    return {
        "labels_": like(np.where(apart, -1, to_host(labels)), labels),
        "_clusters": labels,
        "_neighbourhoods": known,
    }
