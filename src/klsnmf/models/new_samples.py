"""New samples: W stays, and each new sample finds its row of G.

For a new x, with k_j = k(x_j, x) and δ_j = K_jj + k(x, x) - 2 k_j, f depends on its row g as

    ½ gᵀCg - gᵀb,    b = Wᵀk - λWᵀδ,  C = WᵀKW,    g ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array, Labels

#: Sweeps over the columns at most, and the change that is none, in `coefficients`.
_SWEEPS = 1000
_SMALL = 1e-6


@dataclass(frozen=True)
class NewSamples:
    """What is left of a fit when new samples come.

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

    def gains(self, kW: Array, own: Array) -> Array:  # (m, k), (m,) -> (m, k)
        """b, from the products kᵀW and k(x, x)."""
        return kW - self.lam * (own[:, None] * self.sums + self.lengths - 2 * kW)

    def scores(self, kW: Array, own: Array) -> Array:  # (m, k)
        """b_k / √C_kk; the largest names the cluster, as for the samples of the fit."""
        C = np.diag(self.C)
        return np.where(C > 0, self.gains(kW, own) / np.sqrt(np.where(C > 0, C, 1)), -np.inf)

    def labels(self, kW: Array, own: Array) -> Labels:  # (m,)
        return np.argmax(self.scores(kW, own), axis=1)

    def coefficients(self, kW: Array, own: Array) -> Array:  # (m, k)
        """The rows of G: by the exact G step, or as the nonnegative minimum."""
        C = np.diag(self.C)
        safe = np.where(C > 0, C, 1)
        if self.exact:
            rows, c = np.arange(len(kW)), self.labels(kW, own)
            G = np.zeros_like(kW)
            G[rows, c] = np.maximum(self.gains(kW, own)[rows, c], 0) / safe[c]
            return G
        # Coordinate descent, a column of all samples at a time: each step is a closed form.
        b = self.gains(kW, own)
        G = np.maximum(b / safe, 0) / len(C)
        for _ in range(_SWEEPS):
            largest = 0.0
            for a in np.flatnonzero(C > 0):
                column = np.maximum(G[:, a] + (b[:, a] - G @ self.C[:, a]) / C[a], 0)
                largest = max(largest, float(np.abs(column - G[:, a]).max(initial=0)))
                G[:, a] = column
            if largest <= _SMALL * float(G.max(initial=0)):
                break
        return G
