"""A walk on a graph of samples, and what it says about clusters.

The steps P = Deg⁻¹ K lead from each sample to samples that are like it, and S = Deg^-½ K Deg^-½ has
the same eigenvalues. A walk forgets where it began: fine detail after a few steps, clusters much
later. Clusters are looked at after T steps, tr(Sᵀ) = 2k, when about 2k of the directions in which
samples differ are left. T depends on the graph: with few neighbours a walk needs more steps. So
what walks have forgotten after T steps can be compared between graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from ..core.arithmetic import row_lengths
from ..core.types import Array, Labels
from .base import Gram
from .spectral import (
    ENOUGH,
    FEWEST_STEPS,
    MOST_STEPS,
    SpectralDiffusion,
    Spectrum,
    spectrum_of,
)

#: Directions that count less than this are left out of the features of samples.
_NEGLIGIBLE = 0.03

#: A matrix with so many numbers is not worth being sparse.
_FEW_NUMBERS = 2**15

#: The precision to which the loss of walks is known.
_KNOWN_TO = 0.01


@dataclass(frozen=True)
class Features:
    """A kernel of low rank, and what each sample has with itself alone: K = FFᵀ + diag(e).

    Single precision tells answers apart as well, in half the time.
    """

    along: Array  # (n, m), F
    beside: Array  # (n,), e

    def __getitem__(self, members: Array) -> Features:
        return Features(self.along[members], self.beside[members])


@dataclass(frozen=True)
class Walk:
    """The walk on a graph by the leading eigenvectors of S, for k clusters."""

    spectrum: Spectrum
    k: int
    unjoined: Spectrum | None = None  # before separate pieces were joined, if any were

    def joined(self, piece: Labels, group: Labels) -> Walk:  # (n,), (n,)
        """A walk to which separate pieces of the same group are one."""
        return Walk(self.spectrum.joined(piece, group), self.k, self.spectrum)

    def as_the_graph_is(self) -> Walk:
        """The walk that knows separate pieces."""
        return self if self.unjoined is None else Walk(self.unjoined, self.k)

    @cached_property
    def time(self) -> float:
        """T: tr(Sᵀ) = 2k, or the most or fewest steps that make sense."""

        def beyond(log_steps: float) -> float:
            return self.spectrum.trace(np.exp(log_steps)) - ENOUGH * self.k

        first, last = np.log(2.0), np.log(float(MOST_STEPS))
        if beyond(last) >= 0 or beyond(first) <= 0:
            return float(MOST_STEPS) if beyond(last) >= 0 else 2.0
        return float(np.exp(brentq(beyond, first, last, xtol=1e-6)))

    def diffusion(self, *, even: bool) -> SpectralDiffusion:
        return self.spectrum.diffusion(max(self.time, float(FEWEST_STEPS)), even=even)

    def features(self, *, even: bool) -> Features:
        """Those of K_t, without directions that faded."""
        return self._even_features if even else self._free_features

    @cached_property
    def _even_features(self) -> Features:
        return self._features(even=True)

    @cached_property
    def _free_features(self) -> Features:
        return self._features(even=False)

    def _features(self, *, even: bool) -> Features:
        diffusion = self.diffusion(even=even)
        powers = self.spectrum.values ** (diffusion.steps / 2)
        kept = powers > _NEGLIGIBLE
        kept[:2] = True
        F = (self.spectrum.U[:, kept] * (diffusion.scale * powers[kept])).astype(np.float32)
        own = diffusion.gram().diagonal.astype(np.float32)
        return Features(F, np.maximum(own - row_lengths(F), 0))

    def crossings(self, labels: Labels) -> Array:  # (n,) -> (k, k)
        """The chance that an endless walk is in cluster r now and in s after T steps."""
        A = self.sums(labels, self.k)
        p = np.maximum((A * self.spectrum.values**self.time) @ A.T, 0)
        return np.asarray(p / p.sum())

    def ends(self, labels: Labels) -> Callable[[Array], Array]:  # (n,); (few,) -> (few, k)
        """For any samples the chances to be in each cluster after T steps from them."""
        A = (self.sums(labels, self.k) * self.spectrum.values**self.time).T
        U, roots = self.spectrum.U, np.sqrt(self.shares)[:, None]
        return lambda some: np.maximum(U[some] @ A / roots[some], 0)

    def stays(self, labels: Labels) -> Array:  # (k,)
        """For each cluster, the chance that a walk from it is in it after T steps."""
        p = self.crossings(labels)
        return p.diagonal() / np.maximum(p.sum(axis=1), np.finfo(float).tiny)

    def lost(self, labels: Labels) -> float:
        """The share of walks that leave their clusters: 0 for separate pieces, 1 for no clusters.

        (k - Σ_c p_T(c|c)) / (k - 1). After a single step this would be the normalised cut.
        """
        return float((self.k - self.stays(labels).sum()) / max(self.k - 1, 1)) + _KNOWN_TO

    def information(self, labels: Labels) -> float:
        """What the cluster of a walk tells about its cluster T steps later, in nats."""
        p = self.crossings(labels)
        r, least = p.sum(axis=1), np.finfo(float).tiny
        ratio = np.maximum(p / np.maximum(np.outer(r, r), least), least)
        return float((p * np.log(ratio)).sum())

    @cached_property
    def shares(self) -> Array:  # (n,)
        """The share of its time that a walk spends with each sample."""
        return self.spectrum.degrees / self.spectrum.degrees.sum()

    def sums(self, labels: Labels, k: int) -> Array:  # (k, m)
        """Those of the eigenvectors over k clusters, weighted by the root of their share."""
        roots = np.sqrt(self.shares, dtype=np.float64)
        return weighed_sums(labels, roots, k, self.spectrum.U)


def sums_over_clusters(labels: Labels, k: int) -> sparse.csc_array:  # (n,) -> (k, n)
    """1 where a sample is in a cluster: products with it are sums over clusters."""
    return _weights_by_cluster(labels, np.ones(len(labels)), k)


def weighed_sums(labels: Labels, weights: Array, k: int, V: Array) -> Array:  # (k, m)
    """The sums of the rows of V over clusters, each row times its weight.

    A product with a matrix of few numbers takes less time than to make a sparse one.
    """
    if k * len(labels) > _FEW_NUMBERS:
        return np.asarray(_weights_by_cluster(labels, weights, k) @ V)
    G = np.zeros((k, len(labels)), weights.dtype)
    G[labels, np.arange(len(labels))] = weights
    return np.asarray(G @ V)


def _weights_by_cluster(labels: Labels, weights: Array, k: int) -> sparse.csc_array:  # (k, n)
    places = np.array(labels), np.arange(len(labels) + 1)
    return sparse.csc_array((weights, *places), shape=(k, len(labels)))


def walk_on(K: Gram, k: int) -> Walk:
    """The walk on the graph K."""
    return Walk(spectrum_of(K, k), k)
