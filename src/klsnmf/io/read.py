"""Reads a file or folder of any known kind, or several of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..core.files import UnsafeFileError, ending
from ..core.words import plural
from . import arrays, csv, h5ad, images, parquet, stdin, texts, xlsx
from .errors import STANDARD_INPUT, InputError, require_exists
from .folders import find, most_files
from .parts import stacked
from .table import Choice, Table

#: Readers by the ending of the file name.
READERS: dict[str, Callable[[Path, Choice], Table]] = {
    ".csv": csv.read,
    ".tsv": csv.read,
    ".csv.gz": csv.read,
    ".tsv.gz": csv.read,
    ".xlsx": xlsx.read,
    ".xlsm": xlsx.read,
    ".parquet": parquet.read,
    ".npy": arrays.read_npy,
    ".npz": arrays.read_npz,
    ".mat": arrays.read_mat,
    ".mtx": arrays.read_mtx,
    ".h5ad": h5ad.read,
}

#: Parts of a table that a folder may hold.
_PARTS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy")

#: What a folder may hold, and the endings of such files.
_KINDS = {"images": images.SUFFIXES, "texts": texts.SUFFIXES, "parts": _PARTS}

#: Files of other spreadsheets, which can be saved as CSV.
_SPREADSHEETS = (".xls", ".ods", ".numbers")


def read_all(paths: Sequence[Path], choice: Choice) -> Table:
    """The samples of one or several files or folders, joined row by row."""
    if len(paths) == 1:
        return read(paths[0], choice)
    name = f"{paths[0]} and {plural(len(paths) - 1, 'other')}"
    return stacked([read(path, choice) for path in paths], name)


def read(path: Path, choice: Choice) -> Table:
    """The samples of a file, of a folder, or of the standard input."""
    if path == STANDARD_INPUT:
        return stdin.read(partial(read, choice=choice))
    require_exists(path)
    reader: Callable[[Path, Choice], Table]
    if path.is_dir():
        reader = _FOLDERS[folder_kind(path)]
    elif ending(path) not in READERS:
        sheet = "Save the sheet as CSV. " if path.suffix.lower() in _SPREADSHEETS else ""
        raise InputError(
            f"Unsupported file type: {path}. {sheet}Give a folder, or a file "
            f"that ends in {', '.join(READERS)}."
        )
    elif not path.is_file():
        raise InputError(f"{path} is not a regular file. Save the data to a file first.")
    else:
        reader = READERS[ending(path)]
    try:
        table = reader(path, choice)
    except UnsafeFileError as error:
        raise InputError(f"{error} Save the data again, or get the file again.") from error
    except MemoryError as error:
        raise InputError(str(error) or f"{path} does not fit into memory.") from error
    except OSError as error:
        raise InputError(
            f"{path} could not be read: {error.strerror or error}. Check that you have permission "
            "to read it."
        ) from error
    if choice.text_column is not None and table.text_column is None:
        raise InputError(
            f"Leave out --text-column, or give a table: {path} has no columns of text."
        )
    if not len(table.ids):
        raise InputError(f"{path} holds no samples. Give a file with at least one row of data.")
    return table


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files of tables at these paths; a folder stands for the files in it."""
    found: list[Path] = []
    for path in paths:
        parts = path.is_dir() and folder_kind(path) == "parts"
        found += [path / name for name in find(path, _PARTS).names] if parts else [path]
    return found


def folder_kind(path: Path) -> str:
    """What most files of a folder are: images, texts, or parts of a table."""
    return most_files(path, _KINDS) or "images"


def _read_parts(path: Path, choice: Choice) -> Table:
    """The files of a folder, which are parts of one table, in the order of their names."""
    found = find(path, _PARTS)
    tables = [read(path / name, choice) for name in found.names]
    table = stacked(tables, str(path)) if len(tables) > 1 else tables[0]
    return replace(table, messages=[*found.told("table"), *table.messages])


#: Readers of folders, by the kind of most of their files.
_FOLDERS = {"images": images.read, "texts": texts.read, "parts": _read_parts}
