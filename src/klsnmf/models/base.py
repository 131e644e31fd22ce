"""What the loop needs from a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

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
        """What a rule computes from one factor and its products, once until the factor changes."""
        made = vars(self).setdefault("_made", {}).setdefault(factor, {})
        if name not in made:
            made[name] = rule()
        return made[name]

    def changed(self, factor: str) -> None:
        """Forget what was computed from this factor, because it has changed."""
        vars(self).setdefault("_made", {}).pop(factor, None)


#: A fit has converged when its loss moved less than the tolerance over this many iterations:
#: from a random start, steps can be tiny for a long time before the loss falls.
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

    #: Whether a fit can continue from its factors alone without any difference.
    resumes: ClassVar[bool] = False

    @property
    @abstractmethod
    def scale(self) -> float:
        """The loss when all factors are zero, with which changes are compared."""

    @abstractmethod
    def products(self) -> dict[str, tuple[Operator, str]]:
        """The products that the rules use: name -> (operator, the factor it is applied to)."""

    @abstractmethod
    def loss(self, s: State) -> float:
        """The objective."""

    @abstractmethod
    def labels(self, s: State) -> Labels:  # (n,)
        """The cluster of every sample."""

    @property
    def patience(self) -> int:
        """The number of iterations without a change of the loss after which a fit has converged."""
        return PATIENCE

    def update(self, factor: str, s: State) -> Array:
        """The new factor, by its own rule."""
        new: Array = getattr(self, f"update_{factor}")(s)
        return new

    def begun(self, start: Mapping[str, Array]) -> Mapping[str, Array]:
        """The factors of a start, and whatever else the rules need at the beginning."""
        return start

    def memory(self) -> dict[str, str]:
        """Further arrays in the state: name -> an array of the same shape.

        They are zero at first, and rules change them in place.
        """
        return {}

    def residual(self, s: State) -> float | None:
        """How far the factors are from a solution, independent of their scale; None if unknown.

        Let each entry go towards its own best value, and take the best step in this direction. The
        residual is the root of what this gains, divided by the loss of factors that are zero. It is
        zero only at a solution.
        """
        return None

    def result(self, s: State) -> dict[str, Array]:
        """The factors that a fit ends with."""
        return {name: getattr(s, name) for name in self.factors}

    def resumed(self, start: Mapping[str, Array], end: Mapping[str, Array]) -> Mapping[str, Array]:
        """Where the winner of a race begins in double precision: at its own start."""
        return start

    def in_single_precision(self) -> Self:
        """The same problem in single precision, for a race; itself if that is too rough."""
        return self

    @property
    def late(self) -> frozenset[str]:
        """Products that no rule uses before their factor is updated for the first time."""
        return frozenset()

    def known_products(self, factor: str, s: State) -> dict[str, Array]:
        """Products of a new factor that follow from others, and need not be computed."""
        return {}

    def settled(self, s: State) -> bool:
        """Whether the fit may end here, once the loss no longer changes."""
        return True

    def runaway(self, s: State) -> bool:
        """Whether a factor grows without bound, so that its numbers will overflow."""
        return False

    def lost(self, s: State) -> float:
        """The share of the samples that fit no cluster."""
        return 0.0


class Alternating(Protocol):
    """A problem in two factors that has good steps for each of them.

    A step gets the other factor, which may have negative entries, and its product with the matrix
    of the problem. Its own factor begins at V, which may be changed.
    """

    factors: ClassVar[tuple[str, ...]]

    @property
    def scale(self) -> float: ...

    def products(self) -> dict[str, tuple[Operator, str]]: ...

    def in_single_precision(self) -> Self: ...

    def first_step(self, V: Array, other: Array, product: Array) -> Array: ...

    def second_step(self, V: Array, other: Array, product: Array) -> Array: ...

    def objective(self, first: Array, second: Array, of_first: Array) -> float: ...

    def gain(self, first: Array, second: Array, of_first: Array, of_second: Array) -> float:
        """The gains of both factors, added: see :func:`klsnmf.models.quadratic.gain`."""
        ...

    def pull(self, of_second: Array) -> Array:
        """B in half of the objective as a quadratic in the first factor, ½ ⟨V, HV⟩ - ⟨V, B⟩."""
        ...

    def curved(self, V: Array, second: Array) -> Array:
        """HV."""
        ...

    def labels(self, s: State) -> Labels: ...
