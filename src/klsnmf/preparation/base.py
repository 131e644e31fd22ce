"""What a step is, and a list of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import checks
from ..core.checks import need
from ..core.types import Array
from ..io.table import Table

#: A model with more steps than this was not made by the command.
_MOST = 100


#: The mean and the spread of each column, (p,) and (p,): x * spread + mean is in the user's units.
Units = tuple[Array, Array]


class Step(ABC):
    """One thing that is done to a table: a frozen dataclass of numbers, text and arrays.

    To add one: write the record and a function that fits it to a table, and enter the class in
    ``io/model_file.py``, so that a model file may hold it.
    """

    @abstractmethod
    def apply(self, table: Table) -> Table:
        """The table after this step; an InputError if the step cannot take it."""

    @abstractmethod
    def check(self, p: int) -> int:
        """How many columns come out if p go in; a ValueError if a field is not what a fit leaves.

        Records in model files may come from strangers: nothing is applied before it is checked.
        """

    @property
    def words(self) -> tuple[str, ...]:
        """The columns of text that it takes."""
        return ()

    def units(self, before: Units) -> Units | None:
        """How to come back to the user's units after this step, as far as there is a way."""
        return before

    @property
    def scale(self) -> str | None:
        """What ``--scale`` is called that asks for it, if it is a scale."""
        return None


@dataclass(frozen=True)
class Preparation:
    """Steps, one after the other, and the columns that they begin with.

    Attributes
    ----------
    n_features : how many columns of numbers the first step takes
    features : their names, if they have any
    steps : in the order in which they are applied
    """

    n_features: int
    features: tuple[str, ...] | None = None
    steps: tuple[Step, ...] = ()

    @property
    def words(self) -> list[str]:
        """The columns of text that the steps take."""
        return [name for step in self.steps for name in step.words]

    @property
    def text_column(self) -> str | None:
        """The column of text that the samples are described by, if it is text and not numbers."""
        columns = (getattr(step, "text_column", None) for step in self.steps)
        return next((name for name in columns if name is not None), None)

    @property
    def scales(self) -> list[str]:
        """What ``--scale`` would be called for the steps that change a scale."""
        return [step.scale for step in self.steps if step.scale is not None]

    @property
    def units(self) -> Units | None:
        """How to come from the columns after all steps to the user's units, if there is a way."""
        found: Units | None = np.zeros(self.n_features), np.ones(self.n_features)
        for step in self.steps:
            found = None if found is None else step.units(found)
        return found

    def apply(self, table: Table) -> Table:
        """The table after all steps."""
        table.require_numbers(gaps=True)
        for step in self.steps:
            table = step.apply(table)
        return table

    def check(self, p: int) -> None:
        """Refuse, by a ValueError, steps that are unsound or do not end with p columns."""
        width, names = self.n_features, self.features
        need(type(width) is int and width >= 0, "it begins with no number of columns")
        if names is not None:
            need_names(names, "its columns")
            need(len(names) == width, f"it names {len(names)} columns and takes {width}")
        need(type(self.steps) is tuple and len(self.steps) <= _MOST, "its steps are no list")
        for step in self.steps:
            need(isinstance(step, Step), f"{type(step).__name__} is no step")
            width = step.check(width)
        need(width == p, f"it ends with {width} columns, and the model takes {p}")


def need_names(names: Any, what: str) -> None:
    """Refuse what is no tuple of text."""
    known = isinstance(names, tuple) and all(type(name) is str for name in names)
    need(known, f"{what} are no names")


def need_places(places: object, p: int, what: str) -> None:
    """Refuse what are no places of columns, in order, each of them once."""
    found = checks.array(places, what, "i", (None,), 0, p - 1)
    need((found[1:] > found[:-1]).all(), f"{what} are not in order")
