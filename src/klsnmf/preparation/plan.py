"""From the options to fitted steps, in the right order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..io.table import Table
from .auto import Told, gaps_filled, gaps_left_out, measured_columns, scales
from .base import Preparation, Step
from .categories import fit_encode, size_of_categories
from .gaps import Fill, KeepColumns, LeaveOutRows, fit_fill, fit_for_new, fit_leave_out_columns
from .numbers import fit_components, fit_log, fit_standard
from .texts import fit_words

_STANDARD = (
    "Every column was scaled to mean 0 and variance 1 (--scale standard): some numbers are "
    "negative now."
)


@dataclass
class _Work:
    """A table, the steps that were applied to it, and the columns that new samples need."""

    table: Table
    p: int
    names: list[str] | None
    steps: list[Step] = field(default_factory=list)

    def do(self, step: Step | None, *told: object) -> None:
        if step is None:
            return
        table = step.apply(self.table)
        self.table = replace(table, messages=[*table.messages, *map(str, told)])
        if isinstance(step, KeepColumns) and self.names is not None and not self.steps:
            # New samples need not have the columns that are left out.
            self.p, self.names = table.X.shape[1], list(table.features or ())
        else:
            self.steps.append(step)

    def do_all(self, steps: Iterable[Told]) -> None:
        for step, told in steps:
            self.do(step, *told)


def fitted(
    table: Table,
    *,
    auto: bool = False,
    any_role: bool = False,
    signed: bool = True,
    gaps: bool = False,
    scale: str | None = None,
    missing: str | None = None,
    pca: int | None = None,
) -> tuple[Table, Preparation]:
    """The table after its steps, with a line for each in its messages; and these steps.

    Rows and columns are left out first, so that they do not affect a scale. Gaps are filled in
    after scaling, so that no unit decides which samples are nearest.

    Parameters
    ----------
    auto : whether steps that no option asks for are chosen by looking at the table; it needs names
        of columns
    any_role : whether to use columns that look like names, classes or years
    signed, gaps : whether the methods accept negative numbers and gaps
    scale : "none", "standard", "log" or "log-median"
    missing : one of ``gaps.WAYS``
    pca : the number of principal components; None takes the columns themselves
    """
    table.require_numbers(gaps=True)
    names = None if table.features is None else list(table.features)
    text = table.text_column
    auto = auto and names is not None and table.image_shape is None and text is None
    work = _Work(table, int(table.X.shape[1]), names)
    if text is not None:  # it has to become numbers first
        work.do(fit_words(work.table, text))
    if auto and not any_role:
        work.do_all(measured_columns(work.table))
    if missing == "drop-columns":
        work.do(*fit_leave_out_columns(work.table))
    elif missing == "drop-rows":
        work.do(LeaveOutRows(0.0))
    elif auto and missing is None and not gaps:
        work.do_all(gaps_left_out(work.table))
    if scale == "standard":
        work.do(fit_standard(work.table), _STANDARD)
    elif scale in ("log", "log-median"):
        work.do(fit_log(work.table, median=scale == "log-median"))
    elif auto and scale is None:
        work.do_all(scales(work.table, signed=signed))
    encoded = [column for column in table.words if column != text]
    size = size_of_categories(work.table.X) if encoded else 1.0
    if missing in ("median", "knn"):
        work.do(fit_fill(work.table, missing))
    elif auto and missing is None and not gaps:
        work.do_all(gaps_filled(work.table))
    if not gaps and not any(isinstance(step, LeaveOutRows | Fill) for step in work.steps):
        work.do(fit_for_new(work.table))
    for column in encoded:
        work.do(fit_encode(work.table, column, size))
    if pca is not None:
        work.do(fit_components(work.table, pca))
    features = None if work.names is None else tuple(work.names)
    return work.table, Preparation(work.p, features, tuple(work.steps))
