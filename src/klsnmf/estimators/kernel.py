"""The methods of the family that know samples by their kernel: CNMF, KNMF and kernel k-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.arithmetic import unit_columns
from ..core.types import Array, Labels, Matrix
from ..kernels import functions
from ..kernels.similarity import View
from ..models.kernel_kmeans import Lloyd
from ..models.new_samples import NewSamples
from ..solve.loop import Journal
from ..solve.phases import Phase, Problem
from ..solve.race import raced
from ..solve.solution import Callback, Solution
from .base import LocalSimilarityNMF
from .labels import Reading, lost_with_most, read_labels

#: The parameters of LocalSimilarityNMF that all methods here have, and those of a kernel.
_SHARED = {
    name: LocalSimilarityNMF._parameter_constraints[name]
    for name in (
        *("n_clusters", "row_norm", "init", "n_init", "max_iter", "tol", "random_state"),
        *("verbose", "callback"),
    )
}
_KERNEL = {
    "kernel": [StrOptions({*functions.KERNELS, "precomputed"}), callable, list, tuple],
    "radius": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    "n_neighbors": LocalSimilarityNMF._parameter_constraints["n_neighbors"],
    "diffusion": LocalSimilarityNMF._parameter_constraints["diffusion"],
}
_LABELS = {"labels": [StrOptions({"argmax", "kmeans"})]}


class KernelMethod(LocalSimilarityNMF):
    """The problem of LS-NMF with G free, without the local term and without a graph."""

    _on_devices = False
    lam = 0.0
    graph_weight = 0.0
    graph_neighbors = 5
    orthogonal = False
    solver = "soft"


class KernelFactorization(KernelMethod):
    """What CNMF and KNMF share: how labels are read from G."""

    labels: str
    _reading: Reading

    def _problem(self, X: Matrix, view: View, k: int, journal: Journal) -> Problem:
        return replace(super()._problem(X, view, k, journal), run=raced)

    def predict(self, X: Any) -> Labels:
        """The clusters of new samples, read from their coefficients as those of the fit were.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New samples; with ``kernel="precomputed"`` the kernel between new samples and
            those of the fit, of shape (n_new, n_samples).

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        _, products = self._products(X)
        rows = self._new.coefficients(*products)
        return self._reading.labels(rows.astype(self.G_.dtype, copy=False))

    def _keep(self, X: Matrix, view: View, unit: float, lam: float, solution: Solution) -> Array:
        G = solution.factors["G"]
        labels = lost_with_most(np.argmax(unit_columns(G), axis=1), G)
        strangers = super()._keep(X, view, unit, lam, replace(solution, labels=labels))
        self.labels_ = lost_with_most(self.labels_, self.G_)
        rng = check_random_state(self.random_state)
        self.labels_, self._reading = read_labels(self.G_, self.labels_, self.labels, rng)
        return np.zeros_like(strangers)  # all have their labels, read from G


