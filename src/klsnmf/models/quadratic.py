"""Nonnegative quadratic problems, one coefficient at a time.

    q(V) = ½ tr(V A Vᵀ) - tr(VᵀB) + ½ Σ_ij E_ij V_ij²,    V ≥ 0,

with V of shape (n, k), A symmetric and positive semidefinite, E ≥ 0. The best column j for given
other columns is known: V_j = max(0, (B_j - Σ_{l≠j} V_l A_lj) / (A_jj + E_j)). A sweep renews one
column after the other; it is the step of HALS (Cichocki and others, 2007), or cyclic coordinate
descent. No sweep ever raises q. Rows are independent of each other, so they are handled in blocks
that fit into the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.arithmetic import dot, inner
from ..core.arrays import slices
from ..core.types import Array
from ..grams.base import Data, Operator

#: Sweeps continue while one moves V by more than this share of what the first did.
_GOES_ON = 0.1

#: The most sweeps after one product.
_MOST = 20

#: So many columns are updated one by one against each other, and together against the rest.
_TOGETHER = 40

#: How many bytes are in a block of rows, and its fewest rows.
_BLOCK = 2**19
_FEWEST = 1024

#: The cost of passing over an entry besides its products, in products of two numbers; and the cost
#: of a product if X is sparse.
_PASSES = 40
_SPARSE = 2


def sweeps_worth(product: Operator, k: int) -> int:
    """How many sweeps to do with a product: as many as take half of its time.

    After Gillis and Glineur (2012): B is expensive and A is not, so both are used more than once.
    """
    dear = isinstance(product, Data) and product.is_sparse
    cost = product.flops / (2 * product.shape[0]) * (_SPARSE if dear else 1)
    return min(_MOST, 1 + int(cost / (2 * (k + _PASSES))))


def swept(
    V: Array, A: Array, B: Array, most: int, E: Array | None = None
) -> Array:  # (n, k), (k, k), (n, k), int, (n, k)
    """V after at most so many sweeps, in place."""
    n, k = V.shape
    for rows in slices(n, max(_FEWEST, _BLOCK // (k * V.itemsize))):
        part = np.ascontiguousarray(V[rows].T)
        _sweep_block(part, A, B[rows].T, most, None if E is None else E[rows].T)
        V[rows] = part.T
    return V


def _sweep_block(V: Array, A: Array, B: Array, most: int, E: Array | None) -> None:
    """The same for a block of rows, transposed, so that columns are contiguous; in place."""
    k = len(A)
    weight = np.diag(A)[:, None] if E is None else np.diag(A)[:, None] + E  # (k, 1) or (k, b)
    inverse = inverted(weight)
    idle = ~weight.any(axis=1)  # nothing depends on these columns now; they stay for later
    kept = V[idle]
    if E is None:  # then the division is done once, in A and B
        A, B = A * inverse, B * inverse
    parts = []
    for some in slices(k, -(-k // -(-k // _TOGETHER))):
        within, rest = A[some, some].copy(), A[some].copy()
        np.fill_diagonal(within, 0)
        rest[:, some] = 0
        parts.append((V[some], B[some], within, rest, None if E is None else inverse[some]))
    room, first = np.empty_like(V[0]), 0.0
    for turn in range(most):
        before = V.copy() if most > 1 else V
        for own, target, within, rest, divided in parts:
            aim = target - rest @ V if len(parts) > 1 else target
            for j in range(len(own)):
                np.dot(within[j], own, out=room)
                np.subtract(aim[j], room, out=room)
                if divided is not None:
                    room *= divided[j]
                np.maximum(room, 0, out=own[j])
        V[idle] = kept
        if turn < most - 1:
            np.subtract(V, before, out=before)
            before *= before
            moved = float(np.vdot(weight, before if E is not None else before.sum(axis=1)))
            if turn == 0:
                first = moved
            if moved <= _GOES_ON**2 * first:
                break


def swept_by_row(
    V: Array,
    weights: Array,
    other: Array,
    B: Array,
    most: int,
    ridge: float = 0.0,
    goes_on: float = _GOES_ON,
) -> Array:  # (n, k), (n, p), (p, k), (n, k)
    """The same where each row has its own A_i = Fᵀ diag(M_i) F + ridge·I, with M the weights."""
    n, k = V.shape
    above = np.triu_indices(k)
    place = np.empty((k, k), np.intp)
    place[above] = place.T[above] = np.arange(len(above[0]))
    pairs = other[:, above[0]] * other[:, above[1]]  # (p, k(k+1)/2)
    for rows in slices(n, max(64, _BLOCK // (2 * k**2 * V.itemsize))):
        A = np.ascontiguousarray((weights[rows] @ pairs).T)[place]  # (k, k, b)
        part, aim = np.ascontiguousarray(V[rows].T), np.ascontiguousarray(B[rows].T)
        A[np.arange(k), np.arange(k)] += ridge
        weight = A[np.arange(k), np.arange(k)]
        inverse, idle = inverted(weight), ~weight.any(axis=1)
        first = 0.0
        for turn in range(most):
            before = part.copy()
            for j in range(k):
                others = np.einsum("lb,lb->b", A[j], part) - weight[j] * part[j]
                np.maximum((aim[j] - others) * inverse[j], 0, out=part[j])
            part[idle] = before[idle]
            before -= part
            before *= before
            moved = float(np.vdot(weight, before))
            if turn == 0:
                first = moved
            if moved <= goes_on**2 * first:
                break
        V[rows] = part.T
    return V


def inverted(weight: Array) -> Array:
    """1/w, or 0 where w is 0, because nothing depends on such an entry."""
    known = weight > 0
    return np.where(known, 1 / np.where(known, weight, 1), 0).astype(weight.dtype)


def gain(
    V: Array, slope: Array, weight: Array, bend: Callable[[Array], Array], *, free: bool = False
) -> float:
    """Twice the decrease of a quadratic, along the way of each entry to its own best value.

    With ∇ the slope and w the curvature in each entry, the best value of an entry alone is
    δ_ij = max(-V_ij, -∇_ij / w_ij) away; for an entry of any sign -∇_ij / w_ij. Along δ, with H the
    Hessian, ``bend``, a quadratic falls by ½ ⟨∇, δ⟩² / ⟨δ, Hδ⟩. That is zero exactly where V solves
    its problem. It does not change when a column of V is scaled and what it is multiplied with is
    scaled back.
    """
    way = slope * inverted(weight)
    if not free:
        np.minimum(V, way, out=way)
    fall, curve = inner(slope, way), inner(way, bend(way))
    return fall**2 / curve if curve > 0 else 0.0


def gain_by_rows(V: Array, A: Array, B: Array, *, free: bool = False) -> float:
    """The same for the problem of `swept`, without E."""
    return gain(V, dot(V, A) - B, np.diag(A), lambda way: dot(way, A), free=free)
