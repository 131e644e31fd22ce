"""Who is nearest, by all distances."""

import numpy as np


def distances(Y, X):
    """‖y - x‖², pair by pair."""
    return np.array([[np.sum((y - x) ** 2) for x in X] for y in Y])


def nearest_others(X, m):
    """Squared distances of each sample to the m nearest others, sorted."""
    d2 = distances(X, X)
    np.fill_diagonal(d2, np.inf)
    return np.sort(d2, axis=1)[:, :m]


def pairs(Y, X, wanted, reach):
    """Pairs of y with its nearest samples, so many, and with those that have it within reach."""
    d2 = distances(Y, X)
    last = np.sort(d2, axis=1)[:, wanted - 1 : wanted]
    return set(zip(*np.nonzero((d2 <= last) | (d2 <= reach)), strict=True))


def pairs_in_cells(Y, X, centres, searched, wanted, reach):
    """The same, but of x in the cells around each y: so many that are nearest to its own."""
    own, d2 = distances(Y, centres).argmin(axis=1), distances(Y, X)
    cell, between = distances(X, centres).argmin(axis=1), distances(centres, centres)
    found = set()
    for y, c in enumerate(own):
        around = np.argsort(between[c], kind="stable")[:searched]
        for x in np.flatnonzero(np.isin(cell, around)):
            last = np.sort(d2[y, np.isin(cell, around)])[wanted - 1]
            if d2[y, x] <= max(last, reach[x]):
                found.add((y, int(x)))
    return found
