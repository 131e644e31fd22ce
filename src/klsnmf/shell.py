"""The scikit-learn shell: parameters in, one batch of fits, attributes out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from . import kernels
from ._typing import Array, Labels, Matrix
from .checks import check_gram, check_graph, check_start, precomputed_gram, tamed, unit_rows
from .fitting import (
    Problem,
    best_by_lam,
    choose_phases,
    collapse_lam,
    largest_safe_lam,
    tidied,
)
from .grams import Gram
from .graphs import Graph, binary_graph
from .inits import starts
from .solver import Callback, Solution, Status

#: lam="auto" is this share of the λ at which half of the samples would fit no cluster.
AUTO_LAM = 0.01

#: n_neighbors="auto" keeps this many neighbours where the kernel is meant to be sparse.
AUTO_NEIGHBORS = 10


class LocalSimilarityNMF(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """What KLSNMF and LSNMF share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
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

    def similarity(self, i: int) -> Array:
        """Row i of the learned similarity W Gᵀ: how much sample i speaks for every sample.

        The matrix, of shape (n_samples, n_samples), is never formed.
        """
        check_is_fitted(self)
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
        return tags

    def _fit_with(self, others: Sequence[LocalSimilarityNMF], X: Any) -> None:
        """Fit this estimator and others that differ in lam only, in one batch over one K."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        samples, K, width = self._gram(X)
        estimators = [self, *others]
        check_gram(K, local=any(estimator.lam != 0 for estimator in estimators))
        graph = self._graph(samples, X.shape[0], K.dtype) if self.graph_weight > 0 else None
        problem = Problem(
            K,
            self._starts(samples, K),
            choose_phases(
                self.solver,
                K,
                orthogonal=self.orthogonal,
                graph=graph,
                graph_weight=self.graph_weight,
            ),
            self.max_iter,
            self.tol,
            self.callback,
            self.verbose,
        )
        threshold = collapse_lam(problem)
        lams = [
            AUTO_LAM * threshold if estimator.lam == "auto" else float(estimator.lam)
            for estimator in estimators
        ]
        solutions = best_by_lam(problem, lams)
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            estimator._warn(problem, lam, solution)
        # Columns that come from a start of ours have no order of their own: numbering clusters as
        # they appear gives the same labels whichever of equally good starts wins.
        attributes = partial(
            _attributes, X, samples, width, by_appearance=isinstance(self.init, str)
        )
        seen = {name: value for name, value in vars(self).items() if name.endswith("_in_")}
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            for stale in ("radius_", "components_"):
                estimator.__dict__.pop(stale, None)
            estimator.__dict__.update(seen, lam_=lam, **attributes(solution))

    def _gram(self, X: Matrix) -> tuple[Matrix | None, Gram, Any]:
        """The samples as the kernel sees them, K, and the width of the kernel."""
        if self.kernel == "precomputed":
            return None, precomputed_gram(X), None
        unit = 1.0
        if self.row_norm == "l2":
            X = unit_rows(X)
        else:
            X, unit = tamed(X, self.kernel)
        radius = self.radius if self.radius == "auto" else float(self.radius) / unit
        n_neighbors: Any = self.n_neighbors
        if n_neighbors == "auto":
            n_neighbors = AUTO_NEIGHBORS if self.kernel == "self-tuning" else None
        K, width = kernels.gram(X, self.kernel, radius, n_neighbors)
        return X, K, None if width is None else width * unit

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

    def _warn(self, problem: Problem, lam: float, solution: Solution) -> None:
        if solution.status is Status.COLLAPSED:
            safe = largest_safe_lam(problem, lam)
            message = (
                f"lam={lam:g} is too large for this kernel: {solution.verdict}. "
                f"lam={safe:g} or less does not collapse."
            )
        elif solution.status is Status.EXHAUSTED and self.tol > 0:
            message = (
                f"{type(self).__name__} stopped at max_iter={self.max_iter} before it converged: "
                "raise max_iter, or tol."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=5)


def _attributes(
    X: Matrix, samples: Matrix | None, width: Any, solution: Solution, *, by_appearance: bool
) -> dict[str, Any]:
    """The fitted attributes."""
    W, G, labels = tidied(
        solution.factors["W"], solution.factors["G"], solution.labels, by_appearance=by_appearance
    )
    W, G = W.astype(X.dtype), G.astype(X.dtype)
    attributes = {
        "labels_": labels,
        "W_": W,
        "G_": G,
        "objective_": solution.objective,
        "n_iter_": solution.n_iter,
        "history_": solution.history,
        "verdict_": solution.verdict,
    }
    if width is not None:
        attributes["radius_"] = width
    if samples is not None:
        weights = W / np.maximum(W.sum(axis=0), np.finfo(W.dtype).tiny)
        attributes["components_"] = np.asarray(safe_sparse_dot(weights.T, X))
    return attributes
