"""At λ = 0 and GᵀG = I, W = G is best, and the best G of an assignment are Perron vectors."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from klsnmf import KLSNMF
from klsnmf.grams.array import DenseGram
from klsnmf.models.base import State
from klsnmf.models.ls_nmf import EXACT, LocalSimilarity

from ..naive import klsnmf as naive

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed):
    """A positive semidefinite kernel without negative entries, and clusters that have samples."""
    rng = np.random.default_rng(seed)
    n, k, rank = rng.integers(6, 25), rng.integers(2, 5), rng.integers(1, 30)
    features = rng.uniform(size=(n, rank)) * (rng.uniform(size=(n, rank)) < 0.7)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, size=n - k)])
    return rng, features @ features.T, labels, k


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_no_W_is_better_than_G(seed):
    rng, K, labels, k = problem(seed)
    G = np.eye(k)[labels] * rng.uniform(0.1, 1, size=(len(K), 1))
    G /= np.linalg.norm(G, axis=0)
    best = naive.objective(K, G, G, 0.0)
    assert np.isclose(best, (np.trace(K) - np.trace(G.T @ K @ G)) / 2)
    for size in (1e-3, 0.1, 1.0):
        W = np.abs(G + size * rng.normal(size=G.shape))
        assert naive.objective(K, W, G, 0.0) >= best - 1e-12 * np.trace(K)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_leading_eigenvectors_of_the_blocks_are_best(seed):
    rng, K, labels, k = problem(seed)
    G, values = naive.perron(K, labels, k)
    best = naive.objective(K, G, G, 0.0)
    assert np.isclose(best, (np.trace(K) - values.sum()) / 2, atol=1e-9 * np.trace(K))
    other = np.eye(k)[labels] * rng.uniform(size=(len(K), 1))
    other /= np.maximum(np.linalg.norm(other, axis=0), 1e-300)
    assert naive.objective(K, other, other, 0.0) >= best - 1e-12 * np.trace(K)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_exact_steps_from_W_equal_to_G_never_raise_f(seed):
    """With G of any column lengths, W = G / n²; and no end is below what its own clusters allow."""
    _, K, labels, k = problem(seed)
    model, G = LocalSimilarity(DenseGram(K), 0.0, EXACT), np.eye(k)[labels]
    last = np.inf
    for _ in range(8):
        squares = (G**2).sum(axis=0)
        W = G / np.where(squares > 0, squares, 1)
        G = model.update_G(State(W=W, G=G, KW=K @ W, KG=K @ G))
        f = naive.objective(K, W, G, 0.0)
        assert f <= last + 1e-9 * np.trace(K)
        last = f
    found = np.where(G.any(axis=1), G.argmax(axis=1), 0)
    _, values = naive.perron(K, found, k)
    assert last >= (np.trace(K) - values.sum()) / 2 - 1e-9 * np.trace(K)


def test_a_fit_ends_where_its_clusters_are_nearly_explained():
    """What iterations of W leave to be gained is little, and never less than nothing."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, 1.0, size=(30, 5)) for centre in (0, 4, 8)])
    model = KLSNMF(3, kernel="rbf", lam=0.0, random_state=0).fit(X)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * model.radius_**2))
    _, values = naive.perron(K, model.labels_, 3)
    best = (np.trace(K) - values.sum()) / 2
    assert best - 1e-9 * best <= model.objective_ <= 1.01 * best
