"""Leading eigenvectors of neighbour graphs, by the solver of the package and by others.

    python -m benchmarks.eigen [--max-n 1000000]

Graphs are those of a default fit: of the paper's sets that are there, of clusters that touch and of
curves. Each solver is asked for as many eigenvectors as a fit is given, and judged by the 2k that
decide: seconds of one thread's work, and the largest residual of them, ``docs/results/eigen.csv``.
ARPACK and LOBPCG are scipy's, with a tolerance of 1e-3; "randomized" is a subspace iteration of
ten rounds. The slowest case is part of the table. Rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh, lobpcg
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, datasets
from klsnmf.datasets.store import DatasetNotFoundError
from klsnmf.grams.spectral import how_many_vectors, spectrum_of

from .rows import read_file
from .scale import clusters, curves
from .speed import SETS

ROWS = Path("docs/results/eigen.csv")
SIZES = (3000, 10_000, 30_000, 100_000, 1_000_000)
ROUNDS = 10
TOLERANCE = 1e-3
COLUMNS = ["data", "n", "k", "vectors", "solver", "seconds", "residual"]


def graphs(most: int) -> Iterator[tuple[str, Any, int]]:
    """Name, the graph of a default fit, and the number of clusters."""
    for name in SETS:
        try:
            found = datasets.load(name)
        except DatasetNotFoundError:
            continue
        if len(found.data) <= most:
            yield name, *graph(found.data.astype(np.float32), len(np.unique(found.target)))
    for n in SIZES:
        if n <= most:
            yield "clusters", *graph(clusters(n)[0], 20)
            yield "curves", *graph(curves(n)[0].astype(np.float32), 6)


def graph(X: Any, k: int) -> tuple[Any, int]:
    made = KLSNMF(k)._setup().kernel.graphs(X, k)
    assert made is not None
    return made.graph(made.numbers.usual).K, k


def randomized(S: Any, start: Any, m: int) -> Any:
    Q = start
    for _ in range(ROUNDS):
        Q = linalg.qr(S @ Q, mode="economic")[0]
    return Q @ linalg.eigh(Q.T @ (S @ Q))[1][:, ::-1][:, :m]


def solvers(K: Any, k: int, m: int) -> dict[str, Callable[[], Any]]:
    S = K.normalized()[0]
    start = np.random.RandomState(0).normal(size=(S.shape[0], m)).astype(np.float32)
    return {
        "leading": lambda: spectrum_of(K, k).U,
        "ARPACK": lambda: eigsh(S, m, which="LA", tol=TOLERANCE, v0=start[:, 0])[1][:, ::-1],
        "LOBPCG": lambda: lobpcg(S, start, tol=TOLERANCE, maxiter=200)[1],
        "randomized": lambda: randomized(S, start, m),
    }


def residual(S: Any, U: Any, wanted: int) -> float:
    """The largest of the leading vectors, each with its best eigenvalue."""
    V = linalg.qr(U.astype(np.float64), mode="economic")[0]
    values, small = linalg.eigh(V.T @ (S @ V))
    V, values = V @ small[:, ::-1][:, :wanted], values[::-1][:wanted]
    return float(np.linalg.norm(S @ V - V * values, axis=0).max())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--max-n", type=int, default=30_000, help="no more samples")
    parser.add_argument("--rows", type=Path, default=ROWS)
    options = parser.parse_args()
    made = {(row["data"], row["n"], row["solver"]) for row in read_file(options.rows)}
    if not made:
        options.rows.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with options.rows.open("a", newline="", encoding="utf-8") as stream, threadpool_limits(1):
        writer = csv.writer(stream, lineterminator="\n")
        for name, K, k in graphs(options.max_n):
            n = K.shape[0]
            m = how_many_vectors(n, k)
            if m == n:  # a dense solver, as everywhere
                continue
            for solver, solve in solvers(K, k, m).items():
                if (name, str(n), solver) in made:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    begun = time.process_time()
                    U = solve()
                    took = time.process_time() - begun
                left = residual(K.normalized()[0], U, min(2 * k, m))
                row = [name, n, k, m, solver, f"{took:.3f}", f"{left:.2g}"]
                writer.writerow(row)
                stream.flush()
                print(*row, flush=True)


if __name__ == "__main__":
    main()
