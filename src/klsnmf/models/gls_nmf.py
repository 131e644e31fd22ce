"""GLS-NMF: KLS-NMF with a graph that ties the rows of G together.

    f(W, G) + γ/2 tr(GᵀLG),    L = Deg - A,

with A the weights of a neighbour graph and Deg its degrees. The new term changes with the
scale of G, so it has a meaning only together with GᵀG = I, and the exact G step, which sets
the scale at the end, does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.types import Array
from ..grams.base import Operator
from ..grams.graph import Graph
from .base import State, inner
from .ls_nmf import KLSNMF, SymmetricKLSNMF
from .signed import SignedKLSNMF


@dataclass(frozen=True, kw_only=True)
class GLSNMF(KLSNMF):
    """The rules as the paper's derivation gives them: γAG attracts, γ Deg G repels."""

    graph: Graph
    gamma: float

    def products(self) -> dict[str, tuple[Operator, str]]:
        return super().products() | {"AG": (self.graph, "G")}

    def attraction(self, s: State) -> Array:
        return super().attraction(s) + self.gamma * s.AG

    def repulsion(self, s: State) -> Array:
        return super().repulsion(s) + self.gamma * self.graph.degrees * s.G

    def loss(self, s: State) -> float:
        smoothness = inner(s.G, self.graph.degrees * s.G) - inner(s.G, s.AG)
        return super().loss(s) + self.gamma / 2 * smoothness


@dataclass(frozen=True)
class SymmetricGLSNMF(GLSNMF, SymmetricKLSNMF):
    """As GLSNMF with the symmetrised rule, under which the Lagrangian never rises."""


@dataclass(frozen=True)
class SignedGLSNMF(GLSNMF, SignedKLSNMF):
    """As SymmetricGLSNMF for a K with entries of both signs."""
