"""NMF and WNMF: samples as nonnegative mixtures of nonnegative prototypes.

    NMF     ‖X - GFᵀ‖²                       G, F ≥ 0
    WNMF    Σ_ij M_ij (X - GFᵀ)²_ij          M ≥ 0; M_ij = 0 where X_ij is not known

X is (n, p), G is (n, k) with the coefficients of the samples, F is (p, k) with the prototypes.
The multiplicative rules are those of Lee and Seung (2001), G first and then F with the new G. The
steps of the faster solver are sweeps over the columns of a factor, see ``quadratic.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..core.arithmetic import dot, flushed, inner, scaled, square, unit_columns
from ..core.types import Array, Labels
from ..grams.base import Data, Operator
from .base import Model, State
from .quadratic import gain, gain_by_rows, sweeps_worth, swept, swept_by_row

#: The most sweeps if entries have weights, because the work before them is expensive.
_SWEEPS = 20


def GG(s: State) -> Array:  # (k, k)
    """GᵀG: the F step and the loss share it."""
    return s.once("GG", "G", lambda: square(s.G))


def FF(s: State) -> Array:  # (k, k)
    """FᵀF: the loss and the next G step share it."""
    return s.once("FF", "F", lambda: square(s.F))


@dataclass(frozen=True)
class Penalty:
    """2a Σ V_ij + b Σ V_ij² for a factor V ≥ 0. The multiplicative rules use none."""

    linear: float = 0.0
    square: float = 0.0

    def bent(self, A: Array) -> Array:  # (k, k)
        """The curvature A and that of the penalty."""
        return A + self.square * np.eye(len(A), dtype=A.dtype) if self.square else A

    def pulled(self, B: Array) -> Array:  # (n, k)
        return B - self.linear if self.linear else B

    def value(self, V: Array) -> float:
        value = 0.0
        if self.linear:
            value += 2 * self.linear * float(V.sum(dtype=np.float64))
        return value + self.square * inner(V, V) if self.square else value


@dataclass(frozen=True)
class NMF(Model):
    """‖X - GFᵀ‖², with penalties on G and F if there are any. Neither step ever raises it."""

    X: Data
    on_G: Penalty = field(default=Penalty(), kw_only=True)
    on_F: Penalty = field(default=Penalty(), kw_only=True)

    factors: ClassVar[tuple[str, ...]] = ("G", "F")

    @property
    def scale(self) -> float:
        return self.X.square_sum

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"XF": (self.X, "F"), "XtG": (self.X.T, "G")}

    def in_single_precision(self) -> Self:
        X = self.X.in_single_precision()
        return self if X is self.X else replace(self, X=X)

    def start(self, G: Array, F: Array) -> dict[str, Array]:  # (n, k), (p, k)
        """All factors, from the coefficients and prototypes of a start."""
        return {"G": G, "F": F}

    def update_G(self, s: State) -> Array:
        """G ← G ∘ XF / (G·FᵀF)."""
        return flushed(scaled(s.G, s.XF, dot(s.G, FF(s))))

    def update_F(self, s: State) -> Array:
        """F ← F ∘ XᵀG / (F·GᵀG)."""
        return flushed(scaled(s.F, s.XtG, dot(s.F, GG(s))))

    def loss(self, s: State) -> float:
        return self.X.square_sum - 2 * self.fitted(s) + inner(GG(s), FF(s))

    def first_step(self, V: Array, other: Array, product: Array) -> Array:
        """G for F: sweeps over half of ‖X - GFᵀ‖², as a problem in G."""
        V, most = np.maximum(V, 0, out=V), sweeps_worth(self.X, V.shape[1])
        return swept(V, self.on_G.bent(square(other)), self.on_G.pulled(product), most)

    def second_step(self, V: Array, other: Array, product: Array) -> Array:
        """F for G, likewise."""
        V, most = np.maximum(V, 0, out=V), sweeps_worth(self.X.T, V.shape[1])
        return swept(V, self.on_F.bent(square(other)), self.on_F.pulled(product), most)

    def objective(self, first: Array, second: Array, of_first: Array) -> float:
        explained = inner(square(first), square(second))
        error = self.X.square_sum - 2 * inner(second, of_first) + explained
        return error + self.on_G.value(first) + self.on_F.value(second)

    def gain(self, first: Array, second: Array, of_first: Array, of_second: Array) -> float:
        A, B = self.on_G.bent(square(second)), self.on_F.bent(square(first))
        in_G = gain_by_rows(first, A, self.on_G.pulled(of_second))
        return in_G + gain_by_rows(second, B, self.on_F.pulled(of_first))

    def pull(self, of_second: Array) -> Array:
        return self.on_G.pulled(of_second)

    def curved(self, V: Array, second: Array) -> Array:
        return dot(V, self.on_G.bent(square(second)))

    def fitted(self, s: State) -> float:
        """⟨X, GFᵀ⟩, computed as the shorter of two equal sums."""
        n, p = self.X.shape
        return inner(s.G, s.XF) if n <= p else inner(s.F, s.XtG)

    def error(self, G: Array, H: Array) -> float:  # (n, k), (p, k)
        """‖X - GHᵀ‖², without penalties, for factors as `factorization` gives them."""
        explained = inner(square(G), square(H))
        return self.X.square_sum - 2 * inner(G, self.X.dot(H)) + explained

    def factorization(self, s: State) -> tuple[Array, Array]:
        """X ≈ G Hᵀ as two arrays of shape (n, k) and (p, k), whatever the method's factors are."""
        return s.G, s.F

    def labels(self, s: State) -> Labels:  # (n,)
        """The largest coefficient of each sample, columns of G taken at length 1."""
        G, _ = self.factorization(s)
        return np.argmax(unit_columns(G), axis=1)


