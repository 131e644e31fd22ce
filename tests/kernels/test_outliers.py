"""Samples that belong to no cluster, where that is asked for."""

import numpy as np
import pytest

from klsnmf import KLSNMF
from klsnmf.io.model_file import load, save
from klsnmf.kernels.outliers import Neighbourhoods

from ..helpers import blobs


def with_outliers(seed):
    """Three clusters, a sample alone, and a speck of three."""
    X, _ = blobs(150, 3, 4, seed=seed)
    rng = np.random.default_rng(seed)
    speck = -150 + 0.1 * rng.normal(size=(3, 4))
    return np.vstack([X, np.full((1, 4), 200.0), speck])


@pytest.mark.parametrize("seed", range(3))
def test_samples_alone_and_in_specks_are_labelled(seed):
    X = with_outliers(seed)
    model = KLSNMF(3, outliers="label", random_state=0).fit(X)
    usual = KLSNMF(3, random_state=0).fit(X)
    assert (model.labels_[150:] == -1).all()
    assert np.mean(model.labels_[:150] == -1) < 0.05
    inside = model.labels_ >= 0
    np.testing.assert_array_equal(model.labels_[inside], usual.labels_[inside])
    assert usual.labels_.min() == 0


def test_new_samples_are_labelled_alike():
    X = with_outliers(0)
    model = KLSNMF(3, outliers="label", random_state=0).fit(X)
    new = np.vstack([X[:3] + 1e-3, np.full((1, 4), -400.0)])
    np.testing.assert_array_equal(model.predict(new)[:3], model.labels_[:3])
    assert model.predict(new)[3] == -1
    assert KLSNMF(3, random_state=0).fit(X).predict(new).min() >= 0


def test_a_file_keeps_them(tmp_path):
    X = with_outliers(1)
    model = KLSNMF(3, outliers="label", random_state=0).fit(X)
    save(model, tmp_path / "model.npz")
    again, _ = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert (again.labels_ == -1).any()


def test_scale_changes_nothing_and_sparse_samples_are_no_outliers():
    X = with_outliers(2)
    _, apart = Neighbourhoods.of(X)
    np.testing.assert_array_equal(Neighbourhoods.of(1e-3 * X)[1], apart)
    rng = np.random.default_rng(0)
    half = np.vstack([rng.uniform(size=(300, 2)), 50 + 20 * rng.uniform(size=(300, 2))])
    assert Neighbourhoods.of(half)[1].mean() < 0.01


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_samples_are_no_outliers(n):
    assert not Neighbourhoods.of(np.arange(n, dtype=float)[:, None])[1].any()
    assert not Neighbourhoods.of(np.ones((n, 2)))[1].any()


def test_a_kernel_has_no_distances():
    X = with_outliers(0)
    with pytest.raises(ValueError, match='use outliers="cluster"'):
        KLSNMF(3, kernel="precomputed", outliers="label").fit(np.eye(len(X)))
