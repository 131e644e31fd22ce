"""Model files that are safe to load, whoever made them.

A model file is an archive of ``klsnmf.core.archive`` with the text ``model``. Loading runs nothing
from the file. The file names classes, but only those in the tables below are known. Attributes are
numbers, text, arrays and objects of these classes.

skops is the usual tool for this, and can store any estimator of scikit-learn. By default it trusts
more than 200 estimators and 300 functions, builds them through their own ``__setstate__``, and
unpacks archives of any size. The table here has about twenty classes, half of them records, and
needs no package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from ..core.archive import Archive, refused_by
from ..core.arrays import host_copy
from ..core.checks import need
from ..core.files import UnsafeFileError
from ..core.sketch import Sketch, Stream
from ..core.version import __version__
from ..core.writing import write_whole
from ..estimators.doubtful import InDoubt, TinyClusters
from ..estimators.labels import Grouped, Largest
from ..estimators.notes import (
    Collapsed,
    FewerClusters,
    MoreThanFeatures,
    NotClear,
    NotConverged,
    OfAPart,
)
from ..grams.diffused import Diffusion
from ..grams.sparse import Links
from ..grams.spectral import SpectralDiffusion
from ..kernels import similarity
from ..kernels.count import Evidence
from ..kernels.levels import Level, Profile
from ..kernels.outliers import Neighbourhoods
from ..methods import METHODS
from ..models.new_samples import NearestMean, NewSamples
from ..preparation import base, categories, gaps, numbers, texts
from ..solve.solution import Doubts, RunnerUp, Trouble
from . import model_checks
from .errors import ModelError as ModelError

#: Estimators by name. Only those that can place new samples are saved.
_ESTIMATORS: dict[str, Any] = {
    estimator.__name__: estimator for estimator in METHODS.values() if hasattr(estimator, "predict")
}

#: Parameters that are neither written nor read. A connection is useless to those who load the
#: model, and the next fit would write to the path of a stranger, and remove it.
_OF_ONE_FIT = ("engine", "checkpoint")


def can_save(estimator: Any) -> bool:
    """Whether this estimator can place new samples, so that a model file is useful."""
    return type(estimator).__name__ in _ESTIMATORS


def save(estimator: Any, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a fitted estimator of ``METHODS`` into a file, ``*.npz``, all at once or not at all.

    No parameter may be a function. ``about`` is stored with it: numbers, text, lists, dicts and
    arrays. A model that was fitted on a device is written as numpy arrays, and is loaded on the
    host.
    """
    estimator = host_copy(estimator)
    if not can_save(estimator):
        raise ModelError(f"{type(estimator).__name__} is not an estimator that can be saved.")
    content = BytesIO()
    stored = {"klsnmf": __version__, "estimator": estimator, "about": about}
    try:
        _ARCHIVE.write(content, stored, compressed=True)
    except ValueError as error:
        raise ModelError(str(error)) from error
    write_whole(path, content.getbuffer())


def load(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator in a file, and what was stored with it. No code from the file is run."""
    with refused_by(partial(_refused, path)):
        stored = _ARCHIVE.read(path, ("estimator", "about"))
        estimator, about = stored["estimator"], stored["about"]
        known = type(estimator) in _ESTIMATORS.values() and isinstance(about, dict)
        need(known, "it holds no estimator")
        model_checks.check(estimator)
        about["preparation"] = _preparation(about, estimator)
    return estimator, about


def _preparation(about: dict[str, Any], estimator: Any) -> base.Preparation:
    """The preparation of samples for the estimator, after a check."""
    found, p = about.get("preparation"), estimator.n_features_in_
    if found is None:  # files of klsnmf 0.1 have at most a scale
        names, scale = about.get("features"), about.get("scale")
        steps = () if scale is None else (numbers.Standard(scale["mean"], scale["spread"]),)
        found = base.Preparation(p, None if names is None else tuple(names), steps)
    need(isinstance(found, base.Preparation), "its preparation is not valid")
    with refused_by(lambda reason: ValueError(f"its preparation is damaged: {reason}")):
        found.check(p)
    return found


def _refused(path: str | os.PathLike[str], reason: object) -> ModelError:
    wanted = "the model.npz that klsnmf cluster wrote"
    if isinstance(reason, UnsafeFileError):
        return ModelError(f"{reason} It is not a model of klsnmf: give {wanted}.")
    return ModelError(
        f"{path} is not a model that this version of klsnmf can read ({reason}). Give {wanted}, "
        "or make it again."
    )


class _ModelArchive(Archive):
    """An archive that also stores estimators, by their parameters and fitted attributes."""

    def encode(self, value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
        kind = type(value).__name__
        if reason := getattr(value, "not_stored", ""):
            raise ModelError(reason)
        if type(value) is not _ESTIMATORS.get(kind):
            return super().encode(value, arrays, where)
        parameters = value.get_params(deep=False)
        parameters |= {name: None for name in _OF_ONE_FIT if name in parameters}
        fitted = {name: part for name, part in vars(value).items() if name not in parameters}
        where = kind if where == "estimator" else where
        parts = {"parameters": parameters, "fitted": fitted}
        encoded = {name: self.encode_each(part, arrays, where) for name, part in parts.items()}
        return {"estimator": kind, **encoded}

    def decode(self, node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
        if not isinstance(node, dict) or "estimator" not in node:
            return super().decode(node, arrays)
        parameters, fitted = (
            self.decode_each(node[part], arrays) for part in ("parameters", "fitted")
        )
        parameters |= {name: None for name in _OF_ONE_FIT if name in parameters}
        return _estimator(_ESTIMATORS[node["estimator"]], parameters, fitted)


_ARCHIVE = _ModelArchive(
    *("model", 2),
    *(similarity.DiffusedKernel, similarity.FittedKernel, similarity.LinkedKernel),
    *(similarity.LiftedKernel, similarity.CopiedKernel),
    *(similarity.MixedKernel, similarity.PrecomputedKernel, Diffusion, SpectralDiffusion, Links),
    *(Evidence, Level, Profile, Neighbourhoods, Grouped, Largest, NearestMean, NewSamples),
    *(base.Preparation, numbers.Standard, numbers.LogCounts, numbers.Components),
    *(gaps.LeaveOutRows, gaps.KeepColumns, gaps.FillMedian, gaps.FillNear, categories.Encode),
    *(texts.WeighWords,),
    *(Collapsed, FewerClusters, MoreThanFeatures, NotClear, NotConverged, OfAPart),
    *(InDoubt, TinyClusters),
    *(Sketch, Stream),
    *(Doubts, RunnerUp, Trouble),
)


def _estimator(kind: Any, parameters: dict[str, Any], fitted: dict[str, Any]) -> Any:
    estimator = kind(**parameters)
    for name, value in fitted.items():
        if hasattr(kind, name) or name.startswith("__"):
            raise ValueError(f"it would put data in the place of {kind.__name__}.{name}")
        setattr(estimator, name, value)
    if kind is KMeans:  # whose compiled loops go through rows one after the other
        estimator.cluster_centers_ = np.ascontiguousarray(estimator.cluster_centers_)
        estimator._n_threads = _openmp_effective_n_threads()
    return estimator
