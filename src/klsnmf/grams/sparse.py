"""K as a sparse matrix, because most pairs of samples are not linked; and the weights of links.

A kernel that keeps neighbours links each sample with some others. N_i are those linked with i, and
i itself. Within a cluster, two neighbours have mostly the same neighbours. A link between clusters
joins two samples that share hardly any (Jarvis and Patrick, "Clustering using a similarity measure
based on shared near neighbors", 1973). So K_ij becomes K_ij J_ij², where

    J_ij = |N_i ∩ N_j| / |N_i ∪ N_j|.

Numbers of shared neighbours depend on no unit and no dimension. They tell clusters apart even in
many dimensions, where all distances are much the same. If all samples are linked, J is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..core.arithmetic import times
from ..core.arrays import cast, namespace, on_host, slices, to_host
from ..core.types import Array, Labels, Matrix
from ..core.work import side_by_side, threads_of_blas
from .base import Gram, Order, inverse_root, multiply_wide

#: Neighbours of a sample, at most, where an order of the samples is looked for.
_MOST_NEIGHBORS = 10_000

#: Entries of a product of two patterns that are held at once.
_ENTRIES = 2**24

#: Samples that rows reach in two steps, those of all rows that are looked at together.
_REACHED = 2**21

#: Patterns are multiplied as arrays of at most so many entries, where that is faster: an operation
#: with sparse ones takes as long as this many.
_MOST_DENSE = 2**26
_SLOWER = 20


class SparseGram(Gram):
    """A symmetric sparse K of shape (n, n), in CSR form.

    ``near`` is an order in which linked samples are close to each other, if one is known.
    """

    order = "C"
    stored = True

    def __init__(self, K: sparse.csr_array, near: Labels | None = None) -> None:
        self.K, self.near = K, near
        least, most = float(K.data.min(initial=0)), float(K.data.max(initial=0))
        super().__init__(K.diagonal(), 2.0 * K.nnz, max(-least, most), least >= 0)

    def multiply(self, V: Array, out: Array) -> None:
        multiply_wide(lambda wide: times(self.K, wide), V, out)

    def column(self, i: int) -> Array:
        # K is symmetric: its row i is its column i, and rows are what CSR stores.
        column = np.zeros(self.shape[0], self.dtype)
        row = slice(self.K.indptr[i], self.K.indptr[i + 1])
        column[self.K.indices[row]] = self.K.data[row]
        return column

    def entries(self) -> sparse.csr_array:
        return self.K

    def normalized(self, *, formed: bool = True) -> tuple[sparse.csr_array, Array]:
        degrees = np.asarray(self.K.sum(axis=1)).ravel()
        scale = sparse.diags_array(inverse_root(degrees.astype(self.dtype))[:, 0])
        return (scale @ self.K @ scale).tocsr(), degrees

    def square_sums(self, weights: Array) -> Array:
        return np.asarray(self.K.power(2) @ weights)

    @cached_property
    def positive(self) -> SparseGram:
        return self if self.nonnegative else SparseGram(self.K.maximum(0).tocsr())

    def reordered(self) -> tuple[Gram, Order, Order]:
        order = self.near
        if order is None:
            # This order takes the square of the neighbours of a sample as time: no hubs.
            if self.K.nnz and np.diff(self.K.indptr).max() > _MOST_NEIGHBORS:
                return super().reordered()
            order = csgraph.reverse_cuthill_mckee(self.K, symmetric_mode=True)
        back = np.empty_like(order)
        back[order] = np.arange(len(order), dtype=order.dtype)
        return SparseGram(self.K[order][:, order]), order, back

    def smallest_distance(self) -> float:
        # Where K_ij is not stored, D_ij = d_i + d_j: only the smallest d matters there.
        d = self.diagonal
        stored = self.K.tocoo()
        stored_least = float((d[stored.row] + d[stored.col] - 2 * stored.data).min(initial=0))
        least = min(stored_least, 2 * float(d.min()))
        return least / self.largest if self.largest else 0.0

    def asymmetry(self) -> float:
        """The largest |K_ij - K_ji| relative to ``largest``."""
        most = float(np.abs((self.K - self.K.T).data).max(initial=0))
        return most / self.largest if self.largest else 0.0


@dataclass(frozen=True)
class Links:
    """Who is linked with whom among the samples of a fit: 1 where K_ij > 0."""

    N: Any  # (n, n), sparse on the host, an array of truth values on a device

    @cached_property
    def counts(self) -> Array:  # (n,)
        """|N_j|."""
        return np.diff(self.N.indptr)

    @cached_property
    def hubs(self) -> Array:  # (some,)
        """Samples with many links. Who has one reaches many samples in two steps.

        A common bound in the search for triangles: as there are at most √nnz of them, they can be
        looked at one by one, and all others together take nnz^1.5 operations at most.
        """
        return np.flatnonzero(self.counts > np.sqrt(self.N.nnz))

    @cached_property
    def _others(self) -> sparse.csr_array:  # (n, n)
        """N without the rows of the hubs."""
        if not self.hubs.size:
            return self.N
        kept = np.ones(len(self.counts), self.N.dtype)
        kept[self.hubs] = 0
        others = sparse.diags_array(kept) @ self.N
        others.eliminate_zeros()
        return others.tocsr()

    def weighed(self, k: Matrix) -> Matrix:  # (m, n) -> (m, n)
        """k ∘ J² for rows of K, or for the rows k(y, x) that new samples bring."""
        if not on_host(k):
            xp = namespace(k)
            old, new = cast(self.N, k.dtype), cast(k > 0, k.dtype)
            shared = new @ old
            union = xp.sum(new, axis=1)[:, None] + xp.sum(old, axis=1) - shared
            return k * (shared / union) ** 2
        new = pattern(k)
        (m, n), reached = k.shape, new @ np.diff(self._others.indptr).astype(np.float64)
        as_arrays = _SLOWER * reached.sum() > (m + _SLOWER) * float(n) ** 2
        as_arrays &= n**2 <= _MOST_DENSE
        old = self._others.toarray() if as_arrays else self._others
        parts = list(slices(m, _ENTRIES // n) if as_arrays else _cut(reached))
        done: dict[int, sparse.csr_array] = {}

        def work(places: range) -> None:
            for place in places:
                some = new[parts[place]]
                both = (some.toarray() if as_arrays else some) @ old
                shared = sparse.csr_array(some.multiply(both))
                if self.hubs.size:
                    shared = shared + self._through_hubs(some)
                done[place] = k[parts[place]].multiply(self._shares(some, shared.tocoo()))

        threads = threads_of_blas(len(parts))
        side_by_side(work, [range(t, len(parts), threads) for t in range(threads)])
        rows = [sparse.csr_array((0, n), dtype=k.dtype), *(done[i] for i in range(len(parts)))]
        return sparse.vstack(rows, format="csr", dtype=k.dtype)

    def _shares(self, new: sparse.csr_array, shared: sparse.coo_array) -> sparse.coo_array:
        """J², from |N_i ∩ N_j|."""
        i, j = shared.coords
        both = shared.data.astype(np.float64)
        shares = both / (np.diff(new.indptr)[i] + self.counts[j] - both)
        return sparse.coo_array((shares**2, (i, j)), shape=shared.shape)

    def _through_hubs(self, new: sparse.csr_array) -> sparse.csr_array:  # (m, n)
        """How many hubs i and j share, where they are linked."""
        i, j = new.nonzero()
        ours, theirs = new[:, self.hubs].tocsc(), self.N[:, self.hubs].tocsc()
        shared = np.zeros(len(i), new.dtype)
        for hub in range(len(self.hubs)):
            shared += ours[:, [hub]].toarray()[i, 0] * theirs[:, [hub]].toarray()[j, 0]
        return sparse.csr_array((shared, (i, j)), shape=new.shape)

    def host_copy(self) -> Links:
        return self if on_host(self.N) else Links(pattern(sparse.csr_array(to_host(self.N))))

    def __getstate__(self) -> dict[str, Any]:
        return {"N": self.N}


def _cut(reached: Array) -> Iterator[slice]:
    """Rows, so many at a time that what they reach is not too much to hold."""
    total, start = np.cumsum(reached), 0
    while start < len(total):
        most = _REACHED + (total[start - 1] if start else 0.0)
        stop = max(start + 1, int(np.searchsorted(total, most, "right")))
        yield slice(start, stop)
        start = stop


def pattern(k: sparse.csr_array) -> sparse.csr_array:  # (m, n) -> (m, n)
    """1 where k > 0."""
    return sparse.csr_array(k > 0).astype(np.float32)


def weigh_links(K: Any) -> tuple[Gram, Links]:
    """K ∘ J² for a K that keeps neighbours, and what new samples need for theirs.

    With linked samples close to each other in memory it takes half the time.
    """
    if not on_host(K.K):
        links = Links(K.K > 0)
        return type(K)(links.weighed(K.K)), links
    links = Links(pattern(K.K))
    if K.near is None:
        return SparseGram(links.weighed(K.K)), links
    ordered, _, back = K.reordered()
    weighed = Links(pattern(ordered.K)).weighed(ordered.K)
    return SparseGram(weighed[back][:, back], K.near), links
