"""Starts compete in single precision; the winner is fitted in double precision.

Which of ten starts ends lowest shows in the first digits of the objective, and single precision
tells those in half the time. The winner is fitted again from its start, so a fit of many starts
ends exactly as a fit from that start alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._typing import Array
from .models import Model
from .solver import Solution, Status, solve

#: Operations of the products of an iteration below which precision hardly changes their time.
WORTH = 1e6

#: Objectives that differ by less than this are equal, in units of their rounding error.
EQUAL = 10

#: An objective below this, in the same unit, is mostly rounding error itself.
TOLD = 100


def raced(
    models: Sequence[Model], starts: Sequence[Mapping[str, Array]], **how: Any
) -> list[Solution]:
    """As `solve` for fits that differ in their start alone, but only the winner's solution.

    All of them, where single precision cannot tell which start is best, or would save no time.
    A callback hears of the competition first. If it says stop, all stop where they are.
    """
    rough = models[0].in_single_precision()
    if len(starts) == 1 or rough is models[0] or work(models[0], starts[0]) < WORTH:
        return solve(models, starts, **how)
    light = [{name: V.astype(np.float32) for name, V in start.items()} for start in starts]
    tried = solve([rough] * len(light), light, **{**how, "phase": "race"})
    if any(one.status is Status.STOPPED for one in tried):
        for one, start in zip(tried, starts, strict=True):
            one.factors = {name: V.astype(start[name].dtype) for name, V in one.factors.items()}
        return tried
    ends = np.array([one.objective for one in tried])
    ends[[one.status is Status.COLLAPSED for one in tried]] = np.inf
    rounding = np.finfo(np.float32).eps * rough.scale
    if not TOLD * rounding < ends.min() < np.inf:
        return solve(models, starts, **how)
    # The first of those that are equal, so that rounding does not decide.
    winner = int(np.argmax(ends <= ends.min() + EQUAL * rounding))
    return solve(models[:1], [starts[winner]], **how)


def work(model: Model, start: Mapping[str, Array]) -> float:
    """The operations of the products of an iteration."""
    return sum(
        operator.flops * start[factor].shape[1] for operator, factor in model.products().values()
    )
