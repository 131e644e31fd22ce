"""Orthogonal bases of a few columns of many numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg

from .arithmetic import over_threads, tall_parts, tall_times, threads_worth
from .types import Array
from .work import threads_for

#: How much longer than the shortest a column of R may be, by the bytes of a number.
_MOST_DEPENDENT = {4: 1e4, 8: 1e6}


def orthogonal(Q: Array) -> Array:  # (n, m) -> (n, m)
    """An orthogonal basis of the columns; Q is overwritten.

    QR⁻¹ with RᵀR = QᵀQ, twice, as rounding is left after the first. Where columns are all but
    dependent it is LAPACK's turn, on one thread: its threads meet after every few columns, and 28
    columns of 30,000 numbers took two of them 60 times as long on a busy machine.
    """
    most = _MOST_DEPENDENT[Q.dtype.itemsize]
    with threads_for(0):
        for _ in range(2):
            try:
                R = linalg.cholesky(tall_inner(Q, Q, np.float64))
            except linalg.LinAlgError:
                return _by_reflections(Q)
            if not R.diagonal().max() < most * R.diagonal().min():
                return _by_reflections(Q)
            Q = tall_times(Q, linalg.solve_triangular(R, np.eye(len(R))).astype(Q.dtype))
        return Q


def _by_reflections(Q: Array) -> Array:  # (n, m) -> (n, m)
    return np.asarray(linalg.qr(Q, mode="economic", overwrite_a=True)[0])


def beside(V: Array, Q: Array) -> Array:  # (n, c), (n, b) -> (n, b)
    """An orthogonal basis of what Q has beside the orthogonal columns of V; Q is overwritten."""
    if not V.shape[1]:
        return orthogonal(Q)
    for _ in range(2):  # where Q has next to nothing beside V, rounding is left after the first
        Q -= tall_times(V, tall_inner(V, Q).astype(Q.dtype))
        Q = orthogonal(Q)
    return Q


def tall_inner(
    A: Array, B: Array, dtype: DTypeLike | None = None
) -> Array:  # (n, m), (n, k) -> (m, k)
    """AᵀB, by products in this precision, or that of A, and sums in double precision."""
    useful = threads_worth(A.size * B.shape[1])
    parts = tall_parts(len(A), useful)
    found = np.empty((len(parts), A.shape[1], B.shape[1]))

    def work(place: int) -> None:
        rows = parts[place]
        found[place] = A[rows].astype(dtype or A.dtype, copy=False).T @ B[rows]

    over_threads(work, len(parts), useful)
    return np.asarray(found.sum(axis=0))
