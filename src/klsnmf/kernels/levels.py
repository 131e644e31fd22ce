"""The levels at which samples form clusters: the data, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.drawing import axes
from ..core.types import Array, Labels
from .count import Evidence


@dataclass(frozen=True)
class Level:
    """A number of clusters, and the evidence for it.

    Attributes
    ----------
    n_clusters : int
    labels : ndarray of shape (n_samples,)
    score, persistence, clarity : float
        As in :class:`klsnmf.kernels.count.Evidence`.
    stability : float
        Adjusted Rand index of clusters that are found from two different parts of the samples.
    cut : float
        The share of walks that leave their clusters before details are forgotten; None without a
        graph.
    joined : bool
        Whether separate clusters of a finer level were joined here, by their distances.
    """

    n_clusters: int
    labels: Labels
    score: float
    persistence: float
    clarity: float
    stability: float
    cut: float | None
    joined: bool = False


@dataclass(frozen=True)
class Tree:
    """Which clusters of each level make up which clusters of the next coarser level.

    Attributes
    ----------
    n_clusters : tuple of int
        The levels, from the coarsest to the finest.
    parents : tuple of arrays
        For every level except the coarsest, and for each of its clusters: the cluster of the
        coarser level that has most of its samples.
    shares : tuple of arrays
        The share of its samples that this cluster has.
    """

    n_clusters: tuple[int, ...]
    parents: tuple[Array, ...]
    shares: tuple[Array, ...]

    @property
    def places(self) -> list[Array]:
        """The horizontal place of each cluster, from 0 to 1, below its parent."""
        rows = [np.arange(self.n_clusters[0], dtype=float)]
        for parents in self.parents:
            place = np.empty(len(parents))
            place[np.argsort(rows[-1][parents], kind="stable")] = np.arange(len(parents))
            rows.append(place)
        return [(row + 0.5) / len(row) for row in rows]


def tree_of(labels: dict[int, Labels]) -> Tree:
    """The tree of levels, from the labels of each level."""
    numbers = sorted(labels)
    parents, shares = [], []
    for coarse, fine in pairwise(numbers):
        both = np.zeros((fine, coarse))
        np.add.at(both, (labels[fine], labels[coarse]), 1)
        parents.append(both.argmax(axis=1))
        shares.append(both.max(axis=1) / np.maximum(both.sum(axis=1), 1))
    return Tree(tuple(numbers), tuple(parents), tuple(shares))


@dataclass(frozen=True, repr=False)
class Profile:
    """Good numbers of clusters, best first, and the clusters for each of them.

    Attributes
    ----------
    levels : tuple of :class:`klsnmf.kernels.levels.Level`
        The first is the number that ``n_clusters="auto"`` takes. The others follow, best first.
    evidence : :class:`klsnmf.kernels.count.Evidence`
        The evidence for each number of clusters.
    """

    levels: tuple[Level, ...]
    evidence: Evidence

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, place: int) -> Level:
        return self.levels[place]

    @property
    def n_clusters(self) -> tuple[int, ...]:
        """The number of clusters of each level."""
        return tuple(level.n_clusters for level in self.levels)

    def labels(self, n_clusters: int) -> Labels:
        """The labels at the level with this number of clusters."""
        for level in self.levels:
            if level.n_clusters == n_clusters:
                return level.labels
        numbers = ", ".join(map(str, self.n_clusters))
        raise ValueError(f"n_clusters={n_clusters} is no level; the levels are {numbers}.")

    @property
    def tree(self) -> Tree:
        """Which clusters of each level make up which clusters of the next coarser level."""
        return tree_of({level.n_clusters: level.labels for level in self.levels})

    def plot_tree(self, ax: Any = None) -> Any:
        """Draw the tree of levels, one row of circles per level; returns matplotlib's axes."""
        ax = axes(ax)
        tree = self.tree
        places = tree.places
        most = len(self.levels[0].labels)
        for row, k in enumerate(tree.n_clusters):
            sizes = np.bincount(self.labels(k), minlength=k)
            for c, parent in enumerate(tree.parents[row - 1]) if row else ():
                x = places[row - 1][parent], places[row][c]
                ax.plot(x, (1 - row, -row), color="0.7", lw=0.5 + 4 * sizes[c] / most, zorder=1)
            area = 30 + 900 * sizes / most
            ax.scatter(places[row], np.full(k, -row), s=area, zorder=2)
        ax.set_yticks([-row for row in range(len(tree.n_clusters))])
        ax.set_yticklabels([str(k) for k in tree.n_clusters])
        ax.set_xticks([])
        ax.set_ylabel("clusters")
        return ax

    def plot_evidence(self, ax: Any = None) -> Any:
        """Draw the score of each number of clusters; returns matplotlib's axes."""
        ax = axes(ax)
        numbers, score = self.evidence.candidates, self.evidence.score
        marked = np.isin(numbers, self.n_clusters)
        ax.bar(numbers, score, color=np.where(marked, "C0", "0.8"))
        ax.set_xlabel("clusters")
        ax.set_ylabel("score")
        return ax

    def __repr__(self) -> str:
        lines = ["clusters  score  persistence  clarity  stability   cut"]
        for one in self.levels:
            values = one.score, one.persistence, one.clarity, one.stability
            told = "{:8d}  {:5.2f}  {:11.2f}  {:7.2f}  {:9.2f}".format(one.n_clusters, *values)
            lines.append(told if one.cut is None else f"{told}  {one.cut:4.2f}")
        return "\n".join([self.evidence.verdict, *lines])
