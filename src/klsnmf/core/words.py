"""Words for messages and pages: counts, names that come from files, lines of prose."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

#: Names shown in a message.
_SHOWN = 10


def plural(count: int, noun: str) -> str:
    """1 file, 2 files."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def short(word: str) -> str:
    """A word from a file, fit for a message."""
    return repr(word if len(word) <= 40 else f"{word[:37]}...")


def listed(names: Sequence[str], most: int = _SHOWN) -> str:
    """Some names from a file, fit for a message."""
    shown = ", ".join(short(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def meant(name: str, names: Iterable[str]) -> str:
    """A question that suggests the most similar name; empty if none is similar."""
    near = get_close_matches(name, list(names), n=1)
    return f"Did you mean {near[0]!r}? " if near else ""


def wrapped(markdown: str) -> str:
    """Markdown with lines of at most 100 columns; tables are not changed."""
    lines = []
    for line in markdown.split("\n"):
        if line.startswith(("|", "#", "    ")) or len(line) <= 100:
            lines.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(
                line, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
    return "\n".join(lines)
