"""What clusters explain of a kernel matrix, slow and obvious."""

import numpy as np


def explained(K, labels):
    """Σ_c s_cc/n_c, cluster by cluster, entry by entry."""
    total = 0.0
    for c in set(labels):
        members = [i for i, label in enumerate(labels) if label == c]
        total += sum(K[i, j] for i in members for j in members) / len(members)
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


def nearest_means(K, labels, k):
    """The cluster whose mean is nearest, from ‖φ(x_i) - m_c‖² written out."""
    nearest = []
    for i in range(len(K)):
        distances = []
        for c in range(k):
            members = [j for j, label in enumerate(labels) if label == c]
            to_mean = np.mean([K[i, j] for j in members])
            of_mean = np.mean([K[j, other] for j in members for other in members])
            distances.append(K[i, i] - 2 * to_mean + of_mean)
        nearest.append(np.argmin(distances))
    return np.array(nearest)
