"""What an iteration costs, by n, k and p: the paper says O(n²p + n²k)."""

from __future__ import annotations

import csv
import io
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import KLSNMF, __version__
from ..core.types import Array
from ..core.writing import write_whole
from .protocol import fingerprint
from .rows import refusing, require_own

#: One of n, k and p grows, the other two stay.
GROWTH = {
    "n": [(n, 10, 50) for n in (500, 1000, 2000, 4000)],
    "k": [(2000, k, 50) for k in (10, 20, 40, 80)],
    "p": [(2000, 10, p) for p in (50, 200, 800, 3200)],
}
_ITERATIONS = 20
_REPEATS = 3
_LEAST = 1e-6


@dataclass(frozen=True)
class Cost:
    """Seconds of an iteration, and of all that comes before the first."""

    grows: str
    n: int
    k: int
    p: int
    iteration: float
    before: float


def measure(report: Callable[[str], None] | None = None) -> list[Cost]:
    """Best of several: fits of random data with the rules as printed."""
    found = []
    for grows, sizes in GROWTH.items():
        for n, k, p in sizes:
            X = np.random.default_rng(0).random((n, p), dtype=np.float32)
            start = (np.full((n, k), 1 / n, np.float32), np.ones((n, k), np.float32))
            few, many = (_best(X, k, start, count) for count in (1, 1 + _ITERATIONS))
            # A difference of measurements can come out at nothing, which has no logarithm.
            iteration = max(many - few, _LEAST) / _ITERATIONS
            found.append(Cost(grows, n, k, p, iteration, max(few - iteration, _LEAST)))
            if report is not None:
                report(f"n = {n}, k = {k}, p = {p}: {1000 * iteration:.1f} ms an iteration")
    return found


def _best(X: Any, k: int, start: Any, iterations: int) -> float:
    best = np.inf
    for _ in range(_REPEATS):
        model = KLSNMF(
            k,
            kernel="rbf",
            # As wide as the samples are apart: far from all of them, small numbers take longer.
            radius=float(np.sqrt(X.shape[1])),
            lam=0.001,
            solver="paper",
            row_norm=None,
            init=start,
            max_iter=iterations,
            tol=0,
        )
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        best = min(best, time.perf_counter() - begun)
    return best


def exponent(sizes: Sequence[float] | Array, seconds: Sequence[float] | Array) -> float:
    """The slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def protocol() -> str:
    return fingerprint(cost=GROWTH, iterations=_ITERATIONS, repeats=_REPEATS)


def write(folder: Path, report: Callable[[str], None] | None = None) -> None:
    """Measure, unless it is done."""
    if read(folder):
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["grows", "n", "k", "p", "iteration", "before", "version", "protocol"])
    for cost in measure(report):
        times = f"{cost.iteration:.6f}", f"{cost.before:.6f}"
        writer.writerow([cost.grows, cost.n, cost.k, cost.p, *times, __version__, protocol()])
    write_whole(_file(folder), text.getvalue().encode())


def read(folder: Path) -> list[Cost]:
    """What was measured, if it was; by another program it is refused."""
    path = _file(folder)
    if not path.exists():
        return []
    with refusing(path), path.open(newline="") as file:
        records = list(csv.DictReader(file))
        found = [
            Cost(
                record["grows"],
                *(int(record[name]) for name in ("n", "k", "p")),
                *(float(record[name]) for name in ("iteration", "before")),
            )
            for record in records
        ]
        marks = [(record["version"], record["protocol"]) for record in records]
    for mark in marks:
        require_own(path, mark, (__version__, protocol()))
    return found


def _file(folder: Path) -> Path:
    return folder / "rows" / "cost.csv"
