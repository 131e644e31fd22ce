"""The family: rules against their naive twins, theorems as properties, limits as identities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import decomposition
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from klsnmf import CNMF, GNMF, KNMF, LSNMF, WNMF, KernelKMeans
from klsnmf.core.arithmetic import unit_columns
from klsnmf.estimators.labels import read_labels
from klsnmf.grams.array import DenseGram
from klsnmf.grams.base import Data
from klsnmf.grams.graph import Graph
from klsnmf.grams.low_rank import LowRankGram
from klsnmf.kernels.neighbors import binary_graph
from klsnmf.metrics import accuracy
from klsnmf.models.base import State
from klsnmf.models.gnmf import GraphNMF
from klsnmf.models.kernel_kmeans import Lloyd
from klsnmf.models.ls_nmf import FREE, LocalSimilarity
from klsnmf.models.nmf import NMF, WeightedNMF
from klsnmf.models.onmf import OrthogonalNMF
from klsnmf.models.rmnmf import RobustNMF
from klsnmf.models.semi_nmf import SemiNonnegative
from klsnmf.solve.loop import solve

from ..helpers import blobs
from ..models.test_rules import falls, weights
from ..naive import family as naive
from ..naive import klsnmf as naive_kernel

# What a fit of few iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

seeds = st.integers(0, 2**32 - 1)
alphas = st.sampled_from([0.0, 0.01, 1.0, 100.0])


def problem(seed, signed=False, n=None, p=None, k=None):
    """Random samples and factors with some zeros, of sizes that differ."""
    rng = np.random.default_rng(seed)
    n, p, k = n or rng.integers(4, 20), p or rng.integers(2, 9), k or rng.integers(1, 5)
    X = rng.normal(size=(n, p)) if signed else rng.random((n, p)) * (rng.random((n, p)) < 0.8)
    X[0, 0] = 1
    G, F = rng.random((n, k)), rng.random((p, k))
    G[rng.random((n, k)) < 0.1] = 0
    F[rng.random((p, k)) < 0.1] = 0
    return X, G * rng.choice([1e-2, 1, 1e2]), F


def state(X, G, F, **more):
    return State(G=G, F=F, XF=X @ F, XtG=X.T @ G, **more)


def gaps(shape, seed):
    """Weights between 0 and 2, some of them 0."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 2, size=shape) * (rng.random(shape) < 0.7)


def wnmf_of(X, M):
    return WeightedNMF(Data(M * X), M, float(np.sum(M * X**2)))


def graph_of(n, seed):
    A = weights(n, seed)
    return A, Graph(sparse.csr_array(A))


def run(model, G, F, **options):
    """One fit, no tolerance."""
    (solution,) = solve([model], [model.start(G, F)], tol=0, **options)
    return solution


close = {"rtol": 1e-8, "atol": 1e-10}


