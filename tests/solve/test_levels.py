"""Numbers of clusters that persist: pieces, blobs, nothing; levels, and their tree."""

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

import klsnmf
from klsnmf import KLSNMF, n_clusters_evidence
from klsnmf.estimators.notes import FitWarning, NotClear
from klsnmf.grams import walk as walk_module
from klsnmf.grams.array import DenseGram
from klsnmf.io.model_file import load, save
from klsnmf.kernels import graphs as graphs_module
from klsnmf.kernels.count import Evidence, chosen_of
from klsnmf.kernels.graphs import NeighborGraphs, Numbers
from klsnmf.kernels.levels import tree_of
from klsnmf.solve import levels as levels_module
from klsnmf.solve.levels import (
    Counted,
    Directions,
    count,
    count_on,
    numbered,
    slow_directions,
    together,
    told_by,
)

from ..naive import levels as naive


def planted(k, dim, seed, sizes=60, apart=9.0):
    """Round clusters whose centres are apart."""
    rng = np.random.default_rng(seed)
    spread, centres = apart, []
    while len(centres) < k:
        one = spread * rng.normal(size=dim)
        if all(np.linalg.norm(one - other) >= apart for other in centres):
            centres.append(one)
        spread *= 1.01
    y = np.repeat(np.arange(k), sizes)
    return np.array(centres)[y] + rng.normal(size=(len(y), dim)), y


