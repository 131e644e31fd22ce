"""ONMF: three nonnegative factors, the outer two orthogonal.

    ‖X - GSFᵀ‖²,    G, S, F ≥ 0,  GᵀG = I,  FᵀF = I,

so that G groups the samples, F groups the features, and S tells which go together. The rules
are those of Ding, Li, Peng and Park (2006). Their G and F steps only tend to orthogonal columns
and can raise the objective; the S step cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.arithmetic import dot, flushed, inner, multiplied, unit_columns
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
