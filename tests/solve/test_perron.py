"""The exact solver at λ = 0 in the space of features."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from klsnmf.core.kmeans import by_appearance
from klsnmf.grams.walk import Features
from klsnmf.solve import perron
from klsnmf.solve.perron import best_of, exchanged, halves, joining_costs, members_of, settled

from ..naive import klsnmf as naive
from ..naive import walking

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed):
    """Features whose products are nowhere negative, their kernel, clusters that have samples."""
    rng = np.random.default_rng(seed)
    n, k, m = rng.integers(8, 40), rng.integers(2, 5), rng.integers(2, 8)
    F = rng.uniform(size=(n, m)) * (rng.uniform(size=(n, m)) < 0.7)
    F = Features(F, rng.uniform(0, rng.integers(3), size=n))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, size=n - k)])
    return F, F.along @ F.along.T + np.diag(F.beside), labels, int(k)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_clusters_explain_their_leading_eigenvalues_and_more_with_every_step(seed):
    F, K, labels, k = problem(seed)
    last = 0.0
    for steps in (1, 2, 4, 8, 30):
        found = settled(F, labels, k, steps)
        assert found.total >= last - 1e-9 * np.trace(K)
        last = found.total
        _, values = naive.perron(K, found.labels, k)
        assert (found.explained <= values + 1e-9 * np.trace(K)).all()
    G = np.zeros((len(K), k))
    G[np.arange(len(K)), found.labels] = found.shares
    np.testing.assert_allclose(found.explained, np.diag(G.T @ K @ G), atol=1e-9 * np.trace(K))


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_exchanges_only_gain(seed):
    F, _, labels, k = problem(seed)
    before = settled(F, labels, k)
    assert exchanged(F, before).total >= before.total
    assert best_of(F, [labels], k).total >= before.total


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_joining_costs_at_least_what_eigenvalues_say(seed):
    F, K, labels, k = problem(seed)
    found = settled(F, labels, k)
    costs, missing = joining_costs(found), naive.perron(K, found.labels, k)[1] - found.explained
    for a in range(k):
        for b in range(a + 1, k):
            if {a, b} <= set(found.labels):
                exact = walking.joined_cost(K, found.labels, a, b)
                assert costs[a, b] >= exact - missing[a] - missing[b] - 1e-9 * np.trace(K)


def of_halves(V, beside, side):
    """What the two halves of a cluster explain at most."""
    K = V.astype(float) @ V.T.astype(float) + np.diag(beside)
    return sum(np.linalg.eigvalsh(K[half][:, half])[-1] for half in (side, ~side))


@settings(max_examples=60, deadline=None)
@given(SEEDS)
@example(928)
@example(1332608)
def test_clusters_are_cut_side_by_side_as_each_would_be_alone(seed):
    F, _, labels, k = problem(seed)
    members = members_of(labels, k)
    sums = np.array([F.along[each].sum(axis=0) + 1e-3 for each in members])
    for told in (sums, None):
        for c, cut in enumerate(halves(F, members, told)):
            own = members[c]
            if len(own) < 4:
                assert cut.total == -np.inf
                continue
            V = F.along[own]
            p = V.sum(axis=0) if told is None else told[c]
            with np.errstate(all="ignore"):
                way = perron._HALVING_STEPS, perron._DIRECTION_STEPS
                answers = walking.halves(V, F.beside[own], p, *way)
            if np.isfinite(cut.total) and all(np.isfinite(total) for total, _ in answers):
                total, side = min(answers, key=lambda answer: abs(answer[0] - cut.total))
                np.testing.assert_allclose(cut.total, total, rtol=1e-6)
                if not any(np.array_equal(cut.side, side) for _, side in answers):
                    # Rounding decides between equally good cuts.
                    both = [of_halves(V, F.beside[own], each) for each in (cut.side, side)]
                    np.testing.assert_allclose(*both, rtol=1e-2)


def test_a_few_samples_and_equal_ones_are_not_cut():
    F = Features(np.ones((9, 2)), np.zeros(9))
    few, equal = halves(F, [np.arange(3), np.arange(3, 9)])
    assert few.total == equal.total == -np.inf
    assert not few.side.any()
    assert not equal.side.any()


@pytest.mark.parametrize("seed", range(5))
def test_a_cluster_cut_in_two_and_two_joined_are_mended(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 25)
    F = Features(np.eye(4)[y] + 0.1 * rng.normal(size=(100, 4)), np.zeros(100))
    wrong = np.where(y == 3, 2, y)
    wrong[:12] = 3  # half of cluster 0
    np.testing.assert_array_equal(by_appearance(best_of(F, [wrong], 4).labels), y)
    assert len(set(best_of(F, [wrong], 4, exchange=False).labels)) <= 4


@pytest.mark.parametrize("seed", range(5))
def test_from_high_above_exact_steps_are_those_of_k_means(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(80, 5)), np.arange(80) % 4
    lifted = Features(np.column_stack([X - X.mean(axis=0), np.full(80, 1e3)]), np.zeros(80))
    means = np.array([X[labels == c].mean(axis=0) for c in range(4)])
    nearest = np.square(X[:, None] - means).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(settled(lifted, labels, 4, steps=2).labels, nearest)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_samples_a_part_tells_the_clusters(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=3000)
    F = Features(np.eye(4)[y] + 0.1 * rng.normal(size=(3000, 4)), np.zeros(3000))
    starts = [np.where(y == 3, 2, y), rng.integers(4, size=3000)]
    seen = []

    def noted(F, labels, k, steps=perron._STEPS):
        seen.append(len(labels))
        return settled(F, labels, k, steps)

    monkeypatch.setattr(perron, "settled", noted)
    monkeypatch.setattr(perron, "_PART", 200)
    monkeypatch.setattr(perron, "_PART_OF_CLUSTER", 50)
    part = perron.part_of(3000, 4)
    found = best_of(F, [labels[part] for labels in starts], 4)
    np.testing.assert_array_equal(by_appearance(found.labels), by_appearance(y))
    assert seen.count(3000) == 1  # all samples once, when the clusters are known
    assert set(seen) == {200, 3000}
