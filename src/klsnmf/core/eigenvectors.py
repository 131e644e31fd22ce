"""The leading eigenvectors of a symmetric matrix that is known by its products.

Why not a library: ARPACK (scipy's eigsh) needed 0.3 to 0.9 of the time of `subspace_iteration` on
the neighbour graphs of digits and Semeion, which hang together. Graphs in pieces are what it cannot
do: of the 20 eigenvectors of eigenvalue 1 of 20 far blobs, 10,000 samples, it found 17 in 4.4 times
the time of `filtered_iteration`, and 9 with a tolerance of 1e-3; on two moons of 10,000 samples it
took 42 times as long. LOBPCG took 1.2 to 9 times as long. One thread of an x86-64 server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from .arrays import slices
from .types import Array
from .work import tell, threads_for

#: Up to this many samples eigenvectors are computed by a dense solver, which is fast there.
_SMALL = 400

#: Vectors beyond those asked for: the last ones of a block converge late.
SPARE = 8

#: Plain subspace iteration: products between two orthogonalisations, and rounds at most.
_STEPS = 5
_ROUNDS = 12

#: What the leading vectors gain in a round that leaves them as they are, to all intents.
_STILL = 1e-5

#: With a filter: its lowest and highest degree, how steeply it rises between the edge and 1 (the
#: hyperbolic cosine of this), and the most products.
_DEGREES = 20, 200
_RISE = 4.0
_MOST_PRODUCTS = 600

#: Residuals that are small enough, and as a share of the way from the last eigenvalue up to 1.
_RESIDUAL = 1e-3
_SHARE = 0.02

#: Eigenvalues this close to 1, in units of the precision, cannot be told from it; and this close
#: they are better looked for in a higher precision.
_UNRESOLVED = 64
_CROWDED = 2**13

#: Where the filter begins before any eigenvalue is known, and how close to 1 it may come.
_FIRST_EDGE = 0.5
_LAST_EDGE = 1 - 1e-6

#: Columns that LAPACK makes orthogonal to all others together.
_BLOCK = 32

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
        before = Q
        for _ in range(_STEPS):
            Q = multiply(Q)
        Q = _orthogonal(Q)
        leading = Q[:, :k]
        if linalg.norm(leading - before @ (before.T @ leading)) < _STILL:
            break
    values, small = linalg.eigh(Q.T @ multiply(Q))
    return values[::-1][:k], (Q @ small)[:, ::-1][:, :k]


def filtered_iteration(
    multiply: Callable[[Array], Array],
    Q: Array,
    k: int,
    rough: Callable[[Array], Array] | None = None,
    *,
    near: bool = False,
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The k largest eigenvalues of a matrix with eigenvalues in [-1, 1], and their vectors.

    Subspace iteration from the block Q, (n, m) with m > k, by Chebyshev polynomials in place of
    powers. They stay small below an edge and rise steeply above it, so that on long thin curves,
    where eigenvalues crowd below 1, a hundred products do the work of thousands. The edge
    follows the smallest eigenvalue found so far. Q is overwritten. ``near`` says that Q is near the
    vectors looked for, so that the edge can begin where Q says.

    ``rough`` multiplies in single precision. It goes as far as the tolerance asks, in half the
    time, unless eigenvalues crowd too close to 1 or rounding is all that is left.
    """
    search = _Search(Q, k)
    if rough is not None:
        search.Q = Q.astype(np.float32)
        if near:
            search.begin_near(rough)
        before = np.inf
        while search.goes_on(_CROWDED) and search.residual <= before / 2:
            before = search.residual
            search.filter(rough)
        search.continue_in(Q.dtype, multiply)
    elif near:
        search.begin_near(multiply)
    while search.goes_on(_UNRESOLVED):
        search.filter(multiply)
    return search.values[:k], search.Q[:, :k]


class _Search:
    """Where a filtered iteration stands: its block, the eigenvalues in it, and the edge."""

    def __init__(self, Q: Array, k: int) -> None:
        self.Q, self.k = Q, k
        self.edge, self.products, self.residual = _FIRST_EDGE, 0, np.inf

    def goes_on(self, unresolved: float) -> bool:
        """Whether vectors are not yet found, and can be told apart in this precision."""
        found = self.residual < min(_RESIDUAL, _SHARE * (1 - self.edge))
        resolved = 1 - self.edge >= unresolved * np.finfo(self.Q.dtype).eps
        return not found and resolved and self.products <= _MOST_PRODUCTS

    def begin_near(self, multiply: Callable[[Array], Array]) -> None:
        """From vectors that are near those looked for: the edge is known, but no vector is."""
        self.Q = _orthogonal(self.Q)
        self.align(multiply)
        self.edge = max(self.edge, _FIRST_EDGE)
        self.residual = np.inf

    def continue_in(self, dtype: np.dtype[Any], multiply: Callable[[Array], Array]) -> None:
        """Go on from here in a higher precision, with as many products as from the beginning."""
        unfinished = self.goes_on(0)
        self.Q, self.products = self.Q.astype(dtype), 0
        if not unfinished:
            self.Q = _orthogonal(self.Q)
            return self.align(multiply)
        # A filter of all that is below the first edge takes the rounding away, which one with an
        # edge close to 1 would leave there.
        self.edge = _FIRST_EDGE
        return self.filter(multiply)

    def filter(self, multiply: Callable[[Array], Array]) -> None:
        lowest, highest = _DEGREES
        steepness = np.sqrt(4 * (1 - self.edge) / (1 + self.edge))
        degree = int(np.clip(_RISE / steepness, lowest, highest))
        self.Q = _orthogonal(_filtered(multiply, self.Q, self.edge, degree))
        self.products += degree
        self.align(multiply)
        tell("eigenvectors", min(self.products, _MOST_PRODUCTS), _MOST_PRODUCTS)

    def align(self, multiply: Callable[[Array], Array]) -> None:
        """Turn the orthogonal block so that its columns are eigenvectors, as seen in it."""
        product = multiply(self.Q)
        self.products += 1
        values, small = linalg.eigh(self.Q.T @ product)
        values, small = values[::-1], small[:, ::-1]
        _times(self.Q, small)
        _times(product, small)
        product -= self.Q * values
        longest = np.einsum("ij,ij->j", product, product)[: self.k].max()
        self.values, self.residual = values, float(np.sqrt(longest))
        self.edge = min(float(values[-1]), _LAST_EDGE)


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


def _orthogonal(Q: Array) -> Array:  # (n, m) -> (n, m)
    """An orthogonal basis of the columns; Q is overwritten.

    Threads meet after every block: 88 columns of 1797 numbers took one thread 6 ms, and two 11.
    """
    with threads_for(4.0 * _BLOCK * Q.size):
        return np.asarray(linalg.qr(Q, mode="economic", overwrite_a=True)[0])


def _times(A: Array, M: Array) -> None:
    """A ← AM, in place."""
    for rows in slices(len(A), _ROWS):
        A[rows] = A[rows] @ M
