"""What workers do: pure functions of samples that a worker can read again.

Nothing here knows of a cluster. A task that is done twice, by whichever worker, gives the same
numbers: what is lost with a worker is made again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from . import files
from ._typing import Array
from .checks import in_units
from .kernels import Kernel, gaussian

#: Numbers of a block that are looked at together: no temporary array of its size.
_LOOK = 2**20

#: What a search for neighbours may take for distances, for each thread of a worker.
_MEGABYTES = 64


class SourceError(ValueError):
    """Samples that cannot be read, or are not those that the fit began with."""


@dataclass(frozen=True)
class FileRows:
    """Some rows of a .npy file, and what tells that the file is still the same."""

    path: str
    rows: slice
    header: files.Header
    changed: tuple[int, int]

    def read(self) -> Array:
        # Not by a map of the file, whose reader is killed if the file is cut short meanwhile.
        try:
            same = files.npy_header(self.path) == self.header
            X = files.read_npy_rows(self.path, self.header, self.rows) if same else None
            same = same and changed(self.path) == self.changed
        except (OSError, files.UnsafeFileError) as error:
            raise SourceError(
                f"The worker on {socket.gethostname()} cannot read X={self.path!r} ({error}): all "
                "workers must see the file under this name, as long as the fit takes."
            ) from error
        if X is None or not same:
            raise SourceError(
                f"X={self.path!r} is not the file that the fit began with, as the worker on "
                f"{socket.gethostname()} sees it: fit again, and leave the file alone meanwhile."
            )
        return X


def changed(path: str | os.PathLike[str]) -> tuple[int, int]:
    """The size of a file, and the time of its last change."""
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def read(part: Array | FileRows) -> Array:
    """Samples as they are stored."""
    return part.read() if isinstance(part, FileRows) else part


@dataclass(frozen=True)
class Preparation:
    """From samples as they are stored to samples as the kernel sees them."""

    dtype: np.dtype[Any]
    unit: float
    unit_length: bool

    def __call__(self, part: Array | FileRows) -> Array:
        X = in_units(settled(read(part), self.dtype), self.unit)
        return normalize(X) if self.unit_length else X


def settled(A: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """A in rows one after the other, at an address as numpy would choose it.

    What comes out of a message may lie at an odd address. numpy copies that before a product, in
    another order of memory, and the product is then rounded differently.
    """
    return np.require(A, dtype, ["C", "A"])


def same(value: Any) -> Any:
    """What the client has, as a task: the scheduler can give it to another worker again."""
    return value


@dataclass(frozen=True)
class Cut:
    """Where n rows are cut into blocks."""

    edges: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, block: int) -> slice:
        return slice(self.edges[block], self.edges[block + 1])

    def __iter__(self) -> Iterator[slice]:
        return (self[block] for block in range(len(self)))

    def place(self, i: int) -> tuple[int, int]:
        """The block of row i, and its place there."""
        block = int(np.searchsorted(self.edges, i, side="right")) - 1
        return block, i - self.edges[block]


def kernel_rows(
    own: int,
    parts: Sequence[Array | FileRows],
    cut: Cut,
    prepare: Preparation,
    form: Kernel,
    r: Array,
    dtype: np.dtype[Any],
) -> Array:  # (rows of the part, n)
    """The rows of K that belong to one part of the samples."""
    X, r, mine = prepare(parts[own]).astype(dtype), r.astype(dtype, copy=False), cut[own]
    K = np.empty((len(X), len(r)), dtype)
    for block, columns in enumerate(cut):
        Y = X if block == own else prepare(parts[block]).astype(dtype, copy=False)
        K[:, columns] = form.dense(X, r[mine], Y, r[columns])
    if form.profile is gaussian:  # the distance of a sample to itself is zero
        np.fill_diagonal(K[:, mine], 1)
    return K


def nearest_rows(
    own: int, parts: Sequence[Array | FileRows], cut: Cut, prepare: Preparation, m: int
) -> NDArray[np.intp]:  # (rows of the part, m)
    """The nearest other samples of those in one part, found part by part."""
    X, mine = prepare(parts[own]), cut[own]
    indices: Array = np.empty((len(X), 0), np.intp)
    distances: Array = np.empty((len(X), 0))
    for block, there in enumerate(cut):
        Y = X if block == own else prepare(parts[block])
        search = NearestNeighbors(n_neighbors=min(m + 1, len(Y))).fit(Y)
        with config_context(working_memory=_MEGABYTES):
            d, found = search.kneighbors(X)
        found = found + there.start
        if block == own:
            d[found == np.arange(mine.start, mine.stop)[:, None]] = np.inf
        indices, distances = np.hstack([indices, found]), np.hstack([distances, d])
        best = np.argsort(distances, axis=1, kind="stable")[:, :m]
        indices, distances = (np.take_along_axis(a, best, 1) for a in (indices, distances))
    return indices


@dataclass(frozen=True)
class Description:
    """What is to be known of a block of rows of K."""

    diagonal: Array
    least: float
    most: float
    total: float
    dtype: np.dtype[Any]


def describe(block: Array, rows: slice) -> Description:
    return Description(
        np.diagonal(block[:, rows]).copy(),
        float(block.min()),
        float(block.max()),
        float(block.sum(dtype=np.float64)),
        block.dtype,
    )


def product(block: Array, V: Array) -> Array:  # (m, n), (columns, n) -> (columns, m)
    """V blockᵀ, written so that BLAS reads the block along its rows, which is faster."""
    return (settled(block) @ settled(V).T).T


def row(block: Array, i: int) -> Array:  # (n,)
    return block[i].copy()


def positive_part(block: Array) -> Array:
    return np.maximum(block, 0)


def in_single(block: Array) -> Array:
    return block.astype(np.float32)


def square_sums(block: Array, weights: Array) -> Array:  # (m, n), (n,) -> (m,)
    return np.concatenate([np.square(some) @ weights for _, some in _looks(block)])


def smallest_distance(block: Array, rows: slice, d: Array) -> float:
    """The smallest K_ii + K_jj - 2 K_ij in these rows."""
    d_rows = d[rows, None]
    return min(float((d_rows[part] + d - 2 * some).min()) for part, some in _looks(block))


def _looks(block: Array) -> Iterator[tuple[slice, Array]]:
    step = max(1, _LOOK // block.shape[1])
    for start in range(0, len(block), step):
        part = slice(start, start + step)
        yield part, block[part]
