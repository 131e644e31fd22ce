"""New samples, for methods that compare them with the samples of the fit by a similarity.

Samples of X that were not fitted are placed in the same way.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core import arrays
from ..core.arithmetic import plus
from ..core.arrays import cast, like, namespace, to_host
from ..core.types import Array, Labels, Matrix
from ..kernels.outliers import Neighbourhoods
from ..kernels.similarity import Similarity
from ..kernels.unlike import beside
from ..models.new_samples import NewSamples
from .base import Clusterer, Result
from .labels import led_by, strength
from .notes import OfAPart
from .part import Part


class Placing(Clusterer):
    """Puts new samples into clusters, by W and their similarity to the samples of the fit."""

    W_: Array
    row_norm_: str | None
    _similarity: Similarity
    _new: NewSamples

    @abstractmethod
    def _samples_as_seen(self, X: Any) -> Matrix:
        """New samples as the kernel sees them."""

    def _scores(self, X: Any, method: str) -> Array:
        samples, (kW, own) = self._products(X, method)
        new, fitted = self._new, getattr(self, "_clusters", self.labels_)
        strange = to_host(new.strangers(kW, own))
        everyone = np.ones(fitted.shape[0], bool)
        labels = placed(self._similarity, samples, new.labels(kW, own), strange, everyone, fitted)
        return led_by(plus(new.scores(kW, own)), labels)

    def predict(self, X: Any) -> Labels:
        return self._or_outliers(X, super().predict(X))

    def _placed(self, X: Any) -> tuple[Labels, Array]:  # (m,), (m,)
        """The labels of ``predict``, and the strength of each sample in its cluster."""
        scores = self._scores(X, "predict")
        labels = namespace(scores).argmax(scores, axis=1)
        return self._or_outliers(X, labels), cast(strength(scores, labels), self.W_.dtype)

    def _or_outliers(self, X: Any, labels: Labels) -> Labels:  # (m,)
        """The labels, but -1 for outliers where they have a label of their own."""
        known: Neighbourhoods | None = getattr(self, "_neighbourhoods", None)
        if known is None:
            return labels
        samples = to_host(self._samples_as_seen(X))
        return like(np.where(known.outliers(samples), -1, to_host(labels)), labels)

    def transform(self, X: Any) -> Array:
        """Rows of G for new samples: how much of each prototype they are made of.

        With the solvers "exact" and "auto" a row has one nonzero entry. The samples of the fit get
        their rows of ``G_`` again, up to rounding and what the leading eigenvectors leave out. With
        other solvers, or if G is free, a row is the nonnegative combination of prototypes that fits
        the sample best. ``G_`` approaches this as the fit converges, except for the effect of
        orthogonality.

        Parameters
        ----------
        X : as for ``predict``

        Returns
        -------
        G_new : ndarray of shape (n_new, n_clusters)
        """
        _, products = self._products(X, "transform")
        return cast(self._new.coefficients(*products), self.G_.dtype)

    def novelty(self, X: Any) -> Array:
        """How far new samples are from those of the fit, from 0 to 1.

        ``strengths`` compares a sample with the clusters, not with what the fit knows: a sample of
        a kind that the fit has never seen can have a high strength. The novelty of a sample is the
        share of the samples of the fit that are nearer to their nearest sample than the new sample
        is to its nearest. Of new samples of a known kind, about one in a hundred has 0.99 or more,
        if the fit has hundreds of samples. If many of yours have, they may be of another kind.
        Samples of the fit have 0, unless there are more than 5000: new samples are compared with
        5000 of them at most.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        novelty : ndarray of shape (n_new,), on the host
        """
        check_is_fitted(self)
        known = to_host(self._similarity.samples)
        if known is None:
            raise ValueError(
                'A fit with kernel="precomputed" keeps no samples to compare new ones with. Give '
                "fit the samples and a kernel by its name."
            )
        return beside(known, to_host(self._samples_as_seen(X))).novelty

    def _products(self, X: Any, method: str) -> tuple[Matrix, tuple[Array, Array]]:
        """New samples as the kernel sees them, and for them k(X, X_fit) W and k(x, x)."""
        check_is_fitted(self)
        arrays.require_fitted_place(self, X, method)
        samples = self._samples_as_seen(X)
        return samples, self._similarity.product(samples, self.W_)

    def _kept(self) -> Matrix | None:
        samples = to_host(self._similarity.samples)
        return None if samples is None else samples * self._unit

    @property
    def cluster_centers_(self) -> Array:  # (k, p)
        """``components_``, under the name that KMeans uses: weighted means of samples.

        ``predict`` uses the kernel, not the nearest of these centers.
        """
        return self.components_

    def similarity(self, i: int) -> Array:
        """Row i of the learned similarity W Gᵀ: how strongly sample i represents every sample.

        The whole matrix, of shape (n_samples, n_samples), is never formed.
        """
        check_is_fitted(self)
        i = operator.index(i)
        n = self.G_.shape[0]
        if not -n <= i < n:
            raise IndexError(f"i={i} is not a sample; there are {n}.")
        return self.G_ @ self.W_[i, :]


class Partly(Placing):
    """A clusterer that may fit some rows of X only, or some of them more than once."""

    fitted_on_: Labels | None

    @property
    @abstractmethod
    def _counts_copies(self) -> bool:
        """Whether a fit depends on how many samples there are somewhere."""

    @abstractmethod
    def _setup(self) -> Any:
        """What the parameters mean."""

    @abstractmethod
    def _fitted(
        self,
        estimators: Sequence[Self],
        X: Any,
        known: Labels | None = None,
        weight: Array | None = None,
    ) -> list[Result]:
        """What the fit of each estimator to these samples comes to."""

    def _results(
        self,
        estimators: Sequence[Self],
        X: Any,
        known: Labels | None = None,
        sample_weight: Any = None,
    ) -> list[Result]:
        part = Part.of(self, X, sample_weight)
        weighted = {} if sample_weight is None else {"_weighted": True}
        if part is None or part.whole:
            weight = None if part is None else part.weight
            results = self._fitted(estimators, X, known, weight)
            also = {**weighted, "fitted_on_": None}
            return [Result({**one.attributes, **also}, one.notes) for one in results]
        part.source.require_finite(type(self).__name__)
        if self.verbose:
            print(f"{len(part.rows):,} of {part.source.n:,} samples are fitted, others are placed")
        some = [one._of_rows(part) for one in estimators]
        results = some[0]._fitted(some, part.source.take(part.rows), None, part.weight)
        return [
            one._with_rest(part, result, weighted)
            for one, result in zip(estimators, results, strict=True)
        ]

    def _of_rows(self, part: Part) -> Self:
        """The same, where something was given for all samples with that of the fitted ones."""
        one, rows, graph = copy(self), part.rows, getattr(self, "graph_neighbors", 0)
        if not isinstance(self.init, str) and len(self.init) == 2:
            W, G = (part.rows_of(V, "a factor of init") for V in self.init)
            one.init = W / np.bincount(rows)[rows, None], G  # copies share the entry of W
        if not np.isscalar(graph):
            one.graph_neighbors = part.graph_of(graph)
        return one

    def _with_rest(self, part: Part, result: Result, also: dict[str, Any]) -> Result:
        """The fit of some rows, with labels and strengths of all samples."""
        fitted = copy(self)
        fitted._keep(result)
        labels, strengths = part.place_all(fitted)
        attributes = {
            **result.attributes,
            **{"labels_": labels, "strengths_": strengths, "fitted_on_": part.rows},
            **also,
            "_clusters": fitted._clusters_of_fit,
        }
        told = (OfAPart(len(part.rows), part.source.n),) if part.drawn else ()
        return Result(attributes, (*result.notes, *told))

    def _as_shown(self) -> Self:
        rows = getattr(self, "fitted_on_", None)
        if rows is None:
            return self
        shown = copy(self)
        shown.labels_, shown.strengths_ = self.labels_[rows], self.strengths_[rows]
        return shown

    def _rows_shown(self, X: Matrix) -> Labels | None:
        rows = getattr(self, "fitted_on_", None)
        samples = getattr(self, "n_samples_seen_", self.labels_.shape[0])
        if rows is not None and X.shape[0] != samples:
            raise ValueError(
                f"X has {X.shape[0]} samples, and {samples} were clustered: give all of them, in "
                "the same order."
            )
        return rows

    @property
    def _clusters_of_fit(self) -> Labels:
        """The labels of the samples of the fit, those of outliers included."""
        return getattr(self, "_clusters", self.labels_)


def placed(
    similarity: Similarity,
    X: Matrix,
    labels: Labels,
    strange: Array,
    among: Array,
    fitted: Labels,
) -> Labels:  # (m,)
    """The labels; strange samples get the label of the nearest among some samples of the fit."""
    who, some = np.flatnonzero(strange), np.flatnonzero(among)
    if not who.size or not some.size:
        return labels
    found = np.array(to_host(labels))
    found[who] = to_host(fitted)[similarity.nearest(to_host(X)[who], some)]
    return like(found, labels)
