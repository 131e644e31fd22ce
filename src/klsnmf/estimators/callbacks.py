"""Progress of a fit: ``verbose``, the user's ``callback``, and scikit-learn's callbacks.

scikit-learn has callbacks since version 1.9: ``model.set_callbacks(ProgressBar())``. They see a
tree of tasks: the fit, its phases and their iterations. Before 1.9 there is no ``set_callbacks``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..core.work import observed
from ..solve.solution import Callback, Progress

__all__ = ["CallbackSupportMixin", "fit_task", "listener"]

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Takes the place of the class of scikit-learn 1.9 that adds ``set_callbacks``."""


#: ``verbose`` prints a line after this many iterations.
EVERY = 10

#: Before the iterations it prints a line after this many seconds.
SECONDS = 5.0


@contextmanager
def fit_task(estimator: Any, X: Any, y: Any = None) -> Iterator[None]:
    """A fit as a task: scikit-learn's callbacks are told when it begins and when it ends.

    scikit-learn itself ends the callbacks after a fit, whether the fit succeeded or not.
    """
    with observed(_Announcer()) if estimator.verbose else nullcontext():
        if not hasattr(estimator, "_init_callback_context"):
            yield
            return
        task = estimator._init_callback_context(max_subtasks=None)
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        yield
        # The estimator itself is fitted by now: nothing is missing to reconstruct it.
        task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})


class _Announcer:
    """Prints the progress of the work before the iterations, if this takes long."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.begun: dict[str, tuple[float, int]] = {}  # stage -> when, and the steps done then

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        begun, first = self.begun.setdefault(stage, (now, done))
        if done < first:  # once more
            self.begun[stage] = begun, first = now, done
        if not stage.endswith("iterations") and now - self.last >= SECONDS:
            told = f"{stage}: {done:,} of at most {total:,}"
            if done > first:
                left = (now - begun) * (total - done) / (done - first)
                told += f", at most {left:.0f} s left"
            print(told)
            self.last = now


def listener(estimator: Any) -> Callback | None:
    """One callback for the solver, which tells everyone who wants to know the progress."""
    everyone: list[Callback] = []
    if estimator.verbose:
        everyone.append(_print)
    if hasattr(estimator, "_skl_callbacks") and hasattr(estimator, "_callback_fit_ctx"):
        everyone.append(_Tasks(estimator))
    if estimator.callback is not None:
        everyone.append(estimator.callback)
    if not everyone:
        return None

    def tell(progress: Progress) -> bool:
        answers = [one(progress) for one in everyone]
        return any(answers)

    return tell


def _print(progress: Progress) -> None:
    if progress.iteration % EVERY == 0:
        print(
            f"{progress.phase}: iteration {progress.iteration} of at most {progress.max_iter}, "
            f"{progress.running} of {progress.fits} fits running, "
            f"lowest objective {progress.objective:.6g}"
        )


class _Tasks:
    """Phases and iterations as tasks of scikit-learn's callbacks."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.phase: Any = None

    def __call__(self, progress: Progress) -> bool:
        told = {"estimator": self.estimator}
        if self.phase is None or progress.iteration == 1:
            self.phase = self.estimator._callback_fit_ctx.subcontext(
                task_name=progress.phase, max_subtasks=progress.max_iter
            )
            self.phase.call_on_fit_task_begin(**told)
        iteration = self.phase.subcontext(task_name="iteration")
        iteration.call_on_fit_task_begin(**told)
        stop = iteration.call_on_fit_task_end(**told)
        if stop or progress.running == 0:
            stop |= self.phase.call_on_fit_task_end(**told)
        return bool(stop)
