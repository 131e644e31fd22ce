"""Cells as AnnData stores them: .h5ad files, read with h5py and without anndata.

Rows of X are samples. ``obs`` holds their names and columns of labels, ``var`` the names of the
features. Layers and embeddings, such as ``X_pca``, can be read in place of X. Links that lead out
of the file are not followed, and the claimed size of an array is compared with that of the file.
The HDF5 library works in a process of its own, because a damaged file can keep it busy forever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..core import checks, memory
from ..core.files import BEST_RATIO, LIMIT, UnsafeFileError, size_of_regular_file
from ..core.words import listed, meant
from .apart import apart
from .arrays import unsound
from .table import Choice, InputError, Table, classes, column_places, known_words, needs, numbers

#: Groups with matrices that have a row for each sample, besides X.
_PLACES = ("layers", "obsm")

#: The largest piece of a stored array, in bytes.
_PIECE = 2**30

#: So many texts are read at once; each may be as long as the file.
_FEWEST, _MOST, _AT_ONCE = 64, 4096, 2**28

_AGAIN = "Open it with anndata.read_h5ad and write it again."


def read(path: Path, choice: Choice) -> Table:
    """The samples of an .h5ad file: X, or the layer or embedding that was asked for."""
    found: Table = apart(read_here, path, choice)
    return found


def read_here(path: Path, choice: Choice) -> Table:
    """The same in this process."""
    with opened(path) as store:
        return _read(store, choice)


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """An open file; every fault in it becomes an InputError."""
    try:
        import h5py
    except ImportError as error:
        raise needs(path, "h5py") from error
    size_of_regular_file(path)
    try:
        with h5py.File(path, "r") as file:
            yield Store(path, file)
    except (InputError, UnsafeFileError, MemoryError):
        raise
    except Exception as error:  # the library has one for each part of a file
        raise UnsafeFileError(f"{path} is not a valid .h5ad file ({error}).") from error


class Store:
    """A file and its content, which is checked before it is used."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self.file = path, file
        self.size = size_of_regular_file(path)

    def get(self, place: str) -> Any:
        """A group or an array of the file; None if there is none. Links are not followed."""
        import h5py

        found = self.file
        for name in place.split("/"):
            link = found.get(name, getlink=True) if isinstance(found, h5py.Group) else None
            if link is None:
                return None
            if not isinstance(link, h5py.HardLink):
                raise UnsafeFileError(f"{self.path}: {place!r} is a link to another place.")
            found = found.get(name)
        return found

    def names(self, place: str) -> list[str]:
        """What is in a group."""
        import h5py

        found = self.get(place)
        return list(found) if isinstance(found, h5py.Group) else []

    def array(self, found: Any, what: str) -> Any:
        """An array of numbers or text, if there is room for its claimed size."""
        import h5py

        if not isinstance(found, h5py.Dataset) or found.dtype is None or found.shape is None:
            raise UnsafeFileError(f"{self.path}: {what} is not an array.")
        if found.is_virtual or found.external:
            raise UnsafeFileError(f"{self.path}: {what} is kept in another file.")
        if found.nbytes > min(LIMIT, BEST_RATIO * self.size):
            raise UnsafeFileError(f"{self.path}: {what} claims {found.nbytes} bytes.")
        if found.chunks and int(np.prod(found.chunks, dtype=float)) * found.dtype.itemsize > _PIECE:
            raise UnsafeFileError(f"{self.path}: {what} is stored in pieces that are too large.")
        memory.require(2 * found.nbytes, f"{self.path}, {what},", "Use fewer rows.")
        if h5py.check_string_dtype(found.dtype) is not None:
            return self._texts(found, what)
        if found.dtype.kind not in "biuf":
            raise UnsafeFileError(f"{self.path}: {what} holds {found.dtype}.")
        return found[()]

    def _texts(self, found: Any, what: str) -> Any:  # (n,)
        """Texts of any length, a few at a time: a small file can repeat a very long text."""
        if found.ndim != 1:
            raise UnsafeFileError(f"{self.path}: {what} is not a list of texts.")
        step = int(np.clip(_AT_ONCE // max(self.size, 1), _FEWEST, _MOST))
        texts, total = np.empty(len(found), object), 0
        for begin in range(0, len(found), step):
            some = found.asstr(errors="replace")[begin : begin + step]
            total += sum(map(len, some))
            if total > LIMIT // 4:
                raise UnsafeFileError(f"{self.path}: {what} unpacks to too much text.")
            texts[begin : begin + step] = some
        return texts

    def frame(self, place: str) -> tuple[list[str], list[str]]:
        """The columns of a table, and the names of its rows."""
        import h5py

        found = self.get(place)
        if not isinstance(found, h5py.Group):
            raise InputError(f"{self.path} has no table {place!r} in the current format. {_AGAIN}")
        index = found.attrs.get("_index", "_index")
        index = index if isinstance(index, str) else "_index"
        names = self.array(self.get(f"{place}/{index}"), f"{place}/{index}")
        if names.ndim != 1:
            raise UnsafeFileError(f"{self.path}: {place} has no list of names.")
        return [name for name in found if name != index], [str(each) for each in names]

    def column(self, place: str) -> list[Any]:
        """The values of a column, None for those that are missing."""
        import h5py

        found = self.get(place)
        if not isinstance(found, h5py.Group):
            return list(self.array(found, place).tolist())
        parts = {name: self.array(self.get(f"{place}/{name}"), f"{place}/{name}") for name in found}
        if parts.keys() >= {"codes", "categories"}:
            codes, names = parts["codes"], parts["categories"].tolist()
            with unsound(self.path, f"column {place}"):
                checks.array(codes, "its codes", "iu", (None,), -1, len(names) - 1)
            return [None if code < 0 else names[code] for code in codes.tolist()]
        if parts.keys() >= {"values", "mask"} and len(parts["values"]) == len(parts["mask"]):
            pairs = zip(parts["values"].tolist(), parts["mask"].tolist(), strict=True)
            return [None if gone else value for value, gone in pairs]
        raise InputError(f"{self.path}: {place} is an unsupported kind of column. {_AGAIN}")

    def matrix(self, place: str) -> Any:  # (n, p)
        """A matrix, dense or sparse."""
        import h5py

        found = self.get(place)
        if not isinstance(found, h5py.Group):
            return self.array(found, place)
        kind = found.attrs.get("encoding-type", found.attrs.get("h5sparse_format", ""))
        kind = kind if isinstance(kind, str) else ""
        if kind[:3] not in ("csr", "csc"):
            raise InputError(f"{self.path}: {place} is an unsupported kind of matrix. {_AGAIN}")
        shape = found.attrs.get("shape", found.attrs.get("h5sparse_shape"))
        data, indices, indptr = (
            self.array(self.get(f"{place}/{name}"), f"{place}/{name}")
            for name in ("data", "indices", "indptr")
        )
        with unsound(self.path, "sparse matrix"):
            by = "rows" if kind[:3] == "csr" else "columns"
            return checks.csr(data, indices, indptr, shape, place, by=by)


def _read(store: Store, choice: Choice) -> Table:
    path = store.path
    columns, ids = store.frame("obs")
    place = _place(store, choice.sheets)
    X = numbers(store.matrix(place), f"{path}, {place}")
    if X.ndim != 2 or 0 in X.shape or X.shape[0] != len(ids):
        raise InputError(
            f"{path}, {place} has shape {X.shape}, and obs has {len(ids)} rows. {_AGAIN}"
        )
    features = _features(store, place, X.shape[1])
    if features is not None:
        genes = Choice(columns=choice.columns, exclude=choice.exclude, exact=choice.exact)
        kept = column_places(path, features, genes).features
        if len(kept) < len(features):
            X, features = X[:, kept], [features[j] for j in kept]
    elif choice.columns or choice.exclude:
        raise InputError(f"{path}, {place} has no names of columns. Leave out what names them.")

    def column(name: str) -> list[Any]:
        if name not in columns:
            raise InputError(
                f"{path} has no column {name!r} in obs. {meant(name, columns)}It has "
                f"{listed(columns)}."
            )
        found = store.column(f"obs/{name}")
        if len(found) != len(ids):
            raise UnsafeFileError(f"{path}: obs/{name} has {len(found)} of {len(ids)} values.")
        return found

    def words(name: str) -> list[str]:
        return ["" if value is None else str(value) for value in column(name)]

    return Table(
        name=str(path),
        X=checks.with_short_indices(sparse.csr_array(X)) if sparse.issparse(X) else X,
        ids=ids if choice.id_column is None else words(choice.id_column),
        features=features,
        target=None if choice.label_column is None else classes(column(choice.label_column)),
        words={name: known_words(words(name)) for name in choice.words},
    )


def _place(store: Store, asked: Sequence[str]) -> str:
    """The place of the matrix that was asked for: X, a layer or an embedding."""
    places = {"X": "X"} if store.get("X") is not None else {}
    for group in _PLACES:
        places |= {name: f"{group}/{name}" for name in store.names(group) if "/" not in name}
    if store.get("raw/X") is not None:
        places["raw"] = "raw/X"
    if len(asked) > 1:
        raise InputError(f"{store.path} gives one matrix. Name one with --sheet.")
    name = asked[0] if asked else "X"
    if name not in places:
        raise InputError(
            f"{store.path} has no matrix {name!r}. {meant(name, places)}Choose one with --sheet: "
            f"{listed(list(places))}."
        )
    return places[name]


def _features(store: Store, place: str, p: int) -> list[str] | None:
    """The names of the columns of a matrix; an embedding has none."""
    group, _, _ = place.rpartition("/")
    if group == "obsm":
        return None
    _, names = store.frame("raw/var" if group == "raw" else "var")
    if len(names) != p:
        raise InputError(f"{store.path}, {place} has {p} columns, and var {len(names)}. {_AGAIN}")
    return names


def add_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns into obs as anndata would, in place of earlier columns of the same names.

    Whole numbers become categories, because other tools write clusters so. None is missing.
    """
    import h5py

    with h5py.File(path, "r+") as file:
        obs = file["obs"]
        for name, values in columns.items():
            if name in obs:
                del obs[name]
            known = [value for value in values if value is not None]
            if known and isinstance(known[0], int):
                _write_categories(obs.create_group(name), values)
            elif known and isinstance(known[0], float):
                found = obs.create_dataset(name, data=[np.nan if v is None else v for v in values])
                found.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            else:
                _write_texts(obs, name, ["" if value is None else value for value in values])
        order = [name for name in obs.attrs.get("column-order", ()) if name not in columns]
        obs.attrs["column-order"] = np.array([*order, *columns], dtype=h5py.string_dtype())


def _write_categories(group: Any, values: Sequence[int | None]) -> None:
    names = sorted({value for value in values if value is not None})
    place: dict[int | None, int] = {None: -1}
    place |= {name: j for j, name in enumerate(names)}
    group.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0"})
    group.attrs["ordered"] = False
    codes = group.create_dataset("codes", data=np.array([place[v] for v in values], np.int32))
    codes.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    _write_texts(group, "categories", [str(name) for name in names])


def _write_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    import h5py

    found = group.create_dataset(name, data=list(texts), dtype=h5py.string_dtype())
    found.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
