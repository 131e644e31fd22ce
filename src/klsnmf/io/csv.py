"""Tables as text: .csv and .tsv, plain or compressed by gzip.

An error names the file, the line and the column.
"""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path

from ..core import memory
from ..core.files import LIMIT, ending, unpacked_size
from .cells import table_of
from .table import Choice, InputError, Table

#: A cell takes at least two characters in the file, and eight bytes as a number.
_GROWTH = 4

#: So many bytes of the first line are searched for the character that separates cells.
_FIRST_LINE = 2**20


def read(path: Path, choice: Choice) -> Table:
    """The table of a text file with a row for each sample."""
    size = unpacked_size(path) if _packed(path) else path.stat().st_size
    if size > LIMIT:
        raise InputError(f"{path} has {size} bytes; at most {LIMIT} are allowed. Use fewer rows.")
    memory.require(_GROWTH * size, f"The table of {path}", "Use fewer rows or columns.")
    delimiter = delimiter_of(path)
    return table_of(path, rows_of(path, delimiter), choice, decimal_comma=delimiter == ";")


def rows_of(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line that is not empty, and its cells."""
    with TextIOWrapper(_opened(path), encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            yield from ((reader.line_num, row) for row in reader if row)
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


def delimiter_of(path: Path) -> str:
    """What separates cells: a tab in .tsv; in .csv the most common of three characters."""
    with _opened(path) as content:
        line = content.readline(_FIRST_LINE)
    _refuse_utf16(path, line[:2])
    if ending(path).startswith(".tsv"):
        return "\t"
    return max(",;\t", key=line.decode(errors="replace").count)


def _packed(path: Path) -> bool:
    return ending(path).endswith(".gz")


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if _packed(path) else path.open("rb")


def _refuse_utf16(path: Path, start: bytes) -> None:
    """Spreadsheets write UTF-16 as "Unicode text"; every other byte of it is zero."""
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or 0 in start:
        raise InputError(
            f"{path} is text in UTF-16. Save the table again as CSV with the encoding UTF-8; in "
            'Excel the kind is called "CSV UTF-8".'
        )
