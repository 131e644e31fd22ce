"""Parameters and samples are checked here. Each error names a remedy."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from copy import copy
from functools import wraps
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.validation import validate_data

from ..core import arrays
from ..core.arrays import require_same_place, to_host
from ..core.spellings import RENAMED
from ..core.types import Array, Labels, Matrix
from ..core.words import listed, meant
from ..grams.base import Gram
from ..kernels.functions import KERNELS
from ..kernels.inputs import require_moderate, require_some_weight
from ..kernels.workers import DaskClient

#: Copies of samples that a fit makes for their weights, at most.
MOST_COPIES = 10_000_000

#: What each parameter may be, by name. A method has some of them.
CONSTRAINTS: dict[str, list[Any]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "kernel": [StrOptions({*KERNELS, "precomputed"}), callable, list, tuple],
    "radius": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
    "neighbor_search": [StrOptions({"auto", "exact", "approximate"})],
    "diffusion": [
        Interval(Integral, 0, None, closed="left"),
        StrOptions({"auto", "unweighted"}),
        Hidden(StrOptions(set(RENAMED["diffusion"]))),  # messages name only the current spelling
    ],
    "sizes": [StrOptions({"auto", "even", "free"})],
    "outliers": [StrOptions({"cluster", "label"})],
    "gram": [StrOptions({"auto", "dense", "tiled", "low-rank"})],
    "max_memory": [Interval(Real, 0, None, closed="neither"), None],
    "row_norm": [StrOptions({"l2", "auto"}), None],
    "graph_weight": [Interval(Real, 0, None, closed="left")],
    "graph_neighbors": [Interval(Integral, 1, None, closed="left"), "array-like", "sparse matrix"],
    "orthogonal": ["boolean"],
    "solver": [StrOptions({"paper", "soft", "exact", "auto"})],
    "labels": [StrOptions({"argmax", "kmeans"})],
    "init": [StrOptions({"random", "kmeans", "spectral", "auto"}), tuple, list],
    "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "regroup": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
    "fit_on": [Interval(Integral, 1, None, closed="left"), StrOptions({"all", "auto"})],
    "engine": [DaskClient(), None],
    "verbose": ["verbose"],
    "callback": [callable, None],
    "checkpoint": [str, os.PathLike, None],
}


#: Parameters that have another name in scikit-learn.
_ELSEWHERE = {"affinity": "kernel", "gamma": "radius", "n_components": "n_clusters"}


def require_parameters(kind: Any, names: Iterable[str]) -> None:
    """Refuse the name of a parameter that a class does not have."""
    accepted = inspect.signature(kind.__init__).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in accepted):  # a subclass may handle this itself
        return
    known = kind._get_param_names()
    for name in sorted(set(names) - set(known)):
        counterpart = _ELSEWHERE.get(name)
        remedy = meant(name, known)
        if counterpart in known:
            remedy = f"Its counterpart is {counterpart!r}. "
        raise TypeError(
            f"{kind.__name__} has no parameter {name!r}. {remedy}It has {', '.join(known)}."
        )


def fit_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """A ``fit`` whose parameters scikit-learn checks, with the name of the class in errors."""
    known = inspect.signature(method).parameters
    checked = _fit_context(prefer_skip_nested_validation=True)(method)

    @wraps(method)
    def fit(self: Any, *args: Any, **given: Any) -> Any:
        for name in sorted(given.keys() - known.keys()):
            raise TypeError(
                f"{type(self).__name__}.fit has no parameter {name!r}. {meant(name, known)}".strip()
            )
        return checked(self, *args, **given)

    return fit


def as_numbers(
    estimator: Any, X: Any, *, reset: bool = True, gaps: bool = False, precomputed: bool = False
) -> Matrix:
    """X after the checks of scikit-learn, in its own precision; with ``gaps`` it may hold NaN."""
    try:
        return _as_numbers(estimator, X, reset=reset, gaps=gaps, precomputed=precomputed)
    except ValueError as error:
        if "could not convert string" in str(error) and hasattr(X, "select_dtypes"):
            raise ValueError(_with_text(estimator, X)) from error
        raise


def _with_text(estimator: Any, X: Any) -> str:
    """Why a frame with columns of text cannot be used, and what to do."""
    text = [str(name) for name in X.select_dtypes(exclude="number").columns]
    return (
        f"X has columns of text: {listed(text)}. {type(estimator).__name__} needs numbers. "
        "Use make_pipeline(klsnmf.prepare(X), ...), which leaves text out and scales numbers, or "
        "make a column of names the index: X.set_index(NAME)."
    )


def _as_numbers(estimator: Any, X: Any, *, reset: bool, gaps: bool, precomputed: bool) -> Matrix:
    if estimator._on_devices and not arrays.follows_lists(X):
        return arrays.as_numbers(estimator, X, reset=reset)

    def checked(seen: Any, finite: bool | str) -> Matrix:
        types = [np.float64, np.float32]
        return validate_data(
            seen, X, reset=reset, accept_sparse="csr", dtype=types, ensure_all_finite=finite
        )

    try:
        return checked(estimator, "allow-nan" if gaps else True)
    except ValueError as error:
        try:
            checked(copy(estimator), "allow-nan")
        except ValueError:  # X has other faults than gaps
            raise error from None
        remedy = (
            "Compute them from samples without gaps, or leave those samples out."
            if precomputed
            else "Fill them in (with sklearn.impute), leave out their rows or columns, or use "
            "WNMF, which ignores them."
        )
        raise ValueError(
            f"Input X contains NaN, and {type(estimator).__name__} does not accept missing "
            f"values. {remedy}"
        ) from error


def has_gaps(X: Matrix) -> bool:
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def noted_names(estimator: Any) -> dict[str, Any]:
    """What scikit-learn noted about the features of X."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_in_")}


