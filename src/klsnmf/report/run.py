"""What a report is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..core.types import Array, Labels, Matrix
from ..estimators.strengths import strengths, weak_members
from ..methods import METHODS
from .pictures import Darkroom, darkroom
from .text import plain, visible

#: How many samples are used to find how dark and bright the images of a data set are.
_JUDGED = 500


class Run:
    """All that is known about one clustering, for the report.

    Only the first three are needed.

    Parameters
    ----------
    name : what you call the data: a file, a folder, a data set
    estimator : fitted, with ``labels_``
    X : array or sparse matrix of shape (n_samples, n_features), as given to ``fit``
    command : a command line that repeats the run; empty if there is none
    method : a key of :data:`klsnmf.METHODS`; None finds it by the class of the estimator
    ids : names of the samples; None counts them from 1
    features : names of the columns of X, or None
    target : ndarray of shape (n_samples,) or None
        True labels of any type, if known; None or NaN for a sample without a label.
    image_shape : (height, width), (height, width, 3) or None
        Rows of X are images of this shape.
    units : (mean, spread), two ndarrays of shape (n_features,), or None
        For columns that were scaled: numbers are shown as ``X * spread + mean``.
    aside : columns that were not used, by name, to colour the map: numbers, or text with None for a
        missing value
    strength : ndarray of shape (n_samples,) or None
        How clearly each sample belongs to its cluster, from 0 to 1. None computes it with
        :func:`klsnmf.estimators.strengths.strengths`.
    seconds : how long the fit took, or None
    messages : further warnings as sentences; those of the fit are taken from the estimator
    notes : other remarks on the data and the files, as sentences
    """

    def __init__(
        self,
        name: str,
        estimator: Any,
        X: Matrix,
        *,
        command: str = "",
        method: str | None = None,
        ids: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        target: np.ndarray[Any, Any] | None = None,
        image_shape: tuple[int, ...] | None = None,
        units: tuple[Array, Array] | None = None,
        aside: Mapping[str, Sequence[Any]] | None = None,
        strength: Array | None = None,
        seconds: float | None = None,
        messages: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        n, p = X.shape
        by_sample = {"estimator.labels_": estimator.labels_, "ids": ids, "target": target}
        by_sample |= {f"aside[{name!r}]": column for name, column in (aside or {}).items()}
        _check_lengths(X, n, **by_sample, strength=strength)
        pixels = None if image_shape is None else range(int(np.prod(image_shape)))
        _check_lengths(X, p, features=features, image_shape=pixels)
        self.name, self.estimator, self.X = name, estimator, X
        self.command, self.seconds, self.messages, self.notes = command, seconds, messages, notes
        self.features, self.target, self.image_shape = features, target, image_shape
        self.aside = aside or {}
        self.units = (np.zeros(p), np.ones(p)) if units is None else units
        _check_lengths(X, p, **{"units[0]": self.units[0], "units[1]": self.units[1]})
        if method is None:
            method = next((key for key, kind in METHODS.items() if type(estimator) is kind), "")
        self.method = method
        self.ids = [str(i) for i in range(1, n + 1)] if ids is None else ids
        self.strength = strengths(estimator, X) if strength is None else strength

    @cached_property
    def labels(self) -> Labels:  # (n,)
        # Outliers with the label -1 are shown in the nearest cluster.
        labels = getattr(self.estimator, "_clusters", self.estimator.labels_)
        return np.asarray(labels, dtype=np.intp)

    @cached_property
    def n_clusters(self) -> int:
        """The number of clusters asked for, or found; all labels are below it."""
        asked = getattr(self.estimator, "n_clusters_", self.estimator.n_clusters)
        return max(int(self.labels.max()) + 1, 0 if asked == "auto" else int(asked))

    @cached_property
    def sizes(self) -> Labels:  # (k,)
        return np.bincount(self.labels, minlength=self.n_clusters)

    @cached_property
    def weak(self) -> Labels | None:  # (k,)
        """How many samples of each cluster have little strength, if this tells anything."""
        return weak_members(self.method, self.labels, self.strength, self.n_clusters)

    @property
    def kernel_only(self) -> bool:
        """Whether X is a kernel matrix, which has no features."""
        params = self.estimator.get_params(deep=False)
        return "precomputed" in (params.get("kernel"), params.get("affinity"))

    @cached_property
    def prototypes(self) -> Array | None:  # (k, p)
        for name in ("components_", "cluster_centers_"):
            if hasattr(self.estimator, name):
                return np.asarray(getattr(self.estimator, name), dtype=np.float64)
        return None

    @cached_property
    def classes(self) -> tuple[list[str], Labels] | None:
        """The names of the true labels, and the place of each sample's label; -1 for none."""
        if self.target is None:
            return None
        known = np.array([value is not None and value == value for value in self.target])
        if not known.any():
            return None
        names = [str(value) for value in np.asarray(self.target, dtype=object)[known]]
        ordered = sorted(set(names), key=_natural)
        place = {name: index for index, name in enumerate(ordered)}
        which = np.full(len(known), -1)
        which[known] = [place[name] for name in names]
        return ordered, which

    def in_units(self, values: Array, columns: Any = slice(None)) -> Array:  # (..., q)
        """Values of some columns in the user's units."""
        mean, spread = self.units
        return np.asarray(values * spread[columns] + mean[columns])

    def sums(self, V: Any) -> Any:  # (n, m) -> (k, m)
        """The sum of the rows of each cluster."""
        n = len(self.labels)
        H = sparse.csr_array((np.ones(n), (self.labels, np.arange(n))), (self.n_clusters, n))
        return H @ V

    def id_of(self, i: int) -> str:
        """The name of a sample on the page; without a visible name it is the row."""
        name = plain(self.ids[i])
        return name if visible(name) else f"row {i + 1}"

    def label_of(self, i: int) -> str | None:
        """The true label of a sample on the page, if it is known."""
        if self.classes is None or self.classes[1][i] < 0:
            return None
        return plain(self.classes[0][self.classes[1][i]])

    @cached_property
    def darkroom(self) -> Darkroom:
        """How rows are drawn as images."""
        assert self.image_shape is not None
        n = self.X.shape[0]
        return darkroom(self.rows(np.arange(0, n, max(1, n // _JUDGED))), self.image_shape)

    def rows(self, which: Any) -> Array:  # (m, p)
        """Some rows of X as a dense array; gaps get the mean of the feature."""
        some = self.X[which]
        rows = some.toarray() if sparse.issparse(some) else np.asarray(some, dtype=np.float64)
        gaps = np.isnan(rows)
        return np.where(gaps, self.means, rows) if gaps.any() else rows

    @cached_property
    def means(self) -> Array:  # (p,)
        """The mean of each feature, over the samples in which it is known."""
        if sparse.issparse(self.X):
            return np.nan_to_num(np.asarray(self.X.mean(axis=0), dtype=np.float64).ravel())
        X = np.asarray(self.X, dtype=np.float64)
        known = ~np.isnan(X)
        return np.where(known, X, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _check_lengths(X: Matrix, expected: int, **parts: Any) -> None:
    for name, part in parts.items():
        if part is not None and len(part) != expected:
            raise ValueError(
                f"{name} is for {len(part)} entries, and X of shape {X.shape} has {expected}: "
                "all parts of a Run must describe the same samples and features."
            )


def _natural(name: str) -> tuple[int, float, str]:
    """Numbers in their order, then words in theirs."""
    try:
        value = float(name)
    except ValueError:
        return 1, 0.0, name
    return (0, value, name) if value == value else (1, 0.0, name)
