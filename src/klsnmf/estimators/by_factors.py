"""Methods that factorize the samples themselves, X ≈ GHᵀ: fits, and new samples."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from ..core.arithmetic import canonical, in_units, largest_entry
from ..core.checks import with_short_indices
from ..core.kmeans import by_appearance, draw_seed, kmeans
from ..core.types import Array, Labels, Matrix
from ..core.work import steps
from ..kernels.inputs import moderate_unit
from ..kernels.sources import Source
from ..models.base import Model, State
from ..models.new_samples import NewSamples
from ..models.nmf import NMF
from ..solve.race import raced
from ..solve.solution import Callback, Solution, Status, factors_of_labels, lowest, tidied
from ..solve.starts import nndsvd
from .base import Clusterer, Result
from .callbacks import listener
from .labels import lost_with_most, read_labels, strength
from .notes import FewerClusters, MoreThanFeatures, NotConverged, Note
from .part import Part
from .validate import as_numbers, noted_names

#: What to do if copies of samples cannot be made.
_WITHOUT_GRAPH = "use WNMF or SemiNMF, which have no graph"


@dataclass(eq=False, repr=False)
class Factorization(Clusterer):
    """What WNMF, ONMF, SemiNMF, GNMF and RMNMF share.

    A method gives its model of the samples. It says whether it accepts data of both signs or with
    gaps, whether rows of G have one nonzero entry, and how its objective grows with the unit of X.
    """

    signed: ClassVar[bool] = False
    gaps: ClassVar[bool] = False
    orthogonal: ClassVar[bool] = False
    degree: ClassVar[int] = 2

    #: Whether a fit depends on how many samples are near.
    _counts_copies: ClassVar[bool] = False

    _bound_by_features = True

    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"random", "kmeans", "nndsvd", "auto"}), tuple, list],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "multiplicative"})],
    }

    n_clusters: int = 8
    _: KW_ONLY
    labels: str = "argmax"
    init: Any = "kmeans"
    n_init: int = 10
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Any = None
    verbose: int = 0
    callback: Callback | None = None
    solver: str = "auto"

    def transform(self, X: Any) -> Array:
        """Rows of G for new samples: the nearest nonnegative combination of prototypes.

        ``components_`` do not change. For the samples of the fit, the rows of ``G_`` approach this
        as the fit converges, unless the method has a graph term or orthogonality, which do not
        apply to new samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        G_new : ndarray of shape (n_new, n_clusters)
        """
        return self._rows(X)[0]

    def _scores(self, X: Any, method: str) -> Array:
        rows, gains = self._rows(X)
        return self._reading.scores(rows, gains)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self.signed
        tags.input_tags.allow_nan = self.gaps
        return tags

    def inverse_transform(self, X: Any) -> Array:
        """Samples from their coefficients: ``X @ components_``.

        Parameters
        ----------
        X : array-like of shape (n_new, n_clusters)
            Coefficients, as from ``transform``.

        Returns
        -------
        X_original : ndarray of shape (n_new, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32], input_name="coefficients")
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"The coefficients have {X.shape[1]} columns, and there are "
                f"{len(self.components_)} components."
            )
        return np.asarray(X @ self.components_)

    def _rows(self, X: Any) -> tuple[Array, Array]:  # (m, k), (m, k)
        """The coefficients of new samples, and how much each prototype alone would explain."""
        check_is_fitted(self)
        X = in_units(self._checked(self, X, reset=False), self._unit)
        H = (self.components_ / np.asarray(self._unit, self.components_.dtype)).astype(X.dtype)
        rows = self._coefficients(X, H).astype(self.G_.dtype, copy=False)
        return rows, self._gains(X, H, rows)

    def _kept(self) -> Matrix:  # (n, k)
        """The coefficients in the unit of X: the length of the part of a sample that each gives."""
        lengths = np.sqrt(np.einsum("kp,kp->k", self.components_, self.components_))
        return np.asarray(self.G_ * lengths)

    def _gains(self, X: Matrix, H: Array, G: Array) -> Array:  # (m, p), (k, p), (m, k) -> (m, k)
        """⟨x, h_k⟩/‖h_k‖ if rows of G have one nonzero entry, and G otherwise."""
        if not self.orthogonal:
            return G
        lengths = np.sqrt(np.einsum("kp,kp->k", H, H))
        gains = np.asarray(safe_sparse_dot(X, H.T)) / np.where(lengths > 0, lengths, np.inf)
        return np.maximum(gains, 0)

    def _coefficients(self, X: Matrix, H: Array) -> Array:  # (m, p), (k, p) -> (m, k)
        """argmin ‖X - GH‖ over G ≥ 0, with one nonzero entry per row if columns are orthogonal."""
        if self.orthogonal:
            nothing = np.zeros(len(H), H.dtype)
            new = NewSamples(H @ H.T, nothing, nothing, lam=0.0, exact=True)
            products = np.asarray(safe_sparse_dot(X, H.T))
            return new.coefficients(products, np.zeros(len(products), H.dtype))
        # In coordinates of the space that the prototypes span, the problems are smallest.
        Q, R = np.linalg.qr(H.T)
        return nearest_mixtures(np.asarray(safe_sparse_dot(X, Q)), R)

    def _checked(self, noter: Self, X: Any, *, reset: bool) -> Matrix:
        """X as numbers that the method accepts; ``noter`` keeps the names of its features."""
        X = as_numbers(noter, X, reset=reset, gaps=self.gaps)
        if sparse.issparse(X):
            X = with_short_indices(canonical(X))
        values = X.data if sparse.issparse(X) else X
        least = float(np.fmin.reduce(values, axis=None, initial=0))
        if not self.signed and least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the smallest entry of X "
                f"is {least:.3g}. Use SemiNMF or RMNMF, or subtract this number from all of X."
            )
        return X

    def _results(
        self, estimators: Sequence[Self], X: Any, sample_weight: Any = None, **more: Any
    ) -> list[Result]:
        if sample_weight is None:
            return [self._fitted(X, **more)]
        part = Part.with_weights(Source(X), sample_weight, self._counts_copies, _WITHOUT_GRAPH)
        if part.whole:
            return [self._fitted(X, part.weight, **more)]
        one, given = self._of_rows(part), {name: V for name, V in more.items() if V is not None}
        given = {name: part.rows_of(V, name) for name, V in given.items()}
        result = one._fitted(part.source.take(part.rows), part.weight, **given)
        one._keep(result)
        labels, strengths = part.place_all(one)
        G = np.empty((part.source.n, one.G_.shape[1]), one.G_.dtype)
        G[part.rows] = one.G_
        if (left := np.setdiff1d(np.arange(part.source.n), part.rows)).size:
            G[left] = one.transform(part.source.take(left))
        found = {"labels_": labels, "strengths_": strengths, "G_": G}
        return [Result(result.attributes | found, result.notes)]

    def _of_rows(self, part: Part) -> Self:
        """The same, where something was given for all samples with that of the fitted ones."""
        one = copy(self)
        if not isinstance(self.init, str) and len(self.init) == 2:
            one.init = part.rows_of(self.init[0], "G0 of init"), self.init[1]
        return one

    def _placed(self, X: Any) -> tuple[Labels, Array]:  # (m,), (m,)
        """The labels of ``predict``, and the strength of each sample in its cluster."""
        scores = self._scores(X, "predict")
        labels = np.argmax(scores, axis=1)
        return labels, strength(scores, labels)

    def _fitted(self, X: Any, weight: Array | None = None, **more: Any) -> Result:
        """What the fit comes to. With weights of samples, (n,), it is that of Ω^½X and Ω^½G."""
        seen = copy(self)  # kept only if the fit succeeds
        X = self._checked(seen, X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if largest_entry(X) == 0:
            raise ValueError("X has no known entry other than zero: there is nothing to factorize.")
        unit = self._unit_of(X)
        root = None if weight is None else np.sqrt(weight).astype(X.dtype)[:, None]
        model, samples = self._model(in_units(times_rows(X, root), unit), unit, **more)
        rng = check_random_state(self.random_state)
        pairs = self._starts(samples, unit, rng, root)
        starts = [model.start(times_rows(G, root).astype(F.dtype, copy=False), F) for G, F in pairs]
        solver = self._solver(model)
        solutions = raced(
            [solver] * len(starts),
            starts,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=listener(self),
            phase="steps",
        )
        best = lowest(solutions)
        G, H = model.factorization(State(**best.factors))
        error = math.sqrt(max(model.error(G, H), 0.0))
        labels = lost_with_most(best.labels, G)
        with np.errstate(over="ignore", invalid="ignore"):
            H, G, labels = tidied(H, G, labels, by_appearance=isinstance(self.init, str))
            G = G if root is None else G / root
            components = np.ascontiguousarray((H * unit).T, dtype=X.dtype)
            objectives = best.history["objective"] * np.float64(unit) ** self.degree
        if not all(np.isfinite(values).all() for values in (G, components, objectives)):
            raise ValueError(
                "The factors grew too large to compute with: divide X by a constant, and give "
                "weights, init and graph_weight of moderate size."
            )
        G = G.astype(X.dtype, copy=False)  # new samples are read in the precision of X
        labels, reading = read_labels(G, labels, self.labels, rng, weight)
        gains = self._gains(in_units(X, unit), H.T.astype(X.dtype, copy=False), G)
        attributes = {
            **noted_names(seen),
            **self._told_of(best),
            "objective_": float(objectives[-1]),
            "history_": best.history | {"objective": objectives},
            **{"labels_": labels, "G_": G, "components_": components},
            "reconstruction_err_": error * unit,
            "strengths_": strength(reading.scores(G, gains), labels).astype(X.dtype, copy=False),
            **{"_reading": reading, "_unit": unit, "_fitted_on_sparse": sparse.issparse(X)},
        }
        return Result(attributes, self._notes(best, labels, X.shape[1]))

    def _unit_of(self, X: Matrix) -> float:
        """A power of two in whose units the squares of X neither overflow nor vanish."""
        return moderate_unit(largest_entry(X))

    def _solver(self, model: NMF) -> Model:
        """What solves the problem of the model: its own rules, unless a method says otherwise."""
        return model

    @abstractmethod
    def _model(self, X: Matrix, unit: float) -> tuple[NMF, Matrix]:
        """The model of X, which is given in this unit, and the samples to find starts from."""

    def _starts(
        self, X: Matrix, unit: float, rng: np.random.RandomState, root: Array | None = None
    ) -> list[tuple[Array, Array]]:
        """Starts from the singular vectors, random numbers, or labels of k-means; each one differs.

        "auto" has one start from the singular vectors, and alternates between the other two. With
        weights of samples, X is Ω^½X, and starts are those of the samples themselves.
        """
        (n, p), k, dtype = X.shape, self.n_clusters, X.dtype
        if not isinstance(self.init, str):
            G, F = self._check_pair(n, p)
            return [(G.astype(dtype, copy=False), (F / unit).astype(dtype, copy=False))]
        each = np.ones((n, 1), dtype) if root is None else root
        plain = times_rows(X, None if root is None else 1 / root)
        weight = None if root is None else root[:, 0] ** 2
        pairs: dict[bytes, tuple[Array, Array]] = {}
        ways = {"auto": ["nndsvd", *("kmeans", "random") * self.n_init]}
        chosen = ways.get(self.init, [self.init] * self.n_init)[: self.n_init]
        for turn, way in enumerate(steps(chosen, "starts")):
            if way == "nndsvd":
                if way.encode() not in pairs:
                    G, F = nndsvd(X, k, rng)
                    pairs[way.encode()] = G / each, F
            elif way == "random":
                # So that the entries of GFᵀ are as large as those of X, on average.
                size = 2 * np.sqrt(np.abs(plain).mean() / k)
                G, F = (size * (1 - rng.uniform(size=(rows, k))) for rows in (n, p))
                pairs[turn.to_bytes(8)] = G, F
            else:
                labels = by_appearance(kmeans(plain, k, draw_seed(rng), weight=weight).labels_)
                members = each * np.eye(k, dtype=dtype)[labels]
                size = (members**2).sum(axis=0)
                means = safe_sparse_dot(X.T, members) / np.where(size > 0, size, 1)
                pairs[labels.tobytes()] = factors_of_labels(labels, k)[1], np.asarray(means)
        return [
            (G.astype(dtype, copy=False), F.astype(dtype, copy=False)) for G, F in pairs.values()
        ]

    def _check_pair(self, n: int, p: int) -> list[Array]:
        """The factors of ``init=(G0, F0)``."""
        if len(self.init) != 2:
            raise ValueError(
                f"init must be a pair (G0, F0) or a name; it has {len(self.init)} elements."
            )
        pair = []
        for name, rows, value in zip(("G0", "F0"), (n, p), self.init, strict=True):
            value = check_array(value, dtype=np.float64, input_name=f"{name} of init")
            if value.shape != (rows, self.n_clusters):
                raise ValueError(
                    f"{name} of init has shape {value.shape}; it must be ({rows}, "
                    f"{self.n_clusters}), rows by n_clusters."
                )
            if value.min() < 0 and (name == "G0" or not self.signed):
                raise ValueError(f"{name} of init has negative entries; it must be nonnegative.")
            if not value.any():
                raise ValueError(f"{name} of init is zero everywhere, and would stay so.")
            pair.append(value)
        return pair

    def _notes(self, solution: Solution, labels: Labels, n_features: int) -> tuple[Note, ...]:
        """What the user should know about the fit."""
        found, notes = len(np.unique(labels)), list[Note]()
        if solution.status is Status.EXHAUSTED and self.tol > 0:
            notes.append(NotConverged(self.max_iter, type(self).__name__))
        if found < self.n_clusters:
            notes.append(FewerClusters(found, self.n_clusters, self.labels))
        if self._bound_by_features and self.n_clusters > n_features:
            notes.append(MoreThanFeatures(self.n_clusters, n_features))
        return tuple(notes)


def times_rows(X: Matrix, root: Array | None) -> Matrix:
    if root is None:
        return X
    if sparse.issparse(X):
        return canonical(sparse.diags_array(root[:, 0]).astype(X.dtype) @ X)
    return X * root


def nearest_mixtures(X: Array, H: Array) -> Array:  # (m, p), (p, k) -> (m, k)
    """The g ≥ 0 with the smallest ‖x - Hg‖, for each row x; entries that are NaN do not count."""
    G = np.zeros((len(X), H.shape[1]), H.dtype)
    known = ~np.isnan(X)
    for g, x, seen in zip(G, X, known, strict=True):
        if seen.any():
            g[:] = nnls(H if seen.all() else H[seen], x[seen], maxiter=30 * len(g))[0]
    return G
