"""Workbooks of spreadsheets: .xlsx and .xlsm, read with openpyxl. No formula and no macro is run.

A workbook is a zip archive of XML. Its entries are checked before openpyxl reads it: their unpacked
size, and that no XML declares entities, which can grow to gigabytes or name other files.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ..core import memory
from ..core.files import UnsafeFileError, open_zip
from ..core.words import listed, meant
from .cells import table_of
from .parts import stacked
from .table import Choice, InputError, Table, needs

#: The most cells of a sheet, including empty ones: a sheet may claim cells that do not exist.
_MOST_CELLS = 200_000_000

#: Bytes of memory for a byte of XML; the text that cells share is all in memory.
_GROWTH = 4

_CHUNK = 2**20


def read(path: Path, choice: Choice) -> Table:
    """The table in a sheet of a workbook, or in several sheets one below the other."""
    with opened_sheets([path], choice) as found:
        count = len(found)
        tables = [_sheet(path, sheet, choice, count) for sheet, _ in found]
        names, every = [sheet.title for sheet, _ in found], found[0][0].parent.sheetnames
    table = stacked(tables, str(path)) if len(tables) > 1 else tables[0]
    others = [name for name in every if name not in names]
    if not others or choice.sheets:
        return table
    told = (
        f"{path} has {len(every)} sheets, and {names[0]!r} was read. Choose others with --sheet: "
        f"{listed(others)}."
    )
    return replace(table, messages=[told, *table.messages])


@contextmanager
def opened_sheets(paths: Sequence[Path], choice: Choice) -> Iterator[list[tuple[Any, Path]]]:
    """The sheets of workbooks that were asked for, each with the path of its file."""
    try:
        import openpyxl
    except ImportError as error:
        raise needs(paths[0], "openpyxl", ", or save the sheet as CSV.") from error
    with ExitStack() as stack:
        found = []
        for path in paths:
            _look_through(path)
            file = stack.enter_context(path.open("rb"))
            with _sound(path):
                book = openpyxl.load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
                sheets = {sheet.title: sheet for sheet in book.worksheets}
            found += [(sheets[name], path) for name in _chosen(path, list(sheets), choice)]
        yield found


def values_of(sheet: Any, path: Path) -> Iterator[tuple[int, list[Any]]]:
    """The number of each row of a sheet that is not empty, and the values of its cells.

    All rows are at least as long as the first.
    """
    width, seen = 0, 0
    with _sound(path):
        sheet.reset_dimensions()  # a claim of the file, which may be wrong
        for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            seen += len(row)
            if seen > _MOST_CELLS:
                raise UnsafeFileError(f"{path} claims more than {_MOST_CELLS} cells.")
            end = next((j for j in range(len(row), 0, -1) if row[j - 1] not in (None, "")), 0)
            if end:
                width = width or end
                yield line, [*row[: max(end, width)], *[None] * (width - len(row))]


def _rows_of(sheet: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    return ((line, [text_of(value) for value in row]) for line, row in values_of(sheet, path))


def _sheet(path: Path, sheet: Any, choice: Choice, count: int) -> Table:
    """The table of one sheet; its name includes the sheet if there are several."""
    shown = path if count == 1 else path.with_name(f"{path.name}, sheet {sheet.title}")
    return table_of(shown, _rows_of(sheet, path), choice, decimal_comma=False)


def _chosen(path: Path, names: list[str], choice: Choice) -> list[str]:
    """The sheets to read: those asked for, or the first."""
    if not names:
        raise InputError(f"{path} has no sheet with cells. Give a workbook with a table.")
    for name in choice.sheets:
        if name not in names:
            raise InputError(
                f"{path} has no sheet {name!r}. {meant(name, names)}It has {listed(names)}."
            )
    return list(dict.fromkeys(choice.sheets)) or names[:1]


def text_of(value: Any) -> str:
    """A cell as it would be in a text file."""
    if value is None or value == "#N/A":
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return str(value)


def _look_through(path: Path) -> None:
    """Refuse an archive that unpacks to too much, or has XML that declares entities."""
    with open_zip(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        memory.require(_GROWTH * total, f"The table of {path}", "Use fewer rows.")
        for entry in entries:
            if entry.filename.lower().endswith((".xml", ".rels")):
                with archive.open(entry) as stream:
                    if _declares(stream):
                        raise UnsafeFileError(
                            f"{path}: {entry.filename!r} declares entities, which no spreadsheet "
                            "writes."
                        )


def _declares(stream: IO[bytes]) -> bool:
    """Whether XML has a declaration of its type; in UTF-16 it could hide, so this counts as yes."""
    before = b""
    while part := stream.read(_CHUNK):
        if not before and (part[:2] in (b"\xff\xfe", b"\xfe\xff") or 0 in part[:4]):
            return True
        if b"<!DOCTYPE" in (seen := before + part) or b"<!ENTITY" in seen:
            return True
        before = part[-16:]
    return False


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Turn any error that openpyxl raises on a damaged file into a refusal."""
    try:
        yield
    except (InputError, UnsafeFileError, MemoryError, GeneratorExit):
        raise
    except Exception as error:
        raise UnsafeFileError(
            f"{path} is not a valid workbook ({type(error).__name__}: {error})."
        ) from error
