"""LS-NMF, KLS-NMF and GLS-NMF: one problem, and four steps towards its solution.

    f(W, G) = ½ [tr K - 2 tr(WᵀKG) + tr(WᵀKW · GᵀG)] + λ tr(WᵀDG),    W, G ≥ 0,

with D_ij = K_ii + K_jj - 2 K_ij, the squared distances in kernel space. The first part asks
that every sample be a mixture G of k prototypes, themselves mixtures W of the samples; the
second that samples i and j be alike, (WGᵀ)_ij large, only where they are close. LS-NMF leaves
G free; KLS-NMF adds GᵀG = I, so that G says which cluster a sample is in. GLS-NMF adds

    γ/2 tr(GᵀLG),    L = Deg - A,

with A the weights of a neighbour graph and Deg its degrees. That term changes with the scale of
G, so it has a meaning only together with GᵀG = I, and the exact G step, which sets the scale at
the end, does not apply.

Equation names are those of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from ..core.arithmetic import (
    column_inner,
    dot,
    flushed,
    inner,
    lengths,
    minus,
    multiplied,
    one_a_row,
    plus,
    square,
    sym,
    taken,
)
from ..core.arrays import namespace
from ..core.types import Array, Labels
from ..grams.base import Gram, Operator, Weights
from .base import PATIENCE, Model, State

#: Steps after which a sample that resembles no other has left its cluster.
_FADING = 5


@dataclass(frozen=True)
class LocalSimilarity(Model):
    """f, with the graph term if there is a graph, and the step that is used to minimise it.

    A gradient is *push* minus *pull*, both nonnegative: what lowers the entries of a factor, and
    what raises them. The rules are ratios of the two. Where K has entries of both signs, as the
    linear kernel of signed data, K = K⁺ - K⁻, and the two parts go to the two sides, as in the
    convex and semi-NMF of Ding, Li and Jordan (2010). That is one product more an iteration, K⁺W;
    K⁻W = K⁺W - KW.
    """

    K: Gram
    lam: float
    step: Step
    graph: Weights | None = None
    gamma: float = 0.0

    factors = ("W", "G")

    @property
    def scale(self) -> float:
        return self.K.trace / 2

    @property
    def signed(self) -> bool:
        """Whether K has negative entries."""
        return not self.K.nonnegative

    def products(self) -> dict[str, tuple[Operator, str]]:
        products: dict[str, tuple[Operator, str]] = {"KW": (self.K, "W"), "KG": (self.K, "G")}
        if self.signed and not self.closed:
            products["PW"] = (self.K.positive, "W")
        if self.graph is not None:
            products["AG"] = (self.graph, "G")
        return products

    @property
    def closed(self) -> bool:
        """Whether the best W for a G is known: G itself, where GᵀG = I and λ = 0."""
        return self.lam == 0 and self.step is EXACT

    @property
    def patience(self) -> int:
        """Steps that are solved exactly do nothing for ever once they do nothing.

        Except for samples that are like no other of their cluster: those fade out of it. And where
        λ > 0 the entries of W go on by small steps, which get smaller.
        """
        return _FADING if self.step is EXACT else PATIENCE

    def known_products(self, factor: str, s: State) -> dict[str, Array]:
        """KW from KG, where W is G with columns of another length."""
        if factor != "W" or not self.closed:
            return {}
        own = namespace(s.W).all(as_own(s.G, s) == s.W)
        return {"KW": as_own(s.KG, s)} if own else {}

    def in_single_precision(self) -> Self:
        K = self.K.in_single_precision()
        return self if K is self.K else replace(self, K=K)

    def update_W(self, s: State) -> Array:
        return self.step.update_W(self, s)

    def update_G(self, s: State) -> Array:
        return self.step.update_G(self, s)

    def labels(self, s: State) -> Labels:  # (n,)
        return self.step.labels(self, s)

    def runaway(self, s: State) -> bool:
        return self.step.runaway(self, s)

    def loss(self, s: State) -> float:
        WKG = inner(s.W, s.KG)
        fit = self.K.trace - 2 * WKG + inner(WKW(s), GG(s))
        local = self.lam * self.K.total_distance(s.W, s.G, WKG) if self.lam else 0.0
        return fit / 2 + local + self.roughness(s)

    def roughness(self, s: State) -> float:
        """γ/2 tr(GᵀLG)."""
        if self.graph is None:
            return 0.0
        return self.gamma / 2 * (inner(s.G, self.graph.degrees * s.G) - inner(s.G, s.AG))

    def local(self, V: Array, KV: Array) -> Any:
        """λDV; just 0 if λ is 0."""
        return self.K.distances(V, KV, self.lam) if self.lam else 0.0

    def forces_on_W(self, s: State) -> tuple[Array, Array]:  # (n, k), (n, k)
        """-∂f/∂W = KG - KW·GᵀG - λDG, as pull and push."""
        if self.signed:
            pull = plus(s.KG) + dot(negative_KW(self, s), GG(s))
            push = minus(s.KG) + dot(positive_KW(self, s), GG(s))
        else:
            pull, push = s.KG, dot(s.KW, GG(s))
        push += self.local(s.G, s.KG)
        return pull, push

    def forces_on_G(self, s: State) -> tuple[Array, Array]:  # (n, k), (n, k)
        """-∂f/∂G = KW - G·WᵀKW - λDW, as pull and push.

        With (KW)⁺ for K⁺W entries would become zero at once where (KW)_ik < 0, and stay so.
        """
        if self.signed:
            PW, NW = positive_KW(self, s), negative_KW(self, s)
            pull, push = PW + dot(s.G, s.W.T @ NW), NW + dot(s.G, s.W.T @ PW)
        else:
            pull, push = s.KW, dot(s.G, WKW(s))
        push += self.local(s.W, s.KW)
        return pull, push

    def forces_on_orthogonal_G(self, s: State) -> tuple[Array, Array]:  # (n, k), (n, k)
        """The same where GᵀG = I, so that WᵀKW·GᵀG does not change: KW - λDW - γLG."""
        if self.signed:
            pull, push = plus(s.KW), minus(s.KW) + self.local(s.W, s.KW)
        else:
            pull = s.KW
            push = self.local(s.W, s.KW) if self.lam else namespace(s.KW).zeros_like(s.KW)
        if self.graph is not None:
            pull = pull + self.gamma * s.AG
            push = push + self.gamma * self.graph.degrees * s.G
        return pull, push

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

    def lost(self, s: State) -> float:
        """Where λ is too large, samples are better off with no prototype at all."""
        xp = namespace(s.W)
        known = self.K.diagonal > 0  # a sample of length zero fits no cluster whatever λ is
        if self.lam == 0 or not xp.any(known):
            return 0.0
        alone = known & (xp.max(self.scores(s), axis=1) <= 0)
        return self.K.count(alone) / self.K.count(known)


def GG(s: State) -> Array:  # (k, k)
    """GᵀG: the loss and the next W step share it."""
    return s.once("GG", "G", lambda: square(s.G))


def WKW(s: State) -> Array:  # (k, k)
    """WᵀKW: the G step and the loss share it."""
    return s.once("WKW", "W", lambda: s.W.T @ s.KW)


def as_own(V: Array, s: State) -> Array:  # (n, k)
    """V_c / n_c², n_c the lengths of the columns of G: of G the best W at λ = 0, of KG its KW."""
    return V / s.once("squares", "G", lambda: lengths(s.G) ** 2)


def positive_KW(f: LocalSimilarity, s: State) -> Array:  # (n, k)
    """K⁺W: the loop's product, or made here where few steps ask for it."""
    return s.PW if "PW" in vars(s) else s.once("PW", "W", lambda: f.K.positive.dot(s.W))


