"""Convex and kernel NMF: prototypes are nonnegative mixtures of samples.

    f(W, G) = ½ [tr K - 2 tr(WᵀKG) + tr(WᵀKW · GᵀG)],    W, G ≥ 0,

the problem of LS-NMF without its local term and with G free (Ding, Li and Jordan, 2010). For fixed
W it is a quadratic in the rows of G, which sweeps solve. For fixed G its curvature in W is K ⊗ GᵀG,
and there are no sweeps without the columns of K. However, for every z > 0

    |K| ⊗ GᵀG ≤ diag( |K| z GᵀG / z ),

so that a step divided by the right side never raises f. With z = W it is the multiplicative rule,
in which no entry can leave zero or reach it; with z = W + ε entries can. Steps in W also start from
a point ahead of the last one, as those of both factors do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from ..core.arithmetic import column_inner, dot, inner, square
from ..core.types import Array, Labels
from ..grams.base import Gram, Operator
from .base import State
from .quadratic import gain, gain_by_rows, swept

#: ε, as a share of the largest entry of a column of W.
_LIFT = 1e-4

#: Steps in W, and sweeps in G, in each iteration.
_STEPS = 10
_SWEEPS = 5


@dataclass(frozen=True)
class ConvexNMF:
    """f, and steps in W and in G that never raise it, if K is positive semidefinite or K ≥ 0."""

    K: Gram

    factors: ClassVar[tuple[str, ...]] = ("W", "G")

    @property
    def scale(self) -> float:
        return self.K.trace / 2

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"KW": (self.K, "W"), "KG": (self.K, "G")}

    def in_single_precision(self) -> Self:
        K = self.K.in_single_precision()
        return self if K is self.K else replace(self, K=K)

    @cached_property
    def reach(self) -> Array:  # (n, 1)
        """|K|1."""
        return self.absolute(self.ones)

    @property
    def ones(self) -> Array:  # (n, 1)
        """1, or √ω if samples have weights."""
        return np.asarray(self.K.root * np.ones((self.K.shape[0], 1), self.K.dtype))

    def absolute(self, V: Array, KV: Array | None = None) -> Array:  # (n, k)
        """|K|V = 2K⁺V - KV."""
        KV = self.K.dot(V) if KV is None else KV
        return KV if self.K.nonnegative else 2 * self.K.positive.dot(V) - KV

    def first_step(self, V: Array, other: Array, product: Array) -> Array:
        """W ← max(0, W - z ∘ (KW·GᵀG - KG) / (|K|z·GᵀG)), z = W + ε, ahead of the last W."""
        W, A = np.maximum(V, 0, out=V), square(other)
        size = (W / self.K.root).max(axis=0)
        lift = (_LIFT * np.where(size > 0, size, 1)).astype(W.dtype)
        bound = np.abs(A)
        least = np.multiply(self.reach, lift @ bound, out=np.empty_like(W))
        least += np.finfo(W.dtype).tiny
        alike = self.K.nonnegative and bool((A >= 0).all())
        Y, turn = W, 0
        for _ in range(_STEPS):
            KY = self.K.dot(Y)
            slope = dot(KY, A)
            down = slope + least if alike else dot(self.absolute(Y, KY), bound) + least
            slope -= product
            new = Y + self.K.root * lift
            new *= slope
            new /= down
            np.subtract(Y, new, out=new)
            np.maximum(new, 0, out=new)
            moved = new - W
            turn = 0 if inner(slope, moved) > 0 else turn + 1  # a guess that went too far
            W, Y = new, np.maximum(new + (turn - 1) / (turn + 2) * moved, 0) if turn > 1 else new
        return W

    def second_step(self, V: Array, other: Array, product: Array) -> Array:
        """G for W, by sweeps."""
        V = np.maximum(V, 0, out=V)
        return swept(V, other.T @ product, product, _SWEEPS)

    def objective(self, first: Array, second: Array, of_first: Array) -> float:
        explained = inner(first.T @ of_first, square(second))
        return (self.K.trace - 2 * inner(second, of_first) + explained) / 2

    def gain(self, first: Array, second: Array, of_first: Array, of_second: Array) -> float:
        A = square(second)
        weight = np.multiply(self.K.each(self.K.diagonal)[:, None], np.diag(A))
        slope = dot(of_first, A) - of_second
        in_W = gain(first, slope, weight, lambda V: self.curved(V, second))
        return in_W + gain_by_rows(second, first.T @ of_first, of_first)

    def pull(self, of_second: Array) -> Array:
        return of_second

    def curved(self, V: Array, second: Array) -> Array:
        return dot(self.K.dot(V), square(second))

    def labels(self, s: State) -> Labels:  # (n,)
        """The prototype that alone explains a sample best: the largest (KW)_ik / √(WᵀKW)_kk."""
        C = column_inner(s.W, s.KW)
        scores = s.KW / np.sqrt(np.where(C > 0, C, 1))
        return np.argmax(np.where(C > 0, scores, -np.inf), axis=1)
