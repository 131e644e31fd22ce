"""Models in files that are safe to load, whoever made them.

A model file is a plain .npz archive: arrays, and one text in JSON, ``model``, that says how they
belong together. Loading runs nothing from the file. It names classes, and only those in the table
below exist for it; attributes are numbers, text, arrays and these classes. Archives are read by
``klsnmf.core.files``, and the indices of sparse matrices are checked, because the loops that use
them do not look.

skops, the usual answer, would do the same for any estimator of scikit-learn. It trusts more than
200 estimators and 300 functions before it is told of any, builds them through their own
``__setstate__``, and unpacks archives of any size. The table here has some twenty classes, half of
them records, and needs no package.
"""

from __future__ import annotations

import dataclasses
import json
import os
from io import BytesIO
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from ..core import files
from ..core.arrays import host_copy
from ..core.version import __version__
from ..core.writing import write_whole
from ..estimators.kernel import LinearKernel, NearestMean
from ..estimators.labels import Grouped, Largest
from ..estimators.notes import Collapsed, FewerClusters, NotConverged
from ..grams import Diffusion, Links, SpectralDiffusion
from ..grams.normalized import Normalized
from ..kernels.count import Evidence
from ..kernels.mix import MixedKernel
from ..kernels.similarity import DiffusedKernel, FittedKernel, LinkedKernel, PrecomputedKernel
from ..methods import METHODS
from ..models.new_samples import NewSamples

FORMAT = "klsnmf model"
VERSION = 1

#: The longest text of a model, in bytes: names of columns are the most of it.
_LONGEST_TEXT = 2**26

#: Parts of estimators, by name: all are records of data.
_RECORDS: dict[str, Any] = {
    record.__name__: record
    for record in (
        Collapsed,
        Diffusion,
        DiffusedKernel,
        Evidence,
        FewerClusters,
        FittedKernel,
        Grouped,
        Largest,
        LinearKernel,
        LinkedKernel,
        Links,
        MixedKernel,
        NearestMean,
        NewSamples,
        NotConverged,
        PrecomputedKernel,
        SpectralDiffusion,
    )
}

#: Estimators, by name. Those that cannot place new samples have no use for a file.
_ESTIMATORS: dict[str, Any] = {
    estimator.__name__: estimator for estimator in METHODS.values() if hasattr(estimator, "predict")
}


class ModelError(ValueError):
    """A model that cannot be saved, or a file that holds none; the message says why."""

    exit_code = 3


def can_save(estimator: Any) -> bool:
    """Whether a file of this estimator would be of use: it can place new samples."""
    return type(estimator).__name__ in _ESTIMATORS


def save(estimator: Any, path: str | os.PathLike[str], **about: Any) -> None:
    """Write a fitted estimator into a file, all at once or not at all.

    Parameters
    ----------
    estimator : a fitted estimator of ``METHODS``, without functions among its parameters
    path : the file, by custom ``*.npz``
    **about : what else to keep: numbers, text, lists, dicts and arrays

    A model that was fitted on a device is written as numpy arrays, and is one of the host when it
    is loaded.
    """
    estimator = host_copy(estimator)
    if not can_save(estimator):
        raise ModelError(f"{type(estimator).__name__} is not an estimator that can be saved.")
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "klsnmf": __version__,
            "estimator": _encode(estimator, arrays, type(estimator).__name__),
            "about": _encode(about, arrays, "about"),
        }
    )
    content = BytesIO()
    arrays["model"] = np.frombuffer(text.encode(), np.uint8)
    np.savez_compressed(content, allow_pickle=False, **arrays)
    write_whole(path, content.getbuffer())


