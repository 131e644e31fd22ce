"""Files and folders that appear complete or not at all, whatever happens while they are made.

What is made stands aside first, under a name of its own, and is locked as long as its process
lives. The next process that makes the same thing removes what it can lock: its maker is dead. What
others are still making is never touched. Where there are no such locks nothing is removed.
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
    """A file to write to; when all went well it takes the name ``path``.

    Other processes see the old file or the new one, whole. After an error nothing is left behind.
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
    """Something new beside ``path``, which lasts until the end, and is not touched meanwhile.

    It may get another name before: then it stays.
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
    """Lock an open file or folder for as long as it is open; a BlockingIOError if another has.

    An OSError of another kind where there are no locks.
    """
    if _fcntl is None:
        raise OSError(errno.ENOSYS, "There are no locks here")
    _fcntl.flock(number, _fcntl.LOCK_EX | _fcntl.LOCK_NB)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what processes left that were killed while they made ``path``."""
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
    """How names begin that stand aside for a path."""
    name = os.fsencode(path.name)
    return f".{path.name if len(name) <= _NAME else os.fsdecode(name[:_NAME])}."


def _remove(aside: Path) -> None:
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can do that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def exchange(one: Path, two: Path) -> None:
    """The two trade names, at once; an OSError where the system cannot do that."""
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
    """Write a file all at once; its folder is made if there is none."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as file:
        file.write(data)
