"""The leading eigenvectors of a symmetric matrix that is known by its products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ._typing import Array
from .progress import tell

#: Up to this many samples eigenvectors are computed by a dense solver, which is fast there.
_SMALL = 400

#: Vectors beyond those asked for: the last ones of a block converge late.
SPARE = 8

#: Plain subspace iteration: products between two orthogonalisations, and rounds.
_STEPS = 5
_ROUNDS = 12

#: With a filter: its lowest and highest degree, how steeply it rises between the edge and 1 (the
#: hyperbolic cosine of this), and the most products.
_DEGREES = 20, 200
_RISE = 4.0
_MOST_PRODUCTS = 600

#: Residuals that are small enough, and as a share of the way from the last eigenvalue up to 1.
_RESIDUAL = 1e-3
_SHARE = 0.02

#: Eigenvalues this close to 1, in units of the precision, cannot be told from it.
_UNRESOLVED = 64

#: Where the filter begins before any eigenvalue is known, and how close to 1 it may come.
_FIRST_EDGE = 0.5
_LAST_EDGE = 1 - 1e-6

#: Rows of a tall matrix multiplied together: a temporary array of its size is saved.
_ROWS = 2**16


def subspace_iteration(
    multiply: Callable[[Array], Array], n: int, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of a symmetric matrix, known by its products, and their vectors.

    A neighbour graph often falls into pieces, and then the largest eigenvalue has as many
    eigenvectors as there are pieces: a block of vectors finds them all, where Lanczos iterations,
    which grow from a single vector, miss most of them. Not many digits are needed here.
    """
    if n <= _SMALL:
        S = multiply(np.eye(n))
        values, vectors = linalg.eigh((S + S.T) / 2, subset_by_index=(n - k, n - 1))
        return values[::-1], vectors[:, ::-1]
    Q = rng.normal(size=(n, min(n, k + SPARE)))
    for _ in range(_ROUNDS):
        for _ in range(_STEPS):
            Q = multiply(Q)
        Q = linalg.qr(Q, mode="economic")[0]
    values, small = linalg.eigh(Q.T @ multiply(Q))
    return values[::-1][:k], (Q @ small)[:, ::-1][:, :k]


def filtered_iteration(
    multiply: Callable[[Array], Array], Q: Array, k: int
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The k largest eigenvalues of a matrix with eigenvalues in [-1, 1], and their vectors.

    Subspace iteration from the block Q, (n, m) with m > k, by Chebyshev polynomials in place of
    powers. They stay small below an edge and rise steeply above it, so that on long thin curves,
    where eigenvalues crowd below 1, a hundred products do the work of thousands. The edge
    follows the smallest eigenvalue found so far. Q is overwritten.
    """
    edge, products = _FIRST_EDGE, 0
    while True:
        lowest, highest = _DEGREES
        degree = int(np.clip(_RISE / np.sqrt(4 * (1 - edge) / (1 + edge)), lowest, highest))
        Q = linalg.qr(_filtered(multiply, Q, edge, degree), mode="economic", overwrite_a=True)[0]
        product = multiply(Q)
        products += degree + 1
        values, small = linalg.eigh(Q.T @ product)
        values, small = values[::-1], small[:, ::-1]
        _times(Q, small)
        _times(product, small)
        product -= Q * values
        residual = float(np.sqrt(np.einsum("ij,ij->j", product, product)[:k].max()))
        edge = min(float(values[-1]), _LAST_EDGE)
        tell("eigenvectors", min(products, _MOST_PRODUCTS), _MOST_PRODUCTS)
        found = residual < min(_RESIDUAL, _SHARE * (1 - edge))
        unresolved = 1 - edge < _UNRESOLVED * np.finfo(Q.dtype).eps
        if found or unresolved or products > _MOST_PRODUCTS:
            return values[:k], Q[:, :k]


def _filtered(multiply: Callable[[Array], Array], Q: Array, edge: float, degree: int) -> Array:
    """T(A) Q, T the Chebyshev polynomial of [-1, edge], scaled to T(1) = 1."""
    half, middle = (edge + 1) / 2, (edge - 1) / 2
    scale = first = half / (1 - middle)
    before, now = Q, multiply(Q)
    now -= middle * before
    now *= scale / half
    for _ in range(degree - 1):
        following = 1 / (2 / first - scale)
        product = multiply(now)
        product -= middle * now
        product *= 2 * following / half
        before *= scale * following
        product -= before
        before, now, scale = now, product, following
    return now


def _times(A: Array, M: Array) -> None:
    """A ← AM, in place."""
    for start in range(0, len(A), _ROWS):
        A[start : start + _ROWS] = A[start : start + _ROWS] @ M
