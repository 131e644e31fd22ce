"""The methods of the family that use a kernel: CNMF, KNMF and kernel k-means."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from ..core.arithmetic import unit_columns
from ..core.types import Array, Labels
from ..kernels.build import KernelSettings
from ..models.convex import ConvexNMF
from ..models.extrapolated import Extrapolated
from ..models.kernel_kmeans import Lloyd
from ..models.new_samples import NearestMean, NewSamples
from ..solve.phases import Phase
from ..solve.race import raced
from ..solve.solution import Callback, Solution
from .by_kernel import KernelClusterer
from .labels import lost_with_most, read_labels, strength
from .setup import Setup


class KernelFactorization(KernelClusterer):
    """What CNMF and KNMF share: how labels are read from G."""

    labels: str
    solver: str

    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"auto", "multiplicative"})],
    }

    @property
    def _counts_copies(self) -> bool:
        return self.labels == "kmeans" or super()._counts_copies

    def _problem_of(self, kernel: KernelSettings) -> Setup:
        """With G free and no local term: the solver, from starts that compete."""
        if self.solver == "multiplicative":
            return Setup(kernel, run=raced)
        steps = Phase("steps", lambda K, lam: Extrapolated(ConvexNMF(K)))
        return Setup(kernel, phases=[steps], run=raced)

    def _labels_of(self, solution: Solution) -> Labels:
        G = solution.factors["G"]
        return lost_with_most(np.argmax(unit_columns(G), axis=1), G)

    def _read(self, G: Array, labels: Labels, *_: Any) -> dict[str, Any]:
        rng = check_random_state(self.random_state)
        labels, reading = read_labels(G, lost_with_most(labels, G), self.labels, rng)
        strengths = strength(reading.scores(G, G), labels).astype(G.dtype, copy=False)
        return {"labels_": labels, "strengths_": strengths, "_reading": reading}

    def _scores(self, X: Any, method: str) -> Array:
        _, products = self._products(X, method)
        rows = self._new.coefficients(*products).astype(self.G_.dtype, copy=False)
        return self._reading.scores(rows, rows)


@dataclass(eq=False, repr=False)
class CNMF(KernelFactorization):
    """Convex nonnegative matrix factorization (CNMF), for data of any sign.

    Minimises ½ ‖X - GWᵀX‖² over W, G ≥ 0, as Ding, Li and Jordan do: prototypes are nonnegative
    combinations of samples. It is the same problem as :class:`LSNMF` with ``orthogonal=False`` and
    ``lam=0``, which takes multiplicative steps. The kernel matrix is not formed if X is sparse, or
    if X is nonnegative with fewer features than half the samples. If X is sparse and has both
    signs, the positive and negative entries of X are separated instead of those of the kernel.

    Comparisons usually set ``init="random"`` and 1000 iterations. This start mostly stays on a
    plateau.

    Parameters
    ----------
    n_clusters : int, default=8
    row_norm : "l2", None or "auto", default="auto"
        Whether to scale the samples to length 1 first. "auto" is as in :class:`KLSNMF`.
    labels : {"argmax", "kmeans"}, default="argmax"
        How clusters are read from ``G_``: the largest entry of a row, or k-means on its rows
        scaled to length 1.
    init : {"auto", "spectral", "kmeans", "random"} or (W0, G0), default="auto"
        As in :class:`KLSNMF`.
    n_init : int, default=10
        As in :class:`WNMF`.
    max_iter : int, default=1000
    tol : float, default=1e-4
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
    callback : callable or None, default=None
        As in :class:`KLSNMF`.
    solver : {"auto", "multiplicative"}, default="auto"
        "auto" takes bounded steps in W and sweeps in G that look ahead; "multiplicative" uses the
        rules of Ding, Li and Jordan. ``tol`` of "auto" is that of :class:`WNMF`.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_
        As in :class:`KLSNMF`.
    """

    n_clusters: int = 8
    _: KW_ONLY
    row_norm: str | None = "auto"
    labels: str = "argmax"
    init: Any = "auto"
    n_init: int = 10
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Any = None
    verbose: int = 0
    callback: Callback | None = None
    solver: str = "auto"

    _bound_by_features = True

    def _setup(self) -> Setup:
        return self._problem_of(KernelSettings.of(self, kernel="linear", gram="samples"))


@dataclass(eq=False, repr=False)
class KNMF(KernelFactorization):
    """Kernel convex nonnegative matrix factorization (KNMF).

    Minimises ½ tr(K - 2KWGᵀ + GWᵀKWGᵀ) over W, G ≥ 0: :class:`CNMF` in the space of a kernel. It is
    :class:`KLSNMF` without the local term and without orthogonality.

    Comparisons usually set ``kernel="rbf"``, a random start and 1000 iterations. The defaults here
    are those of :class:`KLSNMF`, so that the two differ only in the problem that they solve.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, radius, n_neighbors, diffusion, row_norm
        As in :class:`KLSNMF`.
    labels : {"argmax", "kmeans"}, default="argmax"
        How clusters are read from ``G_``: the largest entry of a row, or k-means on its rows
        scaled to length 1.
    init, n_init, max_iter, tol, random_state, verbose, callback, solver
        As in :class:`CNMF`.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_, radius_, diffusion_
        As in :class:`KLSNMF`.
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernel: Any = "self-tuning"
    radius: float | str = "auto"
    n_neighbors: int | str | None = "auto"
    diffusion: int | str = "auto"
    row_norm: str | None = "auto"
    labels: str = "argmax"
    init: Any = "auto"
    n_init: int = 10
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Any = None
    verbose: int = 0
    callback: Callback | None = None
    solver: str = "auto"

    def _setup(self) -> Setup:
        return self._problem_of(KernelSettings.of(self))


