"""Exchanges of clusters: against the naive twin, on the trap they are made for, and in fits."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf import KLSNMF, LSNMF, path
from klsnmf.grams.array import DenseGram
from klsnmf.metrics import accuracy
from klsnmf.solve.regroup import (
    Grouping,
    best_cuts,
    best_moves,
    exchange,
    half_joining_costs,
    joining_costs,
    regrouped,
    settled,
)

from ..naive import klsnmf as naive_klsnmf
from ..naive import regrouping as naive

SEEDS = range(5)


def random_case(seed, n=40, k=5, *, signed=True):
    """A positive semidefinite K of samples of all lengths, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return X @ X.T if signed else np.abs(X) @ np.abs(X).T, labels, k


def some_vectors(K, labels, k, seed=0):
    """Clusters with vectors that are no eigenvectors."""
    values = np.random.default_rng(seed).uniform(0.1, 1, size=len(labels))
    return Grouping.with_shares(DenseGram(K), labels, values, k)


def eigenvectors(K, labels, k):
    """Clusters with the leading eigenvectors of their blocks."""
    G, _ = naive_klsnmf.perron(K, labels, k)
    return Grouping.with_shares(DenseGram(K), labels, G.sum(axis=1), k)


def labels_after(K, labels, k):
    """After exact steps and all exchanges; None if there was none."""
    before = settled(K, [labels], k)
    (after,) = regrouped(K, before)
    return None if after is before[0] else after.labels


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
def test_clusters_explain_what_their_vectors_do(seed):
    K, labels, k = random_case(seed)
    group = some_vectors(K, labels, k, seed)
    G = naive.vectors(labels, group.shares, k)
    np.testing.assert_allclose(np.linalg.norm(G, axis=0), 1)
    np.testing.assert_allclose(group.explained, np.diag(G.T @ K @ G), atol=1e-9)
    np.testing.assert_allclose(group.inner(group.likeness), G.T @ K @ G, atol=1e-9)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_joining_costs_what_the_best_combination_leaves_out(seed, signed):
    K, labels, k = random_case(seed, signed=signed)
    group = some_vectors(K, labels, k, seed)
    G, costs = naive.vectors(labels, group.shares, k), joining_costs(group)
    for a in range(k):
        for b in set(range(k)) - {a}:
            apart = G[:, a] @ K @ G[:, a] + G[:, b] @ K @ G[:, b]
            cost = apart - naive.together(K, G[:, a], G[:, b])
            assert costs[a, b] == pytest.approx(cost, abs=1e-9 * np.trace(K))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cut_gains_what_it_says(seed):
    K, labels, k = random_case(seed)
    group = some_vectors(K, labels, k, seed)
    cuts = best_cuts(group)
    G, H = (naive.vectors(each.labels, each.shares, each.k) for each in (group, cuts.halves))
    before, after = np.diag(G.T @ K @ G), np.diag(H.T @ K @ H)
    np.testing.assert_array_equal(cuts.halves.labels % k, labels)
    for c in np.flatnonzero(np.isfinite(cuts.gains)):
        gain = after[c] + after[c + k] - before[c]
        assert cuts.gains[c] == pytest.approx(gain, abs=1e-9 * np.trace(K))
        assert cuts.gains[c] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_joining_half_of_a_cluster_to_another_costs_what_it_says(seed):
    K, labels, k = random_case(seed)
    group = some_vectors(K, labels, k, seed)
    cuts = best_cuts(group)
    costs = half_joining_costs(group, cuts)
    G, H = (naive.vectors(each.labels, each.shares, each.k) for each in (group, cuts.halves))
    for half, c in np.ndindex(2, k):
        h = H[:, c + half * k]
        for other in set(range(k)) - {c}:
            apart = h @ K @ h + G[:, other] @ K @ G[:, other]
            cost = apart - (naive.together(K, h, G[:, other]) if h.any() else 0)
            if h.any():
                assert costs[half, c, other] == pytest.approx(cost, abs=1e-9 * np.trace(K))


@pytest.mark.parametrize("seed", range(20))
def test_no_exchange_promises_more_than_the_eigenvalues_of_blocks_give(seed):
    """Cuts, joins and moves of single samples, for K ≥ 0 and the leading eigenvectors."""
    K, labels, k = random_case(seed, signed=False)
    group, whole = eigenvectors(K, labels, k), naive.largest_eigenvalues(K, labels)
    rounding, costs, cuts = 1e-9 * np.trace(K), joining_costs(group), best_cuts(group)
    for a, b in np.argwhere(np.isfinite(costs)):
        after = naive.largest_eigenvalues(K, naive.joined(labels, a, b))
        assert whole - after <= costs[a, b] + rounding
    for c in np.flatnonzero(np.isfinite(cuts.gains)):
        after = naive.largest_eigenvalues(K, naive.cut(labels, c, cuts.side))
        assert after - whole >= cuts.gains[c] - rounding
    for i, (gain, target) in enumerate(zip(*best_moves(group), strict=True)):
        if np.isfinite(gain):
            moved = np.where(np.arange(len(labels)) == i, target, labels)
            assert naive.largest_eigenvalues(K, moved) - whole >= gain - rounding


