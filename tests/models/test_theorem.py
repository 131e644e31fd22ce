"""At λ = 0 and GᵀG = I, W = G is best, and the best G of an assignment are Perron vectors."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from klsnmf import KLSNMF
from klsnmf.grams.array import DenseGram
from klsnmf.models.base import State
from klsnmf.models.ls_nmf import EXACT, LocalSimilarity
from klsnmf.solve.loop import solve

from ..naive import klsnmf as naive

SEEDS = st.integers(0, 2**32 - 1)


def features_with_zeros(rng, n):
    """K = FFᵀ with F ≥ 0: samples that share no feature are not alike at all."""
    F = rng.uniform(size=(n, rng.integers(1, 30)))
    F = F * (rng.uniform(size=F.shape) < 0.7)
    return F @ F.T


def features(rng, n):
    F = rng.uniform(size=(n, rng.integers(1, 30)))
    return F @ F.T


def of_distances(rng, n):
    X = rng.uniform(size=(n, rng.integers(1, 4)))
    return np.exp(-rng.uniform(0.1, 3) * np.square(X[:, None] - X).sum(axis=2))


def squares(rng, n):
    """The squares of any products: by Schur positive semidefinite, but no FFᵀ with F ≥ 0."""
    A = rng.normal(size=(n, rng.integers(1, n + 1)))
    return np.square(A @ A.T)


def near_ones(rng, n):
    """Sparse: a hat function of distances along a line, which is 0 from some distance on."""
    x = rng.uniform(0, rng.uniform(1, 10), size=n)
    return np.maximum(1 - np.abs(x[:, None] - x), 0)


def pieces(rng, n):
    """Separate pieces, some samples alone, one like nothing, not even itself."""
    K, one_kind = np.zeros((n, n)), (features, of_distances, squares)
    piece = rng.integers(0, 3, size=n)
    for c in range(3):
        own = np.flatnonzero(piece == c)
        K[np.ix_(own, own)] = one_kind[c](rng, len(own)) if len(own) else 0
    K[0], K[:, 0] = 0, 0
    return K


EVERYWHERE_POSITIVE = (features, of_distances, squares)
KINDS = (*EVERYWHERE_POSITIVE, features_with_zeros, near_ones, pieces)


def problem(seed, kinds=KINDS):
    """A positive semidefinite kernel without negative entries, and clusters that have samples."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 25)), int(rng.integers(2, 5))
    K = kinds[rng.integers(len(kinds))](rng, n)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, size=n - k)])
    return rng, K, labels, k


def some_start(rng, n, k):
    """Any W and G without negative entries, some with zeros, even whole rows of them."""
    filled, rows = rng.uniform(0.2, 1.2), rng.uniform(0.5, 1.5)
    return {
        name: rng.uniform(size=(n, k))
        * (rng.uniform(size=(n, k)) < filled)
        * (rng.uniform(size=(n, 1)) < rows)
        for name in "WG"
    }


def test_the_kernels_are_what_the_theorem_asks_for():
    for seed in range(200):
        _, K, _, _ = problem(seed)
        assert (K >= 0).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.trace(K)


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
def test_W_is_G_after_every_step(seed):
    """Up to the lengths of the columns; and an iteration ends where W is the G before it."""
    rng, K, labels, k = problem(seed)
    model, G = LocalSimilarity(DenseGram(K), 0.0, EXACT), np.eye(k)[labels]
    W = rng.uniform(size=G.shape)
    for _ in range(5):
        s = State(W=W, G=G, KW=K @ W, KG=K @ G)
        if not G.any(axis=0).all():  # a column begins again
            break
        W = model.update_W(s)
        np.testing.assert_allclose(W, naive.own_W(G), rtol=1e-12)
        s.W = W
        (name,) = (known := model.known_products("W", s))
        np.testing.assert_allclose(known[name], K @ W, atol=1e-12 * np.abs(K @ W).max())
        G = model.update_G(State(W=W, G=G, KW=K @ W, KG=K @ G))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_exact_steps_end_at_the_leading_eigenvectors_of_their_clusters(seed):
    """From any start, f = ½(tr K - Σ λ_max(K_cc)), and W = G."""
    rng, K, _, k = problem(seed, EVERYWHERE_POSITIVE)
    start = some_start(rng, len(K), k)
    (end,) = solve([LocalSimilarity(DenseGram(K), 0.0, EXACT)], [start], max_iter=300, tol=0)
    W, G = end.factors["W"], end.factors["G"]
    if np.linalg.matrix_rank(K) > 1:  # else all clusters explain a sample alike: it goes to and fro
        apart = (W - naive.own_W(G))[:, G.any(axis=0)]
        assert np.trace(apart.T @ K @ apart) <= 1e-6 * np.trace(K)
    _, values = naive.perron(K, end.labels, k)
    best = (np.trace(K) - values.sum()) / 2
    assert abs(end.objective - best) <= 1e-6 * np.trace(K)


def counted(K):
    """A Gram that notes how many columns were multiplied."""

    class Counted(DenseGram):
        columns = 0

        def multiply(self, V, out):
            self.columns += V.shape[0] * V.shape[2]
            super().multiply(V, out)

    return Counted(K)


def test_an_iteration_takes_one_product():
    _, K, labels, k = problem(0)
    columns = []
    for steps in (3, 8):
        K_ = counted(K)
        start = {"W": np.eye(k)[labels], "G": np.eye(k)[labels]}
        solve([LocalSimilarity(K_, 0.0, EXACT)], [start], max_iter=steps, tol=0)
        columns.append(K_.columns)
    assert columns[1] - columns[0] == 5 * k


def test_a_fit_ends_where_its_clusters_are_explained():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, 1.0, size=(30, 5)) for centre in (0, 4, 8)])
    model = KLSNMF(3, kernel="rbf", lam=0.0, random_state=0).fit(X)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * model.radius_**2))
    G, values = naive.perron(K, model.labels_, 3)
    best = (np.trace(K) - values.sum()) / 2
    assert best - 1e-9 * best <= model.objective_ <= (1 + 1e-5) * best
    np.testing.assert_allclose(model.G_, G, atol=1e-2)
    np.testing.assert_allclose(model.W_, model.G_, atol=1e-2)
