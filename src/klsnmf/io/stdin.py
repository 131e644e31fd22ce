"""The standard input, ``-``: the output of another program, read like a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..core.files import LIMIT
from .table import InputError, Table

#: What the standard input is called in messages.
NAME = "standard input"

#: How files of each kind begin, and the ending of their names. All else is text.
_BEGINNINGS = {
    b"\x1f\x8b": ".csv.gz",
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"%%MatrixMarket": ".mtx",
    b"\x89HDF": ".h5ad",
}

_CHUNK = 2**20


def read(reader: Callable[[Path], Table]) -> Table:
    """Write the input to a temporary file, and read that."""
    if sys.stdin.isatty():
        raise InputError(
            "DATA is -, the standard input, but nothing is sent to it. Send a table, as in: "
            "cat table.csv | klsnmf cluster -"
        )
    with TemporaryDirectory(prefix="klsnmf-") as folder:
        path = Path(folder, "stdin")
        path = path.rename(path.with_suffix(_fill(path)))
        try:
            table = reader(path)
        except InputError as error:
            raise InputError(_renamed(str(error), path)) from error
    messages = [_renamed(text, path) for text in table.messages]
    return replace(table, name=NAME, messages=messages)


def _fill(path: Path) -> str:
    """Write the standard input to a file, and return the ending for its name."""
    stream, size, start = sys.stdin.buffer, 0, b""
    with path.open("wb") as file:
        while part := stream.read(_CHUNK):
            start = start or part
            size += file.write(part)
            if size > LIMIT:
                raise InputError(f"{NAME} has more than the {LIMIT} bytes allowed. Use fewer rows.")
    if start.startswith(b"PK"):
        return ".npz" if b".npy" in start[:100] else ".xlsx"
    return next((end for begin, end in _BEGINNINGS.items() if start.startswith(begin)), ".csv")


def _renamed(text: str, path: Path) -> str:
    """A message in which the file has the name that the user knows."""
    return text.replace(str(path), NAME)
