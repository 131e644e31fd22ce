"""Samples of which some rows are taken at a time, wherever they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..core import files
from ..core.arrays import slices
from ..core.types import Labels, Matrix
from .inputs import is_path
from .worker_tasks import SourceError, changed

#: Bytes of samples that are looked at together.
_BYTES = 2**26


class Source:
    """Samples in memory: an array, a sparse matrix, or a data frame."""

    def __init__(self, X: Any) -> None:
        self.given, self.n = X, int(_num_samples(X))

    @cached_property
    def X(self) -> Any:
        return self.given.tocsr() if sparse.issparse(self.given) else self.given

    @staticmethod
    def of(X: Any) -> Source:
        """That of samples in memory, or in the .npy file that X names."""
        return FileSource(X) if is_path(X) else Source(X)

    def rows(self, some: slice) -> Any:
        """Some rows that follow each other."""
        return _safe_indexing(self.X, some)

    def take(self, places: Labels) -> Any:
        """The rows at these places, which ascend."""
        return _safe_indexing(self.X, places)

    def blocks(self) -> Iterator[slice]:
        width = getattr(self.X, "nbytes", 0) // max(self.n, 1) or 2**10
        return slices(self.n, _BYTES // width)

    def require_finite(self, who: str) -> None:
        """Refuse NaN and infinity before anything is computed, with the row that has some."""
        for some in self.blocks():
            numbers = _numbers(self.rows(some))
            good = np.isfinite(numbers.data if sparse.issparse(numbers) else numbers)
            if not good.all():
                bad = np.flatnonzero(~good.ravel())[0]
                width = numbers.shape[1]
                row = bad // width
                if sparse.issparse(numbers):
                    row = np.searchsorted(numbers.indptr, bad, side="right") - 1
                raise ValueError(
                    f"Input X contains NaN or infinity, and {who} does not accept missing "
                    f"values. The first is in row {some.start + int(row)}, counted from 0. Correct "
                    "such rows, fill them in, or leave them out."
                )


class FileSource(Source):
    """Samples in a .npy file, which is read in blocks and never held whole."""

    def __init__(self, path: Any) -> None:
        try:
            self.header, self.state = files.npy_header(path), changed(path)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"The file X={path!s} does not exist. Give the path of a .npy file."
            ) from error
        shape, kind = self.header.shape, self.header.dtype.kind
        if len(shape) != 2 or kind not in "fiub":
            raise ValueError(
                f"X={path!s} holds an array of shape {shape} and type {self.header.dtype}: save "
                "numbers, with one row for each sample and one column for each feature."
            )
        self.path, self.n = path, shape[0]

    def rows(self, some: slice) -> Any:
        # Not by a map of the file, whose reader is killed if the file is cut short meanwhile.
        try:
            found = files.read_npy_rows(self.path, self.header, some)
            same = changed(self.path) == self.state
        except (OSError, files.UnsafeFileError) as error:
            raise self._other(str(error)) from error
        if not same:
            raise self._other("it has changed")
        return found

    def _other(self, why: str) -> SourceError:
        return SourceError(
            f"X={self.path!s} is not the file that the fit began with ({why}): fit again, and "
            "leave the file alone meanwhile."
        )

    def take(self, places: Labels) -> Any:
        edges = np.searchsorted(places, [some.start for some in self.blocks()])
        parts = np.split(places, edges[1:])
        found = np.empty((len(places), self.header.shape[1]), self.header.dtype)
        done = 0
        for some, part in zip(self.blocks(), parts, strict=True):
            if len(part):
                found[done : done + len(part)] = self.rows(some)[part - some.start]
                done += len(part)
        return found

    def blocks(self) -> Iterator[slice]:
        return slices(self.n, _BYTES // (self.header.nbytes // max(self.n, 1) or 1))


def _numbers(X: Any) -> Matrix:
    """A block as numbers; what is none is refused as scikit-learn would."""
    if sparse.issparse(X):
        return X
    found = np.asarray(X)
    return found if found.dtype.kind in "fiub" else found.astype(np.float64)
