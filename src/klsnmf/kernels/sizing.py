"""What a fit needs, on a cluster or on one machine, computed from its size before it is started."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.kmeans import how_many_starts
from ..core.sketch import ALL, MANY, PART
from ..grams.distributed import cut_rows
from ..grams.spectral import bytes_needed, how_many_vectors
from .cells import COMPARED
from .neighbors import SURPLUS
from .plan import BYTES_PER_NEIGHBOR, WORKERS_SHARE, choose_search

#: How often an iteration reads a factor of every fit, besides its products: for the two rules, the
#: changes and the objective.
PASSES = 70

#: One machine: seconds of one core of an x86-64 server, found by ``benchmarks.speed`` and
#: ``benchmarks.large``. For a pair of samples that are compared and a feature; for a sample and a
#: cluster, of what follows the search; for a new sample that is placed; and for one of those in
#: cells that it is compared with and a feature.
_PAIR, _FITTED, _PLACED, _COMPARED = 5.6e-11, 5.5e-6, 4.0e-5, 1.5e-10

#: More samples than these do not fit into the processor's cache, and each takes longer, by this
#: power of their number.
_CACHED, _SLOWER = 1e5, 0.25

#: Bytes that a process takes before it has samples; for a neighbour of a sample while graphs are
#: made, as many as they are searched for; and times that samples are held.
_BEGINS, _LINK, _SEARCHED, _HELD = 2.3e8, 110, 33, 4

#: Samples that are placed together, and bytes for each besides its numbers.
_BLOCK, _EACH = 2**18, 2500


@dataclass(frozen=True)
class Needs:
    """Bytes and seconds.

    Attributes
    ----------
    workers, threads : how many workers there are, and threads of each
    worker_memory, client_memory : bytes of one worker, and of the client
    first_traffic, traffic : bytes that cross the network until K is known, and in each iteration
    first_seconds, seconds : time until K is known, and for each iteration
    """

    workers: int
    threads: int
    worker_memory: float
    client_memory: float
    first_traffic: float
    traffic: float
    first_seconds: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"with {self.workers} workers of {self.threads} threads, memory: "
            f"{in_bytes(self.worker_memory)} per worker, {in_bytes(self.client_memory)} at "
            f"the client; network: {in_bytes(self.first_traffic)} until K is known, "
            f"{in_bytes(self.traffic)} per iteration; time: {in_time(self.first_seconds)} until K "
            f"is known, {in_time(self.seconds)} per iteration"
        )


@dataclass(frozen=True)
class NeedsHere:
    """Bytes and seconds on one machine.

    Attributes
    ----------
    fitted : samples that are fitted; the others are placed
    memory : bytes, X not included where it is an array
    search, fit, placing : seconds for the neighbours, for the rest of the fit, and for placing
    """

    fitted: int
    memory: float
    search: float
    fit: float
    placing: float

    @property
    def seconds(self) -> float:
        return self.search + self.fit + self.placing

    def __str__(self) -> str:
        return (
            f"{self.fitted:,} samples fitted; memory: {in_bytes(self.memory)}; time: "
            f"{in_time(self.search)} for neighbours, {in_time(self.fit)} for the fit, "
            f"{in_time(self.placing)} for placing the others"
        )


def needs_here(
    n: int, p: int, k: int, *, fit_on: int | str = "auto", cores: int = 2, itemsize: int = 4
) -> NeedsHere:
    """What a fit with the default kernel needs on one machine.

    Parameters
    ----------
    n, p, k : samples, features and clusters
    fit_on : as the parameter of :class:`klsnmf.KLSNMF`
    cores : cores of the processor
    itemsize : bytes of a number: 4 for float32
    """
    for name, count in {"n": n, "p": p, "k": k, "cores": cores, "itemsize": itemsize}.items():
        if count < 1:
            raise ValueError(f"{name}={count!r} must be 1 or more.")
    by_rule = PART if n > ALL else n
    m = min(n, by_rule if fit_on == "auto" else n if fit_on == "all" else int(fit_on))
    pairs = _PAIR * m
    if choose_search((m, p), "auto")[0]:
        pairs = _COMPARED * max(_around(m), COMPARED)
    search = pairs * m * p / cores
    fit = _FITTED * m * k * max(1.0, m / _CACHED) ** _SLOWER / cores
    compared = _COMPARED * _around(m) if m > MANY else _PAIR * m
    placing = (_PLACED + compared * p) * n / cores if m < n else 0.0
    samples = _HELD * float(m) * p * itemsize
    graphs = float(m) * _SEARCHED * _LINK
    vectors = bytes_needed(m, k, itemsize)
    placed = min(n, _BLOCK) * (_EACH + 4.0 * p * itemsize) + 12.0 * n if m < n else 0.0
    memory = _BEGINS + samples + max(graphs + vectors, placed + vectors / 2)
    return NeedsHere(m, memory, search, fit, placing)


def _around(m: int) -> float:
    """Samples in the cells that are searched around one, of m: 12 % of 20,000, 5 % of 200,000."""
    return min(float(m), 4 * float(m) ** 0.65)


def in_bytes(count: float) -> str:
    """A number of bytes, as text."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.{0 if count >= 10 * size else 1}f} {unit}"
    return "less than a MB" if count else "none"


