"""What a reader should know before trusting the result: notes on the fit and on the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..estimators.doubtful import InDoubt, TinyClusters, tiny_clusters
from ..estimators.notes import Collapsed, FewerClusters, NotClear, NotConverged, Note
from ..estimators.strengths import WEAK, by_votes
from .run import Run
from .text import plain, plural


@dataclass(frozen=True)
class Said:
    """A note given by its words: for Python, and for the command line."""

    warns: ClassVar[bool] = True

    words: str
    in_command: str

    def __str__(self) -> str:
        return self.words


def doubts(evidence: Any) -> list[Note]:
    """A note if the number of clusters was chosen and the choice is not clear."""
    return [] if evidence is None or evidence.clear else [NotClear.of(evidence)]


def notes_of(estimator: Any) -> list[Note]:
    """The notes on a fit by any method, each kind once.

    Estimators of this package make their own notes. For other estimators, notes are made from their
    attributes.
    """
    noted = tuple(getattr(estimator, "notes_", ()))

    def silent(kind: type) -> bool:
        return not any(isinstance(note, kind) for note in noted)

    notes = list(noted)
    if silent(NotClear):
        notes = [*doubts(getattr(estimator, "n_clusters_evidence_", None)), *noted]
    status = getattr(estimator, "status_", None)
    if (status in ("exhausted", "stopped") or _ran_out(estimator)) and silent(NotConverged):
        count = plural(int(estimator.n_iter_), "iteration")
        what = f"The fit ended after {count}, before it converged:"
        again = "raise max_iter and run it again."
        notes.append(Said(f"{what} {again}", f"{what} allow more with --max-iter."))
    if status == "collapsed" and silent(Collapsed):
        what = f"The fit collapsed: {plain(estimator.verdict_, 300)}. Do not trust these clusters."
        notes.append(Said(what, what))
    found = len(np.unique(estimator.labels_))
    asked = getattr(estimator, "n_clusters_", estimator.n_clusters)
    if asked != "auto" and found < int(asked) and silent(FewerClusters):
        what = f"Only {found} of {asked} clusters have samples"
        equal = "perhaps because samples are equal: ask for fewer with -k."
        notes.append(Said(f"{what}: ask for fewer clusters.", f"{what}, {equal}"))
    if silent(TinyClusters):
        notes += tiny_clusters(estimator.labels_, found if asked == "auto" else int(asked))
    return notes


def in_doubt(run: Run) -> InDoubt | None:
    """The note on doubtful clusters, if the fit has one."""
    return next((note for note in notes_of(run.estimator) if isinstance(note, InDoubt)), None)


def findings(run: Run) -> list[str]:
    """Warnings about the fit and its results, without doubtful clusters.

    A report of the command names options of the command line.
    """
    notes = [note for note in notes_of(run.estimator) if not isinstance(note, InDoubt)]
    words = [note.in_command if run.command else str(note) for note in notes]
    return [plain(message, 600) for message in [*run.messages, *words]] + remarks(run)


def remarks(run: Run) -> list[str]:
    """Remarks on the clusters themselves."""
    # Equal samples already explain low strengths.
    return _few_distinct(run) or _weak(run)


def _ran_out(estimator: Any) -> bool:
    """Whether a method without a status used all of its iterations."""
    most = estimator.get_params(deep=False).get("max_iter")
    used = getattr(estimator, "n_iter_", None)
    return not hasattr(estimator, "status_") and most is not None and used == most


def _few_distinct(run: Run) -> list[str]:
    seen: set[int] = set()
    for i in range(len(run.labels)):
        # Hashes need less memory than wide rows; adding 0 turns -0 into 0.
        seen.add(hash((run.rows([i]) + 0.0).tobytes()))
        if len(seen) >= run.n_clusters:
            return []
    return [
        f"There are {run.n_clusters} clusters, but only {plural(len(seen), 'distinct sample')}: "
        "equal samples cannot be told apart. Ask for fewer clusters."
    ]


def _weak(run: Run) -> list[str]:
    median = float(np.median(run.strength))
    if median >= WEAK or run.weak is None:
        return []
    words = "are hardly more like their own cluster than like another"
    if by_votes(run.estimator):
        words = "have most of their nearest neighbours in other clusters"
    return [f"Most samples {words}: the median strength is {median:.2f}."]
