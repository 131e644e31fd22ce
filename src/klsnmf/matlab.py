"""Reading MATLAB files that may come from a stranger.

scipy believes what such a file claims. So its compressed parts are measured first, without keeping
them, and of its variables only numbers and text are read: cells, structures and objects may claim
any number of entries.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from pathlib import Path
from typing import IO, Any

from . import memory
from .files import LIMIT, UnsafeFileError, size_of_regular_file

#: The classes of variables that are read.
_READ = frozenset(
    ["double", "single", "logical", "char", "sparse"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)

_HEADER = 128
_COMPRESSED = 15
_CHUNK = 2**20


def read_mat(path: str | os.PathLike[str], limit: int = LIMIT) -> dict[str, Any]:
    """The arrays of numbers and of text in a .mat file that unpacks to ``limit`` bytes at most.

    Sparse matrices are not checked: their indices may lead outside.
    """
    from scipy.io import loadmat, whosmat

    path = Path(path)
    size_of_regular_file(path)
    total = _unpacked_size(path, limit)
    try:
        variables = {name: (shape, kind) for name, shape, kind in whosmat(path) if kind in _READ}
        for name, (shape, kind) in variables.items():
            # MATLAB stores whole numbers in as little as one byte; of a sparse matrix, columns.
            least = shape[-1] if kind == "sparse" else math.prod(shape)
            if least > total:
                raise UnsafeFileError(f"{path}, {name} claims shape {shape} in {total} bytes.")
        memory.require(8.0 * total, f"What {path} holds", "Give a part of the data.")
        found = loadmat(path, variable_names=list(variables))
    except (UnsafeFileError, MemoryError):
        raise
    except NotImplementedError as error:
        raise UnsafeFileError(
            f"{path} is a MATLAB file of version 7.3, which is not read: in MATLAB use "
            "save(..., '-v7')."
        ) from error
    except Exception as error:  # whatever a parser says of a file made to confuse it
        raise UnsafeFileError(f"{path} is not a sound MATLAB file ({error}).") from error
    return {name: found[name] for name in variables if name in found}


def _unpacked_size(path: Path, limit: int) -> int:
    """The bytes that a file of version 5 unpacks to; those it has, in the older version 4."""
    total = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER or header[126:] not in (b"IM", b"MI"):
            return total
        order = "<" if header[126:] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, length = struct.unpack(f"{order}II", tag)
            if kind == _COMPRESSED:
                total += _measure(file, length, limit - total, path)
            else:
                file.seek(length, os.SEEK_CUR)
            if total > limit:
                raise UnsafeFileError(f"{path} unpacks to more than the {limit} bytes allowed.")
    return total


def _measure(file: IO[bytes], length: int, room: int, path: Path) -> int:
    """How much a compressed part unpacks to, or a little more than there is room for."""
    unpacker, size, left = zlib.decompressobj(), 0, length
    try:
        while left > 0 and (part := file.read(min(_CHUNK, left))):
            left -= len(part)
            while part and size <= room:
                size += len(unpacker.decompress(part, _CHUNK))
                part = unpacker.unconsumed_tail
    except zlib.error as error:
        raise UnsafeFileError(f"{path} is not a sound MATLAB file ({error}).") from error
    return size