@dataclass(frozen=True)
class WeightedNMF(NMF):
    """Σ_ij M_ij (X - GFᵀ)²_ij; here X holds M ∘ X, with zeros where X is not known.

    Neither step ever raises it. M = 1 is NMF, but slower.
    """

    M: Array  # (n, p)
    known: float  # Σ_ij M_ij X²_ij

    @property
    def scale(self) -> float:
        return self.known

    def in_single_precision(self) -> Self:
        """Itself: the smallest weights of double precision would be zero in single precision."""
        return self

    def update_G(self, s: State) -> Array:
        """G ← G ∘ (M∘X)F / (M∘GFᵀ)F."""
        return flushed(scaled(s.G, s.XF, self.weighted(s) @ s.F))

    def update_F(self, s: State) -> Array:
        """F ← F ∘ (M∘X)ᵀG / (M∘GFᵀ)ᵀG."""
        return flushed(scaled(s.F, s.XtG, self.weighted(s).T @ s.G))

    def loss(self, s: State) -> float:
        return self.known - 2 * self.fitted(s) + inner(self.weighted(s), s.G @ s.F.T)

    def first_step(self, V: Array, other: Array, product: Array) -> Array:
        V, B = np.maximum(V, 0, out=V), self.on_G.pulled(product)
        return swept_by_row(V, self.M, other, B, _SWEEPS, self.on_G.square)

    def second_step(self, V: Array, other: Array, product: Array) -> Array:
        V, B = np.maximum(V, 0, out=V), self.on_F.pulled(product)
        return swept_by_row(V, self.M.T, other, B, _SWEEPS, self.on_F.square)

    def objective(self, first: Array, second: Array, of_first: Array) -> float:
        product = first @ second.T
        error = self.known - 2 * inner(second, of_first) + inner(self.M * product, product)
        return error + self.on_G.value(first) + self.on_F.value(second)

    def gain(self, first: Array, second: Array, of_first: Array, of_second: Array) -> float:
        def in_G(V: Array) -> Array:
            return self.curved(V, second)

        def in_F(V: Array) -> Array:
            return (self.M * (first @ V.T)).T @ first + self.on_F.square * V

        B, weight = self.pull(of_second), self.M @ second**2 + self.on_G.square
        of_G = gain(first, in_G(first) - B, weight, in_G)
        B, weight = self.on_F.pulled(of_first), self.M.T @ first**2 + self.on_F.square
        return of_G + gain(second, in_F(second) - B, weight, in_F)

    def curved(self, V: Array, second: Array) -> Array:
        return (self.M * (V @ second.T)) @ second + self.on_G.square * V

    def error(self, G: Array, H: Array) -> float:
        product = G @ H.T
        return self.known - 2 * inner(G, self.X.dot(H)) + inner(self.M * product, product)

    def weighted(self, s: State) -> Array:  # (n, p)
        """M ∘ GFᵀ."""
        product = s.G @ s.F.T
        product *= self.M
        return product


@dataclass(frozen=True)
class FilledNMF(WeightedNMF):
    """The same objective, with steps that take few operations and move less far.

    With m the largest weight, Σ M (X - GFᵀ)² is at most m ‖Z - GFᵀ‖² + const, where Z is X mixed
    with the last VFᵀ, (M∘X + (m - M)∘VFᵀ) / m, with = at G = V. So all rows have the curvature
    m FᵀF, and sweeps go on as without gaps. This pays if there are many columns, and a rough
    solution will do.
    """

    def first_step(self, V: Array, other: Array, product: Array) -> Array:
        V = np.maximum(V, 0, out=V)
        B = self.on_G.pulled(product + self.rest(V, other) @ other)
        return swept(V, self.on_G.bent(self.most * square(other)), B, self.sweeps(self.X, V))

    def second_step(self, V: Array, other: Array, product: Array) -> Array:
        V = np.maximum(V, 0, out=V)
        B = self.on_F.pulled(product + self.rest(other, V).T @ other)
        return swept(V, self.on_F.bent(self.most * square(other)), B, self.sweeps(self.X.T, V))

    def rest(self, G: Array, F: Array) -> Array:  # (n, p)
        """(m - M) ∘ GFᵀ."""
        product = G @ F.T
        product *= self.lacking
        return product

    @cached_property
    def most(self) -> Any:
        return self.M.max()

    @cached_property
    def lacking(self) -> Array:  # (n, p)
        return self.most - self.M

    def sweeps(self, X: Data, V: Array) -> int:
        return sweeps_worth(X, V.shape[1])