def in_time(seconds: float) -> str:
    """A number of seconds, as text."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def needs(
    n: int,
    p: int,
    k: int,
    *,
    neighbors: int | None = 10,
    fits: int = 4,
    workers: int = 10,
    threads: int = 16,
    itemsize: int = 4,
    flops: float = 2e11,
    memory_bandwidth: float = 2e10,
    network: float = 1.25e9,
) -> Needs:
    """What a fit on a cluster needs.

    Parameters
    ----------
    n, p, k : samples, features and clusters
    neighbors : neighbours of a sample in a sparse and diffused kernel; None for a dense kernel
    fits : starts that are finished, side by side. As many as ``n_init="auto"`` takes are
        compared before, in ten steps; the memory at the client has room for them.
    workers : processes that share the work; X is held, or read, by each
    threads : of one worker. A thread has a block of rows at a time, and there are at most 1024
        blocks (512 up to four million samples): what goes beyond them, workers or threads, has
        nothing to do.
    itemsize : bytes of a number: 4 for float32
    flops, memory_bandwidth : operations, and bytes of memory, per second of one worker, or of the
        client
    network : bytes per second of the connection of one machine. Workers pass on to each other what
        all of them need, so that each connection carries it once.
    """
    counts = {"n": n, "p": p, "k": k, "fits": fits, "itemsize": itemsize}
    counts |= {"workers": workers, "threads": threads}
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name}={count!r} must be 1 or more.")
    X, V = float(n) * p * itemsize, float(n) * k * fits * itemsize
    blocks = len(cut_rows(n))
    workers = min(workers, blocks)  # those that have blocks
    rate = min(workers, blocks / threads) * flops
    compare = 2.0 * n * n * p / rate  # every pair of samples, exactly
    factors = 4 * V / fits  # W, G, KW and KG of one fit
    steps = PASSES * V / memory_bandwidth  # at the client
    sent = X * workers
    if neighbors is None:
        K = float(n) ** 2 * itemsize / workers
        work = 2.0 * n * n * k * fits / rate
        starts = factors * max(fits, how_many_starts(n, k, 2.0 * n * n, p))
        room = X + K / WORKERS_SHARE + 2 * V, X + starts
        traffic = sent, 2 * V * (workers + 1)
        # V leaves the client and comes to every worker; KV comes back.
        seconds = 2 * (max(work, K / memory_bandwidth) + 3 * V / network) + steps
        return Needs(workers, threads, *room, *traffic, compare + 2 * X / network, seconds)
    m = how_many_vectors(n, k)
    found = float(n) * (neighbors + SURPLUS) * 8  # indices
    graph = float(n) * neighbors * BYTES_PER_NEIGHBOR
    features = float(n) * m * itemsize
    starts = factors * max(fits, how_many_starts(n, k, 4.0 * n * m, p))
    vectors = bytes_needed(n, k, itemsize)
    client = max(graph, graph / 4 + vectors, graph / 4 + features + starts)
    room = X + found / workers, X + client
    work = 4.0 * n * m * k * fits / flops
    first = compare + (2 * X + found) / network
    seconds = 2 * max(work, 2 * features / memory_bandwidth) + steps
    return Needs(workers, threads, *room, sent + found, 0.0, first, seconds)
