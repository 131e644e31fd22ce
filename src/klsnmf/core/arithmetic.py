"""The arithmetic of tall, sparse and dense matrices, on the host and on devices.

On the host, speed depends on memory orders, threads and reused arrays; on a device, the plain
formula is fast. Only the functions here make this distinction. First come those of multiplicative
rules, then products, distances and extremes of matrices of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import safe_sparse_dot

from .arrays import device_of, in_best_type, like, namespace, on_host, slices, tiny, without_tiny
from .types import Array, Labels, Matrix
from .work import side_by_side, threads_for, threads_of_blas

#: How many rows of a tall matrix are handled together.
_ROWS = 4096

#: One more thread pays off for this many products of two numbers, about a millisecond: of a sparse
#: matrix, and of arrays.
_PRODUCTS_PER_THREAD = 5e6
_DENSE_PRODUCTS_PER_THREAD = 5e7

#: How many entries of a matrix are checked together.
_LOOK = 2**20

#: How many numbers are handled together, pair by pair: for arrays as many as fit into the cache,
#: and more for sparse matrices, because taking out rows is slow.
_PAIRS = 2**16
_SPARSE_PAIRS = 2**23


def dot(A: Array, M: Array) -> Array:  # (n, k), (k, k) -> (n, k)
    """A @ M in the memory order of A, because mixed orders would slow down every later step."""
    if not on_host(A):
        return (M.T @ A.T).T
    return np.matmul(A, M, out=np.empty_like(A))


def square(A: Array) -> Array:  # (n, k) -> (k, k)
    """AᵀA."""
    if not on_host(A) or len(A) <= _ROWS:
        return A.T @ A
    return np.add.reduce([square(part) for part in row_blocks(A)])


def sym(M: Array) -> Array:  # (k, k)
    return (M + M.T) / 2


def inner(A: Array, B: Array) -> float:
    """⟨A, B⟩."""
    if not on_host(A):
        return float(namespace(A).sum(column_inner(A, B)))
    if A.flags.f_contiguous:
        return float(column_inner(A, B).sum())
    parts = zip(row_blocks(A), row_blocks(B), strict=True)
    return sum(float(np.vdot(a, b)) for a, b in parts)


def column_inner(A: Array, B: Array) -> Array:  # (n, k), (n, k) -> (k,)
    """The diagonal of AᵀB."""
    if not on_host(A):
        return namespace(A).sum(A * B, axis=0)
    if len(A) <= _ROWS or A.flags.f_contiguous:
        return np.vecdot(A.T, B.T)
    # Columns that are not contiguous would be gathered from memory one by one.
    parts = zip(row_blocks(A), row_blocks(B), strict=True)
    return np.add.reduce([np.einsum("ik,ik->k", a, b) for a, b in parts])


def row_blocks(A: Array) -> list[Array]:
    """A in parts that fit into the processor's cache. Sums over parts are also more precise."""
    return [A[rows] for rows in slices(len(A), _ROWS)]


def lengths(V: Array) -> Array:  # (n, k) -> (k,)
    """The length of each column, or 1 for a column of zeros."""
    xp = namespace(V)
    squares = np.einsum("ik,ik->k", V, V) if on_host(V) else column_inner(V, V)
    length = xp.sqrt(squares)
    return xp.where(length > 0, length, 1)


def unit_columns(V: Array) -> Array:  # (n, k)
    """V with columns of length 1; columns of zeros stay."""
    return V / lengths(V)


def quotient(numerator: Array, denominator: Array) -> Array:  # all (n, k)
    """numerator / denominator, with a floor under the division; in place of denominator.

    The floor is far below any number that matters, and large enough that the ratio stays finite. So
    an entry of a factor that is zero stays zero, and does not become NaN.
    """
    if not on_host(denominator):
        return numerator / (denominator + tiny(denominator) ** 0.75)
    denominator += np.finfo(denominator.dtype).tiny ** 0.75
    return np.divide(numerator, denominator, out=denominator)


def scaled(V: Array, numerator: Array, denominator: Array) -> Array:  # all (n, k)
    """V ∘ numerator / denominator, in place of denominator."""
    ratio = quotient(numerator, denominator)
    ratio *= V
    return ratio


def multiplied(V: Array, numerator: Array, denominator: Array) -> Array:  # all (n, k)
    """V ∘ √(numerator / denominator), in place of denominator."""
    ratio = quotient(numerator, denominator)
    if not on_host(ratio):
        return namespace(ratio).sqrt(ratio) * V
    np.sqrt(ratio, out=ratio)
    ratio *= V
    return ratio


def plus(M: Array) -> Array:
    return namespace(M).maximum(M, 0)


def minus(M: Array) -> Array:
    return namespace(M).maximum(-M, 0)


def taken(V: Array, c: Labels) -> Array:  # (n, k), (n,) -> (n,)
    """The entry of each row in column c."""
    if not on_host(V):
        return namespace(V).take_along_axis(V, c[:, None], axis=1)[:, 0]
    return V[np.arange(len(V)), c]


