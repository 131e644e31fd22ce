"""What a step is, and what a list of steps is."""

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

    To add one, write the record and a function that fits it to a table. Then add the class to
    ``io/model_file.py``, so that a model file can hold it.
    """

    @abstractmethod
    def apply(self, table: Table) -> Table:
        """The table after this step; an InputError if the step cannot be applied to it."""

    @abstractmethod
    def check(self, p: int) -> int:
        """How many columns p columns become; a ValueError if no fit could have made a field.

        Model files may come from strangers, so records are checked before they are applied.
        """

    @property
    def words(self) -> tuple[str, ...]:
        """The columns of text that it needs."""
        return ()

    def units(self, before: Units) -> Units | None:
        """How to get back to the user's units after this step; None if this is not possible."""
        return before

    @property
    def scale(self) -> str | None:
        """The value of ``--scale`` that asks for this step, if there is one."""
        return None


@dataclass(frozen=True)
class Preparation:
    """A list of steps, and the columns that the first one takes.

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
        """The columns of text that the steps need."""
        return [name for step in self.steps for name in step.words]

    @property
    def text_column(self) -> str | None:
        """The column of text to cluster by, if samples are clustered by text."""
        columns = (getattr(step, "text_column", None) for step in self.steps)
        return next((name for name in columns if name is not None), None)

    @property
    def scales(self) -> list[str]:
        """The values of ``--scale`` that ask for the steps that change a scale."""
        return [step.scale for step in self.steps if step.scale is not None]

    @property
    def units(self) -> Units | None:
        """How to get from the columns after all steps to the user's units, if possible."""
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
        """Raise a ValueError if steps are invalid or do not end with p columns."""
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
    """Refuse anything but a tuple of texts."""
    known = isinstance(names, tuple) and all(type(name) is str for name in names)
    need(known, f"{what} are no names")


def need_places(places: object, p: int, what: str) -> None:
    """Refuse anything but places of columns in ascending order."""
    found = checks.array(places, what, "i", (None,), 0, p - 1)
    need((found[1:] > found[:-1]).all(), f"{what} are not in order")
