"""Fitting a method to a table, for the commands that do."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from ..inputs import InputError, Table
from ..methods import DETAILS
from .output import printable

#: Parameters where the defaults of scikit-learn would not do for data of any unit.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "kmeans": {"n_init": 10},
    "spectral": {"affinity": "nearest_neighbors"},
}

#: Methods that find the number of clusters themselves; others take that of KLS-NMF's kernel.
_COUNTS = ("kls-nmf", "ls-nmf", "gls-nmf", "cnmf", "knmf", "kernel-kmeans")


@dataclass(frozen=True)
class Fitted:
    """An estimator, how long its fit took, and what it had to say."""

    estimator: Any
    seconds: float
    messages: list[str]


def scores_of(table: Table, labels: Any) -> dict[str, float] | None:
    """How well clusters agree with the classes, over the samples whose class is known."""
    import numpy as np

    from ..metrics import scores

    if table.target is None:
        return None
    known = np.array([value is not None for value in table.target])
    return (
        scores([str(value) for value in table.target[known]], labels[known])
        if known.any()
        else None
    )


def refusal(method: str, table: Table) -> str | None:
    """Why a method cannot take a table, in a sentence, or None if it can."""
    import numpy as np
    from scipy import sparse

    values = table.X.data if sparse.issparse(table.X) else table.X
    accepts = DETAILS[method].accepts
    if "nan" not in accepts and np.isnan(values).any():
        return "it does not bear missing values"
    if "signed" not in accepts and np.fmin.reduce(values, axis=None, initial=0) < 0:
        return "it takes no negative numbers"
    return None


def fit(method: str, k: int | str, seed: int, table: Table) -> Fitted:
    """Fit a method; a ValueError of its own becomes one that names the data."""
    table.require_numbers(gaps="nan" in DETAILS[method].accepts)
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator = _fit(method, k, seed, table)
        except ValueError as error:
            raise InputError(f"{table.name}, method {method}: {error}") from error
    told = [warning for warning in caught if not issubclass(warning.category, _INTERNAL)]
    messages = list(dict.fromkeys(printable(str(warning.message)) for warning in told))
    return Fitted(estimator, time.perf_counter() - begun, messages)


#: Warnings to developers.
_INTERNAL = (DeprecationWarning, FutureWarning, PendingDeprecationWarning)


def _fit(method: str, k: int | str, seed: int, table: Table) -> Any:
    evidence = None
    if k == "auto" and method not in _COUNTS:
        evidence = count_clusters(table, seed)
        k = evidence.chosen
    kind: Any = DETAILS[method].estimator
    estimator = kind(n_clusters=k, random_state=seed, **_PARAMETERS.get(method, {}))
    estimator.fit(table.X)
    if evidence is not None:
        estimator.n_clusters_evidence_ = evidence
    return estimator


def count_clusters(table: Table, seed: int) -> Any:
    """The evidence for a number of clusters."""
    from ..estimators import n_clusters_evidence

    if refusal("kls-nmf", table):
        raise InputError(
            f"{table.name} has missing values, and the number of clusters cannot be found then. "
            "Give it: -k NUMBER."
        )
    table.require_numbers(gaps=False)
    return n_clusters_evidence(table.X, random_state=seed)
