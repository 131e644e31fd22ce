"""Links between samples, weighed by the neighbours that the two share.

A kernel that keeps neighbours links each sample with some others. N_i are those linked with i, and
i itself. Within a cluster two neighbours know much the same samples; a link that leads from one
cluster to another joins two that have hardly any in common (Jarvis and Patrick, "Clustering
using a similarity measure based on shared near neighbors", 1973). So K_ij becomes K_ij J_ij², where

    J_ij = |N_i ∩ N_j| / |N_i ∪ N_j|.

Numbers of neighbours know no unit and no dimension: they tell clusters apart where distances, in
many dimensions, are all much the same. Where every sample is linked with every other, J is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array, Matrix
from ..devices import cast, namespace, on_host, slices, to_host
from .device import DeviceGram
from .sparse import SparseGram

#: Entries of a product of two patterns that are held at once.
_ENTRIES = 2**24

#: With more than this share of its entries filled a pattern is multiplied as an array.
_FILLED = 0.1


@dataclass(frozen=True)
class Links:
    """Who is linked with whom among the samples of a fit: 1 where K_ij > 0."""

    N: Any  # (n, n), sparse on the host, an array on a device

    @cached_property
    def counts(self) -> Array:  # (n,)
        """|N_j|."""
        return _row_sums(self.N)

    def weighed(self, k: Matrix) -> Matrix:  # (m, n) -> (m, n)
        """k ∘ J² for rows of K, or for the rows k(y, x) that new samples bring."""
        N = pattern(k)
        own = _row_sums(N)[:, None]
        if not on_host(k):
            shared = N @ self.N
            return k * (shared / (own + self.counts - shared)) ** 2
        reached = (self.N.nnz / self.N.shape[0]) ** 2  # about as many as there are in two steps
        parts = [sparse.csr_array((0, k.shape[1]), dtype=k.dtype)]
        for rows in slices(k.shape[0], int(_ENTRIES / max(1.0, reached))):
            shared = _product_within(N[rows], self.N)
            i, j = shared.coords
            shared.data /= own[rows][i, 0] + self.counts[j] - shared.data
            parts.append(k[rows].multiply(shared.power(2)))
        return sparse.vstack(parts, format="csr")

    def host_copy(self) -> Links:
        return self if on_host(self.N) else Links(sparse.csr_array(to_host(self.N)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "counts"}


def pattern(k: Matrix) -> Any:  # (m, n) -> (m, n)
    """1 where k > 0, in the precision of k: numbers of neighbours are exact in it."""
    if not on_host(k):
        return cast(k > 0, k.dtype)
    return sparse.csr_array(k > 0).astype(k.dtype)


def weigh_links(K: Any) -> tuple[SparseGram | DeviceGram, Links]:
    """K ∘ J² for a K that keeps neighbours, and what new samples need for theirs."""
    links = Links(pattern(K.K))
    return type(K)(links.weighed(K.K)), links


def _product_within(A: sparse.csr_array, N: sparse.csr_array) -> sparse.coo_array:
    """The entries of A N where A has some."""
    if min(A.nnz / np.prod(A.shape), N.nnz / np.prod(N.shape)) > _FILLED:
        dense = A.toarray()
        return sparse.coo_array(dense * (dense @ N.toarray()))
    return sparse.coo_array((A @ N).multiply(A))


def _row_sums(A: Any) -> Array:  # (m, n) -> (m,)
    return np.asarray(A.sum(axis=1)) if on_host(A) else namespace(A).sum(A, axis=1)