class CNMF(KernelFactorization):
    """Convex nonnegative matrix factorization (CNMF), for data of any sign.

    Minimises ½ ‖X - GWᵀX‖² over W, G ≥ 0, in the manner of Ding, Li and Jordan: prototypes are
    nonnegative combinations of samples. It is :class:`LSNMF` with ``orthogonal=False`` and
    ``lam=0``. X that is sparse, or nonnegative with fewer features than half the samples, is only
    multiplied with: the kernel matrix is not formed. Where X is sparse and signed, its positive and
    negative entries are told apart instead of those of the kernel.

    The usual setting in comparisons is a random start and 1000 iterations, ``init="random"``; it
    stays on a plateau more often than not.

    Parameters
    ----------
    n_clusters : int, default=8
    row_norm : "l2", None or "auto", default="auto"
        Scale the samples to length 1 first, or leave them; "auto" as in :class:`KLSNMF`.
    labels : {"argmax", "kmeans"}, default="argmax"
        How clusters are read from ``G_``: the largest entry of a row, or k-means on its rows
        scaled to length 1.
    init : {"auto", "spectral", "kmeans", "random"} or (W0, G0), default="auto"
        As in :class:`KLSNMF`.
    n_init : int, default=10
        As in :class:`WNMF`.
    max_iter : int, default=1000
    tol : float, default=1e-4
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
    callback : callable or None, default=None
        As in :class:`KLSNMF`.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_
        As in :class:`KLSNMF`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_SHARED, **_LABELS}

    kernel = "linear"
    gram = "samples"
    radius = "auto"
    n_neighbors = None
    diffusion = 0

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        row_norm: str | None = "auto",
        labels: str = "argmax",
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.row_norm = row_norm
        self.labels = labels
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback


class KNMF(KernelFactorization):
    """Kernel convex nonnegative matrix factorization (KNMF).

    Minimises ½ tr(K - 2KWGᵀ + GWᵀKWGᵀ) over W, G ≥ 0: :class:`CNMF` in the space of a kernel. It is
    :class:`KLSNMF` without the local term and without orthogonality.

    The usual setting in comparisons is ``kernel="rbf"``, a random start and 1000 iterations. The
    defaults are those of :class:`KLSNMF`, so that the two differ by their problem alone.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, radius, n_neighbors, diffusion, row_norm
        As in :class:`KLSNMF`.
    labels : {"argmax", "kmeans"}, default="argmax"
        How clusters are read from ``G_``: the largest entry of a row, or k-means on its rows
        scaled to length 1.
    init, n_init, max_iter, tol, random_state, verbose, callback
        As in :class:`CNMF`.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_, radius_, diffusion_
        As in :class:`KLSNMF`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_SHARED, **_KERNEL, **_LABELS}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "self-tuning",
        radius: float | str = "auto",
        n_neighbors: int | str | None = "auto",
        diffusion: int | str = "auto",
        row_norm: str | None = "auto",
        labels: str = "argmax",
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.radius = radius
        self.n_neighbors = n_neighbors
        self.diffusion = diffusion
        self.row_norm = row_norm
        self.labels = labels
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback


class KernelKMeans(KernelMethod):
    """k-means in the space of a kernel.

    The algorithm of Lloyd with a kernel matrix in place of samples: each sample goes to the nearest
    mean, then the means move. ``objective_`` is half the sum of squared distances to the means.
    With a kernel that is not positive semidefinite, such as the self-tuning one without diffusion,
    it may go back and forth between partitions until ``max_iter``.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, radius, n_neighbors, diffusion, row_norm
        As in :class:`KLSNMF`.
    init : {"auto", "spectral", "kmeans", "random"} or (W0, G0), default="auto"
        As in :class:`KLSNMF`; the largest entries of G name the clusters to start from.
    n_init, max_iter, tol, random_state, verbose, callback
        As in :class:`CNMF`.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_, radius_, diffusion_
        As in :class:`KLSNMF`. Rows of ``G_`` have one entry that is not zero.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_SHARED, **_KERNEL}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "self-tuning",
        radius: float | str = "auto",
        n_neighbors: int | str | None = "auto",
        diffusion: int | str = "auto",
        row_norm: str | None = "auto",
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.radius = radius
        self.n_neighbors = n_neighbors
        self.diffusion = diffusion
        self.row_norm = row_norm
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _problem(self, X: Matrix, view: View, k: int, journal: Journal) -> Problem:
        problem = super()._problem(X, view, k, journal)
        return replace(problem, phases=[Phase("lloyd", lambda K, lam: Lloyd(K))])

    def _keep(self, X: Matrix, view: View, unit: float, lam: float, solution: Solution) -> Array:
        strangers = super()._keep(X, view, unit, lam, solution)
        length = np.sqrt(np.maximum(np.count_nonzero(self.G_, axis=0), 1)).astype(X.dtype)
        new = self._new
        self._new = NearestMean(new.C, new.sums, new.lengths, lam, True, length)
        return strangers


@dataclass(frozen=True)
class NearestMean(NewSamples):
    """New samples of kernel k-means; column k of W is the mean of cluster k times its length."""

    length: Array  # (k,)

    def labels(self, kW: Array, own: Array) -> Labels:  # (m, k), (m,) -> (m,)
        """argmin_k ‖φ(x) - m_k‖²."""
        return np.argmax(2 * kW / self.length - np.diag(self.C) / self.length**2, axis=1)

    def coefficients(self, kW: Array, own: Array) -> Array:  # (m, k)
        return (np.eye(len(self.C)) / self.length)[self.labels(kW, own)]
