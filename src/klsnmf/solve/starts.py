"""Starting factors, for all restarts at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.arrays import to_host
from ..core.kmeans import (
    _PART,
    _TRIES,
    by_appearance,
    draw_seed,
    kmeans,
    kmeans_labels,
)
from ..core.progress import steps
from ..core.threads import threads_for
from ..core.types import Array, Labels, Matrix
from ..grams.base import Gram
from ..grams.normalized import _MANY, spectral_embedding

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
