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
from .by_kernel import KernelClusterer, Setup
from .notes import FitWarning


@dataclass(eq=False, repr=False)
class KLSNMF(KernelClusterer):
    """Kernel nonnegative matrix factorization with local similarity learning (KLS-NMF).

    Clusters samples and learns their local similarity at once, by minimising

        ½ tr(K - 2KWGᵀ + GWᵀKWGᵀ) + λ tr(WᵀDG)   over W, G ≥ 0 with GᵀG = I,

    where K is a kernel matrix and D the squared distances that go with it. Tensors of torch and
    arrays of cupy are fitted on their device, and the fitted arrays are there too.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto" looks for the number of clusters that a walk from neighbour to neighbour sees for
        long and clearly (see :doc:`/levels`). ``n_clusters_evidence_`` tells what speaks for it, and
        ``levels_`` which other numbers do; a warning says when it does not stand out.
    lam : float or "auto", default="auto"
        λ, the weight of local similarity. "auto" is 1 % of the λ at which half of the samples
        would be better off in no cluster, or 0 if even that is too much (see ``lam_``).
    kernel : str, callable or list of these, default="self-tuning"
        "self-tuning": exp(-d²/(r_i r_j)), r_i the distance of sample i to its 7th neighbour;
        "rbf": exp(-d²/(2σ²)), σ = ``radius``; "linear"; "cosine"; "polynomial": (⟨x, y⟩ + 1)²;
        "precomputed": X is the kernel matrix, dense or sparse, whatever ``radius``,
        ``n_neighbors`` and ``row_norm`` say; or a function of two arrays that
        returns the matrix k(X, Y). A list is a weighted sum of kernels, whose weights are learned
        (see ``kernel_weights_``).
    radius : float or "auto", default="auto"
        σ of the "rbf" kernel; "auto" is the median distance to the 7th neighbour.
    n_neighbors : int, None or "auto", default="auto"
        Keep k(x_i, x_j) only where one sample is among that many nearest of the other: K is
        sparse. None keeps all. "auto" is None, but for "self-tuning": 10, or half of
        n_samples / n_clusters if that is less, and at least 3. With ``diffusion="auto"`` it is 50
        where neighbours are hardly nearer than all other samples, as in texts, and 5 or 7 where
        clusters are thin (see :doc:`/choosing`).
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "approximate" needs the extra ``klsnmf[ann]``; "auto" takes it,
        if it is there, where the exact search would take minutes.
    diffusion : int, "auto" or "unweighted", default="auto"
        Steps of diffusion, an even number, or 0 for none: K becomes S^t scaled to unit diagonal,
        S = Deg^-½ K Deg^-½. "unweighted" is 0, but for the self-tuning kernel: 4, doubled until
        tr(S^t) ≤ 2 n_clusters. Beyond 4000 samples, or 1000 and 4 steps (16 where clusters are
        more than 32), S is replaced by its leading eigenvectors there. "auto" is 0 too, but for the
        self-tuning kernel with neighbours: links are weighed by the neighbours that two samples
        share, S is always replaced by its leading eigenvectors, and t, at least 4, is the number,
        whole or not, at which tr(S^t) = 2 n_clusters. In a list of kernels "auto" weighs links, and
        takes steps like "unweighted".
    sizes : {"auto", "even", "free"}, default="auto"
        What weighs the same with ``diffusion="auto"`` and the self-tuning kernel. "even": every
        sample does, as S^t is scaled to unit diagonal, and clusters tend to be of equal size.
        "free": every cluster does, as S^t is not scaled, and a small piece of the graph counts as
        much as a large one, even a piece of two or three outliers. "auto" computes both answers,
        and takes the free one where it is clearly better and has no cluster as small as a
        neighbourhood. Elsewhere there is no choice: "auto" is "even" then, and "free" is refused.
    outliers : {"cluster", "label"}, default="cluster"
        "cluster" gives every sample a cluster. "label" gives those that belong to none the label
        -1: samples whose distance to their 7th neighbour is more than three times that of their
        neighbours, as it is for samples that are alone or in specks. ``predict`` does the same. Not
        with "precomputed".
    gram : {"auto", "dense", "tiled", "low-rank"}, default="auto"
        How a kernel matrix of all pairs is held: as an array; computed anew for every product, tile
        by tile; or as an approximation by 500 samples (Nyström), exact for the kernels "linear" and
        "cosine". "auto" takes low rank where that is exact, nonnegative and cheap; the array if it
        fits into memory; then low rank where that is exact or the samples are more than 100,000;
        else tiles. With ``n_neighbors`` the matrix is sparse, and this is not asked.
    max_memory : float or None, default=None
        Gigabytes that the kernel matrix may take; None is 80 % of the memory that is free. Tiles
        become smaller where even a few of them would take more.
    row_norm : "l2", None or "auto", default="auto"
        Scale the samples to length 1 before the kernel, or leave them. "auto" scales amounts, that
        is X with no negative entry, of 20 features or more, most of which come near zero (see
        ``row_norm_``).
    graph_weight : float, default=0.0
        γ of GLS-NMF, which adds γ/2 tr(GᵀLG), L the Laplacian of a neighbour graph.
    graph_neighbors : int or matrix of shape (n_samples, n_samples), default=5
        The graph of GLS-NMF: nearest neighbours with weight 1, or weights of your own, symmetric
        and nonnegative.
    solver : {"auto", "soft", "exact", "paper"}, default="auto"
        "paper": the two update rules as printed. "soft": the same with a symmetric multiplier,
        which makes the Lagrangian descend. "exact": the G step solved in closed form, so that
        GᵀG = I exactly and the objective never rises. "auto": exact steps at λ = 0, where
        W = G is best, then with λ.
    init : {"auto", "spectral", "kmeans", "random"} or (W0, G0), default="auto"
        Where to start: labels from the leading eigenvectors of K, labels from k-means on X, both
        in turn ("auto"), random numbers, or a pair of arrays of shape (n_samples, n_clusters). With
        the self-tuning kernel and ``diffusion="auto"``, "auto" is the answer that was chosen among
        graphs and sizes.
    n_init : int or "auto", default="auto"
        Number of starts, fitted side by side; the lowest objective is kept. With the solvers "auto"
        and "exact" all starts take ten steps, and only the best two of each kind (spectral,
        k-means) are fitted to the end. "auto" is 640 / n_clusters then, between 8 and 64, or fewer
        for many samples, and 8 for the other solvers. With the default kernel and
        ``init="auto"`` it is the number of starts from the eigenvectors of each graph, 3 for
        "auto", and the clusters they lead to are the one start that is fitted.
    regroup : bool, default=True
        Whether clusters of the starts are exchanged before the fit: one is cut in two, and two are
        joined, wherever that explains more of K. The objective ends lower, and depends
        less on the seed. So are those of the answers that are chosen among; else only starts
        "spectral" and "kmeans" are changed, and only if the fit ends with exact steps: solver
        "auto" or "exact", G orthogonal, no graph term.
    max_iter : int, default=500
        Most iterations of a start. "auto" with λ gives half of them to each of its two phases.
    tol : float, default=1e-4
        A fit has converged when its objective changes by less than this share of itself over
        10 iterations. 0 runs ``max_iter`` iterations.
    random_state : int, RandomState instance or None, default=None
    engine : distributed.Client or None, default=None
        Who compares all pairs of samples: this process, or the workers of a Dask cluster, with the
        same labels. They find neighbours, or hold K in blocks of rows. Needs ``klsnmf[dask]`` and
        a kernel by its name. For X a dask.array, None is the client made last.
    verbose : int, default=0
        1 prints what was chosen and why, and a line every ten iterations.
    callback : callable or None, default=None
        Called after every iteration with a :class:`klsnmf.solve.solution.Progress`; the fit stops
        where it is when it returns True, after one step with λ if it had not begun with that.
    checkpoint : path or None, default=None
        A file to keep the state of a long fit in, from time to time and when the fit is
        interrupted or fails. The same fit, begun again, goes on from there; at the end the file is
        removed. See :doc:`/large`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    W_, G_ : ndarrays of shape (n_samples, n_clusters)
        The factors; columns of ``G_`` have length 1. Column k belongs to label k.
    components_ : ndarray of shape (n_clusters, n_features)
        Prototypes: means of the samples with the weights in ``W_``. Not with "precomputed".
    objective_ : float
    n_iter_ : int
    history_ : dict of arrays, one entry an iteration
        "objective", "change_W", "change_G" (Frobenius norms), and "solver", the phase: the solver's
        name, or for "auto" "exact" without λ and "local" with it.
    strengths_ : ndarray of shape (n_samples,)
        How clearly each sample belongs to its cluster: 1 - second/first of its ``scores``.
    status_ : {"converged", "exhausted", "collapsed", "stopped"}
        How the fit ended.
    verdict_ : str
        The same in a sentence.
    notes_ : tuple of records
        What the user should know of the fit: all that it warned of, and which clusters are in
        doubt. See :mod:`klsnmf.estimators.notes`.
    lam_ : float
    radius_ : float or ndarray of shape (n_samples,)
        σ, or the samples' own radii; in the units of the samples after ``row_norm``.
    diffusion_ : int or float
        Steps of diffusion taken, if any. With ``diffusion="auto"`` they need not be a whole number,
        and go along weighed links; a number in ``diffusion`` takes links as they are.
    row_norm_ : "l2" or None
        How the samples were scaled.
    kernel_weights_ : ndarray of shape (n_kernels,)
        The weights of the kernels; they sum to 1. A kernel weighs the more the better the clusters
        explain its variance, compared with the best that as many clusters could do.
    n_clusters_ : int
    n_clusters_evidence_ : :class:`klsnmf.kernels.count.Evidence`
        What speaks for each number of clusters, with ``n_clusters="auto"``.
    levels_ : :class:`klsnmf.kernels.levels.Profile`
        The numbers of clusters that persist, with ``n_clusters="auto"``. That which was taken has
        the labels of the fit, the others those of a quick look; :func:`klsnmf.levels` fits all.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

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
    engine: Any = None
    verbose: int = 0
    callback: Callback | None = None
    checkpoint: str | os.PathLike[str] | None = None

    _on_devices = True

    def _setup(self) -> Setup:
        return Setup.of(self, KernelSettings.of(self), orthogonal=True)


@dataclass(eq=False, repr=False)
class GLSNMF(KLSNMF):
    """KLS-NMF with a graph term: :class:`KLSNMF` with ``graph_weight=1`` unless told otherwise."""

    _: KW_ONLY
    graph_weight: float = 1.0


@dataclass(eq=False, repr=False)
class LSNMF(KernelClusterer):
    """Nonnegative matrix factorization with local similarity learning (LS-NMF).

    The linear kernel: samples are approximated by X ≈ G (WᵀX), W, G ≥ 0. Data of any sign.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
    orthogonal : bool, default=True
        Whether GᵀG = I is asked for. Without it both factors are free, and G holds mixtures
        rather than memberships.
    lam, n_neighbors, diffusion, row_norm, graph_weight, graph_neighbors, solver, init, n_init, \
    regroup, max_iter, tol, random_state, engine, verbose, callback, checkpoint
        As in :class:`KLSNMF`. With ``orthogonal=False`` the solver is "auto" or "soft", which
        are the same there.

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

    def _setup(self) -> Setup:
        kernel = KernelSettings.of(self, kernel="linear")
        return Setup.of(self, kernel, orthogonal=self.orthogonal)


