"""Small charts as SVG. They hold only numbers and our own words, so nothing needs escaping."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..core.types import Array
from .text import decimals, number

_WIDTH, _HEIGHT = 320, 178
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 12, 34


class _Frame:
    """Axes: the place of each value, and lines and labels at round values."""

    def __init__(self, x: Array, y: Array, *, log: bool = False, zero: bool = False) -> None:
        self.log = log
        y = y[np.isfinite(y) & (y > 0)] if log else y[np.isfinite(y)]
        y = y if y.size else np.ones(1)
        self.x0, self.x1 = float(x.min()), float(x.max())
        if self.x0 == self.x1:
            self.x0, self.x1 = self.x0 - 0.5, self.x1 + 0.5
        low, high = float(y.min()), float(y.max())
        if log:
            low, high = np.floor(np.log10(low)), np.ceil(np.log10(high))
        elif zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low <= 1e-12 * max(abs(high), abs(low)):
            room = 0.5 if log else 0.05 * abs(high) or 1.0
            low, high = low - room, high + room
        self.y0, self.y1 = low, high

    def across(self, x: float) -> float:
        return _LEFT + (x - self.x0) / (self.x1 - self.x0) * (_WIDTH - _LEFT - _RIGHT)

    def up(self, y: float) -> float:
        y = float(np.log10(max(y, 1e-300))) if self.log else y
        share = float(np.clip((y - self.y0) / (self.y1 - self.y0), 0, 1))
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def grid(self, x_title: str) -> str:
        parts = []
        heights = _round_values(self.y0, self.y1, 4, whole=self.log)
        digits = decimals(np.array(heights))
        for value in heights:
            y = self.up(10**value if self.log else value)
            word = _power(value) if self.log else number(value, digits)
            parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
            parts.append(_text(_LEFT - 6, f"{y + 3.5:.1f}", "end", word))
        for value in _round_values(self.x0, self.x1, 5, whole=True):
            parts.append(_text(f"{self.across(value):.1f}", _HEIGHT - 18, "middle", number(value)))
        parts.append(_text(_WIDTH - _RIGHT, _HEIGHT - 3, "end", x_title, ' class="title"'))
        return "".join(parts)


def lines(
    series: Sequence[Array], *, alt: str, log: bool = False, phases: Sequence[str] | None = None
) -> str:
    """Values by iteration. A line ends with its phase, because the objective changes then."""
    count = len(series[0])
    x = np.arange(1, count + 1)
    frame = _Frame(x, np.concatenate(series), log=log)
    parts = [frame.grid("iteration")]
    ends = [] if phases is None else [i for i in range(1, count) if phases[i] != phases[i - 1]]
    for end in ends:
        place = f"{frame.across(x[end]):.1f}"
        height = f'y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"'
        parts.append(f'<line class="phase" x1="{place}" x2="{place}" {height}/>')
    for which, values in enumerate(series):
        for start, stop in pairwise([0, *ends, count]):
            some = _thinned(np.arange(start, stop))
            seen = some[np.isfinite(values[some])]
            parts.append(_polyline(f"l{which}", frame, x[seen], values[seen]))
            if len(some) == 1:
                at = f'cx="{frame.across(x[start]):.1f}" cy="{frame.up(values[start]):.1f}"'
                parts.append(f'<circle class="dot l{which}" {at} r="2.5"/>')
    return _svg(parts, alt)


def bars(x: Array, y: Array, chosen: int, *, alt: str) -> str:
    """A value for each number of clusters, the chosen one in colour."""
    pad = np.array([x[0] - 0.6, x[-1] + 0.6])
    frame = _Frame(pad, y, zero=True)
    width = max(1.0, 0.7 * (_WIDTH - _LEFT - _RIGHT) / (pad[1] - pad[0]))
    base = frame.up(0.0)
    parts = [frame.grid("clusters")]
    for k, value in zip(x, y, strict=True):
        top = frame.up(float(value))
        height = max(abs(base - top), 0.5)
        kind = "bar chosen" if k == chosen else "bar"
        parts.append(
            f'<rect class="{kind}" x="{frame.across(k) - width / 2:.1f}" '
            f'y="{min(top, base):.1f}" width="{width:.1f}" height="{height:.1f}">'
            f"<title>{int(k)} clusters: {number(value)}</title></rect>"
        )
    return _svg(parts, alt)


def _polyline(kind: str, frame: _Frame, x: Array, y: Array) -> str:
    places = zip(map(frame.across, x), map(frame.up, y), strict=True)
    points = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
    return f'<polyline class="line {kind}" points="{points}"/>'


def _text(x: float | str, y: float | str, anchor: str, words: str, kind: str = "") -> str:
    return f'<text{kind} x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def _svg(parts: Sequence[str], alt: str) -> str:
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    content = "".join(parts)
    return f'<svg class="chart" viewBox="{box}" role="img" aria-label="{alt}">{content}</svg>'


def _thinned(places: Array, most: int = 300) -> Array:
    """At most as many points as can be seen, including the first and the last."""
    if len(places) <= most:
        return places
    return places[np.linspace(0, len(places) - 1, most).round().astype(int)]


def _round_values(low: float, high: float, count: int, *, whole: bool = False) -> list[float]:
    """About so many round numbers between two."""
    step = (high - low) / count
    size = 10.0 ** np.floor(np.log10(step))
    step = next(s * size for s in (1, 2, 5, 10) if s * size >= step * (1 - 1e-9))
    if whole:
        step = max(1.0, np.ceil(step))
    first = np.ceil(low / step - 1e-9)
    return [float((first + i) * step) for i in range(int((high / step - first) + 1e-9) + 1)]


def _power(exponent: float) -> str:
    digits = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}"
