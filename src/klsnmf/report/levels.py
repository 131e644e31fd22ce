"""The levels of clusters as a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .run import Run

#: The size of the drawing, in its own units, with one row per level.
WIDTH, _ROW, _EDGE = 1000, 104, 52

#: The radius of a circle without samples, and what all samples together add to it.
_LEAST, _GROWS = 5.0, 40.0


class Node(NamedTuple):
    number: int
    size: int
    x: float
    y: float
    radius: float
    parent: int | None  # its cluster at the coarser level
    share: float  # of its samples that are there
    clusters: list[int]  # those of the page that it is made of, or that it is part of
    path: str  # the line to its parent
    width: float  # of that line


class Row(NamedTuple):
    """A level: the evidence for it, and its clusters in the order of the drawing."""

    n_clusters: int
    chosen: bool
    stability: float
    clarity: float
    y: float
    nodes: list[Node]


class Levels(NamedTuple):
    rows: list[Row]
    height: int
    numbered: bool  # whether circles have room for their numbers


def levels(run: Run) -> Levels | None:
    """The tree; None if the number of clusters was given, or if there is only one level."""
    profile: Any = getattr(run.estimator, "levels_", None)
    if profile is None or len(profile) < 2:
        return None
    tree = profile.tree
    by_count = {level.n_clusters: level for level in profile}
    places = tree.places
    n = len(run.labels)
    rows: list[Row] = []
    for depth, count in enumerate(tree.n_clusters):
        level = by_count[count]
        sizes = np.bincount(level.labels, minlength=count)
        both = np.zeros((count, run.n_clusters))
        np.add.at(both, (level.labels, run.labels), 1)
        y = _ROW * (depth + 0.5)
        nodes = []
        for c in np.argsort(places[depth], kind="stable").tolist():
            x = _EDGE + (WIDTH - 2 * _EDGE) * float(places[depth][c])
            size = int(sizes[c])
            parent = int(tree.parents[depth - 1][c]) if depth else None
            path = ""
            if parent is not None:
                above = _EDGE + (WIDTH - 2 * _EDGE) * float(places[depth - 1][parent])
                path = f"M{above:.1f} {y - _ROW:.1f}C{above:.1f} {y - _ROW / 2:.1f} "
                path += f"{x:.1f} {y - _ROW / 2:.1f} {x:.1f} {y:.1f}"
            made_of = np.flatnonzero(both.argmax(axis=0) == c)
            if count > run.n_clusters or made_of.size == 0:
                made_of = both[c].argmax(keepdims=True)
            nodes.append(
                Node(
                    c,
                    size,
                    x,
                    y,
                    _LEAST + _GROWS * (size / n) ** 0.5 / max(1.0, count / 12),
                    parent,
                    float(tree.shares[depth - 1][c]) if depth else 1.0,
                    made_of.tolist(),
                    path,
                    1 + 24 * size / n,
                )
            )
        rows.append(
            Row(
                count,
                count == profile.evidence.chosen,
                float(level.stability),
                float(level.clarity),
                y,
                nodes,
            )
        )
    return Levels(rows, _ROW * len(rows), max(tree.n_clusters) <= 40)
