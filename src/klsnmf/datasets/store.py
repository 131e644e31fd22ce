"""Data sets by name: where they are kept, and how one is found, checked and read."""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.files import UnsafeFileError, read_npz
from .arrays import Arrays, as_arrays, content_hash
from .download import DownloadError, download, progress_bar
from .originals import PARSERS, parse_faces94
from .registry import REGISTRY, DataSet

if TYPE_CHECKING:
    from sklearn.utils import Bunch

#: The environment variable that names the folder of the data sets.
VARIABLE = "KLSNMF_DATA"


class DatasetError(RuntimeError):
    """A data set that could not be loaded; the message says what to do."""


class DatasetNotFoundError(DatasetError):
    """A data set that is not in the folder and was not downloaded."""


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets: the argument, else KLSNMF_DATA, else ~/klsnmf_data."""
    return Path(data_home or os.environ.get(VARIABLE) or "~/klsnmf_data").expanduser()


def lookup(name: str) -> DataSet:
    """The entry of a data set in the registry."""
    if name not in REGISTRY:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(REGISTRY)}.")
    return REGISTRY[name]


def find(dataset: DataSet, folder: Path) -> Path | None:
    """The prepared .npz or the publisher's original, in the folder or in its subfolder raw."""
    names = [f"{dataset.name}.npz"]
    if dataset.original:
        names.append(dataset.original.file)
        if dataset.name not in PARSERS:  # images, unpacked
            names.append(Path(dataset.original.file).stem)
    for name in names:
        for place in (folder / name, folder / "raw" / name):
            if place.exists():
                return place
    return None


def read(dataset: DataSet, path: Path) -> Arrays:
    """The arrays of a file that ``find`` found, checked."""
    try:
        if path.suffix == ".npz":
            arrays = _read_prepared(dataset, path)
        elif dataset.name in PARSERS:
            arrays = PARSERS[dataset.name](_read_original(dataset, path), dataset)
        else:
            return _read_faces94(dataset, path)
        if content_hash(arrays) != dataset.content:
            raise ValueError("its content is not that of the published data")
        return arrays
    except OSError as error:
        raise DatasetError(f"The data set {dataset.name} could not be read: {error}.") from error
    except (UnsafeFileError, ValueError, KeyError) as error:
        raise DatasetError(
            f"{path} was refused as the data set {dataset.name}: {str(error).removesuffix('.')}. "
            f"Remove it or put the right file in its place."
        ) from error


def fetch(dataset: DataSet, folder: Path) -> Path:
    """Download the publisher's original into the folder."""
    original = dataset.original
    if original is None or original.url is None:
        raise DatasetNotFoundError(missing(dataset, folder))
    target = folder / original.file
    try:
        with progress_bar(dataset.name) as progress:
            download(original.url, target, original.sha256, original.size, progress)
    except DownloadError as error:
        raise DatasetNotFoundError(
            f"The data set {dataset.name} could not be downloaded: {error}. Try again later; or "
            f"get {original.file} by hand ({dataset.address}) and put it into {folder}; or let "
            f"{VARIABLE} or data_home name a folder that has it."
        ) from error
    except OSError as error:
        raise DatasetError(
            f"The data set {dataset.name} could not be stored in {folder}: {error}. Make room or "
            f"get permission there, or let {VARIABLE} or data_home name another folder."
        ) from error
    return target


def missing(dataset: DataSet, folder: Path) -> str:
    """What to do about a data set that is not in the folder, in one paragraph."""
    files = f"{dataset.name}.npz"
    if dataset.original:
        files = f"{dataset.original.file} (or a prepared {files})"
    return (
        f"The data set {dataset.name} is not in {folder}. To get it, {dataset.how_to_get}. "
        f"Put {files} there, or let {VARIABLE} or data_home name the folder that has it."
    )


