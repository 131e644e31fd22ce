"""``--prepare auto``: steps that suit a table, each with a line that says why.

A line also names the option that changes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..core.types import Labels
from ..core.words import listed, plural
from ..io.table import Table
from .base import Step
from .gaps import KeepColumns, LeaveOutRows, fit_fill, gaps_in_columns, gaps_in_rows
from .look import counts_in, units_in
from .numbers import fit_log, fit_standard, median_depth
from .roles import Role, option_value, roles


@dataclass(frozen=True)
class Line:
    """What is done and why, and the options of the command that change it."""

    what: str
    otherwise: str

    def __str__(self) -> str:
        return f"{self.what} {self.otherwise}"


#: A step and the lines about it; there is no line if the step adds its own message.
Told = tuple[Step, Sequence[Line]]

#: Rows and columns are left out if more than this share is missing.
_SHARE = 0.5

#: Columns named in a line.
_NAMED = 4

_AS_THEY_ARE = "As they are: --scale none."


def measured_columns(table: Table) -> Iterator[Told]:
    """Leave out columns that are hardly measurements, unless there are no others."""
    found = roles(table)
    if found.found and (found.others or table.words):
        lines = [_left_out(role, names) for role, names in found.found.items()]
        yield KeepColumns(np.array(found.others, dtype=np.intp)), lines


def _left_out(role: Role, names: list[str]) -> Line:
    value, it = option_value(names), "it" if len(names) == 1 else "them"
    why = {
        Role.NAMES: "probably names of samples",
        Role.CLASSES: "probably known classes",
        Role.YEARS: "a year" if len(names) == 1 else "years",
        Role.KINDS: "only a few different whole numbers, so probably categories",
        Role.PAIRS: "only two different numbers beside columns that share a longer scale, so "
        f"probably {'a category' if len(names) == 1 else 'categories'}",
        Role.RESULTS: "results of an earlier run",
    }
    otherwise = {
        Role.NAMES: f"As names: --id-column {value}.",
        Role.CLASSES: f"For scores: --label-column {value}.",
        Role.YEARS: f"As categories: --encode {value}.",
        Role.KINDS: f"As categories: --encode {value}.",
        Role.PAIRS: f"As categories: --encode {value}.",
    }
    use = f"{otherwise.get(role, '')} To use {it} as numbers: --columns '*'."
    return Line(f"Left out: {listed(names)}, {why[role]}.", use.strip())


def gaps_left_out(table: Table) -> Iterator[Told]:
    """Leave out columns and rows in which most values are missing."""
    n, p = table.X.shape
    empty = gaps_in_columns(table.X) > _SHARE * n
    if empty.any() and not empty.all():
        names = [name for name, out in zip(table.features or (), empty, strict=False) if out]
        what = f"Left out, because most values are missing: {listed(names)}."
        yield KeepColumns(np.flatnonzero(~empty)), [Line(what, "Otherwise: --missing median.")]
        p = int((~empty).sum())
    if (gaps_in_rows(table.X[:, ~empty]) > _SHARE * p).any():
        yield LeaveOutRows(_SHARE), []


def scales(table: Table, *, signed: bool) -> Iterator[Told]:
    """Logarithms for counts, mean 0 and variance 1 for columns of different units."""
    for scale, which, line in groups(table, signed=signed):
        counts = scale == "log-median"
        step = fit_log(table, which, median=True) if counts else fit_standard(table, which)
        yield step, [line]


def groups(table: Table, *, signed: bool) -> Iterator[tuple[str, Labels, Line]]:
    """Columns that need another scale: the name of the scale, their places, and the reason."""
    counts = counts_in(table)
    if counts is not None:
        what = (
            f"{_columns(table, counts.which)}: counts (whole numbers, {counts.zeros:.0%} of them "
            "0, rows of uneven sums), taken as log1p of counts per "
            f"{median_depth(table, counts.which):.0f}, the median of these sums."
        )
        otherwise = f"Per 10,000: --scale log. {_AS_THEY_ARE}"
        yield "log-median", counts.which, Line(what, otherwise)
    units = units_in(table, counts)
    if units is not None and signed:
        ratio = float(f"{units.ratio:.2g}")
        why = (
            f"different units (spreads differ {ratio:.0f} times)" if counts is None else "no counts"
        )
        what = (
            f"{_columns(table, units.which)}: {why}, scaled to mean 0 and variance 1, so that some "
            "numbers are negative now."
        )
        yield "standard", units.which, Line(what, _AS_THEY_ARE)


def gaps_filled(table: Table) -> Iterator[Told]:
    """Fill in the values that are still missing, from the nearest samples."""
    if sparse.issparse(table.X):
        return
    count = int(np.isnan(np.asarray(table.X)).sum())
    if count:
        verb = "was" if count == 1 else "were"
        what = f"{plural(count, 'missing value')} {verb} filled in from the nearest samples."
        otherwise = "Otherwise: --missing drop-rows, drop-columns or median."
        yield fit_fill(table, "knn"), [Line(what, otherwise)]


def _columns(table: Table, which: Labels) -> str:
    names = [(table.features or [])[j] for j in which]
    count = plural(len(names), "column")
    few = len(names) <= _NAMED
    return listed(names) if few else f"{count}, {listed([names[0]])} to {listed([names[-1]])}"
