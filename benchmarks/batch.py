"""Many fits over one K: time per fit-iteration, the share of the products, peak memory.

The rival is a literal transcription in float64 with its products in a good order: D is formed
once, and an iteration computes K@G, K@W, D@G and D@W. It runs in the same process, with the
same number of threads.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from klsnmf import path
from klsnmf.grams.array import DenseGram
from klsnmf.models.ls_nmf import EXACT, FREE, PRINTED, SYMMETRIC, LocalSimilarity, Step
from klsnmf.solve.starts import random_factors

from .measuring import iteration_seconds

THREADS = 2

STEPS = {
    "paper": PRINTED,
    "soft": SYMMETRIC,
    "exact": EXACT,
    "G free": FREE,
}


class TimedGram(DenseGram):
    """A Gram that keeps count of the time its products take."""

    seconds = 0.0

    def multiply(self, V: Any, out: Any) -> None:
        start = time.perf_counter()
        super().multiply(V, out)
        self.seconds += time.perf_counter() - start


def samples(n: int) -> Any:
    """Ten Gaussian clusters in 20 dimensions."""
    rng = np.random.default_rng(0)
    return 3 * rng.normal(size=(10, 20))[rng.integers(10, size=n)] + rng.normal(size=(n, 20))


def kernel_matrix(n: int) -> Any:
    """Their rbf kernel, float32."""
    X = samples(n)
    squares = (X**2).sum(axis=1)
    d2 = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)
    K = np.exp(-d2 / (2 * np.median(d2)))
    return ((K + K.T) / 2).astype(np.float32)


def literal_seconds(K: Any, k: int, lam: float, iterations: int, dtype: type = np.float64) -> float:
    """Seconds of an iteration of the transcription, the best of several."""
    K = K.astype(dtype)
    n = len(K)
    d = np.diag(K)
    D = d[:, None] + d - 2 * K
    W, G = (V.astype(dtype) for V in random_factors(n, k, np.random.RandomState(0)))
    best = np.inf
    for _ in range(iterations):
        start = time.perf_counter()
        W = W * np.sqrt((K @ G) / ((K @ W) @ (G.T @ G) + lam * (D @ G)))
        KW, DW = K @ W, D @ W
        G = G * np.sqrt((KW + lam * (G @ (G.T @ DW))) / (lam * DW + G @ (G.T @ KW)))
        best = min(best, time.perf_counter() - start)
    return best


def random_starts(n: int, k: int, fits: int) -> list[dict[str, Any]]:
    """Random factors in float32, for each fit."""
    starts = []
    for seed in range(fits):
        W, G = random_factors(n, k, np.random.RandomState(seed))
        starts.append({"W": W.astype(np.float32), "G": G.astype(np.float32)})
    return starts


def batch_seconds(
    K: Any, step: Step, k: int, lams: Any, iterations: int, repeats: int
) -> tuple[float, float]:
    """Seconds of a fit-iteration in the fastest iteration of the batch, and the products' share."""
    starts = random_starts(len(K), k, len(lams))
    found = []
    for _ in range(repeats):
        gram = TimedGram(K)
        models = [LocalSimilarity(gram, lam, step) for lam in lams]
        start = time.perf_counter()
        fastest = iteration_seconds(models, starts, iterations)
        share = gram.seconds / (time.perf_counter() - start)
        found.append((fastest / len(lams), share))
    return min(found)


def bare_seconds(K: Any, columns: int) -> float:
    """Seconds of the two bare products of an iteration, the best of several."""
    V = np.random.default_rng(0).random((columns, len(K)), dtype=np.float32)
    out, best = np.empty_like(V), np.inf
    for _ in range(15):
        start = time.perf_counter()
        np.matmul(V, K, out=out)
        best = min(best, time.perf_counter() - start)
    return 2 * best


def peak_arrays(K: Any, k: int, lams: Any, n_init: int) -> float:
    """Peak memory of `path` above K, in arrays of n × (fits · k) numbers of K's type."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    # Random starts are all distinct; starts from labels can repeat, and are then fitted once.
    options = {"init": "random", "n_init": n_init, "max_iter": 4, "tol": 0, "random_state": 0}
    path(K, k, lams=lams, kernel="precomputed", **options)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak / (len(K) * k * len(lams) * n_init * K.itemsize)


def run(quick: bool) -> list[str]:
    n, k = (1000, 10) if quick else (4000, 10)
    lams = [lam for lam in (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 5e-3, 1e-2) for _ in range(5)]
    K = kernel_matrix(n)
    lines = [
        f"n = {n}, k = {k}, {len(lams)} fits in a batch, float32, {THREADS} threads",
        "",
        "| solver | ms a fit-iteration | bare products | literal | ratio | limit | share |",
        "|---|---|---|---|---|---|---|",
    ]
    with threadpool_limits(THREADS):
        for name, step in STEPS.items():
            literal = literal_seconds(K, k, 1e-3, 5 if quick else 15)
            mine, share = batch_seconds(K, step, k, lams, 10 if quick else 30, 1 if quick else 3)
            bare = bare_seconds(K, len(lams) * k) / len(lams)
            lines.append(
                f"| {name} | {1e3 * mine:.2f} | {1e3 * bare:.2f} | {1e3 * literal:.0f} | "
                f"1/{literal / mine:.1f} | 1/{literal / bare:.1f} | {share:.0%} |"
            )
        arrays = peak_arrays(K, k, lams[::5], 5)
    lines += [
        "",
        "ratio: to an iteration of the transcription; limit: what the ratio would be if nothing "
        "but the two products took time; share: of the products in the time of the batch.",
    ]
    lines += ["", f"Peak memory of `path` above K: {arrays:.1f} arrays of n × {len(lams) * k}."]
    return lines


if __name__ == "__main__":
    print("\n".join(run(quick=False)))
