"""Tables in several files or sheets: rows are joined, if their columns are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.words import listed, plural
from .table import Counted, InputError, Table


def stacked(tables: Sequence[Table], name: str) -> Table:
    """The rows of all tables, with the columns in the order of the first."""
    first, *others = tables
    for other in others:
        _require_fit(first, other)
    # The whole and its parts are in memory together for a moment.
    size = sum(_size(table.X) for table in tables)
    memory.require(size, f"The table of {name}", "Give fewer parts.")
    n = sum(len(table.ids) for table in tables)
    counted = all(isinstance(table.ids, Counted) for table in tables)
    lines = (table.lines or range(1, len(table.ids) + 1) for table in tables)
    names = [name for name in first.words if all(name in table.words for table in tables)]
    aside = [name for name in first.aside if all(name in table.aside for table in tables)]
    targets = [table.target for table in tables if table.target is not None]
    messages = [f"{table.name}: {text}" for table in tables for text in table.messages]
    return replace(
        first,
        name=name,
        X=_below(tables),
        ids=Counted(n) if counted else [each for table in tables for each in table.ids],
        target=np.concatenate(targets) if len(targets) == len(tables) else None,
        messages=[f"{plural(len(tables), 'part')} were put together: {n} rows.", *messages],
        lines=[line for part in lines for line in part],
        words={name: [word for table in tables for word in table.words[name]] for name in names},
        aside={name: [word for table in tables for word in table.aside[name]] for name in aside},
        parts=[part for table in tables for part in [table.name] * len(table.ids)],
    )


def _below(tables: Sequence[Table]) -> Any:  # (n, p)
    first = tables[0]
    columns = [_in_order(first, table) for table in tables]
    if any(sparse.issparse(X) for X in columns):
        return sparse.csr_array(sparse.vstack(columns, format="csr"))
    return np.concatenate(columns)


def _in_order(first: Table, other: Table) -> Any:  # (m, p)
    """The columns of a table in the order of the first."""
    if first.features is None or other.features is None or other.features == first.features:
        return other.X
    place = {name: j for j, name in enumerate(other.features)}
    return other.X[:, [place[name] for name in first.features]]


def _size(X: Any) -> float:
    return float(X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes)


def _require_fit(first: Table, other: Table) -> None:
    """Refuse a part whose columns differ from those of the first; the message says how."""
    remedy = (
        "All parts need the same columns. Leave this part out, or name columns that all parts have "
        "with --columns."
    )
    ours, theirs = first.features, other.features
    if ours is not None and theirs is not None:
        lacks = [name for name in ours if name not in set(theirs)]
        more = [name for name in theirs if name not in set(ours)]
        found = [f"has no column of numbers {listed(lacks)}"] if lacks else []
        found += [f"has {listed(more)}, which the first does not have"] if more else []
        if len(set(ours)) < len(ours) and ours != theirs:
            found.append("has several columns of one name, in another order")
    else:
        widths = first.X.shape[1], other.X.shape[1]
        found = [f"has {widths[1]} columns, and the first {widths[0]}"] * (widths[0] != widths[1])
        if (ours is None) != (theirs is None):
            found.append(f"has {'no ' if theirs is None else ''}names of columns")
    if first.image_shape != other.image_shape:
        found.append("holds images of another shape")
    if found:
        raise InputError(f"{other.name} does not fit below {first.name}: it "
                         f"{', and '.join(found)}. {remedy}")  # fmt: skip
