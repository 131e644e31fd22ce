"""Some rows of X are fitted, and the others are placed as new samples are.

Of very many samples, ``fit_on`` fits a part. It is drawn uniformly: every sample is in it with the
same chance. Clusters, outliers and the gaps between them then have the same shares in it as among
all samples, and radii and sizes mean what they mean in a fit of all. A draw that prefers sparse
regions, to keep small clusters, would prefer outliers above all. Of 200,000 samples drawn from ten
million, a cluster of 2,500 has 50: enough for a graph of 10 neighbours. In one of two million draws
it has fewer than 20.

With ``sample_weight``, samples of weight 0 are not fitted. Where a fit counts samples, to find
neighbours for example, a sample of weight 3 is fitted three times. Elsewhere it is fitted once, and
its weight is a number in the problem: see :mod:`klsnmf.grams.weighted`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..core import sketch
from ..core.arrays import on_host, slices
from ..core.types import Array, Labels
from ..core.work import stage, tell
from ..kernels.inputs import is_dask_array
from ..kernels.sources import Source
from .validate import check_sample_weight, copies_of

#: Samples that are placed together: each cell of the part is then searched for many at once.
BLOCK = 2**18


@dataclass(frozen=True)
class Part:
    """The samples that are fitted.

    Attributes
    ----------
    source : all samples
    rows : (m,) the places of those that are fitted, ascending; more than once for copies
    weight : (m,) their weights, or None
    drawn : whether ``fit_on`` chose them
    """

    source: Source
    rows: Labels
    weight: Array | None = None
    drawn: bool = True

    @classmethod
    def of(cls, estimator: Any, X: Any, sample_weight: Any = None) -> Part | None:
        """What ``fit_on`` of an estimator and weights mean; None for all of X without weights."""
        part = _drawn(estimator, X)
        if sample_weight is None:
            return part
        if _elsewhere(estimator, X):
            raise ValueError(
                "sample_weight is for samples on the host, without engine=: give X as a numpy "
                "array, a sparse matrix or the path of a .npy file."
            )
        source = Source.of(X) if part is None else part.source
        rows = None if part is None else part.rows
        counts = estimator._counts_copies
        found = cls.with_weights(source, sample_weight, counts, _ALL_PAIRS, rows)
        if estimator._setup().precomputed and not found.whole:
            raise ValueError(
                'With kernel="precomputed" there are no samples to repeat or to leave out: where '
                "sample_weight is zero, leave out the row and column of the kernel; give "
                "n_clusters as a number, and set diffusion=0."
            )
        return replace(found, drawn=part is not None)

    @classmethod
    def with_weights(
        cls,
        source: Source,
        sample_weight: Any,
        counts: bool,
        remedy: str,
        rows: Labels | None = None,
    ) -> Part:
        """These rows, or all, with their weights; copies of them where a fit ``counts`` samples."""
        rows = np.arange(source.n) if rows is None else rows
        weight = check_sample_weight(sample_weight, source.n)[rows]
        if counts:
            return cls(source, copies_of(rows, weight, remedy), drawn=False)
        there = weight > 0
        return cls(source, rows[there], weight[there], drawn=False)

    @property
    def whole(self) -> bool:
        """Whether all samples are fitted, each once."""
        n = self.source.n
        return len(self.rows) == n and bool((self.rows == np.arange(n)).all())

    def rows_of(self, V: Any, name: str) -> Any:
        """The rows of the samples that are fitted, of something that was given for all."""
        V, n = V.tocsr() if sparse.issparse(V) else np.asarray(V), self.source.n
        if V.ndim != 2 or V.shape[0] != n:
            raise ValueError(f"{name} has shape {V.shape}; it must have {n} rows, one per sample.")
        return V[self.rows]

    def graph_of(self, graph: Any) -> sparse.csr_array:
        """The graph of the samples that are fitted, of one that was given for all."""
        return sparse.csr_array(self.rows_of(graph, "graph_neighbors"))[:, self.rows]

    def place_all(self, fitted: Any) -> tuple[Labels, Array]:  # (n,), (n,)
        """Labels and strengths of all samples: as the fit has them, or as predict."""
        n = self.source.n
        labels, strengths = (np.empty(n, V.dtype) for V in (fitted.labels_, fitted.strengths_))
        left = np.ones(n, bool)
        left[self.rows] = False
        with stage("placing"):
            for some in slices(n, BLOCK):
                if left[some].any():
                    labels[some], strengths[some] = fitted._placed(self.source.rows(some))
                tell("samples placed", some.stop, n)
        labels[self.rows], strengths[self.rows] = fitted.labels_, fitted.strengths_
        return labels, strengths


#: What to do if copies of samples cannot be made.
_ALL_PAIRS = (
    'use a kernel of all pairs that looks for no neighbours, such as "linear", or "rbf" with a '
    "radius"
)


def _drawn(estimator: Any, X: Any) -> Part | None:
    """The part that ``fit_on`` means; None for all of X."""
    most = getattr(estimator, "fit_on", "all")
    if most == "all" or (most == "auto" and not _by_rule(estimator)):
        return None
    if _elsewhere(estimator, X):
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
    return Part(source, np.sort(rng.permutation(source.n)[:size]))


def _elsewhere(estimator: Any, X: Any) -> bool:
    engine = getattr(estimator, "engine", None)
    return is_dask_array(X) or not on_host(X) or engine is not None


def _by_rule(estimator: Any) -> bool:
    """Whether "auto" may choose a part: where neighbours place new samples fast.

    And where nothing that was given is for all samples.
    """
    given = not isinstance(estimator.init, str) or not np.isscalar(estimator.graph_neighbors)
    return estimator.kernel == "self-tuning" and estimator.n_neighbors is not None and not given
