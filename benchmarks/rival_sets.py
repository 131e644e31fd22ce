"""The sets on which tools are compared: groups, names, and how each set is read.

The seven sets of the paper come from ``klsnmf.datasets``. The folder of the data sets, which the
environment variable KLSNMF_DATA names, also holds ``coil20.npz``, ``tr41.npz`` and the folder
``shapes`` with its batteries. The sets from elsewhere are those of ``benchmarks.elsewhere``, in
the folder that it stored them in. Sets that are not there are left out.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from klsnmf import datasets
from klsnmf.datasets.store import data_folder

from .ablation import SETS as PAPER
from .elsewhere import SOURCES, stored

GROUPS = ["shapes", "paper", "coil20 and tr41", "elsewhere"]
MORE = ["coil20", "tr41"]

#: Samples of a set of shapes, at most, where nothing else is asked for.
MOST = 6000


class Answered(NamedTuple):
    """Samples and every right answer for them; a class below 0 is noise, which is not scored."""

    X: Any  # (n, p)
    answers: list[Any]  # each (n,)


def names(group: str, folder: Path, most: int = MOST) -> list[str]:
    """The sets of a group that are there; ``folder`` is that of the sets from elsewhere."""
    home = data_folder()
    if group == "paper":
        return [name for name in PAPER if name == "digits" or (home / f"{name}.npz").exists()]
    if group == "elsewhere":
        return [name for name in SOURCES if (folder / f"{name}.npz").exists()]
    if group == "shapes":
        files = sorted((home / "shapes").glob("*/*.data.gz"))
        return [_name_of(file) for file in files if _count_lines(file) <= most]
    return [name for name in MORE if (home / f"{name}.npz").exists()]


def _name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name.removesuffix('.data.gz')}"


def _count_lines(file: Path) -> int:
    with gzip.open(file) as stream:
        return sum(1 for line in stream if line.strip())


@lru_cache(maxsize=2)
def load(group: str, name: str, folder: Path) -> Answered:
    if group == "paper":
        data = datasets.load(name)
        return Answered(data.data.astype(np.float32), [data.target])
    if group == "elsewhere":
        X, y = stored(folder, name)
        return Answered(X, [y])
    if group == "shapes":
        return read_shape(data_folder() / "shapes", name)
    return read_more(data_folder() / f"{name}.npz")


def read_shape(folder: Path, name: str) -> Answered:
    """A set of a battery: columns centred, and all entries over their one standard deviation."""
    X = np.loadtxt(folder / f"{name}.data.gz", ndmin=2)
    X = X - X.mean(axis=0)
    files = sorted(folder.glob(f"{name}.labels*.gz"))
    return Answered(X / X.std(ddof=1), [np.loadtxt(file, dtype=int) - 1 for file in files])


def read_more(file: Path) -> Answered:
    """An array X, or the arrays of a sparse one; and the classes y."""
    with np.load(file) as arrays:
        if "X" in arrays:
            return Answered(arrays["X"].astype(np.float32), [arrays["y"]])
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        X = sparse.csr_array(parts, shape=tuple(arrays["shape"])).toarray()
        return Answered(X.astype(np.float32), [arrays["y"]])


def scalings(group: str, X: Any) -> list[str]:
    """What a tool may be given: the rows as they are, and rows of length one where that differs.

    Only entries without a sign are scaled: there the length of a row is brightness, or how long a
    text is.
    """
    lengths = np.linalg.norm(X, axis=1)
    same = np.allclose(lengths, lengths[0], rtol=1e-3)
    return ["raw"] if group == "shapes" or same or X.min() < 0 else ["raw", "unit"]


def scaled(X: Any, scaling: str) -> Any:
    return normalize(X) if scaling == "unit" else X
