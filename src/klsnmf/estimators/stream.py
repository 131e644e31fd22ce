"""Samples that come in batches: ``partial_fit``.

A bounded sketch stands for all that was seen. New samples are placed in the clusters that are
known. The clusters are renewed from the sketch when the stream has become twice as long, or when
enough samples came that belong to none of them. Memory is that of the sketch, of the fit to it and
of one batch.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from ..core import memory
from ..core.arrays import require_host
from ..core.kmeans import draw_seed
from ..core.sketch import SKETCH, Sketch, Stream
from ..core.types import Matrix
from ..kernels.inputs import here
from ..kernels.outliers import Neighbourhoods
from .placing import Partly
from .validate import as_numbers, fit_method, noted_names


def _knows_samples(estimator: Any) -> bool:
    if estimator.kernel == "precomputed":
        raise AttributeError(
            'There is no partial_fit with kernel="precomputed": it needs the samples themselves.'
        )
    return True


class Streamed(Partly):
    """A clusterer that samples come to batch after batch."""

    fit_on: int | str
    kernel: Any
    n_clusters: int | str

    _stream: Stream

    @available_if(_knows_samples)  # type: ignore[untyped-decorator]
    @fit_method
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Cluster a batch of samples, together with all batches before.

        The samples join the clusters that are known. Clusters are renewed from a bounded sketch of
        all that came, ``fit_on`` samples (50,000 for "auto"), when the stream has become twice as
        long, or when enough samples belong to no cluster. Clusters keep their numbers then, as far
        as they are the same. Until as many samples came as there are clusters, they are collected.

        After ``fit``, the stream goes on from the samples of the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_batch, n_features), or the path of a .npy file
        y : ignored

        Returns
        -------
        self
            ``labels_`` and ``strengths_`` are those of this batch, ``n_samples_seen_`` the number
            of samples of all batches, and ``fitted_on_`` the places in the stream of the samples
            that the clusters were made from.
        """
        require_host(X, "partial_fit", "use fit")
        with memory.explained("partial_fit"):
            self._take(here(X))
        return self

    def _take(self, X: Any) -> None:
        """All of a batch, or an error and nothing."""
        model = copy(self)
        first = not hasattr(self, "n_features_in_")
        batch = as_numbers(model, X, reset=first)
        names, count = noted_names(model), batch.shape[0]
        stream = model._begun(batch)
        sketch = stream.sketch.add(batch)
        fewest = 2 if self.n_clusters == "auto" else int(self.n_clusters)
        if sketch.seen < fewest:
            self.__dict__ |= {**names, "n_samples_seen_": sketch.seen, "_stream": Stream(sketch)}
            return
        if stream.wide is not None:
            known = Neighbourhoods(self._similarity.samples, stream.wide)
            outliers = int(known.outliers(model._samples_as_seen(batch)).sum())
            stream = stream.after(sketch, outliers, count)
        if stream.wide is None or stream.due:
            stream = model._renew(sketch)
        labels, strengths = model._placed(batch)
        if getattr(model, "fitted_on_", None) is None:  # a fit of all that came before
            model.fitted_on_ = np.arange(len(model.W_))
        model.__dict__ |= {
            **names,
            **{"labels_": labels, "strengths_": strengths, "_clusters": model._clusters_of_fit},
            **{"n_samples_seen_": sketch.seen, "_stream": stream},
        }
        self.__dict__ = model.__dict__

    def _begun(self, batch: Matrix) -> Stream:
        """The stream before this batch: that of earlier ones, that of a fit, or an empty one."""
        if hasattr(self, "_stream"):
            before = issparse(self._stream.sketch.X)
            if before != issparse(batch):
                kinds = "an array", "a sparse matrix"
                raise ValueError(
                    f"The batches before were each {kinds[before]}, and this one is "
                    f"{kinds[not before]}: give all of them in the same form."
                )
            return self._stream
        if hasattr(self, "_weighted"):
            raise ValueError(
                "partial_fit counts every sample once, and the fit before had sample_weight: fit "
                "without weights, or begin with partial_fit."
            )
        size = SKETCH if isinstance(self.fit_on, str) else int(self.fit_on)
        seed = draw_seed(check_random_state(self.random_state))
        if not hasattr(self, "labels_"):
            return Stream(Sketch.empty(batch, size, seed))
        kept, seen = self._kept(), len(self.labels_)
        places = getattr(self, "fitted_on_", None)
        places = np.arange(seen) if places is None else places
        sketch = Sketch.of_known(kept, places, seen, size, seed)
        known, apart = Neighbourhoods.of(self._similarity.samples)
        return Stream(sketch, seen, known.wide, float(apart.mean()))

    def _renew(self, sketch: Sketch) -> Stream:
        """Fit the sketch; clusters keep their numbers as far as they are the same."""
        known = None
        if hasattr(self, "labels_"):
            known = np.argmax(self._scores(sketch.X, "partial_fit"), axis=1)
        self._fit_together([self], sketch.X, known=known)
        self.fitted_on_ = sketch.places
        found, apart = Neighbourhoods.of(self._similarity.samples)
        return Stream(sketch, sketch.seen, found.wide, float(apart.mean()))

    def _as_shown(self) -> Self:
        if not hasattr(self, "_stream"):
            return super()._as_shown()
        shown = copy(self)  # a stream keeps labels of the last batch
        shown.labels_ = self._clusters_of_fit
        shown.strengths_ = self._placed(self._kept())[1]
        return shown
