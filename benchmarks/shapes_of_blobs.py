"""Blobs, and shapes in space, for ``benchmarks.invented``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .shape_parts import (
    Maker,
    Points,
    arc,
    blob,
    box,
    disc,
    kept_in,
    scattered,
    several,
    together,
    turn,
)
from .shapes_of_curves import spirals_of

SHAPES: dict[str, Maker] = {}
invented = kept_in(SHAPES)


@invented
def two_blobs_that_touch(rng: np.random.Generator) -> tuple[Points, Any]:
    n = several(rng, 300, 500)
    return together(blob(rng, n, (0, 0)), blob(rng, n, (4, 0)))


@invented
def a_large_blob_touches_a_small_one(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(
        blob(rng, several(rng, 500, 800), (0, 0)), blob(rng, several(rng, 60, 100), (4.2, 0), 0.6)
    )


@invented
def six_blobs_that_touch(rng: np.random.Generator) -> tuple[Points, Any]:
    places = [(4.2 * i, 4.2 * j) for i in range(3) for j in range(2)]
    return together(*(blob(rng, several(rng, 80, 250), place) for place in places))


@invented
def blobs_of_unequal_spread(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(
        blob(rng, several(rng, 150, 250), (0, 0), 0.3),
        blob(rng, several(rng, 150, 250), (3.5, 0), 1.0),
        blob(rng, several(rng, 150, 250), (13, 0), 2.5),
    )


@invented
def blobs_of_unequal_size(rng: np.random.Generator) -> tuple[Points, Any]:
    places = [(0, 0), (6, 0), (0, 6), (6, 6), (12, 3)]
    numbers = np.geomspace(30, 600, 5).astype(int)
    return together(*(blob(rng, n, place) for n, place in zip(numbers, places, strict=True)))


@invented
def parallel_ellipses(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(*(blob(rng, several(rng, 150, 300), (0, 1.8 * j), (3, 0.3)) for j in range(4)))


@invented
def ellipses_in_all_directions(rng: np.random.Generator) -> tuple[Points, Any]:
    ellipses = [blob(rng, several(rng, 150, 300), (0, 0), (2, 0.35)) for _ in range(4)]
    places = [(0, 0), (5, 0), (0, 5), (5, 5)]
    return together(
        *(
            X @ turn(rng.uniform(0, np.pi)) + place
            for X, place in zip(ellipses, places, strict=True)
        )
    )


@invented
def thirty_blobs(rng: np.random.Generator) -> tuple[Points, Any]:
    places = 5 * np.array([(i, j) for i in range(6) for j in range(5)])
    jitter = rng.uniform(-0.5, 0.5, places.shape)
    return together(*(blob(rng, several(rng, 30, 70), place, 0.8) for place in places + jitter))


@invented
def blobs_before_a_background(rng: np.random.Generator) -> tuple[Points, Any]:
    places = [(0, 0), (6, 1), (2, 6), (8, 7)]
    return scattered(rng, *together(*(blob(rng, 150, place, 0.7) for place in places)), 0.1)


@invented
def blobs_with_long_tails(rng: np.random.Generator) -> tuple[Points, Any]:
    places = [(0, 0), (9, 0), (4.5, 8)]
    return together(*(place + rng.standard_t(3, (several(rng, 150, 300), 2)) for place in places))


@invented
def dumbbells(rng: np.random.Generator) -> tuple[Points, Any]:
    """Two blobs and a thin bridge, of which each half belongs to the nearer blob."""
    left = blob(rng, 250, (0, 0), 0.7), box(rng, 12, (2.25, 0), (1.5, 0.1))
    right = blob(rng, 250, (6, 0), 0.7), box(rng, 12, (3.75, 0), (1.5, 0.1))
    return together(np.concatenate(left), np.concatenate(right))


@invented
def discs_of_unequal_size(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(
        disc(rng, 800, (0, 0), 2),
        disc(rng, several(rng, 80, 120), (2.9, 0), 0.6),
        disc(rng, several(rng, 80, 120), (-1.6, 2.6), 0.6),
    )


# ----------------------------------------------------------------------------- in space


@invented
def blobs_in_space(rng: np.random.Generator) -> tuple[Points, Any]:
    places = [(i, j, k) for i in (0, 5) for j in (0, 5) for k in (0, 5)]
    return together(*(blob(rng, several(rng, 50, 150), place) for place in places))


@invented
def a_sphere_around_a_core(rng: np.random.Generator) -> tuple[Points, Any]:
    shell = rng.normal(size=(several(rng, 500, 800), 3))
    shell *= 3 / np.linalg.norm(shell, axis=1)[:, None]
    return together(shell + 0.1 * rng.normal(size=shell.shape), blob(rng, 200, (0, 0, 0), 0.5))


@invented
def sheets(rng: np.random.Generator) -> tuple[Points, Any]:
    def one(n: int, height: float) -> Points:
        X = rng.uniform(-2, 2, (n, 2))
        bent = height + 0.3 * np.sin(2 * X[:, 0])
        return np.column_stack([X, bent + 0.05 * rng.normal(size=n)])

    return together(*(one(several(rng, 300, 500), 0.9 * j) for j in range(3)))


@invented
def rolled_sheets(rng: np.random.Generator) -> tuple[Points, Any]:
    X, y = spirals_of(rng, 2, several(rng, 500, 700), 1.2, 0.15)
    return np.column_stack([X, rng.uniform(0, 6, len(y))]), y


@invented
def linked_rings(rng: np.random.Generator) -> tuple[Points, Any]:
    flat, upright = (arc(rng, several(rng, 150, 350), 2, 0.15) for _ in range(2))
    beside = [0.15 * rng.normal(size=len(one)) for one in (flat, upright)]
    return together(
        np.column_stack([flat, beside[0]]),
        np.column_stack([upright[:, 0] + 2, beside[1], upright[:, 1]]),
    )


@invented
def helices(rng: np.random.Generator) -> tuple[Points, Any]:
    def one(n: int, begin: float) -> Points:
        t = rng.uniform(0, 5 * np.pi, n)
        curve = np.column_stack([2 * np.cos(t + begin), 2 * np.sin(t + begin), 0.5 * t])
        return curve + 0.1 * rng.normal(size=(n, 3))

    return together(*(one(several(rng, 250, 400), j * np.pi) for j in range(2)))
