"""Semi-NMF: nonnegative coefficients, prototypes of any sign.

    ‖X - GFᵀ‖²,    G ≥ 0,

for data of any sign. The rules are those of Ding, Li and Jordan (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import dot, flushed, minus, multiplied, plus
from ..core.types import Array
from .base import State
from .nmf import FF, GG, NMF


@dataclass(frozen=True)
class SemiNonnegative(NMF):
    """‖X - GFᵀ‖² with F free. Neither step ever raises it."""

    factors = ("F", "G")

    def update_F(self, s: State) -> Array:
        """F = XᵀG (GᵀG)⁻¹: the best F there is."""
        # The pseudoinverse also serves where columns of G are zero, or alike: directions that the
        # precision of GᵀG cannot tell from zero are left out.
        M = GG(s)
        cut = 10 * len(M) * np.finfo(M.dtype).eps
        return dot(s.XtG, np.linalg.pinv(M, rcond=cut, hermitian=True).astype(M.dtype))

    def update_G(self, s: State) -> Array:
        """G ← G ∘ √( ((XF)⁺ + G(FᵀF)⁻) / ((XF)⁻ + G(FᵀF)⁺) )."""
        up = plus(s.XF) + dot(s.G, minus(FF(s)))
        down = minus(s.XF) + dot(s.G, plus(FF(s)))
        return flushed(multiplied(s.G, up, down))
