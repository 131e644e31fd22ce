"""A table as it is clustered, and what the user should know of its columns."""

from __future__ import annotations

from dataclasses import replace

from ..core.words import listed, plural
from ..io import Choice, Table
from ..io.roles import remarks
from ..io.scaling import Scale, standard, uneven

#: Columns named in a line.
_TOLD = 8


def prepared(table: Table, wanted: Choice, scale: str) -> tuple[Table, Scale | None]:
    """The table on the scale asked for, with remarks on its columns, and that scale."""
    notes = remarks(table) if wanted.columns is None else []
    warnings, found = [], None
    if scale == "standard":
        found = standard(table)
        table = found.apply(table)
        notes.append(
            "Every column was scaled to mean 0 and variance 1 (--scale standard): some numbers are "
            "negative now."
        )
    elif note := uneven(table):
        warnings.append(note)
    table = replace(
        table,
        messages=[*table.messages, *notes],
        warnings=[*table.warnings, *warnings],
    )
    return table, found


def columns_used(table: Table) -> str | None:
    """The columns in a line, if they have names."""
    if table.features is None:
        return None
    names = listed(table.features, _TOLD)
    return f"Clustered by {plural(len(table.features), 'column')}: {names}."
