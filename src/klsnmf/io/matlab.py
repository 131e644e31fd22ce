"""Reading MATLAB files that may come from a stranger: versions 5 to 7, arrays of real numbers.

Every part is a slice of existing bytes, and cells, structures, objects and text are skipped. We
tried loadmat of scipy 1.17 on 1,500 damaged files: 6 ended the process, and most raised other
errors than ValueError. To run it in its own process would cost 0.3 s per file, and needs limits
that not every system has. loadmat is 3 times as fast (30 MB in 0.6 s).
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, memory
from ..core.files import LIMIT, UnsafeFileError, size_of_regular_file

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_SPARSE = 5
_COMPLEX = 0x0800

#: The types of stored numbers, and of arrays. Small whole numbers are stored in fewer bytes.
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
_STORED |= {12: "i8", 13: "u8"}
_CLASSES = dict(enumerate(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"], start=6))

_CHUNK = 2**20

#: The most parts of a variable that are read: a sparse matrix has flags, sides, name, rows, starts
#: and values. And the most variables of a file.
_PARTS = 6
_MOST = 10_000

#: A part of a file: its type and its bytes.
_Element = tuple[int, memoryview]


def read_mat(path: str | os.PathLike[str], limit: int = LIMIT) -> dict[str, Any]:
    """The arrays and sparse matrices of real numbers in a .mat file, by name.

    The file may unpack to ``limit`` bytes at most.
    """
    path = Path(path)
    size = size_of_regular_file(path)
    if size > limit:
        raise UnsafeFileError(f"{path} has {size} bytes; at most {limit} are allowed.")
    memory.require(size, f"What {path} holds", "Use less data.")
    content = memoryview(path.read_bytes())
    order = {b"IM": "<", b"MI": ">"}.get(bytes(content[126:_HEADER]))
    if order is None or bytes(content[124:126]) not in (b"\x00\x01", b"\x01\x00"):
        raise UnsafeFileError(
            f"{path} is not a MATLAB file of version 5 to 7; in MATLAB use save(..., '-v7')."
        )
    found: dict[str, Any] = {}
    try:
        for count, (kind, part) in enumerate(_elements(content[_HEADER:], order)):
            if count == _MOST:
                raise UnsafeFileError(f"{path} has more than {_MOST} variables.")
            if kind == _COMPRESSED:
                part = _unpacked(part, limit - size, path)
                size += len(part)
                ((kind, part),) = _elements(part, order)
            if kind == _MATRIX:
                found |= _variable(list(islice(_elements(part, order), _PARTS)), order)
    except (ValueError, IndexError, struct.error, zlib.error) as error:
        if isinstance(error, UnsafeFileError):
            raise
        raise UnsafeFileError(f"{path} is not a valid MATLAB file ({error}).") from error
    return found


def _elements(content: memoryview, order: str) -> Iterator[_Element]:
    """The parts of a file or a variable: a type, a length, and bytes padded to eight."""
    while len(content):
        kind, length = struct.unpack(f"{order}II", content[:8])
        start, end = 8, 8 + length
        if kind >> 16:  # a short one: type and length in four bytes, and at most four of data
            kind, length = kind & 0xFFFF, kind >> 16
            start, end = 4, 4 + length
            if length > 4:
                raise ValueError(f"a short part of {length} bytes")
        if end > len(content):
            raise ValueError(f"a part of {length} bytes, and {len(content) - start} are there")
        yield kind, content[start:end]
        padding = 0 if kind == _COMPRESSED else -end % 8
        content = content[end + padding :]


def _unpacked(part: memoryview, room: int, path: Path) -> memoryview:
    """An unpacked part, whose size is checked while it is unpacked."""
    unpacker, size, rest = zlib.decompressobj(), 0, bytes(part)
    while rest and size <= room:
        size += len(unpacker.decompress(rest, _CHUNK))
        rest = unpacker.unconsumed_tail
    if size > room:
        raise UnsafeFileError(f"{path} unpacks to more bytes than are allowed.")
    memory.require(2 * size, f"What {path} holds", "Use less data.")
    return memoryview(zlib.decompress(part))


def _variable(parts: list[_Element], order: str) -> dict[str, Any]:
    """A variable by its name, if it holds real numbers."""
    (flags,) = struct.unpack(f"{order}I", parts[0][1][:4])
    kind = flags & 0xFF
    if (kind not in _CLASSES and kind != _SPARSE) or flags & _COMPLEX:
        return {}
    name = bytes(parts[2][1]).decode("utf-8", "replace")
    shape = checks.sides_of(_numbers(parts[1], order), name)
    if kind == _SPARSE:
        rows, starts, values = (_numbers(part, order) for part in parts[3:6])
        count = int(starts[-1])  # there may be room for more
        return {name: checks.csr(values[:count], rows[:count], starts, shape, name, by="columns")}
    values = _numbers(parts[3], order)
    if len(values) != math.prod(shape):
        raise ValueError(f"{name} claims shape {shape} and has {len(values)} numbers")
    return {name: values.astype(_CLASSES[kind]).reshape(shape, order="F")}


def _numbers(part: _Element, order: str) -> NDArray[Any]:
    kind, content = part
    if kind not in _STORED:
        raise ValueError(f"numbers of type {kind}")
    dtype = np.dtype(f"{order}{_STORED[kind]}")
    return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))