def _read_prepared(dataset: DataSet, path: Path) -> Arrays:
    # Room for pixels and classes as 8-byte numbers, in case another program wrote them so.
    limit = 8 * dataset.n_samples * (dataset.n_features + 1) + 2**16
    stored = read_npz(path, limit)
    absent = {"X", "y", "image_shape"} - stored.keys()
    if absent:
        raise ValueError(f"it lacks the array {min(absent)}")
    return as_arrays(stored["X"], stored["y"], stored["image_shape"])


def _read_original(dataset: DataSet, path: Path) -> bytes:
    """The bytes of a publisher's file, once its size and hash are right."""
    assert dataset.original is not None
    if not path.is_file():
        raise ValueError("it is not a regular file")
    if path.stat().st_size > dataset.original.size:
        raise ValueError("it is larger than the publisher's file")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found not in dataset.original.sha256:
        raise ValueError(f"its sha256, {found}, is not that of the publisher's file")
    return content


def _read_faces94(dataset: DataSet, path: Path) -> Arrays:
    try:
        arrays = parse_faces94(path, dataset)
    except ImportError as error:
        raise DatasetError(
            f"{path} holds JPEG images, which are read with Pillow, and Pillow is not installed. "
            f"Run: pip install pillow"
        ) from error
    n_classes = len(set(arrays.y.tolist()))
    if (len(arrays.X), n_classes) != (dataset.n_samples, dataset.n_classes):
        raise ValueError(
            f"it has {len(arrays.X)} images of {n_classes} men, not {dataset.n_samples} of "
            f"{dataset.n_classes}"
        )
    if content_hash(arrays) != dataset.content:
        warnings.warn(
            f"The images in {path} give pixels that differ from the recorded ones. JPEG decoders "
            f"may differ by a grey level; if your images are others, so are your results.",
            stacklevel=4,
        )
    return arrays


def load(
    name: str, data_home: str | os.PathLike[str] | None = None, *, download: bool = True
) -> Bunch:
    """Load a data set.

    Parameters
    ----------
    name : {"digits", "semeion", "alphadigit", "jaffe", "pix", "yale", "faces94"}
        The data set.

    data_home : path, default=None
        The folder of the data sets. None is the folder that the environment variable
        ``KLSNMF_DATA`` names, or ``~/klsnmf_data`` if it is not set. The function searches there,
        and then in the subfolder ``raw``, for ``NAME.npz`` (arrays ``X``, ``y`` and
        ``image_shape``) and for the publisher's original file. Either is checked before use.

    download : bool, default=True
        Whether a set that is not in the folder may be downloaded into it from its publisher.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        ``data`` (n_samples, n_features), an image in each row, pixels row by row, uint8
        (float64 for ``digits``, as in scikit-learn); ``target``, the classes from 0;
        ``image_shape``, (height, width); ``name``; and ``DESCR``, a description.

    Raises
    ------
    DatasetNotFoundError
        The set is neither in the folder nor could be downloaded. The message says what to do.
    DatasetError
        A file in the folder is damaged or not the right one, or the folder cannot be written.
    """
    from sklearn.utils import Bunch  # takes a second, which the list of the sets does not need

    dataset = lookup(name)
    if dataset.original is None:
        from sklearn.datasets import load_digits

        (X, y), shape = load_digits(return_X_y=True), dataset.image_shape
    else:
        folder = data_folder(data_home)
        path = find(dataset, folder)
        if path is None and not download:
            raise DatasetNotFoundError(missing(dataset, folder))
        X, y, shape = read(dataset, path or fetch(dataset, folder))
    return Bunch(data=X, target=y, image_shape=shape, name=name, DESCR=describe(dataset))


def describe(dataset: DataSet) -> str:
    """A data set in a few lines."""
    height, width = dataset.image_shape
    what = f"{dataset.n_samples} images of {height} × {width} pixels in {dataset.n_classes} classes"
    told = ("publisher", "address", "licence", "redistribution")
    lines = [dataset.title, "", what, *(f"{name}: {getattr(dataset, name)}" for name in told)]
    return "\n".join(lines) + "\n"
