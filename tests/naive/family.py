"""The family, slow and obvious: every formula transcribed, nothing shared.

X is (n, p), G is (n, k), F is (p, k); the full product GFᵀ is formed wherever a formula names it.
"""

import numpy as np

from .klsnmf import FLOOR, minus, plus


def laplacian(A):
    return np.diag(A.sum(axis=1)) - A


# ---------------------------------------------------------------------- NMF and WNMF


def wnmf_objective(X, M, G, F):
    n, p = X.shape
    product = G @ F.T
    return sum(M[i, j] * (X[i, j] - product[i, j]) ** 2 for i in range(n) for j in range(p))


def wnmf_G(X, M, G, F):
    return G * ((M * X) @ F) / ((M * (G @ F.T)) @ F + FLOOR)


def wnmf_F(X, M, G, F):
    return F * ((M * X).T @ G) / ((M * (G @ F.T)).T @ G + FLOOR)


# ---------------------------------------------------------------------- ONMF


def onmf_objective(X, G, F, S):
    return np.sum((X - G @ S @ F.T) ** 2)


def onmf_G(X, G, F, S):
    return G * np.sqrt((X @ F @ S.T) / (G @ G.T @ X @ F @ S.T + FLOOR))


def onmf_F(X, G, F, S):
    return F * np.sqrt((X.T @ G @ S) / (F @ F.T @ X.T @ G @ S + FLOOR))


def onmf_S(X, G, F, S):
    return S * np.sqrt((G.T @ X @ F) / (G.T @ G @ S @ F.T @ F + FLOOR))


# ---------------------------------------------------------------------- Semi-NMF


def semi_F(X, G, F):
    return X.T @ G @ np.linalg.pinv(G.T @ G)


def semi_G(X, G, F):
    up = plus(X @ F) + G @ minus(F.T @ F)
    down = minus(X @ F) + G @ plus(F.T @ F)
    return G * np.sqrt(up / (down + FLOOR))


# ---------------------------------------------------------------------- GNMF


def gnmf_objective(X, A, alpha, G, F):
    """‖X - GFᵀ‖² + α tr(GᵀLG) after the columns of F were scaled to length 1."""
    length = np.linalg.norm(F, axis=0)
    G, F = G * length, F / length
    return np.sum((X - G @ F.T) ** 2) + alpha * np.trace(G.T @ laplacian(A) @ G)


def gnmf_G_at_unit_length(X, A, alpha, G, F):
    """The printed rule: G ← G ∘ (XF + αAG) / (G FᵀF + α Deg G)."""
    Deg = np.diag(A.sum(axis=1))
    return G * (X @ F + alpha * A @ G) / (G @ F.T @ F + alpha * Deg @ G + FLOOR)


def gnmf_F(X, A, alpha, G, F):
    graph = np.diag(np.diag(G.T @ laplacian(A) @ G))
    return F * (X.T @ G) / (F @ (G.T @ G + alpha * graph) + FLOOR)


# ---------------------------------------------------------------------- CNMF


def cnmf_W(K, W, G):
    up = plus(K) @ G + minus(K) @ W @ G.T @ G
    down = minus(K) @ G + plus(K) @ W @ G.T @ G
    return W * np.sqrt(up / (down + FLOOR))


def cnmf_G(K, W, G):
    up = plus(K) @ W + G @ W.T @ minus(K) @ W
    down = minus(K) @ W + G @ W.T @ plus(K) @ W
    return G * np.sqrt(up / (down + FLOOR))


# ---------------------------------------------------------------------- kernel k-means


def kernel_kmeans(K, labels, k, iterations):
    """Assignments to the nearest mean, by distances written out sample by sample."""
    n = len(K)
    for _ in range(iterations):
        members = [np.flatnonzero(labels == c) for c in range(k)]
        new = np.empty(n, dtype=int)
        for i in range(n):
            distance = [
                K[i, i] - 2 * K[i, m].sum() / len(m) + K[np.ix_(m, m)].sum() / len(m) ** 2
                for m in members
            ]
            new[i] = int(np.argmin(distance))
        labels = new
    return labels


# ---------------------------------------------------------------------- RMNMF


def rmnmf_objective(X, A, alpha, G, F):
    errors = sum(np.linalg.norm(X[i] - F @ G[i]) for i in range(len(X)))
    return errors + alpha * np.trace(G.T @ laplacian(A) @ G)


def shortened(q, cut):
    """q, shorter by so much; zero if it is not as long as that."""
    length = np.linalg.norm(q)
    return (1 - cut / length) * q if length > cut else np.zeros_like(q)


def rmnmf(X, A, alpha, labels, k, iterations):
    """So many iterations from labels; all variables by name, and the residual of both equations."""
    L = laplacian(A)
    onehot = np.eye(k)[labels]
    G = Z = onehot / np.sqrt(onehot.sum(axis=0))
    F = X.T @ G
    multiplier, split = np.zeros_like(X), np.zeros_like(G)
    first = mu = max(1.0, alpha * A.sum(axis=1).max())
    for _ in range(iterations):
        Q = X - G @ F.T + multiplier / mu
        E = np.array([shortened(q, 1 / mu) for q in Q])
        Y = X - E + multiplier / mu
        F = Y.T @ G
        Z = np.maximum(0, G + split / mu - alpha / mu * L @ G)
        U, _, Vt = np.linalg.svd(Y @ F + Z - split / mu - alpha / mu * L @ Z, full_matrices=False)
        G = U @ Vt
        multiplier = multiplier + mu * (X - G @ F.T - E)
        split = split + mu * (G - Z)
        last, mu = mu, min(1.02 * mu, 1e5 * first)
    error = np.linalg.norm(X - G @ F.T - E) / np.linalg.norm(X)
    residual = max(error, np.linalg.norm(G - Z) / np.sqrt(k))
    found = {"G": G, "Z": Z, "F": F, "E": E, "Lambda": multiplier, "Sigma": split}
    return found | {"last_mu": last, "mu": mu, "residual": residual}
