"""Rows of X as pictures, and pictures as PNG files within a page, without any library."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.types import Array

Pixels = NDArray[np.uint8]

#: The longest side of a picture in a gallery and on a sheet, and the shortest that is useful.
_LARGEST = 96
_LARGEST_ON_SHEET = 32
_SMALLEST = 8

#: The colours of matrices, for the smallest and the largest value.
_PAPER, _INK = np.array([255, 255, 255]), np.array([24, 62, 110])


class Darkroom(NamedTuple):
    """How the images of a data set are drawn."""

    shape: tuple[int, ...]  # (height, width) or (height, width, 3)
    low: float  # becomes black
    high: float  # becomes white
    ink: bool  # mostly empty, such as handwriting: they look best as ink on paper

    def develop(self, rows: Array) -> Pixels:  # (m, p) -> (m, *shape)
        return self._develop(rows, np.array(self.low), np.array(self.high))

    def develop_apart(self, rows: Array) -> Pixels:  # (m, p) -> (m, *shape)
        """Each row uses its own darkest and brightest value: the scale of prototypes is free."""
        low = np.minimum(rows.min(axis=1), 0) if self.ink else rows.min(axis=1)
        return self._develop(rows, low[:, None], rows.max(axis=1)[:, None])

    def _develop(self, rows: Array, low: Array, high: Array) -> Pixels:
        light = (rows - low) / np.maximum(high - low, np.finfo(np.float64).tiny)
        light = np.clip(1 - light if self.ink else light, 0, 1)
        return np.rint(255 * light).astype(np.uint8).reshape(len(rows), *self.shape)


def darkroom(values: Array, image_shape: tuple[int, ...]) -> Darkroom:  # (m, p)
    """How to draw images like these."""
    low, high = float(values.min()), float(values.max())
    empty = np.mean(values <= low + 0.05 * (high - low))
    shape = image_shape[:2] if image_shape[2:] == (1,) else image_shape
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
    return _within(budget, images, _LARGEST, lambda small: [data_uri(image) for image in small])[1]


def _within(
    budget: int, images: Pixels, longest: int, draw: Callable[[Pixels], list[str]]
) -> tuple[Pixels, list[str]]:
    """Images, made smaller if necessary to fit into about so many characters."""
    longest = min(longest, max(images.shape[1:3]))
    while True:
        small = shrink(images, longest)
        drawn = draw(small)
        total = sum(map(len, drawn))
        if total <= budget or longest <= _SMALLEST:
            return small, drawn
        longest = max(_SMALLEST, min(longest - 1, int(longest * np.sqrt(budget / total))))


class Sheet(NamedTuple):
    """Many small images as one, row after row."""

    uri: str
    columns: int
    width: int
    height: int


def sheet(images: Pixels, budget: int) -> Sheet:  # (m, h, w) or (m, h, w, 3)
    """A contact sheet of about ``budget`` characters at most."""
    columns = int(np.ceil(np.sqrt(len(images))))

    def draw(small: Pixels) -> list[str]:
        missing = np.zeros((-len(small) % columns, *small.shape[1:]), np.uint8)
        grid = np.concatenate([small, missing]).reshape(-1, columns, *small.shape[1:])
        rows = grid.swapaxes(1, 2)
        return [data_uri(rows.reshape(-1, columns * small.shape[2], *small.shape[3:]))]

    small, (uri,) = _within(budget, images, _LARGEST_ON_SHEET, draw)
    height, width = small.shape[1:3]
    return Sheet(uri, columns, width, height)


def encode(pixels: Pixels) -> bytes:  # (h, w) or (h, w, 3)
    """The PNG file; each row has the filter that compresses best."""
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else 3
    rows = pixels.reshape(height, width * channels)
    left = np.pad(rows, ((0, 0), (channels, 0)))[:, :-channels]
    above = np.pad(rows, ((1, 0), (0, 0)))[:-1]
    # By the standard, 0 is no filter, 1 subtracts left neighbours, and 2 subtracts the row above.
    filtered = np.stack([rows, rows - left, rows - above])
    cost = np.abs(filtered.view(np.int8).astype(np.int16)).sum(axis=2)
    best = cost.argmin(axis=0)
    lines = np.column_stack([best.astype(np.uint8), filtered[best, np.arange(height)]])
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )


def data_uri(pixels: Pixels) -> str:
    return "data:image/png;base64," + base64.b64encode(encode(pixels)).decode("ascii")


def shaded(shares: Array) -> str:  # (r, c), 0 to 1
    """A matrix as a picture; square roots make small values visible."""
    pixels = _PAPER + np.sqrt(shares)[:, :, None] * (_INK - _PAPER)
    return data_uri(np.rint(pixels).astype(np.uint8))


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
