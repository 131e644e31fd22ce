"""k-means from many seeds: side by side, and one after the other by scikit-learn.

Data sets other than scikit-learn's digits are read from the folder that the environment
variable KLSNMF_DATA names; those not there are left out.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from klsnmf import datasets
from klsnmf.core.kmeans import how_many_starts, kmeans, kmeans_side_by_side

THREADS = 1


def one_by_one(X: Any, k: int, seeds: list[int]) -> list[Any]:
    return [kmeans(X, k, seed).labels_ for seed in seeds]


def best_of(function: Any, repeats: int, *arguments: Any) -> tuple[float, list[Any]]:
    """Seconds of the fastest call, and what it returned."""
    seconds = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        found = function(*arguments)
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, found


def run(quick: bool) -> list[str]:
    lines = [
        f"As many seeds as a fit takes, {THREADS} thread, the fastest of several",
        "",
        "| data set | n × p | clusters | seeds | side by side | one by one | ratio | same labels |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in ["digits"] if quick else datasets.REGISTRY:
        try:
            data = datasets.load(name, download=False)
        except datasets.DatasetNotFoundError:
            continue
        X, k = data.data.astype(np.float64), len(np.unique(data.target))
        seeds = list(range(how_many_starts(len(X), k) // 2))
        with threadpool_limits(THREADS):
            mine, ours = best_of(kmeans_side_by_side, 1 if quick else 5, X, k, seeds)
            theirs, single = best_of(one_by_one, 1 if quick else 3, X, k, seeds)
        same = sum(np.array_equal(*pair) for pair in zip(ours, single, strict=True))
        shape = f"{X.shape[0]} × {X.shape[1]} | {k} | {len(seeds)}"
        times = f"{mine:.2f} s | {theirs:.2f} s | 1/{theirs / mine:.1f}"
        lines.append(f"| {name} | {shape} | {times} | {same} of {len(seeds)} |")
    return lines


if __name__ == "__main__":
    print("\n".join(run(quick=False)))
