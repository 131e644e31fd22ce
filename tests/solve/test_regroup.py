"""Exchanges of clusters: against the naive twin, on the trap they are made for, and in fits."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf import KLSNMF, LSNMF, path
from klsnmf.grams.array import DenseGram
from klsnmf.metrics import accuracy
from klsnmf.solve.regroup import (
    Grouping,
    Points,
    exchange,
    half_joining_costs,
    halves,
    joining_costs,
    nearest_means,
    regrouped,
    settled,
)

from ..naive import regrouping as naive

SEEDS = range(5)


def random_samples(seed, n=40, k=5):
    """Of all lengths."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return X, labels, k


def random_case(seed, n=40, k=5):
    X, labels, k = random_samples(seed, n, k)
    return X @ X.T, labels, k


def grouping(K, labels, k):
    return Grouping(Points(DenseGram(K)), labels, k)


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
    costs = joining_costs(grouping(K, labels, k))
    whole = naive.explained(K, labels)
    for a in range(k):
        for b in range(k):
            if a != b:
                after = naive.explained(K, naive.joined(labels, a, b))
                assert costs[a, b] == pytest.approx(whole - after, abs=1e-9 * np.trace(K))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cut_gains_what_it_says(seed):
    K, labels, k = random_case(seed)
    cuts = halves(grouping(K, labels, k))
    whole = naive.explained(K, labels)
    for c in np.flatnonzero(np.isfinite(cuts.gains)):
        after = naive.explained(K, naive.cut(labels, c, cuts.side))
        assert cuts.gains[c] == pytest.approx(after - whole, abs=1e-9 * np.trace(K))
        assert cuts.gains[c] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_joining_half_of_a_cluster_to_another_costs_what_it_says(seed):
    K, labels, k = random_case(seed)
    cuts = halves(grouping(K, labels, k))
    costs = half_joining_costs(grouping(K, labels, k), cuts)
    for c in np.flatnonzero(np.isfinite(cuts.gains)):
        for half in (0, 1):
            apart = naive.cut(labels, c, cuts.side == half)
            whole = naive.explained(K, apart)
            for other in set(range(k)) - {c}:
                after = naive.explained(K, naive.joined(apart, other, max(apart)))
                assert costs[half, c, other] == pytest.approx(whole - after, abs=1e-9 * np.trace(K))


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_go_to_the_nearest_mean(seed):
    X, labels, k = random_samples(seed)
    found = nearest_means(grouping(X @ X.T, labels, k))
    np.testing.assert_array_equal(found, naive.nearest_means(X, labels, k))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trap_and_the_way_out(seed):
    """Two clusters in the place of one, one in the place of two: k-means stays there.

    An exchange mends one such place, so three need three.
    """
    X, y = far_clusters(seed)
    K, labels = rbf_kernel(X, gamma=0.5), trap(y)
    stuck = settled(grouping(K, labels, 12))
    assert accuracy(y, stuck.labels) < 0.9
    assert accuracy(y, regrouped(DenseGram(K), labels, 12)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_exchanged_where_that_gains_nothing(seed):
    X, y = far_clusters(seed)
    assert regrouped(DenseGram(rbf_kernel(X, gamma=0.5)), y, 12) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_what_clusters_explain_never_falls(seed):
    K, labels, k = random_case(seed, n=120, k=12)
    before = settled(grouping(K, labels, k))
    after = regrouped(DenseGram(K), labels, k)
    if after is not None:
        assert naive.explained(K, after) > naive.explained(K, before.labels)


@pytest.mark.parametrize("seed", SEEDS)
def test_small_clusters_with_nothing_in_common_are_not_joined(seed):
    """Though a large one, loosely knit, would be better explained in two."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), [300, 20, 20])
    X = rng.normal(size=(340, 5)) + 12 * np.eye(5)[y]
    K = DenseGram(rbf_kernel(X, gamma=0.1))
    two = np.where(y == 0, 3 * (X[:, 4] > 0), y)
    joined = np.where(y == 2, 1, two)
    assert naive.explained(K.K, joined) > 1.01 * naive.explained(K.K, y)
    assert regrouped(K, y, 3) is None


def test_an_empty_cluster_is_put_to_use():
    X, y = far_clusters(0)
    labels = np.where(y == 11, 10, y)
    assert accuracy(y, regrouped(DenseGram(rbf_kernel(X, gamma=0.5)), labels, 12)) == 1


def test_duplicates_and_single_samples_are_not_cut():
    labels = np.repeat(np.arange(4), 3)
    labels[-1] = 4
    found = grouping(np.kron(np.eye(4), np.ones((3, 3))), labels, 5)
    assert not (halves(found).gains > 1e-9).any()
    assert exchange(found, 1e-9) is None


@pytest.mark.filterwarnings("ignore:LSNMF stopped at max_iter")
@pytest.mark.parametrize("seed", SEEDS)
def test_samples_on_rays_belong_together_whatever_their_length(seed):
    """As they do in the objective: k-means of the samples themselves would cut rays in two."""
    rng = np.random.default_rng(seed)
    y = np.arange(240) % 12
    X = rng.normal(size=(12, 20))[y] + 0.1 * rng.normal(size=(240, 20))
    X *= np.exp(0.5 * rng.normal(size=(240, 1)))
    K = DenseGram(X @ X.T)
    assert regrouped(K, y, 12) is None
    assert accuracy(y, regrouped(K, trap(y), 12)) == 1
    options = {"lam": 0.0, "row_norm": None, "n_init": 2, "max_iter": 60, "random_state": seed}
    one, two = (LSNMF(12, **options, regroup=regroup).fit(X) for regroup in (True, False))
    assert one.objective_ <= 1.05 * two.objective_


def test_samples_of_zeros_weigh_nothing():
    X, y = far_clusters(0)
    with_zeros = np.concatenate([X, np.zeros((10, 3))])
    labels = np.concatenate([trap(y), np.arange(10)])
    K, K_zeros = X @ X.T, with_zeros @ with_zeros.T
    for one, two in (
        (grouping(K, trap(y), 12), grouping(K_zeros, labels, 12)),
        (settled(grouping(K, trap(y), 12)), settled(grouping(K_zeros, labels, 12))),
    ):
        np.testing.assert_array_equal(one.labels, two.labels[: len(y)])
        np.testing.assert_allclose(one.explained, two.explained, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_unit_of_the_samples_does_not_matter(scale, recwarn):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 3)), rng.integers(6, size=60)
    expected = regrouped(DenseGram(X @ X.T), labels, 6)
    np.testing.assert_array_equal(regrouped(DenseGram(scale * (X @ X.T)), labels, 6), expected)
    assert not recwarn


@pytest.mark.parametrize("options", [{"init": "random", "n_init": 2}, {"n_clusters": 2}])
def test_where_nothing_can_be_exchanged_nothing_is_prepared(options, monkeypatch):
    def refuse(*_):
        raise AssertionError("a copy of K")

    monkeypatch.setattr("klsnmf.grams.array.DenseGram.in_single_precision", refuse)
    X, _ = far_clusters(0)
    KLSNMF(**{"n_clusters": 4, "kernel": "rbf", "n_init": 2, "random_state": 0} | options).fit(X)


@pytest.fixture
def trapped(monkeypatch):
    """Samples in clusters, and k-means that has some of them joined and others cut."""
    X, y = far_clusters(0)
    monkeypatch.setattr(
        "klsnmf.solve.starts.kmeans_labels", lambda X, k, seeds: [trap(y)] * len(seeds)
    )
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


@pytest.mark.parametrize("first", [lambda y: y, lambda y: trap(y, groups=(1, 2, 3))])
def test_starts_that_become_equal_are_fitted_once(first, monkeypatch):
    X, y = far_clusters(0)
    monkeypatch.setattr("klsnmf.solve.starts.kmeans_labels", lambda *_: [first(y), trap(y)])
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
