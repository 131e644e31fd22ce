"""What is shown while a command works: one bar for everything, or a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any, NamedTuple

import click

from .estimate import Estimate, Part, about, at_most, clock
from .output import printable

#: Nothing is printed before the first time, in seconds; then a line at this interval.
_SHORT = 2.0
_INTERVAL = 5.0


class Display:
    """Shows the progress of a command. This class shows nothing."""

    def title(self, text: str, part: str = "") -> None:
        """Show what is done now; ``part`` is its name in the plan, if it has one."""

    def plan(self, parts: Sequence[Part]) -> None:
        """Set the parts that are still to be done, in order. The first begins now."""

    def update(self, stage: str, done: int, total: int) -> None:
        """Show the progress."""


@contextmanager
def working(quiet: bool) -> Iterator[Display]:
    """Show the progress of the work inside, on the standard error."""
    from ..core.work import observed

    with _display(quiet) as display, observed(display.update):
        yield display


def elapsed() -> float:
    """The seconds since the user started the command."""
    context = click.get_current_context(silent=True)
    return 0.0 if context is None else time.monotonic() - float(context.find_root().obj)


def _display(quiet: bool) -> AbstractContextManager[Display]:
    if quiet:
        return nullcontext(Display())
    if sys.stderr.isatty() and find_spec("rich"):
        return _rich_bar()
    return _Lines()


class Shown(NamedTuple):
    """What is shown at one moment."""

    title: str
    steps: str  # of the stage, if there is one
    elapsed: float
    left: float | None  # seconds, for all of the work
    share: float | None  # of all of the work


class _State(Display):
    """The current progress, which another thread can show at any time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.text, self.stage, self.done, self.total = "", "", 0, 0
        self.estimate = Estimate(time.monotonic() - elapsed())

    def title(self, text: str, part: str = "") -> None:
        with self.lock:
            self.text, self.stage, self.done, self.total = printable(text), "", 0, 0
            if part:
                self.estimate.reach(part, time.monotonic())

    def plan(self, parts: Sequence[Part]) -> None:
        with self.lock:
            self.estimate.plan(parts, time.monotonic())

    def update(self, stage: str, done: int, total: int) -> None:
        with self.lock:
            if self.estimate.reach(stage, time.monotonic()):
                self.estimate.step(stage, done, total)
            elif self.estimate.known:
                return  # a part of a part
            self.stage, self.done, self.total = stage, done, total

    def _steps(self) -> str:
        most = at_most(self.stage)
        if most and self.estimate.known:  # the time left says more than steps without a known end
            return self.stage
        return f"{self.stage}, {self.done} of {'at most ' * most}{self.total}"

    def now(self, moment: float) -> Shown:
        with self.lock:
            share = self.estimate.share(moment)
            left = self.estimate.told[1] if self.estimate.told else None
            passed = moment - self.estimate.begun
            return Shown(self.text, self._steps() if self.stage else "", passed, left, share)


@contextmanager
def _rich_bar() -> Iterator[_State]:
    """A bar by rich, which disappears at the end."""
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn
    from rich.progress_bar import ProgressBar
    from rich.table import Column
    from rich.text import Text

    state = _State()

    class Words(ProgressColumn):
        def render(self, task: Any) -> Text:
            shown = state.now(time.monotonic())
            return Text(shown.steps or shown.title)

    class Bar(ProgressColumn):
        def render(self, task: Any) -> ProgressBar:
            share = state.now(time.monotonic()).share
            return ProgressBar(1.0, share or 0.0, width=20, pulse=share is None)

    class Times(ProgressColumn):
        def render(self, task: Any) -> Text:
            shown = state.now(time.monotonic())
            left = "" if shown.left is None else f", {about(shown.left)}"
            return Text(f"elapsed {clock(shown.elapsed)}{left}")

    # Always one line: in a narrow terminal the words are cut.
    words = Words(Column(no_wrap=True, overflow="ellipsis", ratio=1))
    columns = (SpinnerColumn(), words, Bar(), Times(Column(no_wrap=True)))
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bars:
        bars.add_task("", total=None)
        yield state


class _Lines(_State):
    """Prints a line now and then, in its own thread, because some work has no steps."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Lines:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def _run(self) -> None:
        pause = _SHORT
        while not self.ended.wait(pause):
            if self.text:  # on a busy machine there may be none yet
                click.echo(self.line(time.monotonic()), err=True)
                pause = _INTERVAL

    def line(self, moment: float) -> str:
        shown = self.now(moment)
        left = "" if shown.left is None else f"; {about(shown.left)}"
        words = f"{shown.title}: {shown.steps}" if shown.steps else shown.title
        return f"{words}; elapsed {shown.elapsed:.0f} s{left}"
