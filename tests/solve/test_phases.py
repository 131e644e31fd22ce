"""Phases: which starts go on, how iterations are shared, when a fit ends, and λ."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf import KLSNMF, path
from klsnmf.core.kmeans import by_appearance
from klsnmf.grams.array import DenseGram
from klsnmf.models.ls_nmf import FREE, LocalSimilarity
from klsnmf.solve.loop import solve
from klsnmf.solve.phases import FINALISTS, SCREENING_STEPS, with_best_starts
from klsnmf.solve.solution import CHOSEN, Solution, Start, Status, lowest

from ..estimators.test_defaults import digits_problem
from ..helpers import blobs
from ..naive import klsnmf as naive


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30])
def test_the_unit_of_the_kernel_does_not_decide_when_a_fit_ends(factor):
    K = rbf_kernel(blobs(30, 3, 6, 0)[0], gamma=0.1)
    rng = np.random.default_rng(0)
    start = {"W": rng.random((30, 3)) / 30, "G": rng.random((30, 3))}
    plain, other = (
        solve([LocalSimilarity(DenseGram(unit * K), 0.0, FREE)], [start], max_iter=2000, tol=1e-4)[
            0
        ]
        for unit in (1.0, factor)
    )
    assert plain.status is other.status is Status.CONVERGED
    assert plain.n_iter == other.n_iter


def test_chosen_clusters_begin_exact_steps_as_they_are():
    labels, K = np.array([0, 1, 1, 2, 0]), DenseGram(np.eye(5))
    start = Start.of_labels(CHOSEN, labels, 3, K)
    for V in start.begun(exact=True).values():
        np.testing.assert_array_equal(V > 0, np.eye(3)[labels] > 0)
    for other in (
        start.begun(exact=False),
        Start.of_labels("kmeans", labels, 3, K).begun(exact=True),
    ):
        assert all((V > 0).all() for V in other.values())


def test_one_that_collapsed_is_the_best_only_if_all_did():
    def one(status, objective):
        return Solution({}, np.zeros(3, int), {"objective": np.array([objective])}, status)

    sound, lost, lower = (
        one(Status.EXHAUSTED, 3.0),
        one(Status.COLLAPSED, 2.0),
        one(Status.COLLAPSED, 1.0),
    )
    assert lowest([lost, sound, lower]) is sound
    assert lowest([lost, lower]) is lower


def test_screening_keeps_the_lowest_of_each_kind():
    problem = digits_problem(24)
    kept = with_best_starts(problem, regroup=False).starts
    model = problem.phases[-1].model(problem.K.in_single_precision(), 0.0)
    tried = solve(
        [model] * len(problem.starts),
        [start.factors for start in problem.starts],
        max_iter=SCREENING_STEPS,
        tol=0,
    )
    for way in {start.way for start in problem.starts}:
        ends = {
            by_appearance(one.labels).tobytes(): one.objective
            for start, one in zip(problem.starts, tried, strict=True)
            if start.way == way
        }
        found = sorted(ends[start.labels.tobytes()] for start in kept if start.way == way)
        assert found == sorted(ends.values())[: len(found)]
        assert 1 <= len(found) <= FINALISTS


@pytest.mark.parametrize(("max_iter", "exact", "local"), [(7, 3, 4), (8, 4, 4), (1, 0, 1)])
def test_each_phase_has_its_share_of_the_iterations(max_iter, exact, local):
    X, _ = blobs(40, 3, 6, 0)
    model = KLSNMF(3, max_iter=max_iter, tol=0, random_state=0).fit(X)
    assert list(model.history_["solver"]) == ["exact"] * exact + ["local"] * local


def test_without_lam_there_is_one_phase():
    X, _ = blobs(40, 3, 6, 0)
    model = KLSNMF(3, lam=0.0, max_iter=7, tol=0, random_state=0).fit(X)
    assert list(model.history_["solver"]) == ["exact"] * 7


def test_the_phase_without_lam_is_run_once_for_all_of_them():
    X, _ = blobs(40, 3, 6, 0)
    seen = []
    options = {"n_init": 1, "max_iter": 8, "tol": 0, "random_state": 0}
    found = path(X, 3, lams=[0.0, 1e-3, 1e-2], callback=seen.append, **options)
    assert {(one.phase, one.fits) for one in seen if one.phase != "screening"} == {
        ("exact", 1),
        ("local", 2),
    }
    for model in found:
        (alone,) = path(X, 3, lams=[model.lam], **options)
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        if model.lam:
            assert model.objective_ == pytest.approx(alone.objective_)
            assert model.n_iter_ == alone.n_iter_


def test_a_fit_that_is_stopped_has_the_objective_of_its_lam():
    K = rbf_kernel(blobs(60, 3, 6, 0)[0], gamma=0.1)

    def stop(progress):
        return progress.phase == "exact"

    model = KLSNMF(3, lam=0.01, kernel="precomputed", random_state=0, callback=stop).fit(K)
    assert list(model.history_["solver"]) == ["exact", "local"]
    assert model.status_ == "stopped"
    expected = naive.objective(K, model.W_, model.G_, 0.01)
    assert model.objective_ == pytest.approx(expected)


def test_auto_lam_is_one_percent_of_what_leaves_half_of_the_samples_alone():
    K = rbf_kernel(blobs(60, 3, 6, 0)[0], gamma=0.1)
    G = np.random.default_rng(0).random((60, 3))
    model = KLSNMF(3, kernel="precomputed", init=(G / 60, G), max_iter=3000).fit(K)
    threshold = np.median(((K @ G) / ((2 - 2 * K) @ G)).max(axis=1))
    assert model.lam_ == pytest.approx(0.01 * threshold)
