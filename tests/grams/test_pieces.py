"""Graphs in pieces: what weighs the same in the even and in the free kernel, and what cuts cost.

The statements of docs/mathematics.rst, "Every sample alike, or every cluster" and "What a walk
loses".
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from klsnmf.grams.lifted import lifted_gram
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.walk import walk_on

from ..naive import walking as naive

SEEDS = st.integers(0, 2**32 - 1)


def pieces(seed):
    """A graph in k pieces of any sizes, with links of any weight, and who is in which."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    sizes = rng.integers(2, 40, size=k)
    y = np.repeat(np.arange(k), sizes)
    K = rng.uniform(0.05, 1, size=(len(y), len(y))) * (y[:, None] == y)
    K = (K + K.T) / 2
    np.fill_diagonal(K, 1)
    return rng, K, y, k


def explained(K, labels, k):
    """Σ_c λ_max(K_cc)."""
    blocks = [K[np.ix_(labels == c, labels == c)] for c in range(k)]
    return sum(np.linalg.eigvalsh(block)[-1] for block in blocks if len(block))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_clusters_explain_more_of_the_free_kernel_than_pieces(seed):
    rng, K, y, k = pieces(seed)
    diffusion = walk_on(SparseGram(sparse.csr_array(K)), k).diffusion(even=False)
    free = diffusion.gram().dot(np.eye(len(y)))
    each = explained(free, y, k) / k  # every piece explains the same, whatever its size
    for c in range(k):
        assert np.isclose(explained(free, (y != c).astype(int), 1), each)
    for _ in range(5):
        assert explained(free, rng.integers(0, k, size=len(y)), k) <= k * each * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_pieces_explain_as_much_of_the_even_kernel_as_they_have_samples(seed):
    _, K, y, k = pieces(seed)
    spectrum = walk_on(SparseGram(sparse.csr_array(K)), k).spectrum
    even = spectrum.diffusion(1000, even=True).gram().dot(np.eye(len(y)))
    np.testing.assert_allclose(even.diagonal(), 1)
    for c in range(k):
        assert np.isclose(explained(even, (y != c).astype(int), 1), np.sum(y == c))
    joined = np.where(y == 1, 0, y)
    cost = explained(even, y, k) - explained(even, joined, k)
    assert np.isclose(cost, min(np.sum(y == 0), np.sum(y == 1)))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_after_one_step_the_normalised_cut_is_lost(seed):
    rng, K, y, k = pieces(seed)
    across = rng.uniform(size=K.shape) * (rng.uniform(size=K.shape) < 0.1)
    K = K + (across + across.T) / 2
    K += np.diag(K.sum(axis=1))  # now no eigenvalue is negative
    cut = sum(K[y == c][:, y != c].sum() / K[y == c].sum() for c in range(k))
    assert np.isclose(naive.lost(K, y, k, 1), cut / (k - 1))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_lifted_samples_are_explained_by_the_squares_between_clusters(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 20)
    X = rng.normal(size=(60, 3)) + 3 * y[:, None]
    X -= X.mean(axis=0)
    height = 100 * np.linalg.norm(X, axis=1).max()
    K = lifted_gram(X, height).dot(np.eye(60))
    for labels in (y, rng.permutation(y)):
        means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
        between = np.square(means[labels]).sum()
        assert np.isclose(explained(K, labels, 3) - 60 * height**2, between, rtol=0.05, atol=0.5)
