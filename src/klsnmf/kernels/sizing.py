"""What a fit on a cluster needs, computed from its size before anything is started."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.kmeans import how_many_starts
from ..grams.distributed import cut_rows
from ..grams.spectral import bytes_needed, how_many_vectors
from .neighbors import SURPLUS
from .plan import BYTES_PER_NEIGHBOR, WORKERS_SHARE

#: How often an iteration reads a factor of every fit, besides its products: for the two rules, the
#: changes and the objective.
PASSES = 70


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
            f"{in_bytes(self.worker_memory)} a worker, {in_bytes(self.client_memory)} at "
            f"the client; network: {in_bytes(self.first_traffic)} until K is known, "
            f"{in_bytes(self.traffic)} an iteration; time: {in_time(self.first_seconds)} until K "
            f"is known, {in_time(self.seconds)} an iteration"
        )


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
    return f"{seconds:.2g} s"


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
