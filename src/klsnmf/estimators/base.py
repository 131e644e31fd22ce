"""What all estimators share: how a fit begins and ends, and how new samples are placed."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Self

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from ..core import memory
from ..core.arrays import namespace, to_host
from ..core.spellings import warn_of_old_spellings
from ..core.types import Array, Labels, Matrix
from ..core.warn import warn
from ..core.work import timed
from ..kernels.inputs import here
from ..solve.solution import Callback, Solution
from .callbacks import CallbackSupportMixin, fit_task
from .doubtful import tiny_clusters
from .habits import Habits
from .labels import Reading, strength
from .notes import FitWarning, Note, verdict_of
from .shown import Shown
from .validate import CONSTRAINTS, as_numbers, fit_method, require_parameters

#: Attributes that not every fit sets: what an earlier one left would be taken for its own.
_OF_A_FIT = ("_clusters", "_neighbourhoods", "_stream", "_weighted")


class Result(NamedTuple):
    """The outcome of a fit: the fitted attributes, and what the user should know about them."""

    attributes: dict[str, Any]
    notes: tuple[Note, ...] = ()


class Clusterer(
    Habits,
    Shown,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """A method of the package, as scikit-learn knows estimators.

    A method gives ``_results``, which computes and sets nothing, and ``_scores`` and ``transform``
    for new samples.
    """

    init: Any
    n_init: Any
    max_iter: int
    tol: float
    random_state: Any
    verbose: int
    callback: Callback | None

    labels_: Labels
    G_: Array
    components_: Array
    _unit: float
    _reading: Reading

    __dataclass_fields__: ClassVar[dict[str, Any]]

    #: Whether arrays of other libraries stay on their device; else they become numpy's.
    _on_devices: ClassVar[bool] = False

    #: Whether more components than features are too many for a unique answer.
    _bound_by_features: ClassVar[bool] = False

    #: What parameters may be, where that is not what others of this name may be.
    _own_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Python would name the class that wrote ``__init__``, not the one that the user wrote."""
        known = cls.__dataclass_fields__.keys()
        if unknown := parameters.keys() - known:
            require_parameters(cls, unknown)
        return super().__new__(cls)

    @property
    def _parameter_constraints(self) -> dict[str, list[Any]]:
        """For scikit-learn, which checks parameters before a fit."""
        known = CONSTRAINTS | self._own_constraints
        return {name: known[name] for name in self._get_param_names()}

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like, tensor, sparse matrix, dask.array or path
            The samples, of shape (n_samples, n_features). Which of these a method takes is said
            with the method.
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None
            How often each sample counts: a weight of 2 is the sample twice. A sample of weight 0
            has no part in the fit, and is placed like a new one. Weights must be whole numbers
            where the method counts neighbours. See :doc:`/weights`.

        Returns
        -------
        self
        """
        with fit_task(self, X, y):
            self._fit_together([self], X, sample_weight=sample_weight)
        return self

    @memory.explained("The fit")
    def _fit_together(self, estimators: Sequence[Self], X: Any, **more: Any) -> None:
        """Fit this estimator, and others that can share its work; all of them, or none."""
        warn_of_old_spellings(self)
        with timed() as seconds:
            results = self._results(estimators, X, **more)
        if self.verbose:
            print("seconds: " + ", ".join(f"{each} {s:.3g}" for each, s in seconds.items()))
        for result in results:
            for note in result.notes:
                if note.warns:
                    warn(FitWarning(note))
        for estimator, result in zip(estimators, results, strict=True):
            estimator._keep(result)
        for note in self.notes_ if self.verbose else ():
            if not note.warns:
                print(note)

    @abstractmethod
    def _results(self, estimators: Sequence[Self], X: Any) -> list[Result]:
        """What the fit of each estimator comes to; the estimators stay as they are."""

    def _keep(self, result: Result) -> None:
        labels = result.attributes["labels_"]
        tiny = tiny_clusters(labels, result.attributes["G_"].shape[1])
        kept = {**result.attributes, "notes_": (*result.notes, *tiny)}
        mine = vars(self).items()
        others = {name: v for name, v in mine if not name.endswith("_") and name not in _OF_A_FIT}
        # One assignment: whoever interrupts it finds the old fit or the new one.
        self.__dict__ = others | kept

    def _told_of(self, solution: Solution) -> dict[str, Any]:
        """The attributes that say how a solution was reached."""
        return {
            "objective_": solution.objective,
            "n_iter_": solution.n_iter,
            "history_": solution.history,
            "status_": str(solution.status),
            "verdict_": verdict_of(solution, self.tol),
        }

    def scores(self, X: Any) -> Array:
        """How well each cluster suits each sample; the largest score names the sample's cluster.

        The strength of a sample in its cluster is 1 - second/first of its scores. For the samples
        of the fit, use ``strengths_``: it comes from the fit itself, with its graph and its
        orthogonality, which new samples do not have. See :mod:`klsnmf.estimators.labels`.

        Parameters
        ----------
        X : as for ``predict``

        Returns
        -------
        scores : ndarray of shape (n_new, n_clusters), nonnegative
        """
        return self._scores(X, "scores")

    def strengths(self, X: Any) -> Array:
        """How clearly new samples belong to their clusters, from 0 (a tie) to 1.

        The strength of a sample is 1 - second/first of its ``scores``, so it compares the clusters
        with each other. It does not say that a sample is of a kind that the fit knows. For methods
        that keep their samples, ``novelty`` says this.

        Parameters
        ----------
        X : as for ``predict``

        Returns
        -------
        strengths : ndarray of shape (n_new,)
        """
        scores = self._scores(X, "strengths")
        return strength(scores, namespace(scores).argmax(scores, axis=1))

    def predict(self, X: Any) -> Labels:
        """The clusters of new samples: those of their largest scores.

        With ``outliers="label"``, samples that belong to no cluster get -1.

        Parameters
        ----------
        X : array-like, tensor or sparse matrix of shape (n_new, n_features)
            New samples, on the same device as those of the fit. With ``kernel="precomputed"``, the
            kernel between new samples and those of the fit, of shape (n_new, n_samples).

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        scores = self._scores(X, "predict")
        return namespace(scores).argmax(scores, axis=1)

    @abstractmethod
    def transform(self, X: Any) -> Array:
        """Rows of G for new samples."""

    def _on_host(self, X: Any) -> Matrix:
        return to_host(as_numbers(self, here(X), reset=False, gaps=True))

    def components_frame(self) -> Any:
        """``components_`` as a pandas.DataFrame: one row per component, one column per feature."""
        check_is_fitted(self)
        frame = import_module("pandas").DataFrame
        names = getattr(self, "feature_names_in_", None)
        return frame(to_host(self.components_), self.get_feature_names_out(), names)

    @property
    def _n_features_out(self) -> int:
        return self.G_.shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._on_devices
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
