"""Walks on graphs: the time at which clusters are looked at, and what is lost by then."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.walk import walk_on

from ..helpers import linked_groups
from ..naive import walking as naive


@pytest.mark.parametrize("seed", range(5))
def test_what_walks_lose_is_what_matrices_of_all_pairs_say(seed):
    K, y = linked_groups(seed)
    k, walk = 3, walk_on(SparseGram(sparse.csr_array(K)), 3)
    other = np.random.default_rng(seed).permutation(y)
    for labels in (y, other):
        args = K, labels, k, walk.time
        np.testing.assert_allclose(walk.crossings(labels), naive.crossings(*args), atol=2e-3)
        assert walk.lost(labels) == pytest.approx(naive.lost(*args) + 0.01, abs=0.01)
        assert walk.information(labels) == pytest.approx(naive.information(*args), abs=0.01)
    assert walk.lost(y) < walk.lost(other)
    assert walk.information(y) > walk.information(other)


@pytest.mark.parametrize("seed", range(5))
def test_at_the_time_of_a_walk_two_directions_are_left_for_each_cluster(seed):
    K, _ = linked_groups(seed)
    for k in (2, 3, 4):
        walk = walk_on(SparseGram(sparse.csr_array(K)), k)
        assert walk.spectrum.trace(walk.time) == pytest.approx(2 * k, rel=1e-3)
        assert np.trace(naive.steps(K, walk.time)) == pytest.approx(2 * k, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("even", [True, False])
def test_features_have_the_kernel_as_their_products(seed, even):
    K, _ = linked_groups(seed)
    walk = walk_on(SparseGram(sparse.csr_array(K)), 3)
    features, diffusion = walk.features(even=even), walk.diffusion(even=even)
    F = features.along
    K_t = naive.steps(K, diffusion.steps)
    own = K_t.diagonal()
    K_t = K_t / np.sqrt(np.outer(own, own)) if even else K_t / own.mean()
    others = 1 - np.eye(len(K))  # what eigenvectors leave out is on the diagonal of the Gram
    np.testing.assert_allclose(others * (F @ F.T), others * K_t, atol=0.05)
    np.testing.assert_allclose(diffusion.gram().diagonal.mean(), 1, rtol=1e-6)
    own = np.square(F).sum(axis=1) + features.beside
    np.testing.assert_allclose(own, diffusion.gram().diagonal, rtol=1e-3)


def test_separate_pieces_lose_nothing_and_no_clusters_lose_all():
    K, y = linked_groups(0, apart=30.0, reach=4.0)
    walk = walk_on(SparseGram(sparse.csr_array(K)), 3)
    assert walk.lost(y) == pytest.approx(0.01, abs=1e-6)
    everywhere = walk_on(SparseGram(sparse.csr_array(np.ones((60, 60)))), 3)
    assert everywhere.lost(np.arange(60) % 3) == pytest.approx(1.01, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_few_eigenvectors_tell_the_time_as_well_as_all(seed, monkeypatch):
    """What is left out of tr(Sᵗ) fades faster than its largest eigenvalue says."""
    X = np.random.default_rng(seed).normal(size=(900, 2))
    d2 = np.square(X[:, None] - X).sum(axis=2)
    reach = np.sort(d2, axis=1)[:, 10]
    links = (d2 <= reach) | (d2 <= reach[:, None])
    K = SparseGram(sparse.csr_array(np.exp(-d2 / reach.mean()) * links))
    times = []
    for each in (4, 8, 150):
        monkeypatch.setattr("klsnmf.grams.spectral._PLENTY", each)
        monkeypatch.setattr("klsnmf.grams.spectral._MOST_VECTORS", 2 * each)
        walk = walk_on(K, 2)
        assert walk.spectrum.U.shape[1] == 2 * each
        times.append(walk.time)
    assert_allclose(times[:2], times[2], rtol=0.12)


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_pieces_of_a_graph_are_its_first_eigenvectors(seed):
    rng = np.random.default_rng(seed)
    sizes = [200, 150, 100, *[3] * 60]
    K = sparse.block_diag([rng.uniform(0.5, 1, size=(m, m)) for m in sizes])
    walk = walk_on(SparseGram(sparse.csr_array(K + K.T)), 3)
    piece = np.repeat(np.arange(len(sizes)), sizes)
    U, m = walk.spectrum.U, walk.spectrum.U.shape[1]
    assert m < len(sizes)  # there are more pieces than eigenvectors
    assert_allclose(walk.spectrum.values[:m], 1, atol=1e-6)
    within = np.array([np.linalg.norm(U[piece == c]) for c in range(3)])
    assert_allclose(within, 1, atol=1e-5)  # each is one direction of those that are kept
