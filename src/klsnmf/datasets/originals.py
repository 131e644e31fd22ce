"""The publishers' formats. Each parser gives the pixels row by row and the classes from 0."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import UnsafeFileError, open_zip
from .arrays import Arrays, as_arrays
from .registry import DataSet

#: Faces94 has JPEG images of this height and width; blocks of 4 × 4 pixels are averaged.
_FACE, _BLOCK = (200, 180), 4

#: The largest JPEG file of a face that is read, and the most files: generous, but harmless.
_LARGEST_FACE, _MOST_FACES = 2**20, 10_000


def parse_semeion(content: bytes, dataset: DataSet) -> Arrays:
    """Text: a line for each digit, its pixels, then a 1 in the column of its class."""
    width = dataset.n_features + dataset.n_classes
    values = np.array(content.split(), dtype=np.float64).reshape(-1, width)
    pixels, classes = np.split(values, [dataset.n_features], axis=1)
    return as_arrays(pixels, classes.argmax(axis=1), dataset.image_shape)


def parse_cells(content: bytes, dataset: DataSet) -> Arrays:
    """MATLAB: a cell array ``dat``, a row for each class, an image in each cell."""
    cells = _load_mat(content)["dat"]
    pixels = np.stack([image.ravel() for image in cells.ravel()])
    return as_arrays(pixels, np.repeat(np.arange(len(cells)), cells.shape[1]), dataset.image_shape)


def parse_table(content: bytes, dataset: DataSet) -> Arrays:
    """MATLAB: a row of ``X`` for each image, stored column by column; ``Y`` or ``y`` from 1."""
    stored = _load_mat(content)
    height, width = dataset.image_shape
    images = stored["X"].reshape(-1, width, height).transpose(0, 2, 1)
    classes = stored["Y"] if "Y" in stored else stored["y"]
    # MATLAB stores small whole numbers as uint8: without the cast, 0 − 1 would be 255.
    return as_arrays(
        images.reshape(-1, height * width), classes.astype(np.int64) - 1, dataset.image_shape
    )


def parse_faces94(path: Path, dataset: DataSet) -> Arrays:
    """The men of Faces94: a zip archive, or a folder, with male/PERSON/PERSON.NUMBER.jpg."""
    people, images = [], []
    for (person, number), content in sorted(_faces(path, dataset), key=lambda face: face[0]):
        people.append(person)
        images.append(_grey_and_small(content, f"{path}: {person}.{number}.jpg"))
    if not images:
        raise ValueError("there is no image male/PERSON/PERSON.NUMBER.jpg in it")
    _, classes = np.unique(people, return_inverse=True)
    return as_arrays(np.stack(images), classes, dataset.image_shape)


#: How the file of each set is parsed once its hash is known to be right.
PARSERS: dict[str, Callable[[bytes, DataSet], Arrays]] = {
    "semeion": parse_semeion,
    "alphadigit": parse_cells,
    "jaffe": parse_table,
    "pix": parse_table,
    "yale": parse_table,
}


def _load_mat(content: bytes) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat

    return loadmat(io.BytesIO(content))


def _faces(path: Path, dataset: DataSet) -> Iterator[tuple[tuple[str, int], bytes]]:
    """The person, the number and the JPEG file of each image, in any order."""
    if path.is_dir():
        for file in _few(path.rglob("*.jpg")):
            face = _person_and_number(file.relative_to(path.parent).as_posix())
            if face and file.is_file() and file.stat().st_size <= _LARGEST_FACE:
                yield face, file.read_bytes()
        return
    limit = dataset.original.size if dataset.original else _LARGEST_FACE
    with open_zip(path, limit) as archive:
        for entry in _few(iter(archive.infolist())):
            face = _person_and_number(entry.filename)
            if face and entry.file_size <= _LARGEST_FACE:
                yield face, archive.read(entry)


def _few(items: Iterator[Any]) -> Iterator[Any]:
    for i, item in enumerate(items):
        if i == _MOST_FACES:
            raise UnsafeFileError(f"more than {_MOST_FACES} files are more than Faces94 has")
        yield item


def _person_and_number(name: str) -> tuple[str, int] | None:
    path = PurePosixPath(name)
    number = re.fullmatch(r".*\.(\d{1,4})\.jpg", path.name)
    if number is None or len(path.parts) < 3 or path.parts[-3] != "male":
        return None
    return path.parts[-2], int(number[1])


def _grey_and_small(content: bytes, where: str) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        # Only the header is read here, so a picture of gigabytes is refused unopened.
        with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
            height, width = _FACE
            if image.size != (width, height):
                raise UnsafeFileError(f"{where} has {image.size} pixels, not {(width, height)}.")
            grey = np.asarray(image.convert("L"), dtype=np.float64)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnsafeFileError(f"{where} is not a valid JPEG image ({error}).") from error
    blocks = grey.reshape(height // _BLOCK, _BLOCK, width // _BLOCK, _BLOCK)
    return np.round(blocks.mean(axis=(1, 3))).astype(np.uint8).ravel()
