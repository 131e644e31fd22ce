"""ONMF: three nonnegative factors, the outer two orthogonal.

    ‖X - GSFᵀ‖²,    G, S, F ≥ 0,  GᵀG = I,  FᵀF = I,

so that G groups the samples, F groups the features, and S tells which go together. The
multiplicative rules are those of Ding, Li, Peng and Park (2006). Their G and F steps only tend to
orthogonal columns and can raise the objective; the S step cannot. The exact steps keep all
constraints, and descend.
"""

from __future__ import annotations

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
        """For samples with the prototypes SFᵀ."""
        C = np.einsum("ab,bc,ac->a", s.S, FF(s), s.S)
        return grouped(dot(s.XF, s.S.T), C, self.X.row_square_sums)

    def update_F(self, s: State) -> Array:
        """For features with the prototypes GS, S that of the new G."""
        S = s.XtG.T @ s.F
        C = np.einsum("ab,ac,cb->b", S, GG(s), S)
        return grouped(dot(s.XtG, S), C, self.X.T.row_square_sums)

    def update_S(self, s: State) -> Array:
        return s.G.T @ s.XF


def grouped(b: Array, C: Array, squares: Array) -> Array:  # (n, k), (k,), (n,) -> (n, k)
    """V with one entry a row and columns of length 1, so that Σ_i (x_i - V_i P)² is least.

    P are prototypes of squared lengths C, and b the inner products with them. A row goes where
    b_ic / √C_c is largest, by which Σ falls by the square of that. A column without rows gets the
    one that is explained worst.
    """
    scores = np.where(C > 0, b / np.sqrt(np.where(C > 0, C, 1)), -np.inf)
    c = np.argmax(scores, axis=1)
    best = np.maximum(taken(scores, c), 0)
    V = one_a_row(b, c, best / np.sqrt(np.where(C > 0, C, 1))[c])
    empty = np.flatnonzero(~V.any(axis=0))
    if empty.size:
        worst = np.argsort(best**2 - squares, kind="stable")[: empty.size]
        for row, column in zip(worst, empty, strict=False):
            V[row] = 0
            V[row, column] = 1
    return unit_columns(V)
