"""Where samples are before a fit: in memory, in a file, or with the workers of a Dask cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..core import files, memory


def is_path(X: Any) -> bool:
    return isinstance(X, str | os.PathLike)


def is_dask_array(X: Any) -> bool:
    """Without an import of Dask."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "rechunk")


def here(X: Any) -> Any:
    """X, or the array of the .npy file that X names: in memory if it fits, else on the disk."""
    if not is_path(X):
        return X
    try:
        size = files.size_of_regular_file(Path(X))
        # Twice: some copy of it will be wanted.
        if memory.fits(2.0 * size):
            return files.read_npy(X, size)
        return files.map_npy(X)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"X={X!s} is no file: give the path of a .npy file.") from error
