"""More shapes for ``benchmarks.invented``, written when the rules of the defaults were there.

Nothing was chosen with them in sight.
"""

from __future__ import annotations

import numpy as np

from .shape_parts import (
    Maker,
    Points,
    along,
    arc,
    blob,
    box,
    disc,
    kept_in,
    several,
    together,
    turn,
)

SHAPES: dict[str, Maker] = {}
later = kept_in(SHAPES)


def closed(rng: np.random.Generator, n: int, corners: Points, width: float) -> Points:
    return along(rng, n, np.vstack([corners, corners[:1]]), width)


def polygon(k: int, radius: float) -> Points:
    angle = 2 * np.pi * np.arange(k) / k
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


@later
def a_horseshoe_and_a_bar(rng: np.random.Generator) -> tuple[Points, Points]:
    shoe = arc(rng, several(rng, 250, 500), 2, 0.15, (0.1 * np.pi, 1.9 * np.pi))
    return together(shoe, box(rng, several(rng, 100, 200), (1.3, 0), (3, 0.25)))


@later
def a_star_around_a_disc(rng: np.random.Generator) -> tuple[Points, Points]:
    corners = polygon(10, 1.0) * np.where(np.arange(10) % 2, 2.0, 4.0)[:, None]
    return together(closed(rng, several(rng, 400, 700), corners, 0.06), disc(rng, 150, (0, 0), 0.8))


@later
def frames_in_frames(rng: np.random.Generator) -> tuple[Points, Points]:
    squares = [closed(rng, 100 * r, polygon(4, 1.4 * r), 0.07) for r in (1, 2, 3)]
    return together(*squares)


@later
def six_discs_around_one(rng: np.random.Generator) -> tuple[Points, Points]:
    places = np.vstack([polygon(6, 2.8), [[0, 0]]])
    return together(*(disc(rng, several(rng, 60, 200), place, 1.1) for place in places))


@later
def zigzags(rng: np.random.Generator) -> tuple[Points, Points]:
    corners = np.array([(x, x % 2) for x in range(7)], float)
    up = np.array([0, 1.2])
    return together(*(along(rng, several(rng, 200, 350), corners + j * up, 0.06) for j in range(4)))


@later
def arrow_heads(rng: np.random.Generator) -> tuple[Points, Points]:
    head = np.array([(-1, 1.5), (0, 0), (1, 1.5)])
    return together(
        *(along(rng, several(rng, 120, 250), head + np.array([0, 0.8 * j]), 0.08) for j in range(4))
    )


@later
def crescents_face_to_face(rng: np.random.Generator) -> tuple[Points, Points]:
    bend = (0.6 * np.pi, 1.4 * np.pi)
    one = [arc(rng, several(rng, 150, 400), 3, 0.25, bend, (0.4, 0)) for _ in range(2)]
    return together(one[0] - [0.6, 0], -one[1] + [0.6, 0])


@later
def a_galaxy(rng: np.random.Generator) -> tuple[Points, Points]:
    def arm(n: int, begin: float) -> Points:
        angle = rng.uniform(0, 1.2 * np.pi, n)
        around = angle + begin
        curve = (1.6 + 0.7 * angle)[:, None] * np.column_stack([np.cos(around), np.sin(around)])
        return curve + 0.1 * rng.normal(size=(n, 2))

    arms = [arm(several(rng, 150, 300), j * np.pi) for j in range(2)]
    return together(blob(rng, several(rng, 150, 300), (0, 0), 0.35), *arms)


@later
def steps_of_growing_blobs(rng: np.random.Generator) -> tuple[Points, Points]:
    spread = 0.4 * 1.6 ** np.arange(5)
    places = np.cumsum(4.5 * spread)
    return together(
        *(
            blob(rng, several(rng, 80, 160), (place, place / 2), s)
            for place, s in zip(places, spread, strict=True)
        )
    )


@later
def twelve_blobs(rng: np.random.Generator) -> tuple[Points, Points]:
    places: list[Points] = []
    while len(places) < 12:
        one = rng.uniform(0, 24, 2)
        if all(np.linalg.norm(one - other) > 4.5 for other in places):
            places.append(one)
    return together(*(blob(rng, several(rng, 40, 200), place, 0.9) for place in places))


@later
def skewed_blobs(rng: np.random.Generator) -> tuple[Points, Points]:
    places = [(0, 0), (7, 0), (0, 7), (7, 7)]
    return together(
        *(np.array(place) + rng.exponential(1.0, (several(rng, 100, 250), 2)) for place in places)
    )


@later
def strips_of_unequal_density(rng: np.random.Generator) -> tuple[Points, Points]:
    numbers = (80, 130, 200, 320, 500)
    return together(*(box(rng, n, (0, 1.1 * j), (5, 0.7)) for j, n in enumerate(numbers)))


@later
def wheels(rng: np.random.Generator) -> tuple[Points, Points]:
    def wheel() -> Points:
        spokes = [along(rng, 40, [(0, 0), end], 0.05) for end in polygon(3, 2)]
        return np.concatenate([arc(rng, 250, 2, 0.07), *spokes])

    return together(wheel(), wheel() @ turn(1.0) + np.array([4.9, 0]))


@later
def boxes_in_space(rng: np.random.Generator) -> tuple[Points, Points]:
    places = [(i, j, k) for i in range(2) for j in range(2) for k in range(3)]
    return together(*(box(rng, several(rng, 60, 120), place, (0.65,) * 3) for place in places))


@later
def a_pipe_around_a_rod(rng: np.random.Generator) -> tuple[Points, Points]:
    def tube(n: int, radius: float) -> Points:
        return np.column_stack([arc(rng, n, radius, 0.08), rng.uniform(0, 5, n)])

    return together(tube(several(rng, 700, 1000), 2), tube(several(rng, 150, 300), 0.2))


@later
def bowls(rng: np.random.Generator) -> tuple[Points, Points]:
    def bowl(n: int) -> Points:
        X = rng.normal(size=(n, 3))
        X *= 2 / np.linalg.norm(X, axis=1)[:, None]
        X[:, 2] = -np.abs(X[:, 2])
        return X + 0.06 * rng.normal(size=X.shape)

    lower, upper = bowl(several(rng, 400, 600)), bowl(several(rng, 400, 600))
    return together(lower, upper * [1, 1, -1] + [1.0, 0, -0.9])
