"""The rules by which an answer is chosen."""

import numpy as np
import pytest

from klsnmf import KLSNMF
from klsnmf.kernels.build import KernelSettings
from klsnmf.kernels.graphs import NOISY, noise_share, numbers_of_neighbors
from klsnmf.solve.choose import RULE, Evidence, choose

SETTINGS = KernelSettings("self-tuning", n_neighbors="auto", diffusion="auto", sizes="auto")


def groups(seed, sizes, apart=12.0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return apart * np.eye(len(sizes))[y] + rng.normal(size=(len(y), len(sizes))), y


def test_a_free_answer_must_lose_much_less_tell_as_much_and_have_no_specks():
    good = {"ratio": 0.5, "lost": 0.2, "tells": 0.1, "smallest": 30}
    assert RULE.prefers(Evidence(**good), 10)
    assert not RULE.prefers(Evidence(**good | {"ratio": 0.7}), 10)
    assert not RULE.prefers(Evidence(**good | {"tells": -0.1}), 10)
    assert RULE.prefers(Evidence(**good | {"tells": -0.1, "lost": 0.01}), 10)
    assert not RULE.prefers(Evidence(**good | {"smallest": 10}), 10)


def test_fewer_neighbours_must_lose_less_and_pieces_are_left_alone():
    assert RULE.is_thin(0.3, 0.4)
    assert not RULE.is_thin(0.38, 0.4)
    assert not RULE.is_thin(0.01, 0.04)


def test_a_crumb_in_the_place_of_a_cluster_is_a_lump():
    assert RULE.is_lump(3, 3, 1000)
    assert not RULE.is_lump(300, 3, 1000)


@pytest.mark.parametrize("seed", range(3))
def test_unequal_pieces_are_free_and_equal_ones_stay_even(seed):
    for sizes, even in (((400, 60, 25, 25), False), ((90, 90, 90, 90), True)):
        X, y = groups(seed, sizes)
        graphs = SETTINGS.graphs(X, 4)
        choice = choose(graphs, X, np.random.RandomState(seed))
        assert len({(a, b) for a, b in zip(y, choice.answer.labels, strict=True)}) == 4
        assert choice.answer.even == even or choice.answer.lost < RULE.separate


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_decides_who_is_near_asks_for_many_neighbours(seed):
    rng = np.random.default_rng(seed)
    X, _ = groups(seed, (100, 100, 100))
    noisy = np.hstack([X / 12, rng.normal(size=(300, 200))])
    assert noise_share(X, 10) < 0.2
    assert noise_share(noisy, 10) > NOISY
    d2 = np.square(noisy[:, None] - noisy).sum(axis=2)
    near = np.median(np.sort(d2, axis=1)[:, 10])
    expected = near / (2 * np.square(noisy - noisy.mean(axis=0)).sum(axis=1).mean())
    assert noise_share(noisy, 10) == pytest.approx(expected, rel=1e-6)
    assert numbers_of_neighbors(noisy, 3).usual == 50
    assert numbers_of_neighbors(noisy, 3).noisy
    assert numbers_of_neighbors(X, 3).usual == 10


def test_a_lump_is_fitted_by_means_of_samples(monkeypatch):
    X, _ = groups(0, (80, 80, 80), apart=3.0)
    monkeypatch.setattr("klsnmf.kernels.graphs.noise_share", lambda *_: 1.0)
    monkeypatch.setattr("klsnmf.solve.choose.Rule.prefers", lambda *_: False)
    monkeypatch.setattr("klsnmf.solve.choose.Rule.is_lump", lambda *_: True)
    model = KLSNMF(3, random_state=0).fit(X)
    means = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    nearest = np.square(X[:, None] - means).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == model.labels_) > 0.97
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert not hasattr(model, "diffusion_")
