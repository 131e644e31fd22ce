"""What a fit tells its user, as records: numbers for programs, and sentences for people.

``str`` of a record is a sentence that names Python's parameters. ``in_command`` is the same
sentence with options of the command. Sentences about a fit are made only here, and no program
reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import to_host
from ..core.types import Labels
from ..core.words import plural
from ..kernels.count import Evidence
from ..solve.solution import Solution, Status, Trouble


class Note(Protocol):
    """Something that the user should know about a fit."""

    #: Whether something went wrong, so that Python warns of it.
    warns: ClassVar[bool]

    @property
    def in_command(self) -> str:
        """The note in the words of the command line."""

    def __repr__(self) -> str:
        """The sentence, so that people can read ``notes_``; the fields hold the data."""
        return f"{type(self).__name__}: {self}"


class FitWarning(ConvergenceWarning):
    """A note on a fit, as a warning."""

    def __init__(self, note: Note) -> None:
        super().__init__(str(note))
        self.note = note


@dataclass(frozen=True, repr=False)
class NotConverged(Note):
    """There were too few iterations."""

    warns: ClassVar[bool] = True

    max_iter: int
    estimator: str

    def __str__(self) -> str:
        return (
            f"{self.estimator} stopped at max_iter={self.max_iter} before it converged. Raise "
            "max_iter or tol."
        )

    @property
    def in_command(self) -> str:
        return (
            f"{self.estimator} stopped after {self.max_iter} iterations, before it converged. "
            "Allow more with --max-iter."
        )


@dataclass(frozen=True, repr=False)
class Collapsed(Note):
    """Clusters were lost to a weight that is too large.

    Attributes
    ----------
    parameter, value : the weight
    trouble, share : what went wrong, and the share of samples that fit no cluster
    safe : a smaller value that was seen to work; 0 if there was none
    """

    warns: ClassVar[bool] = True

    parameter: str
    value: float
    trouble: Trouble
    share: float = 0.0
    safe: float = 0.0

    @property
    def advised(self) -> float:
        """Half of the safe value: near the limit, a smaller λ can do worse than a larger one."""
        return float(f"{0.5 * self.safe:.3g}")

    def __str__(self) -> str:
        if self.parameter != "lam":
            advice = "Lower it."
        elif self.safe:
            advice = f"lam={self.advised:.3g} or less does not collapse."
        else:
            advice = "Set lam=0."
        return (
            f"{self.parameter}={self.value:g} is too large for this kernel: "
            f"{what_went_wrong(self.trouble, self.share)}. {advice}"
        )

    @property
    def in_command(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class FewerClusters(Note):
    """Some clusters have no samples.

    Attributes
    ----------
    found, asked : numbers of clusters
    told_by : what could be changed to tell clusters apart: "kernel", "argmax", or nothing
    """

    warns: ClassVar[bool] = True

    found: int
    asked: int
    told_by: str = ""

    def __str__(self) -> str:
        remedies = {
            "kernel": ", or choose a kernel that tells the samples apart better",
            "argmax": ', or set labels="kmeans"',
        }
        return (
            f"Only {self.found} of n_clusters={self.asked} clusters have samples. Lower "
            f"n_clusters{remedies.get(self.told_by, '')}."
        )

    @property
    def in_command(self) -> str:
        return f"Only {self.found} of {self.asked} clusters have samples. Ask for fewer with -k."


@dataclass(frozen=True, repr=False)
class MoreThanFeatures(Note):
    """More components than features, so that they are not unique and depend on chance."""

    warns: ClassVar[bool] = True

    n_clusters: int
    n_features: int

    def __str__(self) -> str:
        return self._told("n_clusters=", "lower n_clusters")

    @property
    def in_command(self) -> str:
        return self._told("-k ", "ask for fewer with -k")

    def _told(self, asked: str, remedy: str) -> str:
        return (
            f"{asked}{self.n_clusters} is more than the {plural(self.n_features, 'feature')} of X, "
            "so the components are not unique and the clusters depend on the start: "
            f"{remedy}, or use KLSNMF, which can find more clusters than features."
        )


@dataclass(frozen=True, repr=False)
class NotClear(Note):
    """The number of clusters was chosen, but the choice is not clear.

    Attributes
    ----------
    best : the chosen number, and others to look at
    verdict : the same in words
    """

    warns: ClassVar[bool] = True

    best: tuple[int, ...]
    verdict: str

    @classmethod
    def of(cls, evidence: Evidence) -> NotClear:
        return cls(evidence.levels, evidence.verdict)

    def __str__(self) -> str:
        return f"{self.verdict} See n_clusters_evidence_ and levels_."

    @property
    def in_command(self) -> str:
        return f"{self.verdict} Give another number with -k NUMBER."


@dataclass(frozen=True, repr=False)
class OfAPart(Note):
    """A part of the samples was fitted, and the others were placed as new samples are."""

    warns: ClassVar[bool] = False

    fitted: int
    samples: int

    def __str__(self) -> str:
        return f'{self.in_command} To fit all of them, set fit_on="all".'

    @property
    def in_command(self) -> str:
        return (
            f"{self.fitted:,} of {self.samples:,} samples were fitted, drawn at random. The others "
            "were then placed in these clusters like new samples."
        )


def what_went_wrong(trouble: Trouble, share: float) -> str:
    """Why a fit collapsed."""
    return {
        Trouble.GROWS: "G grows without bound",
        Trouble.NO_CLUSTER: f"{share:.0%} of the samples fit no cluster",
        Trouble.OVERFLOW: "the numbers grew too large to compute with",
    }[trouble]


def answer_of(labels: Labels, verdict: str) -> str:  # (n,)
    """What a fit found, in one line."""
    labels = to_host(labels)
    sizes = np.bincount(labels[labels >= 0])
    sizes, alone = sizes[sizes > 0], int((labels < 0).sum())
    told = f"{plural(len(labels), 'sample')} in {plural(len(sizes), 'cluster')}"
    if len(sizes) > 1:
        told += f" of {sizes.min()} to {sizes.max()} samples"
    if alone:
        told += f", and {plural(alone, 'outlier')}"
    return f"{told}; {verdict}."


def verdict_of(solution: Solution, tol: float) -> str:
    """Why a fit ended."""
    if solution.trouble is not None:
        return what_went_wrong(solution.trouble, solution.share)
    if solution.status is Status.CONVERGED and solution.residual is not None:
        return f"converged: its residual, {solution.residual:.1e}, is at most tol={tol:g}"
    if solution.status is Status.CONVERGED:
        changed = f"changed by less than {100 * tol:g}%" if tol else "no longer changed"
        return f"converged: the objective {changed}"
    if solution.status is Status.STOPPED:
        return "stopped by the callback"
    return f"stopped after {solution.n_iter} iterations"
