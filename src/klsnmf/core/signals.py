"""Work that signals must not cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals wait until the work inside is done.

    These are the signals that Python code handles, such as Ctrl-C. All others act as before. An
    exception of a handler can appear between any two lines, also where Python ignores exceptions,
    and then the signal would be lost.
    """
    if threading.current_thread() is not threading.main_thread():  # it handles no signals
        yield
        return
    waiting: dict[int, None] = {}
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    handled = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in handled:
            signal.signal(number, lambda came, _: waiting.setdefault(came))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for came in waiting:
            signal.raise_signal(came)
