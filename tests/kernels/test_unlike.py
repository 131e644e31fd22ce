"""New samples that are unlike all samples of the fit."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf.kernels.unlike import beside


def slowly(X, Y):
    """By all distances: the 7th smallest to the samples, of a sample without its own."""
    between = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(between, np.inf)
    widest = np.sort(between, axis=1)[:, 6].max()
    return np.sort(np.linalg.norm(Y[:, None] - X[None], axis=2), axis=1)[:, 6] > widest


@pytest.mark.parametrize("seed", range(3))
def test_unlike_is_farther_than_any_sample_is(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(80, 4)), 3 * rng.normal(size=(60, 4))
    np.testing.assert_array_equal(beside(X, Y).unlike, slowly(X, Y))
    np.testing.assert_array_equal(
        beside(sparse.csr_array(X), sparse.csr_array(Y)).unlike, slowly(X, Y)
    )
    assert not beside(X, X).unlike.any()
    assert not beside(X[:1], Y).unlike.any()


def test_new_samples_of_the_same_kind_are_rarely_unlike():
    """With a chance of 1 in n + 1, here 1 in 20: 50 of 1000 draws, give or take 7."""
    rng = np.random.default_rng(0)
    found = [
        beside(rng.normal(size=(19, 3)), rng.normal(size=(1, 3))).unlike[0] for _ in range(1000)
    ]
    assert 0.02 < np.mean(found) < 0.09


@pytest.mark.parametrize("seed", range(3))
def test_novelty_is_a_share_of_the_samples(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(80, 4)), 2 * rng.normal(size=(60, 4))
    between = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(between, np.inf)
    new = np.linalg.norm(Y[:, None] - X[None], axis=2).min(axis=1)
    slowly = [(between.min(axis=1) < each).mean() for each in new]
    np.testing.assert_allclose(beside(X, Y).novelty, slowly)
    np.testing.assert_array_equal(beside(X, X).novelty, 0)
    np.testing.assert_array_equal(beside(X[:1], Y).novelty, 0)


def test_far_samples_are_counted_where_chance_does_not_explain_them():
    rng = np.random.default_rng(0)
    X, everyone = rng.normal(size=(500, 3)), np.ones(100, bool)
    known, others = rng.normal(size=(100, 3)), rng.normal([6, 0, 0], size=(100, 3))
    assert beside(X, known).far(everyone) == 0
    assert beside(X, others).far(everyone) > 80
    mixed = np.vstack([known[:90], others[:10]])
    assert 5 <= beside(X, mixed).far(everyone) <= 15
    assert beside(X, mixed).far(np.arange(100) < 90) == 0


def test_samples_of_the_same_kind_are_seldom_called_far():
    """Once in a thousand draws, for few samples and for many."""
    rng = np.random.default_rng(1)
    for n, m in ((19, 40), (300, 40)):
        draws = (beside(rng.normal(size=(n, 2)), rng.normal(size=(m, 2))) for _ in range(200))
        assert sum(each.far(np.ones(m, bool)) > 0 for each in draws) <= 3
