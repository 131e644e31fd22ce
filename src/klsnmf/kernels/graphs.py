"""Neighbour graphs of the same samples, of few and of more neighbours, from one search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csgraph, issparse

from ..core.arithmetic import row_lengths, times_sides
from ..core.arrays import like, namespace, to_host
from ..core.types import Labels, Matrix
from ..core.work import stage
from ..grams.base import Gram
from ..grams.lifted import lifted_gram
from ..grams.sparse import Links, SparseGram, pattern, weigh_links
from ..grams.walk import Walk, walk_on
from .copies import Copies
from .functions import density
from .neighbors import how_many_neighbors
from .pieces import joined
from .search import Search, search_among
from .similarity import (
    CopiedKernel,
    DiffusedKernel,
    FittedKernel,
    LiftedKernel,
    LinkedKernel,
    View,
)

#: Other numbers of neighbours than the usual one: fewer for thin clusters, the first that does, and
#: more for a second judge.
FEWER = (5, 7)
MORE = (25,)

#: Where neighbours are hardly nearer than anyone, so many of them, and when that is the case.
MANY = 50
NOISY = 2 / 3

#: Clusters can be thin where neighbours lie in at most so many dimensions. Fewer neighbours were
#: better in 1.3 to 3.1; in 5 and more, where images are, more was lost with them without exception.
THIN = 4.0

#: How many samples are used to find the dimension.
_ASKED = 256

#: Squared distances below this share of their mean count as zero.
_SAME = 1e-12

#: A sample is lonely if all its links together weigh less than this share of its own weight.
_NEXT_TO_NOTHING = 0.01

#: Beyond this many samples one graph must do: each takes as long as all the rest of a fit.
_MOST_COMPARED = 20_000


@dataclass(frozen=True)
class Numbers:
    """Of neighbours: the usual one, those to look at besides, and whether noise decides."""

    usual: int
    fewer: tuple[int, ...] = ()
    more: tuple[int, ...] = ()
    noisy: bool = False
    dense: bool = False  # whether links may count by density
    by_rule: bool = False  # whether they are as many as the samples ask for, not as were given
    dimension: float | None = None  # in which neighbours lie, if that was asked

    @property
    def most(self) -> int:
        return max(self.usual, *self.more, 0)


def numbers_of_neighbors(
    X: Matrix, k: int, noisy: float = NOISY, search: Search | None = None
) -> Numbers:
    """The numbers of neighbours that suit the samples.

    At most half a cluster of average size, because further neighbours would link clusters.
    """
    n = X.shape[0]
    usual, room = how_many_neighbors(n, k), n // (2 * k)
    around = neighborhood(X, usual, search)
    if around.noise > noisy:
        many = max(usual, min(MANY, room))
        return Numbers(many, noisy=True, by_rule=True, dimension=around.dimension)
    if n > _MOST_COMPARED:
        return Numbers(usual, by_rule=True, dimension=around.dimension)
    fewer = (q for q in FEWER if q < usual and around.dimension <= THIN)
    more = (q for q in MORE if usual < q <= room)
    return Numbers(
        usual,
        tuple(fewer),
        tuple(more),
        dense=around.dimension <= THIN,
        by_rule=True,
        dimension=around.dimension,
    )


@dataclass(frozen=True)
class Neighborhood:
    """What the neighbours of samples are like.

    Attributes
    ----------
    noise : the squared distance to the last neighbour, as a share of that between any two samples.
        A squared distance is what clusters differ by, and the noise of both samples. Where even
        near samples are nearly as far as all others, as in texts, noise decides who is near, and a
        link is right hardly more often than by chance. Then only many links together show the
        clusters. Where neighbours are much nearer than others, a few suffice, and more of them blur
    dimension : in which the neighbours lie, by how their distances grow (Levina and Bickel,
        "Maximum likelihood estimation of intrinsic dimension", 2004): 1 along curves
    """

    noise: float
    dimension: float


def neighborhood(X: Matrix, q: int, search: Search | None = None) -> Neighborhood:
    """Noise and dimension for q neighbours, as medians over some samples."""
    n = X.shape[0]
    some = np.random.RandomState(0).permutation(n)[:_ASKED]
    anyone = 2 * variance(X)
    if n < 3 or not anyone > 0:
        return Neighborhood(0.0, 0.0)
    _, d2 = (search or search_among(X))(some, min(max(q, 2), n - 1))
    logarithms = np.log(np.maximum(d2, _SAME * anyone)) / 2
    growth = float(np.median(logarithms[:, -1] - logarithms[:, :-1].mean(axis=1)))
    noise = float(np.median(d2[:, -1])) / anyone
    return Neighborhood(noise, 1 / growth if growth > 0 else 0.0)


@dataclass(frozen=True)
class NeighborGraph:
    """Links between samples and q neighbours each, weighted by the neighbours that two share."""

    q: int
    K: Gram
    kernel: LinkedKernel | CopiedKernel
    X: Matrix
    copies: Copies | None = None
    weights: str = "distance"  # what links are weighed by: distance, density, or only rank

    @property
    def usual(self) -> float | None:
        """The radius where links count 1, if they count by density."""
        return self.kernel.usual

    def by_density(self) -> NeighborGraph:
        """Links times the density at both ends: a walk goes where samples are dense.

        A few samples scattered between two clusters form a bridge from one to the other, because
        the neighbours of each are the next ones. Where links count by density, a walk that meets
        them goes back to where it came from.
        """
        r = np.asarray(self.kernel.r)
        usual = float(np.median(r))
        here = density(r, usual).astype(self.K.dtype)
        K = SparseGram(times_sides(here, self.K.entries(), here))
        return replace(self, K=K, kernel=self.kernel.by_density(usual), weights="density")

    @property
    def lonely(self) -> float:
        """The share of samples at which a walk stays, because their links weigh next to nothing."""
        own = self.K.diagonal
        links = self.K.dot(np.ones((len(own), 1), self.K.dtype))[:, 0] - own
        return float((links < _NEXT_TO_NOTHING * own).mean())

    def by_rank(self) -> NeighborGraph:
        """Links by the neighbours that two samples share, however far apart the two are."""
        linked = pattern(self.K.entries())
        return replace(self, K=SparseGram(Links(linked).weighed(linked)), weights="rank")

    @cached_property
    def piece(self) -> Labels:  # (n,)
        """The separate piece that each sample is in."""
        return np.asarray(csgraph.connected_components(self.K.entries(), directed=False)[1])

    @cached_property
    def pieces(self) -> int:
        """The separate pieces of more than q samples: a few samples far from all are none."""
        return int((self.counts(self.piece) > self.q).sum())

    def counts(self, labels: Labels, k: int = 0) -> Labels:  # (n,) -> (at least k,)
        """The samples with each label; copies count once."""
        some = labels if self.copies is None else labels[self.copies.distinct]
        return np.bincount(some, minlength=k)


@dataclass(frozen=True)
class NeighborGraphs:
    """The graphs to choose from for k clusters."""

    numbers: Numbers
    X: Matrix
    fit: Callable[[int], tuple[Gram, FittedKernel]]  # the kernel that keeps so many
    k: int
    there: Callable[[int], tuple[Gram, FittedKernel]] | None = None  # the same on a device
    known: tuple[tuple[NeighborGraph, Walk], ...] = ()  # those that were made already
    copies: Copies | None = None  # among the samples, if some are equal: ``fit`` is for the others

    @property
    def distinct(self) -> Matrix:
        """The samples, copies once; on the host."""
        X = to_host(self.X)
        return X if self.copies is None else X[self.copies.distinct]

    @stage("graphs")
    def graph(self, q: int) -> NeighborGraph:
        for graph, _ in self.known:
            if graph.q == q:
                return graph
        K, fitted = self.fit(q)
        K, kernel = _linked(K, fitted)
        if self.copies is None:
            return NeighborGraph(q, K, kernel, fitted.X)
        which, K = self.copies.which, SparseGram(self.copies.spread(K.entries()))
        copied = CopiedKernel(kernel, which)
        return NeighborGraph(q, K, copied, fitted.X[which], self.copies)

    @stage("eigenvectors")
    def walk(self, graph: NeighborGraph) -> Walk:
        """The walk on a graph; where pieces are more than clusters, those that are near are one."""
        # The eigenvectors for more clusters serve fewer too.
        made = (walk for one, walk in self.known if one is graph and self.k <= walk.k)
        known = next(made, None)
        walk = walk_on(graph.K, self.k) if known is None else Walk(known.spectrum, self.k)
        if graph.pieces <= self.k:
            return walk
        return walk.joined(graph.piece, joined(graph.X, graph.piece, self.k))

    def view(self, graph: NeighborGraph, walk: Walk, *, even: bool) -> View:
        """K after diffusion, where the samples are."""
        diffusion, kernel = walk.diffusion(even=even), graph.kernel
        if self.there is not None:
            K, linked = _linked(*self.there(graph.q))
            linked = linked if graph.usual is None else linked.by_density(graph.usual)
            kernel = linked
            if self.copies is not None:
                kernel = CopiedKernel(linked, like(self.copies.which, K.diagonal))
            diffusion = diffusion.beside(K.diagonal)
        K = diffusion.gram()
        return View(K, K, DiffusedKernel(kernel, diffusion))

    def means(self) -> View:
        """A kernel whose clusters are those of k-means."""
        X, xp = self.X, namespace(self.X)
        sparse = issparse(X)
        mean = np.zeros(X.shape[1], X.dtype) if sparse else xp.mean(X, axis=0)
        longest = float(xp.max(row_lengths(X if sparse else X - mean)))
        kernel = LiftedKernel(X, mean, float(np.sqrt(longest)))  # no entry is negative then
        K = lifted_gram(kernel.centred(X), kernel.height)
        return View(K, K, kernel, local=False)  # means are of samples that are near already


def _linked(K: Gram, fitted: FittedKernel) -> tuple[Gram, LinkedKernel]:
    K, links = weigh_links(K)
    return K, LinkedKernel(fitted, links)


def variance(X: Matrix) -> float:
    """The mean squared distance of the samples to their mean."""
    mean = np.asarray(X.mean(axis=0), np.float64).ravel()
    return float(row_lengths(X).mean(dtype=np.float64) - mean @ mean)
