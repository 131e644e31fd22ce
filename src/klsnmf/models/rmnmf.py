"""RMNMF: a factorization on a graph that is robust to outliers.

    Σ_i ‖x_i - F g_i‖ + α tr(GᵀLG),    G ≥ 0, GᵀG = I, F of any sign,

after Huang, Nie, Huang and Ding, "Robust manifold nonnegative matrix factorization" (2014). Errors
count with their length, not its square. They solve it by an augmented Lagrangian: the errors become
E = X - GFᵀ, the nonnegative G becomes Z = G, and the multipliers Λ and Σ with the weight μ enforce
both equations. With Y = X - E + Λ/μ an iteration is

    E:  e_i = max(0, 1 - 1/(μ‖q_i‖)) q_i,   Q = X - GFᵀ + Λ/μ
    F = YᵀG
    Z = max(0, G + Σ/μ - (α/μ) LG)
    G = UVᵀ,   UΔVᵀ = YF + Z - Σ/μ - (α/μ) LZ
    Λ ← Λ + μ(X - GFᵀ - E),   Σ ← Σ + μ(G - Z),   μ ← 1.02 μ.

If μ grows faster, the iteration stalls before both equations hold.

Arrays of the size of X take most of the time, so there are few of them. Let R = X - GFᵀ, and let
w_i = min(1, 1/(μ‖q_i‖)) be the share of q_i that is not error: e_i = (1 - w_i) q_i. Then

    Y = GFᵀ + w∘Q               before F and G change, so with GᵀG = I
    F ← F + Qᵀ(w∘G),            and with the new F
    YF = G FᵀF + (I - GGᵀ)(w∘QF)
    Λ/μ ← Y - GFᵀ = D + R       after they did, with D = Y - X = w∘Q - R of before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from sklearn.utils import gen_batches

from ..core.arithmetic import inner, one_a_row, square, taken, unit_columns
from ..core.arithmetic import lengths as column_lengths
from ..core.types import Array
from ..grams.base import Operator
from ..grams.graph import Graph
from .base import State
from .nmf import NMF

#: How well X - GFᵀ = E and G = Z must hold at the end, relative to ‖X‖ and √k.
RESIDUAL = 1e-6

#: The factor of μ in an iteration, and the largest factor over all iterations.
GROWTH = 1.02
MOST_GROWTH = 1e5

#: Squares of singular values below this share of the largest have lost too many digits.
LEAST_SQUARE = 1e-6

#: How many numbers are in a block of rows.
BLOCK = 2**15


@dataclass(frozen=True)
class RobustNMF(NMF):
    """Σ_i ‖x_i - F g_i‖ + α tr(GᵀLG). X is dense.

    Only lengths and angles of samples matter, so X may hold their coordinates in an orthonormal
    basis of the space they span: (n, r) in place of (n, p).
    """

    graph: Graph
    alpha: float
    basis: Array | None = None  # (p, r)

    factors: ClassVar[tuple[str, ...]] = (
        "Q",
        "w",
        "D",
        "F",
        "Z",
        "G",
        "R",
        "Sigma",
        "last_mu",
        "mu",
    )

    @cached_property
    def scale(self) -> float:
        return float(lengths(self.X.X).sum())

    @cached_property
    def first_mu(self) -> float:
        """μ at the start: 1, or what the graph term asks for, whose curvature is 2αL ≤ 4α Deg."""
        return max(1.0, self.alpha * float(self.graph.degrees.max()))

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"AG": (self.graph, "G"), "AZ": (self.graph, "Z")}

    def in_single_precision(self) -> Self:
        """Itself: the equations must hold to more digits than single precision has."""
        return self

    def start(self, G: Array, F: Array) -> dict[str, Array]:
        """A start from the clusters that G names; F follows from them."""
        G = unit_columns(np.eye(G.shape[1])[np.argmax(G, axis=1)])
        F = self.X.X.T @ G
        R = self.X.X - G @ F.T
        return {
            "Q": R,
            "w": np.ones((len(G), 1)),
            "D": R,
            "F": F,
            "Z": G,
            "G": G,
            "R": R,
            "Sigma": np.zeros_like(G),
            "last_mu": np.zeros((1, 1)),  # which makes Λ zero
            "mu": np.full((1, 1), self.first_mu),
        }

    def update_Q(self, s: State) -> Array:  # in place
        """R + Λ/μ, where Λ is that of the last μ."""
        np.add(s.D, s.R, out=s.Q)
        s.Q *= s.last_mu / s.mu
        s.Q += s.R
        return s.Q

    def update_w(self, s: State) -> Array:  # (n, 1)
        return 1 / np.maximum(1, s.mu * lengths(s.Q)[:, None])

    def update_D(self, s: State) -> Array:  # in place
        np.multiply(s.Q, s.w, out=s.D)
        s.D -= s.R
        return s.D

    def update_F(self, s: State) -> Array:
        return s.F + ((s.w * s.G).T @ s.Q).T

    def update_Z(self, s: State) -> Array:
        LG = self.graph.degrees * s.G - s.AG
        return np.maximum(0, s.G + (s.Sigma - self.alpha * LG) / s.mu)

    def update_G(self, s: State) -> Array:
        LZ = self.graph.degrees * s.Z - s.AZ
        wQF = s.w * (s.Q @ s.F)
        YF = wQF + s.G @ (square(s.F) - s.G.T @ wQF)
        return polar(YF + s.Z - (s.Sigma + self.alpha * LZ) / s.mu)

    def update_R(self, s: State) -> Array:  # in place
        np.matmul(s.G, s.F.T, out=s.R)
        return np.subtract(self.X.X, s.R, out=s.R)

    def update_Sigma(self, s: State) -> Array:
        return s.Sigma + s.mu * (s.G - s.Z)

    def update_last_mu(self, s: State) -> Array:
        return s.mu

    def update_mu(self, s: State) -> Array:
        return np.minimum(GROWTH * s.mu, MOST_GROWTH * self.first_mu)

    def E(self, s: State, rows: slice = slice(None)) -> Array:  # (rows, p)
        return (1 - s.w[rows]) * s.Q[rows]

    def loss(self, s: State) -> float:
        roughness = inner(s.G, self.graph.degrees * s.G - s.AG)
        return float(lengths(s.R).sum()) + self.alpha * roughness

    def error_residual(self, s: State) -> float:
        """How far X - GFᵀ = E is from holding, in blocks of rows that fit into the cache."""
        blocks = gen_batches(len(s.R), BLOCK // self.X.shape[1] + 1)
        error = [np.linalg.norm(s.R[rows] - self.E(s, rows)) for rows in blocks]
        return float(np.linalg.norm(error) / np.sqrt(self.X.square_sum))

    def split_residual(self, s: State) -> float:
        """How far G = Z is from holding."""
        return float(np.linalg.norm(s.G - s.Z) / np.sqrt(s.G.shape[1]))

    def constraint_residual(self, s: State) -> float:
        return max(self.error_residual(s), self.split_residual(s))

    def settled(self, s: State) -> bool:
        # The split is cheap to check, and usually the last to hold.
        return self.split_residual(s) < RESIDUAL and self.error_residual(s) < RESIDUAL

    def error(self, G: Array, H: Array) -> float:
        return super().error(G, H if self.basis is None else self.basis.T @ H)

    def factorization(self, s: State) -> tuple[Array, Array]:
        return s.Z, s.F if self.basis is None else self.basis @ s.F


@dataclass(frozen=True)
class GroupedRobust(RobustNMF):
    """The same problem with constraints that always hold; no step ever raises it.

    Nonnegative orthogonal columns have one nonzero entry a row. With e_i the errors so far and
    w_i = 1/‖e_i‖, the lengths are bounded by squares, ‖x_i - F g_i‖ ≤ ½ w_i ‖x_i - F g_i‖² + const,
    with = at the last iterate. Then the best F is known, a weighted mean of each cluster. For G, L
    is bounded by 2 Deg as in GNMF, and what remains is a problem of each row: in column c with
    entry a it is ½ q_ic a² - p_ic a, where V is the last G, ρ_c = (VᵀLV)_cc, and

        q_ic = w_i (FᵀF)_cc + 4α Deg_i
        p_ic = w_i (XF)_ic - 2α (LV - ρV)_ic + 4α Deg_i V_ic.

    A row goes where p²/q is largest, with a = p/q. Columns are scaled to length 1 after that; with
    ρ, this does not change the graph term. If the objective is higher then, the last G is kept.
    """

    factors = ("F", "G")

    def products(self) -> dict[str, tuple[Operator, str]]:
        return {"XF": (self.X, "F")}

    def start(self, G: Array, F: Array) -> dict[str, Array]:
        G = unit_columns(np.eye(G.shape[1])[np.argmax(G, axis=1)])
        return {"F": self.X.X.T @ G, "G": G}

    def weights(self, F: Array, G: Array) -> Array:  # (n, 1)
        """1/‖e_i‖, bounded for errors that are tiny compared with the samples."""
        least = np.finfo(G.dtype).eps * self.scale / len(G)
        return 1 / np.maximum(lengths(self.X.X - G @ F.T), least)[:, None]

    def update_F(self, s: State) -> Array:
        wG = self.weights(s.F, s.G) * s.G
        total = np.einsum("ik,ik->k", wG, s.G)
        return (self.X.X.T @ wG) / np.where(total > 0, total, 1)

    def rows(self, s: State) -> tuple[Array, Array]:  # (n, k), (n, k)
        """p and q."""
        w, Deg = self.weights(s.F, s.G), self.alpha * self.graph.degrees
        LG = self.Laplacian(s.G)
        rho = np.einsum("ik,ik->k", s.G, LG)
        p = w * s.XF - 2 * self.alpha * (LG - rho * s.G) + 4 * Deg * s.G
        return p, w * np.einsum("pk,pk->k", s.F, s.F) + 4 * Deg

    def update_G(self, s: State) -> Array:
        """The next G. Its columns are scaled, and F and XF are scaled back in place."""
        p, q = self.rows(s)
        p = np.maximum(p, 0)
        q = np.where(q > 0, q, 1)
        c = np.argmax(p**2 / q, axis=1)
        G = one_a_row(p, c, taken(p, c) / taken(q, c))
        length = column_lengths(G)
        s.F *= length
        s.XF *= length
        new = G / length
        if self.value(s.F, new) <= self.value(s.F / length, s.G):
            return new
        s.F /= length
        s.XF /= length
        return s.G.copy()

    def Laplacian(self, V: Array) -> Array:  # (n, k)
        return self.graph.degrees * V - self.graph.dot(V)

    def value(self, F: Array, G: Array) -> float:
        errors = float(lengths(self.X.X - G @ F.T).sum())
        return errors + self.alpha * inner(G, self.Laplacian(G))

    def loss(self, s: State) -> float:
        return self.value(s.F, s.G)

    def residual(self, s: State) -> float:
        """The root of what the next step in G gains in its bound, compared with Σ ‖x_i‖."""
        p, q = self.rows(s)
        best = (np.maximum(p, 0) ** 2 / np.where(q > 0, q, 1)).max(axis=1) / 2
        here = (p * s.G - q * s.G**2 / 2).sum(axis=1)
        return float(np.sqrt(np.maximum(best - here, 0).sum() / self.scale))

    def settled(self, s: State) -> bool:
        return True

    def factorization(self, s: State) -> tuple[Array, Array]:
        return s.G, s.F if self.basis is None else self.basis @ s.F


def lengths(A: Array) -> Array:  # (n, p) -> (n,)
    return np.sqrt(np.einsum("ij,ij->i", A, A))


def polar(M: Array) -> Array:  # (n, k)
    """The orthonormal columns nearest to M: UVᵀ = M(MᵀM)^-½, where UΔVᵀ = M."""
    squares, V = np.linalg.eigh(square(M))
    if not squares[0] > LEAST_SQUARE * squares[-1]:
        U, _, Vt = np.linalg.svd(M, full_matrices=False)
        return U @ Vt
    G = M @ ((V / np.sqrt(squares)) @ V.T)
    return 1.5 * G - G @ (square(G) / 2)  # a step of Newton's: orthonormal to the last digits
