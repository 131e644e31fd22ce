"""What an iteration costs, by n, k and p: the paper says O(n²p + n²k)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.types import Array
from ..core.version import __version__
from ..methods import METHODS
from .protocol import fingerprint
from .published import Claim
from .rows import read_rows, write_rows

#: One of n, k and p grows; the other two do not change.
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
    version: str
    protocol: str


def measure(report: Callable[[str], None] | None = None) -> list[Cost]:
    """Best of several: fits of random data with the rules as printed."""
    found = []
    for grows, sizes in GROWTH.items():
        for n, k, p in sizes:
            X = np.random.default_rng(0).random((n, p), dtype=np.float32)
            start = (np.full((n, k), 1 / n, np.float32), np.ones((n, k), np.float32))
            few, many = (_best(X, k, start, count) for count in (1, 1 + _ITERATIONS))
            # A difference of measurements may be zero, which has no logarithm.
            iteration = max((many - few) / _ITERATIONS, _LEAST)
            times = round(iteration, 6), round(max(few - iteration, _LEAST), 6)
            found.append(Cost(grows, n, k, p, *times, __version__, protocol()))
            if report is not None:
                report(f"n = {n}, k = {k}, p = {p}: {1000 * iteration:.1f} ms an iteration")
    return found


def _best(X: Any, k: int, start: Any, iterations: int) -> float:
    # As wide as the samples are apart: far from all of them, small numbers take longer.
    options = {"kernel": "rbf", "radius": float(np.sqrt(X.shape[1])), "lam": 0.001, "init": start}
    options |= {"solver": "paper", "row_norm": None, "max_iter": iterations, "tol": 0}
    best = np.inf
    for _ in range(_REPEATS):
        model = METHODS["kls-nmf"](k, **options)
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
    if not read(folder):
        write_rows(folder / "rows" / "cost.csv", Cost, measure(report))


def read(folder: Path) -> list[Cost]:
    """The measurements, if they exist; those of another version are refused."""
    return read_rows(folder / "rows" / "cost.csv", Cost, protocol())


def claim(costs: Sequence[Cost]) -> Claim:
    """Exponents of time, one of n, k and p growing."""
    lines, told = [], []
    for grows in dict.fromkeys(cost.grows for cost in costs):
        mine = [cost for cost in costs if cost.grows == grows]
        sizes = [getattr(cost, grows) for cost in mine]
        cells: list[str] = []
        for times in ([c.iteration for c in mine], [c.before for c in mine]):
            cells.append(", ".join(f"{1000 * seconds:.1f}" for seconds in times))
            cells.append(f"{exponent(sizes, times):.2f}")
        told.append(f"{grows} to the power {cells[1]}")
        lines.append([grows, f"{sizes[0]}, {sizes[-1]}", *cells])
    return Claim(
        "Claim: an iteration costs O(n²p + n²k)",
        f"Here the time of an iteration grows with {', '.join(told)}. For n²k these would be 2, 1 "
        "and 0. The kernel matrix is computed once, before the first iteration, so n²p is paid "
        "once and not in each iteration. Exponents are slopes of lines through the logarithms. "
        "Small matrices do not use the whole processor, which makes the exponents smaller.",
        ["what grows", "from, to", "an iteration, ms", "exponent", "before, ms", "exponent"],
        lines,
    )
