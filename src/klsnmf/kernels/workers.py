"""Samples that the workers of a Dask cluster know, and what they make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import HasMethods

from ..core import files, memory
from ..core.arithmetic import largest_entry
from ..core.arrays import follows_lists, place
from ..core.types import Array, Matrix
from ..grams import block_tasks
from ..grams.block_tasks import Cut
from ..grams.distributed import DistributedGram, Workers, cut_rows, default_client
from . import worker_tasks
from .functions import KERNELS, Kernel
from .inputs import here, is_dask_array, is_path, moderate_unit
from .plan import require_on_workers
from .worker_tasks import FileRows, Preparation


class DaskClient(HasMethods):
    """The values that the parameter ``engine`` takes, and how an error names them."""

    def __init__(self) -> None:
        super().__init__(["submit", "gather"])

    def __str__(self) -> str:
        return "a client of Dask, such as Client(cluster) or Client('tcp://host:8786'),"


@dataclass(frozen=True)
class RemoteSamples:
    """Samples that workers can read, and read again: parts of a file, or futures of arrays."""

    workers: Workers
    parts: Sequence[Any]
    cut: Cut
    prepare: Preparation

    def neighbor_indices(self, m: int) -> NDArray[np.intp]:  # (n, m)
        """The nearest other samples of each sample, found by the workers exactly."""
        m = min(m, self.cut.edges[-1] - 1)
        task, more = worker_tasks.nearest_rows, (self.parts, self.cut, self.prepare, m)
        found = [self.workers.submit(task, block, *more) for block in range(len(self.cut))]
        return np.concatenate(self.workers.results(found))

    def gram(self, form: Kernel, r: Array) -> DistributedGram:
        """K with all its entries, made by the workers and kept there."""
        K = self._gram(form, r, self.prepare.dtype)
        if K.dtype == np.float32 and form.is_wide(K.mean):
            del K  # workers drop it, and have its room for one in double precision
            double = np.dtype(np.float64)
            require_on_workers(len(r), double.itemsize, self.workers.memory())
            return self._gram(form, r, double)
        return K

    def _gram(self, form: Kernel, r: Array, dtype: np.dtype[Any]) -> DistributedGram:
        radii = self.workers.submit(block_tasks.same, r)
        blocks = []
        for block, part in enumerate(self.parts):
            # Tasks go where their arguments are, and the radii are at one worker: rows of their
            # own, read before, spread them over all.
            own = self.workers.submit(worker_tasks.read, part)
            parts = [*self.parts[:block], own, *self.parts[block + 1 :]]
            more = self.cut, self.prepare, form, radii, dtype
            blocks.append(self.workers.submit(worker_tasks.kernel_rows, block, parts, *more))
        return DistributedGram(self.workers, blocks, self.cut)


#: Makes checked samples known to the workers, with the row norm and the unit they are given.
Send = Callable[[Matrix, str | None, float], RemoteSamples]


def locate(X: Any, engine: Any, kernel: Any, gram: str) -> tuple[Any, Send | None]:
    """X as an array here, and what will make it known to workers; None to compute here."""
    array = is_dask_array(X)
    if engine is None and not array:
        return here(X), None
    if not follows_lists(X):
        raise ValueError(
            f"engine= is for samples on the host, and X is {place(X)}: set engine=None, or give X "
            "as a numpy array."
        )
    workers = Workers(default_client() if engine is None else engine)
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r} cannot be made by workers: with engine= it is one of "
            f"{', '.join(KERNELS)}."
        )
    if gram not in ("auto", "dense", "samples"):
        raise ValueError(
            f'gram={gram!r} is for one machine: with engine= it is "auto" or "dense", in blocks '
            "on the workers."
        )
    if array:
        parts, X = _gathered(workers, X)
        return X, partial(_send, workers, kernel, parts=parts)
    if is_path(X):
        return here(X), partial(_send, workers, kernel, path=X)
    return X, partial(_send, workers, kernel)


def _send(
    workers: Workers,
    kernel: str,
    X: Matrix,
    row_norm: str | None,
    unit: float,
    *,
    parts: Sequence[Any] = (),
    path: Any = None,
) -> RemoteSamples:
    """Samples at the workers: those that are there, those in a file, or X itself."""
    if sparse.issparse(X):
        raise ValueError(
            "X is a sparse matrix, and workers take dense samples only: give X.toarray(), or set "
            "engine=None."
        )
    cut = cut_rows(X.shape[0])
    if path is not None:
        path = str(Path(path).absolute())
        told = files.npy_header(path), worker_tasks.changed(path)
        parts = [FileRows(path, rows, *told) for rows in cut]
    elif not parts:
        parts = [workers.submit(block_tasks.same, X[rows]) for rows in cut]
    unit = moderate_unit(largest_entry(X)) if row_norm == "l2" else unit
    prepare = Preparation(X.dtype, unit, row_norm == "l2" or KERNELS[kernel].unit_length)
    return RemoteSamples(workers, parts, cut, prepare)


def _gathered(workers: Workers, X: Any) -> tuple[list[Any], Array]:
    """The blocks of a dask.array as futures, and X here: starts and prototypes need it."""
    if X.ndim != 2:
        raise ValueError(f"X is a dask.array of {X.ndim} dimensions; it must have 2.")
    if any(np.isnan(size) for size in X.shape):
        raise ValueError(
            "X is a dask.array with chunks of unknown size: call X.compute_chunk_sizes() first."
        )
    if X.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if X.numblocks[1] > 1:
        raise ValueError(
            f"X is a dask.array cut along its features, into {X.numblocks[1]} chunks: give "
            "X.rechunk({1: -1})."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X is a dask.array of type {X.dtype}; it must hold real numbers.")
    memory.require(
        2.0 * X.nbytes,
        "X at the client, a copy included,",
        "Write X into a .npy file that all workers see, and give its path.",
    )
    cut = cut_rows(X.shape[0])
    rows = X.rechunk({0: tuple(part.stop - part.start for part in cut)})
    futures = workers.client.compute(rows.to_delayed().ravel().tolist())
    return futures, np.concatenate(workers.results(futures))
