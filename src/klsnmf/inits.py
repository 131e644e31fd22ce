"""Starting factors, for all restarts at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ._typing import Array, Labels, Matrix
from .devices import to_host
from .grams import Gram
from .lloyd import kmeans_side_by_side
from .progress import steps
from .spectra import SPARE, filtered_iteration, subspace_iteration
from .threads import allowed_threads, threads_for

#: Beyond this many samples eigenvalues can crowd below 1, and eigenvectors are filtered out.
_MANY = 4000

#: n_init="auto": numbers of starts, columns of all starts together, and numbers in a factor.
_FEWEST_STARTS = 8
_MOST_STARTS = 64
_BATCH_COLUMNS = 640
_BATCH_NUMBERS = 2**26

#: Operations that all starts together may take until the best of them are known, and those of a
#: start: products with K while they are compared, and rounds of k-means.
_SCREENING_WORK = 5e11
_PRODUCTS = 8
_KMEANS_ROUNDS = 50

#: k-means: samples and tries that tell where to begin if there are more than twice as many, the
#: operations of a round with all of them that are not too many, and the size of a mini-batch.
_PART = 10_000
_TRIES = 10
_FULL_ROUND = 1e9
_MINI_BATCH = 4096

#: Features from which on runs of k-means go side by side.
_FEATURES = 8

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


def draw_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(np.iinfo(np.int32).max))


def kmeans(X: Matrix, k: int, seed: int, n_init: int = 1) -> Any:
    """k-means, fitted. That samples coincide is not its business to tell.

    Of many samples a part tells where to begin: there many tries cost less than one with all.
    Where even a round with all takes long, it goes on by mini-batches.
    """
    n = X.shape[0]
    work = 2.0 * n * X.shape[1] * k
    # It is of the host: some versions of it fail where the user lets scikit-learn dispatch arrays.
    host = config_context(array_api_dispatch=False)
    # Its rounds use OpenMP, its beginning BLAS; two pools of threads that wait busily for work are
    # in each other's way: 30,000 samples took three times as long with two threads each.
    threads = threads_for(work, allowed_threads() | {"blas": 1})
    with host, threads, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        if n <= 2 * _PART:
            return KMeans(k, n_init=n_init, random_state=seed).fit(X)
        part = X[np.sort(np.random.RandomState(seed).permutation(n)[:_PART])]
        tried = KMeans(k, n_init=max(_TRIES, n_init), random_state=seed).fit(part)
        options = {"init": tried.cluster_centers_, "n_init": 1, "random_state": seed}
        if work <= _FULL_ROUND:
            return KMeans(k, **options).fit(X)
        return MiniBatchKMeans(k, batch_size=_MINI_BATCH, **options).fit(X)


def kmeans_labels(X: Matrix, k: int, seeds: Sequence[int]) -> Iterator[Labels]:  # (n,) each
    """One run of k-means for each seed, side by side where X is an array of moderate size.

    With a few features there is little to multiply, and rounds one by one are as fast.
    """
    found: Sequence[Labels | None] = [None] * len(seeds)
    if seeds and isinstance(X, np.ndarray) and len(X) <= 2 * _PART and X.shape[1] >= _FEATURES:
        found = kmeans_side_by_side(X, k, seeds)
    for seed, labels in zip(seeds, found, strict=True):
        yield kmeans(X, k, seed).labels_ if labels is None else labels


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
    if n > _MANY and K.nonnegative and not K.clipped:  # then no eigenvalue is beyond 1
        root = root.astype(K.dtype)
        Q = rng.normal(size=(n, k + SPARE)).astype(K.dtype)
        return filtered_iteration(lambda V: root * K.dot(root * V), Q, k)
    return subspace_iteration(lambda V: root * K.dot((root * V).astype(K.dtype)), n, k, rng)


class Start(NamedTuple):
    """Factors to begin with, and the way they were found."""

    way: str
    factors: dict[str, Array]


#: Ways that come to labels, from which the factors follow.
BY_LABELS = ("spectral", "kmeans")


def start_of_labels(way: str, labels: Labels, k: int, hold: Callable[[Array], Array]) -> Start:
    W, G = factors_of_labels(labels, k)
    return Start(way, {"W": hold(W), "G": hold(G)})


def labels_of(start: Start) -> Labels | None:
    """The labels that a start was made of, if it was."""
    return to_host(start.factors["G"]).argmax(axis=1) if start.way in BY_LABELS else None


def how_many_starts(n: int, k: int, flops: float = 0.0, features: int = 0) -> int:
    """How many starts are worth trying: as many as fill a wide batch, which K is read once for.

    Fewer where the samples are many, or where products with K, of so many ``flops`` a column, or
    k-means on so many ``features`` take long.
    """
    wide = max(_FEWEST_STARTS, min(_MOST_STARTS, _BATCH_COLUMNS // k))
    if n <= _MANY:
        return max(2, min(wide, _BATCH_NUMBERS // (n * k)))
    tried = n if n <= 2 * _PART else _TRIES * _PART
    rounds = 2.0 * tried * features * k * _KMEANS_ROUNDS
    work = flops * k * _PRODUCTS + rounds / 2  # every other start is from k-means on X
    return int(max(2, min(wide, _BATCH_NUMBERS // (n * k), _SCREENING_WORK // max(work, 1))))


def starts(
    X: Matrix | None, K: Gram, k: int, init: str, n_init: int, rng: np.random.RandomState
) -> list[Start]:
    """``n_init`` pairs of factors. X is None where samples are known by their K alone.

    "auto" takes turns: labels from the eigenvectors of K, labels from k-means on X. Labels that
    come up again are not fitted again.
    """
    if init == "random":
        pairs = [random_factors(K.shape[0], k, rng) for _ in steps(range(n_init), "starts")]
        return [Start(init, {"W": K.hold(W), "G": K.hold(G)}) for W, G in pairs]
    ways = {"auto": ("spectral", "kmeans") if X is not None else ("spectral",)}.get(init, (init,))
    chosen = [ways[i % len(ways)] for i in range(n_init)]
    if "spectral" in chosen:
        with threads_for(K.flops * k):
            embedding = spectral_embedding(K, k, rng)
    labels: dict[int, Labels] = {}  # by turn
    waiting: dict[int, int] = {}  # the turns of k-means on X, with their seeds
    seen: set[bytes] = set()
    repeats = 0
    for turn, way in enumerate(steps(chosen, "starts")):
        if way == "kmeans":
            waiting[turn] = draw_seed(rng)
        elif repeats < _SAME_AGAIN:
            labels[turn] = by_appearance(kmeans(embedding, k, draw_seed(rng)).labels_)
            key = labels[turn].tobytes()
            repeats = repeats + 1 if key in seen else 0
            seen.add(key)
    of_samples = kmeans_labels(X, k, list(waiting.values()))
    for turn, found in zip(steps(list(waiting), "starts from samples"), of_samples, strict=True):
        labels[turn] = by_appearance(found)
    first = {labels[turn].tobytes(): turn for turn in sorted(labels, reverse=True)}
    turns = sorted(first.values())
    return [start_of_labels(chosen[turn], labels[turn], k, K.hold) for turn in turns]
