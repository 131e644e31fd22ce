"""k-means from many seeds at once: the same labels as scikit-learn's from each of them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from klsnmf.core import kmeans as lloyd
from klsnmf.core.kmeans import (
    in_their_span,
    kmeans,
    kmeans_labels,
    kmeans_side_by_side,
    nearest,
    spread_centres,
)
from klsnmf.metrics import accuracy

from ..helpers import blobs

SEEDS = list(range(12))


def alone(X, k, seed):
    """The naive twin: one run, by scikit-learn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(k, n_init=1, random_state=seed).fit(X).labels_


@pytest.mark.parametrize("p", [1, 3, 40])
def test_runs_are_those_of_their_seeds_alone(p):
    """Nearly all: where two candidates for a centre are as good, rounding decides."""
    same = []
    for problem in range(20):
        rng = np.random.default_rng(problem)
        n, k = rng.integers(20, 90), rng.integers(1, 9)
        X = rng.normal(size=(n, p)) + 5
        found = kmeans_side_by_side(X, k, SEEDS)
        same += [np.array_equal(f, alone(X, k, s)) for s, f in zip(SEEDS, found, strict=True)]
    assert np.mean(same) > 0.95


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(20, 90), st.integers(1, 40))
def test_no_sample_is_nearer_to_another_centre(seed, k, n, p):
    """However ties are broken, every run ends where k-means ends."""
    X = np.random.default_rng(seed).normal(size=(n, p)) + 5
    for labels in kmeans_side_by_side(X, k, SEEDS):
        if labels is None:
            continue
        centres = np.stack([X[labels == c].mean(axis=0) for c in range(k)])
        distances = np.square(X[:, None] - centres).sum(axis=2)
        own = distances[np.arange(n), labels]
        # They may still move by the tolerance.
        assert np.all(own <= distances.min(axis=1) + 0.5 * X.var())
        assert np.mean(own <= distances.min(axis=1) + 1e-9) > 0.8


def test_digits_have_the_same_labels():
    X = load_digits().data
    found = kmeans_side_by_side(X, 10, SEEDS)
    same = [np.array_equal(labels, alone(X, 10, s)) for s, labels in zip(SEEDS, found, strict=True)]
    assert np.mean(same) > 0.8  # whole numbers have ties, which rounding may break either way


@pytest.mark.parametrize("seed", range(3))
def test_single_precision_finds_clear_clusters(seed):
    X, y = blobs(200, 4, 8, seed)
    found = kmeans_side_by_side(X.astype(np.float32), 4, SEEDS)
    assert np.mean([accuracy(y, labels) == 1 for labels in found]) > 0.5


@pytest.mark.parametrize("k", [1, 2, 7])
def test_the_same_samples_are_drawn_as_centres(k):
    X = np.random.default_rng(0).normal(size=(80, 5))
    for seed, centres in zip(SEEDS, spread_centres(X, k, SEEDS), strict=True):
        np.testing.assert_array_equal(centres, kmeans_plusplus(X, k, random_state=seed)[0])


def test_nearest_centres_however_many_samples_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    X, centres = rng.normal(size=(50, 6)), rng.normal(size=(4, 3, 6))
    naive = np.square(X[None, :, None] - centres[:, None]).sum(axis=3).argmin(axis=2)
    np.testing.assert_array_equal(nearest(X, centres), naive)
    monkeypatch.setattr(lloyd, "_IN_CACHE", 100)
    np.testing.assert_array_equal(nearest(X, centres), naive)


def test_runs_go_in_groups_where_their_centres_would_fill_the_memory(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 30))
    together = kmeans_side_by_side(X, 4, SEEDS)
    monkeypatch.setattr(lloyd, "_NUMBERS", 1)
    monkeypatch.setattr(lloyd, "_SHARE", 5)
    np.testing.assert_array_equal(kmeans_side_by_side(X, 4, SEEDS), together)


def test_rounds_are_bounded(monkeypatch):
    X = load_digits().data[:500]
    monkeypatch.setattr(lloyd, "_MOST_ROUNDS", 2)
    for seed, labels in zip(SEEDS, kmeans_side_by_side(X, 10, SEEDS), strict=True):
        expected = KMeans(10, n_init=1, max_iter=2, random_state=seed).fit(X).labels_
        assert np.mean(labels == expected) > 0.99


def test_a_run_that_loses_a_cluster_is_left_to_scikit_learn():
    X = np.repeat(np.eye(3, 9), 5, axis=0)  # three places for four clusters
    assert kmeans_side_by_side(X, 4, SEEDS) == [None] * len(SEEDS)
    for seed, labels in zip(SEEDS, kmeans_labels(X, 4, SEEDS), strict=True):
        np.testing.assert_array_equal(labels, alone(X, 4, seed))


@pytest.mark.parametrize("offset", [1e3, 1e8])
def test_an_offset_changes_nothing(offset):
    X, _ = blobs(150, 3, 6, 0)
    for plain, moved in zip(
        kmeans_side_by_side(X, 3, SEEDS), kmeans_side_by_side(X + offset, 3, SEEDS), strict=True
    ):
        np.testing.assert_array_equal(plain, moved)


def test_what_is_no_array_too_narrow_or_too_long_goes_one_by_one(monkeypatch):
    X, _ = blobs(90, 3, 9, 0)
    expected = [kmeans(X, 3, seed).labels_ for seed in SEEDS]
    monkeypatch.setattr(lloyd, "kmeans_side_by_side", None)  # not called
    assert not list(kmeans_labels(X, 3, []))
    assert len(list(kmeans_labels(X[:, :7], 3, SEEDS))) == len(SEEDS)
    monkeypatch.setattr(lloyd, "PART", 45)
    np.testing.assert_array_equal(list(kmeans_labels(sparse.csr_array(X), 3, SEEDS)), expected)
    monkeypatch.setattr(lloyd, "PART", 44)
    assert len(list(kmeans_labels(X, 3, SEEDS))) == len(SEEDS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("far", [0, 1e4])
def test_coordinates_in_the_span_of_samples_keep_distances_and_runs(seed, far):
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(4, 400))[rng.integers(4, size=60)] + rng.normal(size=(60, 400)) + far
    short = in_their_span(X)
    assert short.shape == (60, 60)
    truth, found = (np.square(A[:, None] - A).sum(axis=2) for A in (X, short))
    np.testing.assert_allclose(found, truth, atol=1e-9 * truth.max())
    np.testing.assert_array_equal(alone(short, 4, seed), alone(X, 4, seed))


def test_samples_without_a_span_stay_as_they_are():
    for X in (np.ones((5, 40)), np.ones((5, 6)), sparse.csr_array(np.eye(3, 90))):
        assert in_their_span(X) is X
