"""Starts compete in single precision; the winner is fitted in double precision.

The first digits of the objective show which of ten starts ends lowest, and single precision
computes them in half the time. The winner is fitted again from its start, so the result is exactly
that of a fit from this start alone; or, if the model can continue from its factors, it goes on from
the end of the race. Then the first steps of a single start are taken in single precision too. If
the objective becomes very small, single precision has no correct digits of it, and cannot tell
starts apart. Then all starts are fitted in double precision.
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

#: With fewer starts, if the winner has to begin again, or with fewer operations in the products of
#: an iteration, a race gains nothing.
FEWEST = 6
WORTH = 4e6

#: If fits can be continued, all starts take so many steps, and then so many of them continue. On
#: digits, GNMF ended 1.1 % higher than with all ten starts fitted to the end.
SCREENING = 50
FINALISTS = 2

#: Objectives that differ by less than so many rounding errors are equal.
EQUAL = 10

#: The relative precision to which an objective must be known; the tolerance, if there is one.
KNOWN = 1e-4


def raced(
    models: Sequence[Model],
    starts: Sequence[Mapping[str, Array]],
    *,
    tol: float,
    callback: Callback | None = None,
    **how: Any,
) -> list[Solution]:
    """Like `solve` for fits that differ only in their start, but with only the winner's solution.

    All solutions are returned if single precision cannot tell which start is best, or saves no
    time. A callback sees the race first. If it stops the fit, the best start so far is returned.
    """
    blur = EQUAL * float(np.finfo(np.float32).eps) * models[0].scale
    least = blur / (tol or KNOWN) if len(starts) > 1 else 0.0
    umpire = _Umpire(callback, least)
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
    """Like `solve`, but after some steps only the lowest fits continue, if the model can.

    The others are returned in their state at that time.
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
    """Follows the progress, and notices if the race cannot be decided.

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
    """The fits in single precision; none if nothing can be gained, or if memory is short."""
    begins_again = not model.resumes or how["tol"] == 0
    if (begins_again and len(starts) < FEWEST) or work(model, starts[0]) < WORTH:
        return []
    # Numbers too large for single precision leave the race without a warning.
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