def test_the_last_sample_of_a_cluster_does_not_leave_it():
    labels = np.array([0, 0, 0, 1])
    gains, _ = best_moves(eigenvectors(np.ones((4, 4)), labels, 2))
    assert gains[3] == -np.inf


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trap_and_the_way_out(seed):
    """Two clusters in the place of one, one in the place of two: exact steps stay there.

    An exchange mends one such place, so three need three.
    """
    X, y = far_clusters(seed)
    K, labels = DenseGram(rbf_kernel(X, gamma=0.5)), trap(y)
    (stuck,) = settled(K, [labels], 12)
    assert accuracy(y, stuck.labels) < 0.9
    assert accuracy(y, labels_after(K, labels, 12)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_exchanged_where_that_gains_nothing(seed):
    X, y = far_clusters(seed)
    assert labels_after(DenseGram(rbf_kernel(X, gamma=0.5)), y, 12) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_objective_never_rises(seed):
    """All solutions are regrouped side by side, and each as it would be alone."""
    K, labels, k = random_case(seed, n=120, k=12)
    rng, K = np.random.default_rng(seed), DenseGram(K)
    before = settled(K, [labels, rng.permutation(labels), rng.permutation(labels)], k)
    after = regrouped(K, before)
    for old, new in zip(before, after, strict=True):
        assert new is old or new.objective < old.objective
        (alone,) = regrouped(K, [old])
        np.testing.assert_array_equal(alone.labels, new.labels)


@pytest.mark.parametrize("seed", SEEDS)
def test_small_clusters_with_nothing_in_common_are_not_joined(seed):
    """Though a large one, loosely knit, would be better explained in two."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), [300, 20, 20])
    X = rng.normal(size=(340, 5)) + 12 * np.eye(5)[y]
    K = DenseGram(rbf_kernel(X, gamma=0.1))
    two = np.where(y == 0, 3 * (X[:, 4] > 0), y)
    joined = np.where(y == 2, 1, two)
    assert naive.largest_eigenvalues(K.K, joined) > 1.01 * naive.largest_eigenvalues(K.K, y)
    after = labels_after(K, y, 3)
    assert after is None or accuracy(y, after) == 1


def test_an_empty_cluster_is_put_to_use():
    X, y = far_clusters(0)
    labels = np.where(y == 11, 10, y)
    group = eigenvectors(rbf_kernel(X, gamma=0.5), labels, 12)
    assert accuracy(y, exchange(group, 1e-9)) == 1


def test_duplicates_and_single_samples_are_not_cut():
    labels = np.repeat(np.arange(4), 3)
    labels[-1] = 4
    found = eigenvectors(np.kron(np.eye(4), np.ones((3, 3))), labels, 5)
    assert not (best_cuts(found).gains > 1e-9).any()
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
    assert labels_after(K, y, 12) is None
    assert accuracy(y, labels_after(K, trap(y), 12)) == 1
    options = {"lam": 0.0, "row_norm": None, "n_init": 2, "max_iter": 60, "random_state": seed}
    one, two = (LSNMF(12, **options, regroup=regroup).fit(X) for regroup in (True, False))
    assert one.objective_ <= 1.05 * two.objective_


def test_samples_of_zeros_weigh_nothing():
    X, y = far_clusters(0)
    with_zeros = np.concatenate([X, np.zeros((10, 3))])
    labels = np.concatenate([trap(y), np.arange(10)])
    one = eigenvectors(X @ X.T, trap(y), 12)
    two = eigenvectors(with_zeros @ with_zeros.T, labels, 12)
    np.testing.assert_allclose(two.explained, one.explained, rtol=1e-9)
    np.testing.assert_allclose(joining_costs(two), joining_costs(one), atol=1e-9)
    np.testing.assert_array_equal(best_cuts(two).side[: len(y)], best_cuts(one).side)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_unit_of_the_samples_does_not_matter(scale, recwarn):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 3)), rng.integers(6, size=60)
    expected = labels_after(DenseGram(X @ X.T), labels, 6)
    np.testing.assert_array_equal(labels_after(DenseGram(scale * (X @ X.T)), labels, 6), expected)
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
        "klsnmf.solve.starts.kmeans_labels", lambda X, k, seeds, **_: [trap(y)] * len(seeds)
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
    monkeypatch.setattr("klsnmf.solve.starts.kmeans_labels", lambda *_, **__: [first(y), trap(y)])
    seen = []
    KLSNMF(12, **OPTIONS, callback=seen.append).fit(X)
    assert {progress.fits for progress in seen if progress.phase != "screening"} == {1}


@pytest.mark.parametrize("solver", ["paper", "soft"])
def test_solvers_without_exact_steps_begin_where_they_are_told(solver):
    X, _ = far_clusters(0)
    options = {"kernel": "rbf", "solver": solver, "n_init": 1, "random_state": 0, "max_iter": 5}
    with pytest.warns(Warning, match="max_iter"):
        one, two = (KLSNMF(12, **options, regroup=regroup).fit(X) for regroup in (False, True))
    np.testing.assert_array_equal(one.G_, two.G_)
