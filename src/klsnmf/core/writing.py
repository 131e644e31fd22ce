"""Files and folders that appear complete or not at all, whatever happens while they are made.

A new file or folder first has a temporary name beside its target, and is locked while its process
lives. The next process with the same target removes temporary files that it can lock, because their
process is dead. Files that others are still writing are never touched. Without locks, nothing is
removed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

#: The module of locks, which Windows does not have.
_fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None

#: Bytes of a name that are part of the name aside, which has 22 of its own; most systems allow 255.
_NAME = 200

#: What asks a system to let two names trade places, and says that they are seen from here.
_EXCHANGE, _HERE = 2, -100


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to. On success it gets the name ``path``.

    Other processes see the complete old file or the complete new one. After an error, nothing is
    left behind.
    """
    path = Path(path)
    with made_aside(path, lambda new: new.touch(exist_ok=False)) as aside:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync_folder(path.parent)


@contextmanager
def made_aside(path: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """A new file or folder beside ``path``, which is removed at the end.

    If it gets another name before, it stays.
    """
    remove_leftovers(path)
    aside, lock = _locked(path, make)
    try:
        yield aside
    finally:
        _remove(aside)
        if lock is not None:
            os.close(lock)


def _locked(path: Path, make: Callable[[Path], object]) -> tuple[Path, int | None]:
    while True:
        aside = path.with_name(f"{_start(path)}{secrets.token_hex(8)}.part")
        make(aside)
        lock = None
        try:
            lock = os.open(aside, os.O_RDONLY)
            lock_now(lock)
            if aside.exists():
                return aside, lock
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:  # there are no locks here
            return aside, lock
        if lock is not None:  # another process took it for a leftover, before it was locked
            os.close(lock)


def lock_now(number: int) -> None:
    """Lock an open file or folder while it is open; a BlockingIOError if another process has.

    It raises another OSError if there are no locks.
    """
    if _fcntl is None:
        raise OSError(errno.ENOSYS, "There are no locks here")
    _fcntl.flock(number, _fcntl.LOCK_EX | _fcntl.LOCK_NB)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what killed processes left while they were making ``path``."""
    path = Path(path)
    for aside in path.parent.glob(f"{escape(_start(path))}{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):  # it is in use, or another process was quicker
            lock = os.open(aside, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                lock_now(lock)
                _remove(aside)
            finally:
                os.close(lock)


def _start(path: Path) -> str:
    """The beginning of temporary names for a path."""
    name = os.fsencode(path.name)
    return f".{path.name if len(name) <= _NAME else os.fsdecode(name[:_NAME])}."


def _remove(aside: Path) -> None:
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk, if the system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def exchange(one: Path, two: Path) -> None:
    """Exchange two names at once; an OSError if the system cannot."""
    system: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    paths = os.fsencode(one), os.fsencode(two)
    if hasattr(system, "renameat2"):  # Linux
        failed = system.renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE)
    elif hasattr(system, "renamex_np"):  # macOS
        failed = system.renamex_np(*paths, _EXCHANGE)
    else:
        raise OSError(errno.ENOSYS, "Names cannot trade places here")
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))


def write_whole(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file all at once; its folder is made if necessary."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as file:
        file.write(data)
