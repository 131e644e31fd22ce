"""The nearest samples of a fit, for new ones."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from klsnmf.kernels import among
from klsnmf.kernels.among import Among


def samples(seed, n=600, p=20):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=(8, p))[rng.integers(8, size=n)] + rng.normal(size=(n, p))


def all_pairs(Y, X):
    return np.square(Y[:, None] - X).sum(axis=2)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("wanted", [1, 8, 700])
def test_an_exact_search_finds_the_nearest_and_those_that_reach(monkeypatch, storage, wanted):
    monkeypatch.setattr(among, "_BLOCK", 600 * 7)  # several parts
    X, Y = samples(0), samples(1, 40)
    d2 = all_pairs(Y, X)
    reach = np.full(len(X), np.quantile(d2, 0.02))
    found = Among(storage(X), wanted)
    i, j, distances = found.nearest(storage(Y), reach)
    assert (np.diff(i) >= 0).all()
    np.testing.assert_allclose(distances, d2[i, j], rtol=1e-9)
    for y in range(len(Y)):
        mine = j[i == y]
        nearest = np.argsort(d2[y])[: found.wanted]
        np.testing.assert_array_equal(mine[: found.wanted], nearest)
        assert set(np.flatnonzero(d2[y] <= reach)) <= set(mine)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_search_of_cells_finds_nearly_all_of_them(monkeypatch, seed, storage):
    monkeypatch.setattr(among, "MANY", 100)
    X, Y = samples(seed), samples(seed, 900)[600:]
    found = Among(storage(X), 8)
    assert found.approximate
    assert not Among(X, 8, "exact").approximate
    i, j, distances = found.nearest(storage(Y))
    d2 = all_pairs(Y, X)
    np.testing.assert_allclose(distances, d2[i, j], rtol=1e-9)
    right = 0
    for y in range(len(Y)):
        mine = j[i == y]
        assert len(set(mine)) == len(mine) >= 8
        right += len(set(mine[:8]) & set(np.argsort(d2[y])[:8]))
    assert right > 0.9 * 8 * len(Y)


@pytest.mark.parametrize("many", [100, 1000])
def test_no_new_samples_and_what_a_file_holds(monkeypatch, many):
    monkeypatch.setattr(among, "MANY", many)
    X = samples(0)
    found = Among(X, 5)
    i, j, d2 = found.nearest(X[:0])
    assert len(i) == len(j) == len(d2) == 0
    first = found.nearest(X[:3])
    stored = pickle.dumps(found)
    assert len(stored) < 1.1 * X.nbytes + 1000  # what can be made again is not in it
    for one, two in zip(first, pickle.loads(stored).nearest(X[:3]), strict=True):
        np.testing.assert_array_equal(one, two)
