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
from .published import METRICS
from .rows import Row

#: setting -> score -> subset -> value, percent
Settings = dict[str, dict[str, dict[int, float]]]


@dataclass(frozen=True)
class Result:
    """What a column reaches at one N.

    Attributes
    ----------
    setting : the parameters that count
    scores : score -> values, one for each subset, percent
    """

    setting: Mapping[str, Any]
    scores: Mapping[str, Array]

    def mean(self, metric: str) -> float:
        return float(self.scores[metric].mean())

    def deviation(self, metric: str) -> float:
        """Standard deviation over the subsets; nan for the whole set, which is one."""
        values = self.scores[metric]
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def settings(rows: Iterable[Row], column: str, size: int) -> Settings:
    """The scores of every setting of a column at one N."""
    found: Settings = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if (row.method, row.N) == (column, size):
            for metric in METRICS:
                found[row.parameters][metric][row.subset] = float(getattr(row, metric))
    return found


def choose(found: Settings, trial: Trial) -> Result | None:
    """The setting with the best mean accuracy over the subsets, as the paper chooses.

    With nothing to choose no label is looked at. None if rows are missing.
    """
    beside = {json.dumps(lam) for lam in trial.beside}
    allowed = {
        setting: scores
        for setting, scores in found.items()
        if json.dumps(json.loads(setting).get("lam")) not in beside
    }
    expected = len(trial.settings()) * max(1, len(trial.grid.get("lam", ())))
    if len(allowed) != expected * max(1, len(trial.readings)):
        return None
    if len({len(scores["accuracy"]) for scores in allowed.values()}) != 1:
        return None
    return best_of(allowed)


def best_of(found: Mapping[str, Mapping[str, Mapping[int, float]]]) -> Result:
    """The setting with the best mean accuracy over the subsets."""
    best = max(
        sorted(found), key=lambda setting: np.mean(list(found[setting]["accuracy"].values()))
    )
    return Result(
        json.loads(best),
        {
            metric: np.array([values[subset] for subset in sorted(values)])
            for metric, values in found[best].items()
        },
    )


def results(table: Table, rows: Iterable[Row], n_classes: int) -> dict[str, dict[int, Result]]:
    """column -> N -> what it reaches, for all that has been run to the end."""
    by_column: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        by_column[row.method, row.N].append(row)
    found: dict[str, dict[int, Result]] = {}
    for trial in table.trials:
        found[trial.column] = {}
        for size in table.sizes:
            mine = by_column[trial.column, size]
            result = choose(settings(mine, trial.column, size), trial)
            subsets = 1 if size == n_classes else table.subsets
            if result is not None and len(result.scores["accuracy"]) == subsets:
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
        return float(gaps.mean()), float("nan"), len(gaps)
    half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return float(gaps.mean()), float(half), len(gaps)


def by_lam(rows: Sequence[Row], size: int, radius: float) -> list[tuple[float, float, Any]]:
    """λ, λ/λ* (a median over subsets) and the mean scores, at one radius of KLS-NMF."""
    stars = [
        100 * float(row.lam)
        for row in rows
        if (row.method, row.N) == ("KLS-NMF", size)
        and json.loads(row.parameters) == {"lam": "auto", "radius": radius}
    ]
    found = []
    for text, scores in settings(rows, "KLS-NMF", size).items():
        setting = json.loads(text)
        if setting["radius"] == radius and setting["lam"] in S:
            star = float(np.median(stars)) if stars else math.nan
            means = {metric: np.mean(list(scores[metric].values())) for metric in METRICS}
            found.append((setting["lam"], setting["lam"] / star if star else math.nan, means))
    return sorted(found, key=lambda one: one[0])


def by_radius(rows: Sequence[Row], size: int) -> list[tuple[float, dict[str, float]]]:
    """Radius and the mean scores at the λ that is best there, by accuracy."""
    best: dict[float, dict[str, float]] = {}
    for text, scores in settings(rows, "KLS-NMF", size).items():
        setting = json.loads(text)
        if setting["lam"] not in S:
            continue
        means = {metric: float(np.mean(list(scores[metric].values()))) for metric in METRICS}
        before = best.get(setting["radius"])
        if before is None or means["accuracy"] > before["accuracy"]:
            best[setting["radius"]] = means
    return sorted(best.items())