def rings(seed, n=300):
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0, 2 * np.pi, 2 * n), np.repeat([0, 1], n)
    radius = np.where(y, 4.0, 1.5) + 0.05 * rng.normal(size=2 * n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def spirals(seed, n=200):
    rng = np.random.default_rng(seed)
    t, y = np.tile(np.linspace(3, 9, n), 3), np.repeat(np.arange(3), n)
    angle = t + 2 * np.pi * y / 3
    X = t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.05 * rng.normal(size=X.shape)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dim", [2, 10, 50])
@pytest.mark.parametrize("k", [3, 8])
def test_clusters_apart_are_counted(k, dim, seed):
    X, _ = planted(k, dim, seed)
    evidence = n_clusters_evidence(X, random_state=seed)
    assert evidence.chosen == k
    assert evidence.clear or k > 3  # where they lie close in the plane, 7 may be nearly as good
    assert evidence.levels[0] == k


@pytest.mark.parametrize("seed", range(2))
def test_clusters_of_unequal_size_are_counted(seed):
    X, _ = planted(5, 10, seed, sizes=np.geomspace(20, 400, 5).round().astype(int))
    assert n_clusters_evidence(X, random_state=seed).chosen == 5


@pytest.mark.parametrize("seed", range(2))
def test_rings_moons_and_spirals_are_pieces(seed):
    moons = make_moons(400, noise=0.05, random_state=seed)[0]
    for X, k in ((rings(seed), 2), (moons, 2), (spirals(seed), 3)):
        assert n_clusters_evidence(X, random_state=seed).chosen == k


@pytest.mark.parametrize("seed", range(3))
def test_samples_scattered_between_clusters_do_not_hide_them(seed):
    rng = np.random.default_rng(seed)
    moons = make_moons(700, noise=0.05, random_state=seed)[0]
    X = np.vstack([moons, rng.uniform([-1.3, -0.8], [2.3, 1.3], (40, 2))])
    assert n_clusters_evidence(X, random_state=seed).chosen == 2


@pytest.mark.parametrize("seed", range(8))
def test_answers_that_are_clear_are_right(seed):
    """From clusters that touch, whose number may not be clear, to some that are far apart."""
    rng = np.random.default_rng(seed)
    k, dim = int(rng.integers(2, 7)), int(rng.integers(2, 20))
    for apart in (4.0, 5.0, 7.0, 12.0):
        found = n_clusters_evidence(planted(k, dim, seed, apart=apart)[0], random_state=0)
        assert found.chosen == k or not found.clear
    assert found.clear


@pytest.mark.parametrize("dim", [2, 10, 50])
def test_samples_without_clusters_are_one(dim):
    rng = np.random.default_rng(dim)
    for X in (rng.normal(size=(400, dim)), rng.uniform(size=(400, dim))):
        assert n_clusters_evidence(X, random_state=0).chosen == 1


def two_levels():
    """5 groups of 4 clusters."""
    rng = np.random.default_rng(0)
    groups = 60 * np.eye(5)
    centres = np.repeat(groups, 4, axis=0) + np.tile(9 * np.eye(4, 5), (5, 1))
    y = np.repeat(np.arange(20), 25)
    return centres[y] + rng.normal(size=(500, 5)), y


@cache
def profile_of_two_levels():
    return klsnmf.levels(two_levels()[0], random_state=0)


def test_two_levels_are_both_there_and_nested():
    _, y = two_levels()
    profile = profile_of_two_levels()
    assert {5, 20} <= set(profile.n_clusters)
    assert adjusted_rand_score(y, profile.labels(20)) > 0.99
    assert adjusted_rand_score(y // 4, profile.labels(5)) > 0.99
    tree = profile.tree
    place = tree.n_clusters.index(20)
    coarse = tree.n_clusters[place - 1]
    assert (tree.shares[place - 1] > 0.99).all()
    assert len(np.unique(tree.parents[place - 1])) == coarse


def test_levels_are_those_of_a_fit():
    X, _ = two_levels()
    profile = profile_of_two_levels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        fitted = KLSNMF("auto", random_state=0).fit(X)
    assert fitted.levels_.n_clusters == profile.n_clusters
    for level in profile:
        if level.joined:
            continue
        same = KLSNMF(level.n_clusters, random_state=0).fit(X).labels_
        np.testing.assert_array_equal(level.labels, same)
        rough = fitted.levels_.labels(level.n_clusters)
        assert adjusted_rand_score(rough, same) > 0.9
    np.testing.assert_array_equal(fitted.levels_[0].labels, fitted.labels_)
    with pytest.raises(ValueError, match="is no level; the levels are"):
        profile.labels(999)


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_a_tree(seed):
    rng = np.random.default_rng(seed)
    labels = {k: np.r_[np.arange(k), rng.integers(0, k, 90 - k)] for k in (2, 3, 7)}
    tree = tree_of(labels)
    assert tree.n_clusters == (2, 3, 7)
    for fine, coarse, parents, shares in zip(
        (3, 7), (2, 3), tree.parents, tree.shares, strict=True
    ):
        assert parents.shape == shares.shape == (fine,)
        for c in range(fine):
            inside = labels[coarse][labels[fine] == c]
            assert np.mean(inside == parents[c]) == pytest.approx(shares[c])
            assert shares[c] == pytest.approx(np.bincount(inside).max() / len(inside))


@pytest.mark.parametrize("seed", range(2))
def test_order_and_scale_change_nothing(seed):
    for X in (planted(4, 5, seed)[0], rings(seed)):
        order = np.random.default_rng(seed).permutation(len(X))
        base = n_clusters_evidence(X, random_state=0)
        for other in (X[order], 1e-3 * X, 1e4 * X):
            found = n_clusters_evidence(other, random_state=0)
            assert found.chosen == base.chosen
            assert found.clear == base.clear


@pytest.mark.parametrize("n", [1, 2, 5, 9, 12])
def test_few_or_equal_samples_get_an_answer(n):
    for X in (np.ones((n, 2)), np.arange(2.0 * n).reshape(n, 2)):
        evidence = n_clusters_evidence(X, random_state=0)
        assert 1 <= evidence.chosen <= max(1, n // 4)
        assert evidence.verdict


def test_duplicates_get_an_answer():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 40, axis=0)
    assert n_clusters_evidence(X, random_state=0).chosen == 3


def test_an_answer_that_is_not_clear_warns_once():
    X = np.random.default_rng(3).normal(size=(300, 2))
    X[:150] += 3.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KLSNMF("auto", random_state=0).fit(X)
    told = [one for one in caught if isinstance(getattr(one.message, "note", None), NotClear)]
    assert len(told) == (not model.n_clusters_evidence_.clear)
    X, _ = planted(3, 5, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KLSNMF("auto", random_state=0).fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_what_slow_directions_say_as_it_is_written(seed):
    rng = np.random.default_rng(seed)
    centres = np.repeat(3 * np.eye(3), 15, axis=0)
    d2 = np.square((centres + rng.normal(size=(45, 3)))[:, None] - (centres)[None]).sum(axis=2)
    K = np.exp(-(d2 + d2.T) / 4)
    slow = slow_directions(DenseGram(K), 8, np.random.RandomState(0))
    labels = rng.permutation(np.arange(45) % 4)
    explained, modularity = told_by(labels, slow, 4)
    assert explained == pytest.approx(naive.explained(K, labels), abs=1e-8)
    assert modularity == pytest.approx(max(naive.modularity(K, labels), 0), abs=1e-8)
    evidence = count(DenseGram(K), 10, np.random.RandomState(0)).evidence
    values = np.linalg.eigvalsh(naive.steps(K))[::-1]
    for k, persistence in zip(evidence.candidates, evidence.persistence, strict=True):
        if k in (2, 3):
            assert persistence == pytest.approx(naive.persistence(values, k, 1 / 45**2), abs=1e-6)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}])
