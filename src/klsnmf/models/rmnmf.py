"""RMNMF: a factorization that outliers do not bend, on a graph.

    Σ_i ‖x_i - F g_i‖ + α tr(GᵀLG),    G ≥ 0, GᵀG = I, F of any sign,

after Huang, Nie, Huang and Ding, "Robust manifold nonnegative matrix factorization" (2014). Errors
count with their length, not its square. Solved by an augmented Lagrangian: the errors become
E = X - GFᵀ, the nonnegative G becomes Z = G, and the multipliers Λ and Σ with the weight μ drive
both equations home. With Y = X - E + Λ/μ an iteration is

    E:  e_i = max(0, 1 - 1/(μ‖q_i‖)) q_i,   Q = X - GFᵀ + Λ/μ
    F = YᵀG
    Z = max(0, G + Σ/μ - (α/μ) LG)
    G = UVᵀ,   UΔVᵀ = YF + Z - Σ/μ - (α/μ) LZ
    Λ ← Λ + μ(X - GFᵀ - E),   Σ ← Σ + μ(G - Z),   μ ← 1.02 μ.

A faster growth of μ stalls before both equations hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._typing import Array
from ..grams import Operator
from ..graphs import Graph
from .base import State, inner, unit_columns
from .nmf import NMF

#: How well X - GFᵀ = E and G = Z must hold at the end, relative to ‖X‖ and √k.
RESIDUAL = 1e-6

#: What μ is multiplied with in an iteration, and in all of them at most.
GROWTH = 1.02
MOST_GROWTH = 1e5


@dataclass(frozen=True)
class RMNMF(NMF):
    """Σ_i ‖x_i - F g_i‖ + α tr(GᵀLG). X is dense. R = X - GFᵀ is kept, as several steps use it.

    Only lengths and angles of samples matter, so X may hold their coordinates in an orthonormal
    basis of the space they span: (n, r) in place of (n, p).
    """

    graph: Graph
    alpha: float
    basis: Array | None = None  # (p, r)

    factors = ("E", "F", "Z", "G", "R", "Lambda", "Sigma", "mu")

    @cached_property
    def scale(self) -> float:
        return float(np.sqrt(self.X.row_square_sums).sum())

    @cached_property
    def first_mu(self) -> float:
        """μ at the start: 1, or what the graph term asks for, whose curvature is 2αL ≤ 4α Deg."""
        return max(1.0, self.alpha * float(self.graph.degrees.max()))

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"AG": (self.graph, "G"), "AZ": (self.graph, "Z")}

    def start(self, G: Array, F: Array) -> dict[str, Array]:
        """From the clusters that G names; F follows from them."""
        G = unit_columns(np.eye(G.shape[1])[np.argmax(G, axis=1)])
        F = self.X.X.T @ G
        nothing = np.zeros(self.X.shape)
        return {
            "E": nothing,
            "F": F,
            "Z": G,
            "G": G,
            "R": self.X.X - G @ F.T,
            "Lambda": nothing,
            "Sigma": np.zeros_like(G),
            "mu": np.full((1, 1), self.first_mu),
        }

    def update_E(self, s: State) -> Array:
        """Each error is as its share of Q, shortened by 1/μ."""
        Q = s.R + s.Lambda / s.mu
        length = np.sqrt(np.einsum("ij,ij->i", Q, Q))[:, None]
        Q *= np.maximum(0, 1 - 1 / np.maximum(s.mu * length, np.finfo(Q.dtype).tiny))
        return Q

    def update_F(self, s: State) -> Array:
        return self.Y(s).T @ s.G

    def update_Z(self, s: State) -> Array:
        LG = self.graph.degrees * s.G - s.AG
        return np.maximum(0, s.G + (s.Sigma - self.alpha * LG) / s.mu)

    def update_G(self, s: State) -> Array:
        LZ = self.graph.degrees * s.Z - s.AZ
        U, _, Vt = np.linalg.svd(
            self.Y(s) @ s.F + s.Z - (s.Sigma + self.alpha * LZ) / s.mu, full_matrices=False
        )
        return U @ Vt

    def update_R(self, s: State) -> Array:
        return self.X.X - s.G @ s.F.T

    def update_Lambda(self, s: State) -> Array:
        return s.Lambda + s.mu * (s.R - s.E)

    def update_Sigma(self, s: State) -> Array:
        return s.Sigma + s.mu * (s.G - s.Z)

    def update_mu(self, s: State) -> Array:
        return np.minimum(GROWTH * s.mu, MOST_GROWTH * self.first_mu)

    def Y(self, s: State) -> Array:  # (n, p)
        return self.X.X - s.E + s.Lambda / s.mu

    def loss(self, s: State) -> float:
        errors = np.sqrt(np.einsum("ij,ij->i", s.R, s.R)).sum()
        roughness = inner(s.G, self.graph.degrees * s.G - s.AG)
        return float(errors) + self.alpha * roughness

    def residual(self, s: State) -> float:
        """How far X - GFᵀ = E and G = Z are from holding."""
        error, split = s.R - s.E, s.G - s.Z
        size = np.sqrt(self.X.square_sum)
        k = s.G.shape[1]
        return float(max(np.linalg.norm(error) / size, np.linalg.norm(split) / np.sqrt(k)))

    def settled(self, s: State) -> bool:
        return self.residual(s) < RESIDUAL

    def factorization(self, s: State | Mapping[str, Array]) -> tuple[Array, Array]:
        s = State(**s) if isinstance(s, Mapping) else s
        return s.Z, s.F if self.basis is None else self.basis @ s.F