def columns(V: Array, order: Labels) -> Array:  # (n, k), (m,) -> (n, m)
    """Some columns of V, in this order."""
    return V[:, order] if on_host(V) else namespace(V).take(V, like(order, V), axis=1)


def one_a_row(V: Array, c: Labels, values: Array) -> Array:  # (n, k), (n,), (n,) -> (n, k)
    """An array like V that has one value in each row, in column c."""
    xp = namespace(V)
    if not on_host(V):
        columns = xp.arange(V.shape[1], dtype=c.dtype, device=device_of(V))
        return xp.where(c[:, None] == columns, values[:, None], 0)
    filled = np.zeros_like(V)
    filled[np.arange(len(V)), c] = values
    return filled


def flushed(V: Array) -> Array:  # (n, k)
    """V with tiny entries set to exactly zero, in place.

    Multiplicative rules move entries towards zero without end. Their products would become
    subnormal numbers, which make processors several times slower.
    """
    if not on_host(V):
        return without_tiny(V)
    # A product takes the same time however many entries are tiny; a copy where they are does not.
    np.multiply(V, np.sqrt(np.finfo(V.dtype).tiny) <= V, out=V)
    return V


def nearness(distances: Array) -> Array:  # (m, k) -> (m, k)
    """Scores from distances to means; distances may be zero."""
    distances = np.asarray(distances)
    return np.asarray(1 / np.maximum(distances, tiny(distances)))


