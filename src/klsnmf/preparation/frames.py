"""``klsnmf.prepare``: the same as ``--prepare auto``, as a transformer of scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from ..core.types import Array, Labels
from ..core.words import listed
from ..io.table import Counted, Table
from .auto import Line, Told, gaps_left_out, groups, measured_columns
from .categories import size_of_categories
from .gaps import NEAREST, KeepColumns
from .numbers import fit_log, fit_standard, log_counts

_SCALES = ("auto", "none", "standard", "log", "log-median")

#: How gaps may be filled in. A transformer cannot leave out rows.
_FILLS = ("knn", "median")


def prepare(
    frame: Any,
    *,
    scale: str = "auto",
    missing: str = "knn",
    encode: Sequence[str] = (),
    verbose: bool = False,
) -> ColumnTransformer:
    """Make a transformer that prepares the columns of a frame, based on what they look like.

    It does what ``klsnmf cluster`` does with a table. Counts become log1p of counts per the median
    of their sums. Columns of different units get mean 0 and variance 1. Columns that look like
    names of samples, known classes, years or kinds are left out, and so is text. Gaps are filled
    in. Use it in a pipeline: ``make_pipeline(klsnmf.prepare(frame), klsnmf.KLSNMF(3))``.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, a row for each sample
    scale : {"auto", "none", "standard", "log", "log-median"}, default="auto"
        The scale of the numbers. "auto" decides based on what the columns look like.
    missing : {"knn", "median"}, default="knn"
        How gaps are filled in: from the nearest samples, or with the median of the column.
    encode : list of str, default=()
        Columns of categories. Each category becomes a column that counts as much as a column of
        numbers does on average.
    verbose : bool, default=False
        Whether to print a line for each group of columns: what is done, and why.

    Returns
    -------
    ColumnTransformer
        Not fitted yet.

    Examples
    --------
    >>> import klsnmf, pandas as pd
    >>> frame = pd.DataFrame({"year": [2007, 2008] * 10, "g": range(1000, 61000, 3000)})
    >>> ready = klsnmf.prepare(frame, verbose=True)
    Left out: 'year', a year.
    >>> ready.fit_transform(frame).shape
    (20, 1)
    """
    for name, value, known in (("scale", scale, _SCALES), ("missing", missing, _FILLS)):
        if value not in known:
            raise ValueError(f"{name}={value!r}: give one of {', '.join(known)}.")
    names = _names(frame)
    if unknown := [name for name in encode if name not in names]:
        raise ValueError(f"encode: the frame has no column {unknown[0]!r}.")
    numbers_of = _numbers(frame, [name for name in names if name not in encode])
    used = {*(numbers_of.features or ()), *map(str, encode)}
    text = [str(name) for name in names if str(name) not in used]
    table, lines = _measured(numbers_of)
    which: dict[str, Labels] = {}
    if scale == "auto":
        for name, places, line in groups(table, signed=True):
            which[name] = places
            lines.append(line)
    elif scale != "none":
        which[scale] = np.arange(table.X.shape[1])
    if verbose:
        told = [line.what for line in lines]
        if text:
            told.insert(0, f"Left out, because they hold text: {listed(text)}.")
        print("\n".join(told))
    # scikit-learn takes a number for the place of a column, not for its name.
    place = {str(name): name if isinstance(name, str) else j for j, name in enumerate(names)}
    columns = [place[name] for name in table.features or ()]
    parts = []
    if columns:
        scaled = [(name, _scaler(name, table, places), places) for name, places in which.items()]
        numbers = ColumnTransformer(
            scaled, remainder="passthrough", verbose_feature_names_out=False
        )
        neighbours = KNNImputer(n_neighbors=NEAREST)
        fill = neighbours if missing == "knn" else SimpleImputer(strategy="median")
        parts.append(("numbers", make_pipeline(numbers, fill), columns))
    if encode:
        values = [_categories(frame[name]) for name in encode]
        onehot = OneHotEncoder(categories=values, handle_unknown="ignore", sparse_output=False)
        size = size_of_categories(_scaled(table, which).X)
        sized = FunctionTransformer(_times, kw_args={"size": size}, feature_names_out="one-to-one")
        parts.append(
            ("categories", make_pipeline(onehot, sized), [place[str(name)] for name in encode])
        )
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def _times(X: Array, size: float) -> Array:
    return X * size


def _names(frame: Any) -> list[Any]:
    """The names of the columns; an error if there are none, or if some are the same."""
    if not hasattr(frame, "columns"):
        raise TypeError(
            f"prepare needs a DataFrame of pandas or polars, not {type(frame).__name__}. It also "
            "uses the names of columns. For an array X, use prepare(pandas.DataFrame(X))."
        )
    names = list(frame.columns)
    name, count = Counter(names).most_common(1)[0] if names else ("", 1)
    if count > 1:
        raise ValueError(f"{count} columns have the name {name!r}. Give each its own name.")
    return names


def _scaled(table: Table, which: dict[str, Labels]) -> Table:
    for scale, places in which.items():
        counts = scale != "standard"
        median = scale == "log-median"
        step = fit_log(table, places, median=median) if counts else fit_standard(table, places)
        table = step.apply(table)
    return table


def _scaler(scale: str, table: Table, which: Labels) -> Any:
    if scale == "standard":
        return StandardScaler()
    depth = fit_log(table, which, median=scale == "log-median").depth
    return FunctionTransformer(log_counts, kw_args={"depth": depth}, feature_names_out="one-to-one")


def _categories(column: Any) -> list[Any]:
    """The different values of a column; a gap is none of them."""
    return sorted({value for value in column.to_list() if value is not None and value == value})


def _measured(table: Table) -> tuple[Table, list[Line]]:
    """The columns that are measured and known, and the lines about the others."""
    lines: list[Line] = []

    def keep(table: Table, told: Iterable[Told]) -> Table:
        for step, said in told:
            if isinstance(step, KeepColumns):
                table = step.apply(table)
                lines.extend(said)
        return table

    table = keep(table, measured_columns(table))
    return keep(table, gaps_left_out(table)), lines


def _numbers(frame: Any, names: Sequence[Any]) -> Table:
    """The columns of a frame that hold numbers."""
    found = {}
    for name in names:
        column = frame[name]
        kind = getattr(column.dtype, "kind", None)  # a dtype of polars has no kind
        if kind in ("b", "i", "u", "f"):
            found[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        elif kind is None and column.dtype.is_numeric():
            found[name] = column.to_numpy().astype(np.float64)
    X = np.column_stack([*found.values()]) if found else np.empty((len(frame), 0))
    return Table("The frame", X, Counted(len(X)), features=[str(name) for name in found])
