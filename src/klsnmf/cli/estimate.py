"""How long a command will still take: the parts that are left, at the speed of those done.

The time of each part of a fit is estimated from n, p and k. The parts that are done show how fast
the machine is. If either is unknown, no time is shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

#: No time is shown before so many seconds of work, which show how fast the machine is.
_BASIS = 0.5

#: The weight of the speed of a usual machine, in seconds, against the speed that was seen.
_PRIOR = 1.0

#: After this share of the steps of a part, its time is estimated from them.
_SHARE = 0.1

#: A part that is late is expected to need this share of its delay in addition.
_OVERTIME = 0.5

#: Seconds in which the time shown follows the estimate; more if hours are left.
_SLOWNESS = 6.0

#: The time of the map of a report grows up to this many samples.
_ON_MAP = 2000

#: Samples that each is compared with, at most: of more, those in the cells around it.
_EXACT = 20_000

#: Seconds in which one core places a sample among those of a part.
_PLACED = 2e-4

#: -k auto needs as many eigenvectors as this many clusters.
_AUTO = 30

#: Stages, by their last word, that end on convergence, usually long before the last step.
_AT_MOST = ("iterations", "eigenvectors")


class Part(NamedTuple):
    """A part of the work, and the seconds that it takes on a usual machine; None if unknown."""

    name: str
    seconds: float | None


def at_most(stage: str) -> bool:
    """Whether the steps of a stage are the most that there can be."""
    return stage.split()[-1] in _AT_MOST


def parts_of_clustering(method: str, n: int, width: float, k: int | str) -> list[Part]:
    """The parts of ``klsnmf cluster`` after its reading, for n samples of ``width`` numbers each.

    The numbers are seconds of one core, found with 300 to 20,000 samples; their ratios are what
    counts. Of other methods than the default the time depends on how soon they converge.
    """
    from ..core import sketch  # which needs numpy

    clusters, placed = _AUTO if k == "auto" else int(k), 0
    if method == "kls-nmf" and n > sketch.ALL:
        n, placed = sketch.PART, n
    after = [Part("strengths", 0.05), Part("results", 1.0 + 3e-3 * min(n, _ON_MAP))]
    if method != "kls-nmf":
        return [Part("fit", None), *after]
    counting = [Part("numbers of clusters", 0.3 + 1e-5 * n)] if k == "auto" else []
    return [
        Part("neighbours", 6e-9 * min(n, _EXACT) * n * (1 + width / 170)),
        Part("eigenvectors", 1.4e-5 * n * clusters),
        *counting,
        Part("starts", 0.05 + 4e-6 * n * min(clusters, _AUTO)),
        Part("iterations", 0.1 + 1.2e-6 * n * clusters),
        *([Part("samples placed", _PLACED * placed)] if placed else []),
        *after,
    ]


class Estimate:
    """Where a command is among its parts, and how long it will still take.

    The caller gives it all times, in seconds of one clock.
    """

    def __init__(self, begun: float) -> None:
        self.begun = self.part_begun = begun
        self.parts: list[Part] = []
        self.place = 0
        self.steps = 0.0  # the share of the current part's steps that are done, if known
        self.taken = self.expected = 0.0  # seconds of the parts that are done
        self.told: tuple[float, float] | None = None  # when, and the seconds left
        self.furthest = 0.0

    def plan(self, parts: Sequence[Part], now: float) -> None:
        """Set all parts that are to come. The first begins now."""
        self.parts, self.place = list(parts), 0
        self.part_begun, self.steps = now, 0.0

    @property
    def known(self) -> bool:
        """Whether the current part is one whose time is known."""
        return bool(self.parts) and self.parts[self.place].seconds is not None

    def reach(self, stage: str, now: float) -> bool:
        """Go to the part of this stage, and return whether it is this part or a later one.

        The parts before it are done. A stage that is repeated does not turn back the clock.
        """
        for place in range(self.place, len(self.parts)):
            if stage == self.parts[place].name or stage.split()[-1] == self.parts[place].name:
                if place > self.place:
                    self._finish(place, now)
                return True
        return False

    def _finish(self, place: int, now: float) -> None:
        done = [part.seconds for part in self.parts[self.place : place]]
        if all(seconds is not None for seconds in done):
            self.taken += now - self.part_begun
            self.expected += math.fsum(seconds or 0.0 for seconds in done)
        self.place, self.part_begun, self.steps = place, now, 0.0

    def step(self, stage: str, done: int, total: int) -> None:
        """Set how many steps of the current part are done."""
        self.steps = 0.0 if at_most(stage) or not total else done / total

    def left(self, now: float) -> float | None:
        """The seconds left for all parts, as far as known now; None if unknown."""
        if not self.parts:
            return None
        part, spent = self.parts[self.place], now - self.part_begun
        later = [each.seconds for each in self.parts[self.place + 1 :]]
        if any(seconds is None for seconds in later):
            return None
        steps = self.steps if self.steps >= _SHARE else 0.0
        counted = spent * (1 - steps) / steps if steps else 0.0
        taken, expected = self.taken, self.expected
        if part.seconds is None:
            if not steps:
                return None
            here, speed = counted, self._speed(taken, expected)
        else:
            if steps:
                taken, expected = taken + spent, expected + steps * part.seconds
            if self.told is None and taken < _BASIS:
                return None
            speed = self._speed(taken, expected)
            here = speed * part.seconds - spent
            here = here if here > 0 else -_OVERTIME * here
            here = steps * counted + (1 - steps) * here
        return here + speed * math.fsum(seconds or 0.0 for seconds in later)

    def _speed(self, taken: float, expected: float) -> float:
        """How many seconds this machine needs for one second of a usual machine."""
        return (taken + _PRIOR) / (expected + _PRIOR)

    def steady(self, now: float) -> float | None:
        """The seconds left to show: a clock that runs down and is corrected little by little.

        It follows the estimate within some seconds, and never jumps.
        """
        left = self.left(now)
        if left is None:
            self.told = None
        elif self.told is None:
            self.told = now, left
        else:
            then, shown = self.told
            shown = max(shown - (now - then), 0.0)
            slowness = max(_SLOWNESS, shown / 10)
            self.told = now, shown + (left - shown) * -math.expm1(-(now - then) / slowness)
        return None if self.told is None else self.told[1]

    def share(self, now: float) -> float | None:
        """The share of the whole time that has passed. It never decreases. None if unknown."""
        left = self.steady(now)
        if left is None:
            return None
        elapsed = now - self.begun
        self.furthest = max(self.furthest, elapsed / max(elapsed + left, 1e-9))
        return self.furthest


def about(seconds: float) -> str:
    """The time left in words, no more precise than the estimate."""
    if seconds < 10:
        return "a few seconds left"
    if seconds < 100:
        return f"about {5 * round(seconds / 5)} s left"
    if seconds < 100 * 60:
        return f"about {round(seconds / 60)} min left"
    return f"about {round(seconds / 3600)} h left"


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:34 or 1:02:03."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
