"""Missing entries: searches against their naive twin, shares of guesses, and what is chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klsnmf.solve import fill
from klsnmf.solve.fill import Settings, by_neighbours, filling, largest_singular_value, shares

from ..naive import filling as naive

seeds = st.integers(0, 2**32 - 1)


def with_gaps(X, share, seed):
    return np.where(np.random.default_rng([seed, 1]).random(X.shape) < share, np.nan, X)


def how(seed=0, fits=2):
    return Settings(fits, 100, 1e-3, np.random.RandomState(seed))


@given(seed=seeds, share=st.sampled_from([0.1, 0.5, 0.9]), few=st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_guess_is_the_mean_of_the_nearest_rows_that_know(seed, share, few):
    rng = np.random.default_rng(seed)
    truth, donors = rng.random((7, 6)), rng.random((23, 6))
    X, known = with_gaps(truth, share, seed), with_gaps(donors, share, seed + 1)
    guess, table = rng.random(X.shape), np.where(np.isnan(known), rng.random(donors.shape), donors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fill, "NEIGHBOURS", 3)
        patch.setattr(fill, "MOST_LOOKED_AT", 5 if few else 100)
        patch.setattr(fill, "_BLOCK", 200)  # several parts
        found = by_neighbours(X, guess, known, table)
    filled_share = max(1 - np.isnan(known).mean(), 1e-3)
    looked_at = min(int(np.ceil(4.5 / filled_share)), 5 if few else 100, 23)
    expected = naive.by_neighbours(X, guess, known, table, 3, looked_at)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_shares_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(50)
    guesses = truth[:, None] + rng.normal(size=(50, 4)) * [0.1, 0.3, 0.2, 0.2]
    found = shares(guesses, truth)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    error = np.sum((guesses @ found - truth) ** 2)
    for other in rng.dirichlet([0.3] * 4, size=200):
        assert error <= np.sum((guesses @ other - truth) ** 2) * (1 + 1e-3)


def test_the_largest_singular_value():
    X = with_gaps(np.random.default_rng(0).random((30, 12)), 0.3, 0)
    exact = np.linalg.norm(np.nan_to_num(X), 2)
    assert largest_singular_value(X) == pytest.approx(exact, rel=1e-3)


def planted(n=120, p=40, rank=4, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, rank)) @ rng.random((rank, p)) + noise * rng.normal(size=(n, p))


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_low_rank_is_filled_by_its_factors(seed):
    X = np.abs(planted(seed=seed)).astype(np.float32)
    seen = with_gaps(X, 0.3, seed)
    found, filled = filling(seen, None, how(seed))
    gone = np.isnan(seen)
    error = np.sqrt(np.mean((filled - X)[gone] ** 2))
    assert error < 0.15 * X.std()
    assert found.error == pytest.approx(error, rel=0.5)
    assert found.weights[0] > 0.5
    np.testing.assert_array_equal(filled[~gone], seen[~gone])


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_many_small_groups_is_filled_by_neighbours(seed):
    """Rows of one group are alike, and groups have nothing in common that few factors could say."""
    rng = np.random.default_rng(seed)
    X = rng.random((40, 30)).repeat(8, axis=0) + 0.02 * rng.random((320, 30))
    seen = with_gaps(X, 0.3, seed).astype(np.float32)
    found, filled = filling(seen, 5, how(seed))
    assert found.weights[1:3].sum() > 0.5
    assert np.sqrt(np.mean((filled - X)[np.isnan(seen)] ** 2)) < 0.2 * X.std()


def test_few_of_many_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr(fill, "MOST_ROWS", 50)
    X = np.abs(planted()).astype(np.float32)
    found, filled = filling(with_gaps(X, 0.2, 0), 4, how())
    assert found.donors.shape == found.tables[0].shape == found.tables[1].shape == (50, 40)
    assert np.isfinite(filled).all()


def test_ranks_rise_while_the_error_falls(monkeypatch):
    asked = []
    fitted = fill.fitted

    def noted(X, rank, ridge, settings):
        asked.append(rank)
        return fitted(X, rank, ridge, settings)

    monkeypatch.setattr(fill, "fitted", noted)
    X = np.abs(planted(rank=8, noise=0.0)).astype(np.float32)
    found, _ = filling(with_gaps(X, 0.2, 0), None, how())
    assert asked[:2] == [5, 10]
    assert found.factors.rank >= 10
    assert asked[-1] == found.factors.rank


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_which_nothing_can_be_known_is_filled_by_means(seed):
    rng = np.random.default_rng(seed)
    X = (np.arange(1, 21) + rng.random((200, 20))).astype(np.float32)
    seen = with_gaps(X, 0.5, seed)
    found, filled = filling(seen, None, how(seed))
    gone = np.isnan(seen)
    assert np.sqrt(np.mean((filled - X)[gone] ** 2)) < 1.05 * 12**-0.5
    np.testing.assert_allclose(found.means, np.nanmean(seen, axis=0), rtol=1e-5)
