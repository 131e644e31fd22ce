"""Reading .npy and .npz files, and zip archives, that may come from a stranger.

A file is read only if its header, its size on disk and the limit of the caller agree. This is
checked before memory for its content is allocated. Pickled objects are never loaded, and nothing is
ever unpacked onto the disk.
"""

from __future__ import annotations

import errno
import gzip
import io
import math
import os
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from . import memory

#: The most bytes that a file may unpack to, unless the caller says otherwise.
LIMIT = 4 * 2**30

#: Deflate packs at most 1032 bytes into 1; an entry that claims more is not valid.
BEST_RATIO = 1040

#: What zipfile raises for damaged archives, found by trying damaged ones.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,  # also for a compression that it does not know
    ValueError,
)

_MOST_ENTRIES = 100_000
_LONGEST_HEADER = 10_000
_CHUNK = 2**20


class UnsafeFileError(ValueError):
    """A file that is damaged, too large, or not what it claims to be. Nothing of it is kept."""


def read_npy(path: str | os.PathLike[str], limit: int = LIMIT) -> NDArray[Any]:
    """The array of a .npy file that takes no more than ``limit`` bytes."""
    path = Path(path)
    size = size_of_regular_file(path)
    with path.open("rb") as stream:
        return _read_array(stream, size, limit, str(path))


@dataclass(frozen=True)
class Header:
    """What a .npy file says about its array, and the byte at which the array begins."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def order(self) -> Any:
        return "F" if self.fortran_order else "C"


def npy_header(path: str | os.PathLike[str]) -> Header:
    """The header of a .npy file, checked as by ``read_npy``."""
    path = Path(path)
    size = size_of_regular_file(path)
    with path.open("rb") as stream:
        return _claim(stream, size, sys.maxsize, str(path))


def map_npy(path: str | os.PathLike[str]) -> np.memmap[Any, Any]:
    """The array of a .npy file, checked as by ``read_npy``, and left on the disk.

    The file must not change: if it becomes shorter, reading the missing part ends the process.
    """
    found = npy_header(path)
    return np.memmap(path, found.dtype, "r", found.start, found.shape, found.order)


def read_npy_rows(
    path: str | os.PathLike[str], header: Header, rows: slice
) -> NDArray[Any]:  # (rows, p)
    """Some rows of the matrix in a .npy file with this header."""
    n, p = header.shape
    # The order of the file: its lines are rows, or columns of which a part is read.
    first, lines, length = rows.start * p, 1, (rows.stop - rows.start) * p
    if header.fortran_order:
        first, lines, length = rows.start, p, rows.stop - rows.start
    found = np.empty((lines, length), header.dtype)
    with Path(path).open("rb") as stream:
        for i, line in enumerate(found):
            stream.seek(header.start + (first + i * n) * header.dtype.itemsize)
            if stream.readinto(line.view(np.uint8)) != line.nbytes:
                raise UnsafeFileError(f"{path} ends before its last row.")
    return found.T if header.fortran_order else found.reshape(-1, p)


def read_npz(path: str | os.PathLike[str], limit: int = LIMIT) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file that together take no more than ``limit`` bytes."""
    arrays = {}
    with open_zip(path, limit) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".npy"):
                raise UnsafeFileError(
                    f"{path} is not a .npz file: {entry.filename!r} in it is not a .npy array."
                )
            with archive.open(entry) as stream:
                arrays[entry.filename.removesuffix(".npy")] = _read_array(
                    stream, entry.file_size, limit, f"{path}, entry {entry.filename!r}"
                )
    return arrays


@contextmanager
def open_zip(path: str | os.PathLike[str], limit: int = LIMIT) -> Iterator[zipfile.ZipFile]:
    """A zip archive whose entries have been checked.

    Damage that shows only while an entry is read is reported as UnsafeFileError as well.
    """
    size_of_regular_file(Path(path))
    try:
        with zipfile.ZipFile(path) as archive:
            _look_through(archive.infolist(), limit, str(path))
            yield archive
    except UnsafeFileError:
        raise
    except (*_DAMAGE, OSError) as error:
        # To seek before the start is an invalid argument; any other OSError is the disk's.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise UnsafeFileError(f"{path} is not a valid zip archive ({error}).") from error


def ending(path: Path) -> str:
    """The ending of a file name in small letters, such as .csv or .csv.gz."""
    last = path.suffix.lower()
    return f"{Path(path.stem).suffix.lower()}{last}" if last == ".gz" else last


