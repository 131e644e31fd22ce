"""Columns of numbers that are names of samples, classes, years or categories, not measurements."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import sparse

from ..core.types import Array
from ..core.words import listed
from ..io.table import Table
from .look import MANY, counts_in, whole_columns

#: Usual names of such columns. An index is no measurement, but a refractive_index is.
_NAMES = re.compile(r"(.*[ _.-])?(id|ids|uid|uuid|sampleid|rowid)|index|idx|row|nr", re.IGNORECASE)
_CLASSES = re.compile(
    r"(.*[ _.-])?(class|classes|label|labels|target|cluster)|species|category", re.IGNORECASE
)
_YEARS = re.compile(r"(.*[ _.-])?(year|years|yr)([ _.-].*)?", re.IGNORECASE)

#: Columns that ``--join`` adds: clusters, and the strengths beside them.
_JOINED = {"cluster": "strength", "klsnmf": "klsnmf_strength"}

#: With fewer rows than this, numbers may count rows by chance.
_FEW = 5

#: A column with at most this many different whole numbers holds kinds rather than amounts, if each
#: number occurs so many times on average.
_KINDS = 10
_TIMES = 5

#: The first and the last year that is recognised.
_CALENDAR = 1000, 2200


class Role(Enum):
    """What a column of numbers is, if it is hardly a measurement."""

    NAMES = "names of samples"
    CLASSES = "known classes"
    YEARS = "years"
    KINDS = "few different whole numbers"
    PAIRS = "two different numbers beside columns of one longer scale"
    RESULTS = "strengths of an earlier run"


@dataclass(frozen=True)
class Roles:
    """Columns that are probably not meant for clustering, by their role; and all others."""

    found: dict[Role, list[str]]
    others: list[int]  # places


def roles(table: Table) -> Roles:
    """What the columns of a table are."""
    if table.features is None or sparse.issparse(table.X):
        return Roles({}, list(range(table.X.shape[1])))
    X, names = table.X, table.features
    whole = np.flatnonzero(whole_columns(X)).tolist()
    of = {j: role for j in whole if (role := _by_name(names[j], X[:, j]))}
    for cluster, strength in _JOINED.items():
        if {cluster, strength} <= {*names}:
            of[names.index(strength)] = Role.RESULTS
    others = [j for j in whole if j not in of]
    kinds = _kinds(table, others, len(names) - len(of))
    of |= dict.fromkeys(kinds, Role.KINDS)
    if not kinds:
        of |= dict.fromkeys(_pairs(X[:, others], others), Role.PAIRS)
    found: dict[Role, list[str]] = {}
    for j in sorted(of):
        found.setdefault(of[j], []).append(names[j])
    return Roles(found, [j for j in range(len(names)) if j not in of])


def _kinds(table: Table, whole: list[int], measured: int) -> list[int]:
    """The columns of whole numbers that hold kinds. ``measured`` is how many columns there are.

    If most columns have few different numbers, these are the data, for example answers. If there
    are many columns of whole numbers, they are the data too: pixels or counts. But beside counts, a
    column with few different numbers that are no counts holds kinds, for example a batch.
    """
    if len(whole) < MANY:
        found = [j for j in whole if _few(table.X[:, j])]
        return [] if 2 * len(found) > measured else found
    counts = counts_in(table)
    beside = [] if counts is None else sorted({*whole} - {*counts.which.tolist()})
    return [j for j in beside if _few(table.X[:, j])]


def _pairs(X: Array, places: list[int]) -> list[int]:  # (n, q)
    """The columns with two different numbers, beside more columns that share one longer scale.

    Answers from 1 to 5 are measurements on one scale. A column of 0 and 1 beside them is on another
    scale: it says yes or no, or which of two. If most columns are like that, they are the data.
    """
    if not len(places):
        return []
    least, most = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    two = ((least == X) | (most == X) | np.isnan(X)).all(axis=0) & (least < most)
    answers = ~two & (most - least >= 2) & (most - least < _KINDS)
    scales = list(zip(least[answers].tolist(), most[answers].tolist(), strict=True))
    shared = max((scales.count(scale) for scale in {*scales}), default=0)
    if 2 * shared <= len(scales) or shared <= two.sum():
        return []
    return [places[j] for j in np.flatnonzero(two)]


def _by_name(name: str, column: Array) -> Role | None:  # (n,)
    """The role of a column of whole numbers, by its name, or because it counts rows."""
    if _NAMES.fullmatch(name) or _counts_rows(column):
        return Role.NAMES
    if _CLASSES.fullmatch(name) and _repeats(column):
        return Role.CLASSES
    known = column[np.isfinite(column)]
    first, last = _CALENDAR
    if known.size and _YEARS.fullmatch(name) and known.min() >= first and known.max() <= last:
        return Role.YEARS
    return None


def _few(column: Array) -> bool:  # (n,)
    known = column[np.isfinite(column)]
    return bool(2 <= np.unique(known).size <= min(_KINDS, known.size / _TIMES))


def remarks(table: Table) -> list[str]:
    """Remarks on columns that are used, but are probably not meant for clustering."""
    found = roles(table).found
    return [
        *_remark(found.get(Role.NAMES, []), Role.NAMES, "--id-column"),
        *_remark(found.get(Role.CLASSES, []), Role.CLASSES, "--label-column"),
    ]


def _counts_rows(column: Array) -> bool:  # (n,)
    """Whether the numbers are consecutive and each occurs once, in any order."""
    n = len(column)
    if n < _FEW or abs(column[-1] - column[0]) >= n or column.max() - column.min() != n - 1:
        return False  # most columns end here
    return bool((np.diff(np.sort(column)) == 1).all())


def _repeats(column: Array) -> bool:  # (n,)
    return bool(np.unique(column).size <= len(column) / 2)


def _remark(names: Sequence[str], role: Role, option: str) -> list[str]:
    if not names:
        return []
    one = len(names) == 1
    return [
        f"{listed(names)} {'looks' if one else 'look'} like {role.value}, but "
        f"{'is' if one else 'are'} used as {'a measurement' if one else 'measurements'}. If that "
        f"is wrong: {option} {option_value(names)}, or choose the other columns with --columns."
    ]


def option_value(names: Sequence[str]) -> str:
    """The name to show in an option, or NAME for several columns or a long name."""
    return shlex.quote(names[0]) if len(names) == 1 and len(names[0]) <= 40 else "NAME"
