"""Where the defaults do well and where not: shapes, sizes, tables of numbers, and time.

``python -m benchmarks.limits`` writes docs/results/limits.csv: accuracy in percent, mean over 10
seeds, and the seconds of the fastest fit, beside KMeans and SpectralClustering.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from klsnmf import KLSNMF
from klsnmf.metrics import accuracy

ROWS = Path("docs/results/limits.csv")
SEEDS = 10


def unequal(sizes: list[int], seed: int) -> Any:
    """Round clusters of these sizes around random centres."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = 4 * rng.normal(size=(len(sizes), 5))
    return centers[y] + rng.normal(size=(len(y), 5)), y


def table(name: str, standardised: bool) -> Callable[[int], Any]:
    def load(seed: int) -> Any:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return (StandardScaler().fit_transform(X) if standardised else X), y

    return load


CASES: dict[str, Callable[[int], Any]] = {
    "two rings, one inside the other": lambda s: datasets.make_circles(
        600, noise=0.05, factor=0.5, random_state=s
    ),
    "two moons": lambda s: datasets.make_moons(600, noise=0.06, random_state=s),
    "round, 100 + 100 + 100 samples": lambda s: unequal([100, 100, 100], s),
    "round, 200 + 50 + 20 samples": lambda s: unequal([200, 50, 20], s),
    "round, 200 + 20 + 20 samples": lambda s: unequal([200, 20, 20], s),
    "round, 300 + 20 + 20 samples": lambda s: unequal([300, 20, 20], s),
    "iris, raw": table("iris", standardised=False),
    "iris, standardised": table("iris", standardised=True),
    "wine, raw": table("wine", standardised=False),
    "wine, standardised": table("wine", standardised=True),
    "breast cancer, raw": table("breast_cancer", standardised=False),
    "breast cancer, standardised": table("breast_cancer", standardised=True),
    "digits": table("digits", standardised=False),
}

METHODS: dict[str, Callable[[int, int], Any]] = {
    "KLSNMF": lambda k, seed: KLSNMF(k, random_state=seed),
    "KMeans": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "SpectralClustering": lambda k, seed: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=seed
    ),
}


def measure(case: Callable[[int], Any], method: Callable[[int, int], Any]) -> tuple[str, str]:
    """Mean accuracy ± deviation, and the least seconds."""
    scores, seconds = [], []
    for seed in range(SEEDS):
        X, y = case(seed)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # a graph in pieces: it is meant to be
            labels = method(len(np.unique(y)), seed).fit_predict(X)
        seconds.append(time.perf_counter() - start)
        scores.append(100 * accuracy(y, labels))
    return f"{np.mean(scores):.1f} ± {np.std(scores):.1f}", f"{min(seconds):.2f}"


def main() -> None:
    with ROWS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", *[f"{name}{what}" for name in METHODS for what in ("", ", s")]])
        for name, case in CASES.items():
            row = [name, *[cell for method in METHODS.values() for cell in measure(case, method)]]
            writer.writerow(row)
            file.flush()
            print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
