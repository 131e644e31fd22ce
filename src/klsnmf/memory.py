"""How much memory there is, asked before a large array is made."""

from __future__ import annotations

import os
from pathlib import Path

#: The share of the free memory that one array may take.
_SHARE = 0.8


def available() -> int | None:
    """Bytes that can be had without swapping; None where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def fits(size: float, limit: float | None = None, free: int | None = None) -> bool:
    """Whether an array of ``size`` bytes would fit: into ``limit`` GB, or what is free."""
    free = available() if free is None else free
    return (limit is None or size <= limit * 1e9) and (free is None or size <= _SHARE * free)


def require(
    size: float, what: str, remedy: str, limit: float | None = None, free: int | None = None
) -> None:
    """Refuse an array of ``size`` bytes that would not fit, before it is made.

    ``free`` are the bytes that can be had, where it is not the host that is asked for them.
    """
    if fits(size, limit, free):
        return
    if fits(size, free=free):
        room = f"max_memory={limit:g} GB"
    else:
        free = available() if free is None else free
        room = f"{(free or 0) / 1e9:.1f} GB of memory are free"
    raise MemoryError(f"{what} would take {size / 1e9:.1f} GB, and {room}. {remedy}")
