"""k-means from many starts at once: one product with X serves all of them.

The algorithm is the same as in scikit-learn: centres by k-means++ with a few candidates each, then
Lloyd's rounds. The difference is that runs go side by side. A single run multiplies X with its few
centres again and again, and spends most of its time reading X.

32 runs took 1.9 (digits), 2.3 (Semeion) and 1.5 times (10,000 samples of 50 features) as long by
KMeans, one after the other, on one thread of an x86-64 server. Labels were the same, except for 13
runs on Semeion, whose pixels are 0 or 1: with a little noise, which leaves no ties, none differed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn import config_context
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from .arithmetic import row_lengths, times
from .arrays import slices
from .types import Array, Labels, Matrix
from .work import allowed_threads, steps, tell, threads_for

#: k-means: samples and tries that tell where to begin if there are more than twice as many, the
#: operations of a round with all of them that are not too many, and the size of a mini-batch.
PART = 10_000
TRIES = 10
_FULL_ROUND = 1e9
_MINI_BATCH = 4096

#: Features for each sample from which on other coordinates are taken, and what is added to squared
#: lengths then, as a share of their mean: more than rounding.
_WIDE = 2
_NEXT_TO_NOTHING = 1e-12

#: Features from which on runs of k-means go side by side.
_FEATURES = 8

#: When a run ends, as in scikit-learn: by rounds, or by what centres move, of the mean variance.
_MOST_ROUNDS = 300
_TOLERANCE = 1e-4

#: Numbers in the centres of all runs that go together, and in the distances to candidates for them,
#: unless X has some times as many.
_NUMBERS = 2**22
_SHARE = 4

#: Products of samples and centres that are looked at together: they stay in the cache.
_IN_CACHE = 2**17

#: n_init="auto": numbers of starts, columns of all starts together, and numbers in a factor.
_FEWEST_STARTS = 8
_MOST_STARTS = 64
_BATCH_COLUMNS = 640
_BATCH_NUMBERS = 2**26

#: Operations that all starts together may take until the best of them are known, and those of a
#: start: products with K while they are compared, and rounds of k-means.
_SCREENING_WORK = 5e11
_PRODUCTS = 12
_KMEANS_ROUNDS = 50

#: Up to this many samples no start takes long.
_FEW = 4000


def kmeans_side_by_side(X: Array, k: int, seeds: Sequence[int]) -> list[Labels | None]:
    """For each seed the labels of KMeans(k, n_init=1, random_state=seed), up to rounding.

    If two candidates for a centre, or two centres for a sample, are equally good, rounding decides.
    The result is None for a run that lost a cluster; scikit-learn has to find a new centre for it.
    """
    X = np.ascontiguousarray(X - X.mean(axis=0))  # small numbers lose less
    n, p = X.shape
    tolerance = _TOLERANCE * float(row_lengths(X).mean(dtype=np.float64)) / p
    together = slices(len(seeds), max(_NUMBERS, X.size // _SHARE) // max(k * p, n * _tries(k)))
    return [labels for some in together for labels in _run(X, k, seeds[some], tolerance)]


def _run(X: Array, k: int, seeds: Sequence[int], tolerance: float) -> list[Labels | None]:
    runs = _Runs.begin(X, spread_centres(X, k, seeds))
    found: list[Labels | None] = [None] * len(seeds)
    for rounds in range(1, _MOST_ROUNDS + 2):
        ended, sound = runs.next_round(X, tolerance, last=rounds == _MOST_ROUNDS)
        for run in np.flatnonzero(ended):
            found[runs.places[run]] = runs.labels[run].copy()
        runs = runs.only(sound & ~ended)
        tell("runs of k-means", len(seeds) - len(runs.places), len(seeds))
        if not len(runs.places):
            break
    return found


def spread_centres(X: Array, k: int, seeds: Sequence[int]) -> Array:  # (r, k, p)
    """For each seed, k samples that are far from each other: k-means++.

    Candidates for the next centre are drawn by their squared distance to the centres so far; that
    which leaves the least sum of squared distances is taken.
    """
    n, tries, ones = len(X), _tries(k), np.ones(len(X), X.dtype)
    draws = [np.random.RandomState(seed) for seed in seeds]
    squares = row_lengths(X)
    every, even = np.arange(len(seeds)), np.full(n, 1 / n)
    chosen = np.array([[draw.choice(n, p=even)] for draw in draws])  # (r, 1), later (r, k)
    closest = _squared_distances(X, squares, chosen)[:, 0]  # (r, n)
    for _ in steps(range(1, k), "centres to begin with"):
        shares = np.array([draw.uniform(size=tries) for draw in draws])  # (r, tries)
        below = np.cumsum(closest, axis=1, dtype=np.float64)
        shares *= below[:, -1:]
        candidates = np.stack([np.searchsorted(b, s) for b, s in zip(below, shares, strict=True)])
        candidates = np.minimum(candidates, n - 1)
        distances = _squared_distances(X, squares, candidates)
        np.minimum(distances, closest[:, None], out=distances)
        best = (distances @ ones).argmin(axis=1)
        closest = distances[every, best]
        chosen = np.column_stack([chosen, candidates[every, best]])
    return X[chosen]


def _tries(k: int) -> int:
    """Candidates for each centre, as many as in scikit-learn."""
    return 2 + int(np.log(k))


def _squared_distances(X: Array, squares: Array, chosen: Labels) -> Array:  # (r, c) -> (r, c, n)
    """From some chosen samples to all samples."""
    flat = chosen.ravel()
    with threads_for(2.0 * len(flat) * X.size):
        distances = X[flat] @ X.T
    distances *= -2
    distances += squares
    distances += squares[flat, None]
    np.maximum(distances, 0, out=distances)
    distances[np.arange(len(flat)), flat] = 0
    return distances.reshape(*chosen.shape, len(X))


@dataclass
class _Runs:
    """The runs that have not ended, each with its place among all runs."""

    places: Labels  # (r,)
    centres: Array  # (r, k, p)
    sums: Array  # (r, k, p)
    counts: Array  # (r, k)
    labels: Labels  # (r, n)
    final: Array  # (r,), whether only labels are still to be found for the centres

    @classmethod
    def begin(cls, X: Array, centres: Array) -> _Runs:
        r, k, _ = centres.shape
        nowhere = np.full((r, len(X)), -1, np.intp)
        counts, final = np.zeros((r, k), X.dtype), np.zeros(r, bool)
        return cls(np.arange(r), centres, np.zeros_like(centres), counts, nowhere, final)

    def only(self, kept: Array) -> _Runs:
        return self if kept.all() else _Runs(*(each[kept] for each in vars(self).values()))

    def next_round(self, X: Array, tolerance: float, *, last: bool) -> tuple[Array, Array]:
        """Samples go to their nearest centres, and centres where their samples are.

        Returns which runs have ended, and which have samples in all clusters.
        """
        labels = nearest(X, self.centres)
        moved = labels != self.labels
        self._move(X, labels, moved)
        self.labels = labels
        ended = self.final | ~moved.any(axis=1)
        sound = self.final | (self.counts > 0).all(axis=1)
        centres = self.sums / np.maximum(self.counts, 1)[:, :, None]
        self.final = np.square(centres - self.centres).sum(axis=(1, 2)) <= tolerance
        self.final |= last
        self.centres = centres
        return ended, sound

    def _move(self, X: Array, labels: Labels, moved: Array) -> None:
        """Take samples out of the sums of their old clusters, and add them to those of the new."""
        r, k, p = self.centres.shape
        run, sample = np.nonzero(moved)
        old, new = self.labels[run, sample], labels[run, sample]
        known = old >= 0
        rows = np.concatenate([run * k + new, (run * k + old)[known]])
        columns = np.concatenate([sample, sample[known]])
        signs = np.repeat(np.array([1, -1], X.dtype), [len(run), known.sum()])
        change = sparse.csr_array((signs, (rows, columns)), shape=(r * k, len(X)))
        self.sums += times(change, X).reshape(r, k, p)
        self.counts += np.asarray(change.sum(axis=1)).reshape(r, k)


def nearest(X: Array, centres: Array) -> Labels:  # (n, p), (r, k, p) -> (r, n)
    """For every run the centre that is nearest to each sample."""
    r, k, p = centres.shape
    columns = centres.reshape(r * k, p)
    halves = row_lengths(columns) / 2
    labels = np.empty((r, len(X)), np.intp)
    step = max(1, _IN_CACHE // (r * k))
    with threads_for(2.0 * step * columns.size):
        for some in slices(len(X), step):
            closeness = X[some] @ columns.T
            closeness -= halves  # (‖x‖² - ‖x - c‖²) / 2
            labels[:, some] = closeness.reshape(-1, r, k).argmax(axis=2).T
    return labels


def by_appearance(labels: Labels) -> Labels:  # (n,)
    """The same clusters, numbered in the order of their first samples."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def draw_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(np.iinfo(np.int32).max))


