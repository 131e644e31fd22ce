"""Records for the beginning, the progress and the end of fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import columns, lengths, one_a_row, taken
from ..core.arrays import like, namespace, to_host
from ..core.types import Array, Labels
from ..grams.base import Gram

#: The kind of a start that was already chosen among many, with clusters exchanged.
CHOSEN = "chosen"

#: Kinds of starts that come from labels, from which the factors follow.
BY_LABELS = ("spectral", "kmeans", CHOSEN)


class Start(NamedTuple):
    """The factors of a start, and how they were found."""

    way: str
    factors: dict[str, Array]

    @classmethod
    def of_labels(cls, way: str, labels: Labels, k: int, K: Gram) -> Start:
        W, G = factors_of_labels(labels, k, K.weight)
        return cls(way, {"W": K.hold(K.root * W), "G": K.hold(K.root * G)})

    def begun(self, *, exact: bool) -> dict[str, Array]:
        """The factors that steps begin with.

        Exact steps move samples whatever their entries are, so clusters that were chosen begin as
        they are. All other entries of a column together would hide a small cluster: with a million
        samples, a fifth of each is more than a cluster of a thousand has of its own.
        """
        if not exact or self.way != CHOSEN:
            return self.factors
        c = namespace(self.factors["G"]).argmax(self.factors["G"], axis=1)
        return {name: one_a_row(V, c, taken(V, c)) for name, V in self.factors.items()}

    @property
    def k(self) -> int:
        return self.factors["G"].shape[1]

    @property
    def labels(self) -> Labels | None:
        """The labels that it was made from, if there are any."""
        return to_host(self.factors["G"]).argmax(axis=1) if self.way in BY_LABELS else None


def factors_of_labels(
    labels: Labels, k: int, weight: Array | None = None
) -> tuple[Array, Array]:  # (n, k), (n, k)
    """G = one-hot + 0.2 and W = G / cluster size: near the labels, yet free to leave them."""
    G, size = np.eye(k)[labels] + 0.2, np.bincount(labels, weight, k)
    return G / np.where(size > 0, size, 1), G


@dataclass(frozen=True)
class Progress:
    """What a callback gets after every iteration.

    Attributes
    ----------
    phase : the name of the current phase; "auto" has "exact" without λ and "local" with it
    iteration, max_iter : the iteration in this phase, and the most that there can be
    running, fits : how many fits are still running, and how many there are
    objective : the lowest loss so far among fits that did not collapse
    """

    phase: str
    iteration: int
    max_iter: int
    running: int
    fits: int
    objective: float


#: Called after every iteration. If it returns True, the fits stop.
Callback = Callable[[Progress], bool | None]


class Status(StrEnum):
    CONVERGED = auto()
    EXHAUSTED = auto()
    COLLAPSED = auto()
    STOPPED = auto()


class Trouble(StrEnum):
    """Why a fit collapsed."""

    GROWS = auto()  # a factor grows without bound
    NO_CLUSTER = auto()  # most samples fit no cluster
    OVERFLOW = auto()  # the numbers grew too large to compute with


@dataclass(frozen=True)
class End:
    """How a fit ended, why it collapsed if it did, and the share of samples in no cluster."""

    status: Status
    trouble: Trouble | None = None
    share: float = 0.0


@dataclass(frozen=True)
class Standing:
    """The state of one fit of a batch after an iteration: all that is needed to continue.

    A fit that has ended does not continue, and need not have factors.
    """

    place: int
    factors: Mapping[str, Array]
    losses: Sequence[float]
    changes: Mapping[str, Sequence[float]]
    end: End | None
    labels: Labels


@dataclass
class Solution:
    """One fit: its factors, how it went, and how it ended.

    ``exact`` says that a row of G has at most one nonzero entry. ``residual`` is how far the
    factors were from a solution when this was last computed, if it was.
    """

    factors: dict[str, Array]
    labels: Labels
    history: dict[str, Array]
    status: Status
    trouble: Trouble | None = None
    share: float = 0.0
    exact: bool = False
    residual: float | None = None

    @property
    def objective(self) -> float:
        return float(self.history["objective"][-1])

    @property
    def n_iter(self) -> int:
        return len(self.history["objective"])

    @property
    def n_found(self) -> int:
        """How many clusters have samples."""
        return len(np.unique(to_host(self.labels)))

    @property
    def collapsed(self) -> bool:
        return self.status is Status.COLLAPSED


def lowest(solutions: Sequence[Solution]) -> Solution:
    """The solution with the lowest objective, among those that did not collapse if any."""
    return min(solutions, key=lambda one: (one.collapsed, one.objective))


def tidied(
    W: Array, G: Array, labels: Labels, *, by_appearance: bool
) -> tuple[Array, Array, Labels]:
    """Columns of G of length 1, and labels that count from 0 without a gap.

    W Gᵀ does not change. Clusters are numbered in the order of their first samples, or in the order
    of their columns. Columns without samples go last.
    """
    length, labels = lengths(G), to_host(labels)
    used, first = np.unique(labels, return_index=True)
    if by_appearance:
        used = used[np.argsort(first)]
    order = np.concatenate([used, np.setdiff1d(np.arange(G.shape[1]), used)])
    number = np.empty(G.shape[1], dtype=np.intp)
    number[order] = np.arange(G.shape[1])
    return columns(W * length, order), columns(G / length, order), like(number[labels], G)


@dataclass(frozen=True)
class RunnerUp:
    """Of the other answers that a fit considered, the one that loses fewest walks.

    Attributes
    ----------
    sizes : "even" or "free"
    neighbors : of each sample in its graph
    moved : how many samples it puts into other clusters
    """

    sizes: str
    neighbors: int
    moved: int


@dataclass(frozen=True)
class Doubts:
    """Doubtful clusters, by their numbers, with shares of walks.

    Attributes
    ----------
    one : pairs of clusters that may be one, and the share of walks that begin in one of them and
        end in the other, the weakest border first
    two : clusters that may be two, the same share for the two parts, and how many samples the
        larger and the smaller part have, the clearest border first
    loose : clusters that many walks leave, and the share of walks that stay
    """

    one: tuple[tuple[int, int, float], ...] = ()
    two: tuple[tuple[int, float, tuple[int, int]], ...] = ()
    loose: tuple[tuple[int, float], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.one or self.two or self.loose)

    @property
    def clusters(self) -> tuple[int, ...]:
        """All doubtful clusters."""
        of_pairs = {c for a, b, _ in self.one for c in (a, b)}
        return tuple(sorted(of_pairs | {c for c, *_ in self.two} | {c for c, _ in self.loose}))
