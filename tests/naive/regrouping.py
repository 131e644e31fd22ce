"""What clusters explain of a kernel matrix, slow and obvious."""

import numpy as np


def explained(K, labels):
    """Σ_c s_cc/m_c, cluster by cluster, entry by entry."""
    g = np.sqrt(np.diag(K))
    total = 0.0
    for c in set(labels):
        members = [i for i, label in enumerate(labels) if label == c]
        mass = sum(g[i] ** 2 for i in members)
        total += sum(g[i] * g[j] * K[i, j] for i in members for j in members) / mass
    return total


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


def nearest_means(X, labels, k):
    """The cluster whose mean is nearest, of samples at length 1 that weigh their squared length."""
    weights = np.sum(X**2, axis=1)
    points = X / np.sqrt(weights)[:, None]
    means = [
        np.average(points[labels == c], axis=0, weights=weights[labels == c]) for c in range(k)
    ]
    return np.array([np.argmin([np.sum((x - mean) ** 2) for mean in means]) for x in points])
