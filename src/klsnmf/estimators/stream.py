"""Samples that come in batches: ``partial_fit``.

A bounded sketch stands for all that was seen. New samples are placed in the clusters that are
known. The clusters are renewed from the sketch when the stream has become twice as long, or when
enough samples came that belong to none of them. Memory is that of the sketch, of the fit to it and
of one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from ..core import memory
from ..core.arrays import require_host
from ..core.kmeans import draw_seed
from ..core.sketch import SKETCH, Sketch, Stream
from ..core.types import Labels, Matrix
from ..kernels.inputs import here
from ..kernels.outliers import Neighbourhoods
from .base import Result
from .notes import OfAPart
from .part import Part
from .placing import Placing
from .validate import as_numbers, fit_method, noted_names


def _knows_samples(estimator: Any) -> bool:
    if estimator.kernel == "precomputed":
        raise AttributeError(
            'There is no partial_fit with kernel="precomputed": it needs the samples themselves.'
        )
    return True


class Streamed(Placing):
    """Very many samples, for a clusterer that fits them: by a part, or batch after batch."""

    fit_on: int | str
    kernel: Any
    n_clusters: int | str

    fitted_on_: Labels | None
    _stream: Stream

    def _results(
        self, estimators: Sequence[Self], X: Any, known: Labels | None = None
    ) -> list[Result]:
        part, clusterer = Part.of(self, X), cast(Any, super())
        fit: Callable[..., list[Result]] = clusterer._results
        if part is None:
            results = fit(estimators, X, known)
            return [Result({**one.attributes, "fitted_on_": None}, one.notes) for one in results]
        part.source.require_finite(type(self).__name__)
        if self.verbose:
            print(f"{len(part.rows):,} of {part.source.n:,} samples are fitted, others are placed")
        results = fit(estimators, part.source.take(part.rows))
        return [
            one._with_rest(part, result) for one, result in zip(estimators, results, strict=True)
        ]

    def _with_rest(self, part: Part, result: Result) -> Result:
        """The fit of a part, with labels and strengths of all samples."""
        fitted = copy(self)
        fitted._keep(result)
        labels, strengths = part.place_all(fitted)
        attributes = {
            **result.attributes,
            **{"labels_": labels, "strengths_": strengths, "fitted_on_": part.rows},
            "_clusters": fitted._clusters_of_fit,
        }
        return Result(attributes, (*result.notes, OfAPart(len(part.rows), part.source.n)))

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
        rows = getattr(self, "fitted_on_", None)
        if rows is None:
            return self
        shown = copy(self)
        if hasattr(self, "_stream"):  # which keeps labels of the last batch
            shown.labels_ = self._clusters_of_fit
            shown.strengths_ = self._placed(self._kept())[1]
        else:
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