# ---------------------------------------------------------------------- naive twins


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_nmf_and_wnmf(seed):
    X, G, F = problem(seed)
    ones, s = np.ones_like(X), state(X, G, F)
    plain = NMF(Data(X))
    np.testing.assert_allclose(plain.update_G(s), naive.wnmf_G(X, ones, G, F), **close)
    np.testing.assert_allclose(plain.update_F(s), naive.wnmf_F(X, ones, G, F), **close)
    assert plain.loss(s) == pytest.approx(naive.wnmf_objective(X, ones, G, F), rel=1e-8)
    M = gaps(X.shape, seed)
    weighted, s = wnmf_of(X, M), state(M * X, G, F)
    np.testing.assert_allclose(weighted.update_G(s), naive.wnmf_G(X, M, G, F), **close)
    np.testing.assert_allclose(weighted.update_F(s), naive.wnmf_F(X, M, G, F), **close)
    assert weighted.loss(s) == pytest.approx(naive.wnmf_objective(X, M, G, F), rel=1e-8, abs=1e-12)


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_onmf(seed):
    X, G, F = problem(seed)
    k = G.shape[1]
    S = np.random.default_rng(seed).random((k, k))
    model, s = OrthogonalNMF(Data(X)), state(X, G, F, S=S)
    np.testing.assert_allclose(model.update_G(s), naive.onmf_G(X, G, F, S), **close)
    np.testing.assert_allclose(model.update_F(s), naive.onmf_F(X, G, F, S), **close)
    np.testing.assert_allclose(model.update_S(s), naive.onmf_S(X, G, F, S), **close)
    assert model.loss(s) == pytest.approx(naive.onmf_objective(X, G, F, S), rel=1e-8)
    G, H = model.factorization(s)
    np.testing.assert_allclose(G @ H.T, G @ S @ F.T)


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_semi_nmf(seed):
    X, G, F = problem(seed, signed=True)
    F = np.random.default_rng(seed).normal(size=F.shape)
    model, s = SemiNonnegative(Data(X)), state(X, G, F)
    np.testing.assert_allclose(model.update_G(s), naive.semi_G(X, G, F), **close)
    # F itself depends on the rounding of (GᵀG)⁻¹ where columns of G are nearly alike; GFᵀ does not.
    np.testing.assert_allclose(
        G @ model.update_F(s).T, G @ naive.semi_F(X, G, F).T, rtol=1e-5, atol=1e-5
    )


@given(seed=seeds, alpha=alphas)
@settings(max_examples=40, deadline=None)
def test_gnmf(seed, alpha):
    X, G, F = problem(seed)
    F[0] += 0.1  # no column without length
    A, graph = graph_of(len(X), seed)
    model, s = GraphNMF(Data(X), graph, alpha), state(X, G, F, AG=A @ G)
    length = np.linalg.norm(F, axis=0)
    printed = naive.gnmf_G_at_unit_length(X, A, alpha, G * length, F / length)
    np.testing.assert_allclose(model.update_G(s) * length, printed, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.update_F(s), naive.gnmf_F(X, A, alpha, G, F), **close)
    assert model.loss(s) == pytest.approx(naive.gnmf_objective(X, A, alpha, G, F), rel=1e-8)


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_cnmf_is_signed_ls_nmf_on_nonnegative_kernels(seed):
    """Ding's rules split K⁺G and K⁻G; where K ≥ 0 both are the rules of LS-NMF."""
    X, _, _ = problem(seed)
    K, rng = X @ X.T, np.random.default_rng(seed)
    W, G = rng.random((2, len(X), 3))
    model, s = LocalSimilarity(DenseGram(K), 0.0, FREE), State(W=W, G=G, KW=K @ W, KG=K @ G)
    np.testing.assert_allclose(model.update_W(s), naive.cnmf_W(K, W, G), **close)
    np.testing.assert_allclose(model.update_G(s), naive.cnmf_G(K, W, G), **close)


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_cnmf_of_signed_samples(seed):
    """Ding's G step, and a W step that has (KG)⁺ and (KG)⁻ where his has K⁺G and K⁻G."""
    X, _, _ = problem(seed, signed=True)
    K, rng = X @ X.T, np.random.default_rng(seed)
    W, G = rng.random((2, len(X), 3))
    model = LocalSimilarity(DenseGram(K), 0.0, FREE)
    s = State(W=W, G=G, KW=K @ W, KG=K @ G, PW=np.maximum(K, 0) @ W)
    np.testing.assert_allclose(model.update_G(s), naive.cnmf_G(K, W, G), **close)
    np.testing.assert_allclose(
        model.update_W(s), naive_kernel.update_W_signed(K, W, G, 0.0), **close
    )
    # What stands still under one W step does so under the other: f falls by both.
    before = naive_kernel.objective(K, W, G, 0)
    for step in (naive.cnmf_W(K, W, G), model.update_W(s)):
        assert falls(naive_kernel.objective(K, step, G, 0), before, np.trace(K))


