"""Words for messages: counts, and names that come from files."""

from __future__ import annotations

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
    """A question after the name nearest to one that does not exist; empty if none is near."""
    near = get_close_matches(name, list(names), n=1)
    return f"Did you mean {near[0]!r}? " if near else ""
