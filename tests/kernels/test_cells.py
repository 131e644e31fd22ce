"""The approximate search for neighbours, in cells, against all distances."""

import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF
from klsnmf.kernels import around, cells, neighbors, search
from klsnmf.kernels.cells import Cells, bisected
from klsnmf.kernels.crowds import crowds_of
from klsnmf.kernels.neighbors import nearest

from ..naive import searching as naive


def groups(seed, n=600, p=20):
    rng = np.random.default_rng(seed)
    return 4 * rng.normal(size=(6, p))[rng.integers(6, size=n)] + rng.normal(size=(n, p))


def share_found(d2, truth):
    """The share of the neighbours that are as near as the truly nearest."""
    return float((d2 <= truth[:, -1:] * (1 + 1e-9)).mean())


@pytest.mark.parametrize(("seed", "make"), [(0, np.asarray), (1, sparse.csr_array)])
def test_nearly_all_neighbours_are_found_and_the_share_is_told(seed, make):
    X = groups(seed)
    some = Cells(make(X), 9)
    found, d2 = some.nearest_others()
    np.testing.assert_allclose(d2, np.square(X[:, None] - X[found]).sum(axis=2), rtol=1e-9)
    assert (np.diff(d2, axis=1) >= 0).all()
    assert (found != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 9 for row in found)
    share = share_found(d2, naive.nearest_others(X, 9))
    assert share > 0.94
    assert abs(share - some.share) < 0.05
    assert some.searched < len(some.division.members)


def test_most_neighbours_of_digits_are_found():
    X = load_digits().data[:900]
    _, d2 = Cells(X, 10).nearest_others()
    assert share_found(d2, nearest(X, 10)[1][:, :10]) > 0.95


def test_with_all_cells_all_neighbours_are_found(monkeypatch):
    monkeypatch.setattr(cells, "_SHARE", 1.0)
    monkeypatch.setattr(cells, "_ASKED", 10**6)
    X = groups(0, 200)
    _, d2 = Cells(X, 7).nearest_others()
    np.testing.assert_allclose(d2, naive.nearest_others(X, 7), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_where_there_is_room_more_neighbours_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 20))  # a single cluster: neighbours are in many cells
    few, more, all_of_them = (Cells(X, 9, compared=room) for room in (0, 800, 900))
    assert few.searched < more.searched <= all_of_them.searched
    assert 0.97 <= few.share < more.share <= all_of_them.share
    assert all_of_them.share >= 0.99


def tight(seed, n=600, p=20):
    """Groups that are tiny beside the distances between them: single precision sees points."""
    rng = np.random.default_rng(seed)
    return 1e6 * rng.normal(size=(6, p))[rng.integers(6, size=n)] + rng.normal(size=(n, p))


def counts(seed, n=600, p=20):
    """Many are equally far."""
    return np.random.default_rng(seed).integers(0, 3, size=(n, p)).astype(float)


def single(X):
    return X.astype(np.float32)


KINDS = [(groups, np.asarray), (tight, np.asarray), (counts, np.asarray)]
KINDS += [(groups, single), (groups, sparse.csr_array)]


@pytest.mark.parametrize(("make", "storage"), KINDS)
@pytest.mark.parametrize("block", [1, 5000, 10**9])
def test_samples_are_compared_with_the_cells_around_their_own(monkeypatch, storage, make, block):
    """Whether a few share a product, or many, or each has one of its own."""
    monkeypatch.setattr(around, "_BLOCK", block)
    monkeypatch.setattr(search, "_LEAST_ROWS", 3)
    monkeypatch.setattr(search, "_BLOCK", block)
    X = make(0, 300)
    Y, X = storage(X[:40]), storage(X[40:])
    some = Cells(X, 4)
    dense, new = (A.toarray() if sparse.issparse(A) else A for A in (X, Y))
    reach = naive.nearest_others(dense, 4)[:, -1] * (1 + 1e-4)
    wanted = naive.pairs_in_cells(new, dense, some.division.centres, some.searched, 4, reach)
    i, j, d2 = map(np.concatenate, zip(*some.nearest(Y, 4, reach), strict=True))
    found = set(zip(i, j, strict=True))
    assert wanted <= found
    exactly = np.square(new[i] - dense[j]).sum(axis=1)
    np.testing.assert_allclose(d2, exactly, rtol=1e-5 if storage is single else 1e-9)
    assert len(found - wanted) <= len(found) / 4  # few are compared exactly for nothing


