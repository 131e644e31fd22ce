"""Arrays of other libraries, which stay on their device: tensors of torch, arrays of cupy.

All code about other libraries is here: which arrays are theirs, how arrays move between host and
device, and what is refused. In the array API standard, functions have the same names as in numpy.
So with ``xp = namespace(A)``, one formula works for all libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_array, validate_data

#: Libraries whose arrays can be changed in place, as the solver does. Arrays of other libraries are
#: converted to numpy's, as in scikit-learn.
LIBRARIES = frozenset({"array_api_strict", "cupy", "torch"})


def _library(A: Any) -> str | None:
    """The library of an array, if it is one of those."""
    kind: Any = type(A)
    return _library_of(kind)


@cache
def _library_of(kind: type) -> str | None:
    roots = (parent.__module__.partition(".")[0] for parent in kind.__mro__)
    return next((root for root in roots if root in LIBRARIES), None)


@cache
def _compat(library: str) -> Any:
    """array-api-compat, which hides the differences between libraries."""
    if find_spec("array_api_compat") is None:
        raise ImportError(
            f"Arrays of {library} need array-api-compat: "
            'pip install "klsnmf[gpu]", or give numpy arrays.'
        )
    return import_module("array_api_compat")


def on_host(A: Any) -> bool:
    """Whether A is numpy's, scipy's, or anything but an array of another library."""
    return isinstance(A, np.ndarray) or _library(A) is None


def namespace(A: Any) -> Any:
    """The functions that work on A, named as in numpy."""
    if isinstance(A, np.ndarray) or on_host(A):
        return np
    return _compat(_library(A) or "").array_namespace(A)


def device_of(A: Any) -> Any:
    """The device of A, in the form that functions which make arrays need."""
    library = _library(A)
    return "cpu" if library is None else _compat(library).device(A)


def follows_lists(A: Any) -> bool:
    """Whether following a list of places is fast on A's device, as sparse matrices need.

    A device multiplies arrays fast but follows lists slowly. So zeros are stored there, and pairs
    that are left out are masked.
    """
    return on_host(A)


def place(A: Any) -> str:
    """The kind of array and its device, in words."""
    library = _library(A)
    if library is not None:
        return f"an array of {library} on the device {str(device_of(A))!r}"
    return "a numpy array" if isinstance(A, np.ndarray) else f"a {type(A).__name__} on the host"


def require_same_place(A: Any, name: str, home: Any, whose: str) -> None:
    """Refuse A if it is not of the same library and on the same device as ``home``."""
    if _library(A) != _library(home) or device_of(A) != device_of(home):
        raise ValueError(
            f"{name} is {place(A)}, and {whose} is {place(home)}: bring both to the same "
            "library and device first."
        )


def require_host(X: Any, what: str, remedy: str) -> None:
    """Refuse samples on a device."""
    if not on_host(X):
        raise ValueError(
            f"{what} is for samples on the host, and X is {place(X)}: {remedy}, or give X as a "
            "numpy array."
        )


def require_dense(A: Any, name: str) -> None:
    if _library(A) == "torch" and A.layout is not namespace(A).strided:
        raise ValueError(
            f"{name} is a sparse tensor of torch, which is not supported. Give "
            f"{name}.to_dense(), or give samples as a sparse matrix of scipy."
        )


def require_fitted_place(estimator: Any, X: Any, method: str) -> None:
    """Refuse new samples that are not where the samples of the fit were."""
    if estimator._on_devices:
        whose = f"{type(estimator).__name__}.{method}() must use the same namespace as fit(): X"
        require_same_place(X, whose, estimator.G_, "what it was fitted to")


def to_host(A: Any) -> Any:
    """A as a numpy array; what is already on the host is not changed."""
    library = _library(A)
    if library is None:
        return A
    if library == "torch":
        return A.detach().cpu().numpy()
    if library == "cupy":
        return A.get()
    return np.asarray(A.to_device(namespace(A).__array_namespace_info__().default_device()))


def host_copy(value: Any) -> Any:
    """A fitted model with numpy arrays in place of all device arrays: a copy, or itself.

    From then on its kernel finds neighbours on the host.
    """
    if not on_host(value):
        return to_host(value)
    if hasattr(value, "host_copy"):
        return value.host_copy()
    if isinstance(value, list | tuple):
        return type(value)(map(host_copy, value))
    if not type(value).__module__.startswith("klsnmf."):
        return value
    if not on_host(getattr(value, "G_", None)):  # an estimator that was fitted there
        moved = copy(value)
        for name, part in vars(value).items():
            setattr(moved, name, host_copy(part))
        return moved
    if is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "G_"):
        return replace(value, **{f.name: host_copy(getattr(value, f.name)) for f in fields(value)})
    return value


def like(A: Any, home: Any, dtype: Any = None) -> Any:
    """The host array A as an array of the library and on the device of ``home``.

    This is a copy, unless both are numpy's and no type is asked for.
    """
    if on_host(home):
        return A if dtype is None else A.astype(dtype)
    if dtype is None and A.dtype == np.float64:
        dtype = widest(home)
    return namespace(home).asarray(A, dtype=dtype, device=device_of(home), copy=True)


def at(A: Any, places: Any, axis: int = 0) -> Any:
    """The rows of A with these places, in their order, or the columns; where A is."""
    if on_host(A):
        return A[places] if axis == 0 else A[:, places]
    return namespace(A).take(A, places, axis=axis)


def zeros(shape: int | tuple[int, ...], home: Any) -> Any:
    """Zeros on the device of ``home``, of the same type."""
    return namespace(home).zeros(shape, dtype=home.dtype, device=device_of(home))


def identity(n: int, home: Any) -> Any:  # (n, n)
    """The identity on the device of ``home``, of the same type."""
    return namespace(home).eye(n, dtype=home.dtype, device=device_of(home))


def as_array(A: Any, home: Any, what: str) -> Any:
    """A, from outside, as an array on the device of ``home``; refused if it is elsewhere."""
    if on_host(home):
        return A.toarray() if sparse.issparse(A) else np.asarray(A)
    require_same_place(A, what, home, "X")
    return A


def as_matrix(A: Any, name: str, dtype: np.dtype[Any]) -> Any:
    """A matrix of the user's beside samples: in CSR form on the host, an array on a device."""
    if on_host(A):
        A = check_array(A, accept_sparse="csr", dtype=dtype, input_name=name)
        return sparse.csr_array(A)
    require_dense(A, name)
    if not all_finite(A):
        raise ValueError(f"Input {name} contains NaN or infinity.")
    return cast(A, getattr(namespace(A), np.dtype(dtype).name))


