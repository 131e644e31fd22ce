"""What comes from outside is checked here, with a remedy in each error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..core import arrays
from ..core.arrays import require_same_place, to_host
from ..core.types import Array, Matrix
from ..grams.base import Gram


def as_numbers(
    estimator: Any, X: Any, *, reset: bool = True, gaps: bool = False, precomputed: bool = False
) -> Matrix:
    """X as scikit-learn checks it, in its own precision; with gaps, NaN may be in it."""
    if not estimator._on_devices or arrays.follows_lists(X):
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if not gaps and has_gaps(X):
            remedy = (
                "compute them from samples without gaps, or leave those samples out."
                if precomputed
                else "fill them in (sklearn.impute has ways), leave their rows or columns out, or "
                "use WNMF, which passes over them."
            )
            raise ValueError(
                f"Input X contains NaN, and {type(estimator).__name__} knows no missing values: "
                f"{remedy}"
            )
        return X
    return arrays.as_numbers(estimator, X, reset=reset)


def has_gaps(X: Matrix) -> bool:
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def noted_names(estimator: Any) -> dict[str, Any]:
    """What scikit-learn noted of the features of X."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_in_")}


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
