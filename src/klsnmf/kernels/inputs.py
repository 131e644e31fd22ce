"""Input: samples are found and scaled; matrices and graphs are checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from ..core import arrays, files, memory
from ..core.arithmetic import canonical, in_units, largest_entry, smallest_entry
from ..core.arrays import as_matrix, cast, namespace, to_host, widest
from ..core.checks import with_short_indices
from ..core.types import Array, Matrix
from ..grams.array import DenseGram
from ..grams.base import Gram
from ..grams.graph import Graph
from ..grams.sparse import SparseGram
from .functions import KERNELS, WIDE

#: Largest powers of two that data may be away from 1 before they are rescaled.
_MODERATE = 32

#: Scaling rows to length 1 costs one of so many dimensions at most.
_MANY_FEATURES = 20

#: Up to this many samples all eigenvalues are computed.
_FEW = 400


def is_path(X: Any) -> bool:
    return isinstance(X, str | os.PathLike)


def is_dask_array(X: Any) -> bool:
    """Whether X is a dask.array, without importing Dask."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "rechunk")


def here(X: Any) -> Any:
    """X, or the array in the .npy file that X names: in memory if it fits, else on the disk."""
    if not is_path(X):
        return X
    try:
        size = files.size_of_regular_file(Path(X))
        # Twice: some copy of it will be wanted.
        if memory.fits(2.0 * size):
            return files.read_npy(X, size)
        return files.map_npy(X)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"The file X={X!s} does not exist. Give the path of a .npy file."
        ) from error


def unit_of(X: Matrix, kernel: Any) -> float:
    """A power of two in whose units the squares of X neither overflow nor vanish.

    It is 1 for data of moderate size, and for kernels that change with the unit of X in more
    than their width: only kernels of distances and angles do not.
    """
    names = kernel if isinstance(kernel, list | tuple) else [kernel]
    named = [KERNELS[name] for name in names if not callable(name) and name in KERNELS]
    free = len(named) == len(names) and all(form.of_distance or form.unit_length for form in named)
    return moderate_unit(largest_entry(X)) if free else 1.0


def moderate_unit(size: float) -> float:
    """1, or the power of two just below numbers whose squares may overflow or vanish.

    The one just above is infinite for the largest numbers that there are.
    """
    exponent = int(np.frexp(size)[1]) - 1 if size > 0 else 0
    return 1.0 if abs(exponent) <= _MODERATE else float(np.ldexp(1.0, exponent))


def choose_row_norm(X: Matrix) -> str | None:
    """row_norm="auto": "l2" for amounts, numbers that are never negative, of 20 features or more.

    The proportions of amounts, such as intensities, counts or tf-idf, say what a sample is; their
    sum says how bright, long or large it is. Coordinates are different: they can be negative, or
    were moved away from zero, and their size matters. Amounts come near zero in most features.
    Scaling removes one dimension, which is too much if there are few.
    """
    amounts = X.shape[1] >= _MANY_FEATURES and smallest_entry(X) >= 0 and _comes_near_zero(X)
    return "l2" if amounts else None


def _comes_near_zero(X: Matrix) -> bool:
    """Whether in most features that vary the smallest entry is at most half of the largest."""
    if sparse.issparse(X):  # most entries are zero
        return True
    xp = namespace(X)
    least, most = to_host(xp.min(X, axis=0)), to_host(xp.max(X, axis=0))
    varies = least < most
    return bool(np.mean(least[varies] <= most[varies] / 2) > 0.5) if varies.any() else True


def scaled(X: Matrix, row_norm: str | None, unit: float) -> Matrix:
    """The samples as the kernel sees them."""
    if sparse.issparse(X):
        X = with_short_indices(canonical(X))
    return unit_rows(X) if row_norm == "l2" else in_units(X, unit)


def unit_rows(X: Matrix) -> Matrix:
    """X with rows of length 1, computed in a unit in which they can be; rows of zeros stay."""
    return arrays.unit_rows(in_units(X, moderate_unit(largest_entry(X))))


def precomputed_gram(K: Matrix) -> DenseGram | SparseGram:
    """The Gram of a kernel matrix from the user."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be square, of shape (n_samples, n_samples); "
            f"X has shape {tuple(K.shape)}."
        )
    gram = SparseGram(canonical(K)) if sparse.issparse(K) else _array_gram(K)
    if gram.asymmetry() > np.sqrt(np.finfo(gram.dtype).eps):
        raise ValueError("A precomputed kernel must be symmetric. Give (X + X.T) / 2.")
    return gram


def _array_gram(K: Array) -> DenseGram:
    """The Gram of an array, in double precision if float32 would lose the distances."""
    gram = DenseGram(K)
    if gram.dtype == np.float32 and 1 - gram.mean / max(gram.largest, 1e-300) < WIDE:
        return DenseGram(cast(gram.K, widest(gram.K)))
    return gram


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
            "A sample that is similar to others has no positive entry on the diagonal of the "
            "kernel, and then the objective has no lower bound. If X is a matrix of distances D, "
            "give exp(-D²/(2σ²)). Otherwise raise the diagonal to the largest entry of each row."
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
    """The graph of ``graph_neighbors`` when it is a matrix, where that is."""
    name = "graph_neighbors"
    shape = tuple(np.shape(A))
    if shape != (n, n):
        raise ValueError(f"{name} has shape {shape}; a graph of {n} samples has shape ({n}, {n}).")
    graph = Graph(as_matrix(A, name, dtype))
    weights = graph.weights
    require_moderate(np.array(weights.largest, weights.dtype), name)
    if not weights.nonnegative:
        raise ValueError(f"{name} has negative weights; a graph has none.")
    if weights.asymmetry() > np.sqrt(np.finfo(weights.dtype).eps):
        raise ValueError(f"{name} must be symmetric. Give (A + A.T) / 2.")
    return graph


def require_moderate(values: Array, name: str) -> None:
    """Refuse weights so large that sums of products overflow."""
    most, limit = float(np.abs(values).max(initial=0)), _largest_weight(values.dtype)
    if most > limit:
        raise ValueError(
            f"{name} has entries up to {most:.3g}; divide it by a constant, so that none is above "
            f"{limit:.1g}."
        )


def require_some_weight(values: Array, name: str) -> None:
    """Refuse weights that are all so small that sums of products vanish."""
    most, limit = float(np.abs(values).max(initial=0)), 1 / _largest_weight(values.dtype)
    if 0 < most < limit:
        raise ValueError(
            f"{name} has no entry above {most:.3g}; multiply it by a constant, so that the largest "
            f"is above {limit:.1g}."
        )


def _largest_weight(dtype: Any) -> float:
    return float(np.finfo(dtype).max) ** 0.25
