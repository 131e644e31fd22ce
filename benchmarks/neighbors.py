"""The nearest others of every sample, by the searches of the package and by others.

    python -m benchmarks.neighbors [--max-n 100000]

Samples are those of the paper's sets that are there, of clusters that touch and of curves, in
single precision. Each tool finds ten others of every sample; faiss and pynndescent are asked where
they are installed. faiss IVF looks into as few cells, in powers of 2, as reach the share that the
package's own search in cells aims for. Seconds are of one thread's work, the best of three up to
20,000 samples: building an index is part of them, and compiling is not, but has rows of its own.
Recall is measured on a thousand samples, against distances in double precision:
``docs/results/neighbors.csv``. Rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from klsnmf import datasets
from klsnmf.datasets.store import DatasetNotFoundError
from klsnmf.kernels.neighbors import neighbor_indices

from .rows import read_file
from .scale import clusters, curves
from .speed import SETS

ROWS = Path("docs/results/neighbors.csv")
COLUMNS = ["data", "n", "p", "tool", "seconds", "recall"]
SIZES = (10_000, 30_000, 100_000)

#: How many neighbours, and for how many samples they are compared with the true ones.
M = 10
ASKED = 1000

#: Up to so many samples a search is made so often, and the fastest counts.
FEW = 20_000
REPEATS = 3

#: From so many samples on there are approximate searches; and what faiss IVF must find at least.
MANY = 10_000
SHARE = 0.97

#: Distances that differ by less, in single precision, are the same.
ROUNDING = 1e-5

#: What a new process takes before the first search of pynndescent begins.
COMPILED = """
import sys, time
import numpy as np
from benchmarks.neighbors import by_descent
X = np.random.default_rng(0).normal(size=(2000, 10)).astype(np.float32)
took = []
for _ in range(2):
    start = time.process_time()
    by_descent(X, 10)
    took.append(time.process_time() - start)
print(took[0] - took[1])
"""

Find = Callable[[Any, int], Any]  # (n, p), m -> (n, m)


def samples(most: int) -> Iterator[tuple[str, Any]]:
    """Name and samples, in single precision."""
    for name in SETS:
        try:
            yield name, datasets.load(name).data.astype(np.float32)
        except DatasetNotFoundError:
            continue
    for n in SIZES:
        if n <= most:
            yield "clusters", clusters(n)[0].astype(np.float32)
            yield "curves", curves(n)[0].astype(np.float32)


def in_cells(X: Any, m: int) -> Any:
    return neighbor_indices(X, m, approximate=True)


def by_scikit_learn(X: Any, m: int) -> Any:
    return NearestNeighbors(n_neighbors=m).fit(X).kneighbors(return_distance=False)


def by_all_of_faiss(X: Any, m: int) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return without_itself(index.search(X, m + 1)[1])


def by_cells_of_faiss(X: Any, m: int, cells: int = 1) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], int(len(X) ** 0.5))
    index.train(X)
    index.add(X)
    index.nprobe = cells
    return without_itself(index.search(X, m + 1)[1])


def by_descent(X: Any, m: int) -> Any:
    import numba
    from pynndescent import NNDescent

    numba.set_num_threads(1)
    return without_itself(NNDescent(X, n_neighbors=m + 1, random_state=0).neighbor_graph[0])


def without_itself(found: Any) -> Any:  # (n, m + 1) -> (n, m)
    """Without the sample itself, or without the last where it is not found."""
    itself = found == np.arange(len(found))[:, None]
    itself[:, -1] |= ~itself.any(axis=1)
    return found[~itself].reshape(len(found), -1)


def tools(X: Any, true: Callable[[Any], float]) -> dict[str, Find]:
    """Those that are there; ``true`` is the recall of what was found."""
    found: dict[str, Find] = {
        "klsnmf, exact": neighbor_indices,
        "scikit-learn": by_scikit_learn,
    }
    if find_spec("faiss"):
        found["faiss, exact"] = by_all_of_faiss
    if len(X) < MANY:
        return found
    found["klsnmf, in cells"] = in_cells
    if find_spec("faiss"):
        counts = (2**power for power in range(11))
        enough = next(c for c in counts if true(by_cells_of_faiss(X, M, c)) >= SHARE)
        found[f"faiss IVF, {enough} cells"] = lambda X, m: by_cells_of_faiss(X, m, enough)
    if find_spec("pynndescent"):
        by_descent(X[:MANY], M)  # it compiles on first use
        found["pynndescent"] = by_descent
    return found


def recall_of(X: Any) -> Callable[[Any], float]:
    """How much of the true neighbours of some samples is among those that were found."""
    rng, n = np.random.default_rng(0), len(X)
    asked = rng.choice(n, min(n, ASKED), replace=False)
    exact = X.astype(np.float64)
    distances = pairwise_distances(exact[asked], exact)
    distances[np.arange(len(asked)), asked] = np.inf
    reach = np.partition(distances, M - 1, axis=1)[:, M - 1]

    def recall(found: Any) -> float:
        near = np.take_along_axis(distances, found[asked], axis=1)
        return float((near <= reach[:, None] * (1 + ROUNDING)).mean())

    return recall


def measured(find: Find, X: Any) -> tuple[float, Any]:
    """Seconds of one thread's work, the best of several, and what was found."""
    best = np.inf
    for _ in range(REPEATS if len(X) <= FEW else 1):
        begun = time.process_time()
        found = find(X, M)
        best = min(best, time.process_time() - begun)
    return best, found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--max-n", type=int, default=100_000, help="no more samples")
    parser.add_argument("--rows", type=Path, default=ROWS)
    options = parser.parse_args()
    there = read_file(options.rows)
    made = {(row["data"], row["n"], row["tool"].split(",")[0]) for row in there}
    if not there:
        options.rows.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with options.rows.open("a", newline="", encoding="utf-8") as stream, threadpool_limits(1):
        writer = csv.writer(stream, lineterminator="\n")

        def add(*row: Any) -> None:
            writer.writerow(row)
            stream.flush()
            print(*row, flush=True)

        for name, X in samples(options.max_n):
            n, p = X.shape
            if (name, str(n), "klsnmf") in made:
                continue
            recall = recall_of(X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for tool, find in tools(X, recall).items():
                    seconds, found = measured(find, X)
                    add(name, n, p, tool, f"{seconds:.3f}", f"{recall(found):.3f}")
        if find_spec("pynndescent") and ("any", "0", "pynndescent") not in made:
            call = [sys.executable, "-c", COMPILED]
            told = subprocess.run(call, check=True, capture_output=True, text=True).stdout
            add("any", 0, 0, "pynndescent, compiling", f"{float(told):.1f}", "")


if __name__ == "__main__":
    main()
