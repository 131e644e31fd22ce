"""New samples: W stays, and each new sample finds its row of G.

For a new x, with k_j = k(x_j, x) and δ_j = K_jj + k(x, x) - 2 k_j, f depends on its row g as

    ½ gᵀCg - gᵀb,    b = Wᵀk - λWᵀδ,  C = WᵀKW,    g ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import nearness, one_a_row, plus, taken
from ..core.arrays import namespace
from ..core.types import Array, Labels

#: The most sweeps over the columns in `coefficients`, and the change that counts as none.
_SWEEPS = 1000
_SMALL = 1e-6

#: If the cosine of a sample with every prototype is at most this, it resembles none of them: each
#: would explain less than a thousandth of it. Where a cluster is nearly two pieces, its prototype
#: knows only the larger one.
_STRANGE = 0.03


@dataclass(frozen=True)
class NewSamples:
    """What a fit keeps to place new samples.

    Attributes
    ----------
    C : (k, k) array, WᵀKW
    sums : (k,) array, 1ᵀW
    lengths : (k,) array, dᵀW, d the diagonal of K
    lam : λ
    exact : whether a row of G has one nonzero entry
    """

    C: Array
    sums: Array
    lengths: Array
    lam: float
    exact: bool

    @property
    def own(self) -> Array:  # (k,)
        """The diagonal of C."""
        return namespace(self.C).linalg.diagonal(self.C)

    def gains(self, kW: Array, own: Array) -> Array:  # (m, k), (m,) -> (m, k)
        """b, from the products kᵀW and k(x, x)."""
        return kW - self.lam * (own[:, None] * self.sums + self.lengths - 2 * kW)

    def scores(self, kW: Array, own: Array) -> Array:  # (m, k)
        """b_k / √C_kk; the largest names the cluster, as for the samples of the fit."""
        C, xp = self.own, namespace(kW)
        return xp.where(C > 0, self.gains(kW, own) / xp.sqrt(xp.where(C > 0, C, 1)), -xp.inf)

    def likeness(self, kW: Array) -> Array:  # (m, k)
        """kᵀW_k / √C_kk: the scores without the local term."""
        C, xp = self.own, namespace(kW)
        return xp.where(C > 0, kW / xp.sqrt(xp.where(C > 0, C, 1)), -xp.inf)

    def labels(self, kW: Array, own: Array) -> Labels:  # (m,)
        """The largest score. If none is positive, only λ would decide, and it is left out."""
        scores, xp = self.scores(kW, own), namespace(kW)
        fits = xp.max(scores, axis=1)[:, None] > 0
        return xp.argmax(xp.where(fits, scores, self.likeness(kW)), axis=1)

    def strangers(self, kW: Array, own: Array) -> Array:  # (m,)
        """Whether a sample resembles no cluster, so that next to nothing would choose its label."""
        xp = namespace(kW)
        return xp.max(self.likeness(kW), axis=1) <= _STRANGE * xp.sqrt(own)

    def coefficients(self, kW: Array, own: Array) -> Array:  # (m, k)
        """The rows of G: by the exact G step, or as the nonnegative minimum."""
        C, xp = self.own, namespace(kW)
        safe = xp.where(C > 0, C, 1)
        b = self.gains(kW, own)
        if self.exact:
            c = self.labels(kW, own)
            return one_a_row(kW, c, plus(taken(b, c)) / xp.take(safe, c))
        # Coordinate descent, a column of all samples at a time: each step is a closed form.
        G = plus(b / safe) / C.shape[0]
        columns = [a for a in range(C.shape[0]) if C[a] > 0]
        for _ in range(_SWEEPS if G.shape[0] else 0):
            before = G + 0
            for a in columns:
                G[:, a] = plus(G[:, a] + (b[:, a] - G @ self.C[:, a]) / C[a])
            if float(xp.max(xp.abs(G - before))) <= _SMALL * float(xp.max(G)):
                break
        return G


@dataclass(frozen=True)
class NearestMean(NewSamples):
    """New samples of kernel k-means. Column k of W is the mean of cluster k times its length."""

    length: Array  # (k,)

    def labels(self, kW: Array, own: Array) -> Labels:  # (m, k), (m,) -> (m,)
        """argmin_k ‖φ(x) - m_k‖²."""
        return np.argmax(2 * kW / self.length - np.diag(self.C) / self.length**2, axis=1)

    def scores(self, kW: Array, own: Array) -> Array:  # (m, k)
        """1/‖φ(x) - m_k‖."""
        length = self.length
        squares = own[:, None] - 2 * kW / length + np.diag(self.C) / length**2
        return nearness(np.sqrt(np.maximum(squares, 0)))

    def coefficients(self, kW: Array, own: Array) -> Array:  # (m, k)
        return (np.eye(len(self.C)) / self.length)[self.labels(kW, own)]
