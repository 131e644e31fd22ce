"""How many clusters? What the kernel matrix says of it, without labels.

A kernel with k clear clusters has k eigenvalues of S = Deg^-½ K Deg^-½ near 1 and a gap below them
(von Luxburg, "A tutorial on spectral clustering", 2007). A gap counts the more, the more of the
way up to 1 it takes: below k separate pieces it takes all of it, however narrow it is. And the
clusters must be found again from other samples. So the score of k is
gap · gap / (1 - λ_{k+1}) · stability. How much the objective falls is measured for people to
look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from ..core.kmeans import draw_seed, kmeans
from ..core.types import Array, Labels
from ..core.work import steps, threads_for
from ..grams.base import Gram
from ..grams.spectral import leading_eigenvectors

#: Candidates go up to this many clusters, and each has at least so many samples on average.
_MOST = 25
_SMALLEST = 4

#: A step between samples that is less likely than this is none.
_NO_LINK = 1e-6

#: Where even the last candidate's eigenvalue is above this, the gap lies further out.
_NO_GAP_YET = 0.99

#: Where the second eigenvalue is below this, the samples are one piece.
_ONE_PIECE = 0.5

#: An answer is clear if it is at least so stable, and the next best has at most this share of its
#: score. Measured: clear for digits, JAFFE, PIX, blobs and wine in standard units, all right within
#: 1; not clear for Yale, iris, raw wine and noise, all wrong, and for Semeion, which was right.
STABLE = 0.9
NEAR = 0.5

#: Stability: k-means on this many random parts of the samples, labels compared on others.
_PARTS = 6
_PART = 2000


@dataclass(frozen=True)
class Evidence:
    """What speaks for each number of clusters.

    Attributes
    ----------
    candidates : ndarray of shape (n_candidates,)
        Numbers of clusters, from 2 up.
    eigenvalues : ndarray of shape (n_candidates + 2,)
        The largest of S, in descending order.
    eigengap : ndarray of shape (n_candidates,)
        For k clusters the k-th eigenvalue minus the next. Large is good.
    stability : ndarray of shape (n_candidates,)
        Mean adjusted Rand index between clusterings made from random parts of the samples:
        1 if always the same clusters come out.
    score : ndarray of shape (n_candidates,)
        The gap, times the share it takes of the way up to 1, times stability.
    objective : ndarray of shape (n_candidates,)
        The objective at λ = 0 of hard clusters from the eigenvectors, as a share of its value
        with no cluster at all. It falls with every cluster; look for where it stops falling fast.
    chosen : int
        The candidate with the highest score, or 1 where even the second eigenvalue is below ½.
    rival : int or None
        The candidate with the next highest score.
    clear : bool
        Whether the answer is stable, and the rival has at most half of its score.
    verdict : str
        The same in words.
    """

    candidates: Array
    eigenvalues: Array
    eigengap: Array
    stability: Array
    score: Array
    objective: Array
    chosen: int

    @property
    def rival(self) -> int | None:
        others = np.flatnonzero(self.candidates != self.chosen)
        return int(self.candidates[others[np.argmax(self.score[others])]]) if others.size else None

    @property
    def clear(self) -> bool:
        if self.chosen == 1:
            return True
        stability, share = self._doubts()
        return stability >= STABLE and share <= NEAR

    @property
    def verdict(self) -> str:
        if self.chosen == 1:
            return "The samples are one piece: no number of clusters above 1 stands out."
        stability, share = self._doubts()
        told = f"stability {stability:.2f}"
        if self.rival is not None:
            told += f"; the next best number, {self.rival}, has {share:.2f} of the score"
        if self.clear:
            return f"{self.chosen} clusters stand out ({told})."
        return (
            f"{self.chosen} clusters score best, but they do not stand out ({told}). Look at the "
            "evidence, or give the number of clusters."
        )

    def _doubts(self) -> tuple[float, float]:
        """The stability of the chosen number, and the score of the next best as a share of its."""
        place = {int(k): i for i, k in enumerate(self.candidates)}
        best = self.score[place[self.chosen]]
        share = self.score[place[self.rival]] / best if self.rival is not None and best > 0 else 0.0
        return float(self.stability[place[self.chosen]]), float(share)


def gather(K: Gram, rng: np.random.RandomState) -> Evidence:
    """The evidence in K, for as many candidates as there can be."""
    # Samples that, alone or with a few others, are like no other: each such piece would be an
    # eigenvalue of 1, and a cluster, and is none of any k.
    K = K.without_strangers(_SMALLEST, _NO_LINK)
    n = K.shape[0]
    limit = max(1, n // _SMALLEST)
    most = min(_MOST, limit)
    with threads_for(K.flops * (most + 1)):
        values, vectors = leading_eigenvectors(K, min(most + 1, n), rng)
        while values[-1] > _NO_GAP_YET and most < limit:
            most = min(2 * most, limit)
            values, vectors = leading_eigenvectors(K, min(most + 1, n), rng)
    candidates = np.arange(2, most + 1)
    gaps = (values[:-1] - values[1:])[1:most]
    turns = steps(candidates, "numbers of clusters")
    seen = np.array([_look(K, normalize(vectors[:, :k]), rng) for k in turns]).reshape(-1, 2)
    stability, objective = seen.T.copy()
    way_up = np.maximum(1 - values[2 : most + 1], np.finfo(np.float64).eps)
    score = gaps * np.minimum(gaps / way_up, 1) * np.maximum(stability, 0)
    one_piece = not candidates.size or values[1] < _ONE_PIECE
    chosen = 1 if one_piece else int(candidates[np.argmax(score)])
    return Evidence(candidates, values, gaps, stability, score, objective, chosen)


def _look(K: Gram, embedding: Array, rng: np.random.RandomState) -> tuple[float, float]:
    """Stability, and the objective, of as many clusters as the embedding has columns."""
    n, k = embedding.shape
    order = rng.permutation(n)
    judged = embedding[order[: 2 * _PART]]
    found: list[Labels] = []
    for _ in range(_PARTS):
        part = rng.permutation(n)[: max(k, min(_PART, int(0.8 * n)))]
        fitted = kmeans(embedding[part], k, draw_seed(rng))
        found.append(fitted.predict(judged))
    labels = fitted.predict(embedding)
    pairs = [adjusted_rand_score(one, two) for one, two in combinations(found, 2)]
    return float(np.mean(pairs)), share_left(K, labels, k)


def share_left(K: Gram, labels: Labels, k: int) -> float:
    """f of hard clusters at λ = 0, where W Gᵀ averages within a cluster, relative to tr K / 2."""
    return 1 - float(within_clusters(K, labels, k).sum()) / K.trace


def within_clusters(K: Gram, labels: Labels, k: int) -> Array:  # (k,)
    """The sum of K within each of k clusters, divided by the number of its samples."""
    H = np.eye(k, dtype=K.dtype)[labels]
    return np.asarray(np.einsum("ik,ik->k", H, K.dot(H)) / np.maximum(H.sum(axis=0), 1))
