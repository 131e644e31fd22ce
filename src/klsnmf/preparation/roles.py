"""Columns of numbers that are rather names of samples, or classes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from ..core.types import Array
from ..core.words import listed
from ..io.table import Table

#: Names that such columns usually have. A refractive_index is a measurement, an index is not.
_NAMES = re.compile(r"(.*[ _.-])?(id|ids|uid|uuid|sampleid|rowid)|index|idx|row|nr", re.IGNORECASE)
_CLASSES = re.compile(
    r"(.*[ _.-])?(class|classes|label|labels|target|cluster)|species|category", re.IGNORECASE
)

#: Fewer rows than this count up by chance.
_FEW = 5


def remarks(table: Table) -> list[str]:
    """What to say of columns that were hardly meant to be clustered by."""
    if table.features is None or sparse.issparse(table.X):
        return []
    names, classes = [], []
    for j, name in enumerate(table.features):
        column = table.X[:, j]
        if _counts_up(column) or (_NAMES.fullmatch(name) and _whole(column)):
            names.append(name)
        elif _CLASSES.fullmatch(name) and _whole(column) and _repeats(column):
            classes.append(name)
    return [
        *_remark(names, "names of samples", "--id-column"),
        *_remark(classes, "known classes", "--label-column"),
    ]


def _counts_up(column: Array) -> bool:  # (n,)
    few = len(column) < _FEW or (np.diff(column[:_FEW]) != 1).any()  # most columns end here
    return not few and _whole(column[:1]) and bool((np.diff(column) == 1).all())


def _whole(column: Array) -> bool:  # (n,)
    return bool((np.isfinite(column) & (column == np.rint(column))).all())


def _repeats(column: Array) -> bool:  # (n,)
    return bool(np.unique(column).size <= len(column) / 2)


def _remark(names: Sequence[str], kind: str, option: str) -> list[str]:
    if not names:
        return []
    one = len(names) == 1
    value = shlex.quote(names[0]) if one and len(names[0]) <= 40 else "NAME"
    return [
        f"{listed(names)} {'looks' if one else 'look'} like {kind}, and counted as measured: say "
        f"{option} {value}, or choose the others with --columns."
    ]
