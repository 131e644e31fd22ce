"""Two factors in turn, from a point ahead of the last one.

A problem in two factors, say G and F, is solved by good steps in G and in F. From the last two
iterates one can guess where the next will be, and take the steps from there instead. With Ḡ, F̄ the
iterate before G, F,

    F' = F + β(F - F̄),    G' = max(0, G + β(G - Ḡ))           ahead of the last iterate
    G ← steps in G from G', for F'
    F ← steps in F from max(0, F'), for the new G.

β = t/(t + 3) for the t-th guess in a row, as in Nesterov's method. Products are linear, so those of
points ahead follow from those of iterates. The objective of every iterate is known. If it is higher
than before, the iterate is dropped, t becomes 0, and the next steps start from the iterate before,
without a guess, which never raises the objective (O'Donoghue and Candès, 2015; for NMF Ang and
Gillis, 2019, with another rule for β). So the objective of the iterate that is kept never rises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from ..core.arithmetic import inner
from ..core.types import Array, Labels
from ..grams.base import Operator
from .base import Alternating, Model, State


class Iterate(NamedTuple):
    """Both factors, and their products with the matrix of the problem."""

    first: Array
    second: Array
    of_first: Array
    of_second: Array


@dataclass(frozen=True)
class Extrapolated(Model):
    """The solver for a problem in two factors, which hold the newest iterate.

    The state also has the best iterate before it, the points ahead, and ``pace``: how many guesses
    there were in a row, and the objective of the best iterate before.
    """

    problem: Alternating

    resumes = True

    @cached_property
    def names(self) -> tuple[str, str, str, str]:
        """The names of the parts of an iterate; of several products the first one."""
        first, second = self.problem.factors
        products: dict[str, str] = {}
        for product, (_, factor) in self.problem.products().items():
            products.setdefault(factor, product)
        return first, second, products[first], products[second]

    @property
    def factors(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("pace", *self.problem.factors)

    @property
    def scale(self) -> float:
        return self.problem.scale

    def products(self) -> dict[str, tuple[Operator, str]]:
        of = self.problem.products()
        return {name: of[name] for name in self.names[2:]}

    @property
    def late(self) -> frozenset[str]:
        return frozenset([self.names[2]])

    def memory(self) -> dict[str, str]:
        first, second, _, of_second = self.names
        best = {f"best_{name}": name for name in self.names}
        return best | {f"ahead_{name}": name for name in (first, second, of_second)}

    def in_single_precision(self) -> Self:
        problem = self.problem.in_single_precision()
        return self if problem is self.problem else replace(self, problem=problem)

    def begun(self, start: Mapping[str, Array]) -> dict[str, Array]:
        own = {name: start[name] for name in self.problem.factors}
        return own | {"pace": np.array([[-1.0, np.inf]])}

    def resumed(self, start: Mapping[str, Array], end: Mapping[str, Array]) -> dict[str, Array]:
        """Where the race ended: from its start, other rounding could lead to another solution."""
        return {name: V.astype(start[name].dtype) for name, V in end.items()}

    def newest(self, s: State) -> Iterate:
        return Iterate(*(getattr(s, name) for name in self.names))

    def before(self, s: State) -> Iterate:
        return Iterate(*(getattr(s, f"best_{name}") for name in self.names))

    def best(self, s: State) -> Iterate:
        """The newest iterate, or the one before if that is lower."""
        return self.newest(s) if self.is_kept(s) else self.before(s)

    def ahead(self, s: State) -> tuple[Array, Array, Array]:
        """The points ahead: the first factor, the second, and the product of the second."""
        first, second, _, of_second = self.names
        a, b, c = (getattr(s, f"ahead_{name}") for name in (first, second, of_second))
        return a, b, c

    def reached(self, s: State) -> float:
        """The objective of the newest iterate."""
        new = self.newest(s)
        rule = self.problem.objective
        return float(s.once("reached", self.names[1], lambda: np.array(rule(*new[:3]))))

    def is_kept(self, s: State) -> bool:
        """Whether the newest iterate is not higher than the one before, up to rounding."""
        rounding = float(np.finfo(self.newest(s).first.dtype).eps) * self.scale
        return self.reached(s) <= float(s.pace[0, 1]) + rounding

    def update_pace(self, s: State) -> Array:  # in place, and with it the points ahead
        turn, lowest = s.pace[0]
        if turn < 0:
            self.fit_size(s)
        old, new = self.before(s), self.newest(s)
        # The start's objective is not known yet; the first steps, without a guess, do not raise it.
        reached = np.inf if turn < 0 else self.reached(s)
        pairs = zip(self.ahead(s), (0, 1, 3), strict=True)
        if turn < 0 or self.is_kept(s):
            beta = max(turn, 0) / (max(turn, 0) + 3)  # the start has no iterate before
            for point, part in pairs:
                np.subtract(new[part], old[part], out=point)
                point *= beta
                point += new[part]
            for kept, value in zip(old, new, strict=True):
                kept[...] = value
            s.pace[0] = turn + 1, reached
        else:
            for point, part in pairs:
                point[...] = old[part]
            s.pace[0] = 0, lowest
        return s.pace

    def fit_size(self, s: State) -> None:
        """Make a start as large as fits best: too large a one would cost columns at once.

        With c times the first factor the objective is a quadratic in c.
        """
        V, other, _, of_other = self.newest(s)
        curve = inner(V, self.problem.curved(V, other))
        best = inner(V, self.problem.pull(of_other)) / curve if curve > 0 else 1.0
        if 0 < best < np.inf:
            V *= best

    def update_first(self, s: State) -> Array:
        V, other, product = self.ahead(s)
        return self.problem.first_step(V, other, product)

    def update_second(self, s: State) -> Array:
        new = self.newest(s)
        return self.problem.second_step(self.ahead(s)[1], new.first, new.of_first)

    def update(self, factor: str, s: State) -> Array:
        first, second = self.problem.factors
        steps = {"pace": self.update_pace, first: self.update_first, second: self.update_second}
        return steps[factor](s)

    def loss(self, s: State) -> float:
        return self.reached(s) if self.is_kept(s) else float(s.pace[0, 1])

    def residual(self, s: State) -> float:
        return math.sqrt(self.problem.gain(*self.best(s)) / self.scale)

    def result(self, s: State) -> dict[str, Array]:
        best = self.best(s)
        return dict(zip(self.problem.factors, (best.first, best.second), strict=True))

    def labels(self, s: State) -> Labels:
        return self.problem.labels(State(**dict(zip(self.names, self.best(s), strict=True))))
