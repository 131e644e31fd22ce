"""More separate pieces than clusters: which belong together, and what a fit makes of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import klsnmf
from klsnmf import KLSNMF
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.walk import walk_on
from klsnmf.kernels import pieces
from klsnmf.kernels.pieces import joined
from tests.naive import joining as naive


def apart(rng, m, p, distance):
    """m points of p numbers, none nearer to another than this."""
    found, width = [], distance / 2
    while len(found) < m:
        one, width = rng.normal(size=p) * width, 1.02 * width
        if all(np.linalg.norm(one - other) > distance for other in found):
            found.append(one)
    return np.array(found)


def groups_of_clouds(seed, p=2, sizes=(25, 100)):
    """Five groups of two to six clouds of unequal size, each a piece of its own."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for group, centre in enumerate(apart(rng, 5, p, 60)):
        for cloud in apart(rng, rng.integers(2, 7), p, 11):
            size = rng.integers(*sizes)
            X.append(centre + cloud + rng.normal(size=(size, p)))
            y += [group] * size
    return np.vstack(X), np.array(y)


def broken_rings(seed):
    """Rings, one inside the other, each with gaps narrower than the way to the next ring."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for ring, radius in enumerate((2, 6, 10)):
        angle = rng.uniform(0, 2 * np.pi, 120 * radius)
        for gap in rng.uniform(0, 2 * np.pi, 2):
            beside = np.abs((angle - gap + np.pi) % (2 * np.pi) - np.pi)
            angle = angle[beside > 0.7 / radius]
        at = radius * np.column_stack([np.cos(angle), np.sin(angle)])
        X.append(at + 0.1 * rng.normal(size=at.shape))
        y += [ring] * len(at)
    return np.vstack(X), np.array(y)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [groups_of_clouds, broken_rings])
def test_a_fit_with_fewer_clusters_than_pieces_joins_those_that_are_near(make, seed):
    X, y = make(seed)
    model = KLSNMF(y.max() + 1, random_state=seed).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert (model.predict(X) == model.labels_).all()


def test_a_cluster_of_several_pieces_is_in_doubt():
    X, y = groups_of_clouds(0)
    (note,) = KLSNMF(5, random_state=0).fit(X).notes_
    assert {c for c, *_ in note.doubts.two} == set(range(5))
    assert y.max() == 4


@pytest.mark.parametrize("seed", range(3))
def test_a_few_samples_far_from_all_are_no_cluster(seed):
    rng = np.random.default_rng(seed)
    centres = apart(rng, 6, 2, 15) * np.array([1, 1, 1, 2, 2, 2])[:, None]
    y = np.repeat([0, 1, 2, 3, 4, 5], [200, 200, 200, 13, 13, 13])
    X = centres[y] + rng.normal(size=(len(y), 2)) * np.where(y < 3, 1.0, 0.3)[:, None]
    labels = KLSNMF(3, random_state=seed).fit(X).labels_
    assert adjusted_rand_score(y[y < 3], labels[y < 3]) == 1


@pytest.mark.parametrize("seed", range(2))
def test_levels_that_join_pieces_are_those_of_a_fit(seed):
    X, y = groups_of_clouds(seed, sizes=(25, 50))
    level = next(level for level in klsnmf.levels(X, random_state=0) if level.n_clusters == 5)
    assert level.joined
    assert adjusted_rand_score(y, level.labels) == 1
    assert (KLSNMF(5, random_state=0).fit(X).labels_ == level.labels).all()


@pytest.mark.parametrize("seed", range(6))
def test_pieces_are_joined_as_written_slowly(seed):
    rng = np.random.default_rng(seed)
    piece = np.repeat(np.arange(9), rng.integers(1, 12, 9))
    X = rng.normal(size=(9, 3))[piece] * 4 + rng.normal(size=(len(piece), 3))
    for k in (1, 2, 4, 9, 12):
        found = joined(X, piece, k)
        assert len(np.unique(found)) == min(k, 9)
        assert found.max() == min(k, 9) - 1
        expected = naive.joined(X, piece, k) if k < 9 else piece
        assert adjusted_rand_score(expected, found) == 1


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_far_more_pieces_than_are_compared_still_become_k(kind, monkeypatch):
    monkeypatch.setattr(pieces, "_MOST_PIECES", 8)
    rng = np.random.default_rng(0)
    piece = np.repeat(np.arange(60), 3)
    X = 100 * (piece % 4)[:, None] * np.ones(2) + rng.normal(size=(len(piece), 2))
    assert adjusted_rand_score(piece % 4, joined(kind(X), piece, 4)) == 1


@pytest.mark.parametrize("k", [2, 40])  # by a dense solver, and by a filter with fewer vectors
def test_the_walk_on_groups_is_that_of_one_matrix(k):
    rng = np.random.default_rng(k)
    n_pieces, size = (5, 12) if k == 2 else (60, 14)
    piece = np.repeat(np.arange(n_pieces), size)
    near = (piece[:, None] == piece) * np.exp(-rng.exponential(size=(len(piece), len(piece))))
    K = near + near.T
    group = piece % k
    walk = walk_on(SparseGram(sparse.csr_array(K)), k)
    with_groups = walk.joined(piece, group)
    S = naive.walk_on_groups(K, piece, group)
    for t in (4, 16):
        expected = np.linalg.matrix_power(S, t)
        spectrum = with_groups.spectrum
        F = spectrum.U * spectrum.values ** (t / 2)
        found = F @ F.T + np.diag(spectrum.rest(t))
        np.testing.assert_allclose(found, expected, rtol=0, atol=0.03)
    assert with_groups.as_the_graph_is().spectrum is walk.spectrum