def check_sample_weight(sample_weight: Any, n: int, dtype: Any = np.float64) -> Array:  # (n,)
    """Weights of n samples: nonnegative, not all zero, and not too large to compute with."""
    name = "sample_weight"
    weight = check_array(to_host(sample_weight), ensure_2d=False, dtype=dtype, input_name=name)
    if weight.shape != (n,):
        raise ValueError(f"{name} has shape {weight.shape}; it must be ({n},), one per sample.")
    if weight.min() < 0:
        raise ValueError(
            f"{name} has negative entries, the smallest is {weight.min():.3g}; they must be "
            "nonnegative."
        )
    if not weight.any():
        raise ValueError(f"{name} is zero everywhere: give a weight to the samples to be fitted.")
    require_moderate(weight, name)
    require_some_weight(weight, name)
    return np.asarray(weight)


def copies_of(rows: Labels, weight: Array, remedy: str) -> Labels:  # (n,), (n,) -> (m,)
    """Each row as often as its weight says, which must be a whole number."""
    if not np.array_equal(weight, np.round(weight)):
        raise ValueError(
            "sample_weight has fractions, and it must be whole numbers here, because copies of a "
            f"sample are counted among its neighbours: round them, or {remedy}."
        )
    if weight.sum() > MOST_COPIES:
        raise ValueError(
            f"sample_weight asks for {weight.sum():.3g} copies, and at most {MOST_COPIES:.0e} can "
            f"be fitted here: divide it by a constant and round it, or {remedy}."
        )
    return np.repeat(rows, weight.astype(np.intp))


def check_start(init: Any, n: int, k: int, K: Gram) -> dict[str, Array]:
    """The factors of ``init=(W0, G0)``."""
    if len(init) != 2:
        raise ValueError(f"init must be a pair (W0, G0) or a name; it has {len(init)} elements.")
    start = {}
    for name, value in zip(("W", "G"), init, strict=True):
        require_same_place(value, f"{name}0 of init", K.diagonal, "X")
        value = check_array(to_host(value), dtype=K.dtype, input_name=f"{name}0 of init")
        if value.shape != (n, k):
            raise ValueError(
                f"{name}0 of init has shape {value.shape}; it must be "
                f"(n_samples, n_clusters) = ({n}, {k})."
            )
        if not value.any():
            raise ValueError(f"{name}0 of init is zero everywhere, and would stay so.")
        if value.min() < 0:
            raise ValueError(f"{name}0 of init has negative entries; it must be nonnegative.")
        start[name] = K.hold(value)
    return start
