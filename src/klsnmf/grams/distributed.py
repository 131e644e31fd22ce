"""K in blocks of rows that live on Dask workers. The only module that imports Dask, and late.

Everything on the workers is a task that the scheduler can repeat, nothing is only scattered: when a
worker dies, the others make its blocks again, and the fit goes on with the same numbers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cached_property
from itertools import count
from typing import Any, NoReturn
from uuid import uuid4

import numpy as np

from ..core import memory
from ..core.types import Array
from ..core.version import __version__
from . import block_tasks
from .base import Gram, fits_single_precision
from .block_tasks import Cut

#: Rows of a block; how many blocks there are before they get more rows; the most blocks. All of it
#: depends on n alone: were it the number of workers, the rounding of a product would depend on it
#: too. Each task knows all parts of the samples, and Dask needs some 50 µs for every such pair: 10
#: seconds with 512 blocks, which the comparison of a million samples is worth.
ROWS = 2048
_MANY_BLOCKS = 512
_MOST_BLOCKS = 1024

#: Bytes of V that are sent at once; more of them are sent in turn. Up to so many bytes for all
#: blocks together V is part of every block's task. Beyond it is a task of its own: it goes to one
#: worker, and from there to the others, which spares the scheduler and takes a while longer.
_MESSAGE = 2**26
_WITH_EVERY_BLOCK = 2**23

#: Seconds without a worker that works, or without a word of the scheduler, after which a fit gives
#: up: with all looks it is told within a minute. Seconds between two looks at the cluster while
#: results are waited for, and seconds that the scheduler has for an answer.
PATIENCE = 45.0
_LOOK_EVERY = 2.0
_ANSWER = 10.0

#: The share of the workers' memory that a kernel matrix and what is made of it may take together.
_SHARE = 0.8

_INSTALL = 'pip install "klsnmf[dask]"'


class ClusterError(RuntimeError):
    """A Dask cluster that cannot be used, or that died in the middle of a fit."""


def cut_rows(n: int) -> Cut:
    """n rows in blocks of about the same size."""
    blocks = min(-(-n // ROWS), max(_MANY_BLOCKS, n // (4 * ROWS)), _MOST_BLOCKS)
    return Cut(tuple(int(edge) for edge in np.linspace(0, n, blocks + 1)))


def default_client() -> Any:
    """The client that the user has made last, for X that is a dask.array."""
    distributed = _distributed()
    try:
        return distributed.default_client()
    except ValueError as error:
        raise ClusterError(
            "X is a dask.array, and there is no Dask client: make one with "
            "distributed.Client(...) and give it as engine=, or fit X.compute()."
        ) from error


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError(f"engine= and dask.array need Dask: {_INSTALL}.") from error
    return distributed


class Workers:
    """The workers of a client: tasks go out, results come back, or one clear sentence."""

    def __init__(self, client: Any) -> None:
        self.distributed = _distributed()
        self.client = client
        if not isinstance(client, self.distributed.Client) or client.asynchronous:
            raise TypeError(
                f"engine={client!r} must be a distributed.Client, such as "
                'Client("tcp://host:8786"), and not an asynchronous one.'
            )
        if client.status != "running":
            raise ClusterError(
                f"The Dask client given as engine is {client.status}: make a new one, and give "
                "that."
            )
        if not self._states():
            raise ClusterError(
                "The Dask client has no workers. Start some, for example with `dask worker "
                "SCHEDULER_ADDRESS`, and wait for them with client.wait_for_workers(1)."
            )
        self._name, self._count = uuid4().hex, count()

    def memory(self) -> float:
        """Bytes that all workers together may take; infinity where they have no limit."""
        limits = [worker["memory_limit"] for worker in self._told().values()]
        return float(sum(limits)) if all(limits) else np.inf

    def _told(self) -> dict[str, Any]:
        """What the scheduler knows of each worker."""
        found: dict[str, Any] = self._ask("identity", n_workers=-1)["workers"]
        return found

    def _states(self) -> set[str]:
        """What workers do: some may be paused: alive, but without work for lack of memory."""
        return {str(worker.get("status", "running")) for worker in self._told().values()}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future of the function's result, by whichever worker the scheduler chooses.

        It must be free to choose: a task that names a worker may wait for it for ever, even if
        others are allowed.
        """
        import dask

        key = f"klsnmf-{function.__name__}-{self._name}-{next(self._count)}"
        # Samples and factors are part of their tasks by intention.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            try:
                return self.client.submit(
                    block_tasks.of_one_version, __version__, function, *arguments, key=key
                )
            except self._lost() as error:
                raise self._gone() from error

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """The results of all futures, however often workers die, as long as some are left."""
        coming = asyncio.run_coroutine_threadsafe(
            self._gathered(list(futures)), self.client.loop.asyncio_loop
        )
        alive = time.monotonic()
        try:
            while True:
                try:
                    return coming.result(_LOOK_EVERY)
                except TimeoutError:
                    if coming.done():  # an error of the task, not of our waiting
                        raise
                alive = self._look(alive)
        except self.distributed.KilledWorker as error:
            raise ClusterError(
                "Several workers died during the same task, most often for lack of memory. Give "
                "them more memory, start more workers, or set n_neighbors for a sparse kernel."
            ) from error
        except (ModuleNotFoundError, AttributeError, block_tasks.VersionError) as error:
            raise ClusterError(
                f"A worker lacks a package, or has another version of it ({error}). Install "
                f"klsnmf {__version__} where the workers run."
            ) from error
        except self._lost() as error:
            raise self._gone() from error
        finally:
            coming.cancel()

    async def _gathered(self, futures: list[Any]) -> list[Any]:
        return await self.client.gather(futures, asynchronous=True)

    def _look(self, alive: float) -> float:
        """When there were workers last; an error where that is too long ago."""
        if self.client.status == "closed":
            raise self._gone()
        with suppress(ClusterError):  # of a scheduler that does not answer
            states = self._states() if self.client.status == "running" else set()
            if "running" in states:
                return time.monotonic()
            if "paused" in states and time.monotonic() - alive > PATIENCE:
                raise memory.NotEnoughMemory(
                    "All workers of the Dask cluster are paused, because their memory is nearly "
                    f"full, for {PATIENCE:g} seconds. Give them more memory, start more workers or "
                    "set n_neighbors for a sparse kernel. A fit with a checkpoint can be resumed."
                )
        if time.monotonic() - alive > PATIENCE:
            raise self._gone(
                "All workers of the Dask cluster are gone, or its scheduler is silent, for "
                f"{PATIENCE:g} seconds"
            )
        return alive

    def _ask(self, question: str, **details: Any) -> Any:
        """The scheduler's answer; the client itself would wait for ever for it."""
        try:
            answer = asyncio.run_coroutine_threadsafe(
                getattr(self.client.scheduler, question)(**details), self.client.loop.asyncio_loop
            )
            try:
                return answer.result(_ANSWER)
            finally:
                answer.cancel()
        except TimeoutError as error:
            raise self._gone(
                f"The Dask scheduler has not answered for {_ANSWER:g} seconds"
            ) from error
        except (OSError, RuntimeError, AttributeError) as error:  # of a client that is closing
            raise self._gone("The Dask scheduler cannot be asked") from error
        except self._lost() as error:
            raise self._gone() from error

    def _lost(self) -> tuple[type[BaseException], ...]:
        from distributed.client import ClosedClientError
        from distributed.comm.core import CommClosedError

        return (CancelledError, asyncio.CancelledError, CommClosedError, ClosedClientError)

    def _gone(
        self, what: str = "The Dask cluster has dropped the tasks of the fit"
    ) -> ClusterError:
        if self.client.status != "running":
            what = "The connection to the Dask scheduler was lost"
        return ClusterError(
            f"{what}. Start the cluster again, then fit again. A fit with a checkpoint can be "
            "resumed."
        )


