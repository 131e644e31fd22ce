"""LS-NMF and KLS-NMF when K has entries of both signs, as the linear kernel of signed data.

K = K⁺ - K⁻. The two parts go to the two sides of each ratio, so that both sides stay
nonnegative, as in the convex and semi-NMF of Ding, Li and Jordan (2010). K⁺W is one product
more an iteration; K⁻W = K⁺W - KW. The exact G step needs no change.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.types import Array
from ..grams.base import Operator
from .base import State, dot, flushed, minus, multiplied, plus
from .ls_nmf import GG, LSNMF, ExactKLSNMF, SymmetricKLSNMF


@dataclass(frozen=True)
class SignedLSNMF(LSNMF):
    """f with G free, for any symmetric K. Neither step ever raises f."""

    def products(self) -> dict[str, tuple[Operator, str]]:
        return super().products() | {"PW": (self.K.positive, "W")}

    def update_W(self, s: State) -> Array:
        """W ← W ∘ √( ((KG)⁺ + K⁻W·GᵀG) / ((KG)⁻ + K⁺W·GᵀG + λDG) )."""
        NW = plus(s.PW - s.KW)
        up = plus(s.KG) + dot(NW, GG(s))
        down = minus(s.KG) + dot(s.PW, GG(s)) + self.local(s.G, s.KG)
        return flushed(multiplied(s.W, up, down))

    def update_G(self, s: State) -> Array:
        """G ← G ∘ √( (K⁺W + G·WᵀK⁻W) / (K⁻W + G·WᵀK⁺W + λDW) ), Ding's rule and λ.

        With (KW)⁺ for K⁺W entries would become zero at once where (KW)_ik < 0, and stay so.
        """
        NW = plus(s.PW - s.KW)
        up = s.PW + dot(s.G, s.W.T @ NW)
        down = NW + dot(s.G, s.W.T @ s.PW) + self.local(s.W, s.KW)
        return flushed(multiplied(s.G, up, down))


@dataclass(frozen=True)
class SignedKLSNMF(SymmetricKLSNMF, SignedLSNMF):
    """f with GᵀG = I for any symmetric K, by the symmetrised rule.

    G ← G ∘ √( ((KW)⁺ + G·sym(GᵀB)) / (B + G·sym(Gᵀ(KW)⁺)) ),  B = (KW)⁻ + λDW.
    """

    def update_W(self, s: State) -> Array:
        return SignedLSNMF.update_W(self, s)

    def attraction(self, s: State) -> Array:
        return plus(s.KW)

    def repulsion(self, s: State) -> Array:
        return minus(s.KW) + self.local(s.W, s.KW)


@dataclass(frozen=True)
class SignedExactKLSNMF(ExactKLSNMF, SignedLSNMF):
    """f with GᵀG = I for any symmetric K, its G step solved exactly."""
