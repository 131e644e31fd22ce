"""The update rules: each against its naive twin, and each theorem as a property."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from klsnmf.grams.array import DenseGram
from klsnmf.grams.graph import Graph
from klsnmf.models.base import State
from klsnmf.models.ls_nmf import EXACT, FREE, PRINTED, SYMMETRIC, LocalSimilarity

from ..naive import klsnmf as naive

seeds = st.integers(0, 2**32 - 1)
lams = st.sampled_from([0.0, 1e-4, 1e-2, 0.1, 1.0, 10.0, 1000.0])


def problem(seed, signed=False, n=None, k=None):
    """A random kernel with D ≥ 0, and random factors with some zeros."""
    rng = np.random.default_rng(seed)
    n, k = n or rng.integers(4, 25), k or rng.integers(1, 5)
    if signed:
        X = rng.normal(size=(n, rng.integers(1, 6)))
        K = X @ X.T
    elif rng.random() < 0.5:
        # A sparse indefinite kernel with unit diagonal, as a neighbour graph gives.
        K = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
        K = K + K.T + np.eye(n)
    else:
        K = naive.rbf(rng.random((n, 3)), rng.uniform(0.1, 3))
    W, G = rng.random((n, k)), rng.random((n, k))
    W[rng.random((n, k)) < 0.1] = 0
    G[rng.random((n, k)) < 0.1] = 0
    return K, W * rng.choice([1e-2, 1, 1e2]), G


def state(K, W, G, graph=None):
    s = State(W=W, G=G, KW=K @ W, KG=K @ G, PW=np.maximum(K, 0) @ W)
    if graph is not None:
        s.AG = graph @ G
    return s


def gram(K, signed=False):
    """K as a Gram; where nothing in it is negative, it can be taken as signed all the same."""
    made = DenseGram(K)
    made.nonnegative = made.nonnegative and not signed
    return made


def weights(n, seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 0.4, 1).astype(float)
    return A + A.T


def lagrangian_of_symmetric_rule(K, W, G, lam, G_new):
    """The Lagrangian at the new and at the old G, with the multiplier of the old G."""
    D = naive.distances(K)
    E = naive.sym(G.T @ K @ W) - lam * naive.sym(G.T @ D @ W)
    return naive.lagrangian(K, W, G_new, lam, E), naive.lagrangian(K, W, G, lam, E)


def falls(new, old, size):
    """new ≤ old, but for rounding of numbers of this size."""
    return new <= old + 1e-9 * max(abs(size), abs(old), abs(new))


# ---------------------------------------------------------------------- naive twins


@pytest.mark.parametrize(
    ("step", "update_W", "update_G", "signed"),
    [
        (PRINTED, naive.update_W, naive.update_G_printed, False),
        (SYMMETRIC, naive.update_W, naive.update_G_symmetric, False),
        (FREE, naive.update_W, naive.update_G_free, False),
        (EXACT, naive.update_W_exact, naive.update_G_exact, False),
        (SYMMETRIC, naive.update_W_signed, naive.update_G_signed, True),
        (FREE, naive.update_W_signed, naive.update_G_free_signed, True),
        (EXACT, naive.update_W_exact_signed, naive.update_G_exact, True),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@given(seed=seeds, lam=lams)
@settings(max_examples=40, deadline=None)
def test_a_step_is_the_formula(step, update_W, update_G, signed, seed, lam):
    K, W, G = problem(seed, signed)
    if step is EXACT:  # its W step follows a G with one entry a row
        G = naive.update_G_exact(K, W, G, lam)
    m, s = LocalSimilarity(gram(K, signed), lam, step), state(K, W, G)
    if G.any(axis=0).all():  # an empty column begins anew, which the formula does not know
        W_new, W_naive = m.update_W(s), update_W(K, W, G, lam)
        gain = naive.objective(K, W, G, lam) - naive.objective(K, naive.own_W(G), G, lam)
        if not (step is EXACT and lam == 0 and abs(gain) < 1e-9 * np.trace(K)):  # else a tie
            np.testing.assert_allclose(W_new, W_naive, rtol=1e-9, atol=1e-140)
    size = np.trace(K) + naive.objective(K, W, G, 0)
    G_new, G_naive = m.update_G(s), update_G(K, W, G, lam)
    if update_G is naive.update_G_exact:  # columns can tie: then the objectives are equal
        after, expected = (naive.objective(K, W, V, lam) for V in (G_new, G_naive))
        assert after == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)
    else:
        np.testing.assert_allclose(G_new, G_naive, rtol=1e-9, atol=1e-12)
    loss = naive.objective(K, W, G, lam)
    assert m.loss(s) == pytest.approx(loss, rel=1e-9, abs=1e-9 * size)


@pytest.mark.parametrize(
    ("step", "update_G"),
    [
        (PRINTED, naive.update_G_graph_printed),
        (SYMMETRIC, naive.update_G_graph),
    ],
    ids=["printed", "symmetric"],
)
@given(seed=seeds, lam=lams, gamma=st.sampled_from([0.0, 0.1, 10.0]))
@settings(max_examples=40, deadline=None)
def test_a_step_with_a_graph_is_the_formula(step, update_G, seed, lam, gamma):
    K, W, G = problem(seed)
    A = weights(len(K), seed)
    m = LocalSimilarity(gram(K), lam, step, Graph(sparse.csr_array(A)), gamma)
    s = state(K, W, G, A)
    np.testing.assert_allclose(m.update_G(s), update_G(K, W, G, lam, A, gamma), rtol=1e-9)
    loss = naive.objective(K, W, G, lam) + gamma * naive.laplacian_term(A, G)
    assert m.loss(s) == pytest.approx(loss, rel=1e-9, abs=1e-9 * np.trace(K))


@given(seed=seeds, lam=lams)
@settings(max_examples=30, deadline=None)
def test_signed_rules_are_the_plain_ones_where_nothing_is_negative(seed, lam):
    K, W, G = problem(seed)
    s = state(K, W, G)
    for step in (FREE, SYMMETRIC, EXACT):
        plain = LocalSimilarity(gram(K), lam, step)
        signed = LocalSimilarity(gram(K, signed=True), lam, step)
        assert signed.signed
        assert not plain.signed
        np.testing.assert_allclose(signed.update_W(s), plain.update_W(s))
        np.testing.assert_allclose(signed.update_G(s), plain.update_G(s))


@given(seed=seeds, lam=lams)
@settings(max_examples=30, deadline=None)
def test_without_weight_the_graph_does_not_matter(seed, lam):
    K, W, G = problem(seed)
    A = weights(len(K), seed)
    graph, s = Graph(sparse.csr_array(A)), state(K, W, G, A)
    for step in (PRINTED, SYMMETRIC):
        plain = LocalSimilarity(gram(K), lam, step)
        tied = LocalSimilarity(gram(K), lam, step, graph, 0.0)
        np.testing.assert_array_equal(tied.update_G(s), plain.update_G(s))
        assert tied.loss(s) == plain.loss(s)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_distances_without_forming_them(seed):
    K, V, _ = problem(seed, signed=seed % 2 == 0)
    made = gram(K)
    DV = naive.distances(K) @ V
    size = np.abs(K).max() * np.abs(V).sum()
    np.testing.assert_allclose(made.distances(V, K @ V), DV, rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(made.distances(V, K @ V, 3.0), 3 * DV, rtol=1e-9, atol=1e-11 * size)


# ---------------------------------------------------------------------- theorems


@pytest.mark.parametrize(
    ("step", "signed"),
    [(FREE, False), (PRINTED, False), (FREE, True)],
    ids=["free", "printed", "signed"],
)
@given(seed=seeds, lam=lams)
@settings(max_examples=150, deadline=None)
def test_the_W_step_never_raises_the_objective(step, signed, seed, lam):
    """thm_convergence_W, for any λ, and for an indefinite K ≥ 0 too."""
    K, W, G = problem(seed, signed)
    m = LocalSimilarity(gram(K, signed), lam, step)
    for _ in range(3):
        W_new = m.update_W(state(K, W, G))
        old = naive.objective(K, W, G, lam)
        assert falls(naive.objective(K, W_new, G, lam), old, np.trace(K))
        W = W_new


@pytest.mark.parametrize("signed", [False, True])
@given(seed=seeds, lam=lams)
@settings(max_examples=100, deadline=None)
def test_the_free_G_step_never_raises_the_objective(signed, seed, lam):
    K, W, G = problem(seed, signed)
    G_new = LocalSimilarity(gram(K, signed), lam, FREE).update_G(state(K, W, G))
    old = naive.objective(K, W, G, lam)
    assert falls(naive.objective(K, W, G_new, lam), old, np.trace(K))


@pytest.mark.parametrize("signed", [False, True])
@given(seed=seeds, lam=lams)
@settings(max_examples=150, deadline=None)
def test_the_symmetrised_G_step_never_raises_the_lagrangian(signed, seed, lam):
    """thm_conv_G, for the multiplier that the theorem needs."""
    K, W, G = problem(seed, signed)
    G_new = LocalSimilarity(gram(K, signed), lam, SYMMETRIC).update_G(state(K, W, G))
    new, old = lagrangian_of_symmetric_rule(K, W, G, lam, G_new)
    size = np.abs(np.trace(G.T @ K @ W)) + lam * np.trace(G.T @ naive.distances(K) @ W)
    size += np.abs(np.trace(G_new.T @ K @ W)) + lam * np.trace(G_new.T @ naive.distances(K) @ W)
    assert falls(new, old, size)


def test_the_printed_G_step_can_raise_the_lagrangian():
    """A counterexample to thm_conv_G as printed: GᵀKW is not symmetric.

    tr(GEGᵀ) sees the symmetric part of E only, so the Lagrangian is that of the symmetrised rule.
    """
    K = np.array([[1.0, 0.2], [0.2, 1.0]])
    W = np.array([[0.0, 0.9], [0.1, 0.4]])
    G = np.array([[0.7, 0.0], [0.6, 0.5]])
    G_new = LocalSimilarity(gram(K), 0.0, PRINTED).update_G(state(K, W, G))
    new, old = lagrangian_of_symmetric_rule(K, W, G, 0.0, G_new)
    assert new > old + 0.1 * abs(old)
    G_new = LocalSimilarity(gram(K), 0.0, SYMMETRIC).update_G(state(K, W, G))
    new, old = lagrangian_of_symmetric_rule(K, W, G, 0.0, G_new)
    assert new <= old


@pytest.mark.parametrize("kind", ["nonnegative", "signed", "indefinite"])
@given(seed=seeds, lam=lams)
@settings(max_examples=150, deadline=None)
def test_exact_steps_never_raise_the_objective(kind, seed, lam):
    """For K positive semidefinite of either sign, and for K ≥ 0 that is not."""
    K, W, G = problem(seed, signed=kind == "signed")
    if kind == "nonnegative":
        K = K @ K.T
        K /= np.sqrt(np.outer(np.diag(K), np.diag(K)))
    m = LocalSimilarity(gram(K), lam, EXACT)
    G = m.update_G(state(K, W, G))
    old = naive.objective(K, W, G, lam)
    for _ in range(8):
        W = m.update_W(state(K, W, G))
        middle = naive.objective(K, W, G, lam)
        assert falls(middle, old, np.trace(K))
        G = m.update_G(state(K, W, G))
        new = naive.objective(K, W, G, lam)
        assert falls(new, middle, np.trace(K))
        assert np.all(np.count_nonzero(G, axis=1) <= 1)
        old = new


@given(seed=seeds, lam=st.sampled_from([0.0, 0.01, 0.1]))
@settings(max_examples=25, deadline=None)
def test_the_exact_G_step_is_the_best_of_all(seed, lam):
    """No G with one nonzero entry a row is better, whatever the values."""
    K, W, G = problem(seed)
    G_best = LocalSimilarity(gram(K), lam, EXACT).update_G(state(K, W, G))
    best = naive.objective(K, W, G_best, lam)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        other = np.zeros_like(G)
        other[np.arange(len(G)), rng.integers(G.shape[1], size=len(G))] = rng.exponential(
            rng.choice([0.01, 1, 100]), size=len(G)
        )
        assert falls(best, naive.objective(K, W, other, lam), np.trace(K))


def test_an_empty_column_begins_again_where_samples_are_explained_worst():
    K = np.kron(np.eye(3), np.ones((4, 4)))  # three clusters, two of them found
    W = np.zeros((12, 3))
    W[:4, 0] = W[4:8, 1] = 0.25
    G = np.zeros((12, 3))
    G[:4, 0] = G[4:8, 1] = 1
    m = LocalSimilarity(gram(K), 0.0, EXACT)
    W = m.update_W(state(K, W, G))
    assert W[:8, 2].sum() == 0
    assert W[8:, 2].sum() == 1
    assert m.loss(state(K, W, m.update_G(state(K, W, G)))) == pytest.approx(0, abs=1e-12)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_zero_stays_zero_and_nothing_becomes_nan(seed):
    rng = np.random.default_rng(seed)
    for dtype in (np.float32, np.float64):
        K, W, G = problem(seed)
        K, W, G = K.astype(dtype), W.astype(dtype), G.astype(dtype)
        K[:, 0] = K[0] = 0  # a sample unlike all others, itself included
        W[:, rng.integers(W.shape[1])] = 0
        s = state(K, W, G)
        for step in (FREE, PRINTED, SYMMETRIC, EXACT):
            for lam in (0.0, 0.1):
                model = LocalSimilarity(gram(K), lam, step)
                W_new, G_new = model.update_W(s), model.update_G(s)
                assert np.isfinite(W_new).all()
                assert np.isfinite(G_new).all()
                assert W_new.dtype == G_new.dtype == dtype
                if step is not EXACT:
                    assert not W_new[W == 0].any()
                    assert not G_new[G == 0].any()


def test_tiny_entries_are_flushed_so_that_no_product_is_subnormal():
    K, W, G = problem(3, n=6, k=2)
    K, W, G = (M.astype(np.float32) for M in (K, W, G))
    W[0, 0] = 1e-30
    model, letter = (LocalSimilarity(gram(K), 0.0, step) for step in (SYMMETRIC, PRINTED))
    assert model.update_W(state(K, W, G))[0, 0] == 0
    assert letter.update_W(state(K, W, G))[0, 0] > 0


# ---------------------------------------------------------------------- what is made once


def test_what_is_made_of_a_factor_is_made_anew_when_the_factor_changes():
    K, W, G = problem(0)
    model, s = LocalSimilarity(gram(K), 0.1, FREE), state(K, W.copy(), G)
    _ = model.loss(s), model.update_W(s), model.update_G(s)
    for array in (s.W, s.KW):
        np.multiply(array, 2, out=array)
    s.changed("W")
    doubled = model.loss(s), model.update_W(s), model.update_G(s)
    fresh = state(K, 2 * W, G)
    expected = model.loss(fresh), model.update_W(fresh), model.update_G(fresh)
    for found, truth in zip(doubled, expected, strict=True):
        np.testing.assert_allclose(found, truth)
    s.G = np.ones_like(G)
    s.KG = K @ s.G
    assert model.loss(s) == pytest.approx(model.loss(state(K, 2 * W, s.G)))
