"""The process of a job of ``cases``: it measures, and prints its rows.

It is started by ``python -m benchmarks.page run``, which sets the number of threads before.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import klsnmf
from klsnmf.core.work import side_by_side
from klsnmf.kernels.build import fit_kernel
from klsnmf.metrics import accuracy, nmi
from klsnmf.models.ls_nmf import LocalSimilarity

from . import batch, scale
from .cases import BARE, SAMPLES, TRANSCRIPTIONS, Job
from .measuring import best, iteration_seconds, peak_megabytes, timed_neighbors

Measured = dict[str, Any]

#: A fit is repeated until this many seconds are spent, or three times; the fastest counts.
ENOUGH_SECONDS = 20.0

#: Float32 numbers that stay in a core's cache between two steps.
BLOCK = 2**16


def transcription(job: Job, folder: Path) -> Iterator[Measured]:
    (what,) = job.makes
    iterations = 15 if job.n <= 4000 else 4
    K = batch.kernel_matrix(job.n)
    seconds = batch.literal_seconds(K, 10, 1e-4, iterations, TRANSCRIPTIONS[what])
    yield {"what": what, "p": 20, "k": 10, "seconds": seconds}


def dense(job: Job, folder: Path) -> Iterator[Measured]:
    """An iteration of each model, and the two products it cannot do without."""
    K: Any = fit_kernel(batch.samples(job.n).astype(np.float32), "rbf", 20.0, None)[0]
    starts = batch.random_starts(job.n, 10, job.fits)
    iterations = 30 if job.n <= 4000 else 5
    # Before and after: the machine may have had other things to do.
    before = batch.bare_seconds(K.K, 10 * job.fits)
    found = {
        name: iteration_seconds([LocalSimilarity(K, 1e-4, step)] * job.fits, starts, iterations)
        for name, step in batch.STEPS.items()
    }
    found[BARE] = min(before, batch.bare_seconds(K.K, 10 * job.fits))
    for what in job.makes:
        yield {"what": what, "p": 20, "k": 10, "seconds": found[what] / job.fits}


def tiled(job: Job, folder: Path) -> Iterator[Measured]:
    iteration, bare = scale.tiled_seconds(job.n)
    for what, seconds in zip(job.makes, (bare, iteration), strict=True):
        yield {"what": what, "p": scale.DIMENSIONS, "k": 10, "seconds": seconds}


def sparse(job: Job, folder: Path) -> Iterator[Measured]:
    found = scale.product_seconds(job.n)
    moved = found.moved / 1e9
    each = (found.scipy, moved), (found.ours, moved), (found.iteration, 2 * moved)
    for what, (seconds, gigabytes) in zip(job.makes, each, strict=True):
        yield {"what": what, "p": 3, "k": 20, "seconds": seconds, "gigabytes": gigabytes}


def bandwidth(job: Job, folder: Path) -> Iterator[Measured]:
    """a = b and a = b + 3c for long arrays, a part for each thread."""
    a, b, c = (np.full(job.n, number, np.float32) for number in (0, 1, 2))
    parts = [
        slice(start, start + -(-job.n // job.threads))
        for start in range(0, job.n, -(-job.n // job.threads))
    ]

    def copy(part: slice) -> None:
        np.copyto(a[part], b[part])

    def triad(part: slice) -> None:
        for start in range(part.start, min(part.stop, job.n), BLOCK):
            block = slice(start, min(start + BLOCK, part.stop))
            np.multiply(c[block], 3, out=a[block])
            np.add(a[block], b[block], out=a[block])

    for what, step, arrays in (("copy", copy, 2), ("triad", triad, 3)):
        seconds = best(lambda step=step: side_by_side(step, parts), 10)
        yield {"what": what, "seconds": seconds, "gigabytes": arrays * a.nbytes / 1e9}


# ------------------------------------------------------------------------------------------- fits


def nmf_labels(X: Any, k: int) -> Any:
    """The component that explains most of each sample, of samples shifted to be nonnegative."""
    from sklearn.decomposition import NMF

    model = NMF(k, random_state=0)
    W = model.fit_transform(X - np.minimum(X.min(axis=0), 0))
    return np.argmax(W * np.linalg.norm(model.components_, axis=1), axis=1)


def spectral_labels(X: Any, k: int) -> Any:
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(k, affinity="nearest_neighbors", random_state=0).fit_predict(X)


def kmeans_labels(X: Any, k: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=0).fit_predict(X)


LABELS: dict[str, Callable[[Any, int], Any]] = {
    "KMeans": kmeans_labels,
    "MiniBatchKMeans": lambda X, k: scale.MINI_BATCHES.set_params(n_clusters=k).fit_predict(X),
    "NMF": nmf_labels,
    "SpectralClustering": spectral_labels,
}


def ready(what: str, threads: int) -> Callable[[Any, int], Any]:
    """The method; tools of other packages have compiled what they compile."""
    if what in LABELS:
        return LABELS[what]
    from . import rival_tools

    tool, seed = rival_tools.TOOLS[what], 0 if threads == 1 else None  # UMAP: a seed, one thread
    rival_tools.warm_up(what, seed)
    return lambda X, k: tool.cluster(tool.prepare(X, seed), k, 0)


def fit(job: Job, folder: Path) -> Iterator[Measured]:
    """One method on stored samples: making them would take more memory than some methods."""
    (what,) = job.makes
    X, y = (np.load(file) for file in job.sample_files(folder))
    k = len(np.unique(y))
    row: Measured = {"what": what, "p": X.shape[1], "k": k, "peak_megabytes": peak_megabytes()}
    if what == SAMPLES:
        yield row
        return
    rival = None if what == "KLSNMF" else ready(what, job.threads)
    spent, repeats, row["seconds"] = 0.0, 0, np.inf
    while repeats < 3 and spent < ENOUGH_SECONDS:
        with warnings.catch_warnings(), timed_neighbors() as search:
            # Of NMF and others that end before they converge, and of graphs in pieces.
            warnings.simplefilter("ignore", UserWarning)
            start = time.perf_counter()
            if rival is None:
                model = klsnmf.KLSNMF(k, random_state=0).fit(X)
                labels = model.labels_
            else:
                labels = rival(X, k)
            seconds = time.perf_counter() - start
        spent, repeats = spent + seconds, repeats + 1
        if seconds < row["seconds"]:
            row["seconds"] = seconds
            if rival is None:
                row |= {"graph_seconds": search[0], "iterations": model.n_iter_}
    row["peak_megabytes"] = peak_megabytes()
    row |= {"accuracy": 100 * accuracy(y, labels), "nmi": 100 * nmi(y, labels)}
    yield row


def store_samples(job: Job, folder: Path, mnist: str) -> None:
    if job.data == "mnist":
        X, y = scale.mnist(Path(mnist))
        chosen = np.random.default_rng(0).permutation(len(X))[: job.n]
        X, y = X[chosen], y[chosen]
    else:
        X, y = {"clusters": scale.clusters, "curves": scale.curves}[job.data](job.n)
    for file, array in zip(job.sample_files(folder), (X, y), strict=True):
        np.save(file, array)


# ------------------------------------------------------------------------------------ the process

KINDS = {
    "transcription": transcription,
    "dense": dense,
    "tiled": tiled,
    "sparse": sparse,
    "bandwidth": bandwidth,
    "fit": fit,
}


def text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def rows(job: Job, folder: Path) -> list[dict[str, str]]:
    """The rows of a job, in words; the peak memory is that of the whole job."""
    found = list(KINDS[job.kind](job, folder))
    same = {name: getattr(job, name) for name in ("case", "data", "n", "fits", "threads")}
    same |= {"peak_megabytes": peak_megabytes(), "version": klsnmf.__version__}
    return [{name: text(value) for name, value in (same | row).items()} for row in found]


def main() -> None:
    what, described, folder, mnist = sys.argv[1:]
    fields = json.loads(described)
    job = Job(**fields | {"makes": tuple(fields["makes"])})
    if what == "samples":
        store_samples(job, Path(folder), mnist)
    else:
        print(json.dumps(rows(job, Path(folder))))


if __name__ == "__main__":
    main()
