"""Fitting a method to a table, for the commands that do."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.words import plural
from ..io import InputError, Table
from ..methods import DETAILS
from .output import printable

if TYPE_CHECKING:
    from ..kernels.count import Evidence

#: Parameters where the defaults of scikit-learn would not do for data of any unit.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "kmeans": {"n_init": 10},
    "spectral": {"affinity": "nearest_neighbors"},
}

#: Methods that find the number of clusters themselves; others take that of KLS-NMF's kernel.
_COUNTS = ("kls-nmf", "ls-nmf", "gls-nmf", "cnmf", "knmf", "kernel-kmeans")

#: What warnings say to those who write Python, and what that is on the command line.
_OPTIONS = (
    (
        r"stopped at max_iter=(\d+) before it converged: raise max_iter, or tol",
        r"stopped after \1 iterations, before it converged: allow more with --max-iter",
    ),
    (
        r"Number of distinct clusters \((\d+)\) found smaller than n_clusters \((\d+)\)\. .*",
        r"Only \1 of \2 clusters have samples, perhaps because samples are equal: ask for fewer "
        "with -k.",
    ),
    (r"raise max_iter and run it again", "allow more with --max-iter"),
    (r"n_clusters=(\d+)", r"\1"),
    (r"lower n_clusters(, or set labels=\"kmeans\")?", "ask for fewer with -k"),
)


@dataclass(frozen=True)
class Fitted:
    """An estimator, how long its fit took, and what it had to say."""

    estimator: Any
    seconds: float
    messages: list[str]

    @property
    def evidence(self) -> Evidence | None:
        """What spoke for the number of clusters, if it was found."""
        return getattr(self.estimator, "n_clusters_evidence_", None)


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


def last_resort(table: Table, option: str) -> str:
    """What to try with gaps that can neither be filled in nor left out."""
    if refusal("wnmf", table):
        return ""
    return f"If neither will do: {option} wnmf takes gaps as they are, with -k NUMBER."


def has_parameter(method: str, name: str) -> bool:
    """Whether an option, such as --max-iter, has a meaning for a method."""
    kind: Any = DETAILS[method].estimator
    return name in kind().get_params(deep=False)


def fit(
    method: str,
    k: int | str,
    seed: int,
    table: Table,
    max_iter: int | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Fit a method; a ValueError of its own becomes one that names the data."""
    table.require_numbers(
        gaps="nan" in DETAILS[method].accepts, last_resort=last_resort(table, "--method")
    )
    # The eigenvectors of spectral clustering are found for fewer clusters than samples only.
    require_samples(k, table, spare=int(method == "spectral"))
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator = _fit(method, k, seed, table, max_iter, checkpoint)
        except ValueError as error:
            raise InputError(f"{table.name}, method {method}: {error}") from error
    told = [warning for warning in caught if not issubclass(warning.category, _INTERNAL)]
    messages = list(dict.fromkeys(in_options(str(warning.message)) for warning in told))
    return Fitted(estimator, time.perf_counter() - begun, messages)


#: Warnings to developers.
_INTERNAL = (DeprecationWarning, FutureWarning, PendingDeprecationWarning)


def in_options(text: str) -> str:
    """A warning in the words of the command line."""
    for python, option in _OPTIONS:
        text = re.sub(python, option, text)
    return printable(text)


def require_samples(k: int | str, table: Table, spare: int = 0) -> None:
    """Refuse more clusters than samples, but for those that a method has to spare."""
    n = table.X.shape[0]
    most = n - spare
    if k == "auto" or int(k) <= most:
        return
    remedy = f"give {most} or fewer." if most > 1 else "give 1." if most else "use another method."
    raise InputError(f"{table.name} has {plural(n, 'sample')}: -k {k} is too many; {remedy}")


def _fit(
    method: str,
    k: int | str,
    seed: int,
    table: Table,
    max_iter: int | None,
    checkpoint: Path | None,
) -> Any:
    evidence = None
    if k == "auto" and method not in _COUNTS:
        evidence = count_clusters(table, seed)
        k = evidence.chosen
    kind: Any = DETAILS[method].estimator
    parameters = dict(_PARAMETERS.get(method, {}))
    if max_iter is not None and has_parameter(method, "max_iter"):
        parameters["max_iter"] = max_iter
    if checkpoint is not None:
        parameters["checkpoint"] = checkpoint
    estimator = kind(n_clusters=k, random_state=seed, **parameters)
    estimator.fit(table.X)
    if evidence is not None:
        estimator.n_clusters_evidence_ = evidence
    return estimator


def count_clusters(table: Table, seed: int) -> Evidence:
    """The evidence for a number of clusters."""
    from ..estimators.kls import n_clusters_evidence

    if refusal("kls-nmf", table):
        raise InputError(
            f"{table.name} has missing values, and the number of clusters cannot be found then. "
            "Give it: -k NUMBER."
        )
    table.require_numbers(gaps=False)
    return n_clusters_evidence(table.X, random_state=seed)


def facts(evidence: Evidence | None) -> dict[str, Any] | None:
    """The evidence for the number of clusters, for result.json."""
    if evidence is None:
        return None
    stability = dict(zip(evidence.candidates.tolist(), evidence.stability.tolist(), strict=True))
    found = stability.get(evidence.chosen)
    return {
        "chosen": int(evidence.chosen),
        "clear": evidence.clear,
        "verdict": evidence.verdict,
        "stability": None if found is None else round(found, 4),
        "next_best": evidence.rival,
    }


def doubts(evidence: Evidence | None) -> list[str]:
    """What to tell of a number of clusters that does not stand out."""
    if evidence is None or evidence.clear:
        return []
    return [f"{evidence.verdict.removesuffix('.')}: -k NUMBER."]
