"""Where fits begin, how far they are, and how they end: what the parts of a solution hand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import columns, lengths
from ..core.arrays import like, to_host
from ..core.types import Array, Labels

#: The way of a start that was chosen among many already, clusters exchanged.
CHOSEN = "chosen"

#: Ways to a start that come to labels, from which the factors follow.
BY_LABELS = ("spectral", "kmeans", CHOSEN)


class Start(NamedTuple):
    """Factors to begin with, and the way they were found."""

    way: str
    factors: dict[str, Array]

    @classmethod
    def of_labels(cls, way: str, labels: Labels, k: int, hold: Callable[[Array], Array]) -> Start:
        W, G = factors_of_labels(labels, k)
        return cls(way, {"W": hold(W), "G": hold(G)})

    @property
    def k(self) -> int:
        return self.factors["G"].shape[1]

    @property
    def labels(self) -> Labels | None:
        """The labels that it was made of, if it was."""
        return to_host(self.factors["G"]).argmax(axis=1) if self.way in BY_LABELS else None


def factors_of_labels(labels: Labels, k: int) -> tuple[Array, Array]:  # (n, k), (n, k)
    """G = one-hot + 0.2 and W = G / cluster size: near the labels, yet free to leave them."""
    onehot = np.eye(k)[labels]
    G = onehot + 0.2
    return G / np.maximum(onehot.sum(axis=0), 1), G


@dataclass(frozen=True)
class Progress:
    """What a callback is told after every iteration.

    Attributes
    ----------
    phase : the solver at work; "auto" has two, "exact" without λ and "local" with it
    iteration, max_iter : how far the loop is in this phase
    running, fits : how many fits go on, of how many
    objective : the lowest loss so far of the fits that did not collapse
    """

    phase: str
    iteration: int
    max_iter: int
    running: int
    fits: int
    objective: float


#: Called after every iteration; the fits stop where they are when it returns True.
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
    """Where one fit of a batch stands after an iteration: all that it takes to go on.

    A fit that has ended goes on nowhere, and need not have its factors.
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

    ``exact`` says that a row of G has one nonzero entry at most. ``residual`` is how far the
    factors were from a solution when it was looked at last, where that is known.
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
    """The one with the lowest objective, of those that did not collapse if any."""
    return min(solutions, key=lambda one: (one.collapsed, one.objective))


def tidied(
    W: Array, G: Array, labels: Labels, *, by_appearance: bool
) -> tuple[Array, Array, Labels]:
    """Columns of G of length 1, and labels that count from 0 without a gap.

    W Gᵀ stays as it is. Clusters are numbered as their first samples come, or else as their
    columns stand; columns that no sample is labelled with go last.
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
class Doubts:
    """Doubts: clusters by their numbers, borders and shares of walks.

    Attributes
    ----------
    one : pairs of clusters that may be one, and the border between them, the weakest first
    two : clusters that may be two, and the border inside, the clearest first
    loose : clusters that walks leave for many others, and the share that stays
    """

    one: tuple[tuple[int, int, float], ...] = ()
    two: tuple[tuple[int, float], ...] = ()
    loose: tuple[tuple[int, float], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.one or self.two or self.loose)

    @property
    def clusters(self) -> tuple[int, ...]:
        """All doubtful clusters."""
        of_pairs = {c for a, b, _ in self.one for c in (a, b)}
        return tuple(sorted(of_pairs | {c for c, _ in self.two} | {c for c, _ in self.loose}))
