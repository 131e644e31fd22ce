"""Tables as text: CSV for programs, Markdown for pages."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

#: Spreadsheets take cells that begin like this for formulas, and formulas can run programs. Some do
#: the same with the wide forms of these characters. A program with another separator may see the
#: beginning of a cell inside one of ours.
_FORMULA = re.compile(r"(^|[;,\t|])(\s*['\"]?\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A line of names, and a line for each row."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def line(*fields: object) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(map(str, fields)) + " |"


def head(*fields: str) -> list[str]:
    """The first two lines of a table in Markdown."""
    return [line(*fields), "|" + "---|" * len(fields)]


def harmless(name: str) -> str:
    """A name that no spreadsheet takes for a formula, without control characters."""
    if not name.isprintable():
        name = "".join(_visible(each) for each in name)
    try:
        float(name)
    except ValueError:
        return _FORMULA.sub(r"\1'\2", name)
    return name


def formula_free(cell: str) -> str:
    """The cell, with an apostrophe before it if a spreadsheet would read it as a formula."""
    if len(cell) < 2 or not _FORMULA.match(cell):
        return cell
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return f"'{cell}"
    return cell


def _visible(character: str) -> str:
    """Tabs and ends of lines become spaces, other controls and broken text a mark."""
    if unicodedata.category(character) not in ("Cc", "Cs"):
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
