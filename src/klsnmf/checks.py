"""What comes from outside is checked here, with a remedy in each error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from . import devices
from ._typing import Array, Matrix
from .devices import namespace, on_host, require_same_place, to_host
from .grams import DenseGram, DeviceGram, Gram, SparseGram, gram_of
from .grams.data import canonical
from .graphs import DeviceGraph, Graph
from .kernels import WIDE

#: Largest powers of two that data may be away from 1 before they are rescaled.
_MODERATE = 32

#: Scaling rows to length 1 costs one of so many dimensions at most.
_MANY_FEATURES = 20

#: Up to this many samples all eigenvalues are computed.
_FEW = 400


def as_numbers(estimator: Any, X: Any, *, reset: bool = True, gaps: bool = False) -> Matrix:
    """X as scikit-learn checks it, in its own precision; with gaps, NaN may be in it."""
    if getattr(estimator, "_on_devices", False) and not on_host(X):
        return devices.as_numbers(estimator, X, reset=reset)
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if gaps else True,
        )
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        remedy = (
            "compute them from samples without gaps, or leave those samples out."
            if getattr(estimator, "kernel", None) == "precomputed"
            else "fill them in (sklearn.impute has ways), leave their rows or columns out, or use "
            "WNMF, which passes over them."
        )
        raise ValueError(
            f"Input X contains NaN, and {type(estimator).__name__} knows no missing values: "
            f"{remedy}"
        ) from error


def unit_of(X: Matrix, kernel: Any) -> float:
    """A power of two in whose units the squares of X neither overflow nor vanish.

    It is 1 for data of moderate size, and for kernels that change with the unit of X in more
    than their width: only kernels of distances and angles do not.
    """
    names = kernel if isinstance(kernel, list | tuple) else [kernel]
    free = all(name in ("self-tuning", "rbf", "cosine") for name in names)
    return moderate_unit(largest_entry(X)) if free else 1.0


def moderate_unit(size: float) -> float:
    """1, or the power of two just below numbers whose squares may overflow or vanish.

    The one just above is infinite for the largest numbers that there are.
    """
    exponent = int(np.frexp(size)[1]) - 1 if size > 0 else 0
    return 1.0 if abs(exponent) <= _MODERATE else float(np.ldexp(1.0, exponent))


def in_units(X: Matrix, unit: float) -> Matrix:
    """X / unit, without a copy where there is nothing to do."""
    if unit == 1.0:
        return X
    if sparse.issparse(X):  # scipy would multiply with 1/unit, which may be infinite
        X = X.copy()
        X.data /= np.asarray(unit, X.dtype)
        return X
    return X / (np.asarray(unit, X.dtype) if on_host(X) else unit)


def choose_row_norm(X: Matrix) -> str | None:
    """row_norm="auto": "l2" for amounts, numbers that are never negative, of 20 features or more.

    Amounts, such as intensities, counts or tf-idf, say what a sample is by their proportions; their
    sum says how bright, long or large it is. Coordinates, which can be negative, mean
    themselves, and so do coordinates that were moved away from zero: amounts come near it, in most
    features. Scaling takes one of the dimensions away: too many where there are few.
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


def unit_rows(X: Matrix) -> Matrix:
    """X with rows of length 1; rows of zeros stay."""
    X = in_units(X, unit_of(X, "cosine"))
    return normalize(X) if on_host(X) else devices.unit_rows(X)


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
        gram = gram_of(devices.cast(gram.K, devices.widest(gram.K)))
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
    devices.require_dense(A, "graph_neighbors")
    _require_graph_shape(A, K.shape[0])
    if not devices.all_finite(A):
        raise ValueError("Input graph_neighbors contains NaN or infinity.")
    graph = DeviceGraph(devices.cast(A, K.K.dtype))
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


def check_start(init: Any, n: int, k: int, K: Gram) -> dict[str, Array]:
    """The factors of ``init=(W0, G0)``."""
    if len(init) != 2:
        raise ValueError(f"init must be a pair (W0, G0) or a name; it has {len(init)} elements.")
    start = {}
    for name, value in zip(("W", "G"), init, strict=True):
        require_same_place(value, f"{name}0 of init", K.diagonal, "X")
        value = check_array(to_host(value), dtype=K.dtype, input_name=f"{name}0 of init")
        if value.shape != (n, k):
            raise ValueError(
                f"{name}0 of init has shape {value.shape}; it must be "
                f"(n_samples, n_clusters) = ({n}, {k})."
            )
        if not value.any():
            raise ValueError(f"{name}0 of init is zero everywhere, and would stay so.")
        if value.min() < 0:
            raise ValueError(f"{name}0 of init has negative entries; it must be nonnegative.")
        start[name] = K.hold(value)
    return start


def smallest_entry(X: Matrix) -> float:
    """The smallest entry that is stored, or 0 if that is less."""
    if not on_host(X):
        return float(namespace(X).min(X))
    values = X.data if sparse.issparse(X) else X
    return float(values.min(initial=0))


def largest_entry(X: Matrix) -> float:
    """max |X|, without a copy; entries that are NaN do not count."""
    if not on_host(X):
        return float(namespace(X).max(namespace(X).abs(X)))
    values = X.data if sparse.issparse(X) else X
    most = float(np.fmax.reduce(values, axis=None, initial=0))  # fmax and fmin pass over NaN
    return max(most, -float(np.fmin.reduce(values, axis=None, initial=0)))
