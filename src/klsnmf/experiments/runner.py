"""The runner: cells that have no rows yet, on all cores, with progress and time left."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from threadpoolctl import threadpool_limits

from .protocol import Cell, Table, cells
from .rows import Row, Store
from .subsets import identity, samples
from .work import run_cell

#: How many cells wait in the pool for each process; a run that ends loses at most these.
_AHEAD = 2

#: Rough cost of a cell: n² N and something more that small sets take too, times this. Only for
#: the time left.
_COST = {"KLS-NMF": 3.0, "RMNMF": 4.0, "GLS-NMF": 3.0, "CNMF": 3.0}
_BASE = 1e7


@dataclass(frozen=True)
class Progress:
    """The progress of a run: cells done, all cells, and the share of the work by cost."""

    done: int
    total: int
    share: float


def store_of(table: Table, folder: Path, data_home: str | None) -> Store:
    """The rows of a table in a folder of results."""
    data_hash, _ = identity(table.dataset, data_home)
    return Store(folder / "rows", table.name, table.fingerprints(data_hash))


def run(
    table: Table,
    folder: Path,
    *,
    data_home: str | None = None,
    processes: int | None = None,
    sizes: Iterable[int] | None = None,
    columns: Iterable[str] | None = None,
    report: Callable[[Progress], None] | None = None,
) -> None:
    """Make the rows of a table that are missing, each written as soon as its cell is done.

    Parameters
    ----------
    folder : where the results are; rows go to its subfolder ``rows``
    processes : how many at once, with a thread each; None is as many as there are cores
    sizes, columns : only these N, only these columns
    report : called after every cell
    """
    data = samples(table.dataset, data_home)
    store = store_of(table, folder, data_home)
    asked = [
        cell
        for cell in cells(table, data.n_classes)
        if (sizes is None or cell.size in set(sizes))
        and (columns is None or cell.column in set(columns))
    ]
    todo = store.missing(asked)
    left = Counter(cell.size for cell in todo)
    class_size = len(data.y) / data.n_classes
    costs = {
        cell: _COST.get(cell.column, 1.0) * (_BASE + (class_size * cell.size) ** 2 * cell.size)
        for cell in todo
    }
    done, spent = len(asked) - len(todo), 0.0
    try:
        for cell, rows in _finished(table, todo, data_home, processes or os.cpu_count() or 1):
            store.write(cell, rows)
            left[cell.size] -= 1
            if left[cell.size] == 0:
                store.pack()
            done, spent = done + 1, spent + costs[cell]
            if report is not None:
                report(Progress(done, len(asked), spent / sum(costs.values())))
    finally:
        store.pack()


def _finished(
    table: Table, todo: Sequence[Cell], data_home: str | None, processes: int
) -> Iterator[tuple[Cell, list[Row]]]:
    """The cells with their rows, as they come."""
    if not todo:
        return
    waiting = iter(todo)
    with _pool(min(processes, len(todo))) as pool:
        running: dict[Future[list[Row]], Cell] = {}
        while True:
            while len(running) < _AHEAD * processes and (cell := next(waiting, None)):
                running[pool.submit(run_cell, table, cell, data_home)] = cell
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    # New interpreters, not copies of this one: threads of BLAS do not survive a copy.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, _set_up, (os.getpid(),))
    try:
        yield pool
    finally:
        # Work that has begun is given up: its rows would come too late.
        for worker in dict(getattr(pool, "_processes", None) or {}).values():
            worker.terminate()
        pool.shutdown(cancel_futures=True)


def _set_up(parent: int) -> None:
    """Each process uses one thread, ignores Ctrl-C, and ends with its parent."""
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
