"""The arithmetic of tall factors that multiplicative rules share, on the host and on devices.

On the host memory orders and arrays used again decide how fast the arithmetic is; on a device the
plain formula does. The functions here tell the two apart, so that the rules need not.
"""

from __future__ import annotations

import numpy as np

from .arrays import device_of, like, namespace, on_host, tiny, without_tiny
from .types import Array, Labels

#: Rows of a tall matrix that are worked on together.
_ROWS = 4096


def dot(A: Array, M: Array) -> Array:  # (n, k), (k, k) -> (n, k)
    """A @ M in the memory order of A: mixed orders would make every later step slow."""
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
    """A in parts that stay in the processor's cache; sums over parts are the more precise too."""
    return [A[start : start + _ROWS] for start in range(0, len(A), _ROWS)]


def lengths(V: Array) -> Array:  # (n, k) -> (k,)
    """The lengths of the columns, with 1 in place of 0."""
    xp = namespace(V)
    squares = np.einsum("ik,ik->k", V, V) if on_host(V) else column_inner(V, V)
    length = xp.sqrt(squares)
    return xp.where(length > 0, length, 1)


def unit_columns(V: Array) -> Array:  # (n, k)
    """V with columns of length 1; columns of zeros stay."""
    return V / lengths(V)


def quotient(numerator: Array, denominator: Array) -> Array:  # all (n, k)
    """numerator / denominator, with a floor under the division; in place of denominator.

    The floor is far below any number that matters, and far enough above the smallest one
    that the ratio stays finite: a factor's entry that is zero must stay zero, not become NaN.
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

    Multiplicative rules drive entries towards zero for ever; their products would become
    subnormal numbers, with which processors compute several times slower.
    """
    if not on_host(V):
        return without_tiny(V)
    # A product takes the same time however many entries are tiny; a copy where they are does not.
    np.multiply(V, np.sqrt(np.finfo(V.dtype).tiny) <= V, out=V)
    return V


def nearness(distances: Array) -> Array:  # (m, k) -> (m, k)
    """Scores from distances to means, zero distances included."""
    distances = np.asarray(distances)
    return np.asarray(1 / np.maximum(distances, tiny(distances)))
