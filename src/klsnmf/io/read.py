"""A file, or a folder of images, of any kind that is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..core.files import UnsafeFileError, ending
from . import arrays, csv, images, parquet
from .errors import InputError, require_exists
from .table import Choice, Table

#: How files are read, by the end of their name.
READERS: dict[str, Callable[[Path, Choice], Table]] = {
    ".csv": csv.read,
    ".tsv": csv.read,
    ".csv.gz": csv.read,
    ".tsv.gz": csv.read,
    ".parquet": parquet.read,
    ".npy": arrays.read_npy,
    ".npz": arrays.read_npz,
    ".mat": arrays.read_mat,
    ".mtx": arrays.read_mtx,
}

#: Files of spreadsheets, which can save what is read here.
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def read(path: Path, choice: Choice) -> Table:
    """The samples of a file, or of a folder of images."""
    require_exists(path)
    reader: Callable[[Path, Choice], Table]
    if path.is_dir():
        reader = images.read
    elif ending(path) not in READERS:
        sheet = "Save the sheet as CSV. " if path.suffix.lower() in _SPREADSHEETS else ""
        raise InputError(
            f"{path} is of a kind that is not known. {sheet}Give a folder of images, or a file "
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
        raise InputError(str(error) or f"{path} does not fit into the memory.") from error
    except OSError as error:
        raise InputError(
            f"{path} could not be read: {error.strerror or error}. Check that you may read it."
        ) from error
    if not len(table.ids):
        raise InputError(f"{path} holds no samples. Give a file with at least one row of data.")
    return table
