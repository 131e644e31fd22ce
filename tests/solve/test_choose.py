"""The rules by which an answer is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks.planted import dense_and_thin, moons_in_noise, rings_in_noise, waves
from klsnmf import KLSNMF
from klsnmf.kernels.build import KernelSettings
from klsnmf.kernels.graphs import NOISY, THIN, Neighborhood, neighborhood, numbers_of_neighbors
from klsnmf.solve.choose import RULE, Evidence, choose

from ..naive import links as naive

SETTINGS = KernelSettings("self-tuning", n_neighbors="auto", diffusion="auto", sizes="auto")


def groups(seed, sizes, apart=12.0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return apart * np.eye(len(sizes))[y] + rng.normal(size=(len(y), len(sizes))), y


def test_a_free_answer_must_lose_much_less_tell_as_much_and_have_no_specks():
    good = {"ratio": 0.5, "kept": 0.7, "tells": 0.1, "smallest": 30}
    assert RULE.prefers(Evidence(**good), 10)
    assert not RULE.prefers(Evidence(**good | {"ratio": 0.7}), 10)
    assert not RULE.prefers(Evidence(**good | {"tells": -0.1}), 10)
    assert RULE.prefers(Evidence(**good | {"tells": -0.1, "kept": 0.9}), 10)
    assert not RULE.prefers(Evidence(**good | {"smallest": 10}), 10)


def test_of_free_answers_one_with_fewer_neighbours_must_lose_an_eighth_less():
    few, many = (Evidence(ratio=ratio, kept=0.7, tells=0.1, smallest=20) for ratio in (0.4, 0.44))
    assert RULE.best([few, many], 10) == 1
    assert RULE.best([replace(few, ratio=0.38), many], 10) == 0
    assert RULE.best([few, replace(many, ratio=0.7)], 10) == 0
    assert RULE.best([replace(few, ratio=0.7), replace(many, smallest=10)], 10) is None


def test_fewer_neighbours_must_lose_less_and_pieces_are_left_alone():
    assert RULE.is_thin(0.3, 0.4)
    assert not RULE.is_thin(0.38, 0.4)
    assert not RULE.is_thin(0.01, 0.04)


def test_an_answer_by_density_must_lose_an_eighth_less():
    assert RULE.is_denser(Evidence(0.8, 0.7, -0.1, 30))
    assert not RULE.is_denser(Evidence(0.9, 0.7, 0.1, 30))


@pytest.mark.parametrize("seed", range(3))
def test_links_by_density_have_the_density_at_both_ends(seed):
    X, _ = rings_in_noise(seed)
    graph = SETTINGS.graphs(X[::8], 3).graph(10)
    dense, r = graph.by_density(), graph.kernel.base.r
    expected = naive.by_density(graph.K.K.toarray(), r, r, np.median(r))
    np.testing.assert_allclose(dense.K.K.toarray(), expected)
    assert dense.pieces == graph.pieces
    np.testing.assert_allclose(dense.kernel.rows(X[::8])[0].toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [moons_in_noise, waves])
def test_samples_between_clusters_are_no_way_from_one_to_the_other(kind, seed):
    X, y = kind(seed)
    model = KLSNMF(2, random_state=seed).fit(X)
    assert adjusted_rand_score(y[y >= 0], model.labels_[y >= 0]) > 0.98
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("seed", range(3))
def test_thin_clusters_are_judged_on_their_own_graph(seed):
    """The trap: arms of a spiral were cut across, which loses less on the usual graph."""
    rng = np.random.default_rng(seed)
    y, place = np.divmod(np.arange(312), 104)
    t = 1 + 3 * np.pi * np.sqrt((place + 0.5) / 104)
    angle = t + 2 * np.pi * y / 3
    X = t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.03 * rng.normal(size=X.shape)
    graphs = SETTINGS.graphs(X, 3)
    plain = replace(graphs, numbers=replace(graphs.numbers, dense=False))
    found, thin = (choose(each, X, np.random.RandomState(seed)).answer for each in (graphs, plain))
    assert found.q == thin.q < 10
    np.testing.assert_array_equal(found.labels, thin.labels)


def test_clusters_that_nearly_all_walks_leave_say_nothing():
    assert RULE.says_nothing(0.97)
    assert not RULE.says_nothing(0.8)


def test_a_second_judge_is_asked_where_the_first_finds_much_less_lost():
    assert RULE.is_worth_a_look(Evidence(0.6, 0.2, -0.1, 3))
    assert not RULE.is_worth_a_look(Evidence(0.7, 0.2, 0.1, 30))


@pytest.mark.parametrize("seed", range(3))
def test_unequal_pieces_are_free_and_equal_ones_stay_even(seed):
    for sizes, even in (((400, 60, 25, 25), False), ((90, 90, 90, 90), True)):
        X, y = groups(seed, sizes)
        graphs = SETTINGS.graphs(X, 4)
        choice = choose(graphs, X, np.random.RandomState(seed))
        assert len({(a, b) for a, b in zip(y, choice.answer.labels, strict=True)}) == 4
        assert choice.answer.even == even or choice.answer.lost < RULE.separate


@pytest.mark.parametrize("seed", range(3))
def test_a_dense_cluster_is_not_cut_where_thin_ones_lie_beside_it(seed):
    """Its halves would tell more of where walks end than the small clusters do."""
    X, y = dense_and_thin(seed)
    labels = choose(SETTINGS.graphs(X, 3), X, np.random.RandomState(seed)).answer.labels
    assert adjusted_rand_score(y, labels) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_decides_who_is_near_asks_for_many_neighbours(seed):
    rng = np.random.default_rng(seed)
    X, _ = groups(seed, (80, 80, 80))
    noisy = np.hstack([X / 12, rng.normal(size=(240, 200))])
    assert neighborhood(X, 10).noise < 0.2
    assert neighborhood(noisy, 10).noise > NOISY
    d2 = np.square(noisy[:, None] - noisy).sum(axis=2)
    near = np.median(np.sort(d2, axis=1)[:, 10])
    expected = near / (2 * np.square(noisy - noisy.mean(axis=0)).sum(axis=1).mean())
    assert neighborhood(noisy, 10).noise == pytest.approx(expected, rel=1e-6)
    assert numbers_of_neighbors(noisy, 3).usual == 40  # half a cluster
    assert numbers_of_neighbors(noisy, 3).noisy
    assert numbers_of_neighbors(X, 3).usual == 10


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("dimension", "least", "most"), [(1, 0.7, 1.6), (2, 1.5, 2.6), (8, 5, 10)])
def test_the_dimension_in_which_neighbours_lie(seed, dimension, least, most):
    """Of a flat piece of a space of 20 dimensions; few neighbours are for curves and sheets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(2000, dimension)) @ rng.normal(size=(dimension, 20))
    assert least < neighborhood(X, 10).dimension < most
    numbers = numbers_of_neighbors(X, 4)
    assert bool(numbers.fewer) == numbers.dense == (dimension <= THIN)


@pytest.mark.parametrize("X", [np.zeros((30, 2)), np.repeat(np.eye(5), 20, axis=0), np.eye(2)])
def test_equal_samples_have_neighbours_too(X):
    around = neighborhood(X, min(10, len(X) - 1))
    assert np.isfinite([around.noise, around.dimension]).all()


def test_where_a_graph_says_nothing_means_of_samples_are_taken(monkeypatch):
    X, _ = groups(0, (80, 80, 80), apart=3.0)
    monkeypatch.setattr("klsnmf.kernels.graphs.neighborhood", lambda *_: Neighborhood(1.0, 3.0))
    monkeypatch.setattr("klsnmf.solve.choose.Rule.prefers", lambda *_: False)
    monkeypatch.setattr("klsnmf.solve.choose.Rule.says_nothing", lambda *_: True)
    model = KLSNMF(3, random_state=0).fit(X)
    means = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    nearest = np.square(X[:, None] - means).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == model.labels_) > 0.97
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert not hasattr(model, "diffusion_")
