"""ONMF: three nonnegative factors, the outer two orthogonal.

    ‖X - GSFᵀ‖²,    G, S, F ≥ 0,  GᵀG = I,  FᵀF = I,

so that G groups the samples, F groups the features, and S tells which go together. The
multiplicative rules are those of Ding, Li, Peng and Park (2006). Their G and F steps only tend to
orthogonal columns and can raise the objective; the S step cannot. The exact steps keep all
constraints, and descend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import (
    dot,
    flushed,
    inner,
    multiplied,
    one_a_row,
    taken,
    unit_columns,
)
from ..core.types import Array
from .base import State
from .nmf import FF, GG, NMF


@dataclass(frozen=True)
class OrthogonalNMF(NMF):
    """‖X - GSFᵀ‖² with orthogonal G and F."""

    factors = ("G", "F", "S")

    def start(self, G: Array, F: Array) -> dict[str, Array]:
        """Columns of length 1, as the constraints have it, and the S that fits if they hold."""
        G, F = unit_columns(G), unit_columns(F)
        return {"G": G, "F": F, "S": G.T @ self.X.dot(F)}

    def update_G(self, s: State) -> Array:
        """G ← G ∘ √( XFSᵀ / (G·GᵀXFSᵀ) )."""
        A = dot(s.XF, s.S.T)
        return flushed(multiplied(s.G, A, dot(s.G, s.G.T @ A)))

    def update_F(self, s: State) -> Array:
        """F ← F ∘ √( XᵀGS / (F·FᵀXᵀGS) )."""
        B = dot(s.XtG, s.S)
        return flushed(multiplied(s.F, B, dot(s.F, s.F.T @ B)))

    def update_S(self, s: State) -> Array:
        """S ← S ∘ √( GᵀXF / (GᵀG·S·FᵀF) )."""
        return flushed(multiplied(s.S, s.G.T @ s.XF, GG(s) @ s.S @ FF(s)))

    def loss(self, s: State) -> float:
        GXF, GSF = s.G.T @ s.XF, GG(s) @ s.S @ FF(s)
        return self.X.square_sum - 2 * inner(s.S, GXF) + inner(s.S, GSF)

    def factorization(self, s: State) -> tuple[Array, Array]:
        return s.G, s.F @ s.S.T


@dataclass(frozen=True)
class GroupedONMF(OrthogonalNMF):
    """The same problem, each step solved exactly: from the second iteration on none raises it.

    Nonnegative orthogonal columns have one nonzero entry a row, so the best G for given F and S is
    found row by row, and F likewise. Then S = GᵀXF is the best S, and no entry of it is negative.
    """

    def update_G(self, s: State) -> Array:
        return grouped(*self.of_samples(s, s.S), self.X.row_square_sums)

    def update_F(self, s: State) -> Array:
        """With the S of the new G."""
        return grouped(*self.of_features(s, s.XtG.T @ s.F), self.X.T.row_square_sums)

    def update_S(self, s: State) -> Array:
        return s.G.T @ s.XF

    def of_samples(self, s: State, S: Array) -> tuple[Array, Array]:  # (n, k), (k,)
        """Inner products with the prototypes SFᵀ, and their squared lengths."""
        return dot(s.XF, S.T), np.einsum("ab,bc,ac->a", S, FF(s), S)

    def of_features(self, s: State, S: Array) -> tuple[Array, Array]:  # (p, k), (k,)
        """The same for features with the prototypes GS."""
        return dot(s.XtG, S), np.einsum("ab,ac,cb->b", S, GG(s), S)

    def residual(self, s: State) -> float:
        """The root of what the next steps in G and in F gain, compared with ‖X‖²."""
        gain = 0.0
        for V, (b, C) in ((s.G, self.of_samples(s, s.S)), (s.F, self.of_features(s, s.S))):
            best = np.maximum(scores(b, C), 0).max(axis=1)
            here = np.einsum("ik,ik->i", V, 2 * b - V * C)
            gain += float(np.maximum(best**2 - here, 0).sum(dtype=np.float64))
        return math.sqrt(gain / self.scale)


def grouped(b: Array, C: Array, squares: Array) -> Array:  # (n, k), (k,), (n,) -> (n, k)
    """V with one entry a row and columns of length 1, so that Σ_i (x_i - V_i P)² is least.

    P are prototypes of squared lengths C, and b the inner products with them. A row goes where
    b_ic / √C_c is largest, by which Σ falls by the square of that. A column without rows gets the
    one that is explained worst.
    """
    suits = scores(b, C)
    c = np.argmax(suits, axis=1)
    best = np.maximum(taken(suits, c), 0)
    V = one_a_row(b, c, best / np.sqrt(np.where(C > 0, C, 1))[c])
    empty = np.flatnonzero(~V.any(axis=0))
    if empty.size:
        worst = np.argsort(best**2 - squares, kind="stable")[: empty.size]
        for row, column in zip(worst, empty, strict=False):
            V[row] = 0
            V[row, column] = 1
    return unit_columns(V)


def scores(b: Array, C: Array) -> Array:  # (n, k), (k,) -> (n, k)
    """b_ic / √C_c; a prototype of zeros suits no row."""
    return np.where(C > 0, b / np.sqrt(np.where(C > 0, C, 1)), -np.inf)
