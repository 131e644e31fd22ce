"""Starting factors, for all restarts at once."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import randomized_svd

from ..core.kmeans import by_appearance, draw_seed, kmeans, kmeans_labels
from ..core.types import Array, Labels, Matrix
from ..core.work import steps, threads_for
from ..grams.base import Gram
from ..grams.spectral import spectral_embedding
from .solution import Start

#: After so many repeated labels in a row, no more labels are drawn from the eigenvectors.
_SAME_AGAIN = 6


def random_factors(n: int, k: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """W and G with entries uniform in (0, 1], with W scaled so that W Gᵀ has the size of 1/n."""
    return (1 - rng.uniform(size=(n, k))) / n, 1 - rng.uniform(size=(n, k))


def nndsvd(X: Matrix, k: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """G and F from the singular vectors of X (Boutsidis and Gallopoulos, 2008).

    For each pair u, v, either the positive or the negative parts are used, whichever are longer.
    Zeros become a hundredth of the mean, because multiplicative rules cannot leave zero.
    """
    U, sizes, Vt = randomized_svd(X, min(k, *X.shape), random_state=rng)
    G, F = (np.zeros((rows, k)) for rows in X.shape)
    for c, (u, size, v) in enumerate(zip(U.T, sizes, Vt, strict=True)):
        ends = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
        products = [float(np.linalg.norm(a) * np.linalg.norm(b)) for a, b in ends]
        a, b = ends[int(np.argmax(products))]
        if max(products) > 0:
            share = np.sqrt(size * max(products))
            G[:, c], F[:, c] = share * a / np.linalg.norm(a), share * b / np.linalg.norm(b)
    return np.maximum(G, G.mean() / 100), np.maximum(F, F.mean() / 100)


def starts(
    X: Matrix | None, K: Gram, k: int, init: str, n_init: int, rng: np.random.RandomState
) -> list[Start]:
    """``n_init`` pairs of factors. X is None if only K is known.

    "auto" alternates between labels from the eigenvectors of K and labels from k-means on X.
    Repeated labels are used once.
    """
    if init == "random":
        pairs = [random_factors(K.shape[0], k, rng) for _ in steps(range(n_init), "starts")]
        return [Start(init, {"W": K.hold(K.root * W), "G": K.hold(K.root * G)}) for W, G in pairs]
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
            found = kmeans(embedding, k, draw_seed(rng), weight=K.weight).labels_
            labels[turn] = by_appearance(found)
            key = labels[turn].tobytes()
            repeats = repeats + 1 if key in seen else 0
            seen.add(key)
    of_samples = kmeans_labels(X, k, list(waiting.values()), weight=K.weight)
    for turn, found in zip(steps(list(waiting), "starts from samples"), of_samples, strict=True):
        labels[turn] = by_appearance(found)
    first = {labels[turn].tobytes(): turn for turn in sorted(labels, reverse=True)}
    turns = sorted(first.values())
    return [Start.of_labels(chosen[turn], labels[turn], k, K) for turn in turns]
