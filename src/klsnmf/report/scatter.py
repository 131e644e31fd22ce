"""The map: samples as points in a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from ..core.types import Array
from . import embedding, marks
from .clusters import MANY
from .pictures import Sheet, darkroom, sheet
from .run import Run
from .text import plain

#: The side of the map in units of its own, and the room left at the edges.
SIDE = 640
_EDGE = 22

#: Where a number stands, this share of the cluster is nearer than anywhere else in it.
_CROWD = 0.25

#: Numbers of more clusters than this would hide the points; buttons and the table have them.
_NUMBERED = 40


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    id: str
    strength: float
    label: str | None


@dataclass(frozen=True)
class Group:
    """The points of a cluster, and where to write its number."""

    number: int
    points: list[Point]
    x: float
    y: float

    @property
    def colour(self) -> int:
        return marks.colour(self.number)

    @property
    def shape(self) -> int:
        return marks.shape(self.number)


@dataclass(frozen=True)
class Map:
    groups: list[Group]
    kind: str  # what the plane is, in words
    source: str  # what it is drawn from, in words
    shown: int
    width: int
    height: int
    sheet: Sheet | None  # the pictures of the points, in their order
    numbered: bool  # whether the groups show their numbers


def scatter(run: Run, most: int, budget: int) -> Map:
    """A map of about ``most`` samples; their pictures take about ``budget`` characters."""
    which = embedding.sample(run, most)
    plane = embedding.plane(run, which)
    positions = plane.positions
    low = positions.min(axis=0)
    extent = positions.max(axis=0) - low
    # One scale for both directions, and no more paper than is needed.
    unit = (SIDE - 2 * _EDGE) / max(float(extent.max()), float(np.finfo(np.float32).tiny))
    height = int(np.clip(extent[1] * unit + 2 * _EDGE, 0.3 * SIDE, SIDE))
    room = np.array([SIDE, height]) - extent * unit
    positions = (positions - low) * unit + room / 2
    positions[:, 1] = height - positions[:, 1]
    groups = []
    for cluster in np.unique(run.labels[which]):
        inside = np.flatnonzero(run.labels[which] == cluster)
        points = [_point(run, int(which[i]), *positions[i]) for i in inside]
        x, y = positions[inside[densest(positions[inside])]]
        if run.n_clusters > MANY:  # small groups would vanish below their numbers
            y = max(positions[inside, 1].min() - 11, 8.0)
        groups.append(Group(int(cluster), points, float(x), float(y)))
    pictures = None
    if run.image_shape is not None:
        pictures = sheet(darkroom(run).develop(run.rows(which)), budget)
    numbered = len(groups) <= _NUMBERED
    return Map(groups, plane.kind, plane.source, len(which), SIDE, height, pictures, numbered)


def densest(points: Array) -> int:  # (m, 2)
    """The point in the thick of the others.

    A cluster can lie on the map in several pieces, and its middle where it has no points.
    """
    near = np.sort(cdist(points, points), axis=1)[:, : 1 + int(np.ceil(_CROWD * len(points)))]
    return int(near.mean(axis=1).argmin())


def _point(run: Run, i: int, x: float, y: float) -> Point:
    label = None
    if run.classes is not None and run.classes[1][i] >= 0:
        label = plain(run.classes[0][run.classes[1][i]])
    return Point(float(x), float(y), run.id_of(i), float(run.strength[i]), label)
