"""Levels: numbers of clusters that persist, their clusters, and how the finer make up the coarser.

All come from the slow directions that the number of clusters was found by: no other eigenvectors
are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ..core.kmeans import draw_seed
from ..core.types import Array, Labels
from ..grams.walk import Walk
from ..kernels.graphs import NeighborGraph
from ..kernels.neighbors import how_many_neighbors
from .choose import RULE, Asked, weighed
from .count import Directions, Evidence, clusters_along

#: Stability: parts of the samples, and how many of them a part has at most.
_PARTS = 4
_PART = 1000

#: Starts of the clusters of a level.
_TRIES = 1


@dataclass(frozen=True)
class Level:
    """A number of clusters, and what speaks for it.

    Attributes
    ----------
    n_clusters : int
    labels : ndarray of shape (n_samples,)
    score, persistence, clarity : float
        As in the evidence for numbers of clusters.
    stability : float
        Mean adjusted Rand index of clusters found from different parts of the samples.
    cut : float
        The share of walks that leave their clusters before detail is forgotten; nan without a
        graph.
    """

    n_clusters: int
    labels: Labels
    score: float
    persistence: float
    clarity: float
    stability: float
    cut: float


@dataclass(frozen=True)
class Tree:
    """Which clusters of each level make up which of the next coarser one.

    Attributes
    ----------
    n_clusters : tuple of int
        The levels, from the coarsest to the finest.
    parents : tuple of arrays
        For each level but the coarsest, and each of its clusters, the cluster of the level before
        that most of its samples are in.
    shares : tuple of arrays
        The share of its samples that are.
    """

    n_clusters: tuple[int, ...]
    parents: tuple[Array, ...]
    shares: tuple[Array, ...]


def tree_of(labels: dict[int, Labels]) -> Tree:
    """From the labels of each level."""
    numbers = sorted(labels)
    parents, shares = [], []
    for coarse, fine in zip(numbers, numbers[1:], strict=False):
        both = np.zeros((fine, coarse))
        np.add.at(both, (labels[fine], labels[coarse]), 1)
        parents.append(both.argmax(axis=1))
        shares.append(both.max(axis=1) / np.maximum(both.sum(axis=1), 1))
    return Tree(tuple(numbers), tuple(parents), tuple(shares))


def level_of(
    evidence: Evidence,
    slow: Directions,
    graph: NeighborGraph | None,
    k: int,
    rng: np.random.RandomState,
    labels: Labels | None = None,
) -> Level:
    """k clusters, those that are given or those along the slow directions."""
    walk = None if slow.spectrum is None or k < 2 else Walk(slow.spectrum, k)
    if labels is None:
        labels = _labels(slow, walk, graph, k, rng)
    cut = np.nan if walk is None else walk.lost(labels)
    return Level(
        k,
        labels,
        evidence.of(k, "score"),
        evidence.of(k, "persistence"),
        evidence.of(k, "clarity"),
        _stability(slow, k, rng),
        cut,
    )


def _labels(
    slow: Directions,
    walk: Walk | None,
    graph: NeighborGraph | None,
    k: int,
    rng: np.random.RandomState,
) -> Labels:
    if k < 2:
        return np.zeros(slow.n, np.intp)
    if walk is None or graph is None:
        return clusters_along(slow, k, np.arange(slow.n), draw_seed(rng))
    asked = Asked(graph, walk, rng, _TRIES)
    even, free = asked.answer([], even=True), asked.answer([], even=False)
    better = RULE.prefers(weighed([walk], free, even), how_many_neighbors(slow.n, k))
    return (free if better else even).labels


def _stability(slow: Directions, k: int, rng: np.random.RandomState) -> float:
    if k < 2:
        return 1.0
    size = max(k, min(_PART, slow.n // 2))
    parts = [rng.permutation(slow.n)[:size] for _ in range(_PARTS)]
    found = [clusters_along(slow, k, part, draw_seed(rng)) for part in parts]
    return float(np.mean([adjusted_rand_score(*two) for two in combinations(found, 2)]))