@pytest.mark.parametrize("seed", range(3))
def test_cnmf_of_signed_samples_ends_as_low_as_the_naive_rules(seed):
    """The trap: with (KW)⁺ in the G step whole rows of G became zero, and stayed so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6)) + 3 * rng.normal(size=(4, 6))[rng.integers(4, size=60)]
    K, (W, G) = X @ X.T, rng.random((2, 60, 4))
    W /= 60
    options = {"row_norm": None, "init": (W, G), "n_init": 1, "tol": 0, "max_iter": 500}
    model = CNMF(4, **options).fit(X)
    for _ in range(500):
        W = naive.cnmf_W(K, W, G)
        G = naive.cnmf_G(K, W, G)
    assert model.objective_ <= 1.1 * naive_kernel.objective(K, W, G, 0)


@pytest.mark.parametrize("sign", [0, 1])
def test_cnmf_leaves_sparse_samples_as_they_are(sign, monkeypatch):
    """Neither K nor K⁺ is formed, of samples of both signs neither."""

    def refuse(*_):
        raise AssertionError("an array of all pairs")

    monkeypatch.setattr("klsnmf.kernels.build.DenseGram", refuse)
    X = sparse.random_array((60, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    X.data -= 0.5 * sign
    model = CNMF(3, init="kmeans", n_init=2, max_iter=100, random_state=0).fit(X)
    truth = X.toarray() / np.maximum(np.linalg.norm(X.toarray(), axis=1), 1e-300)[:, None]
    truth = truth if model.row_norm_ == "l2" else X.toarray()
    expected = naive_kernel.objective(truth @ truth.T, model.W_, model.G_, 0)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9 * np.sum(truth**2))


@pytest.mark.parametrize("seed", range(5))
def test_kernel_kmeans_is_lloyd_with_distances_written_out(seed):
    X, y = blobs(30, 3, 6, seed)
    K, rng = naive_kernel.rbf(X, 2.0), np.random.default_rng(seed)
    labels = np.where(rng.random(30) < 0.5, y, rng.integers(3, size=30))
    G = np.eye(3)[labels]
    for iterations in (1, 2, 5):
        start = {"W": G / G.sum(axis=0), "G": G}
        model = Lloyd(DenseGram(K))
        (solution,) = solve([model], [start], max_iter=iterations, tol=0)
        expected = naive.kernel_kmeans(K, labels, 3, iterations)
        np.testing.assert_array_equal(solution.factors["G"].argmax(axis=1), expected)


def test_kernel_kmeans_of_the_linear_kernel_is_kmeans():
    X, _ = blobs(60, 4, 8, 0)
    mine = KernelKMeans(4, kernel="linear", row_norm=None, random_state=0).fit(X)
    theirs = KMeans(4, n_init=10, random_state=0).fit(X)
    assert accuracy(theirs.labels_, mine.labels_) == 1
    assert 2 * mine.objective_ == pytest.approx(theirs.inertia_)
    np.testing.assert_array_equal(mine.predict(X), mine.labels_)
    np.testing.assert_array_equal(mine.transform(X), mine.G_)


def test_kernel_kmeans_fills_an_empty_cluster():
    X, y = blobs(30, 3, 6, 0)
    G = np.eye(3)[np.where(y == 2, 0, y)]
    model = Lloyd(DenseGram(X @ X.T))
    (solution,) = solve([model], [{"W": G / 30, "G": G}], max_iter=20, tol=0)
    assert set(solution.labels) == {0, 1, 2}


# ---------------------------------------------------------------------- theorems


@given(seed=seeds, alpha=alphas)
@settings(max_examples=60, deadline=None)
def test_steps_that_never_raise_the_objective(seed, alpha):
    X, G, F = problem(seed)
    A, graph = graph_of(len(X), seed)
    M = gaps(X.shape, seed)
    for model, data in [
        (NMF(Data(X)), X),
        (wnmf_of(X, M), M * X),
        (SemiNonnegative(Data(X - 0.4)), X - 0.4),
        (GraphNMF(Data(X), graph, alpha), X),
    ]:
        s = state(data, G, F, AG=A @ G)
        if isinstance(model, SemiNonnegative):
            s = state(data, G, model.update_F(s))
        old = model.loss(s)
        for _ in range(3):
            for name in model.factors:
                setattr(s, name, getattr(model, f"update_{name}")(s))
                s = state(data, s.G, s.F, AG=A @ s.G)
                new = model.loss(s)
                assert falls(new, old, model.scale + abs(old)), type(model)
                old = new


@given(seed=seeds)
@settings(max_examples=60, deadline=None)
def test_semi_nmf_descends_in_single_precision_where_columns_of_G_are_alike(seed):
    """The trap: directions of GᵀG that are rounding alone gave an F of any size."""
    X, G, F = (M.astype(np.float32) for M in problem(seed, signed=True, k=4))
    G[:, 2] = G[:, 0] + G[:, 1]
    G[:, 3] = 0
    model = SemiNonnegative(Data(X))
    s = state(X, G, model.update_F(state(X, G, F)))
    assert model.loss(s) <= (1 + 1e-3) * np.sum(X**2)
    old = model.loss(s)
    for _ in range(5):
        for name in ("G", "F"):
            setattr(s, name, getattr(model, f"update_{name}")(s))
            s = state(X, s.G, s.F)
        new = model.loss(s)
        assert new <= old + 1e-3 * np.sum(X**2)
        old = new


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_the_S_step_of_onmf_never_raises_the_objective(seed):
    X, G, F = problem(seed)
    S = np.random.default_rng(seed).random((G.shape[1],) * 2)
    model = OrthogonalNMF(Data(X))
    new = model.update_S(state(X, G, F, S=S))
    old = naive.onmf_objective(X, G, F, S)
    assert falls(naive.onmf_objective(X, G, F, new), old, model.scale)


@pytest.mark.parametrize("seed", range(5))
def test_kernel_kmeans_descends_on_a_definite_kernel(seed):
    X = np.random.default_rng(seed).random((40, 3))
    G = np.eye(4)[np.random.default_rng(seed).integers(4, size=40)]
    model = Lloyd(DenseGram(naive_kernel.rbf(X, 0.5)))
    (solution,) = solve([model], [{"W": G / 10, "G": G}], max_iter=20, tol=0)
    assert np.all(np.diff(solution.history["objective"]) <= 1e-9)


@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_zero_stays_zero_and_nothing_becomes_nan(seed):
    for dtype in (np.float32, np.float64):
        X, G, F = (M.astype(dtype) for M in problem(seed))
        X[0] = X[:, -1] = 0
        G[:, 0] = 0
        A, graph = graph_of(len(X), seed)
        graph = Graph(sparse.csr_array(A.astype(dtype)))
        S = np.eye(G.shape[1], dtype=dtype)
        s = state(X, G, F, S=S, AG=A.astype(dtype) @ G)
        M = gaps(X.shape, seed).astype(dtype)
        M[1] = 0
        for model in (
            NMF(Data(X)),
            WeightedNMF(Data(M * X), M, float(np.sum(M * X**2))),
            OrthogonalNMF(Data(X)),
            SemiNonnegative(Data(X)),
            GraphNMF(Data(X), graph, 1.0),
        ):
            for name in model.factors:
                new = getattr(model, f"update_{name}")(s)
                assert np.isfinite(new).all()
                assert new.dtype == dtype
                if not (name == "F" and isinstance(model, SemiNonnegative)):
                    assert not new[getattr(s, name) == 0].any()


# ---------------------------------------------------------------------- limits as identities


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("steps", [1, 2, 10, 100])
def test_nmf_is_that_of_scikit_learn_iterate_by_iterate(steps, form):
    X, G, F = problem(7, n=30, p=12, k=4)
    theirs = decomposition.NMF(4, init="custom", solver="mu", tol=0, max_iter=steps)
    W = theirs.fit_transform(form(X), W=G.copy(), H=F.T.copy())
    options = {"init": (G, F), "tol": 0, "max_iter": steps, "solver": "multiplicative"}
    mine = WNMF(4, **options).fit(form(X))
    truth = W @ theirs.components_
    np.testing.assert_allclose(mine.G_ @ mine.components_, truth, rtol=1e-8, atol=1e-10)
    unit = WNMF(4, **options).fit(form(X), weights=np.ones_like(X))
    np.testing.assert_allclose(unit.G_ @ unit.components_, truth, rtol=1e-8, atol=1e-10)
    assert unit.objective_ == pytest.approx(mine.objective_)


def test_a_planted_matrix_is_recovered_from_two_thirds_of_its_entries():
    rng = np.random.default_rng(0)
    truth = rng.random((80, 4)) @ rng.random((4, 40))
    X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    model = WNMF(4, tol=0, max_iter=300, n_init=3, random_state=0).fit(X)
    found = model.G_ @ model.components_
    assert np.linalg.norm(found - truth) < 1e-4 * np.linalg.norm(truth)
    missing = np.isnan(X)
    assert np.linalg.norm((found - truth)[missing]) < 1e-4 * np.linalg.norm(truth[missing])


def test_weights_of_zero_are_gaps():
    X, G, F = problem(3, n=20, p=8, k=3)
    M = (np.random.default_rng(0).random(X.shape) < 0.7).astype(float)
    a = WNMF(3, init=(G, F), max_iter=20, tol=0).fit(np.where(M > 0, X, np.nan))
    b = WNMF(3, init=(G, F), max_iter=20, tol=0).fit(np.where(M > 0, X, 1e6), weights=M)
    c = WNMF(3, init=(G, F), max_iter=20, tol=0).fit(X, weights=5 * M)
    for other in (b, c):
        np.testing.assert_allclose(a.G_, other.G_, atol=1e-12)
        np.testing.assert_allclose(a.components_, other.components_, atol=1e-12)
    assert c.objective_ == pytest.approx(5 * a.objective_)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_linear_knmf_is_cnmf_and_both_are_ls_nmf_with_G_free(shift):
    X, _ = blobs(50, 3, 6, 0)
    X = X - shift
    options = {"random_state": 0, "n_init": 3, "max_iter": 60, "tol": 0}
    a = CNMF(3, solver="multiplicative", **options).fit(X)
    b = KNMF(3, kernel="linear", solver="multiplicative", **options).fit(X)
    c = LSNMF(3, orthogonal=False, lam=0, **options).fit(X)
    for other in (b, c):
        np.testing.assert_allclose(other.W_, a.W_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.G_, a.G_, rtol=1e-6, atol=1e-9)
        assert other.objective_ == pytest.approx(a.objective_)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_linear_gram_is_its_matrix(form):
    X, _, _ = problem(5, n=20, p=6, k=3)
    gram, K = LowRankGram(form(X)), X @ X.T
    V = np.random.default_rng(0).random((20, 3))
    np.testing.assert_allclose(gram.dot(V), K @ V)
    np.testing.assert_allclose(gram.diagonal, np.diag(K))
    np.testing.assert_allclose(gram.column(3), K[3])
    assert np.abs(K).max() <= gram.largest * (1 + 1e-12)
    assert gram.positive is gram


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("rough", [False, True])
def test_products_with_samples(form, wide, rough):
    X, _, _ = problem(6, n=15, p=7, k=3)
    X = np.ascontiguousarray(X.T) if wide else X
    data, rng = Data(form(X)), np.random.default_rng(0)
    data = data.in_single_precision() if rough else data
    near = {"rtol": 1e-5 if rough else 1e-12}
    for operator, truth in ((data, X), (data.T, X.T)):
        V = operator.stack(4, truth.shape[1], 3)
        V[...] = rng.random(V.shape)
        out = operator.stack(4, truth.shape[0], 3)
        operator.multiply(V, out)
        assert out.dtype == (np.float32 if rough else np.float64)
        np.testing.assert_allclose(out, truth @ V, **near)
        np.testing.assert_allclose(operator.row_square_sums, np.sum(truth**2, axis=1), **near)
    assert data.square_sum == pytest.approx(np.sum(X**2))


@pytest.mark.parametrize("wide", [False, True])
def test_a_sparse_matrix_is_stored_once(wide):
    """Its transpose and its copy in single precision share the places of entries."""
    X = sparse.random_array((30, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    data = Data(X.T.tocsr() if wide else X)
    along = data.along
    for other in (data.T.along, data.in_single_precision().along):
        assert np.shares_memory(other.indices, along.indices)
        assert np.shares_memory(other.indptr, along.indptr)
    assert np.shares_memory(data.T.along.data, along.data)
    assert len(along.indptr) == 31  # in the order of the longer side


def test_gnmf_without_weight_is_nmf():
    X, G, F = problem(4, n=25, p=8, k=3)
    options = {"init": (G, F), "max_iter": 50, "tol": 0}
    a, b = WNMF(3, **options).fit(X), GNMF(3, graph_weight=0, **options).fit(X)
    np.testing.assert_allclose(a.G_, b.G_, rtol=1e-10)
    np.testing.assert_allclose(a.components_, b.components_, rtol=1e-10)
    assert a.objective_ == pytest.approx(b.objective_)


def test_gnmf_does_not_drift():
    """The trap: with free columns of F the graph term drives G to zero, and clusters with it."""
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y = normalize(X[:300]), y[:300]
    A, alpha = binary_graph(X, 5).weights.K.toarray(), 10.0
    labels = KMeans(5, n_init=1, random_state=0).fit(X).labels_
    onehot = np.eye(5)[labels]
    G, F = onehot + 0.2, X.T @ onehot / onehot.sum(axis=0)
    options = {"graph_weight": alpha, "init": (G, F), "tol": 0, "labels": "kmeans"}
    model = GNMF(5, max_iter=2000, random_state=0, **options).fit(X)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9 * np.sum(X**2))
    # The same iterations with free columns: G shrinks, F grows, and the graph counts no more.
    first = np.linalg.norm(G)
    free = []
    for _ in range(2000):
        G = naive.gnmf_G_at_unit_length(X, A, alpha, G, F)
        F = naive.wnmf_F(X, np.ones_like(X), G, F)
        free.append(naive.gnmf_objective(X, A, alpha, G, F))
    assert np.linalg.norm(G) < 0.1 * first
    assert free[-1] > 2 * min(free)
    assert model.objective_ < min(free)
    unit = unit_columns(G)
    drifted, _ = read_labels(unit, unit.argmax(axis=1), "kmeans", np.random.RandomState(0))
    assert accuracy(y, model.labels_) > accuracy(y, drifted) + 0.02


# ---------------------------------------------------------------------- batch


@pytest.mark.parametrize("name", ["nmf", "wnmf", "onmf", "semi-nmf", "gnmf", "rmnmf"])
def test_a_batch_is_its_fits_one_by_one(name):
    X, _ = blobs(40, 3, 6, 0)
    X = X / 10
    _, graph = graph_of(40, 0)
    model = {
        "nmf": NMF(Data(X)),
        "wnmf": wnmf_of(X, gaps(X.shape, 0)),
        "onmf": OrthogonalNMF(Data(X)),
        "semi-nmf": SemiNonnegative(Data(X)),
        "gnmf": GraphNMF(Data(X), graph, 0.1),
        "rmnmf": RobustNMF(Data(X), graph, 0.1),
    }[name]
    pairs = [problem(seed, n=40, p=6, k=3)[1:] for seed in range(4)]
    starts = [model.start(G, F) for G, F in pairs]
    # One that has little left to do leaves early, and the others change places.
    starts[1] = solve([model], [starts[1]], max_iter=400, tol=0)[0].factors
    options = {"max_iter": 60, "tol": 1e-3}
    together = solve([model] * 4, starts, **options)
    for start, solution in zip(starts, together, strict=True):
        (alone,) = solve([model], [start], **options)
        assert solution.n_iter == alone.n_iter
        for factor in model.factors:
            np.testing.assert_allclose(
                solution.factors[factor], alone.factors[factor], rtol=1e-6, atol=1e-8
            )
        np.testing.assert_allclose(
            solution.history["objective"], alone.history["objective"], rtol=1e-8, atol=1e-9
        )
