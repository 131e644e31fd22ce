"""Folders of images: every image becomes a row of pixels, all of one shape."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import memory
from ..core.words import plural
from ..core.work import steps
from .folders import as_text, find
from .table import Choice, InputError, Table, classes, needs, numbers

#: Kinds of images, as Pillow calls them. Some others, such as EPS, would start programs.
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
#: How names of images end.
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"),
    *(".pgm", ".ppm", ".pbm"),
)

#: The most pixels of an image, and the longest side of the images that are clustered.
MOST_PIXELS = 50_000_000
LONGEST_SIDE = 128

#: Files named in a message.
_TOLD = 5


class _Size(NamedTuple):
    height: int
    width: int
    colour: bool


def read(path: Path, choice: Choice) -> Table:
    """The images of a folder and its subfolders, in the order of their names."""
    named = choice.columns or choice.exclude or choice.words or choice.id_column
    if named or choice.label_column not in (None, "folder"):
        raise InputError(
            f"{path} is a folder of images, which has no columns. Leave out --columns, --exclude, "
            "--encode and --id-column; --label-column folder takes the names of the subfolders for "
            "classes."
        )
    found = find(path, SUFFIXES)
    names = found.names
    if not names:
        raise InputError(
            f"{path} holds no image. Add images whose names end in {', '.join(SUFFIXES)}."
        )
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise needs(path, "pillow") from error
    broken: dict[str, str] = {}
    sizes = {}
    for name in steps(names, "looking at images"):
        with _noting(broken, name):
            sizes[name] = _size(path / name)
    height, width, colour = _common(list(sizes.values()), choice.image_shape)
    shape = (len(sizes), height, width, 3) if colour else (len(sizes), height, width)
    memory.require(
        5.0 * np.prod(shape, dtype=float), f"The images of {path}", "Cluster fewer of them."
    )
    pixels = np.empty(shape, np.uint8)
    done: list[str] = []
    for name in steps(list(sizes), "reading images"):
        with _noting(broken, name):
            pixels[len(done)] = _pixels(path / name, height, width, colour)
            done.append(name)
    messages = found.told("image")
    if broken:
        told = _described(path, broken, len(names))
        if not choice.skip_broken or not done:
            raise InputError(
                f"{told} Repair or remove the broken ones, or leave them out with --skip-broken."
            )
        messages.append(f"{told} The broken ones were left out.")
    pixels = pixels[: len(done)]
    changed = sum(sizes[name][:2] != (height, width) for name in done)
    if changed:
        messages.append(
            f"{changed} of {len(done)} images were resized to {height} × {width} pixels."
        )
    if colour and choice.image_shape is None and (pixels == pixels[..., :1]).all():
        pixels = pixels[..., 0]  # no image has any colour
    folders = [os.path.dirname(name) or "." for name in done]
    return Table(
        name=str(path),
        X=numbers(pixels.reshape(len(done), -1), str(path)),
        ids=[as_text(name) for name in done],
        target=classes(folders) if choice.label_column else None,
        image_shape=pixels.shape[1:],
        messages=messages,
    )


@contextmanager
def _noting(broken: dict[str, str], name: str) -> Iterator[None]:
    """Note what is wrong with an image, so that all broken images are reported together."""
    try:
        yield
    except InputError as error:
        broken[name] = str(error)


def _described(path: Path, broken: dict[str, str], count: int) -> str:
    """How many images cannot be used, and the reasons for the first few."""
    some = "; ".join(broken[name] for name in sorted(broken)[:_TOLD])
    more = f"; and {len(broken) - _TOLD} more" if len(broken) > _TOLD else ""
    return f"{len(broken)} of {plural(count, 'image')} in {path} cannot be used: {some}{more}."


def _common(sizes: Sequence[_Size], wanted: tuple[int, ...] | None) -> _Size:
    """The shape that all images are resized to: the median shape, unless it is too large."""
    if wanted is not None:
        return _Size(wanted[0], wanted[1], len(wanted) == 3)
    if not sizes:
        return _Size(1, 1, False)
    heights, widths, colours = zip(*sizes, strict=True)
    height, width = median_low(heights), median_low(widths)
    shrink = min(1.0, LONGEST_SIDE / max(height, width))
    return _Size(max(1, round(shrink * height)), max(1, round(shrink * width)), any(colours))


def _size(path: Path) -> _Size:
    with _opened(path) as image:
        width, height = image.size
        if image.getexif().get(0x0112, 1) >= 5:  # a camera held upright
            width, height = height, width
        grey = image.mode in ("1", "L", "LA", "La") or image.mode[0] == "I"
        return _Size(height, width, not grey)


def _pixels(path: Path, height: int, width: int, colour: bool) -> NDArray[np.uint8]:
    """The pixels of an image, upright and resized; transparent parts become white."""
    from PIL import Image, ImageOps

    with _opened(path) as image:
        image.load()
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith("I"):  # 16 bits, which Pillow would cut off at 255
            deep = np.asarray(upright, dtype=np.float64) / 257
            upright = Image.fromarray(np.clip(deep, 0, 255).astype(np.uint8))
        if upright.has_transparency_data:
            white = Image.new("RGBA", upright.size, "white")
            upright = Image.alpha_composite(white, upright.convert("RGBA"))
        upright = upright.convert("RGB" if colour else "L")
        if upright.size != (width, height):
            upright = upright.resize((width, height), Image.Resampling.BOX)
        return np.asarray(upright)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An image whose header was checked; damage that is found later is reported as well."""
    from PIL import Image, UnidentifiedImageError

    try:
        if not path.is_file():
            raise InputError(f"{path} is not a regular file")
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise InputError(
                    f"{path} unpacks to {image.width} × {image.height} pixels, {MOST_PIXELS} are "
                    "allowed"
                )
            yield image
    except InputError:
        raise
    except UnidentifiedImageError as error:
        raise InputError(f"{path} is not a valid image (unknown format)") from error
    except Exception as error:  # decoders raise many kinds of errors
        raise InputError(f"{path} is not a valid image ({error})") from error
