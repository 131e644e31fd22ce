"""Steps for columns of numbers: scales, and principal components."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from ..core import checks
from ..core.checks import need
from ..core.types import Array, Matrix
from ..core.words import plural
from ..io.table import InputError, Table
from .base import Step, Units, need_places

#: The sum that the counts of a sample are scaled to by ``--scale log``, before logarithms.
_USUAL_DEPTH = 10_000.0


@dataclass(frozen=True)
class Standard(Step):
    """All columns, or some of them, are scaled to mean 0 and variance 1."""

    mean: Array  # (p,) 0 for a column that stays as it is
    spread: Array  # (p,) the standard deviations; 1 for a column that is constant, or stays

    @property
    def scale(self) -> str:
        return "standard"

    def units(self, before: Units) -> Units:
        mean, spread = before
        return mean + self.mean * spread, self.spread * spread

    def apply(self, table: Table) -> Table:
        if sparse.issparse(table.X):
            raise InputError(
                f"{table.name} is sparse, and the model was made with --scale standard, from a "
                "dense table. Give a dense table."
            )
        with np.errstate(over="ignore"):  # infinity is refused later
            return replace(table, X=(table.X - self.mean) / self.spread)

    def check(self, p: int) -> int:
        checks.array(self.mean, "the mean of its scale", shape=(p,))
        checks.array(self.spread, "the spread of its scale", shape=(p,))
        need((self.spread > 0).all(), "the spread of its scale is not positive")
        return p


def fit_standard(table: Table, which: Array | None = None) -> Standard:
    """The scale of the columns at these places, or of all. Gaps are ignored, and stay gaps."""
    if sparse.issparse(table.X):
        raise InputError(
            f"{table.name} is sparse, and --scale standard would fill its zeros. Leave the option "
            "out, or give a dense table."
        )
    if table.image_shape is not None:
        raise InputError(
            f"{table.name} holds images, whose pixels are on one scale already. Leave --scale out."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        found = StandardScaler().fit(table.X)
    known = ~np.isnan(table.X).all(axis=0)
    if not np.isfinite([found.mean_[known], found.scale_[known]]).all():
        raise InputError(
            f"{table.name} has numbers too large to scale. Divide them by a constant, or leave "
            "such columns out."
        )
    mean, spread = np.where(known, found.mean_, 0.0), np.where(known, found.scale_, 1.0)
    if which is not None:
        other = np.setdiff1d(np.arange(len(mean)), which)
        mean[other], spread[other] = 0.0, 1.0
    return Standard(mean, spread)


def log_counts(X: Matrix, depth: float) -> Matrix:  # (n, p)
    """log1p of counts after scaling the sum of each sample to ``depth``. Gaps stay gaps."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        sums = row_sums(X)
        factors = depth / np.where(sums > 0, sums, 1.0)
        data = np.log1p(X.data * np.repeat(factors, np.diff(X.indptr)))
        return sparse.csr_array((data, X.indices, X.indptr), X.shape)
    of_row = row_sums(X)[:, None]
    found: Array = np.log1p(X * (depth / np.where(of_row > 0, of_row, 1.0)))
    return found


def _at(X: Matrix, which: Array) -> Matrix:  # (n, p), (q,) -> (n, q)
    """The columns at these places, in order; no copy is made if these are all columns."""
    return X if len(which) == X.shape[1] else X[:, which]


def row_sums(X: Matrix) -> Array:  # (n, p) -> (n,)
    """The sum of the known numbers of each sample."""
    if sparse.issparse(X):
        known = sparse.csr_array((np.nan_to_num(X.data), X.indices, X.indptr), X.shape)
        return np.asarray(known.sum(axis=1)).ravel()
    return np.asarray(np.nansum(X, axis=1, dtype=np.float64))


@dataclass(frozen=True)
class LogCounts(Step):
    """log1p of the columns of counts, after scaling them to the same sum in every sample."""

    which: Array  # (q,) the places of these columns, in order
    depth: float  # the sum that they are scaled to

    @property
    def scale(self) -> str:
        return "log" if self.depth == _USUAL_DEPTH else "log-median"

    def apply(self, table: Table) -> Table:
        whole, counts = len(self.which) == table.X.shape[1], _at(table.X, self.which)
        values = counts.data if sparse.issparse(counts) else counts
        if np.fmin.reduce(values, axis=None, initial=0) < 0:
            raise InputError(
                f"{table.name} has negative numbers, and --scale log is for counts, which have "
                "none. Use --scale standard, or leave such columns out with --exclude."
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
            found = log_counts(counts, self.depth)
        blank = row_sums(counts) == 0
        if whole:
            return replace(table, X=found, blank=blank)
        others = np.setdiff1d(np.arange(table.X.shape[1]), self.which)
        back = np.argsort(np.concatenate([self.which, others]))
        if sparse.issparse(table.X):
            X: Matrix = sparse.hstack([found, table.X[:, others]], format="csr")[:, back]
        else:
            X = np.hstack([found, table.X[:, others]])[:, back]
        return replace(table, X=X, blank=blank)

    def check(self, p: int) -> int:
        need_places(self.which, p, "its counts")
        sound = type(self.depth) is float and 0 < self.depth < np.inf
        need(sound, "what its counts add up to is no number above 0")
        return p


def fit_log(table: Table, which: Array | None = None, *, median: bool = False) -> LogCounts:
    """Counts at these places, or everywhere, per 10,000 or per the median of their sums.

    If little was counted, 10,000 would make 0 and 1 differ far more than 1 and 2.
    """
    if table.image_shape is not None:
        raise InputError(f"{table.name} holds images, and --scale log is for counts. Leave it out.")
    if which is None:
        which = np.arange(table.X.shape[1])
    return LogCounts(which, median_depth(table, which) if median else _USUAL_DEPTH)


def median_depth(table: Table, which: Array) -> float:
    """The median of the sums of rows, over samples whose sum is not 0."""
    sums = row_sums(_at(table.X, which))
    return float(np.median(sums[sums > 0])) if (sums > 0).any() else _USUAL_DEPTH


@dataclass(frozen=True)
class Components(Step):
    """The principal components of the columns, the widest first."""

    mean: Array  # (p,)
    directions: Array  # (q, p)

    def units(self, before: Units) -> None:
        return None

    def apply(self, table: Table) -> Table:
        table.require_numbers(gaps=False)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
            X = table.X @ self.directions.T - self.mean @ self.directions.T
        names = [f"PC{j + 1}" for j in range(len(self.directions))]
        return replace(table, X=X, features=names, image_shape=None)

    def check(self, p: int) -> int:
        checks.array(self.mean, "the mean of its components", shape=(p,))
        checks.array(self.directions, "the directions of its components", shape=(None, p))
        need(len(self.directions) > 0, "it has no components")
        return len(self.directions)


def fit_components(table: Table, count: int) -> Components:
    """The first principal components."""
    table.require_numbers(gaps=False)
    n, p = table.X.shape
    thin = sparse.issparse(table.X)
    most = min(n, p) - thin  # the solver for sparse matrices finds all but one
    if count > most:
        raise InputError(
            f"{table.name} has {plural(n, 'sample')} and {plural(p, 'column')}: --pca {count} is "
            f"too many; {f'give {most} or fewer' if most > 0 else 'leave it out'}."
        )
    solver = "arpack" if thin else "auto"
    found = PCA(count, svd_solver=solver, random_state=0).fit(table.X)
    return Components(found.mean_, found.components_)
