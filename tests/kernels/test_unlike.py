"""New samples that are unlike all samples of the fit."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf.kernels.unlike import unlike


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
    np.testing.assert_array_equal(unlike(X, Y), slowly(X, Y))
    np.testing.assert_array_equal(unlike(sparse.csr_array(X), sparse.csr_array(Y)), slowly(X, Y))
    assert not unlike(X, X).any()
    assert not unlike(X[:1], Y).any()


def test_new_samples_of_the_same_kind_are_rarely_unlike():
    """With a chance of 1 in n + 1, here 1 in 20: 50 of 1000 draws, give or take 7."""
    rng = np.random.default_rng(0)
    found = [unlike(rng.normal(size=(19, 3)), rng.normal(size=(1, 3)))[0] for _ in range(1000)]
    assert 0.02 < np.mean(found) < 0.09
