"""Rows of measurements in CSV files, one for each case, and what is derived from them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from klsnmf.core.tables import as_csv
from klsnmf.core.writing import write_whole

Row = dict[str, str]

#: What tells rows apart, and what was measured. Seconds are those of one fit, or of one iteration
#: of one fit; gigabytes are those that have to be moved in this time, at least.
KEYS = ["case", "data", "what", "n", "fits", "threads"]
MEASURED = [
    "p",
    "k",
    "seconds",
    "graph_seconds",
    "iterations",
    "gigabytes",
    "peak_megabytes",
    "accuracy",
    "nmi",
    "version",
]


def key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in KEYS)


def read_file(file: Path) -> list[Row]:
    """The rows of a file; none if it is not there."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def read(folder: Path, case: str) -> list[Row]:
    return read_file(folder / f"{case}.csv")


def add(folder: Path, case: str, made: Iterable[Row]) -> None:
    """Store rows; those of the same keys are replaced. The file is never half written."""
    rows = {key(row): row for row in [*read(folder, case), *made]}
    names = [*KEYS, *MEASURED]
    text = as_csv(names, [[row.get(name, "") for name in names] for row in rows.values()])
    write_whole(folder / f"{case}.csv", text.encode())


def number(row: Row | None, name: str) -> float:
    """A measured number; nan where it was not measured."""
    return float(row[name]) if row and row.get(name) else float("nan")


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows with these values, by growing n."""
    found = [row for row in rows if all(row[name] == str(wanted[name]) for name in wanted)]
    return sorted(found, key=lambda row: int(row["n"]))


def first(rows: Iterable[Row], **wanted: object) -> Row | None:
    return next(iter(select(rows, **wanted)), None)


def with_best_threads(rows: Iterable[Row]) -> list[Row]:
    """Of rows that differ in the number of threads the fastest."""
    fastest: dict[tuple[str, ...], Row] = {}
    for row in rows:
        same = tuple(row[name] for name in KEYS if name != "threads")
        if same not in fastest or number(row, "seconds") < number(fastest[same], "seconds"):
            fastest[same] = row
    return list(fastest.values())


def values(rows: Iterable[Row], name: str) -> list[str]:
    """The different values of a column, numbers by size and words as they come."""
    found = list(dict.fromkeys(row[name] for row in rows))
    return sorted(found, key=int) if all(value.isdigit() for value in found) else found


def exponent(sizes: Sequence[float], seconds: Sequence[float], least: float = 0) -> float:
    """b of the best fit of a·nᵇ in a log-log plot, n ≥ least; nan with fewer than two sizes."""
    pairs = [
        (np.log(n), np.log(s))
        for n, s in zip(sizes, seconds, strict=True)
        if n >= least and s > 0  # nan is not
    ]
    if len({n for n, _ in pairs}) < 2:
        return float("nan")
    return float(np.polyfit(*zip(*pairs, strict=True), 1)[0])
