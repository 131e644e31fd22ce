"""Warnings that point at the line of the user's code."""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning


def warn(message: str | Warning, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line where the user called the package."""
    warnings.warn(message, category, stacklevel=_callers_level())


def _callers_level() -> int:
    """How many levels up the first function outside of this package and its tools is."""
    level, frame = 1, sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("klsnmf", "sklearn", "contextlib"):
            break
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level
