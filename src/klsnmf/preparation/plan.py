"""From what is asked for to steps that are fitted, in the order that makes sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ..io.table import Table
from .base import Preparation, Step
from .categories import fit_encode
from .gaps import KeepColumns, LeaveOutRows, fit_fill, fit_leave_out_columns
from .numbers import fit_components, fit_log, fit_standard

#: Makes a step for a table, or None where there is nothing to do.
Fit = Callable[[Table], Step | None]


def fitted(
    table: Table, *, scale: str = "none", missing: str | None = None, pca: int | None = None
) -> tuple[Table, Preparation]:
    """The table after the steps that were asked for, and these steps.

    Parameters
    ----------
    scale : "none", "standard" or "log"
    missing : one of ``gaps.WAYS``; None leaves gaps as they are
    pca : the number of principal components; None takes the columns themselves
    """
    table.require_numbers(gaps=True)
    p, names = table.X.shape[1], table.features
    steps: list[Step] = []
    for fit in _fits(table, scale, missing, pca):
        step = fit(table)
        if step is None:
            continue
        table = step.apply(table)
        if isinstance(step, KeepColumns) and names is not None and not steps:
            # New samples need not have the columns that are left out.
            p, names = table.X.shape[1], table.features
        else:
            steps.append(step)
    features = None if names is None else tuple(names)
    return table, Preparation(int(p), features, tuple(steps))


def _fits(table: Table, scale: str, missing: str | None, pca: int | None) -> Iterator[Fit]:
    """What is left out comes first, so that it has no say in a scale.

    Gaps are filled in after the scale, so that the nearest samples are near in every unit.
    """
    if missing == "drop-columns":
        yield fit_leave_out_columns
    if missing == "drop-rows":
        yield lambda table: LeaveOutRows(0.0)
    if scale == "standard":
        yield fit_standard
    if scale == "log":
        yield fit_log
    if missing in ("median", "knn"):
        yield partial(fit_fill, way=missing)
    for column in table.words:
        yield partial(fit_encode, column=column)
    if pca is not None:
        yield partial(fit_components, count=pca)
