"""Shapes that were invented for ``benchmarks.invented``: each is drawn from a name and a seed.

In most of them a reader of the picture would say at once which samples are together. Some are
harder: clusters that touch, a background of scattered samples, bridges. Every seed turns a shape,
and draws other sizes and widths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import shapes_later, shapes_of_blobs, shapes_of_curves
from .shape_parts import Points, turn

#: Those that were looked at when the rules of the defaults were made, and those that came later.
EARLY = {**shapes_of_curves.SHAPES, **shapes_of_blobs.SHAPES}
LATER = shapes_later.SHAPES
SHAPES = {**EARLY, **LATER}


def shape(name: str, seed: int) -> tuple[Points, Any]:  # (n, p), (n,)
    """The samples of a shape, turned in the plane and in random order, and their clusters."""
    rng = np.random.default_rng([seed, *name.encode()])
    X, y = SHAPES[name](rng)
    X[:, :2] = X[:, :2] @ turn(rng.uniform(0, 2 * np.pi))
    order = rng.permutation(len(y))
    return X[order], y[order]
