"""Several kernels at once: K = Σ β_m K_m, with weights learned from the clusters themselves.

The objective is linear in β for fixed W and G, so its minimum alone would keep one kernel, and
not always the right one: a wide kernel, which says that all samples are alike, is explained by
anything. So a kernel is judged by the variance in its space that the clusters explain, as a share
of the most that any k clusters could: its k - 1 leading eigenvalues, the bound of Ding and He,
"K-means clustering via principal component analysis" (2004). The share of a kernel with clear
clusters is near 1. Noise reaches a part of its own bound only, and with clusters that come
from elsewhere nearly nothing.

With r_m the share of kernel m, β maximises Σ β_m r_m over ‖β‖_p = 1 with p = 5/4, which is
β ∝ r⁴: close to the best kernel, but not all or nothing. Kernels are scaled so that their
bounds are equal. The first β come from the clusters of each kernel alone, the next from the
clusters that the sum gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.arrays import follows_lists
from ..core.eigenvectors import subspace_iteration
from ..core.kmeans import draw_seed, kmeans
from ..core.types import Array, Labels, Matrix
from ..core.work import threads_for
from ..grams.array import DenseGram
from ..grams.base import Gram
from ..grams.sparse import SparseGram
from ..grams.spectral import spectral_embedding
from .similarity import MixedKernel, View

#: Weights are learned in at most this many rounds, or until none moves by more than this.
ROUNDS = 5
SETTLED = 0.01

#: 1/(p - 1) of the norm that keeps the weights in bounds.
_SHARPNESS = 4


class Mixture:
    """Some kernels on the same samples, to be summed with weights learned from k clusters."""

    def __init__(self, views: Sequence[View], k: int, rng: np.random.RandomState) -> None:
        self.views = views
        self.bounds = np.ones(len(views))
        self.weights = np.ones(len(views))
        if len(views) > 1:
            self.matrices = [matrix_for_sum(view.K) for view in views]
            self.bounds = np.array([most_explained(view.K, k, rng) for view in views])
            own = [_labels_of(view.base, k, rng) for view in views]
            self.weights = self._weights(own)

    def learn(self, labels: Labels) -> bool:
        """Find new weights from the clusters of the old ones; return whether they have settled."""
        if len(self.views) == 1:
            return True
        before, self.weights = self.weights, self._weights([labels] * len(self.views))
        return bool(np.abs(self.weights - before).max() < SETTLED)

    def _weights(self, labels: Sequence[Labels]) -> Array:
        each = zip(self.views, labels, self.bounds, strict=True)
        shares = np.array(
            [explained(view.K, found) / bound if bound > 0 else 0.0 for view, found, bound in each]
        )
        raised = np.maximum(shares, 0) ** _SHARPNESS
        total = raised.sum()
        return raised / total if total > 0 else np.full(len(raised), 1 / len(raised))

    def view(self) -> View:
        """The weighted sum as one kernel; sparse if all kernels are."""
        if len(self.views) == 1:
            return self.views[0]
        # A kernel without variance has no bound, and no weight unless all are like that.
        each = zip(self.views, self.weights, self.bounds, strict=True)
        scales = [float(weight / (bound or view.K.trace)) for view, weight, bound in each]
        return View(
            weighted_sum([matrix_for_sum(view.base) for view in self.views], scales),
            weighted_sum(self.matrices, scales),
            MixedKernel([view.kernel for view in self.views], scales),
        )


def evenly_mixed(views: Sequence[View]) -> Gram:
    """The sum of kernels with equal weights, before diffusion."""
    if len(views) == 1:
        return views[0].base
    scales = [view.base.shape[0] / view.base.trace for view in views]
    return weighted_sum([matrix_for_sum(view.base) for view in views], scales)


def variance(K: Gram) -> tuple[Array, float]:  # (n,), ()
    """The means of the columns of K, and n times the variance of the samples in its space."""
    n = K.shape[0]
    means = K.dot(np.ones((n, 1), K.dtype))[:, 0].astype(np.float64) / n
    return means, K.trace - float(means.sum())


def explained(K: Gram, labels: Labels) -> float:
    """The variance that clusters explain, above what as many random clusters would."""
    n, k = len(labels), labels.max() + 1
    means, total = variance(K)
    within = within_clusters(K, labels, k).sum(dtype=np.float64)
    return float(within - means.sum() - total * (k - 1) / max(n - 1, 1))


def most_explained(K: Gram, k: int, rng: np.random.RandomState) -> float:
    """The most variance that k clusters can explain: the k - 1 leading eigenvalues of centred K.

    It is zero if only rounding is left, because the kernel says that all samples are the same.
    """
    n = K.shape[0]
    _, total = variance(K)

    def centred(V: Array) -> Array:
        V = V - V.mean(axis=0)
        KV = K.dot(V.astype(K.dtype)).astype(np.float64)
        return KV - KV.mean(axis=0)

    if k == 1 or total <= np.sqrt(np.finfo(K.dtype).eps) * K.trace:
        return 0.0
    with threads_for(K.flops * k):
        values, _ = subspace_iteration(centred, n, min(k - 1, n), rng)
    return float(np.maximum(values, 0).sum())


def _labels_of(K: Gram, k: int, rng: np.random.RandomState) -> Labels:
    """The clusters of a single kernel."""
    with threads_for(K.flops * k):
        embedding = spectral_embedding(K, k, rng)
    labels: Labels = kmeans(embedding, k, draw_seed(rng), n_init=4).labels_
    return labels


def matrix_for_sum(K: Gram) -> Matrix:  # (n, n)
    """All entries of K, if there is enough memory."""
    if not K.stored:  # unit vectors, in the order of the product too, and K
        _require(K.shape[0], 3 * K.dtype.itemsize)
    return K.entries()


def weighted_sum(matrices: Sequence[Matrix], weights: Sequence[float]) -> DenseGram | SparseGram:
    """Σ w_m M_m; sparse if all matrices are."""
    pairs = list(zip(weights, matrices, strict=True))
    if all(sparse.issparse(matrix) for matrix in matrices) or not follows_lists(matrices[0]):
        total: Matrix = reduce(add, (weight * matrix for weight, matrix in pairs))
        return SparseGram(sparse.csr_array(total)) if sparse.issparse(total) else DenseGram(total)
    n, dtype = matrices[0].shape[0], np.result_type(*[matrix.dtype for matrix in matrices])
    _require(n, 2 * dtype.itemsize)  # the sum, and a part of it
    dense = np.zeros((n, n), dtype)
    for weight, matrix in pairs:
        dense += weight * (matrix.toarray() if sparse.issparse(matrix) else matrix)
    return DenseGram(dense)


def _require(n: int, itemsize: int) -> None:
    """Refuse matrices that would not fit, of so many bytes an entry in all of them together."""
    memory.require(
        float(n) ** 2 * itemsize,
        f"The sum of several kernels of {n} samples",
        "Use one kernel, or fit a part of the rows.",
    )


def within_clusters(K: Gram, labels: Labels, k: int) -> Array:  # (k,)
    """The sum of K within each of k clusters, divided by the number of its samples."""
    H = np.eye(k, dtype=K.dtype)[labels]
    return np.asarray(np.einsum("ik,ik->k", H, K.dot(H)) / np.maximum(H.sum(axis=0), 1))
