"""What workers do: pure functions of samples that a worker can read again.

Nothing here knows of a cluster. A task that is done twice, by whichever worker, gives the same
numbers: what is lost with a worker is made again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from ..core import files
from ..core.arithmetic import in_units
from ..core.types import Array
from ..grams.block_tasks import Cut, settled
from .functions import Kernel

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
    if form.of_distance:  # the distance of a sample to itself is zero
        np.fill_diagonal(K[:, mine], form.own_value)
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
