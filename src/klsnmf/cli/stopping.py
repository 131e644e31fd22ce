"""Signals that end a command: Ctrl-C, SIGTERM and SIGHUP, all handled in the same way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Signals that end a command; some systems have fewer.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(KeyboardInterrupt):
    """A signal has asked the command to end. The exit code is that of a shell."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class _Bell:
    """Raises Stopped: at once, or after a part that must not be interrupted."""

    def __init__(self) -> None:
        self.deferred, self.waiting, self.rung = False, 0, False

    def ring(self, number: int, _: Any) -> None:
        if self.deferred:
            self.waiting = self.waiting or number
        elif number == signal.SIGINT or not self.rung:  # a second Ctrl-C stops at once
            self.rung = True
            raise Stopped(number)


_bell = _Bell()


@contextmanager
def stoppable() -> Iterator[None]:
    """Signals raise Stopped inside. Signals that were ignored before stay ignored (nohup)."""
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
    """Signals wait until the work inside is done."""
    _bell.deferred = True
    try:
        yield
    finally:
        _bell.deferred = False
        if _bell.waiting:
            raise Stopped(_bell.waiting)
