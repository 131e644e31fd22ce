"""Loading a data set by its name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .registry import DataSet
from .store import DatasetNotFoundError, data_folder, fetch, find, lookup, missing, read

if TYPE_CHECKING:
    from sklearn.utils import Bunch


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
        ``KLSNMF_DATA`` names, or ``~/klsnmf_data`` if it is not set. Looked for there, and then in
        its subfolder ``raw``, are ``NAME.npz`` (arrays ``X``, ``y`` and ``image_shape``) and the
        publisher's original file. Either is checked before use.

    download : bool, default=True
        Whether a set that is not in the folder may be downloaded from its publisher into it.

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
    data, target, image_shape = _arrays(dataset, data_home, download)
    return Bunch(
        data=data,
        target=target,
        image_shape=image_shape,
        name=name,
        DESCR=describe(dataset),
    )


def describe(dataset: DataSet) -> str:
    """A data set in a few lines."""
    height, width = dataset.image_shape
    return (
        f"{dataset.title}\n\n"
        f"{dataset.n_samples} images of {height} × {width} pixels in {dataset.n_classes} classes\n"
        f"publisher: {dataset.publisher}\n"
        f"address: {dataset.address}\n"
        f"licence: {dataset.licence}\n"
        f"redistribution: {dataset.redistribution}\n"
    )


def _arrays(
    dataset: DataSet, data_home: str | os.PathLike[str] | None, download: bool
) -> tuple[Any, Any, tuple[int, int]]:
    if dataset.original is None:
        from sklearn.datasets import load_digits

        digits = load_digits()
        return digits.data, digits.target, dataset.image_shape
    folder = data_folder(data_home)
    path = find(dataset, folder)
    if path is None:
        if not download:
            raise DatasetNotFoundError(missing(dataset, folder))
        path = fetch(dataset, folder)
    return read(dataset, path)
