"""Exchanges of clusters: against the naive twin, on the trap they are made for, and in fits."""

import numpy as np
import pytest

from klsnmf import KLSNMF, path
from klsnmf.grams import DenseGram
from klsnmf.metrics import accuracy
from klsnmf.regrouping import (
    Grouping,
    exchange,
    half_joining_costs,
    halves,
    joining_costs,
    nearest_means,
    regrouped,
    settled,
)

from .naive import regrouping as naive

SEEDS = range(5)


def random_case(seed, n=40, k=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return X @ X.T, labels, k


def far_clusters(seed, groups=4, size=8):
    """In each group two clusters side by side, and a third; all others are far away."""
    rng = np.random.default_rng(seed)
    places = 20 * rng.permutation(2 * groups)[:, None] + rng.uniform(size=(2 * groups, 3))
    centres = [at for two in places.reshape(groups, 2, 3) for at in (two[0], two[0] + 1, two[1])]
    y = np.repeat(np.arange(3 * groups), size)
    return np.array(centres)[y] + 0.1 * rng.normal(size=(len(y), 3)), y


def trap(y, groups=(0, 1, 2)):
    """In these groups the two clusters side by side are joined, and the third is cut in two."""
    labels = y.copy()
    for group in groups:
        joined, emptied, cut = 3 * group + np.arange(3)
        labels[y == emptied] = joined
        labels[np.flatnonzero(y == cut)[:4]] = emptied
    return labels


@pytest.mark.parametrize("seed", SEEDS)
def test_joining_costs_what_is_no_longer_explained(seed):
    K, labels, k = random_case(seed)
    costs = joining_costs(Grouping.of(DenseGram(K), labels, k))
    whole = naive.explained(K, labels)
    for a in range(k):
        for b in range(k):
            if a != b:
                after = naive.explained(K, naive.joined(labels, a, b))
                assert costs[a, b] == pytest.approx(whole - after, abs=1e-9 * np.trace(K))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cut_gains_what_it_says(seed):
    K, labels, k = random_case(seed)
    cuts = halves(DenseGram(K), Grouping.of(DenseGram(K), labels, k))
    whole = naive.explained(K, labels)
    for c in np.flatnonzero(np.isfinite(cuts.gains)):
        after = naive.explained(K, naive.cut(labels, c, cuts.side))
        assert cuts.gains[c] == pytest.approx(after - whole, abs=1e-9 * np.trace(K))
        assert cuts.gains[c] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_joining_half_of_a_cluster_to_another_costs_what_it_says(seed):
    K, labels, k = random_case(seed)
    grouping = Grouping.of(DenseGram(K), labels, k)
    cuts = halves(DenseGram(K), grouping)
    costs = half_joining_costs(grouping, cuts)
    for c in np.flatnonzero(np.isfinite(cuts.gains)):
        for half in (0, 1):
            apart = naive.cut(labels, c, cuts.side == half)
            whole = naive.explained(K, apart)
            for other in set(range(k)) - {c}:
                after = naive.explained(K, naive.joined(apart, other, max(apart)))
                assert costs[half, c, other] == pytest.approx(whole - after, abs=1e-9 * np.trace(K))


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_go_to_the_nearest_mean(seed):
    K, labels, k = random_case(seed)
    grouping = Grouping.of(DenseGram(K), labels, k)
    found = nearest_means(grouping.KH, grouping.sizes, grouping.explained)
    np.testing.assert_array_equal(found, naive.nearest_means(K, labels, k))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trap_and_the_way_out(seed):
    """Two clusters in the place of one, one in the place of two: k-means stays there.

    An exchange mends one such place, so three need three.
    """
    X, y = far_clusters(seed)
    K, labels = DenseGram(X @ X.T), trap(y)
    stuck = settled(K, Grouping.of(K, labels, 12))
    assert accuracy(y, stuck.labels) < 0.9
    assert accuracy(y, regrouped(K, labels, 12)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_exchanged_where_that_gains_nothing(seed):
    X, y = far_clusters(seed)
    assert regrouped(DenseGram(X @ X.T), y, 12) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_what_clusters_explain_never_falls(seed):
    K, labels, k = random_case(seed, n=120, k=12)
    before = settled(DenseGram(K), Grouping.of(DenseGram(K), labels, k))
    after = regrouped(DenseGram(K), labels, k)
    if after is not None:
        assert naive.explained(K, after) > naive.explained(K, before.labels)


def test_an_empty_cluster_is_put_to_use():
    X, y = far_clusters(0)
    labels = np.where(y == 11, 10, y)
    assert accuracy(y, regrouped(DenseGram(X @ X.T), labels, 12)) == 1


def test_duplicates_and_single_samples_are_not_cut():
    K = DenseGram(np.kron(np.eye(4), np.ones((3, 3))))
    labels = np.repeat(np.arange(4), 3)
    labels[-1] = 4
    assert not (halves(K, Grouping.of(K, labels, 5)).gains > 1e-9).any()
    assert exchange(K, Grouping.of(K, labels, 5), 1e-9) is None


@pytest.mark.parametrize("k", [1, 2])
def test_with_one_or_two_clusters_there_is_nothing_to_exchange(k):
    assert regrouped(DenseGram(np.eye(6)), np.arange(6) % k, k) is None


@pytest.fixture
def trapped(monkeypatch):
    """Samples in clusters, and k-means that has some of them joined and others cut."""
    X, y = far_clusters(0)
    monkeypatch.setattr("klsnmf.inits.kmeans_labels", lambda *_: trap(y))
    return X, y


OPTIONS = {"kernel": "rbf", "init": "kmeans", "n_init": 2, "random_state": 0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_leaves_the_trap(trapped, dtype):
    X, y = trapped
    stuck = KLSNMF(12, **OPTIONS, regroup=False).fit(X.astype(dtype))
    model = KLSNMF(12, **OPTIONS).fit(X.astype(dtype))
    assert accuracy(y, stuck.labels_) < 0.9
    assert accuracy(y, model.labels_) == 1
    assert model.objective_ < stuck.objective_


def test_all_lams_of_a_path_begin_regrouped(trapped):
    X, y = trapped
    models = path(X, 12, lams=[0.0, 1e-3], **OPTIONS)
    assert [accuracy(y, model.labels_) for model in models] == [1, 1]


def test_starts_that_become_equal_are_fitted_once(monkeypatch):
    X, y = far_clusters(0)
    traps = iter([trap(y), trap(y, groups=(1, 2, 3))])
    monkeypatch.setattr("klsnmf.inits.kmeans_labels", lambda *_: next(traps))
    fits = []
    KLSNMF(12, **OPTIONS, callback=lambda progress: fits.append(progress.fits)).fit(X)
    assert set(fits) == {1}


@pytest.mark.parametrize("solver", ["paper", "soft"])
def test_solvers_without_exact_steps_begin_where_they_are_told(solver):
    X, _ = far_clusters(0)
    options = {"kernel": "rbf", "solver": solver, "n_init": 1, "random_state": 0, "max_iter": 5}
    with pytest.warns(Warning, match="max_iter"):
        one, two = (KLSNMF(12, **options, regroup=regroup).fit(X) for regroup in (False, True))
    np.testing.assert_array_equal(one.G_, two.G_)
