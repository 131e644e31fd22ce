"""A fingerprint of a fit in words and hashes, which tells whether another fit is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..core.spellings import spelled_now
from ..core.types import Matrix
from ..core.version import __version__

#: Parameters that do not change the result of a fit.
_WITHOUT_EFFECT = ("checkpoint", "engine", "verbose", "callback", "max_memory")

#: So many bytes are hashed together.
_CHUNK = 2**24

#: At most so many differences are named in a message.
_SHOWN = 3


def fingerprint(estimators: Sequence[Any], X: Matrix) -> dict[str, Any]:
    """The fingerprint of estimators, which differ only in ``lam``, and samples, as JSON."""
    parameters = estimators[0].get_params(deep=False)
    parameters |= {"lam": [estimator.lam for estimator in estimators]}
    told = {name: value for name, value in parameters.items() if name not in _WITHOUT_EFFECT}
    return {
        "version of klsnmf": __version__,
        "method": type(estimators[0]).__name__,
        "shape of X": list(X.shape),
        "X": _described(X),
        **{name: _described(spelled_now(name, value)) for name, value in told.items()},
    }


def differences(then: dict[str, Any], now: dict[str, Any]) -> str:
    """What differs between two fingerprints, in words; empty if nothing does."""
    then = {name: spelled_now(name, value) for name, value in then.items()}
    names = [name for name in {**now, **then} if then.get(name) != now.get(name)]
    said = [
        f"{name if name in now else _short(name)} was {_short(then.get(name))}, "
        f"and is {_short(now.get(name))}"
        if name != "X"
        else "X has other numbers"
        for name in names[:_SHOWN]
    ]
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return "; ".join([*said, *more])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _described(value: Any) -> Any:
    """A parameter as JSON: arrays by their hash, functions by their name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_described(item) for item in value]
    if isinstance(value, np.random.RandomState):
        return "generator"  # what it drew is in the checkpoint itself
    if sparse.issparse(value):
        matrix = sparse.csr_array(value)
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return ["sparse", list(matrix.shape), *(_hash(part) for part in parts)]
    if hasattr(value, "__array__"):
        return _hash(np.asarray(value))
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _hash(array: np.ndarray) -> str:
    """The hash of an array's type, shape and numbers, whatever the order in memory."""
    found = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    rows = max(1, _CHUNK // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        found.update(np.ascontiguousarray(array[start : start + rows]).data.cast("B"))
    return found.hexdigest()
