"""The scikit-learn shell of methods that factorize the samples themselves, X ≈ GHᵀ."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from .. import models
from ..core import memory
from ..core.kmeans import by_appearance, draw_seed, kmeans, with_short_indices
from ..core.progress import steps
from ..core.types import Array, Labels, Matrix
from ..core.warn import warn
from ..grams.data import canonical
from ..kernels.scaling import in_units, largest_entry, moderate_unit
from ..models.new_samples import NewSamples
from ..solve.loop import Callback, Solution, Status, lowest
from ..solve.phases import tidied
from ..solve.race import raced
from ..solve.starts import factors_of_labels
from .callbacks import CallbackSupportMixin, fit_task, listener
from .labels import Reading, lost_with_most, read_labels
from .notes import FewerClusters, FitWarning, NotConverged, Note
from .validate import as_numbers


class Factorization(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """What WNMF, ONMF, SemiNMF, GNMF and RMNMF share.

    A method gives its model of the samples, and says whether it takes data of both signs or with
    gaps, whether rows of G have one nonzero entry, and how its objective grows with the unit of X.
    """

    signed: ClassVar[bool] = False
    gaps: ClassVar[bool] = False
    orthogonal: ClassVar[bool] = False
    degree: ClassVar[int] = 2

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "labels": [StrOptions({"argmax", "kmeans"})],
        "init": [StrOptions({"random", "kmeans"}), tuple, list],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    labels_: Labels
    G_: Array
    components_: Array
    _unit: float
    _reading: Reading

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        labels: str = "argmax",
        init: Any = "kmeans",
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.labels = labels
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorize the samples and cluster them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def transform(self, X: Any) -> Array:
        """Rows of G for new samples: the nonnegative combination of prototypes that is nearest.

        ``components_`` stay as they are. For the samples of the fit this is what ``G_`` tends to
        as the fit converges, but for a graph term or orthogonality, which new samples do not know.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        G_new : ndarray of shape (n_new, n_clusters)
        """
        return self._rows(X)

    def predict(self, X: Any) -> Labels:
        """The clusters of new samples, read from their coefficients as those of the fit were.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        rows = self._rows(X)
        return self._reading.labels(rows)

    @property
    def _n_features_out(self) -> int:
        return self.G_.shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        # Attributes are set together, at the end: an interrupted fit leaves none behind.
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self.signed
        tags.input_tags.allow_nan = self.gaps
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _rows(self, X: Any) -> Array:  # (n_new, k)
        check_is_fitted(self)
        X = in_units(self._checked(X, reset=False), self._unit)
        H = (self.components_ / np.asarray(self._unit, self.components_.dtype)).astype(X.dtype)
        return self._coefficients(X, H).astype(self.G_.dtype, copy=False)

    def _coefficients(self, X: Matrix, H: Array) -> Array:  # (m, p), (k, p) -> (m, k)
        """argmin ‖X - GH‖ over G ≥ 0, with one nonzero entry a row if columns are orthogonal."""
        if self.orthogonal:
            nothing = np.zeros(len(H), H.dtype)
            new = NewSamples(H @ H.T, nothing, nothing, lam=0.0, exact=True)
            products = np.asarray(safe_sparse_dot(X, H.T))
            return new.coefficients(products, np.zeros(len(products), H.dtype))
        # In coordinates of the space that the prototypes span, problems are as small as can be.
        Q, R = np.linalg.qr(H.T)
        return nearest_mixtures(np.asarray(safe_sparse_dot(X, Q)), R)

    def _checked(self, X: Any, *, reset: bool = True) -> Matrix:
        """X as numbers the method can take."""
        X = as_numbers(self, X, reset=reset, gaps=self.gaps)
        if sparse.issparse(X):
            X = with_short_indices(canonical(X))
        values = X.data if sparse.issparse(X) else X
        least = float(np.fmin.reduce(values, axis=None, initial=0))
        if not self.signed and least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of X "
                f"is {least:.3g}; use SemiNMF or RMNMF, or subtract it."
            )
        return X

    @memory.explained("The fit")
    def _fit(self, X: Any, y: Any, **more: Any) -> Self:
        """Fit; a fit that is interrupted, or fails, leaves the estimator as it was."""
        with fit_task(self, X, y):
            before = self.__dict__.copy()
            try:
                self._fit_all(self._checked(X), **more)
            except BaseException:
                self.__dict__.clear()
                self.__dict__.update(before)
                raise
        return self

    def _fit_all(self, X: Matrix, **more: Any) -> None:
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if largest_entry(X) == 0:
            raise ValueError("X has no known entry other than zero: there is nothing to factorize.")
        unit = self._unit_of(X)
        model, samples = self._model(in_units(X, unit), unit, **more)
        rng = check_random_state(self.random_state)
        starts = self._starts(model, samples, unit, rng)
        solutions = raced(
            [model] * len(starts),
            starts,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=listener(self),
            phase="steps",
        )
        best = lowest(solutions)
        G, H = model.factorization(best.factors)
        labels = lost_with_most(best.labels, G)
        with np.errstate(over="ignore", invalid="ignore"):
            H, G, labels = tidied(H, G, labels, by_appearance=isinstance(self.init, str))
            components = np.ascontiguousarray((H * unit).T, dtype=X.dtype)
            objectives = best.history["objective"] * np.float64(unit) ** self.degree
        if not all(np.isfinite(values).all() for values in (G, components, objectives)):
            raise ValueError(
                "The factors grew too large to compute with: divide X by a constant, and give "
                "weights, init and graph_weight of moderate size."
            )
        G = G.astype(X.dtype, copy=False)  # new samples are read in the precision of X
        labels, reading = read_labels(G, labels, self.labels, rng)
        self._warn(best, labels)
        self.labels_, self._reading, self._unit = labels, reading, unit
        self.G_ = G
        self.components_ = components
        self.objective_ = float(objectives[-1])
        self.n_iter_ = best.n_iter
        self.history_ = best.history | {"objective": objectives}
        self.verdict_ = best.verdict

    def _unit_of(self, X: Matrix) -> float:
        """A power of two in whose units the squares of X neither overflow nor vanish."""
        return moderate_unit(largest_entry(X))

    @abstractmethod
    def _model(self, X: Matrix, unit: float) -> tuple[models.NMF, Matrix]:
        """The model of X, which is given in this unit, and samples to find starts in."""

    def _starts(
        self, model: models.NMF, X: Matrix, unit: float, rng: np.random.RandomState
    ) -> list[dict[str, Array]]:
        """Random numbers of the right size, or labels from k-means; labels are not repeated."""
        (n, p), k, dtype = X.shape, self.n_clusters, X.dtype
        if not isinstance(self.init, str):
            G, F = self._check_pair(n, p)
            return [model.start(G.astype(dtype), (F / unit).astype(dtype))]
        pairs: dict[bytes, tuple[Array, Array]] = {}
        for turn in steps(range(self.n_init), "starts"):
            if self.init == "random":
                # So that the entries of GFᵀ are as large as those of X, on average.
                size = 2 * np.sqrt(np.abs(X).mean() / k)
                G, F = (size * (1 - rng.uniform(size=(rows, k))) for rows in (n, p))
                pairs[turn.to_bytes(8)] = G, F
            else:
                labels = by_appearance(kmeans(X, k, draw_seed(rng)).labels_)
                onehot = np.eye(k, dtype=dtype)[labels]
                means = safe_sparse_dot(X.T, onehot) / np.maximum(onehot.sum(axis=0), 1)
                pairs[labels.tobytes()] = factors_of_labels(labels, k)[1], np.asarray(means)
        return [model.start(G.astype(dtype), F.astype(dtype)) for G, F in pairs.values()]

    def _check_pair(self, n: int, p: int) -> list[Array]:
        """The factors of ``init=(G0, F0)``."""
        if len(self.init) != 2:
            raise ValueError(
                f"init must be a pair (G0, F0) or a name; it has {len(self.init)} elements."
            )
        pair = []
        for name, rows, value in zip(("G0", "F0"), (n, p), self.init, strict=True):
            value = check_array(value, dtype=np.float64, input_name=f"{name} of init")
            if value.shape != (rows, self.n_clusters):
                raise ValueError(
                    f"{name} of init has shape {value.shape}; it must be ({rows}, "
                    f"{self.n_clusters}), rows by n_clusters."
                )
            if value.min() < 0 and (name == "G0" or not self.signed):
                raise ValueError(f"{name} of init has negative entries; it must be nonnegative.")
            if not value.any():
                raise ValueError(f"{name} of init is zero everywhere, and would stay so.")
            pair.append(value)
        return pair

    def _warn(self, solution: Solution, labels: Labels) -> None:
        """Say what the user should know of the fit."""
        found = len(np.unique(labels))
        note: Note
        self.status_: str = solution.status.name.lower()
        self.notes_: tuple[Note, ...] = ()
        if solution.status is Status.EXHAUSTED and self.tol > 0:
            note = NotConverged(self.max_iter, type(self).__name__)
        elif found < self.n_clusters:
            remedy = ', or set labels="kmeans"' if self.labels == "argmax" else ""
            note = FewerClusters(found, self.n_clusters, remedy)
        else:
            return
        self.notes_ = (note,)
        warn(FitWarning(note))


def nearest_mixtures(X: Array, H: Array) -> Array:  # (m, p), (p, k) -> (m, k)
    """g ≥ 0 with ‖x - Hg‖ least, for each row x on its own; entries that are NaN do not count."""
    G = np.zeros((len(X), H.shape[1]), H.dtype)
    known = ~np.isnan(X)
    for g, x, seen in zip(G, X, known, strict=True):
        if seen.any():
            g[:] = nnls(H if seen.all() else H[seen], x[seen], maxiter=30 * len(g))[0]
    return G
