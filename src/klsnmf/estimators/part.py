"""Very many samples: a part of them is fitted, and the others are placed as new samples are.

The part is drawn uniformly: every sample is in it with the same chance. Clusters, outliers and the
gaps between them then have the same shares in it as among all samples, and radii and sizes mean
what they mean in a fit of all. A draw that prefers sparse regions, to keep small clusters, would
prefer outliers above all. Of 200,000 samples drawn from ten million, a cluster of 2,500 has 50:
enough for a graph of 10 neighbours. In one of two million draws it has fewer than 20.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..core import sketch
from ..core.arrays import on_host, slices
from ..core.types import Array, Labels
from ..core.work import stage, tell
from ..kernels.inputs import is_dask_array
from ..kernels.sources import Source

#: Samples that are placed together: each cell of the part is then searched for many at once.
BLOCK = 2**18


@dataclass(frozen=True)
class Part:
    """A part of the samples.

    Attributes
    ----------
    source : all samples
    rows : (m,) the places of those in the part, ascending
    """

    source: Source
    rows: Labels

    @classmethod
    def of(cls, estimator: Any, X: Any) -> Part | None:
        """The part that the parameter ``fit_on`` of an estimator means; None for all of X."""
        most = estimator.fit_on
        if most == "all" or (most == "auto" and not _by_rule(estimator)):
            return None
        if is_dask_array(X) or not on_host(X) or estimator.engine is not None:
            if most == "auto":
                return None
            raise ValueError(
                f"fit_on={most} is for samples on the host, without engine=: set "
                'fit_on="all", or give X as a numpy array or the path of a .npy file.'
            )
        if estimator.kernel == "precomputed":
            raise ValueError(
                f'fit_on={most} is for samples, and with kernel="precomputed" there are none: set '
                'fit_on="all".'
            )
        source = Source.of(X)
        size = int(most) if most != "auto" else sketch.PART if source.n > sketch.ALL else source.n
        if source.n <= size:
            return None
        rng = check_random_state(estimator.random_state)
        return cls(source, np.sort(rng.permutation(source.n)[:size]))

    def place_all(self, fitted: Any) -> tuple[Labels, Array]:  # (n,), (n,)
        """Labels and strengths of all samples: as the fit of the part has them, or as predict."""
        n = self.source.n
        labels, strengths = (np.empty(n, V.dtype) for V in (fitted.labels_, fitted.strengths_))
        with stage("placing"):
            for some in slices(n, BLOCK):
                labels[some], strengths[some] = fitted._placed(self.source.rows(some))
                tell("samples placed", some.stop, n)
        labels[self.rows], strengths[self.rows] = fitted.labels_, fitted.strengths_
        return labels, strengths


def _by_rule(estimator: Any) -> bool:
    """Whether "auto" may choose a part: where neighbours place new samples fast.

    And where nothing that was given is for all samples.
    """
    given = not isinstance(estimator.init, str) or not np.isscalar(estimator.graph_neighbors)
    return estimator.kernel == "self-tuning" and estimator.n_neighbors is not None and not given
