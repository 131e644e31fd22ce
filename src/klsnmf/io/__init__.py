"""Reading what people have: tables, arrays, sparse matrices, folders of images.

Every file may come from a stranger. Its size is checked before memory is asked for, nothing is
unpickled, and whatever is wrong becomes an ``InputError`` with the name of the file and a remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..core.files import UnsafeFileError
from . import arrays, delimited, images, parquet
from .table import Choice, InputError, Table

__all__ = ["Choice", "InputError", "Table", "read", "read_dataset"]

#: How files are read, by the end of their name.
READERS: dict[str, Callable[[Path, Choice], Table]] = {
    ".csv": delimited.read,
    ".tsv": delimited.read,
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
    reader: Callable[[Path, Choice], Table]
    if path.is_dir():
        reader = images.read
    elif not path.exists():
        raise InputError(f"{path} does not exist. Check the name; the current folder is {_here()}.")
    elif path.suffix.lower() not in READERS:
        sheet = "Save the sheet as CSV. " if path.suffix.lower() in _SPREADSHEETS else ""
        raise InputError(
            f"{path} is of a kind that is not known. {sheet}Give a folder of images, or a file "
            f"that ends in {', '.join(READERS)}."
        )
    elif not path.is_file():
        raise InputError(f"{path} is not a regular file. Save the data to a file first.")
    else:
        reader = READERS[path.suffix.lower()]
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


def read_dataset(name: str) -> Table:
    """A data set of the paper."""
    from .. import datasets
    from .table import classes, counted, numbers

    try:
        found = datasets.load(name)
    except (datasets.DatasetError, ValueError) as error:
        raise InputError(str(error)) from error
    return Table(
        name=name,
        X=numbers(found.data, name),
        ids=counted(len(found.data)),
        target=classes(found.target.tolist()),
        image_shape=found.image_shape,
    )


def _here() -> Path:
    return Path.cwd()
