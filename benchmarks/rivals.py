"""KLSNMF beside the tools that people use, on every set there is.

    python -m benchmarks.rivals run                     every row that is missing
    python -m benchmarks.rivals run --groups shapes --tools Genie Leiden
    python -m benchmarks.rivals times                   seconds with one thread and with two
    python -m benchmarks.rivals tables                  docs/results/rivals.md from the rows

Rows are added to docs/results/rivals.csv as they are made, one for a set, a tool, a scaling of the
rows, and a seed; rows that are there are not made again, so a run can be stopped and started.
The tools of other projects are in the extra ``rivals``: ``pip install "klsnmf[rivals]"``.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from klsnmf import __version__
from klsnmf.core.words import wrapped
from klsnmf.metrics import accuracy, nmi

from . import machine, rival_sets, rival_tables
from .page import THREAD_LIMITS
from .rival_sets import GROUPS, MOST
from .rival_tools import TOOLS, require, warm_up
from .rows import read_file

ROWS = Path("docs/results/rivals.csv")
TIMES = Path("docs/results/rivals_times.csv")
PAGE = Path("docs/results/rivals.md")
COLUMNS = [
    "set",
    "group",
    "tool",
    "scaling",
    "seed",
    "n",
    "k",
    "accuracy",
    "nmi",
    "ari",
    "seconds",
    "threads",
    "n_found",
    "version",
]
TIME_COLUMNS = ["set", "group", "tool", "n", "p", "k", "seconds", "threads", "version"]

#: A step of a tool is timed three times, or until this many seconds are spent.
REPEATS, ENOUGH = 3, 3.0


class Cell(NamedTuple):
    """What a row is made of."""

    group: str
    set: str
    scaling: str
    seed: int
    tool: str

    def key(self) -> tuple[str, ...]:
        return self.set, self.tool, self.scaling, str(self.seed)


class Asked(NamedTuple):
    """Which rows are wanted, and where the sets from elsewhere are."""

    groups: list[str]
    tools: list[str]
    seeds: int
    most: int
    folder: Path


def wanted(asked: Asked) -> Iterator[Cell]:
    """All sets with one seed before the next seed."""
    scalings = {
        (group, name): rival_sets.scalings(group, rival_sets.load(group, name, asked.folder).X)
        for group in asked.groups
        for name in rival_sets.names(group, asked.folder, asked.most)
    }
    for seed in range(asked.seeds):
        tools = [tool for tool in asked.tools if seed == 0 or TOOLS[tool].seeded]
        for (group, name), choices in scalings.items():
            for scaling in choices:
                for tool in tools:
                    if scaling == "raw" or TOOLS[tool].both_scalings:
                        yield Cell(group, name, scaling, seed, tool)


def missing(file: Path, asked: Asked) -> list[Cell]:
    names = ("set", "tool", "scaling", "seed")
    done = {tuple(row[name] for name in names) for row in read_file(file)}
    return [cell for cell in wanted(asked) if cell.key() not in done]


@lru_cache(maxsize=1)
def prepared(group: str, name: str, scaling: str, seed: int, step: Any, folder: Path) -> Any:
    """What the first step of a tool makes, and its seconds; kept for the tool that comes next."""
    X = rival_sets.scaled(rival_sets.load(group, name, folder).X, scaling)
    start = time.perf_counter()
    made = step(X, seed)
    return made, time.perf_counter() - start


@cache
def warm(tool: str) -> None:
    """Once in a process."""
    warm_up(tool)


def row_of(cell: Cell, folder: Path) -> list[Any]:
    """One set, one tool: fitted once for each number of clusters that is right, and scored.

    Where several answers are right, the one that matches best is told; seconds are those of a fit.
    """
    tool = TOOLS[cell.tool]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm(cell.tool)
        X, answers = rival_sets.load(cell.group, cell.set, folder)
        counts = sorted({count_classes(y) for y in answers})
        made, before = prepared(*cell[:4], tool.prepare, folder)
        found, start = {}, time.perf_counter()
        for k in counts if tool.needs_k else counts[:1]:
            found[k] = tool.cluster(made, k, cell.seed)
        seconds = before + (time.perf_counter() - start) / len(found)
    matches = [
        (*scores(y, labels), count_classes(y), count_classes(labels))
        for k, labels in found.items()
        for y in answers
        if count_classes(y) == k or not tool.needs_k
    ]
    ari, right, shared, k, n_found = max(matches)
    told = [f"{100 * right:.2f}", f"{100 * shared:.2f}", f"{ari:.4f}", f"{seconds:.3f}"]
    key = [cell.set, cell.group, cell.tool, cell.scaling, cell.seed]
    return [*key, len(X), k, *told, threads(), n_found, __version__]


def count_classes(labels: Any) -> int:
    """How many there are, noise not counted."""
    return len(np.unique(labels[labels >= 0]))


def scores(y: Any, labels: Any) -> tuple[float, float, float]:
    """Adjusted Rand, accuracy and NMI of the samples that are not noise.

    What a tool calls noise is one more cluster.
    """
    y, labels = y[y >= 0], labels[y >= 0]
    return adjusted_rand_score(y, labels), accuracy(y, labels), nmi(y, labels)


def threads() -> int:
    return min(int(os.environ.get(THREAD_LIMITS[0], 0)) or machine.cores(), machine.cores())


def run(file: Path, asked: Asked, jobs: int) -> None:
    """Make the rows that are missing, and write each at once."""
    cells = missing(file, asked)
    for number, row in enumerate(made_rows(cells, asked.folder, jobs), 1):
        append(file, COLUMNS, row)
        told = dict(zip(COLUMNS, map(str, row), strict=True))
        print(
            f"{number} of {len(cells)}: {told['set']}, {told['tool']}, {told['scaling']}, seed "
            f"{told['seed']}: {told['accuracy']} {told['nmi']} {told['ari']}, "
            f"{told['seconds']} s",
            flush=True,
        )


def append(file: Path, columns: list[str], row: list[Any]) -> None:
    new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([columns, row] if new else [row])


def made_rows(cells: list[Cell], folder: Path, jobs: int) -> Iterator[list[Any]]:
    """The rows of the cells, as they come."""
    if jobs == 1:
        yield from (row_of(cell, folder) for cell in cells)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), one_thread) as pool:
        for future in as_completed([pool.submit(row_of, cell, folder) for cell in cells]):
            yield future.result()


def one_thread() -> None:
    """For a process among others."""
    os.environ |= dict.fromkeys(THREAD_LIMITS, "1")
    threadpool_limits(1)


def times(asked: Asked) -> None:
    """Measure with one thread and with all, in a process for each."""
    for count in sorted({1, machine.cores()}):
        command = [sys.executable, "-m", "benchmarks.rivals", "times", "--threads", str(count)]
        command += ["--elsewhere", str(asked.folder), "--max-n", str(asked.most)]
        command += ["--groups", *asked.groups, "--tools", *asked.tools]
        environment = os.environ | dict.fromkeys(THREAD_LIMITS, str(count))
        subprocess.run(command, env=environment, check=True)


def times_here(file: Path, asked: Asked, count: int) -> None:
    """Time every tool on one set after the other, with the threads that this process has.

    Nothing is seeded: with a seed UMAP would use one thread whatever it has.
    """
    done = {(row["set"], row["tool"], row["threads"]) for row in read_file(file)}
    for group in asked.groups:
        for name in rival_sets.names(group, asked.folder, asked.most):
            for tool in asked.tools:
                if (name, tool, str(count)) not in done:
                    seconds, shape, k = timed(group, name, tool, asked.folder)
                    row = [name, group, tool, *shape, k, f"{seconds:.4g}", count, __version__]
                    append(file, TIME_COLUMNS, row)
                    print(f"{name}, {tool}, {count} threads: {seconds:.3f} s", flush=True)


def timed(group: str, name: str, tool: str, folder: Path) -> tuple[float, tuple[int, int], int]:
    """The fastest seconds of a tool on raw rows, the shape of the set, and k."""
    warm(tool)
    X, answers = rival_sets.load(group, name, folder)
    k = count_classes(answers[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, first = timed_step(group, name, TOOLS[tool].prepare, folder)
        _, second = fastest(partial(TOOLS[tool].cluster, made, k, None))
    return first + second, X.shape, k


@lru_cache(maxsize=1)
def timed_step(group: str, name: str, step: Any, folder: Path) -> tuple[Any, float]:
    """What the first step of a tool makes, and its seconds; kept for the tool that comes next."""
    X = rival_sets.load(group, name, folder).X
    return fastest(partial(step, X, None))


def fastest(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and the seconds of the fastest of its calls."""
    found: list[float] = []
    while len(found) < REPEATS and sum(found) < ENOUGH:
        start = time.perf_counter()
        made = function()
        found.append(time.perf_counter() - start)
    return made, min(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "times", "tables"])
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time, a thread each")
    parser.add_argument("--max-n", type=int, default=MOST, help="no shapes with more samples")
    parser.add_argument(
        "--elsewhere", type=Path, default=Path("build/elsewhere"), help="where fetch stored them"
    )
    parser.add_argument("--threads", type=int, help="for times: those that this process has")
    options = parser.parse_args()
    asked = Asked(options.groups, options.tools, options.seeds, options.max_n, options.elsewhere)
    if options.what == "run":
        require(options.tools)
        run(ROWS, asked, options.jobs)
    elif options.what == "tables":
        page = rival_tables.page(read_file(ROWS), read_file(TIMES))
        PAGE.write_text(wrapped(page), encoding="utf-8")
    elif options.threads:
        times_here(TIMES, asked, options.threads)
    else:
        require(options.tools)
        times(asked)


if __name__ == "__main__":
    main()
