"""Columns of words: each word becomes a column."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ..core.checks import need
from ..core.types import Matrix
from ..core.words import listed, plural, short
from ..io.table import MOST_CATEGORIES, Counted, InputError, Table
from .base import Step, Units, need_names
from .look import spreads


@dataclass(frozen=True)
class Encode(Step):
    """A column for each category: ``size`` in samples of this category, and 0 in others.

    The squared distance between two samples of different categories is 2 size². Two samples have
    the same squared distance on average in a column with the standard deviation ``size``.
    """

    column: str
    categories: tuple[str, ...]
    size: float = 1.0

    @property
    def words(self) -> tuple[str, ...]:
        return (self.column,)

    def units(self, before: Units) -> Units:
        (mean, spread), q = before, len(self.categories)
        return np.append(mean, np.zeros(q)), np.append(spread, np.full(q, 1 / self.size))

    def apply(self, table: Table) -> Table:
        if self.column not in table.words:
            raise InputError(
                f"{table.name} has no column {self.column!r}, which the model needs: it was made "
                "with --encode. Give a table with such a column."
            )
        words, told = table.words[self.column], list(table.messages)
        place = {word: j for j, word in enumerate(self.categories)}
        found = np.zeros((len(words), len(place)))
        known = [(i, place[word]) for i, word in enumerate(words) if word in place]
        found[tuple(np.array(known, dtype=int).reshape(-1, 2).T)] = self.size
        new = {word for word in words if word is not None} - {*self.categories}
        if new:
            told.append(
                f"{short(self.column)} has values that the model does not know. They count as "
                f"none of its categories: {listed(sorted(new))}."
            )
        thin = sparse.issparse(table.X)
        X = sparse.hstack([table.X, found], format="csr") if thin else np.hstack([table.X, found])
        names = table.features or list(Counted(table.X.shape[1]))
        features = [*names, *(f"{self.column}={one}" for one in self.categories)]
        return replace(table, X=X, features=features, messages=told)

    def check(self, p: int) -> int:
        need(type(self.column) is str, "a column of categories has no name")
        need_names(self.categories, "the categories of a column")
        need(0 < len(self.categories) <= MOST_CATEGORIES, "a column has no categories, or too many")
        need(type(self.size) is float and 0 < self.size < np.inf, "a category has no size")
        return p + len(self.categories)


def size_of_categories(X: Matrix) -> float:  # (n, p)
    """The size at which a category counts as much as a column of X does on average."""
    each = np.sqrt(mean_variance_axis(X, 0)[1]) if sparse.issparse(X) else spreads(X)
    return float(np.sqrt(np.mean(each[each > 0] ** 2))) if each.any() else 1.0


def fit_encode(table: Table, column: str, size: float) -> Encode:
    """The categories of a column are the words in it."""
    categories = sorted({word for word in table.words[column] if word is not None})
    if not 0 < len(categories) <= MOST_CATEGORIES:
        found = plural(len(categories), "different value")
        raise InputError(
            f"{table.name}, column {column!r} has {found}, and a column of categories "
            f"has 1 to {MOST_CATEGORIES}. Leave it out of --encode."
        )
    return Encode(column, tuple(categories), size)