def test_a_sample_finds_the_same_in_any_company():
    X = groups(0)
    some, Y = Cells(X, 8), groups(1)[:40]
    i, j, d2 = map(np.concatenate, zip(*some.nearest(Y, 8), strict=True))
    for y in range(40):
        ((_, alone, distances),) = some.nearest(Y[y : y + 1], 8)
        np.testing.assert_array_equal(j[i == y][:8], alone[:8])
        np.testing.assert_array_equal(d2[i == y][:8], distances[:8])


def test_the_copy_of_a_search_ends_with_it(monkeypatch):
    cells, X = [], np.repeat(groups(0, 300), 2, axis=0)

    def told(some):
        cells.append(weakref.ref(some))

    def no_copy(*arguments):
        assert cells[0]() is None
        return crowds_of(*arguments)

    monkeypatch.setattr(neighbors, "crowds_of", no_copy)
    nearest(X, 1, approximate=True, told=told)
    assert cells[0]() is None


@pytest.mark.parametrize("seed", range(3))
def test_cells_that_are_near_come_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    places = rng.permutation(64)
    order = bisected(places[:, None] * rng.normal(size=(1, 5)))
    for part in (32, 16, 8, 4):  # halves, and halves of halves, without a gap
        assert (np.ptp(places[order].reshape(-1, part), axis=1) == part - 1).all()
    assert set(bisected(np.ones((7, 3)))) == set(range(7))
    points = rng.permutation([(x, y) for x in range(8) for y in range(6)]).astype(float)
    quarters = points[bisected(points)].reshape(4, 12, 2)
    assert (np.ptp(quarters, axis=1) == (3, 2)).all()  # each half along its own widest direction
    some = Cells(groups(seed), 9)
    order = np.concatenate(some.division.members)
    cells = some.division.cell[order]
    assert sorted(order) == list(range(600))
    assert np.count_nonzero(np.diff(cells)) == len(set(cells)) - 1
    centres = some.division.centres[cells]
    steps = np.linalg.norm(np.diff(centres, axis=0), axis=1).sum()
    anyhow = centres[np.flatnonzero(np.diff(cells, prepend=-1))]
    shuffled = anyhow[rng.permutation(len(anyhow))]
    assert steps < 0.8 * np.linalg.norm(np.diff(shuffled, axis=0), axis=1).sum()


def test_threads_change_nothing():
    X, found = groups(0), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(Cells(X, 6).nearest_others())
    np.testing.assert_array_equal(found[0][0], found[1][0])


@pytest.mark.parametrize(
    "X", [np.ones((40, 3)), np.arange(8.0).reshape(4, 2), np.repeat(groups(1, 10), 9, axis=0)]
)
def test_few_samples_and_equal_ones(X):
    found, d2 = nearest(X, 3, approximate=True)
    assert found.shape[0] == len(X)
    assert (found[:, :3] != np.arange(len(X))[:, None]).all()
    assert (d2 >= 0).all()


def test_how_many_are_found_is_told(capsys):
    X = groups(0).astype(np.float32)
    model = KLSNMF(6, neighbor_search="approximate", random_state=0, verbose=1).fit(X)
    told = capsys.readouterr().out
    assert "neighbours are searched approximately" in told
    assert "cells of samples searched around each, which hold 9" in told
    exact = KLSNMF(6, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, exact.labels_)
