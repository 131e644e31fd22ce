"""LS-NMF and KLS-NMF.

    f(W, G) = ½ [tr K - 2 tr(WᵀKG) + tr(WᵀKW · GᵀG)] + λ tr(WᵀDG),    W, G ≥ 0,

with D_ij = K_ii + K_jj - 2 K_ij, the squared distances in kernel space. The first part asks
that every sample be a mixture G of k prototypes, themselves mixtures W of the samples; the
second that samples i and j be alike, (WGᵀ)_ij large, only where they are close. LS-NMF leaves
G free; KLS-NMF adds GᵀG = I, so that G says which cluster a sample is in.

Equation names are those of the paper. K ≥ 0 here; `signed` has the rules for any K.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from ..core.arrays import namespace
from ..core.types import Array, Labels
from ..grams.base import Gram, Operator
from .base import (
    State,
    column_inner,
    dot,
    flushed,
    inner,
    multiplied,
    one_a_row,
    plus,
    square,
    sym,
    taken,
)


def GG(s: State) -> Array:  # (k, k)
    """GᵀG: the loss and the next W step share it."""
    return s.once("GG", "G", lambda: square(s.G))


def WKW(s: State) -> Array:  # (k, k)
    """WᵀKW: the G step and the loss share it."""
    return s.once("WKW", "W", lambda: s.W.T @ s.KW)


@dataclass(frozen=True)
class LSNMF:
    """f with G free (eq_obj_lsnmf). Neither step ever raises f."""

    K: Gram
    lam: float = 0.0

    factors = ("W", "G")

    @property
    def scale(self) -> float:
        return self.K.trace / 2

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"KW": (self.K, "W"), "KG": (self.K, "G")}

    def in_single_precision(self) -> Self:
        K = self.K.in_single_precision()
        return self if K is self.K else replace(self, K=K)

    def update_W(self, s: State) -> Array:
        """eq_update_W:  W ← W ∘ √( KG / (KW·GᵀG + λDG) )."""
        down = dot(s.KW, GG(s))
        down += self.local(s.G, s.KG)
        return flushed(multiplied(s.W, s.KG, down))

    def update_G(self, s: State) -> Array:
        """G ← G ∘ √( KW / (G·WᵀKW + λDW) )."""
        down = dot(s.G, WKW(s))
        down += self.local(s.W, s.KW)
        return flushed(multiplied(s.G, s.KW, down))

    def loss(self, s: State) -> float:
        WKG = inner(s.W, s.KG)
        fit = self.K.trace - 2 * WKG + inner(WKW(s), GG(s))
        return fit / 2 + (self.lam * self.K.total_distance(s.W, s.G, WKG) if self.lam else 0.0)

    def local(self, V: Array, KV: Array) -> Any:
        """λDV; a plain zero when λ is."""
        return self.K.distances(V, KV, self.lam) if self.lam else 0.0

    def scores(self, s: State) -> Array:  # (n, k)
        """How well each prototype alone explains each sample: b_ik / √C_kk.

        With b = KW - λDW and C = WᵀKW, a sample given to prototype k alone lowers f by
        half the square of its score, so the largest score names its cluster. Unlike the
        largest entry of G it says something about samples whose row of G is zero.
        """
        C, xp = column_inner(s.W, s.KW), namespace(s.W)
        b = s.KW - self.local(s.W, s.KW)
        b /= xp.sqrt(xp.where(C > 0, C, 1))
        return b if xp.all(C > 0) else xp.where(C > 0, b, -xp.inf)

    def labels(self, s: State) -> Labels:  # (n,)
        return namespace(s.W).argmax(self.scores(s), axis=1)

    def settled(self, s: State) -> bool:
        """A loss that stands still is all that is waited for."""
        return True

    def runaway(self, s: State) -> str:
        """Steps that descend stay bounded."""
        return ""

    def collapse(self, s: State) -> str:
        """λ is too large where most samples are better off with no prototype at all."""
        xp = namespace(s.W)
        known = self.K.diagonal > 0  # a sample of length zero fits no cluster whatever λ is
        if self.lam == 0 or not xp.any(known):
            return ""
        alone = known & (xp.max(self.scores(s), axis=1) <= 0)
        lost = int(xp.count_nonzero(alone)) / int(xp.count_nonzero(known))
        return f"{lost:.0%} of the samples fit no cluster" if lost > 0.5 else ""


@dataclass(frozen=True)
class KLSNMF(LSNMF):
    """f with GᵀG = I (eq_klsnmf), by the two rules as the paper prints them."""

    def update_W(self, s: State) -> Array:
        """eq_update_W, with nothing added but a floor under the division."""
        return multiplied(s.W, s.KG, dot(s.KW, GG(s)) + self.local(s.G, s.KG))

    def update_G(self, s: State) -> Array:
        """eq_update_G:  G ← G ∘ √( (KW + λG(GᵀDW)) / (λDW + G(GᵀKW)) )."""
        A, B = self.attraction(s), self.repulsion(s)
        return multiplied(s.G, A + dot(s.G, s.G.T @ B), B + dot(s.G, s.G.T @ A))

    def attraction(self, s: State) -> Array:
        """The part of -∂f/∂G that pulls entries of G up: KW."""
        return s.KW

    def repulsion(self, s: State) -> Array:
        """The part of ∂f/∂G that pushes entries of G down: λDW."""
        return self.local(s.W, s.KW) if self.lam else namespace(s.KW).zeros_like(s.KW)

    def labels(self, s: State) -> Labels:
        """The largest entry of a row of G, as in the paper; of the scores if the row is zero."""
        xp = namespace(s.G)
        return xp.where(xp.any(s.G, axis=1), xp.argmax(s.G, axis=1), super().labels(s))

    def runaway(self, s: State) -> str:
        """E = GᵀKW - λGᵀDW, the multiplier of GᵀG = I, has turned negative: G grows for ever."""
        xp = namespace(s.G)
        large = column_inner(s.G, s.G) > 1e6 * s.G.shape[0]
        if xp.any(large):
            E = column_inner(s.G, self.attraction(s) - self.repulsion(s))
            if xp.any(large & (E < 0)):
                return "G grows without bound"
        return ""


@dataclass(frozen=True)
class SymmetricKLSNMF(KLSNMF):
    """As KLSNMF, with the symmetric multiplier that thm_conv_G needs.

    GᵀKW and GᵀDW are not symmetric, so the printed rule can raise the Lagrangian. With
    their symmetric parts it never rises.
    """

    def update_W(self, s: State) -> Array:
        return flushed(super().update_W(s))

    def update_G(self, s: State) -> Array:
        """G ← G ∘ √( (KW + G·sym(λGᵀDW)) / (λDW + G·sym(GᵀKW)) )."""
        A, B = self.attraction(s), self.repulsion(s)
        return flushed(multiplied(s.G, A + dot(s.G, sym(s.G.T @ B)), B + dot(s.G, sym(s.G.T @ A))))

    def labels(self, s: State) -> Labels:
        return LSNMF.labels(self, s)


@dataclass(frozen=True)
class ExactKLSNMF(LSNMF):
    """f with GᵀG = I, its G step solved exactly: no step ever raises f.

    Nonnegative orthogonal columns mean one nonzero entry a row, so G is found row by row:
    the best column, and in it the best value. f does not change when a column of G is
    scaled and the same column of W scaled back, so the lengths of the columns can wait
    until the end.
    """

    def update_W(self, s: State) -> Array:
        """eq_update_W; an empty column begins again at the sample that is explained worst.

        That does not change f, as its column of G is zero, and the next G step lowers it.
        """
        W, xp = super().update_W(s), namespace(s.G)
        used = xp.any(s.G, axis=0)
        if not xp.all(used):
            best = xp.max(self.scores(s), axis=1)
            explained = best * xp.abs(best)  # with its sign: samples that nothing explains differ
            worst = xp.argsort(explained - self.K.diagonal, stable=True)
            empty = [k for k in range(W.shape[1]) if not used[k]]
            for rank, k in enumerate(empty):
                W[:, k] = 0
                W[int(worst[rank]), k] = 1
        return W

    def update_G(self, s: State) -> Array:
        """G_ic = max(0, b_ic) / C_cc for c = argmax_k b_ik/√C_kk, with b and C as in `scores`."""
        scores, xp = self.scores(s), namespace(s.W)
        c = xp.argmax(scores, axis=1)
        root_C = xp.take(xp.sqrt(column_inner(s.W, s.KW)), c)
        best = plus(taken(scores, c)) / xp.where(root_C > 0, root_C, 1)
        return one_a_row(s.G, c, best)