@dataclass(eq=False, repr=False)
class KernelKMeans(KernelClusterer):
    """k-means in the space of a kernel.

    This is Lloyd's algorithm with a kernel matrix in place of samples: each sample goes to the
    nearest mean, then the means move. ``objective_`` is half the sum of squared distances to the
    means. If the kernel is not positive semidefinite, such as the self-tuning kernel without
    diffusion, the fit may alternate between partitions until ``max_iter``.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, radius, n_neighbors, diffusion, row_norm
        As in :class:`KLSNMF`.
    init : {"auto", "spectral", "kmeans", "random"} or (W0, G0), default="auto"
        As in :class:`KLSNMF`; the largest entries of G name the clusters to start from.
    n_init, max_iter, tol, random_state, verbose, callback
        As in :class:`CNMF`.

    Attributes
    ----------
    labels_, W_, G_, components_, objective_, n_iter_, history_, verdict_, radius_, diffusion_
        As in :class:`KLSNMF`. Rows of ``G_`` have one nonzero entry.
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernel: Any = "self-tuning"
    radius: float | str = "auto"
    n_neighbors: int | str | None = "auto"
    diffusion: int | str = "auto"
    row_norm: str | None = "auto"
    init: Any = "auto"
    n_init: int = 10
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Any = None
    verbose: int = 0
    callback: Callback | None = None

    def _setup(self) -> Setup:
        return Setup(KernelSettings.of(self), phases=[Phase("lloyd", lambda K, lam: Lloyd(K))])

    @property
    def inertia_(self) -> float:
        """The sum of squared distances of the samples to the means: twice ``objective_``."""
        return 2 * self.objective_

    def _rule_for_new(self, G: Array, *known: Any) -> NewSamples:
        largest = G.max(axis=0)  # 1/length, or zero if there are no members
        length = 1 / np.where(largest > 0, largest, 1)
        new = super()._rule_for_new(G, *known)
        return NearestMean(new.C, new.sums, new.lengths, new.lam, True, length)
