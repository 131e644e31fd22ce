"""What is in a folder: files of one kind, other files, and links that lead out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..core.words import listed, plural
from .table import InputError

_MOST_FILES = 1_000_000

#: Files named in a message.
_TOLD = 5


class Found(NamedTuple):
    """Files of one kind in a folder, as relative paths in order; other files; links out of it."""

    folder: Path
    names: list[str]
    others: list[str]
    links: list[str]

    def told(self, kind: str) -> list[str]:
        """Messages about files that are left out because they are of another kind."""
        messages = []
        if links := self.links:
            one, shown = len(links) == 1, listed([as_text(name) for name in links], _TOLD)
            messages.append(
                f"{plural(len(links), 'link')} in {self.folder} that {'leads' if one else 'lead'} "
                f"out of it {'was' if one else 'were'} not followed: {shown}. Put the files "
                "themselves there."
            )
        if others := self.others:
            are = f"is no {kind} and was" if len(others) == 1 else f"are not {kind}s and were"
            shown = listed([as_text(name) for name in others], _TOLD)
            messages.append(
                f"{plural(len(others), 'file')} in {self.folder} {are} left out: {shown}."
            )
        return messages


def find(folder: Path, endings: tuple[str, ...]) -> Found:
    """The files below a folder with these endings; hidden files are ignored."""
    found = Found(folder, [], [], [])
    home = folder.resolve()
    for name in _files(folder):
        kind = found.names if name.lower().endswith(endings) else found.others
        file = folder / name
        if file.is_symlink() and not file.resolve().is_relative_to(home):
            kind = found.links
        kind.append(name)
        if len(found.names) > _MOST_FILES:
            raise InputError(f"{folder} holds more than {_MOST_FILES} files. Cluster some of them.")
    for names in found[1:]:
        names.sort()
    return found


def most_files(folder: Path, kinds: dict[str, tuple[str, ...]]) -> str | None:
    """The kind that most files of a folder have, by their endings; None if there are none."""
    counts = dict.fromkeys(kinds, 0)
    for name in _files(folder):
        for kind, endings in kinds.items():
            counts[kind] += name.lower().endswith(endings)
    kind = max(counts, key=lambda kind: counts[kind])
    return kind if counts[kind] else None


def _files(folder: Path) -> Iterator[str]:
    for place, subfolders, found in os.walk(folder):  # links to folders are not followed
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in found:
            if not name.startswith("."):
                yield Path(place, name).relative_to(folder).as_posix()


def as_text(name: str) -> str:
    """The name of a file, which may be any bytes, as text."""
    return os.fsencode(name).decode(errors="backslashreplace")
