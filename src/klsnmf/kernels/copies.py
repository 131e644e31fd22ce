"""Samples that are there several times: neighbours are counted among distinct ones.

A copy is the nearest neighbour of its original. If each sample is there twice, five of its ten
neighbours are copies, and the graph is one of five neighbours with twice as many samples. So
neighbours are looked for among distinct samples, and the copies of two linked samples are all
linked. A walk then goes as it would without copies, only that each sample has as much weight as it
has copies.

A few copies are left where they are. Each takes the place of one neighbour of ten, which made no
clear difference on the fifteen public sets that have some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..core.arrays import slices
from ..core.types import Array, Labels, Matrix
from .crowds import crowds_of

#: Copies that a sample has, itself included, in the mean over samples. Fewer make no difference.
#: With more the graph would have too many links; crowds have fewer (:mod:`klsnmf.kernels.crowds`).
_LEAST, _MOST = 1.25, 16

#: Fewer distinct samples than this have no graph of their own.
_FEWEST = 25

#: Numbers that are gone through together.
_BLOCK = 2**20


@dataclass(frozen=True)
class Copies:
    """Which samples are equal.

    Attributes
    ----------
    distinct : (u,), the first sample of each kind
    which : (n,), the place of each sample among the distinct ones
    """

    distinct: Labels
    which: Labels

    def spread(self, K: sparse.csr_array) -> sparse.csr_array:  # (u, u) -> (n, n)
        """K of all samples from that of distinct ones: copies are linked as their originals are."""
        all_of_them = K[self.which][:, self.which]
        all_of_them.sort_indices()
        return all_of_them


def copies_in(X: Matrix) -> Copies | None:
    """The copies among samples X; None if there are few, or too many for links between them."""
    n = X.shape[0]
    marks = _marks(X)
    order = np.argsort(marks, kind="stable")
    follows = marks[order][1:] == marks[order][:-1]
    alike = np.zeros(n, bool)
    alike[order[1:][follows]] = alike[order[:-1][follows]] = True
    if not alike.any():
        return None
    first = np.arange(n)
    for members in crowds_of(X, np.flatnonzero(alike), 2):  # marks can be equal by chance
        first[members] = members.min()
    distinct, which = np.unique(first, return_inverse=True)
    seen = float((np.bincount(which).astype(np.float64) ** 2).sum()) / n
    sound = len(distinct) >= _FEWEST and _LEAST <= seen <= _MOST
    return Copies(distinct, which) if sound else None


def _marks(X: Matrix) -> Array:  # (n,)
    """A number for each sample, the same for equal ones and hardly ever for others."""
    weights = np.random.RandomState(0).randint(2**62, size=2 * X.shape[1]).astype(np.uint64)
    weights = 2 * weights + np.uint64(1)
    if sparse.issparse(X):
        bits = np.ascontiguousarray(X.data + 0.0).astype(np.float64).view(np.uint64)
        parts = sparse.csr_array((bits, X.indices, X.indptr), shape=X.shape)
        return np.asarray(parts @ weights[: X.shape[1]])
    marks = np.empty(X.shape[0], np.uint64)
    for some in slices(len(marks), _BLOCK // X.shape[1]):
        rows = np.ascontiguousarray(X[some] + 0.0)  # so that zero has one sign
        halves = rows.view(np.uint32).astype(np.uint64)
        marks[some] = halves @ weights[: halves.shape[1]]
    return marks