def path(X: Any, n_clusters: int | str, *, lams: Any, **params: Any) -> list[KLSNMF]:
    """Fit :class:`KLSNMF` for many λ at once.

    K is computed once, and the restarts of all λ are one batch over it, so this is much faster
    than one fit after the other.

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
        raise TypeError(f"lams={lams!r} must be a list of values, such as [{lams!r}].")
    estimators = [KLSNMF(n_clusters, lam=lam, **params) for lam in lams]
    if not estimators:
        raise ValueError("lams is empty; give at least one value.")
    for estimator in estimators:
        estimator._validate_params()
    if len(estimators[0]._setup().kernel.kernels) > 1:  # each λ learns weights of its own
        if estimators[0].checkpoint is not None:
            raise ValueError(
                "path with several kernels makes one fit after the other, and takes no checkpoint: "
                "fit KLSNMF for each λ, with a file of its own."
            )
        return [estimator.fit(X) for estimator in estimators]
    estimators[0]._fit_together(estimators, X)
    return estimators


def n_clusters_evidence(X: Any, **params: Any) -> Evidence:
    """What speaks for each number of clusters, for looking at and for plots.

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
    """The numbers of clusters at which samples form clusters, and the clusters at each.

    The levels are those that a fit with ``n_clusters="auto"`` finds. Each is then fitted in full,
    so its labels are those of ``KLSNMF(k, **params).fit(X)``. Only where a level joins separate
    pieces, which no graph of neighbours tells of, its clusters are joined from the finer level.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    **params : parameters of :class:`KLSNMF`: kernel, row_norm, random_state, ...

    Returns
    -------
    :class:`klsnmf.kernels.levels.Profile`
    """
    with warnings.catch_warnings():
        # What is not clear is what one asks for here.
        warnings.filterwarnings("ignore", category=FitWarning)
        profile = KLSNMF("auto", **params).fit(X).levels_
        found = tuple(
            one
            if one.joined
            else replace(one, labels=KLSNMF(one.n_clusters, **params).fit(X).labels_)
            for one in profile
        )
    return replace(profile, levels=found)
