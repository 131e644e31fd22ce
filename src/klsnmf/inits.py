"""Starting factors, for all restarts at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ._typing import Array, Labels, Matrix
from .grams import Gram
from .progress import steps
from .threads import threads_for

#: Up to this many samples eigenvectors are computed by a dense solver, which is fast there.
_SMALL = 400

#: Subspace iteration: vectors beyond k, products between two orthogonalisations, and rounds.
_SPARE = 8
_STEPS = 5
_ROUNDS = 12

#: n_init="auto": numbers of starts, columns of all starts together, and numbers in a factor.
_FEWEST_STARTS = 8
_MOST_STARTS = 64
_BATCH_COLUMNS = 640
_BATCH_NUMBERS = 2**26

#: Eigenvectors that give labels seen before so many times in a row have no more to say.
_SAME_AGAIN = 6


def random_factors(n: int, k: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """W and G with entries uniform in (0, 1]; W divided so that W Gᵀ has the size of 1/n."""
    return (1 - rng.uniform(size=(n, k))) / n, 1 - rng.uniform(size=(n, k))


def factors_of_labels(labels: Labels, k: int) -> tuple[Array, Array]:  # (n, k), (n, k)
    """G = one-hot + 0.2 and W = G / cluster size: near the labels, yet free to leave them."""
    onehot = np.eye(k)[labels]
    G = onehot + 0.2
    return G / np.maximum(onehot.sum(axis=0), 1), G


def by_appearance(labels: Labels) -> Labels:  # (n,)
    """The same clusters, numbered as their first samples come."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def kmeans(X: Matrix, k: int, rng: np.random.RandomState, n_init: int = 1) -> KMeans:
    """k-means, fitted. That samples coincide is not its business to tell."""
    seed = rng.randint(np.iinfo(np.int32).max)
    with threads_for(2.0 * X.shape[0] * X.shape[1] * k), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        return KMeans(k, n_init=n_init, random_state=seed).fit(X)


def kmeans_labels(X: Matrix, k: int, rng: np.random.RandomState) -> Labels:  # (n,)
    """One run of k-means."""
    labels: Labels = kmeans(X, k, rng).labels_
    return labels


def spectral_embedding(K: Gram, k: int, rng: np.random.RandomState) -> Array:  # (n, k)
    """The k leading eigenvectors of S = Deg^-½ K Deg^-½, rows scaled to length 1."""
    return np.asarray(normalize(leading_eigenvectors(K, k, rng)[1]))


def leading_eigenvectors(
    K: Gram, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of S = Deg^-½ K Deg^-½ in descending order, and their vectors."""
    n = K.shape[0]
    degrees = np.abs(K.dot(np.ones((n, 1), K.dtype)).astype(np.float64))
    root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    return subspace_iteration(lambda V: root * K.dot((root * V).astype(K.dtype)), n, k, rng)


def subspace_iteration(
    multiply: Callable[[Array], Array], n: int, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of a symmetric matrix, known by its products, and their vectors.

    A neighbour graph often falls into pieces, and then the largest eigenvalue has as many
    eigenvectors as there are pieces: a block of vectors finds them all, where Lanczos iterations,
    which grow from a single vector, miss most of them. Not many digits are needed here.
    """
    if n <= _SMALL:
        S = multiply(np.eye(n))
        values, vectors = linalg.eigh((S + S.T) / 2, subset_by_index=(n - k, n - 1))
        return values[::-1], vectors[:, ::-1]
    Q = rng.normal(size=(n, min(n, k + _SPARE)))
    for _ in range(_ROUNDS):
        for _ in range(_STEPS):
            Q = multiply(Q)
        Q = linalg.qr(Q, mode="economic")[0]
    values, small = linalg.eigh(Q.T @ multiply(Q))
    return values[::-1][:k], (Q @ small)[:, ::-1][:, :k]


class Start(NamedTuple):
    """Factors to begin with, and the way they were found."""

    way: str
    factors: dict[str, Array]


def how_many_starts(n: int, k: int) -> int:
    """How many starts are worth trying: as many as fill a wide batch, which K is read once for."""
    wide = max(_FEWEST_STARTS, min(_MOST_STARTS, _BATCH_COLUMNS // k))
    return max(2, min(wide, _BATCH_NUMBERS // (n * k)))


def starts(
    X: Matrix | None, K: Gram, k: int, init: str, n_init: int, rng: np.random.RandomState
) -> list[Start]:
    """``n_init`` pairs of factors. X is None where samples are known by their K alone.

    "auto" takes turns: labels from the eigenvectors of K, labels from k-means on X. Labels that
    come up again are not fitted again.
    """
    n = K.shape[0]
    ways = {"auto": ("spectral", "kmeans") if X is not None else ("spectral",)}.get(init, (init,))
    chosen = [ways[i % len(ways)] for i in range(n_init)]
    if "spectral" in chosen:
        with threads_for(K.flops):
            embedding = spectral_embedding(K, k, rng)
    made: dict[bytes, tuple[str, tuple[Array, Array]]] = {}
    repeats = 0
    for turn, way in enumerate(steps(chosen, "starts")):
        if way == "random":
            made[turn.to_bytes(8)] = way, random_factors(n, k, rng)
        elif way == "kmeans" or repeats < _SAME_AGAIN:
            labels = by_appearance(kmeans_labels(embedding if way == "spectral" else X, k, rng))
            key = labels.tobytes()
            if way == "spectral":
                repeats = repeats + 1 if key in made else 0
            made.setdefault(key, (way, factors_of_labels(labels, k)))
    return [
        Start(way, {"W": W.astype(K.dtype), "G": G.astype(K.dtype)})
        for way, (W, G) in made.values()
    ]
