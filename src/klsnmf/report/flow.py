"""Two runs side by side as a picture: bands from the clusters of one to those of the other.

Names may come from strangers' files, so they are shortened, escaped and made visible.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Any

import numpy as np

from ..core.words import plural as counted
from .marks import colour, stylesheet
from .moves import Moves
from .text import number, percent, plain, plural

_WIDTH, _LEFT, _RIGHT, _BAR = 760, 190, 570, 12

#: The least height of a bar, so that its name can be read, and the gap to the next.
_LEAST, _GAP, _TOP = 14, 6, 34

#: The usual height of all bars together.
_USUAL = 420

#: The most bands, clusters in the table and samples in the list. JSON and CSV have all.
_BANDS, _CLUSTERS, _SAMPLES = 3000, 60, 500

_LONGEST = 22

_STYLE = (
    stylesheet()
    + """
:root,svg{--paper:#fbfaf7;--ink:#1f1e1b;--dim:#66635c;--rule:#d9d4c8}
@media screen and (prefers-color-scheme:dark){
:root,svg{--paper:#15171a;--ink:#e9e6df;--dim:#a5a199;--rule:#3a3f46}}
body{margin:0 auto;padding:1.5rem;max-width:60rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
svg{width:100%;height:auto;background:var(--paper)}
text{font:12px system-ui,sans-serif;fill:var(--ink)}text.dim{fill:var(--dim)}
.bar{fill:var(--c,var(--dim))}.stay{fill:var(--rule)}.move{fill:var(--c);opacity:.75}
.move:hover,.stay:hover{opacity:1;stroke:var(--ink)}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0;font-size:.875rem}
td,th{border:1px solid var(--rule);padding:.15rem .5rem;text-align:right}
th{font-weight:600}td.same{background:var(--rule)}td.none{color:var(--dim)}
.words td{text-align:left;overflow-wrap:anywhere}
"""
)

_WIDE_TABLE = '<div class="wide" tabindex="0" role="region" aria-label="Clusters of A and of B">'


def svg(moves: Moves, names: tuple[str, str]) -> str:
    """The picture alone, as a file for browsers and drawing programs."""
    return _picture(moves, names, f"<style>{_STYLE}</style>") + "\n"


def page(moves: Moves, names: tuple[str, str]) -> str:
    """A page with the picture, the table of clusters and the samples that moved. No network."""
    one, two = (escape(plain(name)) for name in names)
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{one} and {two}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Who moved where</h1>
<p>Run A is <bdi>{one}</bdi>, run B is <bdi>{two}</bdi>. {escape(in_words(moves))}</p>
<div class="wide" tabindex="0" role="region" aria-label="Picture of the moves">
{_picture(moves, names)}</div>
<p>Grey bands stay in the partner of their cluster; coloured bands move. Point at one for its
samples.</p>
{_table(moves)}
{_samples(moves)}
</main>
</body>
</html>
"""


def in_words(moves: Moves) -> str:
    """The result in one or two sentences."""
    n, only = len(moves.ids), [len(ids) for ids in moves.only]
    told = (
        f"{len(moves.moved)} of {counted(n, 'sample')} moved ({percent(moves.share)}); the "
        f"adjusted Rand index is {moves.adjusted_rand:.3f}."
    )
    if any(only):
        told += f" {counted(only[0], 'sample')} only in A, {only[1]} only in B."
    return told


def _picture(moves: Moves, names: tuple[str, str], style: str = "") -> str:
    counts, k = moves.counts, max(map(len, moves.clusters))
    scale = max(_USUAL, _LEAST * k) / max(len(moves.ids), 1)
    sides = [_Side(counts.sum(axis=1 - side), scale) for side in (0, 1)]
    height = max(side.end for side in sides) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'role="img" aria-label="{escape(in_words(moves))}">{style}'
    ]
    for x, anchor, letter, name in (
        (_LEFT, "end", "A", names[0]),
        (_RIGHT, "start", "B", names[1]),
    ):
        words = f"{letter}: {plain(name, _LONGEST)}"
        parts.append(f'<text class="dim" x="{x}" y="16" text-anchor="{anchor}">{escape(words)}')
        parts.append("</text>")
    parts += _bands(moves, sides)
    for side, x, anchor, away in ((0, _LEFT, "end", -6), (1, _RIGHT, "start", _BAR + 6)):
        for i, name in enumerate(moves.clusters[side]):
            top, high = sides[side].tops[i], sides[side].heights[i]
            words = f"{plain(name, _LONGEST)} ({number(sides[side].sizes[i])})"
            own = f" c{colour(i)}" if side == 0 else ""
            bar = f'class="bar{own}" x="{x}" y="{top:.1f}" width="{_BAR}" height="{high:.1f}"'
            parts.append(f"<rect {bar}/>")
            at = f'x="{x + away}" y="{top + high / 2 + 4:.1f}" text-anchor="{anchor}"'
            parts.append(f"<text {at}>{escape(words)}</text>")
    return "".join([*parts, "</svg>"])


class _Side:
    """The bars of one run, from top to bottom."""

    def __init__(self, sizes: Any, scale: float) -> None:  # (k,)
        self.sizes = sizes
        self.heights = np.maximum(sizes * scale, _LEAST)
        self.tops = _TOP + np.cumsum(self.heights + _GAP) - self.heights - _GAP
        self.end = float(self.tops[-1] + self.heights[-1])
        self.used = np.zeros(len(sizes))

    def take(self, cluster: int, count: int) -> tuple[float, float]:
        """The next piece of a bar, for this number of samples: its top and its end."""
        high = float(self.heights[cluster] * count / self.sizes[cluster])
        top = float(self.tops[cluster] + self.used[cluster])
        self.used[cluster] += high
        return top, top + high


def _bands(moves: Moves, sides: list[_Side]) -> list[str]:
    """A band for every pair of clusters with samples; those that move above those that stay."""
    counts = moves.counts
    pairs = [(int(i), int(j)) for i, j in zip(*np.nonzero(counts), strict=True)]
    enough = set(sorted(pairs, key=lambda pair: -counts[pair])[:_BANDS])
    x0, x1 = _LEFT + _BAR, _RIGHT
    middle = (x0 + x1) / 2
    stay: list[str] = []
    move: list[str] = []
    for i, j in pairs:  # by rows: bands leave a bar in the order in which they arrive
        (a, b), (c, d) = sides[0].take(i, counts[i, j]), sides[1].take(j, counts[i, j])
        if (i, j) not in enough:
            continue
        same = moves.partner[i] == j
        kind = "stay" if same else f"move c{colour(i)}"
        one, two = (plain(moves.clusters[side][k], _LONGEST) for side, k in ((0, i), (1, j)))
        told = escape(f"{one} \N{RIGHTWARDS ARROW} {two}: {plural(int(counts[i, j]), 'sample')}")
        edge = f"M{x0} {a:.1f}C{middle} {a:.1f} {middle} {c:.1f} {x1} {c:.1f}"
        back = f"V{d:.1f}C{middle} {d:.1f} {middle} {b:.1f} {x0} {b:.1f}Z"
        band = f'<path class="{kind}" d="{edge}{back}"><title>{told}</title></path>'
        (stay if same else move).append(band)
    return stay + move


def _table(moves: Moves) -> str:
    rows, columns = moves.clusters
    if max(len(rows), len(columns)) > _CLUSTERS:
        return ""
    head = "".join(f'<th scope="col">{escape(plain(name, _LONGEST))}</th>' for name in columns)
    lines = []
    for i, name in enumerate(rows):
        cells = "".join(
            f'<td class="{"same" if moves.partner[i] == j else "" if count else "none"}">'
            f"{number(count)}</td>"
            for j, count in enumerate(moves.counts[i])
        )
        lines.append(f'<tr><th scope="row">{escape(plain(name, _LONGEST))}</th>{cells}</tr>')
    return (
        "<h2>Clusters of A (rows) and of B (columns)</h2><p>Partners are grey: the pairs that "
        "share the most samples.</p>"
        f"{_WIDE_TABLE}<table><thead><tr><td>A \\ B</td>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _samples(moves: Moves) -> str:
    if not len(moves.moved):
        return ""
    shown = moves.moved[:_SAMPLES]
    lines = []
    for sample in shown:
        one, two = (moves.clusters[side][moves.places[side][sample]] for side in (0, 1))
        words = (moves.ids[sample], one, two)
        lines.append(f"<tr>{''.join(f'<td>{escape(plain(word))}</td>' for word in words)}</tr>")
    rest = len(moves.moved) - len(shown)
    more = f"<p>{plural(rest, 'more sample')} moved.</p>" if rest else ""
    return (
        "<h2>Samples that moved</h2>"
        '<div class="wide words" tabindex="0" role="region" aria-label="Samples that moved"><table>'
        '<thead><tr><th scope="col">id</th><th scope="col">in A</th><th scope="col">in B</th></tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>{more}"
    )
