"""The prepared form of a data set, and the hash of its content."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Arrays(NamedTuple):
    """Pixels (n_samples, height · width), row by row; classes from 0; height and width."""

    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    image_shape: tuple[int, int]


def as_arrays(X: Any, y: Any, image_shape: Any) -> Arrays:
    """Numbers of any type in the prepared form; a ValueError if a value would have to change."""
    pixels, classes, shape = np.asarray(X), np.asarray(y).ravel(), np.asarray(image_shape).ravel()
    for array in (pixels, classes, shape):
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{array.dtype} is no type for pixels, classes or a shape")
    if shape.shape != (2,) or not (shape >= 0).all() or not (shape < 2**15).all():
        raise ValueError("image_shape is not a height and a width")
    height, width = (int(n) for n in shape)
    if pixels.shape != (len(classes), height * width):
        raise ValueError(
            f"X has shape {pixels.shape}, which does not go with {len(classes)} classes and images "
            f"of {height} × {width}"
        )
    return Arrays(
        np.ascontiguousarray(_exactly(pixels, np.uint8, "pixel")),
        _exactly(classes, np.int64, "class"),
        (height, width),
    )


def content_hash(arrays: Arrays) -> str:
    """SHA-256 of the values alone: type, memory order and compression do not matter."""
    digest = hashlib.sha256(repr((arrays.X.shape, arrays.image_shape)).encode())
    digest.update(arrays.X.tobytes())
    digest.update(arrays.y.astype("<i8").tobytes())
    return digest.hexdigest()


def _exactly(values: NDArray[Any], dtype: type[np.integer[Any]], what: str) -> NDArray[Any]:
    limits = np.iinfo(dtype)
    # Written so that NaN fails too.
    if not ((values >= limits.min) & (values <= limits.max)).all():
        raise ValueError(f"a {what} is not within {limits.min} and {limits.max}")
    cast = values.astype(dtype)
    if not np.array_equal(cast, values):
        raise ValueError(f"a {what} is not a whole number")
    return cast
