"""Tables as text: .csv and .tsv.

Numbers are found column by column, some rows at a time, so that text never fills the memory.
An error names the file, the line and the column.
"""

from __future__ import annotations

import codecs
import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..core import memory
from ..core.files import LIMIT
from ..core.words import listed, plural, short
from .table import MISSING, Choice, InputError, Table, classes, column_places, counted, same_length

#: Rows whose text is in memory at once.
_ROWS = 2000

#: A cell takes two characters at least, and eight bytes as a number.
_GROWTH = 4


@dataclass
class _Column:
    """The numbers of a column, or the first cell that is none."""

    numbers: list[np.ndarray] = field(default_factory=list)
    known: int = 0
    words: int = 0
    first_word: tuple[int, str] = (0, "")

    def take(self, cells: Sequence[str], lines: Sequence[int], decimal_comma: bool) -> None:
        with suppress(ValueError):
            found = np.fromiter(map(float, cells), np.float64, len(cells))
            # float() also reads 1_000, which is a name rather than a number.
            if not any("_" in cell for cell in cells):
                self.numbers.append(found)
                self.known += len(cells)
                return
        values = np.empty(len(cells))
        for i, cell in enumerate(cells):
            number = _number(cell, decimal_comma)
            if number is None:
                self.words += 1
                if self.words == 1:
                    self.first_word = lines[i], cell
                number = math.nan
            elif not math.isnan(number):
                self.known += 1
            values[i] = number
        self.numbers.append(values)


def read(path: Path, choice: Choice) -> Table:
    """The table of a text file with a row for each sample."""
    size = path.stat().st_size
    if size > LIMIT:
        raise InputError(f"{path} has {size} bytes, {LIMIT} are allowed. Give a part of its rows.")
    memory.require(_GROWTH * size, f"The table of {path}", "Give a part of its rows or columns.")
    _refuse_utf16(path)
    delimiter = _delimiter(path)
    decimal_comma = delimiter == ";"
    batches = _batches(path, delimiter)
    header = next(batches)[1][0]
    names, messages = [cell.strip() for cell in header], []
    first: list[list[str]] = []
    if _is_data(header, decimal_comma):
        names, first = counted(len(header)), [header]
        messages.append(
            f"{path} has no line of column names: its columns are called 1 to {len(header)}."
        )
    places = column_places(path, names, choice)
    columns = {place: _Column() for place in places.features}
    ids: list[str] = []
    labels: list[str] = []
    lines: list[int] = []
    for numbered, rows in batches:
        if first:
            numbered, rows, first = [1, *numbered], first + rows, []
        same_length(path, numbered, rows, len(names))
        lines += numbered
        cells = list(zip(*rows, strict=True))
        for place, column in columns.items():
            column.take(cells[place], numbered, decimal_comma)
        if places.ids is not None:
            ids += cells[places.ids]
        if places.labels is not None:
            labels += cells[places.labels]
    if not lines:
        raise InputError(f"{path} has a line of column names and no other. Add rows of data.")
    kept = _kept(path, names, columns, choice, messages)
    X = np.empty((len(lines), len(kept)))
    for j, place in enumerate(kept):
        X[:, j] = np.concatenate(columns.pop(place).numbers)
    return Table(
        name=str(path),
        X=X,
        ids=ids if places.ids is not None else counted(len(lines)),
        features=[names[place] for place in kept],
        target=classes(labels) if places.labels is not None else None,
        messages=messages,
        lines=lines,
    )


def _kept(
    path: Path,
    names: Sequence[str],
    columns: dict[int, _Column],
    choice: Choice,
    messages: list[str],
) -> list[int]:
    """The columns that hold numbers; those of text are left out, if none asked for them."""
    kept, text, empty, mistaken = [], [], [], []
    for place, column in columns.items():
        # A few words among numbers are mistakes; a column with more words than numbers is text.
        if column.words and (choice.columns is not None or column.words <= column.known):
            mistaken.append(place)
        elif column.words:
            text.append(names[place])
        elif not column.known and choice.columns is None:
            empty.append(names[place])
        else:
            kept.append(place)
    if mistaken:
        raise InputError(_mistakes(path, names, {place: columns[place] for place in mistaken}))
    if text:
        messages.append(f"Left out, because they hold text: {listed(text)}.")
    if empty:
        messages.append(f"Left out, because they are empty: {listed(empty)}.")
    if not kept:
        raise InputError(
            f"{path} has no column of numbers to cluster by; its columns are {listed(names)}. "
            "Describe the samples by numbers."
        )
    return kept


def _mistakes(path: Path, names: Sequence[str], columns: dict[int, _Column]) -> str:
    """How many cells are no numbers, and where the first is."""
    first = min(columns, key=lambda place: columns[place].first_word[0])
    line, word = columns[first].first_word
    count = sum(column.words for column in columns.values())
    where = f"{path}, line {line}, column {names[first]!r}: {short(word)} is not a number"
    if count > 1:
        where += (
            f", the first of {count} such cells in {plural(len(columns), 'column')} "
            f"({listed([names[place] for place in columns])})"
        )
    return (
        f"{where}. Correct {'it' if count == 1 else 'them'} (an empty cell is a missing value), or "
        "choose other columns with --columns."
    )


def _batches(path: Path, delimiter: str) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Lines by number, and their cells: the first alone, then some at a time."""
    lines: list[int] = []
    rows: list[list[str]] = []
    seen = False
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if not row:
                    continue
                lines.append(reader.line_num)
                rows.append(row)
                if not seen or len(rows) == _ROWS:
                    seen = True
                    yield lines, rows
                    lines, rows = [], []
        except csv.Error as error:
            raise InputError(
                f"{path}, line {reader.line_num}: {error}. Look for a quotation mark that is not "
                "closed, or save the table again as CSV."
            ) from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}, after line {reader.line_num}: this is not text in UTF-8. Save the table "
                "again as CSV with the encoding UTF-8."
            ) from error
    if not seen:
        raise InputError(f"{path} is empty. Give a table with a line of column names and rows.")
    if rows:
        yield lines, rows


def _refuse_utf16(path: Path) -> None:
    """Spreadsheets write UTF-16 as "Unicode text"; every other byte of it is zero."""
    with path.open("rb") as file:
        start = file.read(2)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or 0 in start:
        raise InputError(
            f"{path} is text in UTF-16. Save the table again as CSV with the encoding UTF-8; in "
            'Excel the kind is called "CSV UTF-8".'
        )


def _delimiter(path: Path) -> str:
    """What separates cells: a tab in .tsv; in .csv the commonest of three in the first line."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(2**20)
    return max(",;\t", key=line.count)


def _is_data(row: list[str], decimal_comma: bool) -> bool:
    """Whether the first line is a sample: numbers only, and not those that count columns."""
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
