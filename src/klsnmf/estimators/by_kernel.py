"""Methods that know samples by their similarity: the way of a fit.

A fit goes from top to bottom in ``_fitted``: samples, number of clusters, similarity, starts,
solutions, attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from ..core import arrays
from ..core.arithmetic import product
from ..core.arrays import cast, like, namespace, of_one_type, precision, to_host
from ..core.kmeans import how_many_starts
from ..core.types import Array, Labels, Matrix
from ..core.work import stage, threads_for
from ..grams.base import Gram
from ..kernels.inputs import choose_row_norm, here, unit_of
from ..kernels.mix import ROUNDS, Mixture, evenly_mixed
from ..kernels.neighbors import how_many_neighbors
from ..kernels.outliers import without_outliers
from ..kernels.similarity import Similarity, View
from ..kernels.workers import locate
from ..models.new_samples import NewSamples
from ..solve.checkpoint import journal_of
from ..solve.choose import TRIES, Choice, choose
from ..solve.doubt import doubts_of, runner_up
from ..solve.levels import Counted, count, count_on
from ..solve.loop import Journal
from ..solve.phases import (
    Problem,
    best_by_lam,
    choose_phases,
    collapse_lam,
    safe_lams,
    with_best_starts,
)
from ..solve.solution import CHOSEN, Solution, Start, Status, tidied
from ..solve.starts import starts
from .base import Result
from .callbacks import listener
from .doubtful import InDoubt
from .labels import in_pieces, numbers_kept, strength
from .notes import (
    Collapsed,
    FewerClusters,
    MoreThanFeatures,
    NotClear,
    NotConverged,
    Note,
)
from .placing import Partly, placed
from .setup import Samples, Setup
from .validate import as_numbers, check_start, noted_names

#: lam="auto" is this share of the λ at which half of the samples would fit no cluster.
AUTO_LAM = 0.01

#: Starts are made in float64 for up to this many numbers in X.
_PRECISE = 2**26

#: n_init="auto" where all starts are fitted to the end.
AUTO_STARTS = 8


class KernelClusterer(Partly):
    """Clusters known by W and the similarity of the samples of the fit."""

    n_clusters: int | str
    row_norm: str | None

    @abstractmethod
    def _setup(self) -> Setup:
        """What the parameters mean."""

    # ------------------------------------------------------------------ the way of a fit

    @property
    def _counts_copies(self) -> bool:
        setup = self._setup()
        graph = setup.graph_weight > 0 and np.isscalar(setup.graph_neighbors)
        apart = getattr(self, "outliers", "cluster") == "label"
        return setup.kernel.counts or self.n_clusters == "auto" or bool(graph) or apart

    def _fitted(
        self,
        estimators: Sequence[Self],
        X: Any,
        known: Labels | None = None,
        weight: Array | None = None,
    ) -> list[Result]:
        """One batch over one K; the estimators differ in lam only.

        ``known`` are labels that the samples had, and clusters keep the numbers of. With weights of
        samples, the problem is that of Ω^½KΩ^½.
        """
        setups = [estimator._setup() for estimator in estimators]
        setup = setups[0]
        labels_outliers = getattr(self, "outliers", "cluster") == "label"
        if labels_outliers and setup.precomputed:
            raise ValueError(
                'outliers="label" compares distances of samples, and with kernel="precomputed" '
                'there are no samples: use outliers="cluster".'
            )
        samples = self._samples(setup, X)
        if weight is not None and setup.checkpoint is not None:
            raise ValueError("A checkpoint keeps no weights of samples: set checkpoint=None.")
        with journal_of(estimators, samples.X, setup.checkpoint) as journal:
            k, counted = self._count(setup, samples)
            local = any(each.lam != 0 for each in setups)
            for_starts = self._for_starts(setup, samples)
            choice = self._choice(setup, samples, for_starts, k, counted)
            if choice is None:
                views = samples.settings.views(samples.scaled, samples.unit, k, local=local)
            else:
                views = [choice.view]
            mixture = Mixture(views, k, check_random_state(self.random_state))
            for _ in range(ROUNDS):  # one round, unless weights of several kernels are learned
                view, weights = mixture.view(), mixture.weights
                seen = view if weight is None else view.weighted(weight)
                problem = self._problem(setup, for_starts, seen, k, journal, choice)
                lams, solutions = _solved(setups, problem, journal, AUTO_LAM if view.local else 0.0)
                if mixture.learn(to_host(solutions[0].labels)):
                    break
            judged = None
            if choice is not None and problem.starts[0].way == CHOSEN:
                judged = choice.answer.labels
            collapsed = any(solution.collapsed for solution in solutions)
            safe = safe_lams(problem, lams, solutions) if collapsed else []
        shared = {
            **samples.names,
            "n_clusters_": k,
            "kernel_weights_": like(weights, samples.X),
            "row_norm_": samples.row_norm,
            "_fitted_on_sparse": issparse(samples.X),
        }
        results = []
        for estimator, lam, solution in zip(estimators, lams, solutions, strict=True):
            root = problem.K.root
            attributes = estimator._attributes(
                setup, samples, view, lam, solution, known, judged, root
            )
            found = len(np.unique(to_host(attributes["labels_"])))
            notes = estimator._notes(setup, k, lam, solution, safe, found)
            if estimator._bound_by_features and k > samples.X.shape[1]:
                notes += (MoreThanFeatures(k, samples.X.shape[1]),)
            if choice is not None and not solution.collapsed:
                notes += _doubts(choice, attributes["labels_"])
            if counted is not None:
                known = to_host(attributes["labels_"])
                profile = counted.profile(known, for_starts)
                attributes |= {"n_clusters_evidence_": counted.evidence, "levels_": profile}
                notes += () if counted.evidence.clear else (NotClear.of(counted.evidence),)
            if labels_outliers:
                attributes |= without_outliers(for_starts, attributes["labels_"])
            results.append(Result({**shared, **attributes}, notes))
        return results

    def _samples(self, setup: Setup, X: Any) -> Samples:
        X, send = locate(X, setup.engine, setup.kernel.kernel, setup.kernel.gram)
        seen = copy(self)  # what scikit-learn notes of X is kept when all went well
        X = as_numbers(seen, X, precomputed=setup.precomputed)
        row_norm = choose_row_norm(X) if self.row_norm == "auto" else self.row_norm
        unit = 1.0 if row_norm == "l2" else unit_of(X, setup.kernel.kernel)
        workers = None if send is None else send(X, row_norm, unit)
        settings = replace(setup.kernel, workers=workers)
        scaled = setup.as_seen(X, row_norm, unit)
        return Samples(X, scaled, row_norm, unit, settings, noted_names(seen))

    def _count(self, setup: Setup, samples: Samples) -> tuple[int, Counted | None]:
        """The number of clusters, and how it was found if it was not given."""
        counted = self._counted(samples) if self.n_clusters == "auto" else None
        k = int(self.n_clusters) if counted is None else counted.evidence.chosen
        n = samples.X.shape[0]
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}.")
        return k, counted

    def _counted(self, samples: Samples) -> Counted:
        rng, settings = check_random_state(self.random_state), samples.settings
        graphs = settings.graphs(samples.scaled, 2) if samples.X.shape[0] > 1 else None
        if graphs is not None:
            return count_on(graphs, rng)
        # Weights cannot be learned without a number of clusters: kernels count alike here.
        views = settings.views(samples.scaled, samples.unit, None, local=False)
        q = how_many_neighbors(samples.X.shape[0], 2)
        return count(evenly_mixed(views), q, rng)

    def _for_starts(self, setup: Setup, samples: Samples) -> Matrix | None:
        """The samples that k-means and the search for graph neighbours see, on the host."""
        X, row_norm, unit = to_host(samples.X), samples.row_norm, samples.unit
        if setup.precomputed:
            return None
        if precision(X) == np.float32 and X.shape[0] * X.shape[1] <= _PRECISE:
            # From the same samples in either precision k-means comes to the same starts.
            return setup.as_seen(X.astype(np.float64), row_norm, unit)
        return samples.scaled if X is samples.X else setup.as_seen(X, row_norm, unit)

    def _choice(
        self,
        setup: Setup,
        samples: Samples,
        X: Matrix | None,
        k: int,
        counted: Counted | None = None,
    ) -> Choice | None:
        """The graph and the sizes of clusters where there is a choice, and the clusters."""
        graphs = None if counted is None else counted.graphs_for(k)
        if graphs is None and k > 1:
            graphs = samples.settings.graphs(samples.scaled, k)
        if graphs is None:
            return None
        rng, sizes = check_random_state(self.random_state), samples.settings.sizes or "even"
        tries = TRIES if self.n_init == "auto" else int(self.n_init)
        choice = choose(graphs, X, rng, sizes=sizes, tries=tries, exchange=setup.regroup)
        if self.verbose:
            print(choice)
        return choice

    def _problem(
        self,
        setup: Setup,
        X: Matrix | None,
        view: View,
        k: int,
        journal: Journal,
        choice: Choice | None,
    ) -> Problem:
        """What all fits share; starts come from the journal, or from K before diffusion."""
        K, graph = view.K, None
        if setup.graph_weight > 0:
            graph = setup.kernel.graph(setup.graph_neighbors, X, K).weighted(K.weight)
        phases = setup.phases or choose_phases(
            setup.solver,
            K,
            orthogonal=setup.orthogonal,
            graph=graph,
            graph_weight=setup.graph_weight,
        )
        kept = journal.starts((K.shape[0], k), K.dtype)
        begin = kept or self._starts(setup, X, view.base, k, choice)
        problem = Problem(
            K, begin, phases, self.max_iter, self.tol, listener(self), journal, setup.run
        )
        best = kept or begin[0].way == CHOSEN
        return problem if best else with_best_starts(problem, regroup=setup.regroup)

    def _starts(
        self, setup: Setup, X: Matrix | None, K: Gram, k: int, choice: Choice | None
    ) -> list[Start]:
        n = K.shape[0]
        if choice is not None and self.init == "auto":
            return [Start.of_labels(CHOSEN, choice.answer.labels, k, K)]
        if not isinstance(self.init, str):
            W, G = check_start(self.init, n, k, K).values()
            return [Start("given", {"W": W / K.root, "G": K.root * G})]
        if X is None and self.init == "kmeans":
            raise ValueError(
                'init="kmeans" needs samples, and with kernel="precomputed" there are none: '
                'use init="spectral".'
            )
        rng = check_random_state(self.random_state)
        n_init: Any = self.n_init
        if n_init == "auto":
            features = 0 if X is None else X.shape[1]
            n_init = how_many_starts(n, k, K.flops, features) if setup.screens else AUTO_STARTS
        if self.verbose:
            print(f"{n_init} starts")
        return starts(X, K, k, self.init, n_init, rng)

    def _notes(
        self,
        setup: Setup,
        k: int,
        lam: float,
        solution: Solution,
        safe: Sequence[float],
        found: int,
    ) -> tuple[Note, ...]:
        """What the user should know of a fit that found so many clusters."""
        if solution.trouble is not None:
            trouble, share = solution.trouble, solution.share
            good = max((value for value in safe if value < lam), default=0.0)
            if setup.graph_weight > 0 and not good:
                return (Collapsed("graph_weight", setup.graph_weight, trouble, share),)
            return (Collapsed("lam", lam, trouble, share, good),)
        notes: list[Note] = []
        if solution.status is Status.EXHAUSTED and self.tol > 0:
            notes.append(NotConverged(self.max_iter, type(self).__name__))
        if found < k:
            notes.append(FewerClusters(found, k, "kernel"))
        return tuple(notes)

    def _attributes(
        self,
        setup: Setup,
        samples: Samples,
        view: View,
        lam: float,
        solution: Solution,
        known: Labels | None,
        judged: Labels | None,
        root: Any,
    ) -> dict[str, Any]:
        # Columns that come from a start of ours have no order of their own: numbering clusters as
        # they appear gives the same labels whichever of equally good starts wins.
        by_appearance = isinstance(self.init, str)
        weighted_W, weighted_G = solution.factors["W"], solution.factors["G"]
        labels = self._labels_of(solution)
        X, K, own, xp = samples.X, view.K, view.K.diagonal, namespace(weighted_W)

        def rule(W: Array, G: Array, KW: Array) -> NewSamples:
            return self._rule_for_new(G, W.T @ KW, xp.sum(W, axis=0), own @ W, lam, solution.exact)

        kept = np.zeros(X.shape[0], bool)
        if judged is not None:
            W, G = weighted_W * root, weighted_G / root
            KW = K.dot(W)
            strange, now = to_host(rule(W, G, KW).strangers(KW, own)), to_host(labels)
            kept = in_pieces(strange, judged, now, how_many_neighbors(*W.shape))
            labels = like(np.where(kept, judged, now), labels)
        for _ in range(2):  # again where a cluster has lost its samples, which are like no cluster
            weighted_W, weighted_G, labels = tidied(
                weighted_W, weighted_G, labels, by_appearance=by_appearance
            )
            if known is not None:
                number = numbers_kept(labels, known, weighted_W.shape[1])
                weighted_W, weighted_G = (
                    V[:, np.argsort(number)] for V in (weighted_W, weighted_G)
                )
                labels = number[labels]
            # Without the weights: what all copies of a sample have in W, and each of them in G.
            W, G = weighted_W * root, weighted_G / root
            KW = K.dot(W)
            new = rule(W, G, KW)
            read = self._read(
                cast(G, X.dtype), labels, new, KW, own, view.kernel, samples.scaled, kept
            )
            labels = read["labels_"]
            used = np.unique(to_host(labels))
            if len(used) > used[-1]:
                break
        W, G = cast(W, X.dtype), cast(G, X.dtype)
        attributes = {
            **self._told_of(solution),
            **{"W_": W, "G_": G, "lam_": lam},
            **{"_similarity": view.kernel, "_unit": samples.unit, "_new": new},
            **read,
        }
        if view.kernel.width is not None:
            attributes["radius_"] = view.kernel.width * samples.unit
        if view.kernel.steps is not None:
            attributes["diffusion_"] = view.kernel.steps
        if not setup.precomputed:
            weights = W / xp.maximum(xp.sum(W, axis=0), arrays.tiny(W))
            attributes["components_"] = product(weights.T, X)
        return attributes

    def _labels_of(self, solution: Solution) -> Labels:  # (n,)
        return solution.labels

    def _rule_for_new(self, G: Array, *known: Any) -> NewSamples:
        return NewSamples(*known)

    def _read(
        self,
        G: Array,
        labels: Labels,
        new: NewSamples,
        KW: Array,
        own: Array,
        similarity: Similarity,
        X: Matrix,
        kept: Array,
    ) -> dict[str, Any]:
        """Labels and strengths of the samples of the fit; some labels are kept.

        Those whose row of G is zero are put where new ones would be, and those that are like no
        cluster where the nearest of the others is.
        """
        xp = namespace(G)
        settled = xp.any(G, axis=1) | like(kept, labels)
        labels = xp.where(settled, labels, new.labels(KW, own))
        strange = to_host(new.strangers(KW, own)) & ~kept
        labels = placed(similarity, X, labels, strange, ~strange, labels)
        strengths = cast(strength(new.scores(KW, own), labels), G.dtype)
        return {"labels_": labels, "strengths_": strengths}

    def _samples_as_seen(self, X: Any) -> Matrix:
        """New samples as the kernel sees them."""
        setup = self._setup()
        X = as_numbers(self, here(X), reset=False, precomputed=setup.precomputed)
        return setup.as_seen(of_one_type(X, self.W_), self.row_norm_, self._unit)

    # ----------------------------------------------------------- habits of scikit-learn

    def __getstate__(self) -> dict[str, Any]:
        # A client is a connection of this process: it goes into no file, and no other process.
        state: dict[str, Any] = super().__getstate__()
        return {**state, "engine": None} if "engine" in state else state

    def __sklearn_clone__(self) -> Self:
        # And it is nothing to copy: the clone shares it.
        twin: Self = super(KernelClusterer, copy(self)).__sklearn_clone__()
        if (engine := getattr(self, "engine", None)) is not None:
            twin.engine = engine
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._setup().precomputed
        return tags


@stage("steps")
def _solved(
    setups: Sequence[Setup], problem: Problem, journal: Journal, share: float
) -> tuple[list[float], list[Solution]]:
    """The best solution for each setup, and its λ.

    "auto" is this share of λ*, or 0 where it would collapse.
    """
    threshold = journal.begin(problem.starts, partial(collapse_lam, problem))
    lams = [share * threshold if setup.lam == "auto" else float(setup.lam) for setup in setups]
    solutions = best_by_lam(problem, lams)
    for place, setup in enumerate(setups):
        if setup.lam == "auto" and solutions[place].collapsed:
            lams[place], solutions[place] = 0.0, best_by_lam(problem, [0.0])[0]
    if not all(arrays.all_finite(V) for one in solutions for V in one.factors.values()):
        raise ValueError(
            "The factors grew too large to compute with. Is the kernel positive "
            "semidefinite? Are the numbers in X, init and graph_weight of moderate size?"
        )
    return lams, solutions


def _doubts(choice: Choice, labels: Labels) -> tuple[Note, ...]:
    walk, labels = choice.walk, to_host(labels)
    with threads_for(0):  # products of few samples each
        doubts = doubts_of(walk.as_the_graph_is(), labels, choice.others)
    return (InDoubt(doubts, walk.k, runner_up(choice.others, labels)),) if doubts else ()
