"""Long computations: how many threads they use, and how they report progress.

On small problems, threads only disturb each other. We measured it: with both cores of a machine
busy, an inner product of 18,000 numbers took 15 ms on two BLAS threads that wait for each other,
and 0.05 ms on one. Long computations call ``tell`` or use ``steps``, and a command shows the
progress. Without an observer this costs almost nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Part = TypeVar("Part")

#: One more thread pays off for this many operations between two synchronisations, about a
#: millisecond: waking a sleeping thread can take as long.
_FLOPS_PER_THREAD = 4e7

#: Is called with the stage of the work, the steps that are done, and the most that there can be.
Observer = Callable[[str, int, int], None]

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, changing a limit microseconds. Libraries
    # come with modules: while there is no new module there is nothing new to look for.
    return _controller_with(len(sys.modules))


@lru_cache(maxsize=1)
def _controller_with(modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread change the limits of BLAS, whichever thread has set them.

    Since version 3.8, threadpoolctl ignores all threads except the first that sets a limit.
    ``_Limits`` knows the limits of all threads, which may end in any order.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def allowed_threads() -> dict[str, int]:
    """The number of threads that BLAS and OpenMP may use now, each.

    Libraries know the cores of a machine, but not how much of their time a container is granted.
    """
    allowed: dict[str, int] = {}
    for library in _controller().lib_controllers:  # their info() tells much more, and takes longer
        kind, count = library.user_api, min(library.num_threads, cores_granted())
        allowed[kind] = min(count, allowed.get(kind, count))
    return allowed


@lru_cache(maxsize=1)
def cores_granted() -> int:
    """The cores that this process may use, as scikit-learn counts them too.

    More threads than a container is granted would be stopped for most of the time. A limit rarely
    changes, so it is read once.
    """
    from joblib import cpu_count  # comes with scikit-learn, and takes long

    return int(cpu_count())


def threads_of_blas(useful: int) -> int:
    """So many threads, or as many as BLAS may use now; at least one."""
    return 1 if useful <= 1 else max(1, min(useful, allowed_threads().get("blas", 1)))


def _hold(limits: dict[str, int]) -> bool:
    """Whether every library is at its limit: there may be several of a kind, and they differ."""
    libraries = _controller().lib_controllers
    return all(each.num_threads == limits.get(each.user_api) for each in libraries)


@contextmanager
def threads_for(flops: float, allowed: dict[str, int] | None = None) -> Iterator[None]:
    """How many threads this many operations can use, at most as many as are allowed now.

    ``allowed`` is the number that was allowed before, outside of another limit.
    """
    useful = 1 + int(flops // _FLOPS_PER_THREAD)
    limits = {kind: min(useful, count) for kind, count in (allowed or allowed_threads()).items()}
    if _hold(limits) and not _limits.others():
        yield
        return
    with _limits.held(limits):
        yield


class _Limits:
    """The limits that computations have asked for, in whichever threads they run.

    A limit of BLAS holds for the whole process. When one ends, the limits of other computations
    must stay, and must not stay longer than these.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked: list[tuple[int, dict[str, int]]] = []  # by thread, the last one last
        self.before: Any = None  # a limiter that knows how all was

    def others(self) -> bool:
        """Whether computations in other threads have asked for limits, which may change."""
        me = threading.get_ident()
        return any(thread != me for thread, _ in self.asked)

    @contextmanager
    def held(self, limits: dict[str, int]) -> Iterator[None]:
        me = threading.get_ident()
        entry = me, limits
        with self.lock:
            first = allowed_threads()
            _take_control()
            limiter = _controller().limit(limits=limits)
            if not self.asked:
                self.before, self.first = limiter, first
            self.asked.append(entry)
        try:
            yield
        finally:
            with self.lock:
                self._drop(entry, me)

    def _drop(self, entry: tuple[int, dict[str, int]], me: int) -> None:
        place = next(i for i, each in enumerate(self.asked) if each is entry)
        del self.asked[place]
        mine = [limits for thread, limits in self.asked if thread == me]
        _take_control()
        if not self.asked:
            self.before.restore_original_limits()
        elif mine:
            _controller().limit(limits=mine[-1])
        else:  # a limit of OpenMP is this thread's own
            limits = self.asked[-1][1] | {"openmp": self.first.get("openmp", 1)}
            _controller().limit(limits=limits)


_limits = _Limits()


def side_by_side(function: Callable[[Part], None], parts: Sequence[Part]) -> None:
    """Call the function for every part, each in its own thread, with BLAS on one thread.

    This is for work that numpy and scipy do without Python's lock, on one thread.
    """
    first, *others = parts
    with threads_for(0):
        if not others:
            return function(first)
        with ThreadPoolExecutor(len(others)) as pool:
            running = [pool.submit(function, part) for part in others]
            function(first)
            for done in running:
                done.result()
    return None


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Report the progress inside to ``observer``, and to earlier observers."""
    outer = _observer.get()

    def both(stage: str, done: int, total: int) -> None:
        observer(stage, done, total)
        if outer is not None:
            outer(stage, done, total)

    before = _observer.set(both)
    try:
        yield
    finally:
        _observer.reset(before)


#: Stage -> the seconds that it has taken, if they are wanted.
Seconds = dict[str, float]

_seconds: ContextVar[Seconds | None] = ContextVar("seconds", default=None)


@contextmanager
def timed() -> Iterator[Seconds]:
    """Stage -> seconds for the work inside; "all" is the total."""
    seconds: Seconds = {}
    outer, start = _seconds.get(), time.perf_counter()
    before = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(before)
        if outer is not None:
            outer |= {name: outer.get(name, 0.0) + took for name, took in seconds.items()}
        seconds["all"] = time.perf_counter() - start


@contextmanager
def stage(name: str) -> Iterator[None]:
    """A part of a fit whose seconds are counted."""
    seconds, start = _seconds.get(), time.perf_counter()
    try:
        yield
    finally:
        if seconds is not None:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start


def tell(stage: str, done: int, total: int) -> None:
    observer = _observer.get()
    if observer is not None:
        observer(stage, done, total)


def steps(items: Any, stage: str) -> Iterator[Any]:
    """The items one by one; progress is reported after each."""
    for done, item in enumerate(items, start=1):
        yield item
        tell(stage, done, len(items))
