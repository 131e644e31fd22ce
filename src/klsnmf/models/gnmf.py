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

import numpy as np

from ..core.arithmetic import column_inner, dot, flushed, scaled, square
from ..core.types import Array
from ..grams.base import Operator
from ..grams.graph import Graph
from .base import State
from .nmf import FF, GG, NMF
from .quadratic import gain, gain_by_rows, sweeps_worth, swept

#: α times the mean degree up to which single precision tells fits apart.
_MOST_GRAPH = 10.0


@dataclass(frozen=True)
class GraphNMF(NMF):
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

    def first_step(self, V: Array, other: Array, product: Array) -> Array:
        """G for F: sweeps, before each of which L is replaced by what bounds it, 2 Deg.

        tr(GᵀLGN²) ≤ tr(VᵀLVN²) + 2 tr((G - V)ᵀLVN²) + 2 tr((G - V)ᵀDeg(G - V)N²), with = at G = V.
        """
        V = np.maximum(V, 0, out=V)
        FF, N2 = square(other), self.alpha * column_inner(other, other)
        if self.alpha == 0:
            return swept(V, FF, product, sweeps_worth(self.X, V.shape[1]))
        E = np.multiply(2 * self.graph.degrees, N2, out=np.empty_like(V))
        for _ in range(sweeps_worth(self.X, V.shape[1])):
            V = swept(V, FF, product - self.Laplacian(V) * N2 + E * V, 1, E)
        return V

    def second_step(self, V: Array, other: Array, product: Array) -> Array:
        V = np.maximum(V, 0, out=V)
        A = self.curvature_of_F(other)
        return swept(V, A, product, sweeps_worth(self.X.T, V.shape[1]))

    def Laplacian(self, V: Array) -> Array:  # (n, k)
        """LV."""
        return self.graph.degrees * V - self.graph.dot(V)

    def curvature_of_F(self, G: Array) -> Array:  # (k, k)
        """GᵀG + α diag(GᵀLG)."""
        return square(G) + self.alpha * np.diag(column_inner(G, self.Laplacian(G)))

    def objective(self, first: Array, second: Array, of_first: Array) -> float:
        rough = column_inner(first, self.Laplacian(first)) * column_inner(second, second)
        return super().objective(first, second, of_first) + self.alpha * float(rough.sum())

    def curved(self, V: Array, second: Array) -> Array:
        A = square(second)
        return dot(V, A) + self.Laplacian(V) * (self.alpha * np.diag(A))

    def gain(self, first: Array, second: Array, of_first: Array, of_second: Array) -> float:
        def bend(V: Array) -> Array:
            return self.curved(V, second)

        weight = column_inner(second, second) * (1 + self.alpha * self.graph.degrees)
        in_G = gain(first, bend(first) - of_second, weight, bend)
        return in_G + gain_by_rows(second, self.curvature_of_F(first), of_first)
