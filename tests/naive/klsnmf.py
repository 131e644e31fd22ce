"""KLS-NMF and its kin, slow and obvious: every formula transcribed, nothing shared.

X is (n, p), K is (n, n), W and G are (n, k). D is formed, products are written out in the order
in which the formula names them, divisions have the floor that the package has.
"""

import numpy as np

FLOOR = np.finfo(np.float64).tiny ** 0.75


def distances(K):
    n = len(K)
    ones, d = np.ones((n, 1)), np.diag(K)[:, None]
    return ones @ d.T + d @ ones.T - 2 * K


def sym(M):
    return (M + M.T) / 2


def plus(M):
    return np.maximum(M, 0)


def minus(M):
    return np.maximum(-M, 0)


def objective(K, W, G, lam):
    fit = np.trace(K - 2 * K @ W @ G.T + G @ W.T @ K @ W @ G.T) / 2
    return fit + lam * np.trace(W.T @ distances(K) @ G)


def lagrangian(K, W, G, lam, E):
    """L_G of the paper with the multiplier written as E = C + Θ, without constants."""
    D = distances(K)
    return np.trace(-G.T @ K @ W + lam * G.T @ D @ W + E @ G.T @ G / 2)


def update_W(K, W, G, lam):
    """eq_update_W."""
    D = distances(K)
    return W * np.sqrt((K @ G) / (K @ W @ G.T @ G + lam * D @ G + FLOOR))


def update_G_printed(K, W, G, lam):
    """eq_update_G."""
    D = distances(K)
    return G * np.sqrt((K @ W + lam * G @ G.T @ D @ W) / (lam * D @ W + G @ G.T @ K @ W + FLOOR))


def update_G_symmetric(K, W, G, lam):
    D = distances(K)
    P, N = sym(G.T @ K @ W), lam * sym(G.T @ D @ W)
    return G * np.sqrt((K @ W + G @ N) / (lam * D @ W + G @ P + FLOOR))


def update_G_free(K, W, G, lam):
    D = distances(K)
    return G * np.sqrt((K @ W) / (G @ W.T @ K @ W + lam * D @ W + FLOOR))


def update_G_exact(K, W, G, lam):
    """Row by row: try every column, keep the one that lowers the objective most."""
    b = K @ W - lam * distances(K) @ W
    C = W.T @ K @ W
    best = np.zeros_like(G)
    for i in range(len(G)):
        gains = []
        for k in range(G.shape[1]):
            value = max(0.0, b[i, k] / C[k, k]) if C[k, k] > 0 else 0.0
            gains.append((value * b[i, k] - C[k, k] * value**2 / 2, value))
        k = int(np.argmax([gain for gain, _ in gains]))
        best[i, k] = gains[k][1]
    return best


def own_W(G):
    """W = G, scaled so that the columns of W·Gᵀ are those of G with length 1 for both."""
    squares = np.sum(G**2, axis=0)
    return G / np.where(squares > 0, squares, 1)


def update_W_exact(K, W, G, lam, otherwise=update_W):
    """W = G where λ = 0 and f does not rise by it, else the multiplicative rule."""
    before, after = (objective(K, V, G, lam) for V in (W, own_W(G)))
    if lam == 0 and after <= before + 1e-13 * np.trace(K):
        return own_W(G)
    return otherwise(K, W, G, lam)


def update_W_signed(K, W, G, lam):
    D = distances(K)
    up = plus(K @ G) + minus(K) @ W @ G.T @ G
    down = minus(K @ G) + plus(K) @ W @ G.T @ G + lam * D @ G
    return W * np.sqrt(up / (down + FLOOR))


def update_W_exact_signed(K, W, G, lam):
    return update_W_exact(K, W, G, lam, update_W_signed)


def update_G_signed(K, W, G, lam):
    D = distances(K)
    up = plus(K @ W) + G @ sym(G.T @ minus(K @ W) + lam * G.T @ D @ W)
    down = minus(K @ W) + lam * D @ W + G @ sym(G.T @ plus(K @ W))
    return G * np.sqrt(up / (down + FLOOR))


def update_G_free_signed(K, W, G, lam):
    D = distances(K)
    up = plus(K) @ W + G @ W.T @ minus(K) @ W
    down = minus(K) @ W + G @ W.T @ plus(K) @ W + lam * D @ W
    return G * np.sqrt(up / (down + FLOOR))


def laplacian_term(A, G):
    """½ Σ_ij A_ij ‖g_i - g_j‖², halved once more as in γ/2 tr(GᵀLG)."""
    n = len(A)
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += A[i, j] * np.sum((G[i] - G[j]) ** 2)
    return total / 4


def update_G_graph_printed(K, W, G, lam, A, gamma):
    D, Deg = distances(K), np.diag(A.sum(axis=1))
    up = K @ W + lam * G @ (G.T @ D @ W) + gamma * A @ G + gamma * G @ (G.T @ Deg @ G)
    down = lam * D @ W + G @ (G.T @ K @ W) + gamma * Deg @ G + gamma * G @ (G.T @ A @ G)
    return G * np.sqrt(up / (down + FLOOR))


def update_G_graph(K, W, G, lam, A, gamma):
    D, Deg = distances(K), np.diag(A.sum(axis=1))
    up = K @ W + G @ sym(lam * G.T @ D @ W + gamma * G.T @ Deg @ G) + gamma * A @ G
    down = lam * D @ W + G @ sym(G.T @ K @ W + gamma * G.T @ A @ G) + gamma * Deg @ G
    return G * np.sqrt(up / (down + FLOOR))


def iterate(K, W, G, lam, steps, update_W=update_W, update_G=update_G_printed):
    """Some iterations from (W, G): first W, then G with the new W."""
    for _ in range(steps):
        W = update_W(K, W, G, lam)
        G = update_G(K, W, G, lam)
    return W, G


def rbf(X, radius):
    n = len(X)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = np.exp(-np.sum((X[i] - X[j]) ** 2) / (2 * radius**2))
    return K


def self_tuning(X, n_neighbors, scale_neighbor=7):
    """exp(-d²/(r_i r_j)) where one is among the nearest of the other; diagonal 1."""
    n = len(X)
    d = np.array([[np.sqrt(np.sum((a - b) ** 2)) for b in X] for a in X])
    order = [[j for j in np.argsort(d[i], kind="stable") if j != i] for i in range(n)]
    r = [d[i, order[i][scale_neighbor - 1]] for i in range(n)]
    K = np.eye(n)
    for i in range(n):
        for j in order[i][:n_neighbors]:
            K[i, j] = K[j, i] = np.exp(-(d[i, j] ** 2) / (r[i] * r[j]))
    return K


def perron(K, labels, k):
    """G whose column c is the leading eigenvector of the block of cluster c, and its eigenvalue."""
    G, values = np.zeros((len(K), k)), np.zeros(k)
    for c in range(k):
        members = np.flatnonzero(labels == c)
        if members.size:
            found, vectors = np.linalg.eigh(K[np.ix_(members, members)])
            values[c], G[members, c] = found[-1], np.abs(vectors[:, -1])
    return G, values
