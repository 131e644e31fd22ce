"""Kernel matrices and graphs from outside, checked with a remedy in each error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils import check_array

from ..core import arrays
from ..core.arrays import require_same_place, to_host
from ..core.types import Array, Matrix
from ..grams import DenseGram, DeviceGram, Gram, SparseGram, gram_of
from ..grams.data import canonical
from ..grams.graph import DeviceGraph, Graph
from .functions import WIDE

#: Up to this many samples all eigenvalues are computed.
_FEW = 400


def precomputed_gram(K: Matrix) -> DenseGram | SparseGram:
    """The Gram of a kernel matrix of the user's."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be square, of shape (n_samples, n_samples); "
            f"X has shape {tuple(K.shape)}."
        )
    if sparse.issparse(K):
        gram: DenseGram | SparseGram = SparseGram(canonical(K))
    else:
        gram = gram_of(K)
    if _wide(gram):
        gram = gram_of(arrays.cast(gram.K, arrays.widest(gram.K)))
    if gram.asymmetry() > np.sqrt(np.finfo(gram.dtype).eps):
        raise ValueError("A precomputed kernel must be symmetric; (X + X.T) / 2 is.")
    return gram


def _wide(K: DenseGram | SparseGram) -> bool:
    """Whether K is so close to constant that float32 would lose its squared distances."""
    if K.dtype != np.float32 or isinstance(K, SparseGram):
        return False
    return bool(1 - K.mean / max(K.largest, 1e-300) < WIDE)


def check_gram(K: Gram, *, local: bool) -> None:
    """Refuse numbers that cannot be computed with, and negative distances if λ needs them."""
    n, limits = K.shape[0], np.finfo(K.dtype)
    largest = K.largest
    if not largest * float(n) ** 2 < 1e-3 * limits.max:
        raise ValueError(
            f"The kernel matrix has entries as large as {largest:.3g}, too large for {K.dtype}: "
            "divide X by a constant."
        )
    if largest == 0:
        raise ValueError(
            "The kernel matrix is zero everywhere: there is nothing to factorize. If X has entries "
            "other than zero, multiply it by a constant; else look at X, or choose another kernel."
        )
    if largest < np.sqrt(limits.tiny):
        raise ValueError(
            f"No entry of the kernel matrix is larger than {largest:.3g}: there is nothing to "
            "factorize. Multiply X by a constant, or choose another kernel."
        )
    lone = to_host(K.diagonal) <= 0
    if lone.any() and np.any(K.dot(np.ones((n, 1), K.dtype))[lone] != 0):
        raise ValueError(
            "The kernel has K_ii <= 0 for a sample i that is like others, K_ij != 0, and the "
            "objective has no lower bound then. Is it a matrix of distances? exp(-D²/(2σ²)) makes "
            "a kernel of distances D. Else give the diagonal the largest entry of a row."
        )
    if local and K.smallest_distance() < -np.sqrt(limits.eps):
        raise ValueError(
            "The kernel gives negative squared distances, K_ii + K_jj - 2 K_ij < 0 for some "
            "samples i, j: it is not positive semidefinite. Enlarge its diagonal."
        )


def check_definite(K: Gram) -> None:
    """Refuse a kernel of both signs that is not positive semidefinite: f has no lower bound."""
    n = K.shape[0]
    if n <= _FEW:
        values = np.linalg.eigvalsh(K.dot(np.eye(n, dtype=K.dtype)).astype(np.float64))
    else:
        operator = LinearOperator((n, n), matvec=lambda v: K.dot(v.reshape(n, 1)), dtype=K.dtype)
        start = np.random.RandomState(0).uniform(-1, 1, n).astype(K.dtype)
        values = eigsh(operator, 2, which="BE", v0=start, tol=1e-3, return_eigenvectors=False)
    if values.min() < -1e-3 * np.abs(values).max():
        raise ValueError(
            "The kernel has negative entries and is not positive semidefinite: the objective has "
            f"no lower bound. Add {-1.01 * values.min():.3g} to its diagonal, or take another."
        )


def check_graph(A: Any, n: int, dtype: Any) -> Graph:
    """The graph of ``graph_neighbors`` when it is a matrix."""
    if not sparse.issparse(A):
        _require_graph_shape(np.asarray(A), n)
    A = check_array(A, accept_sparse="csr", dtype=dtype, input_name="graph_neighbors")
    _require_graph_shape(A, n)
    require_moderate(A.data if sparse.issparse(A) else A, "graph_neighbors")
    graph = Graph(sparse.csr_array(A))
    _require_weights(graph)
    return graph


def require_moderate(values: Array, name: str) -> None:
    """Weights of samples or pairs, none so large that sums of products overflow."""
    most, limit = float(np.abs(values).max(initial=0)), _largest_weight(values.dtype)
    if most > limit:
        raise ValueError(
            f"{name} has entries up to {most:.3g}; divide it by a constant, so that none is above "
            f"{limit:.1g}."
        )


def require_some_weight(values: Array, name: str) -> None:
    """Weights that are not all so small that sums of products vanish."""
    most, limit = float(np.abs(values).max(initial=0)), 1 / _largest_weight(values.dtype)
    if 0 < most < limit:
        raise ValueError(
            f"{name} has no entry above {most:.3g}; multiply it by a constant, so that the largest "
            f"is above {limit:.1g}."
        )


def _largest_weight(dtype: Any) -> float:
    return float(np.finfo(dtype).max) ** 0.25


def check_device_graph(A: Any, K: DeviceGram) -> DeviceGraph:
    """The same for samples on a device."""
    require_same_place(A, "graph_neighbors", K.K, "X")
    arrays.require_dense(A, "graph_neighbors")
    _require_graph_shape(A, K.shape[0])
    if not arrays.all_finite(A):
        raise ValueError("Input graph_neighbors contains NaN or infinity.")
    graph = DeviceGraph(arrays.cast(A, K.K.dtype))
    _require_weights(graph)
    return graph


def _require_graph_shape(A: Any, n: int) -> None:
    if A.shape != (n, n):
        raise ValueError(
            f"graph_neighbors has shape {A.shape}; a graph of {n} samples has shape ({n}, {n})."
        )


def _require_weights(graph: Graph | DeviceGraph) -> None:
    if not graph.nonnegative:
        raise ValueError("graph_neighbors has negative weights; a graph has none.")
    if graph.asymmetry() > np.sqrt(np.finfo(graph.dtype).eps):
        raise ValueError("graph_neighbors must be symmetric; (A + A.T) / 2 is.")
