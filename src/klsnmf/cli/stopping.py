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


@contextmanager
def stoppable() -> Iterator[None]:
    """Signals raise Stopped inside. Signals that were ignored before stay ignored (nohup)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    stopped = False

    def stop(number: int, _: Any) -> None:
        nonlocal stopped
        if number == signal.SIGINT or not stopped:  # a second Ctrl-C stops at once
            stopped = True
            raise Stopped(number)

    for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