class DistributedGram(Gram):
    """A symmetric K whose blocks of rows, dense arrays, are futures on the workers.

    A product sends V to the workers and gathers KV. The client never holds K.
    """

    order = "F"

    def __init__(self, workers: Workers, blocks: Sequence[Any], cut: Cut) -> None:
        self.workers, self.blocks, self.cut = workers, list(blocks), cut
        seen = self._each(block_tasks.describe, [(rows,) for rows in cut])
        diagonals, least, most, totals = zip(*seen, strict=True)
        largest, size = max(-min(least), *most), float(cut.edges[-1]) ** 2
        super().__init__(np.concatenate(diagonals), 2.0 * size, largest, min(least) >= 0)
        self.mean = sum(totals) / size

    def __reduce__(self) -> NoReturn:
        # Part of a fitted model only where new samples walk over K itself.
        raise TypeError(
            "A dense kernel with diffusion=2 asks the workers at each step, so this fit cannot be "
            "pickled or copied: set diffusion=0 or 4, or n_neighbors for a sparse kernel, and fit "
            "again."
        )

    def multiply(self, V: Array, out: Array) -> None:
        # (KV)ᵀ = VᵀK, as for an array: one product serves all fits.
        fits, n, k = V.shape
        V, KV = V.mT.reshape(fits * k, n), out.mT.reshape(fits * k, n)
        step = max(1, _MESSAGE // (n * self.dtype.itemsize))
        for start in range(0, fits * k, step):
            some = slice(start, start + step)
            sent = V[some]
            if sent.nbytes * len(self.blocks) > _WITH_EVERY_BLOCK:
                sent = self.workers.submit(block_tasks.same, sent)
            for rows, part in zip(self.cut, self._each(block_tasks.product, sent), strict=True):
                KV[some, rows] = part

    def column(self, i: int) -> Array:
        block, place = self.cut.place(range(self.shape[0])[i])
        found = self.workers.submit(block_tasks.row, self.blocks[block], place)
        return np.asarray(self.workers.results([found])[0])

    def square_sums(self, weights: Array) -> Array:
        sent = self.workers.submit(block_tasks.same, weights)
        return np.concatenate(self._each(block_tasks.square_sums, sent))

    @cached_property
    def positive(self) -> DistributedGram:
        if self.nonnegative:
            return self
        if not self._has_room(self.dtype.itemsize):
            raise memory.NotEnoughMemory(
                "The kernel matrix has entries of both signs, and the workers have no room for "
                f"another {memory.amount(self._bytes(self.dtype.itemsize))}, its positive part. "
                "Start more workers, set n_neighbors for a sparse kernel where there is such a "
                "parameter, or fit a part of the rows."
            )
        return self._of_blocks(block_tasks.positive_part)

    def in_single_precision(self) -> DistributedGram:
        """Itself where float32 would lose too much, by the rule for an array, or has no room."""
        if self.dtype == np.float32 or not fits_single_precision(self.largest, self.mean):
            return self
        if not self._has_room(np.dtype(np.float32).itemsize):
            return self
        return self._of_blocks(block_tasks.in_single)

    def smallest_distance(self) -> float:
        d = self.workers.submit(block_tasks.same, self.diagonal)
        least = min(self._each(block_tasks.smallest_distance, [(rows, d) for rows in self.cut]))
        return least / self.largest if self.largest else 0.0

    def _bytes(self, itemsize: int) -> float:
        return float(self.shape[0]) ** 2 * itemsize

    def _has_room(self, itemsize: int) -> bool:
        """Whether a matrix of so many bytes an entry fits beside this one."""
        together = self._bytes(self.dtype.itemsize + itemsize)
        return together <= _SHARE * self.workers.memory()

    def _of_blocks(self, function: Callable[[Array], Array]) -> DistributedGram:
        blocks = [self.workers.submit(function, block) for block in self.blocks]
        return DistributedGram(self.workers, blocks, self.cut)

    def _each(self, function: Callable[..., Any], arguments: Any) -> list[Any]:
        """The function's results for every block; arguments for each, or one for all."""
        each = arguments if isinstance(arguments, list) else [(arguments,)] * len(self.blocks)
        pairs = zip(self.blocks, each, strict=True)
        futures = [self.workers.submit(function, block, *more) for block, more in pairs]
        return self.workers.results(futures)