def times(K: sparse.csr_array, V: Array) -> Array:  # (m, n), (n, k) -> (m, k)
    """K @ V. scipy uses one thread, so each thread multiplies a part of the rows."""
    useful = 1 + int(K.nnz * V.shape[1] // _PRODUCTS_PER_THREAD)
    threads = threads_of_blas(useful)
    if threads == 1:
        return np.asarray(K @ V)
    out = np.empty((K.shape[0], V.shape[1]), np.result_type(K, V))

    def work(part: tuple[slice, sparse.csr_array]) -> None:
        rows, matrix = part
        out[rows] = matrix @ V

    side_by_side(work, row_parts(K, threads))
    return out


def tall_times(A: Array, M: Array) -> Array:  # (n, m), (m, k) -> (n, k)
    """A @ M for an A of many rows, by threads that do not wait for each other."""
    AM, useful = np.empty((len(A), M.shape[1]), A.dtype), threads_worth(A.size * M.shape[1])
    parts = tall_parts(len(A), useful)

    def work(place: int) -> None:
        np.matmul(A[parts[place]], M, out=AM[parts[place]])

    over_threads(work, len(parts), useful)
    return AM


def threads_worth(products: float) -> int:
    """Threads that so many products of two numbers, in arrays, keep busy."""
    return 1 + int(products // _DENSE_PRODUCTS_PER_THREAD)


def tall_parts(rows: int, useful: int, most: int = _ROWS) -> list[slice]:
    """Rows in parts of at most so many, and enough parts for all threads that are useful.

    They are the same however many threads there are, and so are sums over parts.
    """
    return list(slices(rows, min(most, -(-rows // useful))))


def over_threads(work: Callable[[int], None], parts: int, useful: int | None = None) -> None:
    """Do each part of the work. Every thread has some of them, and waits for nobody."""
    threads = threads_of_blas(parts if useful is None else min(parts, useful))

    def some(first: int) -> None:
        for place in range(first, parts, threads):
            work(place)

    side_by_side(some, range(threads))


def row_parts(K: sparse.csr_array, count: int) -> list[tuple[slice, sparse.csr_array]]:
    """Parts of the rows with about equal numbers of entries, as views."""
    aims = np.linspace(0, K.nnz, count + 1)[1:-1]
    edges = [0, *np.searchsorted(K.indptr, aims).tolist(), K.shape[0]]
    parts = []
    for start, stop in pairwise(edges):
        first, last = K.indptr[start], K.indptr[stop]
        entries = K.data[first:last], K.indices[first:last], K.indptr[start : stop + 1] - first
        part = sparse.csr_array(entries, shape=(stop - start, K.shape[1]))
        parts.append((slice(start, stop), part))
    return parts


def row_lengths(A: Any) -> Array:  # (m, n) -> (m,)
    """The squared lengths of the rows."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    if not on_host(A):
        return namespace(A).sum(A * A, axis=1)
    return np.asarray(np.einsum("ij,ij->i", A, A))


def centred(X: Matrix, about: Matrix) -> Matrix:  # (m, p), (n, p) -> (m, p)
    """X ready for distances on a device: in its best precision, about the mean of other samples.

    That keeps rounding small. On the host X is not changed, because scikit-learn does the same.
    """
    if on_host(X):
        return X
    return in_best_type(X) - namespace(X).mean(in_best_type(about), axis=0)


def all_distances(X: Matrix, Y: Matrix) -> Array:  # (m, p), (n, p) -> (m, n)
    """Squared distances between all samples of X and of Y, both ``centred`` alike."""
    if on_host(X):
        if not X.shape[0]:  # which scikit-learn refuses
            return np.empty((0, Y.shape[0]), X.dtype)
        return np.asarray(euclidean_distances(X, None if Y is X else Y, squared=True))
    xp = namespace(X)
    sums = row_lengths(X)[:, None] + row_lengths(Y)
    d2 = sums - 2 * (X @ Y.T)
    rounding = 4 * X.shape[1] ** 0.5 * xp.finfo(d2.dtype).eps
    return xp.where(d2 > rounding * sums, d2, 0)  # what is within rounding of zero is zero


def all_products(X: Matrix, Y: Matrix) -> Array:  # (m, p), (n, p) -> (m, n)
    """⟨x, y⟩ for all samples of X and of Y, in the best precision of a device."""
    if on_host(X):
        return np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))
    return in_best_type(X) @ in_best_type(Y).T


def squared_distances(X: Matrix, i: Array, Y: Matrix, j: Array) -> Array:  # (pairs,)
    """‖x_i - y_j‖², pair by pair.

    Computed from the differences: zero for duplicates, where the usual
    ‖x_i‖² + ‖y_j‖² - 2⟨x_i, y_j⟩ leaves rounding errors.
    """
    return _by_pairs(lambda a, b: _row_sums(*2 * (a - b,)), X, i, Y, j)


def inner_products(X: Matrix, i: Array, Y: Matrix, j: Array) -> Array:  # (pairs,)
    """⟨x_i, y_j⟩, pair by pair."""
    return _by_pairs(_row_sums, X, i, Y, j)


def _row_sums(A: Any, B: Any) -> Array:
    """The sums of the rows of A ∘ B."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(B).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, B))


def _by_pairs(function: Callable[[Any, Any], Array], X: Any, i: Array, Y: Any, j: Array) -> Array:
    values = np.empty(len(i), X.dtype)
    together = _SPARSE_PAIRS if sparse.issparse(X) else _PAIRS
    for part in slices(len(i), together // X.shape[1]):
        values[part] = function(X[i[part]], Y[j[part]])
    return values


def product(X: Matrix, V: Array) -> Array:  # (m, p), (p, k) -> (m, k)
    """XV as an array, for any kind of X."""
    if not on_host(X):
        return X @ V
    with threads_for(2.0 * X.shape[0] * X.shape[1] * V.shape[1]):
        return np.asarray(safe_sparse_dot(X, V))


def is_nearly_empty(A: Array, most: float) -> bool:
    """Whether fewer entries than so many are not zero; others are not counted to the end."""
    for rows in slices(len(A), max(1, _PAIRS // A.shape[1])):
        most -= np.count_nonzero(A[rows])
        if most <= 0:
            return False
    return True


def smallest_entry(X: Matrix) -> float:
    """The smallest entry that is stored, or 0 if that is less."""
    if not on_host(X):
        return float(namespace(X).min(X))
    values = X.data if sparse.issparse(X) else X
    return float(values.min(initial=0))


def largest_entry(X: Matrix) -> float:
    """max |X| without a copy; NaN is ignored."""
    if not on_host(X):
        return float(namespace(X).max(namespace(X).abs(X)))
    values = X.data if sparse.issparse(X) else X
    most = float(np.fmax.reduce(values, axis=None, initial=0))  # fmax and fmin pass over NaN
    return max(most, -float(np.fmin.reduce(values, axis=None, initial=0)))


def asymmetry(K: Array) -> float:
    """The largest |K_ij - K_ji| relative to the largest |K_ij|, without an array of K's size."""
    xp, n = namespace(K), K.shape[0]
    largest = max(-float(xp.min(K)), float(xp.max(K)))
    parts = (K[rows, :] - K[:, rows].T for rows in slices(n, _LOOK // n))
    return max(float(xp.max(xp.abs(part))) for part in parts) / largest if largest else 0.0


def step(S: Any, V: Array) -> Array:  # (n, n), (n, k) -> (n, k)
    """SV, for a matrix or an operator."""
    return times(S, V) if sparse.issparse(S) else S @ V


def in_units(X: Matrix, unit: float) -> Matrix:
    """X / unit, without a copy if the unit is 1."""
    if unit == 1.0:
        return X
    if sparse.issparse(X):  # scipy would multiply with 1/unit, which may be infinite
        X = X.copy()
        X.data /= np.asarray(unit, X.dtype)
        return X
    return X / (np.asarray(unit, X.dtype) if on_host(X) else unit)


def times_sides(rows: Array, K: Matrix, columns: Array) -> Matrix:  # (m,), (m, n), (n,)
    """diag(rows) K diag(columns)."""
    if sparse.issparse(K):
        return (sparse.diags_array(rows) @ K @ sparse.diags_array(columns)).tocsr()
    return rows[:, None] * K * columns


def filled_share(X: Matrix) -> float:
    """The share of the entries that are stored; 1 for an array."""
    return X.nnz / max(X.shape[0] * X.shape[1], 1) if sparse.issparse(X) else 1.0


def canonical(X: Matrix) -> sparse.csr_array:
    """X in CSR form with every entry stored once: its squares would be wrong otherwise."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
