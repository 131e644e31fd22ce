"""How much memory is free, checked before a large array is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

#: The share of the free memory that one array may take.
_SHARE = 0.8

#: Smaller arrays are not checked, because a check takes a millisecond or two.
_SMALL = 2**20

#: What to do when memory runs out: while a kernel matrix is made, and at any other time.
SMALLER_KERNEL = (
    'Set n_neighbors for a sparse kernel, or gram="tiled", gram="low-rank" or max_memory where '
    "there are such parameters, or fit a part of the rows."
)
LESS = (
    "Lower n_init, give X in single precision (float32), or fit a part of the rows, with "
    "fit_on=100000 where there is such a parameter."
)


class NotEnoughMemory(MemoryError):  # noqa: N818
    """There is not enough memory. The message says for what, and what to do."""


#: Where Linux keeps the limit of a container or a batch job, what is used of it, and how much of
#: that are copies of files, which make room when asked: in its two versions of control groups. And
#: where it says in which groups this process is.
_GROUPS = Path("/sys/fs/cgroup")
_NAMES = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
_MEMBERSHIP = Path("/proc/self/cgroup")


def available() -> int | None:
    """The bytes that are available without swapping; None if unknown."""
    known = [room for room in (_of_system(), _of_group()) if room is not None]
    return min(known, default=None)


def _of_group() -> int | None:
    """The bytes that a container or a batch job may still use; None without a limit."""
    rooms = []
    for group in _own_groups():
        for version, limit, used, copies in _NAMES:
            folder = _GROUPS / version / group
            try:
                room = int((folder / limit).read_text()) - int((folder / used).read_text())
                lines = (folder / "memory.stat").read_text().splitlines()
                counts = dict(line.split() for line in lines)
                rooms.append(max(0, room + int(counts[copies])))
            except (OSError, ValueError, KeyError):  # there is no such file, or no limit: "max"
                continue
    return min(rooms, default=None)


def _own_groups() -> set[PurePosixPath]:
    """The groups that this process is in, and those around them: the limit of each holds."""
    groups = {PurePosixPath()}
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except OSError:
        return groups
    for line in lines:  # number:what is limited:/path
        path = PurePosixPath(line.split(":", 2)[-1].lstrip("/"))
        if ".." not in path.parts:  # a group outside of what can be seen here
            groups |= {path, *path.parents}
    return groups


def _of_system() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def amount(size: float) -> str:
    """A number of bytes in a suitable unit."""
    units = (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes")
    unit, name = next((pair for pair in units if size >= pair[0]), units[-1])
    number = size / unit
    return f"{number:.3g} {name}" if number < 1000 else f"{number:,.0f} {name}"


def fits(size: float, limit: float | None = None, free: int | None = None) -> bool:
    """Whether an array of ``size`` bytes fits into ``limit`` GB, or into the free memory."""
    if limit is None and free is None and size <= _SMALL:
        return True
    free = available() if free is None else free
    return (limit is None or size <= limit * 1e9) and (free is None or size <= _SHARE * free)


def require(
    size: float, what: str, remedy: str, limit: float | None = None, free: int | None = None
) -> None:
    """Refuse an array of ``size`` bytes that would not fit, before it is made.

    ``free`` are the available bytes, if the array is not on the host.
    """
    if fits(size, limit, free):
        return
    if fits(size, free=free):
        room = f"max_memory={limit:g} GB: raise it to {1.1 * size / 1e9:.2g}, or do with less"
    else:
        free = available() if free is None else free
        room = f"{amount(free or 0)} of memory are free, of which it may take {_SHARE:.0%}"
    raise NotEnoughMemory(f"{what} would take {amount(size)}, and {room}. {remedy}")


def _is_lack_of_memory(error: Exception) -> bool:
    """Other libraries say it in words only: torch on a GPU, and torch on the host."""
    words = ("out of memory", "can't allocate memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


@contextmanager
def explained(what: str, remedy: str = LESS) -> Iterator[None]:
    """If memory runs out inside, say what it was for, and what to do."""
    try:
        yield
    except NotEnoughMemory:
        raise
    except (MemoryError, RuntimeError) as error:
        if not _is_lack_of_memory(error):
            raise
        # numpy tells how much was asked for; others say nothing.
        detail = f" ({said})" if (said := str(error).strip().removesuffix(".")) else ""
        told = NotEnoughMemory(f"{what} ran out of memory{detail}. {remedy}")
        for note in getattr(error, "__notes__", []):
            told.add_note(note)
        raise told from error
