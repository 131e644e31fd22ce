"""What the shapes of ``benchmarks.invented`` are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

#: Scattered samples that belong to no cluster.
NOISE = -1

Points = Any  # (n, p)
Maker = Callable[[np.random.Generator], tuple[Points, Any]]


def kept_in(shapes: dict[str, Maker]) -> Callable[[Maker], Maker]:
    """A decorator that puts a shape among these, by the name of its function."""

    def kept(make: Maker) -> Maker:
        shapes[make.__name__.replace("_", " ")] = make
        return make

    return kept


def turn(angle: float) -> Any:  # (2, 2)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def together(*parts: Points) -> tuple[Points, Any]:
    """Parts of a picture, each a cluster."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(one) for one in parts])


def several(rng: np.random.Generator, few: int, many: int) -> int:
    return int(rng.integers(few, many + 1))


def blob(rng: np.random.Generator, n: int, centre: Sequence[float], spread: Any = 1.0) -> Points:
    """A normal distribution; the spread is the same in all directions, or one for each axis."""
    return np.asarray(centre) + rng.normal(size=(n, len(centre))) * spread


def along(rng: np.random.Generator, n: int, corners: Any, width: float) -> Points:
    """Samples along straight lines from corner to corner, and a bit beside them."""
    corners = np.asarray(corners, float)
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    side = rng.choice(len(lengths), n, p=lengths / lengths.sum())
    share = rng.uniform(size=(n, 1))
    points = corners[side] * (1 - share) + corners[side + 1] * share
    return points + rng.normal(size=points.shape) * width


def arc(
    rng: np.random.Generator,
    n: int,
    radius: float,
    width: float,
    part: tuple[float, float] = (0, 2 * np.pi),
    centre: Sequence[float] = (0, 0),
) -> Points:
    angle = rng.uniform(*part, n)
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(centre) + circle + rng.normal(size=(n, 2)) * width


def box(
    rng: np.random.Generator, n: int, centre: Sequence[float], sides: Sequence[float]
) -> Points:
    return np.asarray(centre) + rng.uniform(-0.5, 0.5, (n, len(centre))) * sides


def disc(rng: np.random.Generator, n: int, centre: Sequence[float], radius: float) -> Points:
    angle, r = rng.uniform(0, 2 * np.pi, n), radius * np.sqrt(rng.uniform(size=n))
    return np.asarray(centre) + r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def scattered(rng: np.random.Generator, X: Points, y: Any, share: float) -> tuple[Points, Any]:
    """The same before a background of samples that belong to none."""
    n = int(share * len(y))
    low, high = X.min(axis=0), X.max(axis=0)
    noise = rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), (n, X.shape[1]))
    return np.concatenate([X, noise]), np.r_[y, np.full(n, NOISE)]
