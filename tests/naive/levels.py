"""What slow directions say of k clusters, written slowly."""

import numpy as np


def steps(K):
    """S = Deg^-½ K Deg^-½."""
    degrees = K.sum(axis=1)
    return K / np.sqrt(np.outer(degrees, degrees))


def persistence(values, k, least):
    """log (1 - λ_{k+1}) / (1 - λ_k), λ counted from 1, rates not below what can be known."""
    return np.log((1 - values[k] + least) / (1 - values[k - 1] + least))


def explained(K, labels):
    """The share of the variance of k directions that the means of k clusters have.

    A direction of the walk is an eigenvector of P = Deg⁻¹ K. Samples weigh as long as walks are
    with them, and the constant direction, which has no variance, is left out.
    """
    degrees = K.sum(axis=1)
    weights = degrees / degrees.sum()
    k = labels.max() + 1
    _, U = np.linalg.eigh(steps(K))
    between = total = 0.0
    for j in range(2, k + 1):
        direction = U[:, -j] / np.sqrt(degrees)
        direction = direction - weights @ direction
        total_j = weights @ direction**2
        for c in range(k):
            share = weights[labels == c].sum()
            mean = weights[labels == c] @ direction[labels == c] / share
            between += share * mean**2 / total_j
        total += 1
    return between / total


def modularity(K, labels):
    """The chance that a walk is in its cluster a step later, beyond that of any two samples.

    The walk is seen in as many directions as there are clusters.
    """
    degrees = K.sum(axis=1)
    weights = degrees / degrees.sum()
    k = labels.max() + 1
    values, U = np.linalg.eigh(steps(K))
    seen = (U[:, -k:] * values[-k:]) @ U[:, -k:].T
    both = np.sqrt(np.outer(weights, weights)) * seen
    found = 0.0
    for c in range(k):
        inside = labels == c
        found += both[np.ix_(inside, inside)].sum() - weights[inside].sum() ** 2
    return found
