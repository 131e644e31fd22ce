"""How time and memory are measured: the fastest of several, and the peak of this process."""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from klsnmf.kernels import build
from klsnmf.solve.loop import solve


def best(function: Callable[[], Any], times: int = 3) -> float:
    """Seconds of the fastest of several calls."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def peak_megabytes() -> float:
    """The most memory that this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # ru_maxrss would count what the process that started this one held.
        (line,) = re.findall(r"VmHWM:\s*(\d+) kB", status.read_text())
        return int(line) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


class Ticks(list[float]):
    """A callback that notes when each iteration ended."""

    def __call__(self, progress: Any) -> None:
        self.append(time.perf_counter())

    def fastest(self) -> float:
        return float(np.diff(self).min())


def iteration_seconds(
    models: Sequence[Any], starts: Sequence[Mapping[str, Any]], iterations: int
) -> float:
    """Seconds of the fastest iteration of all fits together."""
    ticks = Ticks()
    solutions = solve(models, starts, max_iter=iterations, tol=0, callback=ticks)
    # A fit that ends early leaves the batch, and what follows costs less.
    assert all(solution.n_iter == iterations for solution in solutions)
    return ticks.fastest()


@contextmanager
def timed_neighbors() -> Iterator[list[float]]:
    """The seconds that the search for neighbours takes inside a fit."""
    spent, search = [0.0], build.nearest

    def timed(*args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        found = search(*args, **options)
        spent[0] += time.perf_counter() - start
        return found

    build.nearest = timed
    try:
        yield spent
    finally:
        build.nearest = search
