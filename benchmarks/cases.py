"""What the page of benchmarks measures: jobs, each for a process of its own.

A job makes one or more rows. ``measurements`` does the work. This module imports nothing large: a
process that is started by a large one inherits its peak memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

TRANSCRIPTIONS = {"transcription": "float64", "transcription in float32": "float32"}
MODELS = ("paper", "soft", "exact", "G free")
BARE = "bare products"
PRODUCTS = ("scipy's product", "product", "iteration")
SAMPLES = "samples alone"

#: Methods in a process each, with the most samples they are given. SpectralClustering factorizes a
#: matrix that fills up: 30,000 samples take more than 20 times as long as 10,000.
METHODS = {
    SAMPLES: 10**6,
    "KLSNMF": 10**6,
    "MiniBatchKMeans": 10**6,
    "KMeans": 10**6,
    "NMF": 10**6,
    "SpectralClustering": 10_000,
    "UMAP+KMeans": 100_000,
    "Leiden": 100_000,
}

#: Packages of other projects, without which methods are left out.
PACKAGES = {"UMAP+KMeans": ["umap"], "Leiden": ["leidenalg", "igraph"]}

DENSE_SIZES = (500, 1000, 2000, 4000, 8000, 16_000)
TILED_SIZES = (5000, 10_000, 20_000, 50_000)
SPARSE_SIZES = (10_000, 100_000, 1_000_000)
FIT_SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
WIDTHS = (1, 2, 4, 8, 16, 35)

#: Numbers in an array of the triad: far more than caches hold.
TRIAD = 2**25


@dataclass(frozen=True)
class Job:
    """What is measured: the rows ``makes`` for n samples."""

    case: str
    kind: str
    n: int
    makes: tuple[str, ...]
    threads: int
    fits: int = 1
    data: str = ""

    def row_keys(self) -> set[tuple[str, ...]]:
        """The keys of its rows, in the order of ``rows.KEYS``."""
        same = str(self.n), str(self.fits), str(self.threads)
        return {(self.case, self.data, what, *same) for what in self.makes}

    def sample_files(self, folder: Path) -> tuple[Path, Path]:
        """Where samples and labels of its data are stored for the time of a run."""
        return folder / f"{self.data}-{self.n}-X.npy", folder / f"{self.data}-{self.n}-y.npy"


def dense(case: str, n: int, threads: int, fits: int) -> Job:
    return Job(case, "dense", n, (BARE, *MODELS), threads, fits)


def tiled(case: str, n: int, threads: int) -> Job:
    return Job(case, "tiled", n, ("bare tiles", "iteration"), threads, data="tiled")


def sparse(case: str, n: int, threads: int) -> Job:
    return Job(case, "sparse", n, PRODUCTS, threads, data="sparse")


def bandwidth(case: str, threads: int) -> Job:
    return Job(case, "bandwidth", TRIAD, ("copy", "triad"), threads, data="memory")


def fit(case: str, n: int, threads: int, data: str, method: str) -> Job:
    return Job(case, "fit", n, (method,), threads, data=data)


def transcription(n: int, threads: int, what: str) -> Job:
    return Job("dense", "transcription", n, (what,), threads)


def jobs(cores: int, mnist: bool) -> Iterator[Job]:
    """All jobs, case by case, rivals next to each other, each with one thread and with all."""
    for n in DENSE_SIZES:
        yield from (transcription(n, cores, what) for what in TRANSCRIPTIONS)
        yield from (dense("dense", n, cores, fits) for fits in (1, 35))
    yield from (tiled("tiled", n, cores) for n in TILED_SIZES)
    yield bandwidth("sparse", cores)
    yield from (sparse("sparse", n, cores) for n in SPARSE_SIZES)
    yield from (dense("width", 4000, cores, fits) for fits in WIDTHS)
    for threads in sorted({2**i for i in range(cores.bit_length()) if 2**i <= cores} | {cores}):
        yield dense("threads", 4000, threads, 35)
        yield tiled("threads", 10_000, threads)
        yield sparse("threads", 200_000, threads)
        yield bandwidth("threads", threads)
        yield fit("threads", 30_000, threads, "clusters", "KLSNMF")
    sets = {"clusters": FIT_SIZES, "curves": FIT_SIZES, "mnist": (70_000,) if mnist else ()}
    for n in sorted({n for sizes in sets.values() for n in sizes}):
        for data in [name for name, sizes in sets.items() if n in sizes]:
            for method in (m for m, most in METHODS.items() if n <= most and is_there(m)):
                counts = {cores} if method == SAMPLES else {1, cores}
                yield from (fit("fit", n, count, data, method) for count in sorted(counts))


def is_there(method: str) -> bool:
    return all(find_spec(package) is not None for package in PACKAGES.get(method, []))


def quick_jobs(cores: int) -> Iterator[Job]:
    """A small one of every kind."""
    yield transcription(500, cores, "transcription")
    yield dense("dense", 500, cores, 1)
    yield tiled("tiled", 2000, cores)
    yield bandwidth("sparse", cores)
    yield sparse("sparse", 10_000, cores)
    for method in ("KLSNMF", "KMeans"):
        yield fit("fit", 300, cores, "clusters", method)
