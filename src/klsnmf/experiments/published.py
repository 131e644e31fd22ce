"""What the paper says: the numbers of its five tables, and claims in words.

``published.csv`` has the mean and the deviation over subsets of each score as they are printed in
Peng, Chen, Kang and Cheng, 2019; the averages over N are not there: several are misprinted, and
all are recomputed here.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

TITLES = {"accuracy": "Accuracy", "nmi": "NMI", "purity": "Purity"}
METRICS = tuple(TITLES)

#: The paper's method, and those that it is compared with, in the order of its tables.
OURS = "KLS-NMF"
RIVALS = ("WNMF", "RMNMF", "CNMF", "KNMF", "ONMF")


class Claim(NamedTuple):
    """What is claimed, what was found, and a table of it: its columns and its lines."""

    title: str
    found: str
    columns: Sequence[str]
    lines: Sequence[Sequence[object]]


@cache
def published() -> dict[tuple[str, int, str], dict[str, float]]:
    """(set, N, column) -> score -> mean, percent; "nmi_std" -> deviation of "nmi", if printed."""
    text = (files(__package__) / "published.csv").read_text()
    return {
        (row.pop("set"), int(row.pop("N")), row.pop("method")): {
            name: float(number) for name, number in row.items() if number
        }
        for row in csv.DictReader(text.splitlines())
    }


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
