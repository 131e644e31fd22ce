"""Semi-NMF: nonnegative coefficients, prototypes of any sign.

    ‖X - GFᵀ‖²,    G ≥ 0,

for data of any sign. The multiplicative rules are those of Ding, Li and Jordan (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import dot, flushed, minus, multiplied, plus, square
from ..core.types import Array
from .base import State
from .nmf import FF, GG, NMF
from .quadratic import gain_by_rows, sweeps_worth, swept


@dataclass(frozen=True)
class SemiNonnegative(NMF):
    """‖X - GFᵀ‖² with F free. Neither step ever raises it."""

    factors = ("F", "G")

    def update_F(self, s: State) -> Array:
        """F = XᵀG (GᵀG)⁻¹, the best F."""
        return best_F(GG(s), s.XtG)

    def update_G(self, s: State) -> Array:
        """G ← G ∘ √( ((XF)⁺ + G(FᵀF)⁻) / ((XF)⁻ + G(FᵀF)⁺) )."""
        up = plus(s.XF) + dot(s.G, minus(FF(s)))
        down = minus(s.XF) + dot(s.G, plus(FF(s)))
        return flushed(multiplied(s.G, up, down))

    def first_step(self, V: Array, other: Array, product: Array) -> Array:
        return best_F(square(other), product)

    def second_step(self, V: Array, other: Array, product: Array) -> Array:
        """G for F, by sweeps."""
        V = np.maximum(V, 0, out=V)
        return swept(V, square(other), product, sweeps_worth(self.X, V.shape[1]))

    def gain(self, first: Array, second: Array, of_first: Array, of_second: Array) -> float:
        in_F = gain_by_rows(first, square(second), of_second, free=True)
        return in_F + gain_by_rows(second, square(first), of_first)


def best_F(M: Array, XtG: Array) -> Array:  # (k, k), (p, k) -> (p, k)
    """XᵀG M⁻¹, with M = GᵀG.

    The pseudoinverse also works if columns of G are zero or alike. Directions that GᵀG cannot
    distinguish from zero at its precision are left out.
    """
    cut = 10 * len(M) * np.finfo(M.dtype).eps
    return dot(XtG, np.linalg.pinv(M, rcond=cut, hermitian=True).astype(M.dtype))