def negative_KW(f: LocalSimilarity, s: State) -> Array:  # (n, k)
    """K⁻W."""
    return plus(positive_KW(f, s) - s.KW)


# ---------------------------------------------------------------------- steps


def printed_W(f: LocalSimilarity, s: State) -> Array:
    """eq_update_W:  W ← W ∘ √( KG / (KW·GᵀG + λDG) ), with nothing added but a floor.

    It never raises f. For a K of both signs:
    W ← W ∘ √( ((KG)⁺ + K⁻W·GᵀG) / ((KG)⁻ + K⁺W·GᵀG + λDG) ).
    """
    return multiplied(s.W, *f.forces_on_W(s))


def update_W(f: LocalSimilarity, s: State) -> Array:
    """eq_update_W, with a floor, because products with tiny numbers are slow."""
    return flushed(printed_W(f, s))


def free_G(f: LocalSimilarity, s: State) -> Array:
    """G ← G ∘ √( KW / (G·WᵀKW + λDW) ): it never raises f.

    For a K of both signs Ding's rule and λ:
    G ← G ∘ √( (K⁺W + G·WᵀK⁻W) / (K⁻W + G·WᵀK⁺W + λDW) ).
    """
    return flushed(multiplied(s.G, *f.forces_on_G(s)))


def printed_G(f: LocalSimilarity, s: State) -> Array:
    """eq_update_G:  G ← G ∘ √( (KW + λG(GᵀDW)) / (λDW + G(GᵀKW)) )."""
    A, B = f.forces_on_orthogonal_G(s)
    return multiplied(s.G, A + dot(s.G, s.G.T @ B), B + dot(s.G, s.G.T @ A))


def symmetric_G(f: LocalSimilarity, s: State) -> Array:
    """G ← G ∘ √( (KW + G·sym(λGᵀDW)) / (λDW + G·sym(GᵀKW)) ).

    GᵀKW and GᵀDW are not symmetric, so the printed rule can raise the Lagrangian. With their
    symmetric parts, the multiplier that thm_conv_G needs, it never rises. For a K of both signs:
    G ← G ∘ √( ((KW)⁺ + G·sym(GᵀB)) / (B + G·sym(Gᵀ(KW)⁺)) ),  B = (KW)⁻ + λDW.
    """
    A, B = f.forces_on_orthogonal_G(s)
    return flushed(multiplied(s.G, A + dot(s.G, sym(s.G.T @ B)), B + dot(s.G, sym(s.G.T @ A))))


