"""Steps for missing values: rows or columns are left out, or gaps are filled in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.impute import KNNImputer

from ..core import checks
from ..core.checks import need
from ..core.types import Array, Matrix
from ..core.words import listed, plural
from ..io.table import Counted, InputError, Table
from .base import Step, Units, need_places

#: What ``--missing`` may be.
WAYS = ("drop-rows", "drop-columns", "median", "knn")

#: Gaps are filled in with the mean of this many nearest samples, by the values that both have.
NEAREST = 5

#: Means and medians for new samples are taken from at most this many samples.
_DONORS = 10_000


@dataclass(frozen=True)
class LeaveOutRows(Step):
    """Rows are left out if more than this share is missing; 0 leaves out every row with a gap."""

    share: float

    def apply(self, table: Table) -> Table:
        n, p = table.X.shape
        kept = np.flatnonzero(gaps_in_rows(table.X) <= self.share * p)
        if len(kept) == n:
            return table
        of_them = "most values are" if self.share else "values are"
        if not len(kept):
            raise InputError(
                f"{of_them.capitalize()} missing in every row of {table.name}. Leave out the "
                "columns with most gaps (--exclude), or fill gaps in: --missing median."
            )
        told = f"{n - len(kept)} of {plural(n, 'row')} left out: {of_them} missing."
        return replace(table.only(kept), messages=[*table.messages, told])

    def check(self, p: int) -> int:
        sound = type(self.share) is float and 0 <= self.share < 1
        need(sound, "the share of gaps that a row may have is not valid")
        return p


@dataclass(frozen=True)
class KeepColumns(Step):
    """Some columns stay, the others are left out."""

    which: Array  # (q,) the places of those that stay, in order

    def units(self, before: Units) -> Units:
        mean, spread = before
        return mean[self.which], spread[self.which]

    def apply(self, table: Table) -> Table:
        names = table.features
        features = None if names is None else [names[j] for j in self.which]
        return replace(table, X=table.X[:, self.which], features=features, image_shape=None)

    def check(self, p: int) -> int:
        need_places(self.which, p, "the columns that stay")
        return len(self.which)


class Fill(Step):
    """Gaps are filled in."""


@dataclass(frozen=True)
class FillMedian(Fill):
    """Each gap gets the median of its column."""

    values: Array  # (p,)

    def apply(self, table: Table) -> Table:
        gaps = np.isnan(dense(table))
        return replace(table, X=np.where(gaps, self.values, table.X)) if gaps.any() else table

    def check(self, p: int) -> int:
        checks.array(self.values, "its medians", shape=(p,))
        return p


@dataclass(frozen=True)
class FillNear(Fill):
    """Each gap gets the mean of the nearest samples that have a value there."""

    samples: Array  # (m, p) of the fit, with their gaps

    def apply(self, table: Table) -> Table:
        if not np.isnan(dense(table)).any():
            return table
        imputer = KNNImputer(n_neighbors=NEAREST, keep_empty_features=True)
        return replace(table, X=imputer.fit(self.samples).transform(table.X))

    def check(self, p: int) -> int:
        checks.array(self.samples, "the samples that fill its gaps", shape=(None, p), finite=False)
        need(len(self.samples) > 0, "there is no sample to fill its gaps")
        need(not np.isinf(self.samples).any(), "a sample that fills its gaps is not finite")
        return p


def fit_leave_out_columns(table: Table) -> tuple[Step, str] | tuple[None]:
    """A step that keeps the columns without gaps, and a line that names the others."""
    whole = np.flatnonzero(gaps_in_columns(table.X) == 0)
    if len(whole) == table.X.shape[1]:
        return (None,)
    if not len(whole):
        raise InputError(
            f"Values are missing in every column of {table.name}. Use --missing drop-rows, or fill "
            "gaps in: --missing median."
        )
    names = table.features or list(Counted(table.X.shape[1]))
    others = [name for j, name in enumerate(names) if j not in {*whole.tolist()}]
    return KeepColumns(whole), f"Left out, because values are missing: {listed(others)}."


def fit_fill(table: Table, way: str) -> Step:
    """A step that fills gaps with medians, or from the nearest samples ("knn")."""
    X = dense(table)
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        names = table.features or list(Counted(X.shape[1]))
        raise InputError(
            f"{table.name} has {plural(len(empty), 'column')} without any value: "
            f"{listed([names[int(j)] for j in empty])}. Leave such columns out: --exclude."
        )
    if way == "median":
        return FillMedian(np.nanmedian(X, axis=0))
    step = -(-len(X) // _DONORS)
    return FillNear(np.asarray(X[::step], dtype=np.float64))


def fit_for_new(table: Table) -> FillMedian | None:
    """A step that fills gaps in new samples with medians, for a table without gaps."""
    if sparse.issparse(table.X) or table.image_shape is not None or not table.X.size:
        return None
    X = np.asarray(table.X)
    if np.isnan(X).any():
        return None
    return FillMedian(np.median(X[:: -(-len(X) // _DONORS)], axis=0))


def dense(table: Table) -> Array:  # (n, p)
    """The numbers of a table that is not sparse; in a sparse one, gaps would look like zeros."""
    if sparse.issparse(table.X):
        raise InputError(
            f"{table.name} is sparse, and gaps can be filled in only in dense tables. Use "
            "--missing drop-rows or drop-columns."
        )
    return np.asarray(table.X)


def gaps_in_rows(X: Matrix) -> Array:  # (n, p) -> (n,)
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows[np.isnan(X.data)], minlength=X.shape[0])
    found: Array = np.isnan(X).sum(axis=1)
    return found


def gaps_in_columns(X: Matrix) -> Array:  # (n, p) -> (p,)
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    found: Array = np.isnan(X).sum(axis=0)
    return found
