"""The numbers of the paper's five tables.

``published.csv`` has the mean and the deviation over subsets of each score as they are printed in
Peng, Chen, Kang and Cheng, 2019; the averages over N are not there: several are misprinted, and
all are recomputed here.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from functools import cache
from importlib.resources import files

import numpy as np

TITLES = {"accuracy": "Accuracy", "nmi": "NMI", "purity": "Purity"}
METRICS = tuple(TITLES)


@cache
def published_deviations() -> dict[tuple[str, int, str], dict[str, float]]:
    """(set, N, column) -> score -> deviation over subsets; without those that are not printed."""
    return {
        key: {name: float(row[f"{name}_std"]) for name in METRICS if row[f"{name}_std"]}
        for key, row in _records()
    }


@cache
def published() -> dict[tuple[str, int, str], dict[str, float]]:
    """(set, N, column) -> score -> mean, percent."""
    return {key: {name: float(row[name]) for name in METRICS} for key, row in _records()}


def _records() -> list[tuple[tuple[str, int, str], dict[str, str]]]:
    text = (files(__package__) / "published.csv").read_text()
    return [
        ((row["set"], int(row["N"]), row["method"]), row)
        for row in csv.DictReader(text.splitlines())
    ]


def published_sizes(table: str) -> set[int]:
    """The N of a table of the paper; none for what is not in the paper."""
    return {size for name, size, _ in published() if name == table}


def published_average(
    table: str, column: str, metric: str, sizes: Collection[int] | None = None
) -> float | None:
    """The average over all N, or these, recomputed; None for what the paper does not have."""
    found = [
        scores[metric]
        for (name, size, method), scores in published().items()
        if (name, method) == (table, column) and (sizes is None or size in sizes)
    ]
    return float(np.mean(found)) if found else None
