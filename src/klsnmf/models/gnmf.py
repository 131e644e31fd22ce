"""GNMF: NMF with a graph that ties the coefficients of neighbours together.

    ‖X - GFᵀ‖² + α tr(GᵀLG),    G, F ≥ 0,  ‖F_k‖ = 1,    L = Deg - A,

after Cai, He, Han and Huang (2011). The lengths of the columns of F must be fixed: otherwise the
graph term pushes G towards zero while F grows, without end. Instead of scaling the columns in
every step, the lengths are written into the problem. With F = F'N, N = diag ‖F_k‖ and G = G'N⁻¹,

    h(G, F) = ‖X - GFᵀ‖² + α tr(GᵀLG N²),    N² = diag(FᵀF),

has the value of the problem above at (G', F'), whatever the lengths. It is a quadratic in G and
a quadratic in F, and the usual multiplicative rule for each never raises it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from ..core.types import Array
from ..grams.base import Operator
from ..grams.graph import Graph
from .base import State, column_inner, dot, flushed, scaled
from .nmf import FF, GG, NMF

#: α times the mean degree up to which single precision tells fits apart.
_MOST_GRAPH = 10.0


@dataclass(frozen=True)
class GNMF(NMF):
    """h(G, F). Neither step ever raises it; α = 0 is NMF."""

    graph: Graph
    alpha: float

    def products(self) -> dict[str, tuple[Operator, str]]:
        return super().products() | {"AG": (self.graph, "G")}

    def in_single_precision(self) -> Self:
        """Itself where the graph counts most: GᵀLG is a difference of numbers that large."""
        if self.alpha * float(self.graph.degrees.mean()) > _MOST_GRAPH:
            return self
        rough = super().in_single_precision()
        return rough if rough is self else replace(rough, graph=self.graph.in_single_precision())

    def update_G(self, s: State) -> Array:
        """G ← G ∘ (XF + αAGN²) / (G·FᵀF + αDeg·GN²)."""
        N2 = self.alpha * column_inner(s.F, s.F)
        down = dot(s.G, FF(s)) + self.graph.degrees * s.G * N2
        return flushed(scaled(s.G, s.XF + s.AG * N2, down))

    def update_F(self, s: State) -> Array:
        """F ← F ∘ XᵀG / (F·(GᵀG + α diag(GᵀLG)))."""
        down = dot(s.F, GG(s)) + s.F * (self.alpha * self.roughness(s))
        return flushed(scaled(s.F, s.XtG, down))

    def roughness(self, s: State) -> Array:  # (k,)
        """The diagonal of GᵀLG: how much each column of G varies over the graph."""
        return column_inner(s.G, self.graph.degrees * s.G - s.AG)

    def loss(self, s: State) -> float:
        return super().loss(s) + self.alpha * float(column_inner(s.F, s.F) @ self.roughness(s))
