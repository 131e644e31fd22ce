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


def require(size: float, what: str, remedy: str) -> None:
    """Refuse an array of ``size`` bytes that would not fit, before it is made."""
    free = available()
    if free is not None and size > _SHARE * free:
        raise MemoryError(
            f"{what} would take {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB of memory are free. "
            f"{remedy}"
        )