@pytest.mark.filterwarnings("ignore:.*stand")
def test_a_file_keeps_levels_of_any_kernel_and_of_no_clusters(tmp_path, params):
    for X in (planted(3, 5, 0)[0], np.random.default_rng(0).normal(size=(150, 5))):
        model = KLSNMF("auto", random_state=0, **params).fit(X)
        save(model, tmp_path / "model.npz")
        again, _ = load(tmp_path / "model.npz")
        assert repr(again.levels_) == repr(model.levels_)
        assert repr(again.n_clusters_evidence_) == repr(model.n_clusters_evidence_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_labels_are_numbered_as_they_appear():
    np.testing.assert_array_equal(numbered(np.array([4, 4, 1, 7, 1])), [0, 0, 1, 2, 1])


def counted(scores, q, *, n=400):
    """What a graph of q neighbours says, if the numbers from 2 up have these scores."""
    numbers, score = np.arange(2, 2 + len(scores)), np.array(scores, float)
    values = np.r_[1.0, np.full(len(scores) + 1, 0.9)]
    parts = q * np.ones(len(scores)), 0.9 * np.ones(len(scores)), 0.5 * np.ones(len(scores))
    evidence = Evidence(numbers, *parts, score, values, chosen_of(numbers, score))
    graph = SimpleNamespace(q=q)
    return Counted(evidence, Directions(values, np.zeros((n, 2)), np.ones(n)), None, graph)


def test_graphs_are_as_good_as_their_mean():
    both = together([counted([1.0, 0.9, 0.2], 10), counted([0.2, 0.8, 0.4], 25)])
    np.testing.assert_allclose(both.evidence.score, [0.6, 0.85, 0.3])
    assert both.evidence.chosen == 3
    assert both.neighbors == 10  # which is clearer there
    np.testing.assert_array_equal(both.evidence.persistence, [10, 10, 25])
    assert [one.neighbors for one in both.seen] == [10, 25]
    three = together([both.seen[0], both.seen[1], counted([0.0, 0.1, 0.0], 5)])
    np.testing.assert_allclose(three.evidence.score, [0.4, 0.6, 0.2])


def test_a_graph_without_room_for_its_neighbours_does_not_count():
    few = together([counted([1.0, 0.9, 0.6], 10, n=75), counted([1.0, 0.1, 0.0], 25, n=75)])
    np.testing.assert_allclose(few.evidence.score, [1.0, 0.5, 0.6])  # 25 > 75 // 4


def test_a_graph_alone_is_left_as_it_is():
    one = counted([1.0, 0.9, 0.2], 10)
    assert together([one]).evidence is one.evidence
    assert together([one]).seen == (one,)


@pytest.mark.parametrize(
    ("numbers", "n", "lonely", "seen"),
    [
        (Numbers(10, fewer=(5, 7), more=(25,)), 400, 0.0, ["10", "5", "25", "25 density"]),
        (Numbers(10, fewer=(5, 7), more=(25,)), 9000, 0.0, ["10", "25 density"]),
        (Numbers(10, fewer=(5, 7)), 400, 0.0, ["10", "5"]),
        (Numbers(10, more=(25,)), 400, 0.0, ["10"]),
        (Numbers(10, more=(25,)), 400, 0.01, ["10"]),
        (Numbers(10, more=(25,)), 400, 0.1, ["10 rank"]),
    ],
)
def test_graphs_that_count(monkeypatch, numbers, n, lonely, seen):
    class Graph(SimpleNamespace):
        def by_density(self):
            return Graph(q=self.q, K=f"{self.K} density")

        def by_rank(self):
            return Graph(q=self.q, K=f"{self.K} rank")

    asked = []

    def noted(K, q, *rest):
        asked.append(K)
        return counted([1.0, 0.1], q, n=n)

    monkeypatch.setattr(levels_module, "count", noted)
    monkeypatch.setattr(NeighborGraphs, "graph", lambda _, q: Graph(q=q, K=str(q), lonely=lonely))
    found = count_on(NeighborGraphs(numbers, None, None, 2), np.random.RandomState(0))
    assert asked == seen
    assert len(found.seen) == len(seen)


@pytest.mark.parametrize("seed", range(3))
def test_samples_far_from_all_others_do_not_hide_clusters(seed):
    """A walk stays at them for so long that its slowest directions tell nothing else."""
    rng = np.random.default_rng(seed)
    y, far = np.repeat(np.arange(4), 50), np.arange(200) % 4 == 0
    X = 300 * np.eye(4, 12)[y] + rng.normal(size=(200, 12))
    X[far] += 60 * rng.normal(size=(50, 12))
    assert n_clusters_evidence(X, random_state=seed).chosen == 4


@pytest.mark.filterwarnings("ignore:.*clusters")
def test_no_graph_is_made_twice(monkeypatch):
    made, linked = [], graphs_module._linked

    def noted(K, fitted):
        made.append(fitted.n_neighbors)
        return linked(K, fitted)

    monkeypatch.setattr(graphs_module, "_linked", noted)
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:150] += 3.5
    KLSNMF("auto", random_state=0).fit(X)
    assert made
    assert len(made) == len(set(made))


@pytest.mark.parametrize("n", [300, 900])
@pytest.mark.filterwarnings("ignore:.*clusters")
def test_no_eigenvectors_are_found_twice(monkeypatch, n):
    """The fit goes on with those that tell the number of clusters."""
    seen, found = [], levels_module.spectrum_of

    def noted(K, k):
        assert all(K is not one for one in seen)
        seen.append(K)
        return found(K, k)

    for module in (levels_module, walk_module):
        monkeypatch.setattr(module, "spectrum_of", noted)
    X, _ = planted(3, 2, 0, sizes=n // 3, apart=5.0)
    assert KLSNMF("auto", random_state=0).fit(X).n_clusters_ == 3
    assert len(seen) >= 4
