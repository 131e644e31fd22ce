"""What the loop asks of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar, Self

from ..core.types import Array, Labels
from ..grams.base import Operator


class State(SimpleNamespace):
    """The factors and products of one fit by name, each an array of shape (rows, k)."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...

    def __setattr__(self, name: str, value: Array) -> None:
        super().__setattr__(name, value)
        vars(self).pop("_made", None)

    def once(self, name: str, factor: str, rule: Callable[[], Array]) -> Array:
        """What a rule makes of one factor and its products; made once, until the factor changes."""
        made = vars(self).setdefault("_made", {}).setdefault(factor, {})
        if name not in made:
            made[name] = rule()
        return made[name]

    def changed(self, factor: str) -> None:
        """Forget what was made of this factor, whose numbers are others now."""
        vars(self).setdefault("_made", {}).pop(factor, None)


#: A fit has converged when its loss moved less than the tolerance over this many iterations:
#: from a random start single steps can be tiny for long before the loss falls.
PATIENCE = 10


class Model(ABC):
    """A problem in some factors, and a step of mathematics towards its solution.

    The rules are written for a single fit and change no array of its state: for a factor W the
    model has a method ``update_W`` that returns the new W. After an update the loop renews the
    products of that factor, for all fits at once. A factor too large for copies may be renewed in
    place: then ``update_W`` returns W itself, and how much it changed is not noted.

    Attributes
    ----------
    factors : in the order in which an iteration updates them
    """

    factors: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def scale(self) -> float:
        """The loss when all factors are zero: what the size of a change is compared with."""

    @abstractmethod
    def products(self) -> dict[str, tuple[Operator, str]]:
        """The products the rules use: name -> (operator, factor it is multiplied with)."""

    @abstractmethod
    def loss(self, s: State) -> float:
        """The objective."""

    @abstractmethod
    def labels(self, s: State) -> Labels:  # (n,)
        """The cluster of every sample."""

    @property
    def patience(self) -> int:
        """Iterations over which the loss must stand still before a fit has converged."""
        return PATIENCE

    def in_single_precision(self) -> Self:
        """The same problem for rough work in half the time; itself where there is no such thing."""
        return self

    def known_products(self, factor: str, s: State) -> dict[str, Array]:
        """Products of a factor just renewed that follow from others: they are not made again."""
        return {}

    def settled(self, s: State) -> bool:
        """Whether the fit may end here, once the loss stands still."""
        return True

    def runaway(self, s: State) -> bool:
        """Whether a factor grows for ever, so that its numbers are about to overflow."""
        return False

    def lost(self, s: State) -> float:
        """The share of the samples that fit no cluster."""
        return 0.0
