"""Kernel k-means: k-means in the space of the kernel; assignments and means alternate.

It is the problem of LS-NMF at λ = 0,

    f(W, G) = ½ [tr K - 2 tr(WᵀKG) + tr(WᵀKW · GᵀG)],

where a row of G has a single 1 and column k of W is 1/n_k on the n_k samples of cluster k: then
2f adds up the squared distances of the samples to the means of their clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import column_inner, inner
from ..core.types import Array, Labels
from ..grams.base import Gram, Operator
from .base import Model, State


@dataclass(frozen=True)
class Lloyd(Model):
    """Lloyd's batch algorithm. Neither step raises f if K is positive semidefinite."""

    K: Gram

    factors = ("W", "G")

    @property
    def scale(self) -> float:
        return self.K.trace / 2

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"KW": (self.K, "W")}

    def update_W(self, s: State) -> Array:
        """The means; an empty cluster restarts at the sample that is farthest from its mean."""
        members = self.members(np.argmax(s.G, axis=1), s)
        size = column_inner(members, members)
        empty = np.flatnonzero(size == 0)
        if empty.size:
            distance = self.K.each(self.K.diagonal) - self.nearness(s).max(axis=1)
            furthest = np.argsort(-distance, kind="stable")[: empty.size]
            alone = np.broadcast_to(self.K.root, (len(members), 1))[furthest, 0]
            members[furthest, empty], size[empty] = alone, alone**2
        return members / size

    def update_G(self, s: State) -> Array:
        """Each sample goes to the nearest mean."""
        return self.members(self.labels(s), s)

    def members(self, labels: Labels, s: State) -> Array:  # (n, k)
        """A 1 for each sample in its cluster, or √ω if samples have weights."""
        return np.asarray(self.K.root * np.eye(s.G.shape[1], dtype=s.G.dtype)[labels])

    def nearness(self, s: State) -> Array:  # (n, k)
        """2 KW_ik - C_kk, C = WᵀKW: what is left of -‖φ(x_i) - m_k‖² without K_ii."""
        return np.asarray(2 / self.K.root * s.KW - column_inner(s.W, s.KW))

    def labels(self, s: State) -> Labels:
        return np.argmax(self.nearness(s), axis=1)

    def loss(self, s: State) -> float:
        C, size = column_inner(s.W, s.KW), column_inner(s.G, s.G)
        return (self.K.trace - 2 * inner(s.G, s.KW) + float(C @ size)) / 2
