"""Signals that ask a command to end: Ctrl-C, SIGTERM and SIGHUP, all in the same way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Signals that end a command; some systems have fewer.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(KeyboardInterrupt):
    """A signal has asked the command to end; its exit code is what a shell makes of it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class _Bell:
    """What has rung: at once, or after what must not be disturbed."""

    def __init__(self) -> None:
        self.deferred, self.waiting, self.rung = False, 0, False

    def ring(self, number: int, _: Any) -> None:
        if self.deferred:
            self.waiting = self.waiting or number
        elif number == signal.SIGINT or not self.rung:  # who asks again by Ctrl-C is in a hurry
            self.rung = True
            raise Stopped(number)


_bell = _Bell()


@contextmanager
def stoppable() -> Iterator[None]:
    """Signals end what goes on inside by a Stopped; those that were ignored still are (nohup)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    _bell.__init__()  # type: ignore[misc]
    for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, _bell.ring)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A signal waits until what goes on inside is done."""
    _bell.deferred = True
    try:
        yield
    finally:
        _bell.deferred = False
        if _bell.waiting:
            raise Stopped(_bell.waiting)
