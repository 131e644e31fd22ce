"""KLS-NMF with weights of samples, entry by entry: a weight of 2 is the sample twice."""

import numpy as np


def objective(K, W, G, weight, lam=0.0):
    """½ Σ_i ω_i ‖φ_i - Σ_c G_ic Σ_j W_jc φ_j‖² + λ Σ_ij (Σ_c W_jc G_ic) ω_i D_ij.

    G has the row that each copy of a sample has, and W what all copies have together.
    """
    n, total = len(K), 0.0
    for i in range(n):
        mixture = W @ G[i]  # of the samples j
        left = K[i, i] - 2 * mixture @ K[i] + mixture @ K @ mixture
        distances = np.array([K[i, i] + K[j, j] - 2 * K[i, j] for j in range(n)])
        total += weight[i] * (left / 2 + lam * mixture @ distances)
    return total


def median(values, weight):
    """That of all copies, for whole numbers."""
    return np.median(np.repeat(values, weight))
