"""A mark for every cluster: a colour and a shape, the same in all parts of the page.

Nobody can tell a hundred colours apart. So there are eight colours, which colour-blind people can
tell apart too, and six shapes: 48 marks. Further clusters use them again, and differ by number.
"""

from __future__ import annotations

#: More clusters than this are shown side by side, with smaller signs.
MANY = 24

#: Colours on a light and on a dark page. Each has a contrast of at least 3 to 1 with its page.
LIGHT = ("#2d5aa5", "#d2690f", "#0096b4", "#78005a", "#b47878", "#1e3c1e", "#3c0087", "#694b00")
DARK = ("#2e8cff", "#c47a14", "#7cf3f3", "#a678a6", "#ec5470", "#b4f0b4", "#c3a5ff", "#ffd24b")

#: Outlines around the origin, all of about the same area, for a disc of radius 4.
SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.5-3.5h7v7h-7z",
    "M0-4.8L4.6 3.2h-9.2z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 4.8L-4.6-3.2h9.2z",
    "M-4.6-1.6h3v-3h3.2v3h3v3.2h-3v3h-3.2v-3h-3z",
)


def colour(cluster: int) -> int:
    return cluster % len(LIGHT)


def shape(cluster: int) -> int:
    return cluster // len(LIGHT) % len(SHAPES)


def stylesheet() -> str:
    """A class for each colour: .c0 and on."""
    light, dark = (
        "".join(f".c{i}{{--c:{value}}}" for i, value in enumerate(colours))
        for colours in (LIGHT, DARK)
    )
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
