"""What a person sees while a command works: a bar with the time left, or a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any

import click

from .output import printable

#: Work that ends sooner is not mentioned; then there is a line every so many seconds.
_SHORT = 2.0
_INTERVAL = 5.0


class Display:
    """What is told while a command works. This one shows nothing."""

    def title(self, text: str) -> None:
        """Say what is done now."""

    def update(self, stage: str, done: int, total: int) -> None:
        """Say how far it is."""


@contextmanager
def working(quiet: bool) -> Iterator[Display]:
    """Show the progress of what goes on inside, on the standard error."""
    from ..core.work import observed

    with _display(quiet) as display, observed(display.update):
        yield display


def _display(quiet: bool) -> AbstractContextManager[Display]:
    if quiet:
        return nullcontext(Display())
    if sys.stderr.isatty() and find_spec("rich"):
        return _rich_bar()
    return _Lines()


class _Bar(Display):
    """A bar of rich, which disappears at the end."""

    def __init__(self, bars: Any) -> None:
        self.bars, self.text, self.stage = bars, "", ""
        self.task = bars.add_task("", total=None)

    def title(self, text: str) -> None:
        self.text, self.stage = printable(text), ""
        self.bars.reset(self.task, total=None, description=self.text)

    def update(self, stage: str, done: int, total: int) -> None:
        if stage != self.stage:
            self.stage = stage
            self.bars.reset(self.task, total=total, description=f"{self.text}: {stage}")
        self.bars.update(self.task, completed=done)


@contextmanager
def _rich_bar() -> Iterator[_Bar]:
    from rich import progress as rich
    from rich.console import Console

    text = rich.TextColumn("{task.description}", markup=False)
    left = (rich.TextColumn("left:"), rich.TimeRemainingColumn())
    columns = (rich.SpinnerColumn(), text, rich.BarColumn(), rich.TimeElapsedColumn(), *left)
    # Steps can be minutes apart: the speed is that of all the time, not of the last half minute.
    err = Console(stderr=True)
    with rich.Progress(*columns, console=err, transient=True, speed_estimate_period=1e9) as bars:
        yield _Bar(bars)


class _Lines(Display):
    """A line now and then, from a thread of its own: some work has no steps to tell of."""

    def __init__(self) -> None:
        self.text, self.stage, self.done, self.total = "", "", 0, 0
        self.begun = self.stage_begun = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Lines:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def title(self, text: str) -> None:
        self.text, self.stage, self.done, self.total = printable(text), "", 0, 0
        self.stage_begun = time.monotonic()

    def update(self, stage: str, done: int, total: int) -> None:
        if stage != self.stage:
            self.stage, self.stage_begun = stage, time.monotonic()
        self.done, self.total = done, total

    def _run(self) -> None:
        pause = _SHORT
        while not self.ended.wait(pause):
            if self.text:  # on a busy machine it may have none yet
                click.echo(self.line(time.monotonic()), err=True)
                pause = _INTERVAL

    def line(self, now: float) -> str:
        words = [f"{self.text}, {now - self.begun:.0f} s so far"]
        if self.stage:
            # Iterations end when the fit has converged, usually long before the last.
            bound = self.stage.endswith("iterations")
            words.append(f"{self.stage}: {self.done} of {'at most ' * bound}{self.total}")
            if self.done:
                left = (now - self.stage_begun) * (self.total - self.done) / self.done
                words.append(f"{'at most' if bound else 'about'} {left:.0f} s left for these")
        return "; ".join(words)
