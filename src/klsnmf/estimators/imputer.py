"""Filling in missing values."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.types import Array
from ..core.warn import warn
from ..core.words import listed
from ..solve.fill import Settings, filling
from .validate import fit_method


@dataclass(eq=False, repr=False)
class NMFImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fills in missing values by factorizations and by the nearest rows.

    The guess for an entry that is NaN is a mixture of four: the mean of several nonnegative
    factorizations of the known entries; the mean of the rows that are nearest in the table that
    this fills; the same once more; and the mean of the column. A tenth of the known entries is
    hidden to choose the rank, a ridge, and the shares of the four. So the imputer suits tables with
    few kinds of rows, such as ratings, and tables in which rows have near neighbours, such as
    images.

    Distances and errors are those of the table as it is: scale features of different units first.
    If an entry is negative, the smallest known entry of each column is subtracted for the fit.

    A column without any known entry is filled with zeros, and a row without any with the means of
    the columns. Both cause a warning.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        The rank of the factorizations. "auto" doubles it, beginning with 5, while the error of
        hidden entries falls.
    n_init : int, default=4
        How many factorizations are averaged, each from another random start.
    max_iter : int, default=100
        The most iterations of each.
    tol : float, default=1e-3
        As in :class:`WNMF`. Fits need not be precise, as they are averaged.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    n_components_ : int
    shares_ : ndarray of shape (4,)
        The shares of the factorizations, of both searches for the nearest rows, and of the means.
    error_ : float
        The root mean squared error of the hidden entries: what to expect. NaN if too few entries
        are known to hide some.
    n_iter_ : int
        Iterations of the longest of the last factorizations.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from klsnmf import NMFImputer
    >>> X = np.outer([1, 2, 3, 4.0], [1, 2, 4.0])
    >>> X[0, 2] = np.nan
    >>> NMFImputer(random_state=0).fit_transform(X).shape
    (4, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_components: int | str = "auto"
    _: KW_ONLY
    n_init: int = 4
    max_iter: int = 100
    tol: float = 1e-3
    random_state: Any = None

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to fill in what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN for missing entries.
        y : ignored

        Returns
        -------
        self
        """
        self._filled(X)
        return self

    @fit_method
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fill in what is missing in X.

        This is faster than ``fit(X).transform(X)``, and differs from it by the tolerance of the
        fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN for missing entries.
        y : ignored

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features)
        """
        return self._filled(X)

    def transform(self, X: Any) -> Array:
        """Fill in what is missing in other rows.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            NaN for missing entries.

        Returns
        -------
        X_filled : ndarray of shape (n_new, n_features)
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        gaps = np.flatnonzero(np.isnan(X).any(axis=1))
        filled = X.copy()
        if gaps.size:
            filled[gaps] = self._completed(X[gaps], self._filling.filled(self._scaled(X[gaps])))
        return filled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Array:
        types = [np.float64, np.float32]
        return validate_data(self, X, reset=reset, dtype=types, ensure_all_finite="allow-nan")

    def _filled(self, X: Any) -> Array:  # (n, p)
        X = self._checked(X, reset=True)
        rank = None if isinstance(self.n_components, str) else int(self.n_components)
        if rank is not None and rank > min(X.shape):
            raise ValueError(
                f"n_components={rank} must be at most {min(X.shape)}, the smaller side of X, whose "
                f"shape is {X.shape}."
            )
        known = ~np.isnan(X)
        if not known.any():
            raise ValueError("X has no known entry: there is nothing to learn from.")
        self._lost = ~known.any(axis=0)
        if lost := np.flatnonzero(self._lost).tolist():
            names = getattr(self, "feature_names_in_", np.arange(X.shape[1]))
            warn(
                f"These features have no known entry and are filled with zeros: "
                f"{listed([str(names[place]) for place in lost])}. Leave them out.",
                UserWarning,
            )
        signed = np.nanmin(X) < 0
        self._least = np.where(known, X, np.inf).min(axis=0) if signed else np.zeros(X.shape[1])
        self._least[self._lost] = 0
        rest = np.where(known, X - self._least, 0)
        most = float(rest.max()) or 1.0
        self._unit = most * (float((rest / most).sum() / known.sum()) or 1.0)
        settings = Settings(
            self.n_init, self.max_iter, self.tol, check_random_state(self.random_state)
        )
        self._filling, filled = filling(self._scaled(X), rank, settings)
        self.n_components_ = self._filling.factors.rank
        self.shares_ = self._filling.weights
        self.n_iter_ = self._filling.factors.n_iter
        self.error_ = self._filling.error * self._unit
        return self._completed(X, filled)

    def _scaled(self, X: Array) -> Array:
        """In units of the mean entry, in single precision: more digits say nothing of a guess."""
        return ((X - self._least) / self._unit).astype(np.float32)

    def _completed(self, X: Array, filled: Array) -> Array:
        """X with its gaps filled, back in its own unit."""
        guess = filled.astype(np.float64) * self._unit + self._least
        guess[:, self._lost] = 0
        nothing = np.isnan(X).all(axis=1)
        if count := np.count_nonzero(nothing):
            warn(
                f"{count} of the rows have no known entry and are filled with the means of the "
                "features. Leave them out.",
                UserWarning,
            )
            guess[nothing] = self._filling.means * self._unit + self._least
        return np.where(np.isnan(X), guess, X).astype(X.dtype, copy=False)
