"""Columns of numbers that are rather names of samples, classes, years or categories."""

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
from .look import MANY, whole_columns

#: Names that such columns usually have. A refractive_index is a measurement, an index is not.
_NAMES = re.compile(r"(.*[ _.-])?(id|ids|uid|uuid|sampleid|rowid)|index|idx|row|nr", re.IGNORECASE)
_CLASSES = re.compile(
    r"(.*[ _.-])?(class|classes|label|labels|target|cluster)|species|category", re.IGNORECASE
)
_YEARS = re.compile(r"(.*[ _.-])?(year|years|yr)([ _.-].*)?", re.IGNORECASE)

#: Columns that ``--join`` adds: clusters, and the strengths beside them.
_JOINED = {"cluster": "strength", "klsnmf": "klsnmf_strength"}

#: Fewer rows than this count up by chance.
_FEW = 5

#: A column with as few different whole numbers as this tells kinds rather than amounts, where each
#: is there so many times on average.
_KINDS = 10
_TIMES = 5

#: Years of which there may be data.
_CALENDAR = 1000, 2200


class Role(Enum):
    """What a column of numbers is, if it is hardly a measurement."""

    NAMES = "names of samples"
    CLASSES = "known classes"
    YEARS = "years"
    KINDS = "few different whole numbers"
    RESULTS = "strengths of an earlier run"


@dataclass(frozen=True)
class Roles:
    """Columns that were hardly meant to be clustered by, by their role; and all the others."""

    found: dict[Role, list[str]]
    others: list[int]  # places


def roles(table: Table) -> Roles:
    """What the columns of a table are.

    Few whole numbers are the data where most columns have no more, or where columns of whole
    numbers are many: answers, pixels, counts.
    """
    if table.features is None or sparse.issparse(table.X):
        return Roles({}, list(range(table.X.shape[1])))
    whole = np.flatnonzero(whole_columns(table.X))
    of: dict[int, Role] = {}
    for j in whole.tolist():
        if role := _role(table.features[j], table.X[:, j], few_count=len(whole) < MANY):
            of[j] = role
    for cluster, strength in _JOINED.items():
        if {cluster, strength} <= {*table.features}:
            of[table.features.index(strength)] = Role.RESULTS
    kinds = [j for j, role in of.items() if role is Role.KINDS]
    if len(kinds) > len(table.features) - len(of):
        of = {j: role for j, role in of.items() if role is not Role.KINDS}
    found: dict[Role, list[str]] = {}
    for j, role in of.items():
        found.setdefault(role, []).append(table.features[j])
    return Roles(found, [j for j in range(len(table.features)) if j not in of])


def _role(name: str, column: Array, *, few_count: bool) -> Role | None:  # (n,)
    """The role of a column of whole numbers; ``few_count`` if few of them may tell kinds."""
    if _NAMES.fullmatch(name) or _counts_rows(column):
        return Role.NAMES
    if _CLASSES.fullmatch(name) and _repeats(column):
        return Role.CLASSES
    known = column[np.isfinite(column)]
    first, last = _CALENDAR
    if known.size and _YEARS.fullmatch(name) and known.min() >= first and known.max() <= last:
        return Role.YEARS
    if few_count and 2 <= np.unique(known).size <= min(_KINDS, known.size / _TIMES):
        return Role.KINDS
    return None


def remarks(table: Table) -> list[str]:
    """What to say of columns that were hardly meant to be clustered by, and count all the same."""
    found = roles(table).found
    return [
        *_remark(found.get(Role.NAMES, []), Role.NAMES, "--id-column"),
        *_remark(found.get(Role.CLASSES, []), Role.CLASSES, "--label-column"),
    ]


def _counts_rows(column: Array) -> bool:  # (n,)
    """Whether each row has a whole number of its own, and none between is left out."""
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
        f"{listed(names)} {'looks' if one else 'look'} like {role.value}, and counted as measured: "
        f"say {option} {option_value(names)}, or choose the others with --columns."
    ]


def option_value(names: Sequence[str]) -> str:
    """The name of a column for an option, if there is one of them and it is short."""
    return shlex.quote(names[0]) if len(names) == 1 and len(names[0]) <= 40 else "NAME"
