"""Two clusterings of the same samples: which clusters are partners, and which samples moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from ..core.types import Array, Labels

#: A sample: its id, and its number among the samples with the same id.
_Key = tuple[str, int]


@dataclass(frozen=True)
class Moves:
    """The clusters of two runs, for the samples that both have.

    Attributes
    ----------
    clusters : the names of the clusters of either run, each cluster beside its partner
    ids : (n,) the samples of both runs, in the order of the first
    places : (n,) and (n,), the clusters of each sample, as places in ``clusters``
    partner : for each cluster of the first run the place of its partner in the second, or None
    only : ids that are only in one run
    repeated : how many samples share their id with another; they are matched in order
    """

    clusters: tuple[list[str], list[str]]
    ids: list[str]
    places: tuple[Labels, Labels]
    partner: list[int | None]
    only: tuple[list[str], list[str]]
    repeated: int

    @cached_property
    def counts(self) -> Array:  # (clusters of the first run, those of the second)
        """How many samples are in a cluster of the first run and in one of the second."""
        found = np.zeros(tuple(map(len, self.clusters)), int)
        np.add.at(found, self.places, 1)
        return found

    @cached_property
    def moved(self) -> Labels:  # (number of samples that moved,)
        """Which samples are not in the partner of their cluster."""
        partners = np.array([-1 if each is None else each for each in self.partner])
        return np.flatnonzero(partners[self.places[0]] != self.places[1])

    @property
    def share(self) -> float:
        """The share of the samples that moved."""
        return len(self.moved) / len(self.ids)

    @cached_property
    def adjusted_rand(self) -> float:
        return float(adjusted_rand_score(*self.places))


def moves(one: Sequence[tuple[str, str]], two: Sequence[tuple[str, str]]) -> Moves:
    """Compare two runs, each a sequence of ids and clusters; partners share the most samples."""
    first, second = dict(_keyed(one)), dict(_keyed(two))
    both = [key for key in first if key in second]
    if not both:
        raise ValueError("no sample is in both runs")
    rows, columns = (_sorted(cluster for _, cluster in run) for run in (one, two))
    counts = Counter((first[key], second[key]) for key in both)
    table = np.array([[counts[row, column] for column in columns] for row in rows])
    matched = {
        int(i): int(j)
        for i, j in zip(*linear_sum_assignment(table, maximize=True), strict=True)
        if table[i, j]
    }
    # Partners stand side by side, in the order of the first run.
    order = [matched[i] for i in range(len(rows)) if i in matched]
    order += [j for j in range(len(columns)) if j not in order]
    columns = [columns[j] for j in order]
    of_row, of_column = ({name: i for i, name in enumerate(names)} for names in (rows, columns))
    return Moves(
        clusters=(rows, columns),
        ids=[name for name, _ in both],
        places=(
            np.array([of_row[first[key]] for key in both]),
            np.array([of_column[second[key]] for key in both]),
        ),
        partner=[order.index(matched[i]) if i in matched else None for i in range(len(rows))],
        only=(
            [name for name, turn in first if (name, turn) not in second],
            [name for name, turn in second if (name, turn) not in first],
        ),
        repeated=sum(turn > 0 for _, turn in both),
    )


def _keyed(run: Iterable[tuple[str, str]]) -> Iterable[tuple[_Key, str]]:
    seen: Counter[str] = Counter()
    for name, cluster in run:
        yield (name, seen[name]), cluster
        seen[name] += 1


def _sorted(names: Iterable[str]) -> list[str]:
    """Numbers by their size, then words."""

    def key(name: str) -> tuple[bool, int, str]:
        whole = name.removeprefix("-").isdecimal()
        return not whole, int(name) if whole else 0, name

    return sorted(set(names), key=key)
