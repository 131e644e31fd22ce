"""The warnings of the report."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning

from klsnmf import KLSNMF
from klsnmf.estimators.strengths import weak_members
from klsnmf.kernels.count import Evidence
from klsnmf.report.clusters import clusters
from klsnmf.report.findings import findings

from ..helpers import blobs
from ..report_runs import by_hand, run_of


def _fitted(estimator, X):
    with pytest.warns(ConvergenceWarning):
        return estimator.fit(X)


def test_nothing_to_warn_of():
    X, _ = blobs(60, 3, 6, seed=0)
    assert findings(run_of(KLSNMF(3, random_state=0).fit(X), X)) == []


@pytest.mark.parametrize(("tol", "words"), [(1e-4, "stopped at max_iter=2"), (0, "2 iterations")])
def test_a_fit_that_stopped_early_is_said_once(tol, words):
    X, _ = blobs(60, 3, 6, seed=0)
    estimator = KLSNMF(3, max_iter=2, tol=tol, random_state=0)
    if tol:
        _fitted(estimator, X)
    else:  # asked for, so that nothing warns
        estimator.fit(X)
    (said,) = findings(run_of(estimator, X, command=""))
    assert words in said
    assert "converged" in said
    (said,) = findings(run_of(estimator, X))
    assert "after 2 iterations, before it converged" in said
    assert said.endswith("llow more with --max-iter.")


def test_a_method_of_another_package_that_ran_out_of_iterations():
    X = np.random.default_rng(0).random((100, 2))
    estimator = KMeans(9, init="random", n_init=1, max_iter=2, tol=0, random_state=0).fit(X)
    assert any("The fit ended after 2 iterations" in one for one in findings(run_of(estimator, X)))


def test_a_collapse_is_said_once():
    X, _ = blobs(60, 3, 6, seed=0)
    estimator = _fitted(KLSNMF(3, lam=1e6, random_state=0), X)
    said = findings(run_of(estimator, X))
    assert sum(estimator.verdict_ in one for one in said) == 1
    assert "lam=1e+06 is too large" in said[0]
    estimator.notes_ = ()  # of a model that says nothing of its own
    said = findings(run_of(estimator, X))
    assert sum(estimator.verdict_ in one for one in said) == 1
    assert "The fit collapsed" in said[0]


def test_a_tiny_cluster_and_an_empty_one():
    estimator = KMeans(4)
    estimator.labels_ = np.repeat([0, 1, 2], [50, 48, 2])
    said = findings(run_of(estimator, np.zeros((100, 2))))
    assert any("Only 3 of 4 clusters" in one for one in said)
    assert any("cluster 2 (2 samples)" in one for one in said)


def test_most_samples_are_in_doubt():
    X, _ = blobs(60, 3, 6, seed=0)
    strength = np.linspace(0, 1, 60)
    for estimator, words in (
        (KLSNMF(3, random_state=0), "hardly more like their own cluster"),
        (SpectralClustering(3, random_state=0), "nearest neighbours in other clusters"),
    ):
        estimator.fit(X)
        (said,) = findings(run_of(estimator, X, method=None, strength=strength / 2))
        assert words in said
        assert "0.25" in said
        assert findings(run_of(estimator, X, method=None, strength=strength)) == []
    plain = KMeans(3, n_init=1, random_state=0).fit(X)  # whose strengths are low as a rule
    assert findings(run_of(plain, X, method=None, strength=strength / 2)) == []


def test_a_minority_of_low_strength_is_counted():
    X, _ = blobs(60, 3, 6, seed=0)
    model = KLSNMF(3, random_state=0).fit(X)
    strength = np.ones(60)
    strength[np.flatnonzero(model.labels_ == 1)[:5]] = 0.1
    run = run_of(model, X, method=None, strength=strength)
    assert [each.weak for each in clusters(run, 3, 1000)] == [0, 5, 0]
    assert weak_members("kls-nmf", model.labels_, strength, 3).tolist() == [0, 5, 0]
    assert weak_members("kmeans", model.labels_, strength, 3) is None


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_fewer_distinct_samples_than_clusters(form):
    X = np.repeat([[0.0, 1, 2], [-0.0, 1, 2], [3, 0, 0]], 20, axis=0)  # two, zeros are equal
    labels = np.arange(60) % 3
    (said,) = findings(run_of(by_hand(labels), form(X)))
    assert "3 clusters, but only 2 distinct samples" in said
    assert findings(run_of(by_hand(labels % 2), form(X))) == []


def _evidence(score):
    score = np.array(score)
    candidates = np.arange(2, 2 + len(score))
    best = int(candidates[score.argmax()])
    ones = np.ones(len(score))
    return Evidence(candidates, ones, ones, ones / 2, score, ones, best)


def test_a_number_of_clusters_that_does_not_stand_out_is_said_once():
    X, _ = blobs(60, 3, 6, seed=0)
    estimator = KLSNMF(3, random_state=0).fit(X)
    for evidence, doubts in (
        (_evidence([0.1, 2.0, 0.2]), False),
        (_evidence([1.8, 2.0, 0.2]), True),
        (_evidence([0.05, 0.3, 0.1]), True),
    ):
        estimator.n_clusters_evidence_ = evidence
        said = findings(run_of(estimator, X, command=""))
        assert len(said) == doubts
        assert all(evidence.verdict in one for one in said)
        heard = findings(run_of(estimator, X))
        assert all(one.endswith("-k NUMBER.") for one in heard)
        assert len(heard) == doubts
