"""GNMF and RMNMF: factorizations in which neighbours in a graph get similar coefficients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np

from ..core import memory
from ..core.arithmetic import in_units
from ..core.arrays import to_host
from ..core.types import Matrix
from ..grams.base import Data
from ..grams.graph import Graph
from ..kernels.inputs import check_graph
from ..kernels.neighbors import binary_graph
from ..models.gnmf import GraphNMF
from ..models.nmf import NMF
from ..models.rmnmf import GroupedRobust, RobustNMF
from .by_factors import Factorization
from .factor import Alternated, dense
from .part import Part

#: The unit of RMNMF's samples is at least this share of the longest sample.
_SHORTEST = 1e-9

#: The largest α in that unit. Only the graph counts already for much smaller values.
_LARGEST_ALPHA = 1e50


@dataclass(eq=False, repr=False)
class GraphFactorization(Factorization):
    """What GNMF and RMNMF share: a graph of the samples, and its weight."""

    _counts_copies = True

    _: KW_ONLY
    graph_weight: float = 1.0
    graph_neighbors: Any = 5

    def _of_rows(self, part: Part) -> Self:
        one = super()._of_rows(part)
        if not isinstance(self.graph_neighbors, Integral):
            one.graph_neighbors = part.graph_of(self.graph_neighbors)
        return one

    def _graph(self, X: Matrix) -> Graph:
        if isinstance(self.graph_neighbors, Integral):
            return binary_graph(X, int(self.graph_neighbors))
        return check_graph(to_host(self.graph_neighbors), X.shape[0], X.dtype)


@dataclass(eq=False, repr=False)
class GNMF(GraphFactorization, Alternated):
    """Graph-regularised nonnegative matrix factorization (GNMF).

    Minimises ‖X - GFᵀ‖² + α tr(GᵀLG) over G, F ≥ 0 with columns of F of length 1, where L is the
    Laplacian of a neighbour graph. Neighbours get similar coefficients. In the result, the columns
    of ``G_`` have length 1, as with all methods here.

    Comparisons usually set α = 100 and take the best of 10 short random starts. Such a strong graph
    makes coefficients so smooth that the largest one says little. Try ``labels="kmeans"`` then.

    Parameters
    ----------
    n_clusters : int, default=8
    graph_weight : float, default=1.0
        α, the weight of the graph; 0 is NMF.
    graph_neighbors : int or matrix of shape (n_samples, n_samples), default=5
        The graph: nearest neighbours with weight 1, or weights of your own, symmetric and
        nonnegative.
    labels, init, n_init, max_iter, tol, random_state, verbose, callback, solver
        As in :class:`WNMF`.

    Attributes
    ----------
    labels_, G_, components_, objective_, reconstruction_err_, n_iter_, history_, verdict_
        As in :class:`WNMF`. New samples are not in the graph, so ``transform`` and ``predict`` find
        their coefficients without it.
    """

    def _model(self, X: Matrix, unit: float) -> tuple[NMF, Matrix]:
        return GraphNMF(Data(X), self._graph(X), float(self.graph_weight)), X


@dataclass(eq=False, repr=False)
class RMNMF(GraphFactorization):
    """Robust manifold nonnegative matrix factorization (RMNMF), for data with outliers.

    Minimises Σ_i ‖x_i - F g_i‖ + α tr(GᵀLG) over G ≥ 0 with GᵀG = I and F of any sign, where L is
    the Laplacian of a neighbour graph. X is made dense. Rows of ``G_`` have one nonzero entry. By
    default, steps are exact and a few dozen suffice. ``solver="multiplicative"`` is the augmented
    Lagrangian of the paper. It ends when its constraints hold to one in a million and the objective
    no longer changes. With 100 samples per cluster or more, this takes thousands of iterations. If
    it is stopped earlier, with a warning, its G may still have negative entries; ``G_`` has zeros
    there. A start needs four arrays of the size of X.

    α depends on the unit of X. For samples of length about 1, values from 0.001 to 1000 are usual.

    Parameters
    ----------
    n_clusters : int, default=8
    graph_weight : float, default=1.0
        α, the weight of the graph.
    graph_neighbors : int or matrix of shape (n_samples, n_samples), default=5
        The graph: nearest neighbours with weight 1, or weights of your own, symmetric and
        nonnegative.
    max_iter : int, default=3000
    labels, init, n_init, tol, random_state, verbose, callback, solver
        As in :class:`WNMF`. With ``init=(G0, F0)``, only the clusters are used that the largest
        entries of G0 name.

    Attributes
    ----------
    labels_, G_, components_, objective_, reconstruction_err_, n_iter_, history_, verdict_
        As in :class:`WNMF`. The changes in ``history_`` are those of samples scaled to a length of
        about 1.
    """

    signed = True
    orthogonal = True
    degree = 1

    # F is free and a row of G has one entry: clusters as those of k-means.
    _bound_by_features = False

    _: KW_ONLY
    max_iter: int = 3000

    def _unit_of(self, X: Matrix) -> float:
        """The power of two next to the median length of samples, because 1/μ begins at 1.

        The median is not sensitive to outliers. Samples of zeros do not count. Powers of two leave
        all digits of X as they are.
        """
        unit = super()._unit_of(X)
        lengths = np.sqrt(Data(in_units(X, unit)).row_square_sums.astype(np.float64))
        # Not so short that the longest would overflow in this unit.
        typical = max(np.median(lengths[lengths > 0]), _SHORTEST * lengths.max())
        # Rounded, so that rows of length 1 have the unit 1 whatever their last digit, and to a
        # number that the type of X can hold.
        limits = np.finfo(X.dtype)
        least, most = float(limits.smallest_subnormal), 2.0 ** (limits.maxexp - 1)
        return min(max(unit * float(2.0 ** np.round(np.log2(typical))), least), most)

    def _model(self, X: Matrix, unit: float) -> tuple[NMF, Matrix]:
        n, p = X.shape
        size = 8.0 * n * min(n, p) * (4 * self.n_init + 4)
        memory.require(size, f"{self.n_init} starts of RMNMF", "Lower n_init.")
        X = dense(X).astype(np.float64)  # float32 cannot tell residuals of one in a million
        graph, samples, basis = self._graph(X), X, None
        if p > n:
            basis, R = np.linalg.qr(X.T)
            samples = np.ascontiguousarray(R.T)
        alpha = min(float(self.graph_weight) / unit, _LARGEST_ALPHA)
        # k-means is sensitive to outliers and would start from them, so all get the same length.
        lengths = np.sqrt(Data(X).row_square_sums)[:, None]
        rules = RobustNMF if self.solver == "multiplicative" else GroupedRobust
        return rules(Data(samples), graph, alpha, basis), X / np.maximum(lengths, 1)
