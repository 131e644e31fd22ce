"""Starts compete in single precision; the winner is fitted in double precision.

Which of ten starts ends lowest shows in the first digits of the objective, and single precision
tells those in half the time. The winner is fitted again from its start, so a fit of many starts
ends exactly as a fit from that start alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._typing import Array
from .models import Model
from .solver import Callback, Progress, Solution, Status, solve

#: Operations of the products of an iteration below which precision hardly changes their time.
WORTH = 1e6

#: Objectives that differ by less than this are equal, in units of their rounding error.
EQUAL = 10

#: An objective below this, in the same unit, is mostly rounding error itself.
TOLD = 100


def raced(
    models: Sequence[Model],
    starts: Sequence[Mapping[str, Array]],
    *,
    callback: Callback | None = None,
    **how: Any,
) -> list[Solution]:
    """As `solve` for fits that differ in their start alone, but only the winner's solution.

    All of them, where single precision cannot tell which start is best, or would save no time.
    A callback hears of the competition first. Once it says stop, the best so far is returned.
    """
    heard = _Ear(callback)
    tried = _tried(models[0], starts, callback=heard, **how)
    if heard.stop:
        return _in_precision_of(starts, tried)
    winner = _winner(tried, models[0].scale)
    if winner is None:
        return solve(models, starts, callback=callback, **how)
    (found,) = solve(models[:1], [starts[winner]], callback=callback, **how)
    if found.status is Status.STOPPED and tried[winner].objective < found.objective:
        found = replace(tried[winner], status=found.status, verdict=found.verdict)
        return _in_precision_of(starts, [found])
    return [found]


@dataclass
class _Ear:
    """A callback, and whether it ever said stop."""

    callback: Callback | None
    stop: bool = False

    def __call__(self, progress: Progress) -> bool:
        self.stop |= bool(self.callback and self.callback(progress))
        return self.stop


def _tried(model: Model, starts: Sequence[Mapping[str, Array]], **how: Any) -> list[Solution]:
    """The fits in single precision; none where there is nothing to gain."""
    if len(starts) == 1 or work(model, starts[0]) < WORTH:
        return []
    # What is too large for single precision drops out of the race, and nobody need hear of it.
    with np.errstate(all="ignore"):
        rough = model.in_single_precision()
        if rough is model:
            return []
        light = [{name: V.astype(np.float32) for name, V in start.items()} for start in starts]
        return solve([rough] * len(light), light, **{**how, "phase": "race"})


def _winner(tried: Sequence[Solution], scale: float) -> int | None:
    """The place of the lowest objective; None where rounding may be all that it is."""
    rounding = float(np.finfo(np.float32).eps) * scale
    ends = [np.inf if one.status is Status.COLLAPSED else one.objective for one in tried]
    lowest = min(ends, default=np.inf)
    if not TOLD * rounding < lowest < np.inf:
        return None
    # The first of those that are equal, so that rounding does not decide.
    return next(place for place, end in enumerate(ends) if end <= lowest + EQUAL * rounding)


def _in_precision_of(
    starts: Sequence[Mapping[str, Array]], found: Sequence[Solution]
) -> list[Solution]:
    return [
        replace(
            one, factors={name: V.astype(starts[0][name].dtype) for name, V in one.factors.items()}
        )
        for one in found
    ]


def work(model: Model, start: Mapping[str, Array]) -> float:
    """The operations of the products of an iteration."""
    return sum(
        operator.flops * start[factor].shape[1] for operator, factor in model.products().values()
    )
