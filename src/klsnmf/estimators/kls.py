"""The estimators of LS-NMF and KLS-NMF."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from ..core.spellings import warn_of_old_spellings
from ..kernels.build import KernelSettings
from ..kernels.count import Evidence
from ..kernels.levels import Profile
from ..solve.solution import Callback
from .by_kernel import KernelClusterer
from .notes import FitWarning
from .setup import Setup
from .stream import Streamed


@dataclass(eq=False, repr=False)
class KLSNMF(Streamed, KernelClusterer):
    """Kernel nonnegative matrix factorization with local similarity learning (KLS-NMF).

    Finds clusters and learns the local similarity between samples together. It minimises

        ½ tr(K - 2KWGᵀ + GWᵀKWGᵀ) + λ tr(WᵀDG)   over W, G ≥ 0 with GᵀG = I,

    where K is a kernel matrix and D holds the squared distances that belong to it. torch tensors
    and cupy arrays are fitted on their own device, and the fitted arrays stay there.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters. "auto" chooses it from the neighbour graph (see :doc:`/levels`).
        ``n_clusters_evidence_`` then has the evidence, and ``levels_`` other good numbers. A
        warning tells you if the choice is not clear.
    lam : float or "auto", default="auto"
        λ, the weight of the local similarity. "auto" is 1 % of the λ at which half of the samples
        would be better off in no cluster. If even that is too large, it is 0 (see ``lam_``).
    kernel : str, callable or list of these, default="self-tuning"
        How samples are compared:

        - "self-tuning": exp(-d²/(r_i r_j)), where r_i is the distance from sample i to its 7th
          neighbour
        - "rbf": exp(-d²/(2σ²)) with σ = ``radius``
        - "linear", "cosine", and "polynomial", which is (⟨x, y⟩ + 1)²
        - "precomputed": X is the kernel matrix, dense or sparse; ``radius``, ``n_neighbors`` and
          ``row_norm`` have no effect
        - a function that takes two arrays and returns the matrix k(X, Y)
        - a list of kernels: a weighted sum with learned weights (see ``kernel_weights_``)
    radius : float or "auto", default="auto"
        σ of the "rbf" kernel. "auto" is the median distance to the 7th neighbour.
    n_neighbors : int, None or "auto", default="auto"
        Keeps k(x_i, x_j) only if one of the two samples is among that many nearest neighbours of
        the other, so that K is sparse. None keeps all pairs. "auto" is None for most kernels. For
        "self-tuning" it is 10, or half of n_samples / n_clusters if that is less, but at least 3.
        With ``diffusion="auto"`` it can also be 50, if neighbours are hardly nearer than other
        samples, as in texts, and 5 or 7, if clusters are thin (see :doc:`/choosing`).
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "approximate" finds nearly all of them, in cells of samples that
        are near. "auto" is that for more than 65,536 samples, and where the exact search would take
        minutes.
    diffusion : int, "auto" or "unweighted", default="auto"
        The number of diffusion steps t: an even number, or 0 for none. K becomes S^t, scaled to
        unit diagonal, with S = Deg^-½ K Deg^-½.

        - "auto" applies to the self-tuning kernel with neighbours, and is 0 for others. Links are
          weighted by the neighbours that two samples share. S is replaced by its leading
          eigenvectors. t is at least 4 and is chosen so that tr(S^t) = 2 n_clusters; it need not be
          a whole number. In a list of kernels, "auto" weights links and counts steps like
          "unweighted".
        - "unweighted" applies to the self-tuning kernel, and is 0 for others. t is 4, doubled until
          tr(S^t) ≤ 2 n_clusters. S is replaced by its leading eigenvectors above 4000 samples, or
          above 1000 samples and 4 steps (16 steps with more than 32 clusters).
    sizes : {"auto", "even", "free"}, default="auto"
        Whether samples or clusters have equal weight, with ``diffusion="auto"`` and the self-tuning
        kernel. With "even", every sample has the same weight (S^t is scaled to unit diagonal), and
        clusters tend to be of equal size. With "free", every cluster has the same weight (S^t is
        not scaled). A small piece of the graph then counts as much as a large one, even if it is
        two or three outliers. "auto" computes both answers. It takes the free one if it is clearly
        better and has no cluster as small as a neighbourhood. With other settings, "auto" is "even"
        and "free" is an error.
    outliers : {"cluster", "label"}, default="cluster"
        "cluster" gives every sample a cluster. "label" gives the label -1 to samples that belong to
        none: their distance to the 7th neighbour is more than three times that of their neighbours.
        ``predict`` does the same. Not available with "precomputed".
    gram : {"auto", "dense", "tiled", "low-rank"}, default="auto"
        How a kernel matrix of all pairs is stored. "dense" is an array. "tiled" computes it again
        for every product, tile by tile. "low-rank" approximates it by 500 samples (Nyström), which
        is exact for the kernels "linear" and "cosine". "auto" takes the first that applies: low
        rank if that is exact, nonnegative and cheap; the array if it fits into memory; low rank if
        that is exact or there are more than 100,000 samples; tiles. It has no effect if
        ``n_neighbors`` makes the matrix sparse.
    max_memory : float or None, default=None
        Gigabytes that the kernel matrix may take. None is 80 % of the free memory. Tiles become
        smaller if a few of them would take more.
    row_norm : "l2", None or "auto", default="auto"
        "l2" scales the samples to length 1 before the kernel, None does not. "auto" scales data
        that look like amounts: no negative entry, 20 features or more, and most features come near
        zero (see ``row_norm_``).
    graph_weight : float, default=0.0
        γ of GLS-NMF, which adds γ/2 tr(GᵀLG), where L is the Laplacian of a neighbour graph.
    graph_neighbors : int or matrix of shape (n_samples, n_samples), default=5
        The graph of GLS-NMF: a number of nearest neighbours, each with weight 1, or your own
        weights, symmetric and nonnegative.
    solver : {"auto", "soft", "exact", "paper"}, default="auto"
        "paper": the two update rules as printed. "soft": the same rules with a symmetric
        multiplier, so that the Lagrangian descends. "exact": the G step solved in closed form, so
        that GᵀG = I holds exactly and the objective never rises. "auto": exact steps, first at
        λ = 0, where W = G is best, then with λ.
    init : {"auto", "spectral", "kmeans", "random"} or (W0, G0), default="auto"
        Where to start: labels from the leading eigenvectors of K, labels from k-means on X, both in
        turn ("auto"), random numbers, or a pair of arrays of shape (n_samples, n_clusters). With
        the self-tuning kernel and ``diffusion="auto"``, "auto" starts from the best answer among
        several graphs and sizes.
    n_init : int or "auto", default="auto"
        The number of starts. They are fitted side by side, and the lowest objective wins. With the
        solvers "auto" and "exact" all starts take ten steps, and only the best two of each kind
        (spectral, k-means) are finished. "auto" is then 640 / n_clusters, between 8 and 64, or
        fewer for many samples; for other solvers it is 8. With the default kernel and
        ``init="auto"`` it is the number of starts from the eigenvectors of each graph (3 for
        "auto"), and only the best answer is finished.
    regroup : bool, default=True
        Whether clusters are exchanged before the fit: one is split in two and two are joined, if
        that explains more of K. The objective ends lower and depends less on the seed. Without the
        default kernel, it applies only to the starts "spectral" and "kmeans", and only if the fit
        ends with exact steps: solver "auto" or "exact", G orthogonal, no graph term.
    max_iter : int, default=500
        The most iterations of a start. The solver "auto" with λ > 0 gives half of them to each of
        its two phases.
    tol : float, default=1e-4
        A fit has converged when its objective changes by less than this fraction over 10
        iterations. With 0 it always runs ``max_iter`` iterations.
    random_state : int, RandomState instance or None, default=None
        Pass an int to get the same result every time.
    fit_on : int, "all" or "auto", default="auto"
        How many samples are fitted. If there are more, so many of them are drawn at random and
        fitted, and the others are placed as ``predict`` does, in blocks. A note in ``notes_`` says
        so. "auto" fits all of up to a million samples, and 200,000 of more, with the self-tuning
        kernel and its neighbours; with others it fits all. For ``partial_fit`` it is the number of
        samples that are kept of the stream, 50,000 for "auto" and "all". See :doc:`/large`.
    engine : distributed.Client or None, default=None
        A Dask client whose workers compare all pairs of samples. They find neighbours, or hold K in
        blocks of rows. The labels are the same as without it. Needs ``klsnmf[dask]`` and a kernel
        given by name. If X is a dask.array, None means the most recent client.
    verbose : int, default=0
        1 prints what was chosen and why, and a line every ten iterations.
    callback : callable or None, default=None
        Called after every iteration with a :class:`klsnmf.solve.solution.Progress`. If it returns
        True, the fit stops there, after at least one step with λ.
    checkpoint : path or None, default=None
        A file for the state of a long fit. It is written from time to time, and when the fit is
        interrupted or fails. Run the same fit again to continue. The file is removed at the end.
        See :doc:`/large`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample; after ``partial_fit``, of each sample of the last batch.
    strengths_ : ndarray of shape (n_samples,)
        How clearly each sample belongs to its cluster: 1 - second/first of its ``scores``.
    components_ : ndarray of shape (n_clusters, n_features)
        Prototypes: means of the samples, weighted by ``W_``. Not available with "precomputed".
    W_, G_ : ndarrays of shape (n_samples, n_clusters)
        The factors. The columns of ``G_`` have length 1. Column k belongs to label k. They have a
        row for each sample of the fit: see ``fitted_on_``, and :doc:`/weights`.
    fitted_on_ : ndarray or None
        The rows of X, in ascending order, that were fitted if ``fit_on`` chose a part, or if
        ``sample_weight`` left some out or repeated some; None if each was fitted once. ``W_``,
        ``G_``, ``radius_`` and the labels in ``levels_`` are those of these rows. After
        ``partial_fit``, the places in the stream of the samples that were fitted.
    n_samples_seen_ : int
        After ``partial_fit``: the number of samples in all batches.
    notes_ : tuple of records
        What you should know about the fit: all its warnings, and the doubtful clusters. See
        :mod:`klsnmf.estimators.notes`.
    status_ : {"converged", "exhausted", "collapsed", "stopped"}
        How the fit ended.
    verdict_ : str
        The same as a sentence.
    objective_ : float
        The final value of the objective.
    n_iter_ : int
        The number of iterations.
    history_ : dict of arrays, one entry per iteration
        "objective", "change_W", "change_G" (Frobenius norms), and "solver", the phase. The phase is
        the name of the solver; for "auto" it is "exact" without λ and "local" with it.
    lam_ : float
        The λ that was used.
    radius_ : float or ndarray of shape (n_samples,)
        σ, or one radius per sample, in the units of the samples after ``row_norm``.
    diffusion_ : int or float
        The number of diffusion steps, if any. With ``diffusion="auto"`` it need not be a whole
        number, and links are weighted.
    row_norm_ : "l2" or None
        How the samples were scaled.
    kernel_weights_ : ndarray of shape (n_kernels,)
        The weights of the kernels, which sum to 1. A kernel has more weight if the clusters explain
        more of its variance, compared with the best that as many clusters could do.
    n_clusters_ : int
        The number of clusters.
    n_clusters_evidence_ : :class:`klsnmf.kernels.count.Evidence`
        The evidence for each number of clusters, with ``n_clusters="auto"``.
    levels_ : :class:`klsnmf.kernels.levels.Profile`
        Good numbers of clusters, with ``n_clusters="auto"``. The chosen level has the labels of the
        fit. The others have quickly made labels; :func:`klsnmf.levels` fits each of them.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from klsnmf import KLSNMF
    >>> X, y = load_digits(return_X_y=True)
    >>> KLSNMF(n_clusters=10, random_state=0).fit_predict(X).shape
    (1797,)
    """

    n_clusters: int | str = 8
    _: KW_ONLY
    lam: float | str = "auto"
    kernel: Any = "self-tuning"
    radius: float | str = "auto"
    n_neighbors: int | str | None = "auto"
    neighbor_search: str = "auto"
    diffusion: int | str = "auto"
    sizes: str = "auto"
    outliers: str = "cluster"
    gram: str = "auto"
    max_memory: float | None = None
    row_norm: str | None = "auto"
    graph_weight: float = 0.0
    graph_neighbors: Any = 5
    solver: str = "auto"
    init: Any = "auto"
    n_init: int | str = "auto"
    regroup: bool = True
    max_iter: int = 500
    tol: float = 1e-4
    random_state: Any = None
    fit_on: int | str = "auto"
    engine: Any = None
    verbose: int = 0
    callback: Callback | None = None
    checkpoint: str | os.PathLike[str] | None = None

    _on_devices = True

    def _setup(self) -> Setup:
        return Setup.of(self, KernelSettings.of(self), orthogonal=True)


@dataclass(eq=False, repr=False)
class GLSNMF(KLSNMF):
    """KLS-NMF with a graph term: :class:`KLSNMF` with ``graph_weight=0.01`` by default.

    If the weight is too large for the kernel, the rules do not keep GᵀG = I: G grows without bound,
    and a warning says so.
    """

    _: KW_ONLY
    graph_weight: float = 0.01


@dataclass(eq=False, repr=False)
class LSNMF(KernelClusterer):
    """Nonnegative matrix factorization with local similarity learning (LS-NMF).

    This is the method with the linear kernel: X ≈ G (WᵀX) with W, G ≥ 0. It takes data of any sign.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
    orthogonal : bool, default=True
        Whether GᵀG = I is required. With False both factors are free, and G holds mixtures rather
        than memberships.
    lam, n_neighbors, diffusion, row_norm, graph_weight, graph_neighbors, solver, init, n_init, \
    regroup, max_iter, tol, random_state, engine, verbose, callback, checkpoint
        As in :class:`KLSNMF`. With ``orthogonal=False`` the solver is "auto" or "soft", which
        are then the same.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_, lam_, row_norm_, \
    n_clusters_, n_clusters_evidence_
        As in :class:`KLSNMF`.
    """

    n_clusters: int | str = 8
    _: KW_ONLY
    orthogonal: bool = True
    lam: float | str = "auto"
    n_neighbors: int | str | None = "auto"
    diffusion: int | str = "auto"
    row_norm: str | None = "auto"
    graph_weight: float = 0.0
    graph_neighbors: Any = 5
    solver: str = "auto"
    init: Any = "auto"
    n_init: int | str = "auto"
    regroup: bool = True
    max_iter: int = 500
    tol: float = 1e-4
    random_state: Any = None
    engine: Any = None
    verbose: int = 0
    callback: Callback | None = None
    checkpoint: str | os.PathLike[str] | None = None

    _on_devices = True

    @property
    def _bound_by_features(self) -> bool:  # type: ignore[override]
        """If both factors are free, the problem is that of CNMF."""
        return not self.orthogonal

    def _setup(self) -> Setup:
        kernel = KernelSettings.of(self, kernel="linear")
        return Setup.of(self, kernel, orthogonal=self.orthogonal)


def path(X: Any, n_clusters: int | str, *, lams: Any, **params: Any) -> list[KLSNMF]:
    """Fit :class:`KLSNMF` for many λ at once.

    This is much faster than one fit after the other: K is computed once, and the restarts of all λ
    run as one batch.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    n_clusters : int or "auto"
    lams : iterable of floats, or "auto" among them
    **params : further parameters of :class:`KLSNMF`

    Returns
    -------
    list of fitted KLSNMF, one for each λ, in the order given
    """
    if isinstance(lams, str) or not isinstance(lams, Iterable):
        raise TypeError(f"lams={lams!r} must be a list of values, for example [{lams!r}].")
    estimators = [KLSNMF(n_clusters, lam=lam, **params) for lam in lams]
    if not estimators:
        raise ValueError("lams is empty; give at least one value.")
    for estimator in estimators:
        estimator._validate_params()
    if len(estimators[0]._setup().kernel.kernels) > 1:  # each λ learns weights of its own
        if estimators[0].checkpoint is not None:
            raise ValueError(
                "path cannot use a checkpoint with several kernels, because it then makes one fit "
                "after the other. Fit KLSNMF for each λ, each with its own file."
            )
        return [estimator.fit(X) for estimator in estimators]
    estimators[0]._fit_together(estimators, X)
    return estimators


def n_clusters_evidence(X: Any, **params: Any) -> Evidence:
    """The evidence for each number of clusters.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    **params : parameters of :class:`KLSNMF`: kernel, row_norm, random_state, ...

    Returns
    -------
    :class:`klsnmf.kernels.count.Evidence`
    """
    estimator = KLSNMF("auto", **params)
    estimator._validate_params()
    warn_of_old_spellings(estimator)
    setup = estimator._setup()
    return estimator._counted(estimator._samples(setup, X)).evidence


def levels(X: Any, **params: Any) -> Profile:
    """Good numbers of clusters, and the clusters for each of them.

    The levels are those that a fit with ``n_clusters="auto"`` finds. Each one is then fitted, so
    its labels are those of ``KLSNMF(k, **params).fit(X)``. There is one exception: if a level joins
    separate pieces of the neighbour graph, its clusters are made from those of the finer level.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    **params : parameters of :class:`KLSNMF`: kernel, row_norm, random_state, ...

    Returns
    -------
    :class:`klsnmf.kernels.levels.Profile`
    """
    with warnings.catch_warnings():
        # Who calls this asks for several numbers, so no warning is needed.
        warnings.filterwarnings("ignore", category=FitWarning)
        profile = KLSNMF("auto", **params).fit(X).levels_
        found = tuple(
            one
            if one.joined
            else replace(one, labels=KLSNMF(one.n_clusters, **params).fit(X).labels_)
            for one in profile
        )
    return replace(profile, levels=found)
