"""The faster solvers of the family, entry by entry."""

import numpy as np

from .family import laplacian


def sweep(V, A, B, E=None):
    """Each entry goes to its best value, column after column."""
    V = V.copy()
    n, k = V.shape
    for j in range(k):
        for i in range(n):
            weight = A[j, j] + (0 if E is None else E[i, j])
            rest = sum(V[i, m] * A[m, j] for m in range(k) if m != j)
            if weight > 0:
                V[i, j] = max(0, (B[i, j] - rest) / weight)
    return V


def weighted_sweep(V, M, F, B, ridge=0.0):
    """The same where the curvature of a row is that of its own weights."""
    rows = [
        sweep(V[i : i + 1], F.T @ np.diag(M[i]) @ F + ridge * np.eye(F.shape[1]), B[i : i + 1])
        for i in range(len(V))
    ]
    return np.concatenate(rows)


def graph_sweep(X, A, alpha, G, F):
    """A sweep over ‖X - GFᵀ‖² + α tr(GᵀLGN²), with 2 Deg in place of L around the last G."""
    L, Deg = laplacian(A), np.diag(A.sum(axis=1))
    N2 = np.diag(np.diag(F.T @ F))
    bound = 2 * alpha * np.outer(np.diag(Deg), np.diag(N2))
    return sweep(G, F.T @ F, X @ F - alpha * L @ G @ N2 + bound * G, bound)


def convex_W(K, W, G, lift):
    """W ← max(0, W - z ∘ slope / (|K| z GᵀG)), z = W + lift."""
    A, z = G.T @ G, W + lift
    down = np.abs(K) @ z @ np.abs(A)  # zero for a sample that is like none, which stays
    return np.maximum(0, W - z * (K @ W @ A - K @ G) / np.where(down > 0, down, 1))


def grouped_objective(X, V, P):
    return sum(np.sum((X[i] - V[i] @ P) ** 2) for i in range(len(X)))


def best_group(x, P):
    """The best single prototype for a sample, and its coefficient, all of them tried."""
    tries = []
    for c, prototype in enumerate(P):
        length = prototype @ prototype
        value = max(0, x @ prototype) / length if length > 0 else 0
        tries.append((np.sum((x - value * prototype) ** 2), c, value))
    return min(tries)


def projected_gradient(V, slope):
    """What is left of the gradient where V ≥ 0 holds it back: zero at a solution."""
    return np.where(V > 0, slope, np.minimum(slope, 0))


def nmf_slopes(X, M, G, F):
    """Half of the gradients of Σ M (X - GFᵀ)² in G and F."""
    R = M * (G @ F.T - X)
    return R @ F, R.T @ G
