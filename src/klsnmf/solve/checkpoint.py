"""Fits that continue where they were interrupted.

A fit is a fixed sequence: starts are chosen, then the loop runs once or several times, then perhaps
more starts follow. Its *journal* has an entry for each of these. If the same fit begins again, it
takes the results from the entries, and continues the last run of the loop. K is computed again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..core.archive import refused_by
from ..core.arrays import require_host
from ..core.signals import undisturbed
from ..core.types import Array, Matrix
from ..core.warn import warn
from ..core.writing import remove_leftovers, written_aside
from .checkpoint_files import (
    Begun,
    CheckpointError,
    Content,
    Entry,
    Generator,
    Stage,
    damaged,
    read,
    write,
)
from .fingerprints import fingerprint
from .loop import NO_JOURNAL, Journal, Keeper
from .solution import Standing, Start

#: At least so many seconds are between two writes: a killed process may lose these. And the share
#: of the time that writing may take: after a slow write, the next one waits longer.
PAUSE = 10.0
SHARE = 0.02

#: Losses of the same factors and the same K differ only by rounding, more in single precision.
_SAME = 1e-3


def journal_of(
    estimators: Sequence[Any], X: Matrix, checkpoint: str | os.PathLike[str] | None
) -> Journal:
    """The journal of a fit of these estimators, which differ only in ``lam``, to these samples."""
    if checkpoint is None:
        return NO_JOURNAL
    first = estimators[0]
    require_host(X, f"checkpoint={os.fspath(checkpoint)!r}", "set checkpoint=None")
    path = Path(os.path.abspath(checkpoint))
    if not path.parent.is_dir():
        raise CheckpointError(
            f"checkpoint={os.fspath(checkpoint)!r} cannot be written: there is no folder "
            f"{path.parent}. Make it, or name another file."
        )
    generator = None
    if first.random_state is None or isinstance(first.random_state, np.random.RandomState):
        generator = check_random_state(first.random_state)
        if generator.get_state(legacy=False)["bit_generator"] != "MT19937":
            raise ValueError(
                "With checkpoint, random_state must be a number, None or a plain RandomState: the "
                "state of other generators is not kept."
            )
    journal = _FileJournal(path, fingerprint(estimators, X), generator)
    if first.verbose and journal.entries:
        print(f"continuing from {path}, {journal.standing}")
    return journal


class _FileJournal(Journal):
    """A journal in a file, which is removed when the fit is done."""

    def __init__(
        self, path: Path, fingerprint: dict[str, Any], generator: np.random.RandomState | None
    ) -> None:
        self.path, self.generator = path, generator
        self.content = Content(fingerprint, _state(generator), [])
        self.known = None  # what tells the file from one that another program put there
        with suppress(FileNotFoundError):
            self.known = _identity(path)
            self.content = read(path, fingerprint)
            self._set_generator(self.content.generator)
        self.entries: list[Entry] = list(self.content.entries)
        self.at = 0  # the entry that comes next
        self.kept = bool(self.entries)  # whether there is a file
        self.written = True  # whether all is in it
        self.warned = False
        self.ended, self.took = time.monotonic(), 0.0  # the last writing

    def starts(self, shape: tuple[int, int], dtype: Any) -> Sequence[Start]:
        if self.at == len(self.entries):
            return []
        with refused_by(partial(damaged, self.path)):
            entry = self.entries[self.at]
            if not isinstance(entry, Begun):
                raise ValueError("starts are missing")
            entry.check(shape, dtype)
            return entry.starts

    def begin(self, starts: Sequence[Start], threshold: Callable[[], float]) -> float:
        if self.at == len(self.entries):
            self.entries.append(Begun(starts, threshold(), _state(self.generator)))
            self.written = False
        entry = self.entries[self.at]
        assert isinstance(entry, Begun)
        self.at += 1
        self._set_generator(entry.generator)
        return entry.threshold

    def keeper(self, *, continues: bool) -> Keeper:
        self.at += 1
        return _StageKeeper(self, self.at - 1, continues)

    def note(self, stage: Stage, place: int, continues: bool) -> None:
        """Add a stage, and write it if it is time.

        An interrupt may come between any two lines here. The entries are complete at all times:
        while they are copied they are those of the loop, and then the copies.
        """
        before, old = self.entries[:place], self.entries[place:]
        if continues and not old:
            # This run has its own factors now, so those of the previous run are not needed.
            before[-1] = _without_factors(before[-1])
        self.entries = [*before, stage]
        self.entries = [*before, _copied(stage, old[0] if old else None)]
        self.written = False
        if time.monotonic() - self.ended > max(PAUSE, self.took / SHARE):
            self._write()

    @property
    def standing(self) -> str:
        """How far the journal goes, in words."""
        done = sum(entry.iteration for entry in self.entries if isinstance(entry, Stage))
        return f"after {done} iterations"

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if error is None:
            self._remove()
            return
        if not self.written:
            self._write()
        if isinstance(error, CheckpointError):
            return
        if not self.entries:
            error.add_note("No iteration was done yet, so there is no checkpoint.")
        elif self.kept and self.written:
            error.add_note(
                f"The checkpoint {self.path} has the fit {self.standing}. Run the same fit again "
                "to continue from there."
            )

    def _set_generator(self, state: Generator | None) -> None:
        if (state is None) != (self.generator is None):
            raise damaged(self.path, "the state of the random generator is missing")
        if self.generator is not None and state is not None:
            self.generator.set_state(state)

    def _write(self) -> None:
        begun = time.monotonic()
        if not self._own():
            return
        try:
            with undisturbed():
                with written_aside(self.path) as file:
                    write(file, replace(self.content, entries=self.entries))
                self.known = _identity(self.path)
                self.kept = self.written = True
        except (OSError, MemoryError) as error:
            there = self.kept and self.path.exists()
            earlier = " What was written before is still there." if there else ""
            self._warn(f"could not be written ({_reason(error)}); the fit goes on.{earlier}")
        self.ended = time.monotonic()
        self.took = self.ended - begun

    def _remove(self) -> None:
        try:
            remove_leftovers(self.path)
            if self._own():
                self.path.unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"could not be removed ({_reason(error)}): delete it yourself.")

    def _own(self) -> bool:
        """Whether this fit has read or written the file, or there is none."""
        now = None
        with suppress(FileNotFoundError):
            now = _identity(self.path)
        if now is None or now == self.known:
            return True
        self.kept = False
        self._warn(
            "is now a file of another program. It was neither used nor removed, and the fit goes "
            "on without a checkpoint."
        )
        return False

    def _warn(self, what: str) -> None:
        """Warn once per fit."""
        if not self.warned:
            self.warned = True
            warn(f"The checkpoint {self.path} {what}", RuntimeWarning)


class _StageKeeper(Keeper):
    """Keeps one run of the loop, which is one entry of a journal."""

    def __init__(self, journal: _FileJournal, place: int, continues: bool) -> None:
        self.journal, self.place, self.continues = journal, place, continues

    def restore(self, starts: Sequence[Mapping[str, Array]], max_iter: int) -> list[Standing]:
        entries = self.journal.entries
        if self.place == len(entries):
            return []
        with refused_by(partial(damaged, self.journal.path)):
            entry = entries[self.place]
            if not isinstance(entry, Stage):
                raise ValueError("a run is missing")
            entry.check(starts, max_iter)
            return list(entry.fits)

    def confirm(self, difference: float) -> None:
        if not difference < _SAME:
            raise damaged(self.journal.path, "the objective of its factors is another now")

    def keep(self, standings: Callable[[], Sequence[Standing]]) -> None:
        fits = standings()
        iteration = max(len(fit.losses) for fit in fits)
        self.journal.note(Stage(iteration, fits), self.place, self.continues)


def _copied(stage: Stage, old: Entry | None) -> Stage:
    """The stage with factors of its own, in the memory of an old stage of the same run."""
    fits = []
    for place, fit in enumerate(stage.fits):
        factors = old.fits[place].factors if isinstance(old, Stage) else {}
        if not factors:
            factors = {name: value.copy(order="K") for name, value in fit.factors.items()}
        elif len(fit.losses) == stage.iteration:  # others have not moved since
            for name, value in fit.factors.items():
                np.copyto(factors[name], value)
        fits.append(replace(fit, factors=factors))
    return Stage(stage.iteration, fits)


def _without_factors(entry: Entry) -> Entry:
    assert isinstance(entry, Stage)
    return replace(entry, fits=[replace(fit, factors={}) for fit in entry.fits])


def _state(generator: np.random.RandomState | None) -> Any:
    return None if generator is None else generator.get_state()


def _identity(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