def exact_W(f: LocalSimilarity, s: State) -> Array:
    """W = G at λ = 0, else eq_update_W; an empty column begins again.

    With columns of length n_c in G the best W is G_c / n_c². That is so for every positive
    semidefinite K. Where K is none, W = G may be above where W is, and eq_update_W is taken then.
    """
    W = as_own(s.G, s) if f.closed and G_is_not_above(f, s) else update_W(f, s)
    return reseeded(f, s, W)


def G_is_not_above(f: LocalSimilarity, s: State) -> bool:
    """Whether W = G does not raise f, up to rounding: tr (W - G)ᵀK(W - G) ≥ 0.

    For a G with columns of length n_c that is Σ_c n_c² v_cᵀKv_c with v_c = W_c - G_c/n_c².
    """
    xp = namespace(s.G)
    gains = column_inner(s.W, s.KW) * column_inner(s.G, s.G) - 2 * column_inner(s.W, s.KG)
    gain = float(xp.sum(gains + column_inner(s.G, as_own(s.KG, s))))
    return gain >= -10 * float(xp.finfo(s.G.dtype).eps) * f.K.trace


def reseeded(f: LocalSimilarity, s: State, W: Array) -> Array:
    """W, but an empty column begins again at the sample that is explained worst.

    That does not change f, as its column of G is zero, and the next G step lowers it.
    """
    xp = namespace(s.G)
    used = xp.any(s.G, axis=0)
    if not xp.all(used):
        best = xp.max(f.scores(s), axis=1)
        explained = best * xp.abs(best)  # with its sign: samples that nothing explains differ
        worst = xp.argsort(f.K.each(explained - f.K.diagonal), stable=True)
        empty = [k for k in range(W.shape[1]) if not used[k]]
        for rank, k in enumerate(empty):
            W[:, k] = 0
            W[int(worst[rank]), k] = 1
    return W


def exact_G(f: LocalSimilarity, s: State) -> Array:
    """G_ic = max(0, b_ic) / C_cc for c = argmax_k b_ik/√C_kk, with b and C as in `scores`.

    Nonnegative orthogonal columns mean one nonzero entry a row, so G is found row by row: the
    best column, and in it the best value. f does not change when a column of G is scaled and the
    same column of W scaled back, so the lengths of the columns can wait until the end.
    """
    scores, xp = f.scores(s), namespace(s.W)
    c = xp.argmax(scores, axis=1)
    root_C = xp.take(xp.sqrt(column_inner(s.W, s.KW)), c)
    best = plus(taken(scores, c)) / xp.where(root_C > 0, root_C, 1)
    return one_a_row(s.G, c, best)


def largest_score(f: LocalSimilarity, s: State) -> Labels:  # (n,)
    return namespace(s.W).argmax(f.scores(s), axis=1)


def largest_entry(f: LocalSimilarity, s: State) -> Labels:  # (n,)
    """The largest entry of a row of G, as in the paper; of the scores if the row is zero."""
    xp = namespace(s.G)
    return xp.where(xp.any(s.G, axis=1), xp.argmax(s.G, axis=1), largest_score(f, s))


def stays_bounded(f: LocalSimilarity, s: State) -> bool:
    """Steps that descend stay bounded."""
    return False


def grows(f: LocalSimilarity, s: State) -> bool:
    """E = GᵀKW - λGᵀDW, the multiplier of GᵀG = I, has turned negative: G grows for ever."""
    xp = namespace(s.G)
    large = column_inner(s.G, s.G) > 1e6 * s.G.shape[0]
    if not xp.any(large):
        return False
    pull, push = f.forces_on_orthogonal_G(s)
    return bool(xp.any(large & (column_inner(s.G, pull - push) < 0)))


@dataclass(frozen=True)
class Step:
    """A rule for each factor, how labels are read, and how it is seen that numbers run away."""

    update_W: Callable[[LocalSimilarity, State], Array]
    update_G: Callable[[LocalSimilarity, State], Array]
    labels: Callable[[LocalSimilarity, State], Labels] = largest_score
    runaway: Callable[[LocalSimilarity, State], bool] = stays_bounded


#: G free (eq_obj_lsnmf): neither rule ever raises f.
FREE = Step(update_W, free_G)

#: GᵀG = I (eq_klsnmf), by the two rules as the paper prints them.
PRINTED = Step(printed_W, printed_G, largest_entry, grows)

#: GᵀG = I, by the rule under which the Lagrangian never rises.
SYMMETRIC = Step(update_W, symmetric_G, runaway=grows)

#: GᵀG = I, the G step solved exactly, and at λ = 0 the W step too: no step ever raises f.
EXACT = Step(exact_W, exact_G)
