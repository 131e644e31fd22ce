"""What a fit has to tell, as records: numbers for programs, and the same in words for people.

Each is a sentence in the words of Python, and ``in_command`` the same in those of the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sklearn.exceptions import ConvergenceWarning


class Note(Protocol):
    @property
    def in_command(self) -> str:
        """The note in the words of the command line."""


class FitWarning(ConvergenceWarning):
    """A note on a fit, as a warning."""

    def __init__(self, note: Note) -> None:
        super().__init__(str(note))
        self.note = note


@dataclass(frozen=True)
class NotConverged:
    """The iterations did not suffice."""

    max_iter: int
    estimator: str

    def __str__(self) -> str:
        return (
            f"{self.estimator} stopped at max_iter={self.max_iter} before it converged: raise "
            "max_iter, or tol."
        )

    @property
    def in_command(self) -> str:
        return (
            f"{self.estimator} stopped after {self.max_iter} iterations, before it converged: "
            "allow more with --max-iter."
        )


@dataclass(frozen=True)
class Collapsed:
    """Clusters were lost to a weight that is too large."""

    parameter: str
    value: float
    reason: str
    advice: str

    def __str__(self) -> str:
        return (
            f"{self.parameter}={self.value:g} is too large for this kernel: {self.reason}. "
            f"{self.advice}"
        )

    @property
    def in_command(self) -> str:
        return str(self)


@dataclass(frozen=True)
class FewerClusters:
    """Some clusters have no samples."""

    found: int
    asked: int
    remedy: str = ""

    def __str__(self) -> str:
        return (
            f"Only {self.found} of n_clusters={self.asked} clusters have samples: lower "
            f"n_clusters{self.remedy}."
        )

    @property
    def in_command(self) -> str:
        return f"Only {self.found} of {self.asked} clusters have samples: ask for fewer with -k."
