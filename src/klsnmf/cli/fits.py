"""Fits a method to a table, for several commands."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from sklearn.exceptions import ConvergenceWarning

from .. import n_clusters_evidence
from ..core import sketch
from ..io.table import InputError, Table
from ..methods import DETAILS, METHODS
from ..report.findings import notes_of
from .samples import last_resort, refusal, require_samples

if TYPE_CHECKING:
    from ..kernels.count import Evidence

#: Warnings that are not shown: those for developers, and those about convergence. The notes of a
#: fit say the same, and fits of scikit-learn are judged by their labels.
_UNTOLD = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ConvergenceWarning)


#: What is shown about a level.
LEVEL = ("score", "persistence", "clarity", "stability", "cut")


@dataclass(frozen=True)
class Fitted:
    """An estimator, how long its fit took, and the warnings of other libraries."""

    estimator: Any
    seconds: float
    messages: list[str]

    @property
    def evidence(self) -> Evidence | None:
        """The evidence for the number of clusters, if it was chosen."""
        return getattr(self.estimator, "n_clusters_evidence_", None)

    @property
    def levels(self) -> dict[int, Any]:
        """The labels of each level, from the coarsest to the finest, if levels were found."""
        profile = getattr(self.estimator, "levels_", ())
        return {one.n_clusters: one.labels for one in sorted(profile, key=lambda x: x.n_clusters)}

    @property
    def level_facts(self) -> list[dict[str, Any]] | None:
        """The evidence for each level, best first, for result.json."""
        profile = getattr(self.estimator, "levels_", None)
        if profile is None or len(profile) < 2:
            return None
        return [
            {"n_clusters": one.n_clusters, **{name: _rounded(getattr(one, name)) for name in LEVEL}}
            for one in profile
        ]

    @property
    def told(self) -> list[str]:
        """The messages and the notes of the fit, with options of the command."""
        return [*self.messages, *(note.in_command for note in notes_of(self.estimator))]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


def has_parameter(method: str, name: str) -> bool:
    """Whether an option, such as --max-iter, has a meaning for a method."""
    return name in METHODS[method]().get_params(deep=False)


def require_levels(table: Table, method: str) -> None:
    """Refuse --levels for so many samples that only a part of them is fitted."""
    if table.X.shape[0] > sketch.ALL and has_parameter(method, "fit_on"):
        raise click.UsageError(
            f"Leave out --levels: of more than {sketch.ALL:,} samples only a part is fitted, and "
            "other levels are known for that part only."
        )


def fit(
    method: str, k: int | str, seed: int, table: Table, max_iter: int | None, **more: Any
) -> Fitted:
    """Fit a method. If it raises a ValueError, the error gets the name of the data.

    ``max_iter`` is left out if the method has no such parameter.
    """
    bears_gaps = "nan" in DETAILS[method].accepts
    table.require_numbers(gaps=bears_gaps, last_resort=last_resort(table, "--method"))
    # Spectral clustering finds eigenvectors only for fewer clusters than samples.
    require_samples(k, table, spare=int(method == "spectral"))
    if max_iter is not None and has_parameter(method, "max_iter"):
        more["max_iter"] = max_iter
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator = _fit(method, k, seed, table, more)
        except ValueError as error:
            raise InputError(f"{table.name}, method {method}: {error}") from error
    told = [str(one.message) for one in caught if not issubclass(one.category, _UNTOLD)]
    return Fitted(estimator, time.perf_counter() - begun, list(dict.fromkeys(told)))


def _fit(method: str, k: int | str, seed: int, table: Table, more: Mapping[str, Any]) -> Any:
    evidence = None
    if k == "auto" and not DETAILS[method].counts:
        evidence = count_clusters(table, seed)
        k = evidence.chosen
    parameters = {**DETAILS[method].given, **more}
    estimator = METHODS[method](n_clusters=k, random_state=seed, **parameters)
    estimator.fit(table.X)
    if evidence is not None:
        estimator.n_clusters_evidence_ = evidence
    return estimator


def count_clusters(table: Table, seed: int) -> Evidence:
    """The evidence for a number of clusters."""
    if refusal("kls-nmf", table):
        raise InputError(
            f"Give the number of clusters with -k NUMBER: {table.name} has missing values, so it "
            "cannot be chosen from the data."
        )
    table.require_numbers(gaps=False)
    return n_clusters_evidence(table.X, random_state=seed)


def facts(evidence: Evidence | None) -> dict[str, Any] | None:
    """The evidence for the number of clusters, for result.json."""
    if evidence is None:
        return None
    return {
        "chosen": int(evidence.chosen),
        "clear": evidence.clear,
        "verdict": evidence.verdict,
        "levels": list(evidence.levels),
    }
