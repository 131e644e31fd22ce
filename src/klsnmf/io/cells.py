"""Rows of cells from any kind of file: which columns hold numbers, and where a cell does not.

Numbers are read column by column, some rows at a time, so that text does not fill the memory.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ..core.words import listed, plural, short
from .table import (
    MISSING,
    MOST_CATEGORIES,
    OF_TEXT,
    Choice,
    Counted,
    InputError,
    Places,
    Table,
    classes,
    column_places,
    known_words,
    may_name,
    require_some,
    taken_as_names,
    text_left_out,
)

#: A number with commas between thousands, such as 1,234 or -1,234,567.8, and where commas begin.
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")
_THOUSAND = 1000

#: Rows whose text is in memory at once.
_ROWS = 2000


@dataclass
class _Column:
    """The numbers of a column, and the first cell that is not a number."""

    numbers: list[np.ndarray] = field(default_factory=list)
    known: int = 0
    words: int = 0
    first_word: tuple[int, str] = (0, "")
    grouped: int = 0  # numbers such as 1,234
    first_grouped: tuple[int, str] = (0, "")
    large: bool = False  # whether there is one such as 1234
    kinds: dict[str, str] | None = field(default_factory=dict)  # different words, unless too many
    cells: list[str] = field(default_factory=list)  # of text that has few different words

    def take(self, cells: Sequence[str], lines: Sequence[int], decimal_comma: bool) -> None:
        with suppress(ValueError):
            found = np.fromiter(map(float, cells), np.float64, len(cells))
            # float() also reads 1_000, which is a name rather than a number.
            if not any("_" in cell for cell in cells):
                self.numbers.append(found)
                self.known += len(cells)
                self.large |= bool((np.abs(found) >= _THOUSAND).any())
                return
        self._keep_words(cells)
        values = np.empty(len(cells))
        for i, cell in enumerate(cells):
            number = _number(cell, decimal_comma)
            if number is None and not decimal_comma and _GROUPED.fullmatch(cell.strip()):
                number = float(cell.replace(",", ""))
                self.grouped += 1
                if self.grouped == 1:
                    self.first_grouped = lines[i], cell
            elif number is not None and abs(number) >= _THOUSAND:
                self.large = True
            if number is None:
                self.words += 1
                if self.words == 1:
                    self.first_word = lines[i], cell
                number = math.nan
            elif not math.isnan(number):
                self.known += 1
            values[i] = number
        self.numbers.append(values)

    def _keep_words(self, cells: Sequence[str]) -> None:
        """Keep all cells as long as few of them differ. Each word is in memory once."""
        if self.kinds is None:
            return
        for cell in cells:
            self.cells.append(self.kinds.setdefault(cell, cell))
            if len(self.kinds) > MOST_CATEGORIES:
                self.kinds, self.cells = None, []
                return

    def close(self) -> None:
        """After all cells: commas between thousands must be in all large numbers, or in none."""
        if self.grouped and (self.large or self.words):
            if not self.words or self.first_grouped < self.first_word:
                self.first_word = self.first_grouped
            self.words += self.grouped
            self.known -= self.grouped
            self.grouped = 0


@dataclass
class _Names:
    """The cells of a column as long as they may be names: all are different texts."""

    cells: dict[str, None] | None = field(default_factory=dict)

    def take(self, cells: Sequence[str], decimal_comma: bool) -> None:
        if (known := self.cells) is None:
            return
        for cell in cells:
            number = _number(cell, decimal_comma)
            if number is not None or not may_name(cell) or cell in known:
                self.cells = None
                return
            known[cell] = None


def table_of(
    path: Path, rows: Iterator[tuple[int, list[str]]], choice: Choice, *, decimal_comma: bool
) -> Table:
    """The table of rows, each given with its line number; the first row names the columns."""
    _, header = next(rows, (0, None))
    if header is None:
        raise InputError(f"{path} is empty. Give a table with a line of column names and rows.")
    names, messages = [cell.strip() for cell in header], []
    if is_data(header, decimal_comma):
        names, rows = list(Counted(len(header))), chain([(1, header)], rows)
        messages.append(
            f"{path} has no line of column names: its columns are called 1 to {len(header)}."
        )
    places = column_places(path, names, choice)
    columns = {place: _Column() for place in places.features}
    words: dict[int, list[str]] = {place: [] for place in places.words}
    free = {place: _Names() for place in places.free}
    ids: list[str] = []
    labels: list[str] = []
    lines: list[int] = []
    while some := list(islice(rows, _ROWS)):
        for line, row in some:
            _require_length(path, line, len(row), len(names))
        numbered = [line for line, _ in some]
        lines += numbered
        cells = list(zip(*(row for _, row in some), strict=True))
        for place, column in columns.items():
            column.take(cells[place], numbered, decimal_comma)
        for place, found in free.items():
            found.take(cells[place], decimal_comma)
        for place, so_far in words.items():
            so_far += map(sys.intern, cells[place])  # a category is in memory once
        ids += cells[places.ids] if places.ids is not None else ()
        labels += cells[places.labels] if places.labels is not None else ()
    if not lines:
        raise InputError(f"{path} has column names but no rows. Add rows of data.")
    named = next((place for place, found in free.items() if found.cells is not None), None)
    if named is not None:
        ids = list(free[named].cells or ())
        columns.pop(named, None)
        messages.append(taken_as_names(names[named]))
    kept, text, left_out = _kept(path, names, columns, places)
    aside = {names[place]: known_words(columns[place].cells) for place in text}
    X = np.empty((len(lines), len(kept)))
    for j, place in enumerate(kept):
        X[:, j] = np.concatenate(columns.pop(place).numbers)
    return Table(
        name=str(path),
        X=X,
        ids=ids or Counted(len(lines)),
        features=[names[place] for place in kept],
        target=classes(labels) if places.labels is not None else None,
        messages=messages + left_out,
        lines=lines,
        words={names[place]: known_words(found) for place, found in words.items()},
        text_column=choice.text_column,
        aside={name: found for name, found in aside.items() if len(found) == len(lines)},
    )


def _require_length(path: Path, line: int, found: int, width: int) -> None:
    """Refuse a row that has more or fewer cells than the line of column names."""
    if found != width:
        where = f"after column {found}" if found < width else f"from column {width + 1}"
        raise InputError(
            f"{path}, line {line}, {where}: the line has {plural(found, 'cell')}, the first line "
            f"has {width}. Correct the line; a cell that holds the separator must be in quotation "
            "marks."
        )


def _kept(
    path: Path, names: Sequence[str], columns: dict[int, _Column], places: Places
) -> tuple[list[int], list[int], list[str]]:
    """The columns of numbers, the columns of text, and notes on text and empty columns."""
    kept, text, empty, mistaken = [], [], [], {}
    for place, column in columns.items():
        column.close()
        # A few words among numbers are mistakes; a column with more words than numbers is text.
        if column.words and (place in places.named or column.words <= column.known):
            mistaken[place] = column
        elif column.words:
            text.append(place)
        elif not column.known and place not in places.named:
            empty.append(names[place])
        else:
            kept.append(place)
    if mistaken:
        raise InputError(_mistakes(path, names, mistaken))
    require_some(path, [*kept, *places.words], names)
    notes = [text_left_out([names[place] for place in text])] if text else []
    if grouped := [names[place] for place in kept if columns[place].grouped]:
        notes.append(f"Read as numbers with commas between thousands: {listed(grouped)}.")
    if empty:
        notes.append(f"Left out, because they are empty: {listed(empty)}.")
    return kept, text, notes


def _mistakes(path: Path, names: Sequence[str], columns: dict[int, _Column]) -> str:
    """A message: how many cells are not numbers, and where the first one is."""
    first = min(columns, key=lambda place: columns[place].first_word[0])
    line, word = columns[first].first_word
    count = sum(column.words for column in columns.values())
    where = listed([names[place] for place in columns])
    commas = _GROUPED.fullmatch(word.strip()) is not None
    remedy = "Write commas between thousands in every number of a column, or in none. " * commas
    all_of = f", the first of {count} such cells in {plural(len(columns), 'column')} ({where})"
    remedy += f"Correct {'them' if count > 1 else 'it'} (an empty cell is a missing value)"
    if not any(column.known for column in columns.values()):
        remedy = OF_TEXT
    return (
        f"{path}, line {line}, column {names[first]!r}: {short(word)} is not a number"
        f"{all_of if count > 1 else ''}. {remedy}, or choose other columns with --columns."
    )


def is_data(row: Sequence[str], decimal_comma: bool) -> bool:
    """Whether the first line is a sample: only numbers, but not 0, 1, 2 and so on."""
    if any(row == [str(i + start) for i in range(len(row))] for start in (0, 1)):
        return False
    found = [_number(cell, decimal_comma) for cell in row]
    return all(number is not None and not math.isnan(number) for number in found)


def _number(cell: str, decimal_comma: bool) -> float | None:
    """The number in a cell, NaN if it is missing, None if it is a word."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return math.nan
    if "_" in cell:
        return None
    try:
        return float(cell.replace(",", ".", 1) if decimal_comma else cell)
    except ValueError:
        return None
