"""Words and numbers as the page shows them.

Names may come from strangers' files. The template escapes them. Here they are shortened, and
characters that are invisible or change the direction of text are made visible.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from ..core.types import Array

#: Longer names lose their middle, because file names differ at both ends.
LONGEST = 60

#: Control, format (with those that reverse the direction of text), lone surrogate, private use.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

#: Format characters that are kept, because Persian words and joined emoji need them.
_JOINERS = "\u200c\u200d"


def plain(text: Any, longest: int = LONGEST) -> str:
    """A name that is safe to show, with at most so many characters."""
    text = str(text)
    if len(text) > longest:
        head = (longest - 1) // 2
        text = text[:head] + "…" + text[len(text) - (longest - 1 - head) :]
    return "".join("\ufffd" if _hidden(c) else c for c in text)


def visible(text: str) -> bool:
    """Whether there is anything to see besides spaces and joiners."""
    return any(not c.isspace() and c not in _JOINERS for c in text)


def _hidden(character: str) -> bool:
    return character not in _JOINERS and unicodedata.category(character) in _INVISIBLE


def number(value: float, decimals: int | None = None) -> str:
    """A number with so many decimals; by default four digits, and an exponent if needed."""
    value = float(value)
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    if decimals is None or abs(value) >= 1e15:
        whole = value == int(value) and abs(value) < 1e15
        shown = f"{int(value):,}" if whole else f"{value:.4g}"
    else:
        shown = f"{value:,.{decimals}f}"
        shown = shown if shown.strip("-0.") else shown.lstrip("-")  # no minus before zeros
    return shown.replace(",", "\u202f").replace("-", "−")


def decimals(column: Array) -> int | None:  # (n,)
    """The number of decimals for all numbers of a column; None if they need exponents.

    Large numbers get four digits, but no more decimals than the numbers have.
    """
    sizes = np.abs(column[np.isfinite(column)])
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return 0
    large = float(np.quantile(sizes, 0.9))
    if not 1e-3 <= large < 1e15:
        return None
    most = max(0, 3 - int(np.floor(np.log10(large))))
    enough = (d for d in range(most) if np.abs(sizes - np.round(sizes, d)).max() <= 1e-9 * large)
    return next(enough, most)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.9995 else "100 %"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def plural(count: int, thing: str) -> str:
    return f"{number(count)} {thing}" + ("" if count == 1 else "s")


def setting(value: Any) -> str:
    """A parameter of an estimator, in one line."""
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    if callable(value):
        return plain(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, (tuple, list)) and any(hasattr(one, "shape") for one in value):
        return f"{type(value).__name__} of {len(value)} arrays"
    return plain(repr(value), 120)
