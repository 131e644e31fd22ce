"""The exact search for neighbours, against all distances."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from klsnmf.kernels import search
from klsnmf.kernels.search import Rough, nearest_others, search_among

from ..naive import searching as naive


def groups(rng, n=120, p=20):
    return 3 * rng.normal(size=(4, p))[rng.integers(4, size=n)] + rng.normal(size=(n, p))


def tight(rng):
    """Groups that are tiny beside the distances between them: single precision sees points."""
    return 1e6 * rng.normal(size=(3, 20))[rng.integers(3, size=120)] + rng.normal(size=(120, 20))


def outlier(rng):
    X = groups(rng)
    X[7] *= 1e8
    return X


def doubles(rng):
    return np.vstack([groups(rng, 60), np.tile(groups(rng, 1), (40, 1)), groups(rng, 20)])


def counts(rng):
    return rng.integers(0, 3, size=(120, 20)).astype(float)


MADE = {
    "groups": groups,
    "far from zero": lambda rng: groups(rng) + 1e5,
    "tight": tight,
    "outlier": outlier,
    "doubles": doubles,
    "counts": counts,
    "equal": lambda rng: np.ones((50, 20)),
    "few features": lambda rng: rng.normal(size=(120, 3)),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", MADE)
def test_the_nearest_are_those_of_all_distances(kind, seed):
    X = MADE[kind](np.random.default_rng(seed))
    found, d2 = nearest_others(X, np.arange(len(X)), 12)
    np.testing.assert_allclose(d2, naive.nearest_others(X, 12), rtol=1e-9)
    again = np.square(X[:, None] - X[found]).sum(axis=2)
    np.testing.assert_allclose(d2, again, rtol=1e-9)
    assert (found != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 12 for row in found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", MADE)
def test_all_pairs_at_once_are_the_same(kind, seed):
    X = MADE[kind](np.random.default_rng(seed))
    search, some = search_among(X), np.arange(0, len(X), 3)
    for rows, m in ((np.arange(len(X)), 12), (some, 5)):
        found, d2 = search(rows, m)
        np.testing.assert_allclose(d2, naive.nearest_others(X, m)[rows], rtol=1e-8)
        again = np.square(X[rows, None] - X[found]).sum(axis=2)
        np.testing.assert_allclose(d2, again, rtol=1e-8)
        assert (found != rows[:, None]).all()
        assert all(len(set(row)) == m for row in found)


def test_the_distances_of_few_samples_are_computed_once(monkeypatch):
    X = groups(np.random.default_rng(0))
    search = search_among(X)
    first = search(np.arange(40), 5)
    monkeypatch.setattr("klsnmf.kernels.search.squared_distances", None)
    again = search(np.arange(80), 9)
    np.testing.assert_array_equal(again[0][:40, :5], first[0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", MADE)
def test_who_has_a_new_sample_within_reach_is_found(kind, seed):
    rng = np.random.default_rng(seed)
    X = MADE[kind](rng)
    Y, X = X[:20], X[20:]
    reach = naive.nearest_others(X, 5)[:, -1] * (1 + 1e-9)
    i, j, d2 = Rough(X).nearest(Y, 6, reach)
    found = set(zip(i, j, strict=True))
    wanted = naive.pairs(Y, X, 6, reach)
    if kind not in ("equal", "doubles"):  # where any of equal samples will do
        assert wanted <= found
    np.testing.assert_allclose(d2, np.square(Y[i] - X[j]).sum(axis=1), rtol=1e-9)
    assert (np.diff(i) >= 0).all()
    assert (np.diff(d2)[np.diff(i) == 0] >= 0).all()
    assert (np.bincount(i, minlength=20) >= 6).all()


@pytest.mark.parametrize("n", [13, 61, 97, 120, 121])
@pytest.mark.parametrize("wanted", [1, 3, 12])
def test_any_number_of_samples_has_its_nearest(n, wanted):
    """Distances are compared by halves, and what is left of odd numbers counts too."""
    rng = np.random.default_rng(n)
    X, Y = groups(rng, n), groups(rng, 9)
    i, j, _ = Rough(X).nearest(Y, wanted)
    found = set(zip(i, j, strict=True))
    assert naive.pairs(Y, X, wanted, np.zeros(n)) <= found
    assert len(found) <= 3 * wanted * len(Y)  # few of them are for nothing


def test_some_samples_are_searched_as_if_they_were_all():
    rng = np.random.default_rng(0)
    X, Y = groups(rng), groups(rng, 9)
    some, reach = rng.permutation(120)[:70], np.full(120, 20.0)
    i, j, d2 = Rough(X, some=some).nearest(Y, 6, reach)
    one, two, exactly = Rough(X[some]).nearest(Y, 6, reach[some])
    np.testing.assert_array_equal(i, one)
    np.testing.assert_array_equal(j, some[two])
    np.testing.assert_allclose(d2, exactly)


@pytest.mark.parametrize("block", [1, 500, 10_000, 10**9])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_and_threads_change_nothing(monkeypatch, block, threads):
    X = groups(np.random.default_rng(0), 150).astype(np.float32)
    expected = nearest_others(X, np.arange(150), 9)
    monkeypatch.setattr(search, "_BLOCK", block)
    with threadpool_limits(threads):
        for one, two in zip(nearest_others(X, np.arange(150), 9), expected, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_samples_and_some_rows(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(90, 40)) < 0.2, rng.normal(size=(90, 40)), 0)
    rows = rng.permutation(90)[:30]
    _, d2 = nearest_others(sparse.csr_array(X), rows, 7)
    np.testing.assert_allclose(d2, naive.nearest_others(X, 7)[rows], rtol=1e-9)
