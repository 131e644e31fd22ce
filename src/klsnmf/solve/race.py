"""Starts compete in single precision; the winner is fitted in double precision.

Which of ten starts ends lowest shows in the first digits of the objective, and single precision
tells those in half the time. The winner is fitted again from its start, so a fit of many starts
ends exactly as a fit from that start alone. Where little is left of the objective, single precision
has no digits of it: then all starts are fitted in double.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.memory import NotEnoughMemory
from ..core.types import Array
from ..models.base import Model
from .loop import solve
from .solution import Callback, Progress, Solution, Status, lowest

#: With fewer starts, or fewer operations in the products of an iteration, a race gains nothing.
FEWEST = 6
WORTH = 4e6

#: Where a fit can go on from where it was, all starts take so many steps, and so many go on. On
#: digits GNMF ended 1.1 % higher so than with all ten fitted to the end.
SCREENING = 50
FINALISTS = 2

#: Objectives that differ by less than so many rounding errors are equal.
EQUAL = 10

#: The share of itself to which an objective must be known; the tolerance, where there is one.
KNOWN = 1e-4


def raced(
    models: Sequence[Model],
    starts: Sequence[Mapping[str, Array]],
    *,
    tol: float,
    callback: Callback | None = None,
    **how: Any,
) -> list[Solution]:
    """As `solve` for fits that differ in their start alone, but only the winner's solution.

    All of them, where single precision cannot tell which start is best, or would save no time.
    A callback hears of the race first. Once it says stop, the best so far is returned.
    """
    blur = EQUAL * float(np.finfo(np.float32).eps) * models[0].scale
    umpire = _Umpire(callback, least=blur / (tol or KNOWN))
    tried = _tried(models[0], starts, tol=tol, callback=umpire.hears, **how)
    sound = [one for one in tried if not one.collapsed]
    if sound and umpire.stop:
        return [_like(starts[0], lowest(sound))]
    if sound and not umpire.undecided:
        # The first of those that are equal, so that rounding does not decide.
        end = lowest(sound).objective + blur
        first = next(one for one in sound if one.objective <= end)
        starts = [
            models[0].resumed(start, one.factors)
            for start, one in zip(starts, tried, strict=True)
            if one is first
        ]
    hearer = umpire.heard if callback else None
    found = screened(models[: len(starts)], starts, tol=tol, callback=hearer, **how)
    stopped = any(one.status is Status.STOPPED for one in found)
    if sound and stopped and lowest(sound).objective < lowest(found).objective:
        return [replace(_like(starts[0], lowest(sound)), status=Status.STOPPED)]
    return found


def screened(
    models: Sequence[Model], starts: Sequence[Mapping[str, Array]], *, max_iter: int, **how: Any
) -> list[Solution]:
    """As `solve`, but after some steps only the lowest fits go on, where a model can go on.

    The others are returned as they were then.
    """
    if not models[0].resumes or len(starts) <= FINALISTS or max_iter <= SCREENING:
        return solve(models, starts, max_iter=max_iter, **how)
    found = solve(models, starts, max_iter=SCREENING, **how)
    if any(one.status is Status.STOPPED for one in found):
        return found
    order = sorted(range(len(found)), key=lambda i: (found[i].collapsed, found[i].objective))
    on = [i for i in order[:FINALISTS] if found[i].status is Status.EXHAUSTED]
    if on:
        ways = [models[i].resumed(starts[i], found[i].factors) for i in on]
        ends = solve([models[i] for i in on], ways, max_iter=max_iter - SCREENING, **how)
        for i, end in zip(on, ends, strict=True):
            before = found[i].history
            history = {name: np.concatenate([before[name], end.history[name]]) for name in before}
            found[i] = replace(end, history=history)
    return found


@dataclass
class _Umpire:
    """Hears what the callback hears, and sees when the race cannot be decided.

    The objective falls: as soon as its lowest value is below ``least``, single precision no longer
    knows it well enough.
    """

    callback: Callback | None
    least: float
    stop: bool = False
    undecided: bool = False

    def heard(self, progress: Progress) -> bool:
        self.stop = self.stop or bool(self.callback and self.callback(progress))
        return self.stop

    def hears(self, progress: Progress) -> bool:
        self.undecided = not progress.objective > self.least  # NaN is not
        return self.heard(progress) or self.undecided


def _tried(model: Model, starts: Sequence[Mapping[str, Array]], **how: Any) -> list[Solution]:
    """The fits in single precision; none where there is nothing to gain, or no room."""
    if len(starts) < FEWEST or work(model, starts[0]) < WORTH:
        return []
    # What is too large for single precision drops out of the race, and nobody need hear of it.
    with np.errstate(all="ignore"), suppress(NotEnoughMemory):
        rough = model.in_single_precision()
        if rough is not model:
            light = [{name: V.astype(np.float32) for name, V in start.items()} for start in starts]
            return screened([rough] * len(light), light, **{**how, "phase": "race"})
    return []


def _like(start: Mapping[str, Array], one: Solution) -> Solution:
    """The solution in the precision of the start."""
    factors = {name: V.astype(start[name].dtype) for name, V in one.factors.items()}
    return replace(one, factors=factors)


def work(model: Model, start: Mapping[str, Array]) -> float:
    """The operations of the products of an iteration."""
    return sum(
        operator.flops * start[factor].shape[1] for operator, factor in model.products().values()
    )
