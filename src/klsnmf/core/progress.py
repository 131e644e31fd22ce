"""How far a long computation is, told to whoever wants to know.

The places where time passes call ``tell`` or go through ``steps``; a command shows it. Without an
observer this costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Told the stage of the work, how many of its steps are done, and how many there can be.
Observer = Callable[[str, int, int], None]

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Tell ``observer`` of all that goes on inside, and whoever was told before."""
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


def tell(stage: str, done: int, total: int) -> None:
    observer = _observer.get()
    if observer is not None:
        observer(stage, done, total)


def steps(items: Any, stage: str) -> Iterator[Any]:
    """The items one by one, each told of when it is done."""
    for done, item in enumerate(items, start=1):
        yield item
        tell(stage, done, len(items))
