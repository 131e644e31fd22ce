"""The scikit-learn shell: parameters in, one batch of fits, attributes out."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from . import kernels
from ._typing import Array, Labels, Matrix
from .checks import (
    check_definite,
    check_gram,
    check_graph,
    check_start,
    in_units,
    precomputed_gram,
    unit_of,
    unit_rows,
)
from .fitting import (
    Problem,
    best_by_lam,
    choose_phases,
    collapse_lam,
    safe_lams,
    tidied,
)
from .grams import DenseGram, Gram, SparseGram, diffuse, steps_for
from .grams.data import canonical
from .graphs import Graph, binary_graph
from .inits import starts
from .models.new_samples import NewSamples
from .solver import Callback, Solution, Status

#: lam="auto" is this share of the λ at which half of the samples would fit no cluster.
AUTO_LAM = 0.01

#: n_neighbors="auto" keeps this many neighbours where the kernel is meant to be sparse.
AUTO_NEIGHBORS = 10


class LocalSimilarityNMF(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """What KLSNMF and LSNMF share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "diffusion": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "row_norm": [StrOptions({"l2"}), None],
        "graph_weight": [Interval(Real, 0, None, closed="left")],
        "graph_neighbors": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            "sparse matrix",
        ],
        "solver": [StrOptions({"paper", "soft", "exact", "auto"})],
        "init": [StrOptions({"random", "kmeans", "spectral", "auto"}), tuple, list],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    n_clusters: int
    lam: float | str
    kernel: Any
    radius: float | str
    n_neighbors: int | str | None
    diffusion: int | str
    row_norm: str | None
    graph_weight: float
    graph_neighbors: Any
    orthogonal: bool
    solver: str
    init: Any
    n_init: int
    max_iter: int
    tol: float
    random_state: Any
    verbose: int
    callback: Callback | None

    labels_: Labels
    W_: Array
    G_: Array
    _kernel: kernels.FittedKernel | kernels.PrecomputedKernel | kernels.DiffusedKernel
    _unit: float
    _new: NewSamples

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, or the kernel matrix of shape (n_samples, n_samples) if
            ``kernel="precomputed"``.
        y : ignored

        Returns
        -------
        self
        """
        self._fit_with([], X)
        return self

    def predict(self, X: Any) -> Labels:
        """The clusters of new samples, with W as it is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New samples; with ``kernel="precomputed"`` the kernel between new samples and
            those of the fit, of shape (n_new, n_samples).

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        products = self._products(X)
        return self._new.labels(*products)

    def transform(self, X: Any) -> Array:
        """Rows of G for new samples: how much of each prototype they are made of.

        After the solvers "exact" and "auto" a row has one nonzero entry, and the samples of the
        fit get ``G_`` again. After the others, and where G is free, it is the nonnegative
        combination of prototypes that fits the sample best; ``G_`` tends to that as the fit
        converges, but for the pull of orthogonality.

        Parameters
        ----------
        X : as for ``predict``

        Returns
        -------
        G_new : ndarray of shape (n_new, n_clusters)
        """
        products = self._products(X)
        coefficients = self._new.coefficients(*products)
        return coefficients.astype(self.G_.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.G_.shape[1]

    def _products(self, X: Any) -> tuple[Array, Array]:
        """k(X, X_fit) W and k(x, x) for new samples."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._kernel.product(self._scaled(X, self._unit), self.W_)

    def similarity(self, i: int) -> Array:
        """Row i of the learned similarity W Gᵀ: how much sample i speaks for every sample.

        The matrix, of shape (n_samples, n_samples), is never formed.
        """
        check_is_fitted(self)
        i = operator.index(i)
        if not -len(self.labels_) <= i < len(self.labels_):
            raise IndexError(f"i={i} is not a sample; there are {len(self.labels_)}.")
        return np.asarray(self.G_ @ self.W_[i])

    def __sklearn_is_fitted__(self) -> bool:
        # Attributes are set together, at the end: an interrupted fit leaves none behind.
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _fit_with(self, others: Sequence[LocalSimilarityNMF], X: Any) -> None:
        """Fit this estimator and others that differ in lam only, in one batch over one K.

        A fit that is interrupted, or fails, leaves the estimators as they were.
        """
        before = self.__dict__.copy()
        try:
            self._fit_all([self, *others], X)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit_all(self, estimators: Sequence[LocalSimilarityNMF], X: Any) -> None:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        unit = 1.0 if self.row_norm == "l2" else unit_of(X, self.kernel)
        samples = self._scaled(X, unit)
        base, kernel = self._fit_kernel(samples, unit)
        check_gram(base, local=any(estimator.lam != 0 for estimator in estimators))
        if not base.nonnegative and (self.kernel == "precomputed" or callable(self.kernel)):
            check_definite(base)
        K, kernel = self._diffuse(base, kernel)
        problem = self._problem(samples, base, K)
        threshold = collapse_lam(problem)
        lams = [
            AUTO_LAM * threshold if estimator.lam == "auto" else float(estimator.lam)
            for estimator in estimators
        ]
        solutions = best_by_lam(problem, lams)
        if not all(np.isfinite(V).all() for one in solutions for V in one.factors.values()):
            raise ValueError(
                "The factors grew too large to compute with. Is the kernel positive "
                "semidefinite? Are the numbers in X, init and graph_weight of moderate size?"
            )
        safe = safe_lams(problem) if any(map(_collapsed, solutions)) else []
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            estimator._warn(lam, solution, max((good for good in safe if good < lam), default=0.0))
        seen = {name: value for name, value in vars(self).items() if name.endswith("_in_")}
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            estimator.__dict__.update(seen, _kernel=kernel, _unit=unit)
            estimator._keep(X, K, lam, solution)

    def _scaled(self, X: Matrix, unit: float) -> Matrix:
        """The samples as the kernel sees them."""
        if self.kernel == "precomputed":
            return X
        if sparse.issparse(X):
            X = canonical(X)
        return unit_rows(X) if self.row_norm == "l2" else in_units(X, unit)

    def _fit_kernel(self, X: Matrix, unit: float) -> tuple[DenseGram | SparseGram, Any]:
        if self.kernel == "precomputed":
            K = precomputed_gram(X)
            return K, kernels.PrecomputedKernel(float(np.median(K.diagonal)))
        radius = self.radius if self.radius == "auto" else float(self.radius) / unit
        n_neighbors: Any = self.n_neighbors
        if n_neighbors == "auto":
            n_neighbors = AUTO_NEIGHBORS if self.kernel == "self-tuning" else None
        return kernels.fit_kernel(X, self.kernel, radius, n_neighbors)

    def _diffuse(self, base: DenseGram | SparseGram, kernel: Any) -> tuple[Gram, Any]:
        """K after some steps of diffusion, if there are any."""
        steps: Any = self.diffusion
        if steps == "auto":
            steps = steps_for(base.K, self.n_clusters) if self.kernel == "self-tuning" else 0
        if steps == 0:
            return base, kernel
        if not base.nonnegative:
            raise ValueError(
                f"diffusion={steps} needs a kernel with no negative entry, and this one has some: "
                "set diffusion=0."
            )
        K, diffusion = diffuse(base.K, steps)
        return K, kernels.DiffusedKernel(kernel, diffusion)

    def _problem(self, X: Matrix, base: Gram, K: Gram) -> Problem:
        """What all fits share; starts come from K before diffusion."""
        samples = None if self.kernel == "precomputed" else X
        graph = self._graph(samples, X.shape[0], K.dtype) if self.graph_weight > 0 else None
        phases = choose_phases(
            self.solver,
            K,
            orthogonal=self.orthogonal,
            graph=graph,
            graph_weight=self.graph_weight,
        )
        return Problem(
            K,
            self._starts(samples, base),
            phases,
            self.max_iter,
            self.tol,
            self.callback,
            self.verbose,
        )

    def _graph(self, X: Matrix | None, n: int, dtype: Any) -> Graph:
        if not isinstance(self.graph_neighbors, Integral):
            return check_graph(self.graph_neighbors, n, dtype)
        if X is None:
            raise ValueError(
                'graph_neighbors is a number, and with kernel="precomputed" there are no samples '
                "to find neighbours of: give the graph as a matrix."
            )
        return binary_graph(X, int(self.graph_neighbors))

    def _starts(self, X: Matrix | None, K: Gram) -> list[dict[str, Array]]:
        n, k = K.shape[0], self.n_clusters
        if not isinstance(self.init, str):
            return [check_start(self.init, n, k, K.dtype)]
        if X is None and self.init == "kmeans":
            raise ValueError(
                'init="kmeans" needs samples, and with kernel="precomputed" there are none: '
                'use init="spectral".'
            )
        rng = check_random_state(self.random_state)
        return starts(X, K, k, self.init, self.n_init, rng)

    def _warn(self, lam: float, solution: Solution, safe: float) -> None:
        """Say what the user should know of a fit."""
        found = len(np.unique(solution.labels))
        if _collapsed(solution):
            # Half of what was seen to do: at the edge a smaller λ can do worse than a larger one.
            advice = f"lam={0.5 * safe:.3g} or less does not collapse." if safe else "Set lam=0."
            message = f"lam={lam:g} is too large for this kernel: {solution.verdict}. {advice}"
            if self.graph_weight > 0 and not safe:
                message = (
                    f"graph_weight={self.graph_weight:g} is too large for this kernel: "
                    f"{solution.verdict}. Lower it."
                )
        elif solution.status is Status.EXHAUSTED and self.tol > 0:
            message = (
                f"{type(self).__name__} stopped at max_iter={self.max_iter} before it converged: "
                "raise max_iter, or tol."
            )
        elif found < self.n_clusters:
            message = (
                f"Only {found} of n_clusters={self.n_clusters} clusters have samples: lower "
                "n_clusters, or choose a kernel that tells the samples apart better."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=_callers_level())

    def _keep(self, X: Matrix, K: Gram, lam: float, solution: Solution) -> None:
        """Set the fitted attributes."""
        for stale in ("radius_", "components_", "diffusion_"):
            self.__dict__.pop(stale, None)
        # Columns that come from a start of ours have no order of their own: numbering clusters as
        # they appear gives the same labels whichever of equally good starts wins.
        W, G, labels = tidied(
            solution.factors["W"],
            solution.factors["G"],
            solution.labels,
            by_appearance=isinstance(self.init, str),
        )
        exact = solution.history["solver"][-1] == "exact"
        C = W.T @ K.dot(W)
        self._new = NewSamples(C, W.sum(axis=0), K.diagonal @ W, lam, exact)
        self.labels_ = labels
        self.W_, self.G_ = W.astype(X.dtype), G.astype(X.dtype)
        self.lam_ = lam
        self.objective_ = solution.objective
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.verdict_ = solution.verdict
        if self._kernel.width is not None:
            self.radius_ = self._kernel.width * self._unit
        if isinstance(self._kernel, kernels.DiffusedKernel):
            self.diffusion_ = self._kernel.diffusion.steps
        if self.kernel != "precomputed":
            weights = self.W_ / np.maximum(self.W_.sum(axis=0), np.finfo(X.dtype).tiny)
            self.components_ = np.asarray(safe_sparse_dot(weights.T, X))


def _collapsed(solution: Solution) -> bool:
    return solution.status is Status.COLLAPSED


def _callers_level() -> int:
    """How far up the first function is that belongs neither to this package nor to scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("klsnmf", "sklearn"):
            break
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level
