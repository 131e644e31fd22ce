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


def linked_groups(seed, sizes=(60, 40, 24), apart=3.0, reach=2.0):
    """Links between samples of round groups that are near, and of each sample with itself."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 2)) + apart * np.column_stack([y, y % 2])
    d2 = np.square(X[:, None] - X).sum(axis=2)
    return np.where(d2 < reach**2, np.exp(-d2), 0), y