def load(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator in a file, and what was kept with it. No code runs from the file."""
    try:
        arrays = files.read_npz(path)
    except files.UnsafeFileError as error:
        raise ModelError(
            f"{error} It is no model of klsnmf: give the model.npz that klsnmf cluster wrote."
        ) from error
    try:
        text = arrays.pop("model")
        if text.dtype != np.uint8 or text.ndim != 1 or text.size > _LONGEST_TEXT:
            raise ValueError("its text is not text")
        stored = json.loads(text.tobytes())
        if stored["format"] != FORMAT:
            raise ValueError("its text is of another kind")
        if stored["version"] != VERSION:
            raise ValueError(
                f"its format is version {stored['version']!r}, and this klsnmf knows {VERSION}"
            )
        estimator = _decode(stored["estimator"], arrays)
        about = _decode(stored["about"], arrays)
        if type(estimator) not in _ESTIMATORS.values() or not isinstance(about, dict):
            raise ValueError("it holds no estimator")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise ModelError(
            f"{path} is no model of klsnmf ({reason}). Give the model.npz that klsnmf cluster "
            "wrote, or make it again."
        ) from error
    return estimator, about


def _encode(value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
    """A value as JSON; arrays are put aside and named."""

    def put_aside(array: np.ndarray) -> str:
        name = f"array_{len(arrays)}"
        arrays[name] = array
        return name

    def each(parts: dict[str, Any]) -> dict[str, Any]:
        return {str(name): _encode(part, arrays, f"{where}.{name}") for name, part in parts.items()}

    kind = type(value).__name__
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.bool_ | np.integer | np.floating | np.str_):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": put_aside(value)}
    if isinstance(value, np.ndarray) and all(isinstance(name, str) for name in value.tolist()):
        return {"names": value.tolist()}
    if sparse.issparse(value):
        matrix = sparse.csr_array(value)
        parts = [put_aside(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
        return {"sparse": parts, "shape": list(matrix.shape)}
    if isinstance(value, list | tuple):
        items = [_encode(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {"dict": each(value)}
    if type(value) is _RECORDS.get(kind):
        fields = [field.name for field in dataclasses.fields(value)]
        return {"record": kind, "fields": each({name: getattr(value, name) for name in fields})}
    if type(value) is _ESTIMATORS.get(kind):
        parameters = value.get_params(deep=False)
        if "engine" in parameters:  # a connection is of no use to whoever loads the model
            parameters["engine"] = None
        fitted = {name: part for name, part in vars(value).items() if name not in parameters}
        return {"estimator": kind, "parameters": each(parameters), "fitted": each(fitted)}
    if isinstance(value, Normalized):
        raise ModelError(
            "A dense kernel with diffusion=2 is asked at each step, by workers or tile by tile, so "
            "a model file does not hold it: set diffusion=0 or 4, or n_neighbors for a sparse "
            "kernel, and fit again."
        )
    raise ModelError(
        f"{where} is of type {kind}, which a model file does not hold: it holds numbers, text and "
        "arrays, no functions and no generators. Give it in another form, and fit again."
    )


def _decode(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value of a node; a ValueError, KeyError or TypeError where there is none."""

    def each(parts: dict[str, Any]) -> dict[str, Any]:
        return {name: _decode(part, arrays) for name, part in parts.items()}

    if isinstance(node, list):
        return [_decode(item, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    if "array" in node:
        return arrays[node["array"]]
    if "names" in node:
        return np.array([str(name) for name in node["names"]], dtype=object)
    if "sparse" in node:
        data, indices, indptr = (arrays[name] for name in node["sparse"])
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(node["shape"]))
        matrix.check_format(full_check=True)
        return matrix
    if "tuple" in node:
        return tuple(_decode(item, arrays) for item in node["tuple"])
    if "dict" in node:
        return each(node["dict"])
    if "record" in node:
        return _RECORDS[node["record"]](**each(node["fields"]))
    return _estimator(
        _ESTIMATORS[node["estimator"]], each(node["parameters"]), each(node["fitted"])
    )


def _estimator(kind: Any, parameters: dict[str, Any], fitted: dict[str, Any]) -> Any:
    estimator = kind(**parameters)
    for name, value in fitted.items():
        if hasattr(kind, name) or name.startswith("__"):
            raise ValueError(f"it would put data in the place of {kind.__name__}.{name}")
        setattr(estimator, name, value)
    if kind is KMeans:
        _check_kmeans(estimator)
    return estimator


def _check_kmeans(estimator: Any) -> None:
    """Its compiled loops trust that the centres have as many features as it says."""
    centers = estimator.cluster_centers_
    if centers.ndim != 2 or centers.shape[1] != estimator.n_features_in_ or not centers.size:
        raise ValueError(f"cluster_centers_ has shape {centers.shape}")
    if centers.dtype not in (np.float32, np.float64):
        raise ValueError(f"cluster_centers_ holds {centers.dtype}")
    estimator.cluster_centers_ = np.ascontiguousarray(centers)
    estimator._n_threads = _openmp_effective_n_threads()
