"""Scores: one idea for all methods. The largest names the cluster, and strength follows from it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from klsnmf import METHODS
from klsnmf.estimators.labels import led_by, strength

from ..helpers import blobs

OURS = [name for name in METHODS if name not in ("kmeans", "spectral")]
QUICK = {"n_init": 2, "max_iter": 40, "tol": 0, "random_state": 0}


@pytest.mark.parametrize("labels", ["argmax", "kmeans"])
@pytest.mark.parametrize("name", OURS)
def test_predict_is_the_largest_score(name, labels):
    X, _ = blobs(90, 3, 6, seed=1)
    parameters = METHODS[name]().get_params()
    if labels == "kmeans" and "labels" not in parameters:
        pytest.skip("labels are read in one way")
    more = {"labels": labels} if "labels" in parameters else {}
    model = METHODS[name](3, **QUICK, **more).fit(X[:60])
    scores = model.scores(X)
    assert scores.shape == (90, 3)
    assert (scores >= 0).all()
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))
    assert model.strengths_.shape == (60,)
    assert ((model.strengths_ >= 0) & (model.strengths_ <= 1)).all()
    assert model.strengths_.mean() > 0.1  # the clusters are clear


def test_a_sample_like_none_has_a_label_and_no_strength():
    X, _ = blobs(60, 3, 6, seed=0)
    model = METHODS["kls-nmf"](3, **QUICK).fit(X)
    scores = model.scores(np.vstack([X[:1], X[:1] * 1e6]))
    labels = scores.argmax(axis=1)
    found = strength(scores, labels)
    assert found[0] > 0.5
    assert found[1] == 0
    np.testing.assert_array_equal(labels, model.predict(np.vstack([X[:1], X[:1] * 1e6])))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_a_label_leads_by_a_hair_and_no_other_row_changes(seed, dtype):
    rng = np.random.default_rng(seed)
    scores = (rng.uniform(size=(20, 4)) * rng.integers(0, 2, size=(20, 1))).astype(dtype)
    labels = rng.integers(0, 4, size=20)
    found = led_by(scores, labels)
    np.testing.assert_array_equal(found.argmax(axis=1), labels)
    kept = scores.argmax(axis=1) == labels
    np.testing.assert_array_equal(found[kept], scores[kept])
    assert (strength(found, labels)[~kept] == 0).all()


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    X = load_iris().data
    model = METHODS["kls-nmf"](3, **QUICK).fit(X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((10, 2), np.nan))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@pytest.mark.filterwarnings("ignore:.*choice is not clear")
def test_a_new_fit_keeps_nothing_of_the_last():
    X = load_iris().data
    model = METHODS["kls-nmf"]("auto", **QUICK).fit(X)
    assert hasattr(model, "n_clusters_evidence_")
    assert hasattr(model, "diffusion_")
    model.set_params(n_clusters=3, kernel="linear").fit(X)
    assert not hasattr(model, "n_clusters_evidence_")
    assert not hasattr(model, "diffusion_")