def kmeans(
    X: Matrix,
    k: int,
    seed: int,
    n_init: int = 1,
    tries: int = TRIES,
    weight: Array | None = None,
) -> Any:
    """A fitted k-means, with weights of samples if there are any.

    Its warning about equal samples is not shown.

    If there are many samples, the starts are found on a part of them, where many tries cost less
    than one try on all. If even one round on all samples takes long, mini-batches are used.
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
        if n <= 2 * PART:
            return KMeans(k, n_init=n_init, random_state=seed).fit(X, sample_weight=weight)
        some = np.sort(np.random.RandomState(seed).permutation(n)[:PART])
        few = None if weight is None else weight[some]
        tried = KMeans(k, n_init=max(tries, n_init), random_state=seed)
        tried.fit(X[some], sample_weight=few)
        options = {"init": tried.cluster_centers_, "n_init": 1, "random_state": seed}
        if work <= _FULL_ROUND:
            return KMeans(k, **options).fit(X, sample_weight=weight)
        batches = MiniBatchKMeans(k, batch_size=_MINI_BATCH, **options)
        return batches.fit(X, sample_weight=weight)


def in_their_span(X: Matrix) -> Matrix:  # (n, p) -> (n, p or n)
    """X, or n coordinates of each sample that leave all distances as they are, where p is large.

    They are the rows of L, LLᵀ = XXᵀ with centred X, up to a tiny part of the lengths.
    """
    n, p = X.shape
    if sparse.issparse(X) or p < _WIDE * n:
        return X
    C = X - X.mean(axis=0, dtype=np.float64)
    products = C @ C.T
    products.flat[:: n + 1] += _NEXT_TO_NOTHING * products.trace() / n
    try:
        return np.asarray(linalg.cholesky(products, lower=True), X.dtype)
    except linalg.LinAlgError:  # all samples are equal, or one is far from all others
        return X


def kmeans_labels(
    X: Matrix, k: int, seeds: Sequence[int], tries: int = TRIES, weight: Array | None = None
) -> Iterator[Labels]:  # (n,) each
    """One run of k-means for each seed, side by side where X is an array of moderate size.

    With a few features there is little to multiply, and rounds one by one are as fast. Weights of
    samples are for runs one by one.
    """
    found: Sequence[Labels | None] = [None] * len(seeds)
    beside = bool(seeds) and weight is None
    if beside and isinstance(X, np.ndarray) and len(X) <= 2 * PART and X.shape[1] >= _FEATURES:
        found = kmeans_side_by_side(X, k, seeds)
    for seed, labels in zip(seeds, found, strict=True):
        if labels is None:
            labels = kmeans(X, k, seed, tries=tries, weight=weight).labels_
        yield labels


def how_many_starts(n: int, k: int, flops: float = 0.0, features: int = 0) -> int:
    """How many starts are worth trying: as many as fill a wide batch, which K is read once for.

    Fewer where the samples are many, or where products with K, of so many ``flops`` a column, or
    k-means on so many ``features`` take long.
    """
    wide = max(_FEWEST_STARTS, min(_MOST_STARTS, _BATCH_COLUMNS // k))
    if n <= _FEW:
        return max(2, min(wide, _BATCH_NUMBERS // (n * k)))
    tried = n if n <= 2 * PART else TRIES * PART
    rounds = 2.0 * tried * features * k * _KMEANS_ROUNDS
    work = flops * k * _PRODUCTS + rounds / 2  # every other start is from k-means on X
    return int(max(2, min(wide, _BATCH_NUMBERS // (n * k), _SCREENING_WORK // max(work, 1))))
