"""Tables in a terminal, plain lines for other programs, JSON on request."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import click


def show_json(value: Any) -> None:
    """Print JSON with escaped control characters; its meaning is the same."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
        )
    click.echo(text)


def printable(text: str) -> str:
    """Text without control characters; it may hold names from files."""
    return "".join(each if each.isprintable() else _instead(each) for each in text)


def _instead(character: str) -> str:
    """A plain space for the other kinds of spaces, such as those between thousands."""
    space = unicodedata.category(character) == "Zs"
    return " " if space else "\N{REPLACEMENT CHARACTER}"


def show_lines(text: str) -> None:
    """Print lines: unchanged for another program, without control characters in a terminal."""
    if sys.stdout.isatty():
        text = "\n".join(printable(line) for line in text.split("\n"))
    click.echo(text, nl=False)


def show_notes(notes: Sequence[str]) -> None:
    """What the user should know, on the standard error."""
    for note in notes:
        click.echo(f"Note: {printable(note)}", err=True)


def show_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in a terminal; elsewhere print lines with tabs, the header first."""
    if sys.stdout.isatty() and _show_rich_table(header, rows):
        return
    for row in [header, *rows]:
        click.echo("\t".join(str(field) for field in row))


def _show_rich_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*header)
    for row in rows:
        # As Text, so that square brackets in a path are not taken for markup.
        table.add_row(*(Text(str(field)) for field in row))
    Console().print(table)
    return True
