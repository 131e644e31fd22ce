"""What users of KMeans look for in a clusterer: ``score``, ``predict_proba`` and others."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import cast, namespace, to_host, widest
from ..core.types import Array, Matrix
from .edge import public
from .labels import led_by


class Habits:
    """Methods of a clusterer that follow from the scores of new samples."""

    objective_: float

    @abstractmethod
    def _scores(self, X: Any, method: str) -> Array:  # (m, k)
        """The scores of new samples; ``method`` is named in errors."""

    @abstractmethod
    def _on_host(self, X: Any) -> Matrix:
        """Samples with the features of the fit, as numbers on the host."""

    def memberships(self, X: Any, *, top: int | None = None) -> Any:
        """How much each sample belongs to each cluster: the shares of its ``scores``.

        Rows sum to 1. The largest entry of a row is that of the cluster from ``predict``. Use the
        shares to compare samples; they are not calibrated probabilities. How much they differ
        depends on the method: with the default kernel most rows have one entry near 1, while with a
        linear kernel all entries of a row are nearly the same. An outlier, for which ``predict``
        returns -1, has the shares of the clusters that are nearest to it.

        Parameters
        ----------
        X : as for ``predict``
        top : int or None, default=None
            Return only the largest ``top`` entries of each row, as a sparse matrix. They are not
            scaled again, so rows sum to less than 1.

        Returns
        -------
        shares : ndarray or scipy.sparse.csr_array of shape (n_new, n_clusters)
        """
        return self._shares(X, top, "memberships")

    @property
    def predict_proba(self) -> Callable[..., Any]:
        """The same as ``memberships``, under the name that scikit-learn uses.

        It does not exist after a fit on a sparse matrix, because scikit-learn takes an estimator
        with this method that accepts sparse samples for a classifier. ``memberships`` always
        exists.
        """
        if getattr(self, "_fitted_on_sparse", False):
            raise AttributeError(
                f"{type(self).__name__} has no predict_proba after a fit on a sparse matrix: use "
                "memberships(X), which gives the same."
            )
        return self._predict_proba

    def _predict_proba(self, X: Any, *, top: int | None = None) -> Any:
        """As ``memberships``."""
        return self._shares(X, top, "predict_proba")

    def _shares(self, X: Any, top: int | None, method: str) -> Any:
        if top is not None and operator.index(top) < 1:
            raise ValueError(f"top={top} must be 1 or more, or None for all clusters.")
        scores = self._scores(X, method)
        xp = namespace(scores)
        labels = xp.argmax(scores, axis=1)
        # Divided by the largest first: a sum of huge or tiny scores would not be a number.
        rows = cast(scores, widest(scores))
        most = xp.max(rows, axis=1)[:, None]
        rows = xp.where(most > 0, rows / xp.where(most > 0, most, 1), 1)
        shares = cast(rows / xp.sum(rows, axis=1)[:, None], scores.dtype)
        shares = led_by(shares, labels)  # rounding can turn a narrow lead into a tie
        return shares if top is None else _largest(to_host(shares), top)

    def score(self, X: Any, y: Any = None) -> float:
        """How clearly the samples X fall into the clusters that are predicted for them.

        Higher is better. The score is ``walk_score(X, predict(X))``, see
        :func:`klsnmf.walk_score`. It uses no true labels and no parameter of the fit. So for the
        same X you can compare numbers of clusters, kernels and methods by it, and ``GridSearchCV``
        without a scorer does so. Scores of different X cannot be compared, nor those of the same X
        in two scalings.

        With ``kernel="precomputed"``, samples are neighbours if their rows of the kernel are alike.
        With ``outliers="label"``, outliers count in the cluster that is nearest.

        Parameters
        ----------
        X : as for ``predict``
        y : ignored

        Returns
        -------
        score : float
        """
        labels = to_host(self._scores(X, "score")).argmax(axis=1)
        return float(public("walk_score")(self._on_host(X), labels))

    @property
    def inertia_(self) -> float:
        """``objective_``, under the name that KMeans uses."""
        return self.objective_


def _largest(shares: Array, top: int) -> sparse.csr_array:  # (m, k)
    """The largest entries of each row, in the order of their columns."""
    m, k = shares.shape
    top = min(top, k)
    # Of equal entries the first is kept, as in predict.
    columns = np.sort(np.argsort(-shares, axis=1, kind="stable")[:, :top], axis=1)
    values = np.take_along_axis(shares, columns, axis=1)
    ends = np.arange(m + 1) * top
    return sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(m, k))
