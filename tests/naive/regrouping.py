"""What clusters explain of a kernel matrix, slow and obvious."""

import numpy as np


def vectors(labels, shares, k):  # (n, k)
    """The vector of each cluster, a column each."""
    G = np.zeros((len(labels), k))
    for i, label in enumerate(labels):
        G[i, label] = shares[i]
    return G


def together(K, a, b):
    """What the best combination of two vectors explains, if neither weight is negative."""
    V = np.stack([a, b], axis=1)
    values, weights = np.linalg.eigh(V.T @ K @ V)  # a and b have length 1, and nothing in common
    best = weights[:, -1]
    return (
        values[-1] if (best >= -1e-12).all() or (best <= 1e-12).all() else max(a @ K @ a, b @ K @ b)
    )


def largest_eigenvalues(K, labels):
    """Σ_c λ_max(K_cc): what clusters explain at best."""
    return sum(np.linalg.eigvalsh(K[np.ix_(labels == c, labels == c)])[-1] for c in set(labels))


def joined(labels, a, b):
    return np.array([a if label == b else label for label in labels])


def cut(labels, c, side):
    """Samples of cluster c on one side get a label of their own."""
    return np.array(
        [
            max(labels) + 1 if label == c and there else label
            for label, there in zip(labels, side, strict=True)
        ]
    )
