"""What kind of matrix a kernel becomes, chosen before anything large is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arrays, memory
from ..grams.low_rank import LANDMARKS
from .functions import kernel_of

#: With more samples than this, products with all pairs take too long.
_MOST_TILED = 100_000

#: From so many features on, neighbours are searched by comparing all pairs. With more samples than
#: the second number, or more operations than the third, minutes on two cores, the search is
#: approximate: of fewer samples it has to compare most.
_BRUTE_FEATURES = 16
_EXACT_SAMPLES = 65_536
_EXACT_WORK = 2e12

#: A linear kernel is XXᵀ. Products with X and Xᵀ are taken where they cost at most this share of
#: one with an array: two of them, and narrow ones, are slower than their operations say. Not those
#: of a sparse X: its operations are many times slower, and XᵀV takes the room of all its features.
_CHEAPER = 0.5

#: Arrays of K's size that there is room for when K is to be one: itself, and what it is made from,
#: or the half that a copy in single precision takes. A wide K, made again in double precision,
#: takes more. K of both signs goes with its positive part, which asks for its share of what is then
#: left.
_ARRAYS = 1.5
_ARRAYS_IF_SIGNED = 1.8

#: The share of the workers' memory that a kernel matrix may take; with more they would spill it.
WORKERS_SHARE = 0.5

#: Bytes for each neighbour while a sparse kernel is made, measured.
BYTES_PER_NEIGHBOR = 120


@dataclass(frozen=True)
class Plan:
    """How a kernel matrix is stored, how neighbours are found, and why."""

    gram: str  # "dense", "tiled", "low-rank", "sparse", "distributed", or "blocks" on a device
    approximate: bool  # whether neighbours are found approximately
    by_workers: bool  # whether workers find them
    reasons: tuple[str, ...]  # sentences for the user
    max_memory: float | None = None  # gigabytes that what is held of it may take
    exact: bool = False  # whether the low rank is that of the samples: nothing is approximated
    asked: str = "auto"  # neighbor_search, as the user has it


def make_plan(
    shape: tuple[int, int],
    itemsize: int,
    kernel: Any,
    n_neighbors: int | None,
    *,
    gram: str = "auto",
    max_memory: float | None = None,
    neighbor_search: str = "auto",
    room: float | None = None,
    filled: float = 1.0,
    nonnegative: bool = False,
    sparse: bool = False,
    by_samples: bool = False,
) -> Plan:
    """The plan for samples of this shape; an error if there is none.

    Parameters
    ----------
    filled : the share of the entries of X that are stored
    nonnegative : whether the kernel is known to have no negative entry
    gram : as the estimators' parameter, or "samples": a linear kernel is products with samples that
        are sparse, or fewer numbers than the kernel
    sparse : whether X is a sparse matrix
    by_samples : whether a linear kernel may be products with the samples, because none of its
        entries is asked for
    max_memory : gigabytes that the kernel matrix may take; None for most of the free memory
    room : bytes of memory that all workers have together; None without workers
    """
    approximate, by_workers, how = choose_search(
        shape, neighbor_search, workers=room is not None, filled=filled
    )
    search = approximate, by_workers
    if n_neighbors is not None and not callable(kernel):
        if gram != "auto":
            raise ValueError(
                f"gram={gram!r} is for all pairs of samples, and n_neighbors={n_neighbors} keeps "
                'some of them: set n_neighbors=None, or gram="auto".'
            )
        size = float(shape[0]) * n_neighbors * BYTES_PER_NEIGHBOR
        memory.require(
            size,
            f"The sparse kernel of {shape[0]} samples",
            "Fit a part of the rows, or lower n_neighbors.",
            max_memory,
        )
        what = f"sparse kernel, {n_neighbors} neighbours per sample, up to {memory.amount(size)}"
        return Plan("sparse", *search, (what, how))
    # Where products with the samples are cheaper than with an array, there need not be one. Not
    # of K with both signs, whose rules want its positive part: that has no such form.
    n, p = shape
    cost = 2 * p / n if kernel_of(kernel).linear else np.inf
    cheap = by_samples and not sparse and nonnegative and cost < _CHEAPER
    if (gram == "auto" and cheap) or (gram == "samples" and (sparse or (nonnegative and cost < 1))):
        what = f"kernel of rank {p}, exact: products with the samples, cheaper than with an array"
        return Plan("low-rank", *search, (what, how), max_memory, exact=True)
    gram = "auto" if gram == "samples" else gram
    if room is not None:
        return Plan("distributed", *search, (require_on_workers(n, itemsize, room), how))
    copies = _ARRAYS if nonnegative else _ARRAYS_IF_SIGNED
    chosen, why = _choose_gram(shape, itemsize, kernel, gram, max_memory, copies, exact=cost < 1)
    return Plan(chosen, *search, (why, how), max_memory, exact=cost < 1)


def _choose_gram(
    shape: tuple[int, int],
    itemsize: int,
    kernel: Any,
    gram: str,
    max_memory: float | None,
    copies: float,
    *,
    exact: bool,
) -> tuple[str, str]:
    n, p = shape
    size = float(n) ** 2 * itemsize
    takes = f"an array would take {memory.amount(size)}"
    only_array = callable(kernel)
    if only_array and gram not in ("auto", "dense"):
        raise ValueError(
            f"gram={gram!r} needs a kernel by its name: a function is asked for all pairs at once."
        )
    room = memory.fits(size, max_memory) and memory.fits(copies * size)
    if gram == "dense" or only_array or (gram == "auto" and room):
        memory.require(
            size,
            f"The kernel matrix of {n} samples",
            "A function is asked for all pairs of samples: fit a part of the rows, or take a "
            "kernel by its name."
            if only_array
            else 'Set n_neighbors for a sparse kernel or gram="auto", or fit a part of the rows.',
            max_memory,
        )
        return "dense", f"dense kernel, an array of {memory.amount(size)}"
    why = "as asked" if gram != "auto" else takes
    if gram == "low-rank" or (gram == "auto" and (exact or n > _MOST_TILED)):
        kind = f"of rank {p}, exact" if exact else "of low rank, approximate"
        if not exact:
            memory.require(
                6.0 * n * LANDMARKS * itemsize,
                f"The low-rank kernel of {n} samples",
                "Set n_neighbors for a sparse kernel, or fit a part of the rows.",
                max_memory,
            )
        return "low-rank", f"kernel {kind}: {why}"
    return "tiled", f"tiled kernel, computed again for every product: {why}"


def require_on_workers(n: int, itemsize: int, room: float) -> str:
    """A sentence about a kernel matrix on the workers, if there is room for it."""
    size = float(n) ** 2 * itemsize
    if size > WORKERS_SHARE * room:
        raise memory.NotEnoughMemory(
            f"The kernel matrix of {n} samples would take {memory.amount(size)}, and the workers "
            f"have {memory.amount(room)} together, of which it may take {WORKERS_SHARE:.0%}. "
            "Start more workers, set n_neighbors for a sparse kernel, or fit a part of the rows."
        )
    return f"dense kernel of {memory.amount(size)}, in blocks of rows on the workers"


def choose_search(
    shape: tuple[int, int], search: str, *, workers: bool = False, filled: float = 1.0
) -> tuple[bool, bool, str]:
    """Whether neighbours are found approximately, whether by workers, and a sentence about it."""
    n, p = shape
    exactly = "neighbours are searched exactly"
    if workers and search != "approximate":
        if p >= _BRUTE_FEATURES:
            return False, True, f"{exactly}, by the workers"
        few = f"with fewer than {_BRUTE_FEATURES} features"
        how = f"{exactly}, here: {few} one tree is faster than workers that compare parts"
        return False, False, how
    large = n > _EXACT_SAMPLES or float(n) ** 2 * p * filled > _EXACT_WORK
    large &= p >= _BRUTE_FEATURES
    if search == "approximate" or (search == "auto" and large):
        return (
            True,
            False,
            "neighbours are searched approximately, in cells of samples that are near",
        )
    return False, False, exactly


def plan_there(X: Any, gram: str, neighbor_search: str, max_memory: float | None) -> Plan:
    """The plan for samples on a device, where K is an array; other kinds are refused."""
    for name, value in (("gram", gram), ("neighbor_search", neighbor_search)):
        if value in ("tiled", "low-rank", "approximate"):
            raise ValueError(
                f"{name}={value!r} is for samples on the host, and X is {arrays.place(X)}: "
                f'set {name}="auto", or give X as a numpy array.'
            )
    remedy = (
        "On a device it is held as an array: fit a part of the rows, or give X as a numpy array."
    )
    size = require_memory(X, 1, "The kernel matrix", remedy, max_memory)
    what = f"dense kernel, an array of {size:.2g} GB, where X is: {arrays.place(X)}"
    return Plan("blocks", False, False, (what,), max_memory)


def require_memory(
    home: Any, count: int, what: str, remedy: str, limit: float | None = None
) -> float:
    """The size in GB of so many arrays of n × n; refused if the device has no room for them.

    There are n rows in ``home``, on the device.
    """
    n = home.shape[0]
    size = count * float(n) ** 2 * arrays.precision(home).itemsize
    memory.require(size, f"{what} of {n} samples", remedy, limit, free=arrays.free_memory(home))
    return size / 1e9
