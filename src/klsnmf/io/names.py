"""Columns by name."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.words import listed, meant
from .table import Choice, InputError


@dataclass(frozen=True)
class Places:
    """Where the columns are that were asked for."""

    features: list[int]
    ids: int | None
    labels: int | None


def column_places(path: Path, names: Sequence[str], choice: Choice) -> Places:
    """The columns to cluster by, that of the ids and that of the labels."""
    ids = None if choice.id_column is None else place_of(path, names, choice.id_column)
    labels = None if choice.label_column is None else place_of(path, names, choice.label_column)
    if ids is None and names[0] == "":
        ids = 0  # the index that pandas writes has no name
    if choice.columns is None:
        features = [place for place in range(len(names)) if place not in (ids, labels)]
    else:
        features = [place_of(path, names, name) for name in chosen_names(names, choice)]
    return Places(features, ids, labels)


def place_of(path: Path, names: Sequence[str], name: str) -> int:
    """Where a column is; an error that names the nearest one if there is none."""
    count = names.count(name)
    if count == 1:
        return names.index(name)
    if count:
        raise InputError(
            f"{path} has {count} columns called {name!r}. Give them different names in the file."
        )
    raise InputError(f"{path} has no column {name!r}. {meant(name, names)}It has {listed(names)}.")


def chosen_names(names: Sequence[str], choice: Choice) -> list[str]:
    """The columns that were chosen: a text is the name of one if there is such a column."""
    chosen = choice.columns or []
    if choice.exact:
        return list(chosen)
    return [name for text in chosen for name in ([text] if text in names else split_names(text))]


def split_names(text: str) -> list[str]:
    """The names in a,"b, c",d."""
    try:
        cells = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # a line break, which no quotation marks are around
        cells = text.split(",")
    return [cell.strip() for cell in cells if cell.strip()]


def same_length(
    path: Path, lines: Sequence[int], rows: Sequence[Sequence[str]], width: int
) -> None:
    """Refuse rows that have more or fewer cells than the line of column names."""
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            where = f"after column {len(row)}" if len(row) < width else f"from column {width + 1}"
            raise InputError(
                f"{path}, line {line}, {where}: the line has {len(row)} cells, the first line has "
                f"{width}. Correct the line; a cell that holds the separator must be in quotation "
                "marks."
            )
