"""Files that appear complete or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to; when all went well it takes the name ``path``.

    Other processes see the old file or the new one, whole. After an error nothing is left behind.
    """
    path = Path(path)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with aside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def remove_leftovers(path: str | os.PathLike[str], before: float) -> None:
    """Remove what processes left that were killed while they wrote ``path``, before this time."""
    path = Path(path)
    for aside in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):  # another process may have been quicker
            if aside.stat().st_mtime < before:
                aside.unlink()


def write_whole(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file all at once; its folder is made if there is none."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as file:
        file.write(data)
