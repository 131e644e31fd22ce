"""The loop: many fits side by side, one product with K for all of them.

``solve`` does not depend on any method. A model defines a step; the loop handles iterations,
stopping, history and the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from typing import Any, Self

import numpy as np

from ..core.arithmetic import inner
from ..core.arrays import cast, follows_lists, precision
from ..core.types import Array, Labels
from ..core.work import allowed_threads, side_by_side, tell, threads_for
from ..models.base import Model, State
from .solution import Callback, End, Progress, Solution, Standing, Start, Status, Trouble

#: If a model can compute its residual, it is computed after every so many iterations.
LOOK = 5

#: Numbers of all fits, in factors and products, for which a thread more is worth it.
_NUMBERS_PER_THREAD = 2**19

#: A fit has collapsed if more than this share of samples fit no cluster.
MOST_LOST = 0.5


class Keeper:
    """Keeps the state of fits, so that a later run can continue. This one keeps nothing."""

    def restore(self, starts: Sequence[Mapping[str, Array]], max_iter: int) -> list[Standing]:
        """The state of an earlier run from these starts; empty if there was none."""
        return []

    def confirm(self, difference: float) -> None:
        """Is given the relative difference between the losses of restored fits and the old ones."""

    def keep(self, standings: Callable[[], Sequence[Standing]]) -> None:
        """Is called after every iteration with a function that returns the state of the fits.

        The factors belong to the loop, so copy what has to stay.
        """


#: For runs that are not continued.
NO_KEEPER = Keeper()


class Journal:
    """Keeps what a fit of several runs has done so far. This one keeps nothing."""

    def starts(self, shape: tuple[int, int], dtype: Any) -> Sequence[Start]:
        """The starts that an earlier fit chose at this point; none if it did not get here.

        Their factors have this shape and type.
        """
        return []

    def begin(self, starts: Sequence[Start], threshold: Callable[[], float]) -> float:
        """Note the starts of the runs that follow, and the λ* that goes with them."""
        return threshold()

    def keeper(self, *, continues: bool) -> Keeper:
        """The keeper for the next run of the loop, which may continue the previous one."""
        return NO_KEEPER

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        pass


#: For fits that are not continued.
NO_JOURNAL = Journal()


def solve(
    models: Sequence[Model],
    starts: Sequence[Mapping[str, Array]],
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    phase: str = "",
    keeper: Keeper = NO_KEEPER,
) -> list[Solution]:
    """Run one fit for each model and start, all in one batch.

    The models are of one kind and share their operators; they differ in their parameters.
    A fit leaves the batch when it has converged or collapsed, so later iterations cost less.
    ``tol=0`` runs exactly ``max_iter`` iterations. It continues from what ``keeper`` has kept.
    """
    batch = _Batch(models, starts)
    done = batch.restore(keeper.restore(starts, max_iter))
    # One thread for the many small steps; for the large products, as many as help.
    with threads_for(0):
        for product in batch.operators:
            if done or product not in models[0].late:
                batch.multiply(product)
        if done:
            keeper.confirm(max((fit.difference() for fit in batch.running), default=0.0))
            batch.retire()
        for iteration in range(done + 1, max_iter + 1):
            if not batch.running:
                break
            for factor in models[0].factors:
                batch.each(methodcaller("update", factor))
                batch.renew(factor)
            batch.each(methodcaller("judge", iteration, max_iter, tol))
            keeper.keep(batch.standings)
            tell(f"{phase} iterations".lstrip(), iteration, max_iter)
            if callback is not None and callback(batch.progress(iteration, max_iter, phase)):
                for fit in batch.running:
                    if fit.end is None or fit.end.status is Status.EXHAUSTED:
                        fit.finish(Status.STOPPED)
                keeper.keep(batch.standings)
                break
            batch.retire()
    return [fit.solution() for fit in batch.fits]


@dataclass
class _Fit:
    """One fit of a batch: views of its part of every stack, and its history."""

    model: Model
    state: State
    place: int
    losses: list[float] = field(default_factory=list)
    changes: dict[str, list[float]] = field(default_factory=dict)
    residuals: list[float] = field(default_factory=list)
    end: End | None = None
    labels: Labels = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def dtype(self) -> np.dtype[Any]:
        return precision(getattr(self.state, self.model.factors[0]))

    def update(self, factor: str) -> None:
        old = getattr(self.state, factor)
        new = self.model.update(factor, self.state)
        self.state.changed(factor)
        if new is old:  # updated in place because it is large, so its change is not known
            return
        old -= new
        self.changes.setdefault(factor, []).append(math.sqrt(inner(old, old)))
        old[...] = new

    def judge(self, iteration: int, max_iter: int, tol: float) -> None:
        """Note the loss, and decide whether to go on."""
        loss = self.model.loss(self.state)
        self.losses.append(loss)
        patience = self.model.patience
        moved = abs(self.losses[-1 - patience] - loss) if iteration > patience else np.inf
        # The loss is a difference of larger numbers; a change below their rounding counts as none.
        rounding = 10 * np.finfo(self.dtype).eps * self.model.scale
        if not np.isfinite(loss):
            self.finish(Status.COLLAPSED, Trouble.OVERFLOW)
        elif self.model.runaway(self.state):
            self.finish(Status.COLLAPSED, Trouble.GROWS)
        elif tol > 0 and self.stands_still(iteration, moved, rounding, tol):
            self.finish(Status.CONVERGED)
        elif iteration == max_iter:
            self.finish(Status.EXHAUSTED)

    def stands_still(self, iteration: int, moved: float, rounding: float, tol: float) -> bool:
        """Whether the residual is small or, if there is none, the loss hardly changes."""
        if iteration % LOOK == 0 or iteration == 1:
            residual = self.model.residual(self.state)
            if residual is not None:
                self.residuals.append(residual)
        if self.residuals:
            return self.residuals[-1] <= tol or moved < rounding
        return moved < max(tol * abs(self.losses[-1]), rounding) and self.model.settled(self.state)

    def finish(self, status: Status, trouble: Trouble | None = None) -> None:
        share = self.model.lost(self.state)
        if share > MOST_LOST:
            status, trouble = Status.COLLAPSED, Trouble.NO_CLUSTER
        self.end = End(status, trouble, share)
        self.labels = self.model.labels(self.state)

    def difference(self) -> float:
        """The change of the loss since it was last noted, relative to the numbers it is made of."""
        if self.end is not None:
            return 0.0
        noted = self.losses[-1]
        off = abs(self.model.loss(self.state) - noted) / max(self.model.scale, abs(noted))
        return off if off == off else np.inf

    def solution(self) -> Solution:
        assert self.end is not None
        history = {"objective": np.array(self.losses)}
        history |= {f"change_{name}": np.array(values) for name, values in self.changes.items()}
        residual = self.residuals[-1] if self.residuals else None
        factors = self.model.result(self.state)
        return Solution(factors, self.labels, history, **vars(self.end), residual=residual)


class _Batch:
    """The factors and products of all fits, each as a stack. Running fits come first."""

    def __init__(self, models: Sequence[Model], starts: Sequence[Mapping[str, Array]]) -> None:
        self.operators = models[0].products()
        self.threads = allowed_threads()
        count = len(models)
        starts = [model.begun(start) for model, start in zip(models, starts, strict=True)]
        rooms: dict[str, Callable[[], Array]] = {}
        for product, (operator, factor) in self.operators.items():
            rows, k = starts[0][factor].shape
            rooms.setdefault(factor, partial(operator.stack, count, rows, k))
            rooms[product] = partial(operator.stack, count, operator.shape[0], k)
        self.stacks: dict[str, Array] = {name: room() for name, room in rooms.items()}
        for factor in models[0].factors:
            blocks = [start[factor] for start in starts]
            if factor in self.stacks:
                for place, block in enumerate(blocks):
                    self.stacks[factor][place, ...] = cast(block, self.stacks[factor].dtype)
            else:  # it is in no product, so any memory order will do
                self.stacks[factor] = np.stack(blocks)
        for name, like in models[0].memory().items():
            self.stacks[name] = rooms[like]()  # like the others zero, but not written yet
        self.on_host = all(follows_lists(stack) for stack in self.stacks.values())
        self.fits = [_Fit(model, self._views(place), place) for place, model in enumerate(models)]
        self.running = list(self.fits)

    def _views(self, place: int) -> State:
        return State(**{name: stack[place, ...] for name, stack in self.stacks.items()})

    def each(self, work: Callable[[_Fit], None]) -> None:
        """What every running fit does with numbers of its own, over threads where they are many."""
        own = sum(math.prod(stack.shape[1:]) for stack in self.stacks.values())
        numbers = own * len(self.running)
        useful = min(1 + numbers // _NUMBERS_PER_THREAD, len(self.running))
        threads = min(useful, self.threads.get("blas", 1)) if self.on_host else 1

        def some(first: int) -> None:
            for fit in self.running[first::threads]:
                work(fit)

        side_by_side(some, range(threads))

    def renew(self, factor: str) -> None:
        """Update the products of a factor: from other products if possible, else computed."""
        known = [fit.model.known_products(factor, fit.state) for fit in self.running]
        for product, (_, of) in self.operators.items():
            if all(product in products for products in known):
                for fit, products in zip(self.running, known, strict=True):
                    getattr(fit.state, product)[...] = products[product]
            elif of == factor:
                self.multiply(product)

    def multiply(self, product: str) -> None:
        """Compute a product for all running fits at once."""
        operator, factor = self.operators[product]
        count = len(self.running)
        V, out = self.stacks[factor][:count, ...], self.stacks[product][:count, ...]
        with threads_for(operator.flops * count * V.shape[2], self.threads):
            operator.multiply(V, out)

    def retire(self) -> None:
        """Remove the fits that ended: each changes places with the last running fit."""
        for fit in [fit for fit in self.running if fit.end is not None]:
            last = self.running.pop()
            if last is not fit:
                self.running[fit.place] = last
                for stack in self.stacks.values():
                    ended = stack[fit.place, ...] + 0  # a copy, whatever kind of array it is
                    stack[fit.place, ...] = stack[last.place, ...]
                    stack[last.place, ...] = ended
                fit.place, last.place = last.place, fit.place
                fit.state, last.state = self._views(fit.place), self._views(last.place)

    def standings(self) -> list[Standing]:
        """The state of all fits, before those that ended in this iteration leave the batch."""
        return [
            Standing(
                fit.place,
                {name: getattr(fit.state, name) for name in fit.model.factors},
                fit.losses,
                fit.changes,
                fit.end,
                fit.labels,
            )
            for fit in self.fits
        ]

    def restore(self, standings: Sequence[Standing]) -> int:
        """Restore the state of all fits, and return the number of iterations that were done.

        Each fit gets its old place. Products are then computed with the same columns side by side,
        and are the same to the last bit.
        """
        if not standings:
            return 0
        done = max(len(standing.losses) for standing in standings)
        for fit, standing in zip(self.fits, standings, strict=True):
            for name, value in standing.factors.items():
                self.stacks[name][standing.place] = value
            fit.place, fit.state = standing.place, self._views(standing.place)
            fit.losses = list(standing.losses)
            fit.changes = {name: list(values) for name, values in standing.changes.items()}
            fit.end, fit.labels = standing.end, standing.labels
        ran = [fit for fit in self.fits if len(fit.losses) == done]
        self.running = sorted(ran, key=lambda fit: fit.place)
        return done

    def progress(self, iteration: int, max_iter: int, phase: str) -> Progress:
        sound = [fit for fit in self.fits if not fit.end or fit.end.status is not Status.COLLAPSED]
        best = min(fit.losses[-1] for fit in sound or self.fits)
        running = sum(fit.end is None for fit in self.running)
        return Progress(phase, iteration, max_iter, running, len(self.fits), best)
