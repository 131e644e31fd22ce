"""Tables as text: CSV for programs, Markdown for pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


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
