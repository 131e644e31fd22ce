"""How several kernels are judged, sample by sample and with all eigenvalues."""

import numpy as np


def centred(K):
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H


def explained(K, labels):
    """Total minus within-cluster sum of squares, less what random clusters would explain."""
    n, k = len(K), labels.max() + 1
    total = np.trace(centred(K))
    within = 0.0
    for c in range(k):
        inside = np.flatnonzero(labels == c)
        if len(inside):
            within += np.trace(centred(K[np.ix_(inside, inside)]))
    return total - within - total * (k - 1) / (n - 1)


def most_explained(K, k):
    values = np.sort(np.linalg.eigvalsh(centred(K)))[::-1][: k - 1]
    return np.maximum(values, 0).sum()


def normalized(K):
    """S = Deg^-½ K Deg^-½."""
    degrees = K.sum(axis=1)
    return K / np.sqrt(np.outer(degrees, degrees))


def diffused(K, steps):
    """K_t, literally."""
    power = np.linalg.matrix_power(normalized(K), steps)
    return power / np.sqrt(np.outer(power.diagonal(), power.diagonal()))


def enough_steps(K, k):
    """4, doubled until tr(S^t) ≤ 2k."""
    spectrum = np.linalg.eigvalsh(normalized(K))
    steps = 4
    while np.sum(spectrum**steps) > 2 * k and steps < 2**17:
        steps *= 2
    return steps
