"""Arrays: .npy, .npz (dense or sparse), .mat and .mtx. Rows are samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core import checks, files
from ..core.types import Matrix
from ..core.words import plural
from . import matlab, matrix_market
from .table import Choice, Counted, InputError, Table, classes, numbers, place_of, split_all

#: Names that arrays of samples, of classes and of names usually have.
_SAMPLES = ("X", "x", "data")
_CLASSES = ("y", "Y", "target", "labels", "label")
_NAMES = ("ids", "names")

Arrays = dict[str, Any]

#: The arrays of a sparse matrix in the .npz files of scipy.
_SPARSE = {"format", "shape", "data"}


def read_npy(path: Path, choice: Choice) -> Table:
    """The array of a .npy file: samples × features, or images."""
    return _unnamed(path, choice, "the array", lambda: files.read_npy(path))


def read_npz(path: Path, choice: Choice) -> Table:
    """The arrays of an .npz file, one of which holds the samples; or a sparse matrix."""
    stored = files.read_npz(path)
    if stored.keys() >= _SPARSE and stored["format"].ndim == 0:
        return _unnamed(path, choice, "the matrix", lambda: _sparse(path, stored))
    return _table(path, stored, choice)


def read_mat(path: Path, choice: Choice) -> Table:
    """The arrays of a MATLAB file, one of which holds the samples."""
    return _table(path, matlab.read_mat(path), choice)


def read_mtx(path: Path, choice: Choice) -> Table:
    """The matrix of a Matrix Market file."""
    return _unnamed(path, choice, "the matrix", lambda: matrix_market.read_mtx(path))


def _unnamed(path: Path, choice: Choice, name: str, make: Callable[[], Any]) -> Table:
    """The only array of a file, if no option names a column."""
    if choice.columns or choice.id_column or choice.label_column:
        raise InputError(
            f"Leave out --columns, --id-column and --label-column, or save a table: {path} is an "
            "array without column names."
        )
    return _table(path, {name: make()}, choice)


def _refuse_column_names(path: Path, choice: Choice) -> None:
    if choice.exclude or choice.words:
        raise InputError(
            f"Leave out --exclude and --encode, or save a table: the columns of {path} have no "
            "names."
        )


def _table(path: Path, arrays: Arrays, choice: Choice) -> Table:
    _refuse_column_names(path, choice)
    arrays = {name: array for name, array in arrays.items() if array.ndim > 0}
    if not arrays:
        raise InputError(
            f"{path} holds no array. Save the samples as an array, one row per sample."
        )
    name = _samples(path, arrays, choice)
    X = numbers(arrays[name], f"{path}, {name}")
    if sparse.issparse(X):
        X = checks.with_short_indices(sparse.csr_array(X))
    if X.ndim not in (2, 3, 4) or (X.ndim == 4 and X.shape[-1] not in (1, 3)) or 0 in X.shape:
        raise InputError(
            f"{path}, {name} has shape {X.shape}. Give an array with one row per sample and at "
            "least one column, or images of shape (samples, height, width) or (samples, height, "
            "width, 3)."
        )
    n, image_shape = X.shape[0], None
    if X.ndim > 2:
        image_shape = X.shape[1:3] if X.shape[3:] in ((), (1,)) else X.shape[1:]
        X = X.reshape(n, -1)
    elif "image_shape" in arrays:
        image_shape = _image_shape(arrays["image_shape"], X.shape[1])
    others = {other: array for other, array in arrays.items() if other != name}
    messages: list[str] = []
    target = _aside(path, arrays, others, choice.label_column, _CLASSES, n)
    if target is None:
        for one in (one for one in _CLASSES if one in others and others[one].size != n):
            size = plural(others[one].size, "sample")
            messages.append(f"{one} was ignored: it is for {size}, and {name} has {n}.")
    elif choice.label_column is None:
        messages.append("An array of classes was found, and scores are shown.")
    ids = _aside(path, arrays, others, choice.id_column, _NAMES, n)
    return Table(
        name=str(path),
        X=X,
        ids=Counted(n) if ids is None else [str(each) for each in ids.tolist()],
        target=None if target is None else classes(target.tolist()),
        image_shape=image_shape,
        messages=messages,
    )


def _samples(path: Path, arrays: Arrays, choice: Choice) -> str:
    """The name of the array that holds the samples."""
    if choice.columns is not None:
        chosen = choice.columns if choice.exact else split_all(list(arrays), choice.columns)
        if len(chosen) != 1:
            raise InputError(
                f"{path} holds arrays, and --columns names {len(chosen)}. Name the one "
                f"that holds the samples; there are {', '.join(arrays)}."
            )
        return list(arrays)[place_of(path, list(arrays), chosen[0])]
    for name in _SAMPLES:
        if name in arrays:
            return name
    tables = [name for name, array in arrays.items() if array.ndim > 1 and min(array.shape) > 1]
    if len(tables) == 1 or len(arrays) == 1:
        return (tables or list(arrays))[0]
    shapes = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:10])
    raise InputError(
        f"{path} holds several arrays: {shapes}. Choose the one with the samples: --columns NAME."
    )


def _aside(
    path: Path, arrays: Arrays, others: Arrays, wanted: str | None, usual: Sequence[str], n: int
) -> NDArray[Any] | None:
    """An array with one entry for each sample: the one asked for, or one with a usual name."""
    if wanted is not None:
        place_of(path, list(arrays), wanted)
        if arrays[wanted].size != n:
            raise InputError(
                f"{path}, {wanted} has {arrays[wanted].size} entries, and there are {n} samples. "
                "Name an array with one entry for each sample."
            )
        return np.ravel(arrays[wanted])
    for array in (others[name] for name in usual if name in others):
        # Measurements are neither classes nor names.
        if array.size == n and (array.dtype.kind != "f" or (array == np.rint(array)).all()):
            return np.ravel(array)
    return None


def _image_shape(stored: NDArray[Any], p: int) -> tuple[int, ...] | None:
    shape = tuple(int(side) for side in stored.ravel()[:4]) if stored.dtype.kind in "iu" else ()
    good = len(shape) in (2, 3) and min(shape) > 0 and shape[2:] in ((), (3,))
    return shape if good and math.prod(shape) == p else None


def _sparse(path: Path, stored: dict[str, NDArray[Any]]) -> Matrix:
    """The matrix that scipy.sparse.save_npz wrote."""
    form = stored["format"].item()
    form = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
    if form not in ("csr", "csc", "coo"):
        raise InputError(
            f"{path} holds a sparse matrix in the form {form!r}. Save it as csr, csc or coo: "
            "scipy.sparse.save_npz(path, matrix.tocsr())."
        )
    with unsound(path, "sparse matrix"):
        data, shape, what = stored["data"], stored["shape"], "the matrix"
        if form == "coo":
            return checks.coo(data, stored["row"], stored["col"], shape, what)
        by = "rows" if form == "csr" else "columns"
        return checks.csr(data, stored["indices"], stored["indptr"], shape, what, by=by)


@contextmanager
def unsound(path: Path, kind: str) -> Iterator[None]:
    """Refuse content that turns out to be invalid, with the reason."""
    try:
        yield
    except (KeyError, ValueError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise files.UnsafeFileError(f"{path} is not a valid {kind} ({reason}).") from error
