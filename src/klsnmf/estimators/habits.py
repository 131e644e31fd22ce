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
        """The scores of new samples, for a method by this name."""

    @abstractmethod
    def _on_host(self, X: Any) -> Matrix:
        """Samples with the features of the fit, as numbers on the host."""

    def memberships(self, X: Any, *, top: int | None = None) -> Any:
        """How much each sample belongs to each cluster: the shares of its ``scores``.

        Rows sum to 1, and the largest entry of a row is that of the cluster from ``predict``. The
        shares put samples in an order; they are not calibrated probabilities. How far apart they
        are depends on the method: with the default kernel most rows have one entry near 1, while
        with a linear kernel all entries of a row are nearly the same. An outlier, for which
        ``predict`` says -1, has the shares of the clusters that it is nearest to.

        Parameters
        ----------
        X : as for ``predict``
        top : int or None, default=None
            Keep the largest ``top`` entries of each row, as a sparse matrix. They stay as they are,
            so that rows sum to 1 minus what was left out.

        Returns
        -------
        shares : ndarray or scipy.sparse.csr_array of shape (n_new, n_clusters)
        """
        return self._shares(X, top, "memberships")

    @property
    def predict_proba(self) -> Callable[..., Any]:
        """The same as ``memberships``, by the name that scikit-learn has for it.

        Not there after a fit on a sparse matrix: scikit-learn takes an estimator that has it, and
        accepts sparse samples, for a classifier. ``memberships`` is always there.
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
            raise ValueError(f"top={top} must be a number of clusters from 1 up, or None for all.")
        scores = self._scores(X, method)
        xp = namespace(scores)
        labels = xp.argmax(scores, axis=1)
        # By the largest first: the sum of scores that are huge or tiny would not be a number.
        rows = cast(scores, widest(scores))
        most = xp.max(rows, axis=1)[:, None]
        rows = xp.where(most > 0, rows / xp.where(most > 0, most, 1), 1)
        shares = cast(rows / xp.sum(rows, axis=1)[:, None], scores.dtype)
        shares = led_by(shares, labels)  # rounding makes ties of scores that nearly are
        return shares if top is None else _largest(to_host(shares), top)

    def score(self, X: Any, y: Any = None) -> float:
        """How clearly the samples X fall into the clusters that are predicted for them.

        Higher is better: ``walk_score(X, predict(X))``, see :func:`klsnmf.walk_score`. No label is
        used, and no parameter of the fit. So for the same X the score can be compared between
        numbers of clusters, kernels and methods, and ``GridSearchCV`` without a scorer chooses by
        it. Scores of different X cannot be compared, those of one X in two scalings included.

        With ``kernel="precomputed"`` samples are neighbours if their rows of the kernel are alike.
        With ``outliers="label"`` outliers count where they are nearest.

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
        """``objective_`` by the name that KMeans has for it."""
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
