"""The map: samples as points in a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import embedding, marks
from .clusters import MANY
from .pictures import Sheet, darkroom, sheet
from .run import Run
from .text import plain

#: The side of the map in units of its own, and the room left at the edges.
SIDE = 640
_EDGE = 22


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
    shown: int
    width: int
    height: int
    sheet: Sheet | None  # the pictures of the points, in their order


def scatter(run: Run, most: int, budget: int) -> Map:
    """A map of about ``most`` samples; their pictures take about ``budget`` characters."""
    which = embedding.sample(run, most)
    positions, kind = embedding.plane(run, which)
    low = positions.min(axis=0)
    extent = positions.max(axis=0) - low
    # One scale for both directions, and no more paper than is needed.
    unit = (SIDE - 2 * _EDGE) / max(float(extent.max()), float(np.finfo(np.float32).tiny))
    height = int(np.clip(extent[1] * unit + 2 * _EDGE, 0.5 * SIDE, SIDE))
    room = np.array([SIDE, height]) - extent * unit
    positions = (positions - low) * unit + room / 2
    positions[:, 1] = height - positions[:, 1]
    groups = []
    for cluster in np.unique(run.labels[which]):
        inside = np.flatnonzero(run.labels[which] == cluster)
        points = [_point(run, int(which[i]), *positions[i]) for i in inside]
        # The number stands at a point of the cluster that is in the middle of the others.
        near = np.abs(positions[inside] - np.median(positions[inside], axis=0)).sum(axis=1)
        x, y = positions[inside[near.argmin()]]
        if run.n_clusters > MANY:  # small groups would vanish below their numbers
            y = max(positions[inside, 1].min() - 11, 8.0)
        groups.append(Group(int(cluster), points, float(x), float(y)))
    pictures = None
    if run.image_shape is not None:
        pictures = sheet(darkroom(run).develop(run.rows(which)), budget)
    return Map(groups, kind, len(which), SIDE, height, pictures)


def _point(run: Run, i: int, x: float, y: float) -> Point:
    label = None
    if run.classes is not None and run.classes[1][i] >= 0:
        label = plain(run.classes[0][run.classes[1][i]])
    return Point(float(x), float(y), plain(run.ids[i]), float(run.strength[i]), label)
