"""The table of samples that every input becomes, and how its columns are chosen by name."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core import memory
from ..core.types import Labels, Matrix
from ..core.words import listed, meant, plural, short
from .errors import InputError as InputError

#: Cells that say that a value is missing.
MISSING = frozenset(["", "na", "n/a", "nan", "null", "none", "?"])

#: A longer text is no name of a sample, unless it is asked for.
_LONGEST_NAME = 60

#: A column with more different words than this holds names or text, and no categories.
MOST_CATEGORIES = 50

#: What to do with columns of text that were named in --columns.
OF_TEXT = "Use --encode for categories, --text-column for text"


@dataclass(frozen=True)
class Choice:
    """What the user, or a model, wants from a file.

    Attributes
    ----------
    columns : columns to cluster by: names, patterns such as ``GENE*``, or several with commas
        between; None for all columns of numbers
    exclude : columns to leave out, given in the same way
    words : columns of categories, given in the same way
    text_column : a column of text to cluster by, in place of numbers
    id_column, label_column : columns with the names and the known classes of the samples
    image_shape : the shape to resize images to; None to find one
    sheets : sheets of a workbook, to be joined row by row; for .h5ad files, the matrix to read
    skip_broken : whether images that cannot be read are left out
    exact : whether each text in columns and words is one name, commas or not
    """

    columns: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    words: Sequence[str] = ()
    text_column: str | None = None
    id_column: str | None = None
    label_column: str | None = None
    image_shape: tuple[int, ...] | None = None
    sheets: Sequence[str] = ()
    skip_broken: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Table:
    """Samples, and what is known about them.

    Attributes
    ----------
    name : what the user calls the data
    X : (n, p) numbers, float32 or float64
    ids : (n,) names of the samples
    features : (p,) names of the columns, if they have any
    target : (n,) known classes, if there are any; None for a sample without one
    image_shape : (height, width) or (height, width, 3) if rows are images
    messages : what the user should know about how the data were read
    warnings : what in the data may lead to wrong clusters
    lines : (n,) the line of each sample in a text file
    parts : (n,) the file or sheet that each sample is from, if there are several
    words : columns of words by name, each (n,), None where a word is missing
    text_column : the column in ``words`` with text to cluster by, if there is one
    rows : (n,) the row of each sample in the file, from 0, if some rows were left out
    aside : columns of text that are not used, by name, each (n,), if they hold few different words
    blank : (n,) whether a sample has no known word, or only counts of 0, if texts or counts were
        prepared
    """

    name: str
    X: Matrix
    ids: Sequence[str]
    features: Sequence[str] | None = None
    target: NDArray[Any] | None = None
    image_shape: tuple[int, ...] | None = None
    messages: Sequence[str] = field(default_factory=list)
    warnings: Sequence[str] = field(default_factory=list)
    lines: Sequence[int] | None = None
    parts: Sequence[str] | None = None
    words: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    text_column: str | None = None
    rows: Labels | None = None
    aside: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    blank: NDArray[np.bool_] | None = None

    def only(self, kept: Labels) -> Table:
        """The samples at these places."""
        return replace(
            self,
            X=self.X[kept],
            ids=[self.ids[i] for i in kept],
            target=None if self.target is None else self.target[kept],
            lines=None if self.lines is None else [self.lines[i] for i in kept],
            parts=None if self.parts is None else [self.parts[i] for i in kept],
            words={name: [words[i] for i in kept] for name, words in self.words.items()},
            aside={name: [words[i] for i in kept] for name, words in self.aside.items()},
            rows=kept if self.rows is None else self.rows[kept],
            blank=None if self.blank is None else self.blank[kept],
        )

    def place(self, i: int) -> str:
        """Where a sample is in its file, in words."""
        row = f"row {i + 1 if self.rows is None else int(self.rows[i]) + 1}"
        where = row if self.lines is None else f"line {self.lines[i]}"
        return where if self.parts is None else f"{where} of {self.parts[i]}"

    def require_numbers(self, *, gaps: bool, last_resort: str = "") -> None:
        """Refuse infinity, and NaN unless ``gaps``. The error says how many and where."""
        values = self.X.data if sparse.issparse(self.X) else self.X
        bad = ~np.isfinite(values)
        if gaps:
            bad &= ~np.isnan(values)
        if not bad.any():
            return
        missing = bool(np.isnan(values[bad][0]))
        bad &= np.isnan(values) == missing  # those like the first
        if sparse.issparse(self.X):
            places = np.flatnonzero(bad)
            rows = np.searchsorted(self.X.indptr, places, side="right") - 1
            columns = self.X.indices[places]
        else:
            rows, columns = np.nonzero(bad)
        count, rows_with = len(rows), plural(len(np.unique(rows)), "row")
        it, where = ("it", ", in") if count == 1 else ("them", f" in {rows_with}, the first in")
        found = plural(count, "missing value" if missing else "infinite value")
        i, j = int(rows[0]), int(columns[0])
        column = repr(self.features[j]) if self.features is not None else str(j + 1)
        remedy = f"Fill {it} in" if missing else f"Correct {it}"
        raise InputError(
            f"{self.name} has {found}{where} {self.place(i)}, column {column}. {remedy}, or leave "
            f"such rows or columns out. {last_resort if missing else ''}".strip()
        )


def numbers(X: Any, where: str) -> Any:
    """X as float32 if this is exact, and as float64 otherwise."""
    if X.dtype.kind not in "biuf":
        kind = "complex numbers" if X.dtype.kind == "c" else "text" if X.dtype.kind in "US" else ""
        raise InputError(
            f"{where} holds {kind or X.dtype}, not real numbers. Store the samples as numbers."
        )
    wanted = np.float32 if X.dtype.itemsize < 4 or X.dtype == np.float32 else np.float64
    if X.dtype != wanted:
        count = X.nnz if sparse.issparse(X) else X.size
        needed = float(count) * np.dtype(wanted).itemsize
        memory.require(needed, f"{where}, as numbers with fractions,", "Use fewer rows.")
    return X.astype(wanted, copy=False)


def classes(values: Sequence[Any]) -> NDArray[Any]:  # (n,)
    """Classes as text or whole numbers, None for those that are missing.

    They are kept as objects, because an array of text takes the longest length for every entry.
    """
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        missing = value is None or str(value).strip().lower() in MISSING
        found[i] = None if missing else value if isinstance(value, int) else str(value)
    return found


def known_words(cells: Sequence[str]) -> list[str | None]:
    """The words of a column, None for those that are missing."""
    stripped = (cell.strip() for cell in cells)
    return [None if word.lower() in MISSING else word for word in stripped]


class Counted(Sequence[str]):
    """Names for samples without names: their row, from 1. Each is made only when needed."""

    def __init__(self, n: int) -> None:
        self.rows = range(1, n + 1)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        found = self.rows[place]
        return str(found) if isinstance(found, int) else [str(row) for row in found]


@dataclass(frozen=True)
class Places:
    """The places of the columns that were asked for.

    Attributes
    ----------
    features : columns to cluster by; ``named`` are those that were asked for by their full name
    ids, labels : columns with the names and the known classes of the samples
    words : columns to read as words
    free : columns that may hold the names of the samples; none if a column is known to
    """

    features: list[int]
    named: frozenset[int]
    ids: int | None
    labels: int | None
    words: list[int]
    free: list[int]


def column_places(path: Path, names: Sequence[str], choice: Choice) -> Places:
    """Find the columns that were asked for."""
    ids, labels = (
        None if name is None else place_of(path, names, name)
        for name in (choice.id_column, choice.label_column)
    )
    if ids is None and names[0] == "":
        ids = 0  # the index that pandas writes has no name
    others = [] if ids is not None else [place for place in range(len(names)) if place != labels]
    if choice.text_column is not None:
        remedy = " Name the column of text with --text-column."
        text = place_of(path, names, choice.text_column, remedy)
        free = [place for place in others if place != text]
        return Places([], frozenset(), ids, labels, [text], free)
    excluded = _matching(path, names, choice.exclude, choice.exact)
    found = _matching(path, names, choice.words, choice.exact)
    words = [
        place
        for place, named in found.items()
        if place not in excluded and (named or place not in (ids, labels))
    ]
    asked = dict.fromkeys(range(len(names)), False)
    if choice.columns is not None:
        asked = _matching(path, names, choice.columns, choice.exact)
    left_out = {*words, *excluded}
    features = [
        place
        for place, named in asked.items()
        if place not in left_out and (named or place not in (ids, labels))
    ]
    named = frozenset(place for place in features if asked[place])
    free = [place for place in others if place not in left_out and place not in named]
    return Places(features, named, ids, labels, words, free)


def _matching(
    path: Path, names: Sequence[str], given: Sequence[str], exact: bool
) -> dict[int, bool]:
    """The places of columns by names and patterns, and whether each was named in full."""
    found: dict[int, bool] = {}
    absent = [word for word in given if exact and word not in names]
    if len(absent) > 1:
        raise InputError(
            f"{path} lacks {len(absent)} of the {len(given)} columns of the model: "
            f"{listed(absent)}. It has {listed(names)}. If they have other names, list all of them "
            "with --columns, in the order of the model."
        )
    for word in given if exact else split_all(names, given):
        if exact or word in names or not any(sign in word for sign in "*?["):
            found[place_of(path, names, word)] = True
            continue
        fitting = [place for place, name in enumerate(names) if fnmatchcase(name, word)]
        if not fitting:
            raise InputError(f"{path} has no column that matches {word!r}. It has {listed(names)}.")
        for place in fitting:
            found.setdefault(place, False)
    return found


def taken_as_names(name: str) -> str:
    """A note on a column that was taken for the names of the samples."""
    return (
        f"{short(name)} has a different text in each row, so it is taken as the names of the "
        "samples. To take another column: --id-column NAME."
    )


def may_name(cell: str) -> bool:
    """Whether a cell may be the name of a sample: short, and not missing."""
    return len(cell) <= _LONGEST_NAME and cell.strip().lower() not in MISSING


def text_left_out(names: Sequence[str]) -> str:
    """A note on columns that hold text, and what they can be used for."""
    use = "To use one: --id-column, --encode or --text-column NAME."
    return f"Left out, because they hold text: {listed(names)}. {use}"


def require_some(path: Path, kept: Sequence[int], names: Sequence[str]) -> None:
    """Refuse a table without any column to cluster by."""
    if not kept:
        raise InputError(
            f"{path} has no column of numbers to cluster by; its columns are {listed(names)}. "
            "klsnmf needs numeric columns; for text use --text-column."
        )


def needs(path: Path, package: str, otherwise: str = "") -> InputError:
    """The error if a package for such files is not installed."""
    return InputError(
        f"Reading {path} needs the package {package}. Run: pip install {package}{otherwise}"
    )


def place_of(path: Path, names: Sequence[str], name: str, remedy: str = "") -> int:
    """The place of a column; if there is none, the error names the most similar column."""
    count = names.count(name)
    if count == 1:
        return names.index(name)
    if count:
        raise InputError(
            f"{path} has {count} columns called {name!r}. Give them different names in the file."
        )
    raise InputError(
        f"{path} has no column {name!r}. {meant(name, names)}It has {listed(names)}.{remedy}"
    )


def split_all(names: Sequence[str], given: Sequence[str]) -> list[str]:
    """The names and patterns in texts. A whole text is a name if there is such a column."""
    return [word for text in given for word in ([text] if text in names else split_names(text))]


def split_names(text: str) -> list[str]:
    """The names in a,"b, c",d."""
    try:
        cells = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # a line break outside of quotation marks
        cells = text.split(",")
    return [cell.strip() for cell in cells if cell.strip()]
