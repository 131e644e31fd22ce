"""One step of diffusion: S = Deg^-½ K Deg^-½, with eigenvalues from -1 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from ..core import memory
from ..core.arrays import namespace, on_host
from ..core.eigenvectors import SPARE, filtered_iteration, subspace_iteration
from ..core.products import times
from ..core.types import Array
from .base import Gram
from .dense import DenseGram
from .sparse import SparseGram


class Normalized:
    """S = Deg^-½ K Deg^-½ for a K that is known by its products."""

    def __init__(self, K: Gram) -> None:
        self.K, self.shape, self.dtype = K, K.shape, K.dtype
        self.degrees = K.dot(np.ones((K.shape[0], 1), K.dtype))[:, 0]
        self.root = inverse_root(self.degrees)

    def __matmul__(self, V: Array) -> Array:  # (n, k) -> (n, k)
        return self.root * self.K.dot(self.root * V)


def normalized(K: Gram, *, formed: bool = True) -> tuple[Any, Array]:
    """S, and the degrees. A dense K may be left alone: S would be another array of its size."""
    if isinstance(K, SparseGram):
        degrees = np.asarray(K.K.sum(axis=1)).ravel()
        root = inverse_root(degrees.astype(K.dtype))
        scale = sparse.diags_array(root[:, 0])
        return (scale @ K.K @ scale).tocsr(), degrees
    if not isinstance(K, DenseGram) or not formed:
        S = Normalized(K)
        return S, S.degrees
    degrees = namespace(K.K).sum(K.K, axis=1)
    root = inverse_root(degrees)
    if not on_host(K.K):
        return root * K.K * root[:, 0], degrees
    memory.require(
        K.K.nbytes,
        f"Diffusion of {K.shape[0]} samples by a dense matrix",
        "Set diffusion=0, or n_neighbors for a sparse kernel, or fit a part of the rows.",
    )
    step = root * K.K
    step *= root[:, 0]
    return step, degrees


def step(S: Any, V: Array) -> Array:  # (n, n), (n, k) -> (n, k)
    """SV."""
    return times(S, V) if sparse.issparse(S) else S @ V


def inverse_root(values: Array) -> Array:  # (n,) -> (n, 1)
    """1/√v, and 0 for a sample that has nothing in common with any, itself included."""
    xp = namespace(values)
    return xp.where(values > 0, 1 / xp.sqrt(xp.where(values > 0, values, 1)), 0)[:, None]


#: Beyond this many samples eigenvalues can crowd below 1, and eigenvectors are filtered out.
_MANY = 4000


def spectral_embedding(K: Gram, k: int, rng: np.random.RandomState) -> Array:  # (n, k)
    """The k leading eigenvectors of S = Deg^-½ K Deg^-½, rows scaled to length 1."""
    return np.asarray(normalize(leading_eigenvectors(K, k, rng)[1]))


def leading_eigenvectors(
    K: Gram, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of S = Deg^-½ K Deg^-½ in descending order, and their vectors."""
    n = K.shape[0]
    degrees = np.abs(K.dot(np.ones((n, 1), K.dtype)).astype(np.float64))
    root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    if n > _MANY and K.nonnegative and not K.clipped:  # then no eigenvalue is beyond 1
        root = root.astype(K.dtype)
        Q = rng.normal(size=(n, k + SPARE)).astype(K.dtype)
        return filtered_iteration(lambda V: root * K.dot(root * V), Q, k)
    return subspace_iteration(lambda V: root * K.dot((root * V).astype(K.dtype)), n, k, rng)
