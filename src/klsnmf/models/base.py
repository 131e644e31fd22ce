"""What the loop asks of a model, and the arithmetic that all multiplicative rules share."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._typing import Array, Labels
from ..grams import Operator

#: Rows of a tall matrix that are worked on together.
_ROWS = 4096


class State(SimpleNamespace):
    """The factors and products of one fit by name, each an array of shape (rows, k)."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...


class Model(Protocol):
    """A problem in some factors, and a step of mathematics towards its solution.

    The rules are written for a single fit and change nothing in its state: for a factor W the
    model has a method ``update_W`` that returns the new W. After an update the loop renews the
    products of that factor, for all fits at once. A factor too large for copies may be renewed in
    place: then ``update_W`` returns W itself, and how much it changed is not noted.
    """

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors, in the order in which an iteration updates them."""

    @property
    def scale(self) -> float:
        """The loss when all factors are zero: what the size of a change is compared with."""

    def products(self) -> Mapping[str, tuple[Operator, str]]:
        """The products the rules use: name -> (operator, factor it is multiplied with)."""

    def loss(self, s: State) -> float:
        """The objective."""

    def labels(self, s: State) -> Labels:
        """The cluster of every sample."""

    def settled(self, s: State) -> bool:
        """Whether the fit may end here, once the loss stands still."""

    def runaway(self, s: State) -> str:
        """Why the numbers are about to overflow, in words; empty when they are not."""

    def collapse(self, s: State) -> str:
        """Why a finished fit is not a clustering, in words; empty when it is."""


def dot(A: Array, M: Array) -> Array:  # (n, k), (k, k) -> (n, k)
    """A @ M in the memory order of A: mixed orders would make every later step slow."""
    return np.matmul(A, M, out=np.empty_like(A))


def square(A: Array) -> Array:  # (n, k) -> (k, k)
    """AᵀA. For equal operands numpy calls a routine that is slow for tall matrices: use a copy."""
    if len(A) <= _ROWS:
        return A.T @ A.copy(order="K")
    return np.add.reduce([square(part) for part in row_blocks(A)])


def sym(M: Array) -> Array:  # (k, k)
    return (M + M.T) / 2


def inner(A: Array, B: Array) -> float:
    """⟨A, B⟩."""
    return float(column_inner(A, B).sum())


def column_inner(A: Array, B: Array) -> Array:  # (n, k), (n, k) -> (k,)
    """The diagonal of AᵀB."""
    if len(A) <= _ROWS or A.flags.f_contiguous:
        return np.vecdot(A.T, B.T)
    # Columns that are not contiguous would be gathered from memory one by one.
    parts = zip(row_blocks(A), row_blocks(B), strict=True)
    return np.add.reduce([np.einsum("ik,ik->k", a, b) for a, b in parts])


def row_blocks(A: Array) -> list[Array]:
    """A in parts that stay in the processor's cache; sums over parts are the more precise too."""
    return [A[start : start + _ROWS] for start in range(0, len(A), _ROWS)]


def unit_columns(V: Array) -> Array:  # (n, k)
    """V with columns of length 1; columns of zeros stay."""
    length = np.sqrt(np.einsum("ik,ik->k", V, V))
    return V / np.where(length > 0, length, 1)


def quotient(numerator: Array, denominator: Array) -> Array:  # all (n, k)
    """numerator / denominator, with a floor under the division; in place of denominator.

    The floor is far below any number that matters, and far enough above the smallest one
    that the ratio stays finite: a factor's entry that is zero must stay zero, not become NaN.
    """
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
    np.sqrt(ratio, out=ratio)
    ratio *= V
    return ratio


def plus(M: Array) -> Array:
    return np.maximum(M, 0)


def minus(M: Array) -> Array:
    return np.maximum(-M, 0)


def flushed(V: Array) -> Array:  # (n, k)
    """V with tiny entries set to exactly zero, in place.

    Multiplicative rules drive entries towards zero for ever; their products would become
    subnormal numbers, with which processors compute several times slower.
    """
    np.copyto(V, 0, where=np.sqrt(np.finfo(V.dtype).tiny) > V)
    return V
