"""WNMF, ONMF and SemiNMF: factorizations of the samples themselves.

All of them treat starts in the same way. There are ``n_init`` starts, from k-means by default. They
are fitted side by side, and the one with the lowest objective is kept.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from ..core import memory
from ..core.types import Array, Matrix
from ..core.warn import warn
from ..grams.base import Data
from ..kernels.inputs import require_moderate, require_some_weight
from ..models.base import Model
from ..models.extrapolated import Extrapolated
from ..models.nmf import NMF, Penalty, WeightedNMF
from ..models.onmf import GroupedONMF, OrthogonalNMF
from ..models.semi_nmf import SemiNonnegative
from .by_factors import Factorization, nearest_mixtures
from .callbacks import fit_task
from .validate import fit_method, has_gaps


class Alternated(Factorization):
    """What WNMF, SemiNMF and GNMF share: good steps for each of two factors."""

    def _solver(self, model: NMF) -> Model:
        return model if self.solver == "multiplicative" else Extrapolated(model)


@dataclass(eq=False, repr=False)
class WNMF(Alternated):
    """Weighted nonnegative matrix factorization (WNMF), for data with gaps too.

    Minimises Σ_ij M_ij (X - GFᵀ)²_ij over G, F ≥ 0. Without weights and gaps this is plain NMF;
    entries of X that are NaN have weight 0.

    Comparisons usually set ``solver="multiplicative"``, ``init="random"`` and 1000 iterations. The
    default is to start from k-means, because the largest coefficients then tell the clusters
    better.

    A sample without any known entry gets coefficients of zero and the label that most samples have.
    A feature without any known entry gets zeros in ``components_``. Both cause a warning.
    ``transform`` and ``predict`` give all entries of new samples the same weight, and skip NaN.

    Parameters
    ----------
    n_clusters : int, default=8
        You can ask for more clusters than features, but their components are not unique, and a
        warning says so.
    labels : {"argmax", "kmeans"}, default="argmax"
        How clusters are read from ``G_``: the largest entry of a row, or k-means on its rows
        scaled to length 1.
    init : {"kmeans", "random", "nndsvd", "auto"} or (G0, F0), default="kmeans"
        Where to start: labels from k-means on X, random numbers, the singular vectors of X, or a
        pair of arrays of shape (n_samples, n_clusters) and (n_features, n_clusters). "auto" uses
        the singular vectors once, and k-means and random numbers in turn. To continue another fit,
        use ``init=(other.G_, other.components_.T)``.
    n_init : int, default=10
        The number of starts. They are fitted side by side, and the lowest objective is kept. If X
        is large and in double precision, the first steps are taken in single precision, where
        starts compete as far as this can tell them apart, and the best goes on in double precision.
        A callback sees the first part as the phase "race".
    max_iter : int, default=1000
        The most iterations of the race, and of the fit after it.
    tol : float, default=1e-4
        A fit has converged when its residual is at most this. The residual does not depend on the
        scale of X, and is zero only at a solution. With ``solver="multiplicative"``, a fit has
        converged when its objective changes by less than this fraction over 10 iterations. With 0
        it always runs ``max_iter`` iterations.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        1 prints a line every ten iterations.
    callback : callable or None, default=None
        Called after every iteration with a :class:`klsnmf.solve.solution.Progress`. If it returns
        True, the fit stops there.
    solver : {"auto", "multiplicative"}, default="auto"
        "auto" sweeps over the columns of each factor and looks ahead; "multiplicative" uses the
        rules of Lee and Seung.
    alpha_W, alpha_H, l1_ratio : float, default=0.0, "same", 0.0
        Penalties on G and F, as in scikit-learn's ``NMF``, where G is called W. They apply before
        the columns of ``G_`` are scaled to length 1. ``transform`` uses no penalties.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    G_ : ndarray of shape (n_samples, n_clusters)
        The coefficients, X ≈ ``G_ @ components_``; columns have length 1.
    components_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    objective_ : float
    reconstruction_err_ : float
        The root of the weighted squared error, without penalties.
    n_iter_ : int
        Iterations after the race.
    history_ : dict of arrays, one entry per iteration
        "objective", and the Frobenius norm of the change of each factor, for example "change_G".
    strengths_ : ndarray of shape (n_samples,)
        How clearly each sample belongs to its cluster: 1 - second/first of its ``scores``.
    status_ : {"converged", "exhausted", "collapsed", "stopped"}
        How the fit ended.
    verdict_ : str
        The same as a sentence.
    notes_ : tuple of records
        What you should know about the fit, including all its warnings. See
        :mod:`klsnmf.estimators.notes`.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from klsnmf import WNMF
    >>> X = np.array([[4, 0, 1.0], [3, np.nan, 1], [0, 2, 2], [1, 3, np.nan]])
    >>> WNMF(n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

    gaps = True

    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        **Factorization._own_constraints,
        "alpha_W": [Interval(Real, 0, None, closed="left")],
        "alpha_H": [Interval(Real, 0, None, closed="left"), StrOptions({"same"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }

    _: KW_ONLY
    alpha_W: float = 0.0
    alpha_H: float | str = "same"
    l1_ratio: float = 0.0

    @fit_method
    def fit(self, X: Any, y: Any = None, weights: Any = None, sample_weight: Any = None) -> Self:
        """Factorize the samples and cluster them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN for unknown entries.
        y : ignored
        weights : array-like or sparse matrix of shape (n_samples, n_features), or None
            M, nonnegative; give it by name. None gives all known entries the same weight. Weights
            below 1e-19 (1e-154 in double precision) count as 0. With weights or gaps, a sparse X is
            made dense.
        sample_weight : array-like of shape (n_samples,) or None
            How much each sample counts: a weight of 2 is the sample twice. A sample of weight 0 has
            no part in the fit; its coefficients are those of a new one.

        Returns
        -------
        self
        """
        shape = getattr(X, "shape", None)
        if weights is None and shape is not None and getattr(y, "shape", None) == shape:
            raise ValueError(
                "y has the shape of X and would be ignored: weights are given by name, "
                "fit(X, weights=...)."
            )
        with fit_task(self, X, y):
            self._fit_together([self], X, weights=weights, sample_weight=sample_weight)
        return self

    def _model(self, X: Matrix, unit: float, weights: Any = None) -> tuple[NMF, Matrix]:
        penalties = self._penalties(X.shape, unit)
        if weights is None and not has_gaps(X):
            return NMF(Data(X), **penalties), X
        X = dense(X)
        M = (~np.isnan(X)).astype(X.dtype)
        if weights is not None:
            M *= check_weights(weights, X)
        known = np.where(M > 0, X, 0)
        self._warn_of_gaps(M)
        if not known.any():
            raise ValueError(
                "No entry of X is known, has a weight and is not zero: there is nothing to "
                "factorize."
            )
        weighted = Data(M * known)
        size = float(np.einsum("ij,ij->", weighted.X, known, dtype=np.float64))
        # k-means takes no gaps, so they are filled with the mean of the feature.
        means = weighted.X.sum(axis=0) / np.maximum(M.sum(axis=0), np.finfo(X.dtype).tiny)
        return WeightedNMF(weighted, M, size, **penalties), np.where(M > 0, known, means)

    def _penalties(self, shape: tuple[int, ...], unit: float) -> dict[str, Penalty]:
        """Those of scikit-learn, for factors that are √unit times smaller, and for twice f."""
        alpha_H = self.alpha_W if self.alpha_H == "same" else float(self.alpha_H)
        if (self.alpha_W or alpha_H) and self.solver == "multiplicative":
            raise ValueError(
                'The multiplicative rules have no penalties: use solver="auto", or alpha_W=0 and '
                "alpha_H=0."
            )
        n, p = shape
        # In steps, because the power of a very large or small unit would overflow or vanish.
        return {
            name: Penalty(
                self.l1_ratio * size / unit / unit**0.5, (1 - self.l1_ratio) * size / unit
            )
            for name, size in (("on_G", self.alpha_W * p), ("on_F", alpha_H * n))
        }

    def _warn_of_gaps(self, M: Array) -> None:
        known = M > 0
        for axis, kind, result in ((1, "samples", "G_"), (0, "features", "components_")):
            count = np.count_nonzero(~known.any(axis=axis))
            if count:
                warn(
                    f"{count} of the {kind} in X have no known entry of positive weight: their "
                    f"part of {result} is zero. Leave them out.",
                    UserWarning,
                )

    def _coefficients(self, X: Matrix, H: Array) -> Array:
        if not has_gaps(X):
            return super()._coefficients(X, H)
        X = dense(X)
        if count := np.count_nonzero(np.isnan(X).all(axis=1)):
            warn(
                f"{count} of the new samples have no known entry: their coefficients are zero. "
                "Leave them out.",
                UserWarning,
            )
        return nearest_mixtures(X, H.T)


@dataclass(eq=False, repr=False)
class ONMF(Factorization):
    """Orthogonal nonnegative matrix tri-factorization (ONMF).

    Minimises ‖X - GSFᵀ‖² over G, S, F ≥ 0 with GᵀG = I and FᵀF = I: G groups the samples and F the
    features. ``components_`` are S Fᵀ. By default each step is exact, and rows of ``G_`` have one
    nonzero entry. With ``solver="multiplicative"``, the rules of Ding and others, the factors only
    become nearly orthogonal, and the objective may rise now and then.

    Comparisons usually set ``solver="multiplicative"``, a start from k-means and 200 iterations.
    Random starts hardly move: they are on a plateau.

    Parameters
    ----------
    n_clusters, labels, init, n_init, max_iter, tol, random_state, verbose, callback, solver
        As in :class:`WNMF`.

    Attributes
    ----------
    labels_, G_, components_, objective_, reconstruction_err_, n_iter_, history_, verdict_
        As in :class:`WNMF`.
    """

    @property
    def orthogonal(self) -> bool:  # type: ignore[override]
        """Whether rows of G have one nonzero entry: by the rules of Ding they only tend to."""
        return self.solver != "multiplicative"

    def _model(self, X: Matrix, unit: float) -> tuple[NMF, Matrix]:
        rules = OrthogonalNMF if self.solver == "multiplicative" else GroupedONMF
        return rules(Data(X)), X


@dataclass(eq=False, repr=False)
class SemiNMF(Alternated):
    """Semi-nonnegative matrix factorization (Semi-NMF), for data of any sign.

    Minimises ‖X - GFᵀ‖² over G ≥ 0 and F of any sign. F is computed from G first, so with
    ``init=(G0, F0)`` only G0 matters.

    Parameters
    ----------
    n_clusters, labels, init, n_init, max_iter, tol, random_state, verbose, callback, solver
        As in :class:`WNMF`.

    Attributes
    ----------
    labels_, G_, components_, objective_, reconstruction_err_, n_iter_, history_, verdict_
        As in :class:`WNMF`.
    """

    signed = True

    def _model(self, X: Matrix, unit: float) -> tuple[NMF, Matrix]:
        return SemiNonnegative(Data(X)), X


def dense(X: Matrix) -> Array:
    """X as a dense array, if there is enough memory."""
    if not sparse.issparse(X):
        return X
    memory.require(
        float(X.shape[0]) * X.shape[1] * X.dtype.itemsize,
        f"X of shape {X.shape} as a dense array",
        "Fit a part of the rows, or take a method that leaves X sparse, such as GNMF.",
    )
    return np.asarray(X.toarray())


def check_weights(weights: Any, X: Array) -> Array:  # (n, p)
    """The weights of WNMF."""
    if np.shape(weights) != X.shape:
        raise ValueError(f"weights has shape {np.shape(weights)}; it must be that of X, {X.shape}.")
    weights = check_array(weights, accept_sparse="csr", dtype=X.dtype, input_name="weights")
    weights = dense(weights)
    require_moderate(weights, "weights")
    least = float(weights.min())
    if least < 0:
        raise ValueError(
            f"weights has negative entries, the smallest is {least:.3g}; they must be nonnegative."
        )
    require_some_weight(weights, "weights")
    # Products with smaller weights would vanish, and the rules would divide by zero.
    return np.where(weights < np.sqrt(np.finfo(weights.dtype).tiny), 0, weights)
