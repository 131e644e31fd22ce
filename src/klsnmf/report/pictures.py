"""Rows of X as pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Array
from .png import Pixels, data_uri
from .run import Run

#: Longest side of a picture in a gallery, and the least that still shows something.
_LARGEST = 96
_SMALLEST = 8

#: So many samples tell how dark and bright the images of a data set are.
_JUDGED = 500


@dataclass(frozen=True)
class Darkroom:
    """How the images of a data set are developed.

    Attributes
    ----------
    shape : (height, width) or (height, width, 3)
    low, high : values that become black and white
    ink : whether images are mostly empty, such as handwriting, and look best as ink on paper
    """

    shape: tuple[int, ...]
    low: float
    high: float
    ink: bool

    def develop(self, rows: Array) -> Pixels:  # (m, p) -> (m, *shape)
        return self._develop(rows, np.array(self.low), np.array(self.high))

    def develop_apart(self, rows: Array) -> Pixels:  # (m, p) -> (m, *shape)
        """Each row from its own darkest to its own brightest: the scale of prototypes is free."""
        low = np.minimum(rows.min(axis=1), 0) if self.ink else rows.min(axis=1)
        return self._develop(rows, low[:, None], rows.max(axis=1)[:, None])

    def _develop(self, rows: Array, low: Array, high: Array) -> Pixels:
        light = (rows - low) / np.maximum(high - low, np.finfo(np.float64).tiny)
        light = np.clip(1 - light if self.ink else light, 0, 1)
        return np.rint(255 * light).astype(np.uint8).reshape(len(rows), *self.shape)


def darkroom(run: Run) -> Darkroom:
    assert run.image_shape is not None
    step = max(1, run.X.shape[0] // _JUDGED)
    values = run.rows(np.arange(0, run.X.shape[0], step))
    low, high = float(values.min()), float(values.max())
    empty = np.mean(values <= low + 0.05 * (high - low))
    shape = run.image_shape[:2] if run.image_shape[2:] == (1,) else run.image_shape
    return Darkroom(shape, low, high, ink=len(shape) == 2 and bool(empty > 0.4))


def shrink(images: Pixels, longest: int) -> Pixels:  # (m, h, w) or (m, h, w, 3)
    """Images whose sides are no longer than this, by averaging."""
    height, width = images.shape[1:3]
    if max(height, width) <= longest:
        return images
    scale = longest / max(height, width)
    small = images.astype(np.float64)
    for axis, side in ((1, height), (2, width)):
        starts = np.floor(np.linspace(0, side, max(1, round(side * scale)), endpoint=False))
        counts = np.diff(np.append(starts, side))
        small = np.add.reduceat(small, starts.astype(int), axis=axis)
        small /= counts.reshape([-1 if a == axis else 1 for a in range(small.ndim)])
    return np.rint(small).astype(np.uint8)


def as_uris(images: Pixels, budget: int) -> list[str]:  # (m, h, w) or (m, h, w, 3)
    """Images as data URIs that together have about ``budget`` characters at most."""
    longest = _LARGEST
    while True:
        uris = [data_uri(image) for image in shrink(images, longest)]
        total = sum(map(len, uris))
        longest = min(longest, max(images.shape[1:3]))
        if total <= budget or longest <= _SMALLEST:
            return uris
        longest = max(_SMALLEST, min(longest - 1, int(longest * np.sqrt(budget / total))))


@dataclass(frozen=True)
class Sheet:
    """Many small images as one, row after row."""

    uri: str
    columns: int
    width: int
    height: int


def sheet(images: Pixels, budget: int) -> Sheet:  # (m, h, w) or (m, h, w, 3)
    """A contact sheet of about ``budget`` characters at most."""
    longest = min(32, max(images.shape[1:3]))
    columns = int(np.ceil(np.sqrt(len(images))))
    while True:
        small = shrink(images, longest)
        height, width = small.shape[1:3]
        missing = -len(small) % columns
        full = np.concatenate([small, np.zeros((missing, *small.shape[1:]), np.uint8)])
        grid = full.reshape(-1, columns, *small.shape[1:]).swapaxes(1, 2)
        uri = data_uri(grid.reshape(-1, columns * width, *small.shape[3:]))
        if len(uri) <= budget or longest <= _SMALLEST:
            return Sheet(uri, columns, width, height)
        longest = max(_SMALLEST, min(longest - 1, int(longest * np.sqrt(budget / len(uri)))))