def of_one_type(A: Any, B: Any) -> Any:
    """A in the type of B, if the library needs equal types in products; numpy does not."""
    return A if on_host(A) else cast(A, B.dtype)


def cast(A: Any, dtype: Any) -> Any:
    """A with numbers of this type of its own library."""
    return A.astype(dtype, copy=False) if on_host(A) else namespace(A).astype(A, dtype, copy=False)


def precision(A: Any) -> np.dtype[Any]:
    """numpy's name for the type of A's numbers, float32 or float64."""
    if on_host(A):
        return A.dtype
    return np.dtype(np.float64 if A.dtype == namespace(A).float64 else np.float32)


def in_best_type(A: Any) -> Any:
    """A in the best precision of its device; not changed on the host."""
    return A if on_host(A) else cast(A, widest(A))


def widest(home: Any) -> Any:
    """float64, or float32 on a device that has no float64."""
    xp = namespace(home)
    try:
        xp.zeros(1, dtype=xp.float64, device=device_of(home))
    except (RuntimeError, TypeError, ValueError):
        return xp.float32
    return xp.float64


def all_finite(A: Any) -> bool:
    xp = namespace(A)
    return bool(xp.all(xp.isfinite(A)))


def slices(n: int, step: int) -> Iterator[slice]:
    """The numbers up to n in parts of ``step``, at least 1. No part goes beyond n."""
    step = max(1, step)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def set_diagonal(A: Any, values: Any) -> None:
    """Write the diagonal of a square array whose rows lie one after the other."""
    if on_host(A):
        np.fill_diagonal(A, values)
    else:
        namespace(A).reshape(A, (-1,), copy=False)[:: A.shape[0] + 1] = values


def smallest(A: Any, m: int) -> Any:  # (n, p) -> (n, m)
    """The m smallest entries of each row, in ascending order."""
    xp = namespace(A)
    if _library(A) == "torch":  # it need not sort the others
        return xp.topk(A, m, dim=1, largest=False).values
    return xp.sort(A, axis=1)[:, :m]


def mean_entry(A: Any) -> float:
    """The mean of all entries, added up in float64 by numpy."""
    return float(A.mean(dtype=np.float64) if on_host(A) else namespace(A).mean(A))


def unit_rows(X: Any) -> Any:
    """X with rows of length 1; rows of zeros stay."""
    if on_host(X):
        return normalize(X)
    xp = namespace(X)
    length = xp.sqrt(xp.sum(X * X, axis=1))[:, None]
    return X / xp.where(length > 0, length, 1)


def tiny(A: Any) -> float:
    """The smallest number of full precision of A's type."""
    return namespace(A).finfo(A.dtype).smallest_normal


def exp_minus(A: Any) -> Any:
    """exp(-A), in place for numpy."""
    if not on_host(A):
        return namespace(A).exp(-A)
    return np.exp(np.negative(A, out=A), out=A)


def without_tiny(A: Any) -> Any:
    """A ≥ 0 with zero in place of numbers whose products would be subnormal; in place of A."""
    floor = tiny(A) ** 0.5
    if not on_host(A):
        return namespace(A).where(floor >= A, 0, A)
    A *= floor < A
    return A


def as_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X on its device, after the same checks that scikit-learn does for arrays of the host.

    float64 and float32 stay; shorter floats become float32, integers and bools float64.
    """
    name, xp = type(estimator).__name__, namespace(X)
    if _library(X) == "torch":
        X = X.detach()
        if X.device.type == "meta":
            raise ValueError(
                "X is on torch's device 'meta', which holds no numbers: give a tensor on a device "
                "that does, such as 'cpu'."
            )
        require_dense(X, "X")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: X has numbers of type {X.dtype}.")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, and X has shape {tuple(X.shape)}. Reshape your data: it must have "
            "shape (n_samples, n_features)."
        )
    for count, what in zip(X.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
                f"required by {name}."
            )
    if X.dtype not in (xp.float32, xp.float64):
        X = cast(X, xp.float32 if xp.isdtype(X.dtype, "real floating") else widest(X))
    if not all_finite(X):
        if not xp.any(xp.isnan(X)):
            raise ValueError(f"Input X contains infinity or a value too large for {X.dtype}.")
        raise ValueError(
            f"Input X contains NaN, and {name} does not accept missing values. Fill them in, or "
            "leave out their rows or columns."
        )
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def free_memory(home: Any) -> int | None:
    """The free bytes on the device; None if it is the host, or if this is unknown."""
    if _library(home) == "torch" and home.device.type == "cuda":
        return int(namespace(home).cuda.mem_get_info(home.device)[0])
    if _library(home) == "cupy":
        return int(home.device.mem_info[0])
    return None
