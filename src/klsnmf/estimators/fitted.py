"""What a fit leaves behind: its attributes, and what they say of new samples."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from ..core import arrays
from ..core.arrays import cast, namespace, on_host, to_host
from ..core.kmeans import with_short_indices
from ..core.types import Array, Labels, Matrix
from ..grams.data import canonical
from ..kernels.engines import here
from ..kernels.mix import View
from ..kernels.scaling import in_units, unit_rows
from ..kernels.similarity import DiffusedKernel
from ..models.new_samples import NewSamples
from ..solve.loop import Solution
from ..solve.phases import tidied
from .validate import as_numbers
from .views import KernelParameters


class FittedClusters(
    KernelParameters,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Clusters known by W and a kernel on the samples of the fit."""

    init: Any
    labels_: Labels
    W_: Array
    G_: Array
    row_norm_: str | None
    _kernel: Any
    _unit: float
    _new: NewSamples

    def predict(self, X: Any) -> Labels:
        """The clusters of new samples, with W as it is.

        Parameters
        ----------
        X : array-like, tensor or sparse matrix of shape (n_new, n_features)
            New samples, on the device of those of the fit; with ``kernel="precomputed"`` the
            kernel between new samples and those of the fit, of shape (n_new, n_samples).

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        samples, products = self._products(X)
        labels = self._new.labels(*products)
        everyone = np.arange(self.G_.shape[0])
        return self._placed(samples, labels, self._new.strangers(*products), everyone)

    def transform(self, X: Any) -> Array:
        """Rows of G for new samples: how much of each prototype they are made of.

        After the solvers "exact" and "auto" a row has one nonzero entry, and the samples of the
        fit get ``G_`` again, but for rounding, and for what the eigenvectors leave out where
        diffusion goes along them. After the others, and where G is free, it is the nonnegative
        combination of prototypes that fits the sample best; ``G_`` tends to that as the fit
        converges, but for the pull of orthogonality.

        Parameters
        ----------
        X : as for ``predict``

        Returns
        -------
        G_new : ndarray of shape (n_new, n_clusters)
        """
        _, products = self._products(X, "transform")
        coefficients = self._new.coefficients(*products)
        return cast(coefficients, self.G_.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.G_.shape[1]

    def _products(self, X: Any, method: str = "predict") -> tuple[Matrix, tuple[Array, Array]]:
        """New samples as the kernel sees them, and for them k(X, X_fit) W and k(x, x)."""
        check_is_fitted(self)
        arrays.require_fitted_place(self, X, method)
        X = as_numbers(self, here(X), reset=False)
        if not on_host(X):  # other libraries multiply arrays of one type only
            X = cast(X, self.W_.dtype)
        samples = self._scaled(X, self.row_norm_, self._unit)
        return samples, self._kernel.product(samples, self.W_)

    def _placed(self, X: Matrix, labels: Labels, strangers: Array, among: Array) -> Labels:
        """The labels, but samples like no cluster get that of the nearest among some of the fit."""
        strange = np.flatnonzero(to_host(strangers))
        if not strange.size or not among.size:
            return labels
        found = np.array(to_host(labels))
        nearest = self._kernel.nearest(to_host(X)[strange], among)
        found[strange] = to_host(self.labels_)[nearest]
        return arrays.like(found, labels)

    def similarity(self, i: int) -> Array:
        """Row i of the learned similarity W Gᵀ: how much sample i speaks for every sample.

        The matrix, of shape (n_samples, n_samples), is never formed.
        """
        check_is_fitted(self)
        i = operator.index(i)
        n = self.G_.shape[0]
        if not -n <= i < n:
            raise IndexError(f"i={i} is not a sample; there are {n}.")
        return self.G_ @ self.W_[i, :]

    def __sklearn_is_fitted__(self) -> bool:
        # Attributes are set together, at the end: an interrupted fit leaves none behind.
        return hasattr(self, "labels_")

    def _scaled(self, X: Matrix, row_norm: str | None, unit: float) -> Matrix:
        """The samples as the kernel sees them."""
        if self.kernel == "precomputed":
            return X
        if sparse.issparse(X):
            X = with_short_indices(canonical(X))
        return unit_rows(X) if row_norm == "l2" else in_units(X, unit)

    def _keep(self, X: Matrix, view: View, unit: float, lam: float, solution: Solution) -> Array:
        """Set the fitted attributes; which samples are like no cluster, (n,)."""
        for stale in ("radius_", "components_", "diffusion_", "n_clusters_evidence_"):
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
        KW = view.K.dot(W)
        xp = namespace(W)
        self._new = NewSamples(W.T @ KW, xp.sum(W, axis=0), view.K.diagonal @ W, lam, exact)
        # Samples that are like no cluster are put where new ones would be.
        lost = ~xp.any(G, axis=1)
        if xp.any(lost):
            labels = xp.where(lost, self._new.labels(KW, view.K.diagonal), labels)
        self._kernel, self._unit = view.kernel, unit
        self.labels_ = labels
        self.W_, self.G_ = cast(W, X.dtype), cast(G, X.dtype)
        self.lam_ = lam
        self.objective_ = solution.objective
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.verdict_ = solution.verdict
        if self._kernel.width is not None:
            self.radius_ = self._kernel.width * self._unit
        if isinstance(self._kernel, DiffusedKernel):
            self.diffusion_ = self._kernel.diffusion.steps
        if self.kernel != "precomputed":
            weights = self.W_ / xp.maximum(xp.sum(self.W_, axis=0), arrays.tiny(self.W_))
            self.components_ = safe_sparse_dot(weights.T, X) if on_host(X) else weights.T @ X
        return self._new.strangers(KW, view.K.diagonal)
