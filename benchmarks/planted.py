"""Clusters that are known because they were planted: round, unequal, nested, thin, noisy, cells.

Some are those of ``benchmarks.limits``. Each seed is another draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from .limits import CASES

#: Samples and their classes; a class below 0 is noise.
Planted = tuple[Any, Any]


def cells(seed: int, raised: tuple[float, float] = (4, 15)) -> Planted:
    """Counts of 500 genes in 3000 cells of 8 types, 900 down to 50 of a type.

    A type raises 30 genes 4 to 15 times, or as given. Cells differ in depth, and counts vary more
    than those of Poisson.
    """
    rng, genes = np.random.default_rng(seed), 500
    sizes = [900, 650, 480, 350, 250, 180, 140, 50]
    y = np.repeat(np.arange(len(sizes)), sizes)
    activity = np.tile(rng.gamma(0.6, size=genes), (len(sizes), 1))
    for of_type in activity:
        of_type[rng.choice(genes, 30, replace=False)] *= rng.uniform(*raised, size=30)
    depth = rng.lognormal(0, 0.35, size=len(y))
    expected = activity[y] * depth[:, None]
    return rng.poisson(expected * rng.gamma(2, 1 / 2, size=expected.shape)).astype(float), y


def scaled_cells(raised: tuple[float, float]) -> Callable[[int], Planted]:
    """The same as they are usually scaled, log1p of counts per 10,000: noise weighs more then."""

    def make(seed: int) -> Planted:
        X, y = cells(seed, raised)
        return np.log1p(1e4 * X / X.sum(axis=1, keepdims=True)), y

    return make


def blobs(seed: int) -> Planted:
    """15 round clusters of 600 down to 15 samples in 10 dimensions."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(15), np.geomspace(600, 15, 15).round().astype(int))
    return 4 * rng.normal(size=(15, 10))[y] + rng.normal(size=(len(y), 10)), y


def nested_rings(seed: int) -> Planted:
    """A small ring within one of twenty times as many samples."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [40, 800])
    angle = rng.uniform(0, 2 * np.pi, size=len(y))
    radius = np.where(y == 0, 1.0, 8.0) + 0.15 * rng.normal(size=len(y))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def chains_with_outliers(seed: int) -> Planted:
    """Three curves, and five samples far from everything, which belong to none."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 120)
    t = rng.uniform(0, 10, size=len(y))
    X = np.column_stack([t, np.sin(t) + 4 * y]) + 0.1 * rng.normal(size=(len(y), 2))
    far = np.column_stack([rng.uniform(30, 90, size=5), rng.uniform(-90, 90, size=5)])
    return np.vstack([X, far]), np.concatenate([y, np.full(5, -1)])


def rings_in_noise(seed: int) -> Planted:
    """Three thin rings, and samples scattered everywhere, which belong to none."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2, -1], [300, 600, 900, 180])
    angle = rng.uniform(0, 2 * np.pi, size=len(y))
    radius = y + 1 + 0.06 * rng.normal(size=len(y))
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.where(y[:, None] < 0, rng.uniform(-3.3, 3.3, size=X.shape), X), y


def moons_in_noise(seed: int) -> Planted:
    """Two moons, and samples scattered everywhere, which belong to none."""
    X, y = make_moons(1000, noise=0.07, random_state=seed)
    rng = np.random.default_rng(seed)
    noise = rng.uniform([-1.3, -0.8], [2.3, 1.3], size=(100, 2))
    return np.vstack([X, noise]), np.concatenate([y, np.full(100, -1)])


def waves(seed: int) -> Planted:
    """Two long wide bands that nearly touch: few samples lie between them."""
    rng = np.random.default_rng(seed)
    y, t = np.repeat([0, 1], 1500), rng.uniform(0, 2 * np.pi, size=3000)
    return np.column_stack([1.5 * t, np.sin(t) + 1.1 * y + 0.15 * rng.normal(size=3000)]), y


def touching(seed: int) -> Planted:
    """Four round clusters of equal size, whose samples mix where they meet."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 200)
    return 4.0 * np.column_stack([y % 2, y // 2]) + rng.normal(size=(len(y), 2)), y


def dense_and_thin(seed: int) -> Planted:
    """A dense cluster of 800 samples, and two of 200 and 50 that are wider."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [800, 200, 50])
    centres, widths = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]), np.array([0.3, 1.0, 0.7])
    return centres[y] + widths[y, None] * rng.normal(size=(len(y), 2)), y


def hardly_apart(sizes: Any) -> Callable[[int], Planted]:
    """Round clusters in 100 dimensions: a neighbour is hardly nearer than anyone."""

    def make(seed: int) -> Planted:
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(len(sizes)), sizes)
        return 0.4 * rng.normal(size=(len(sizes), 100))[y] + rng.normal(size=(len(y), 100)), y

    return make


SETS: dict[str, Callable[[int], Planted]] = {
    **{name: CASES[name] for name in ("two rings, one inside the other", "two moons")},
    **{name: make for name, make in CASES.items() if name.startswith("round")},
    "rings of 40 and 800 samples": nested_rings,
    "chains with outliers": chains_with_outliers,
    "three rings in noise": rings_in_noise,
    "two moons in noise": moons_in_noise,
    "two bands that nearly touch": waves,
    "equal round clusters that touch": touching,
    "15 round clusters of 600 to 15 samples": blobs,
    "a dense cluster and two thin ones": dense_and_thin,
    "cells of 8 types": cells,
    "100 dimensions, 10 clusters of 100 samples": hardly_apart([100] * 10),
    "100 dimensions, 8 clusters of 400 to 20 samples": hardly_apart(
        np.geomspace(400, 20, 8).round().astype(int)
    ),
}

#: More for ``benchmarks.doubts``: links lead from each type to all others, and types are found.
NOISY: dict[str, Callable[[int], Planted]] = {
    "cells of 8 types, scaled": scaled_cells((4, 15)),
    "cells of 8 types that differ less, scaled": scaled_cells((2, 8)),
}