def unpacked_size(path: Path, limit: int = LIMIT) -> int:
    """The unpacked size of a gzip file, counted piece by piece; refused above a limit."""
    size_of_regular_file(path)
    size = 0
    try:
        with gzip.open(path, "rb") as stream:
            while part := stream.read(_CHUNK):
                size += len(part)
                if size > limit:
                    raise UnsafeFileError(f"{path} unpacks to more than the {limit} bytes allowed.")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnsafeFileError(f"{path} is not a valid gzip file ({error}).") from error
    return size


def size_of_regular_file(path: Path) -> int:
    # Before opening: to open a pipe waits for its writer, and a device may never end.
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFileError(f"{path} is not a regular file.")
    return found.st_size


def _look_through(entries: list[zipfile.ZipInfo], limit: int, path: str) -> None:
    if len(entries) > _MOST_ENTRIES:
        raise UnsafeFileError(
            f"{path} holds {len(entries)} entries; at most {_MOST_ENTRIES} are allowed."
        )
    seen = set()
    for entry in entries:
        name = entry.filename
        if name in seen:
            raise UnsafeFileError(f"{path} holds {name!r} twice.")
        seen.add(name)
        if _leads_elsewhere(name):
            raise UnsafeFileError(f"{path} holds {name!r}, a name that leads out of the archive.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnsafeFileError(f"{path}: {name!r} is compressed in an unusual way.")
        if entry.file_size > BEST_RATIO * (entry.compress_size + 1):
            raise UnsafeFileError(
                f"{path}: {name!r} claims {entry.file_size} bytes, more than can be packed into "
                f"{entry.compress_size}."
            )
    total = sum(entry.file_size for entry in entries)
    if total > limit:
        raise UnsafeFileError(f"{path} unpacks to {total} bytes; at most {limit} are allowed.")


def _leads_elsewhere(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]


def _claim(stream: IO[bytes], size: int, limit: int, where: str) -> Header:
    """The claims of a .npy header, if they are possible for ``size`` bytes."""
    header = _read_header(stream, where)
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject or dtype.kind == "V":
        raise UnsafeFileError(
            f"{where} holds {'objects' if dtype.hasobject else 'records'}, not numbers or strings."
        )
    if dtype.itemsize == 0 or any(n < 0 for n in shape):
        raise UnsafeFileError(f"{where} claims an impossible array: {dtype.str} of shape {shape}.")
    needed, there = header.nbytes, size - header.start
    if needed != there:
        raise UnsafeFileError(
            f"{where} claims {needed} bytes of data and has {max(there, 0)}: it is incomplete, or "
            "damaged."
        )
    if needed > limit:
        raise UnsafeFileError(f"{where} takes {needed} bytes; at most {limit} are allowed.")
    return header


def _read_array(stream: IO[bytes], size: int, limit: int, where: str) -> NDArray[Any]:
    """The array of a stream in .npy format that has ``size`` bytes in all."""
    header = _claim(stream, size, limit, where)
    needed = header.nbytes
    memory.require(needed, where, "Use a machine with more memory, or a part of the data.")
    content = np.empty(needed, np.uint8)
    filled = 0
    while filled < needed:
        part = stream.read(min(_CHUNK, needed - filled))
        if not part:
            raise UnsafeFileError(f"{where} ends after {filled} of {needed} bytes.")
        content[filled : filled + len(part)] = np.frombuffer(part, np.uint8)
        filled += len(part)
    try:
        return content.view(header.dtype).reshape(header.shape, order=header.order)
    except ValueError as error:  # more axes than numpy has, for example
        raise UnsafeFileError(f"{where} claims an impossible shape ({error}).") from error


def _read_header(stream: IO[bytes], where: str) -> Header:
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:] not in (b"\x01\x00", b"\x02\x00"):
        raise UnsafeFileError(
            f"{where} is not a .npy array of version 1 or 2. Save it with numpy.save."
        )
    # The length is checked here because numpy reads a header of any length before it complains.
    length = stream.read(2 if start[6] == 1 else 4)
    n = int.from_bytes(length, "little")
    if n > _LONGEST_HEADER:
        raise UnsafeFileError(f"{where} claims a header of {n} bytes.")
    text = io.BytesIO(length + stream.read(n))
    read = npy_format.read_array_header_1_0 if start[6] == 1 else npy_format.read_array_header_2_0
    try:
        return Header(*read(text, max_header_size=_LONGEST_HEADER), 8 + len(length) + n)
    except Exception as error:  # whatever a parser says of a header made to confuse it
        raise UnsafeFileError(f"{where} has a damaged header.") from error
