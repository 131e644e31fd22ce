"""From rows to results: which setting of each method counts, with the labels and without."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..core.types import Array
from .protocol import S, Table, Trial
from .published import METRICS, OURS
from .rows import Row


@dataclass(frozen=True)
class Result:
    """What a setting of a column reaches at one N; scores are percent, one for each subset."""

    setting: Mapping[str, Any]
    scores: Mapping[str, Array]

    def mean(self, metric: str) -> float:
        return float(self.scores[metric].mean())

    def deviation(self, metric: str) -> float:
        """Standard deviation over the subsets; nan for the whole set, which is one."""
        values = self.scores[metric]
        return float(values.std(ddof=1)) if len(values) > 1 else math.nan


#: column -> N -> what it reaches; such by the name of a table; and rows by that.
Results = Mapping[str, Mapping[int, Result]]
Found = Mapping[str, Results]
Rows = Mapping[str, Sequence[Row]]


def settings(rows: Iterable[Row], column: str, size: int) -> list[Result]:
    """What every setting of a column reaches at one N."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if (row.method, row.N) == (column, size):
            found[row.parameters].append(row)
    listed = []
    for setting, mine in sorted(found.items()):
        mine.sort(key=lambda row: row.subset)
        scores = {name: np.array([float(getattr(row, name)) for row in mine]) for name in METRICS}
        listed.append(Result(json.loads(setting), scores))
    return listed


def choose(found: Iterable[Result], trial: Trial) -> Result | None:
    """The setting with the best mean accuracy over the subsets, as the paper chooses.

    With nothing to choose no label is looked at. None if rows are missing.
    """
    allowed = [one for one in found if one.setting.get("lam") not in trial.beside]
    expected = len(trial.settings()) * max(1, len(trial.grid.get("lam", ())))
    if len(allowed) != expected * max(1, len(trial.readings)):
        return None
    if len({len(one.scores["accuracy"]) for one in allowed}) != 1:
        return None
    return best_of(allowed)


def best_of(found: Iterable[Result]) -> Result:
    """The setting with the best mean accuracy over the subsets."""
    return max(found, key=lambda one: one.mean("accuracy"))


def results(table: Table, rows: Iterable[Row], n_classes: int) -> dict[str, dict[int, Result]]:
    """column -> N -> what it reaches, for all that has been run to the end."""
    by_column: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        by_column[row.method, row.N].append(row)
    found: dict[str, dict[int, Result]] = {trial.column: {} for trial in table.trials}
    for trial in table.trials:
        for size in table.sizes:
            mine = by_column[trial.column, size]
            result = choose(settings(mine, trial.column, size), trial)
            if result and len(result.scores["accuracy"]) == table.count(size, n_classes):
                found[trial.column][size] = result
    return found


def average(found: Mapping[int, Result], metric: str) -> float:
    """The mean over N of the means over subsets."""
    return float(np.mean([result.mean(metric) for result in found.values()]))


def difference(
    one: Mapping[int, Result], two: Mapping[int, Result], metric: str
) -> tuple[float, float, int] | None:
    """Mean of one minus two over all subsets, half of its 95 % interval, how many; paired."""
    common = sorted(one.keys() & two.keys())
    if not common:
        return None
    gaps = np.concatenate([one[size].scores[metric] - two[size].scores[metric] for size in common])
    if len(gaps) < 2:
        return float(gaps.mean()), math.nan, len(gaps)
    half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return float(gaps.mean()), float(half), len(gaps)


def by_lam(rows: Sequence[Row], size: int, radius: float) -> list[tuple[float, float, Result]]:
    """λ, λ/λ* (a median over subsets) and what is reached, at one radius of KLS-NMF."""
    stars = [
        100 * float(row.lam)
        for row in rows
        if (row.method, row.N) == (OURS, size)
        and json.loads(row.parameters) == {"lam": "auto", "radius": radius}
    ]
    star = float(np.median(stars)) if stars else math.nan
    lams = {
        one.setting["lam"]: one
        for one in settings(rows, OURS, size)
        if one.setting["radius"] == radius and one.setting["lam"] in S
    }
    return [(lam, lam / star if star else math.nan, lams[lam]) for lam in sorted(lams)]


def by_radius(rows: Sequence[Row], size: int) -> list[tuple[float, Result]]:
    """Radius and what is reached at the λ that is best there, by accuracy."""
    found: dict[float, list[Result]] = defaultdict(list)
    for one in settings(rows, OURS, size):
        if one.setting["lam"] in S:
            found[one.setting["radius"]].append(one)
    return [(radius, best_of(found[radius])) for radius in sorted(found)]
