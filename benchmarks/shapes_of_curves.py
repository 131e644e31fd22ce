"""Moons, rings, spirals, bars, letters and waves for ``benchmarks.invented``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    scattered,
    several,
    together,
    turn,
)

SHAPES: dict[str, Maker] = {}
invented = kept_in(SHAPES)


# ----------------------------------------------------------------------------- moons and bananas


def moons_of(rng: np.random.Generator, sizes: Sequence[int], width: float) -> tuple[Points, Any]:
    """Half rings, open to one side and to the other, each with its end inside the next."""
    return together(
        *(
            arc(
                rng,
                n,
                1,
                width,
                (0, np.pi) if j % 2 == 0 else (np.pi, 2 * np.pi),
                (1.15 * j, 0.5 * (j % 2)),
            )
            for j, n in enumerate(sizes)
        )
    )


@invented
def moons(rng: np.random.Generator) -> tuple[Points, Any]:
    return moons_of(rng, [several(rng, 150, 400)] * 2, 0.07)


@invented
def moons_of_unequal_size(rng: np.random.Generator) -> tuple[Points, Any]:
    return moons_of(rng, [several(rng, 500, 700), several(rng, 100, 150)], 0.06)


@invented
def moons_in_a_chain(rng: np.random.Generator) -> tuple[Points, Any]:
    return moons_of(rng, [several(rng, 120, 300) for _ in range(4)], 0.06)


@invented
def wide_moons(rng: np.random.Generator) -> tuple[Points, Any]:
    return moons_of(rng, [several(rng, 300, 500)] * 2, 0.11)


@invented
def moons_before_a_background(rng: np.random.Generator) -> tuple[Points, Any]:
    return scattered(rng, *moons_of(rng, [several(rng, 300, 500)] * 2, 0.05), 0.08)


@invented
def a_moon_and_two_blobs(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(
        arc(rng, 300, 3, 0.2, (0, np.pi)),
        blob(rng, several(rng, 50, 150), (-0.9, -0.3), 0.35),
        blob(rng, several(rng, 50, 150), (1.1, -0.3), 0.35),
    )


@invented
def nested_bananas(rng: np.random.Generator) -> tuple[Points, Any]:
    bend = (0.1 * np.pi, 0.9 * np.pi)
    return together(*(arc(rng, 90 * r, r, 0.22, bend) for r in (2, 4, 6)))


@invented
def bananas_back_to_back(rng: np.random.Generator) -> tuple[Points, Any]:
    bend = (0.75 * np.pi, 1.25 * np.pi)
    left = arc(rng, several(rng, 200, 300), 3, 0.3, bend, (6.4, 0))
    return together(left, -arc(rng, several(rng, 200, 300), 3, 0.3, bend, (6.4, 0)))


@invented
def a_crescent_around_a_disc(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(
        arc(rng, several(rng, 250, 500), 3, 0.25, (0.3 * np.pi, 1.7 * np.pi)),
        disc(rng, several(rng, 150, 300), (0.3, 0), 1.4),
    )


# ----------------------------------------------------------------------------- rings and spirals


@invented
def two_rings(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(*(arc(rng, several(rng, 150, 400), r, 0.12) for r in (1.2, 3)))


@invented
def four_rings(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(*(arc(rng, 130 * r, r, 0.1) for r in (1, 2, 3, 4)))


@invented
def a_ring_around_blobs(rng: np.random.Generator) -> tuple[Points, Any]:
    blobs = [blob(rng, several(rng, 60, 120), centre, 0.3) for centre in ((-1, 0), (1, 0.4))]
    return together(arc(rng, several(rng, 250, 400), 3, 0.15), *blobs)


@invented
def rings_side_by_side(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(
        *(arc(rng, several(rng, 150, 300), 1, 0.07, centre=(2.7 * j, 0)) for j in range(3))
    )


@invented
def a_ring_in_three_parts(rng: np.random.Generator) -> tuple[Points, Any]:
    third = 2 * np.pi / 3
    return together(
        *(
            arc(rng, several(rng, 100, 250), 3, 0.12, (j * third, (j + 0.8) * third))
            for j in range(3)
        )
    )


@invented
def rings_before_a_background(rng: np.random.Generator) -> tuple[Points, Any]:
    rings = together(arc(rng, 250, 1, 0.06), arc(rng, 500, 2.5, 0.06))
    return scattered(rng, *rings, 0.06)


def spirals_of(
    rng: np.random.Generator, k: int, n: int, turns: float, width: float
) -> tuple[Points, Any]:
    # Of equal density along each arm: the length grows with the square of the angle.
    angle = 2 * np.pi * np.sqrt(rng.uniform(0.15, turns**2, (k, n)))
    around = angle + 2 * np.pi * np.arange(k)[:, None] / k
    arms = np.stack([angle * np.cos(around), angle * np.sin(around)], axis=2)
    return together(*(arm + width * rng.normal(size=arm.shape) for arm in arms))


@invented
def two_spirals(rng: np.random.Generator) -> tuple[Points, Any]:
    return spirals_of(rng, 2, several(rng, 250, 500), 1.5, 0.25)


@invented
def four_spirals(rng: np.random.Generator) -> tuple[Points, Any]:
    return spirals_of(rng, 4, several(rng, 150, 250), 1.0, 0.12)


@invented
def a_spiral_that_ends_at_a_blob(rng: np.random.Generator) -> tuple[Points, Any]:
    X, _ = spirals_of(rng, 1, several(rng, 300, 500), 1.5, 0.25)
    far = X[np.linalg.norm(X, axis=1) > 3.5]
    return together(far, blob(rng, several(rng, 80, 150), (0, 0), 0.7))


# ----------------------------------------------------------------------------- boxes and bars


def grid_of(rng: np.random.Generator, side: int, n: int, gap: float) -> tuple[Points, Any]:
    places = [(i, j) for i in range(side) for j in range(side)]
    return together(*(box(rng, n, place, (1 - gap, 1 - gap)) for place in places))


@invented
def nine_squares(rng: np.random.Generator) -> tuple[Points, Any]:
    return grid_of(rng, 3, several(rng, 60, 150), 0.25)


@invented
def twenty_five_squares(rng: np.random.Generator) -> tuple[Points, Any]:
    return grid_of(rng, 5, several(rng, 40, 80), 0.35)


@invented
def squares_of_unequal_size(rng: np.random.Generator) -> tuple[Points, Any]:
    sides = (1, 2, 3, 4)
    places = np.cumsum(sides) - np.array(sides) / 2 + 0.7 * np.arange(4)
    return together(
        *(box(rng, 40 * s**2, (place, 0), (s, s)) for s, place in zip(sides, places, strict=True))
    )


@invented
def squares_of_unequal_density(rng: np.random.Generator) -> tuple[Points, Any]:
    numbers = (60, 120, 240, 480)
    return together(*(box(rng, n, (1.4 * j, 0), (1, 1)) for j, n in enumerate(numbers)))


@invented
def bars(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(*(box(rng, several(rng, 150, 250), (0, j), (6, 0.3)) for j in range(4)))


@invented
def bars_of_unequal_length(rng: np.random.Generator) -> tuple[Points, Any]:
    return together(*(box(rng, 60 * s, (s / 2, 0.8 * s), (s, 0.25)) for s in range(2, 8)))


@invented
def bars_before_a_background(rng: np.random.Generator) -> tuple[Points, Any]:
    three = together(*(box(rng, 250, (0, 1.5 * j), (6, 0.3)) for j in range(3)))
    return scattered(rng, *three, 0.06)


@invented
def a_frame_around_a_box(rng: np.random.Generator) -> tuple[Points, Any]:
    corners = [(-3, -2), (3, -2), (3, 2), (-3, 2), (-3, -2)]
    return together(
        along(rng, several(rng, 400, 600), corners, 0.12), box(rng, 250, (0, 0), (3, 1))
    )


@invented
def triangles(rng: np.random.Generator) -> tuple[Points, Any]:
    def one(n: int, middle: Any) -> Points:
        corners = np.array([(0, 0), (2, 0), (1, 1.7)])
        return rng.dirichlet(np.ones(3), n) @ corners + middle

    return together(*(one(several(rng, 100, 250), (1.5 * j, 1.1 * (j % 2))) for j in range(3)))


@invented
def halves_of_a_disc(rng: np.random.Generator) -> tuple[Points, Any]:
    X = disc(rng, several(rng, 500, 800), (0, 0), 2)
    left, right = X[X[:, 0] < 0], X[X[:, 0] >= 0]
    return together(left, right + np.array([0.5, 0]))


@invented
def a_mouth_and_dots(rng: np.random.Generator) -> tuple[Points, Any]:
    X = disc(rng, 700, (0, 0), 2)
    angle = np.arctan2(X[:, 1], X[:, 0])
    dots = [disc(rng, several(rng, 30, 60), (1.2 + 1.3 * j, 0), 0.3) for j in range(3)]
    return together(X[np.abs(angle) > 0.6], *dots)


# ----------------------------------------------------------------------------- letters and faces

_LETTERS = {
    "C": [(1, 0.1), (0.2, 0), (0, 0.3), (0, 0.7), (0.2, 1), (1, 0.9)],
    "L": [(0, 1), (0, 0), (0.8, 0)],
    "M": [(0, 0), (0, 1), (0.5, 0.4), (1, 1), (1, 0)],
    "N": [(0, 0), (0, 1), (0.8, 0), (0.8, 1)],
    "O": [(0.3, 0), (0, 0.5), (0.3, 1), (0.7, 1), (1, 0.5), (0.7, 0), (0.3, 0)],
    "S": [(0, 0), (0.8, 0), (0.8, 0.5), (0, 0.5), (0, 1), (0.8, 1)],
    "U": [(0, 1), (0, 0.2), (0.3, 0), (0.6, 0), (0.9, 0.2), (0.9, 1)],
    "V": [(0, 1), (0.5, 0), (1, 1)],
    "Z": [(0, 1), (0.9, 1), (0, 0), (0.9, 0)],
}


def written(rng: np.random.Generator, word: str, n: int, width: float) -> tuple[Points, Any]:
    places = [(1.5 * j, 0) for j in range(len(word))]
    return together(
        *(
            along(rng, n, _LETTERS[letter], width) + place
            for letter, place in zip(word, places, strict=True)
        )
    )


@invented
def three_letters(rng: np.random.Generator) -> tuple[Points, Any]:
    return written(rng, "SUN", several(rng, 100, 250), 0.04)


@invented
def seven_letters(rng: np.random.Generator) -> tuple[Points, Any]:
    return written(rng, "COLUMNS", several(rng, 100, 200), 0.035)


@invented
def letters_inside_each_other(rng: np.random.Generator) -> tuple[Points, Any]:
    letters = [2.5 * s * np.array(_LETTERS["V"]) + [-1.25 * s, -2 * s] for s in (1, 2, 3)]
    return together(*(along(rng, 110 * (j + 1), one, 0.12) for j, one in enumerate(letters)))


@invented
def hooks(rng: np.random.Generator) -> tuple[Points, Any]:
    down, up = [(0, 3), (0, 0), (2, 0)], [(1, 3), (3, 3), (3, 0)]
    numbers = several(rng, 150, 300), several(rng, 150, 300)
    return together(*(along(rng, n, one, 0.13) for n, one in zip(numbers, (down, up), strict=True)))


@invented
def a_face(rng: np.random.Generator) -> tuple[Points, Any]:
    eyes = [disc(rng, several(rng, 40, 80), (x, 1), 0.35) for x in (-1.1, 1.1)]
    mouth = arc(rng, several(rng, 80, 140), 1.7, 0.09, (1.2 * np.pi, 1.8 * np.pi))
    return together(arc(rng, several(rng, 300, 500), 3, 0.1), *eyes, mouth)


# ----------------------------------------------------------------------------- curves


@invented
def waves(rng: np.random.Generator) -> tuple[Points, Any]:
    def one(n: int, height: float) -> Points:
        x = rng.uniform(0, 4 * np.pi, n)
        return np.column_stack([x, 1.5 * np.sin(x) + height]) + 0.15 * rng.normal(size=(n, 2))

    return together(*(one(several(rng, 250, 400), 2.5 * j) for j in range(3)))


@invented
def rays(rng: np.random.Generator) -> tuple[Points, Any]:
    angles = 2 * np.pi * np.arange(6) / 6
    ends = np.column_stack([np.cos(angles), np.sin(angles)])
    return together(
        *(along(rng, several(rng, 80, 160), [0.8 * end, 4 * end], 0.12) for end in ends)
    )


@invented
def petals(rng: np.random.Generator) -> tuple[Points, Any]:
    k, n = 5, several(rng, 80, 200)
    one = [blob(rng, n, (3, 0), (0.7, 0.3)) for _ in range(k)]
    return together(*(X @ turn(2 * np.pi * j / k) for j, X in enumerate(one)))


@invented
def lines_that_become_sparse(rng: np.random.Generator) -> tuple[Points, Any]:
    def one(n: int, height: float) -> Points:
        x = -1.5 * np.log(1 - rng.uniform(0, 0.98, n))
        return np.column_stack([x, np.full(n, height)]) + 0.1 * rng.normal(size=(n, 2))

    return together(*(one(several(rng, 200, 300), 1.2 * j) for j in range(3)))
