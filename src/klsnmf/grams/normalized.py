"""Steps S = Deg^-½ K Deg^-½ between samples, with eigenvalues from -1 to 1, and eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from ..core.arrays import namespace, on_host
from ..core.eigenvectors import SPARE, filtered_iteration, subspace_iteration
from ..core.types import Array, Matrix
from .base import Gram, inverse_root

#: Beyond this many samples eigenvalues can crowd below 1, and eigenvectors are filtered out.
_MANY = 4000


def first_steps(k: Matrix, degrees: Array) -> Matrix:  # (m, n), (n,) -> (m, n)
    """From new samples to old ones: k(y, x) scaled as the steps S between old ones are."""
    root = inverse_root(degrees)
    if not on_host(k):
        return inverse_root(namespace(k).sum(k, axis=1)) * k * root[:, 0]
    k = sparse.csr_array(k)
    own = sparse.diags_array(inverse_root(k.sum(axis=1))[:, 0])
    return (own @ k @ sparse.diags_array(root[:, 0])).tocsr()


def spectral_embedding(K: Gram, k: int, rng: np.random.RandomState) -> Array:  # (n, k)
    """The k leading eigenvectors of S, rows scaled to length 1."""
    return np.asarray(normalize(leading_eigenvectors(K, k, rng)[1]))


def leading_eigenvectors(
    K: Gram, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of S in descending order, and their vectors."""
    n = K.shape[0]
    degrees = np.abs(K.dot(np.ones((n, 1), K.dtype)).astype(np.float64))
    root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    if n > _MANY and K.nonnegative and not K.clipped:  # then no eigenvalue is beyond 1
        root = root.astype(K.dtype)
        Q = rng.normal(size=(n, k + SPARE)).astype(K.dtype)
        return filtered_iteration(lambda V: root * K.dot(root * V), Q, k)
    return subspace_iteration(lambda V: root * K.dot((root * V).astype(K.dtype)), n, k, rng)
