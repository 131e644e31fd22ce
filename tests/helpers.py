"""Data that several test files share."""

import numpy as np


def blobs(n, k, p, seed):
    """Nonnegative samples around k well separated directions, and the cluster of each.

    Cluster c is large in its own share of the p ≥ k features and small in the others, so the
    clusters remain apart when the samples are scaled to length 1. Every cluster has a sample.
    """
    if not k <= min(n, p):
        raise ValueError(f"k={k} clusters need as many samples and features; n={n}, p={p}.")
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    centers = np.where(np.arange(p) % k == np.arange(k)[:, None], 5.0, 0.5)
    return centers[y] + rng.uniform(0, 1, size=(n, p)), y
