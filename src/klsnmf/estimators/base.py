"""The scikit-learn shell: parameters in, one batch of fits, attributes out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import fields
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..core import arrays, memory
from ..core.arrays import on_host, precision, to_host
from ..core.types import Matrix
from ..core.warn import warn
from ..grams.base import Gram
from ..grams.weighted import matrix_for_sum, weighted_sum
from ..kernels.build import KernelSettings
from ..kernels.count import Evidence, gather
from ..kernels.mix import ROUNDS, Mixture
from ..kernels.scaling import choose_row_norm, unit_of
from ..kernels.similarity import View
from ..kernels.workers import DaskClient, RemoteSamples, locate
from ..solve.checkpoint import Journal, journal_of
from ..solve.loop import Callback, Solution, Status
from ..solve.phases import Problem, best_by_lam, choose_phases, chosen, collapse_lam, safe_lams
from ..solve.starts import Start, how_many_starts, starts
from .callbacks import CallbackSupportMixin, fit_task, listener
from .fitted import FittedClusters
from .validate import as_numbers, check_start

#: lam="auto" is this share of the λ at which half of the samples would fit no cluster.
AUTO_LAM = 0.01

#: Starts are made in float64 for up to this many numbers in X.
_PRECISE = 2**26

#: n_init="auto" where all starts are fitted to the end.
AUTO_STARTS = 8

#: X checked, X as the kernel sees it, how its rows were scaled, and its unit.
Samples = tuple[Matrix, Matrix, str | None, float]


class LocalSimilarityNMF(CallbackSupportMixin, FittedClusters):
    """What KLSNMF and LSNMF share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "diffusion": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"auto", "unweighed"}),
        ],
        "row_norm": [StrOptions({"l2", "auto"}), None],
        "graph_weight": [Interval(Real, 0, None, closed="left")],
        "graph_neighbors": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            "sparse matrix",
        ],
        "solver": [StrOptions({"paper", "soft", "exact", "auto"})],
        "init": [StrOptions({"random", "kmeans", "spectral", "auto"}), tuple, list],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "regroup": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "engine": [DaskClient(), None],
        "verbose": ["verbose"],
        "callback": [callable, None],
        "checkpoint": [str, os.PathLike, None],
    }

    n_clusters: int | str
    radius: float | str
    n_neighbors: int | str | None
    diffusion: int | str
    gram: str = "auto"
    max_memory: float | None = None
    neighbor_search: str = "auto"
    graph_neighbors: Any
    engine: Any = None
    lam: float | str
    row_norm: str | None
    graph_weight: float
    orthogonal: bool
    solver: str
    init: Any
    n_init: int | str
    regroup: bool = True
    max_iter: int
    tol: float
    random_state: Any
    verbose: int
    callback: Callback | None
    checkpoint: str | os.PathLike[str] | None = None

    _workers: RemoteSamples | None = None  # while a fit goes on

    #: Whether arrays of other libraries stay on their device; else they become numpy's.
    _on_devices: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like, tensor, sparse matrix, dask.array or path
            The samples, of shape (n_samples, n_features), or the kernel matrix, of shape
            (n_samples, n_samples), if ``kernel="precomputed"``. A path names a .npy file;
            all workers read it, where ``engine`` is given.
        y : ignored

        Returns
        -------
        self
        """
        with fit_task(self, X, y):
            self._fit_with([], X)
        return self

    def _settings(self) -> KernelSettings:
        names = (field.name for field in fields(KernelSettings) if field.name != "workers")
        own = {name: getattr(self, name) for name in names}
        return KernelSettings(**own, workers=self._workers)

    def __getstate__(self) -> dict[str, Any]:
        # A client is a connection of this process: it goes into no file, and no other process.
        state: dict[str, Any] = super().__getstate__()
        return {**state, "engine": None} if "engine" in state else state

    def __sklearn_clone__(self) -> Self:
        # And it is nothing to copy: the clone shares it.
        twin: Self = super(LocalSimilarityNMF, copy(self)).__sklearn_clone__()
        if self.engine is not None:
            twin.engine = self.engine
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._on_devices
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @memory.explained("The fit")
    def _fit_with(self, others: Sequence[LocalSimilarityNMF], X: Any) -> None:
        """Fit this estimator and others that differ in lam only, in one batch over one K.

        A fit that is interrupted, or fails, leaves the estimators as they were.
        """
        before, estimators = self.__dict__.copy(), [self, *others]
        try:
            checked = self._samples(X)
            with journal_of(estimators, checked[0]) as journal:
                self._fit_all(estimators, checked, journal)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        finally:
            self.__dict__.pop("_workers", None)

    def _fit_all(
        self, estimators: Sequence[LocalSimilarityNMF], checked: Samples, journal: Journal
    ) -> None:
        X, samples, row_norm, unit = checked
        local = any(estimator.lam != 0 for estimator in estimators)
        k, evidence = self._count(samples, unit)
        if X.shape[0] < k:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={k}.")
        views = self._settings().views(samples, unit, k, local=local)
        precise = self._for_starts(X, samples, row_norm, unit)
        mixture = self._mixture(views, k)
        for _ in range(ROUNDS):
            view, weights = mixture.view(), mixture.weights
            problem = self._problem(precise, view, k, journal)
            threshold = journal.begin(problem.starts, partial(collapse_lam, problem))
            lams = [
                AUTO_LAM * threshold if estimator.lam == "auto" else float(estimator.lam)
                for estimator in estimators
            ]
            solutions = best_by_lam(problem, lams)
            for place, estimator in enumerate(estimators):
                if estimator.lam == "auto" and _collapsed(solutions[place]):
                    lams[place], solutions[place] = 0.0, best_by_lam(problem, [0.0])[0]
            if mixture.learn(to_host(solutions[0].labels)):
                break
        if not all(arrays.all_finite(V) for one in solutions for V in one.factors.values()):
            raise ValueError(
                "The factors grew too large to compute with. Is the kernel positive "
                "semidefinite? Are the numbers in X, init and graph_weight of moderate size?"
            )
        collapsed = any(map(_collapsed, solutions))
        safe = safe_lams(problem, lams, solutions) if collapsed else []
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            estimator._warn(
                k, lam, solution, max((good for good in safe if good < lam), default=0.0)
            )
        seen = {name: value for name, value in vars(self).items() if name.endswith("_in_")}
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            strangers = estimator._keep(X, view, unit, lam, solution)
            known = np.flatnonzero(~to_host(strangers))
            estimator.labels_ = estimator._placed(samples, estimator.labels_, strangers, known)
            estimator.__dict__.update(
                seen,
                n_clusters_=k,
                kernel_weights_=arrays.like(weights, X),
                row_norm_=row_norm,
            )
            if evidence is not None:
                estimator.n_clusters_evidence_ = evidence

    def _mixture(self, views: Sequence[View], k: int) -> Mixture:
        return Mixture(views, k, check_random_state(self.random_state))

    def _samples(self, X: Any) -> Samples:
        X, send = locate(X, self.engine, self.kernel, self.gram)
        X = as_numbers(self, X)
        row_norm = choose_row_norm(X) if self.row_norm == "auto" else self.row_norm
        unit = 1.0 if row_norm == "l2" else unit_of(X, self.kernel)
        if send is not None:
            self._workers = send(X, row_norm, unit)
        return X, self._scaled(X, row_norm, unit), row_norm, unit

    def _for_starts(self, X: Matrix, samples: Matrix, row_norm: str | None, unit: float) -> Matrix:
        """The samples that k-means and the search for graph neighbours see, on the host."""
        if self.kernel == "precomputed":
            return samples
        if precision(X) == np.float32 and X.shape[0] * X.shape[1] <= _PRECISE:
            # From the same samples in either precision k-means comes to the same starts.
            return self._scaled(to_host(X).astype(np.float64), row_norm, unit)
        return samples if on_host(X) else self._scaled(to_host(X), row_norm, unit)

    def _evidence(self, X: Any) -> Evidence:
        _, samples, _, unit = self._samples(X)
        return self._weigh(samples, unit)

    def _count(self, X: Matrix, unit: float) -> tuple[int, Evidence | None]:
        """The number of clusters, and the evidence for it if it was not given."""
        if self.n_clusters != "auto":
            return int(self.n_clusters), None
        evidence = self._weigh(X, unit)
        return evidence.chosen, evidence

    def _weigh(self, X: Matrix, unit: float) -> Evidence:
        views = self._settings().views(X, unit, None, local=False)
        # Weights cannot be learned without a number of clusters: kernels count alike here.
        scales = [view.base.shape[0] / view.base.trace for view in views]
        base = (
            weighted_sum([matrix_for_sum(view.base) for view in views], scales)
            if scales[1:]
            else views[0].base
        )
        return gather(base, check_random_state(self.random_state))

    def _problem(self, X: Matrix, view: View, k: int, journal: Journal) -> Problem:
        """What all fits share; starts come from the journal, or from K before diffusion."""
        K = view.K
        samples = None if self.kernel == "precomputed" else X
        graph = None
        if self.graph_weight > 0:
            graph = self._settings().graph(self.graph_neighbors, samples, K)
        phases = choose_phases(
            self.solver,
            K,
            orthogonal=self.orthogonal,
            graph=graph,
            graph_weight=self.graph_weight,
        )
        kept = journal.starts((X.shape[0], k), K.dtype)
        starts = kept or self._starts(samples, view.base, k)
        problem = Problem(K, starts, phases, self.max_iter, self.tol, listener(self), journal)
        return problem if kept else chosen(problem, regroup=self.regroup)

    def _starts(self, X: Matrix | None, K: Gram, k: int) -> list[Start]:
        n = K.shape[0]
        if not isinstance(self.init, str):
            return [Start("given", check_start(self.init, n, k, K))]
        if X is None and self.init == "kmeans":
            raise ValueError(
                'init="kmeans" needs samples, and with kernel="precomputed" there are none: '
                'use init="spectral".'
            )
        rng = check_random_state(self.random_state)
        n_init: Any = self.n_init
        if n_init == "auto":
            # Only solvers that end exactly can tell good starts early.
            screens = self.solver in ("auto", "exact") and self.orthogonal and not self.graph_weight
            features = 0 if X is None else X.shape[1]
            n_init = how_many_starts(n, k, K.flops, features) if screens else AUTO_STARTS
        if self.verbose:
            print(f"{n_init} starts")
        return starts(X, K, k, self.init, n_init, rng)

    def _warn(self, k: int, lam: float, solution: Solution, safe: float) -> None:
        """Say what the user should know of a fit."""
        found = solution.n_found
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
        elif found < k:
            message = (
                f"Only {found} of n_clusters={k} clusters have samples: lower "
                "n_clusters, or choose a kernel that tells the samples apart better."
            )
        else:
            return
        warn(message)


def _collapsed(solution: Solution) -> bool:
    return solution.status is Status.COLLAPSED
