"""Columns of words: a column of 0 and 1 for each word."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..core.checks import need
from ..core.words import listed, plural, short
from ..io.table import Counted, InputError, Table
from .base import Step, need_names

#: A column with more different words than this holds names or text, and no categories.
MOST = 50


@dataclass(frozen=True)
class Encode(Step):
    """A column of 0 and 1 for each category of a column of words.

    Two samples of different categories differ by 2 in squares: as much as two of a column with
    variance 1 do on average.
    """

    column: str
    categories: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return (self.column,)

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
        found[tuple(np.array(known, dtype=int).reshape(-1, 2).T)] = 1
        new = {word for word in words if word is not None} - {*self.categories}
        if new:
            told.append(
                f"{short(self.column)} has values that the model does not know, and they count as "
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
        need(0 < len(self.categories) <= MOST, "a column has no categories, or too many")
        return p + len(self.categories)


def fit_encode(table: Table, column: str) -> Encode:
    """The categories of a column: the words that are in it."""
    categories = sorted({word for word in table.words[column] if word is not None})
    if not 0 < len(categories) <= MOST:
        found = plural(len(categories), "different value")
        raise InputError(
            f"{table.name}, column {column!r} has {found}: these are no categories, of which a "
            f"column has 1 to {MOST}. Leave it out of --encode."
        )
    return Encode(column, tuple(categories))
