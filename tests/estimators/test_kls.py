"""KLSNMF and LSNMF as users meet them: planted clusters, identities at the limits, path."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from klsnmf import GLSNMF, KLSNMF, LSNMF, METHODS, path
from klsnmf.core.kmeans import by_appearance
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.spectral import spectral_embedding
from klsnmf.kernels.build import fit_kernel
from klsnmf.metrics import accuracy
from klsnmf.solve.solution import factors_of_labels
from klsnmf.solve.starts import random_factors, starts

from ..naive import klsnmf as naive

SOLVERS = ["paper", "soft", "exact", "auto"]


def rays(seed, n=60, k=3):
    """Clusters along different directions: apart for every kernel, nonnegative."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = 4 * np.eye(k, 2 * k)[y] + rng.uniform(0, 1, size=(n, 2 * k))
    return X, y


def unit(X):
    return normalize(X)


@pytest.fixture(params=range(2))
def seed(request):
    return request.param


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear", "polynomial", "cosine"])
def test_planted_clusters_are_found(seed, solver, kernel):
    X, y = rays(seed)
    model = KLSNMF(3, kernel=kernel, solver=solver, random_state=seed, max_iter=3000).fit(X)
    assert accuracy(y, model.labels_) == 1
    assert model.W_.shape == model.G_.shape == (60, 3)
    assert (model.W_ >= 0).all()
    assert (model.G_ >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(model.G_, axis=0), 1)
    # Prototypes are means of samples, each of its own cluster.
    assert model.components_.shape == (3, 6)
    directions = [np.argmax(row) for row in model.components_]
    assert [y[model.labels_ == c][0] for c in range(3)] == directions


@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear"])
@pytest.mark.parametrize("solver", ["exact", "auto"])
def test_exact_solvers_end_with_orthonormal_columns(seed, kernel, solver):
    X, _ = rays(seed)
    model = KLSNMF(3, kernel=kernel, solver=solver, random_state=seed, max_iter=3000).fit(X)
    np.testing.assert_allclose(model.G_.T @ model.G_, np.eye(3), atol=1e-12)
    exact = model.history_["solver"] == "exact"
    falls = np.diff(model.history_["objective"][exact])
    assert (falls <= 1e-9 * len(X)).all()


@pytest.mark.parametrize("orthogonal", [True, False])
def test_signed_data(seed, orthogonal):
    X, y = rays(seed)
    X = X - X.mean(axis=0)
    model = LSNMF(3, orthogonal=orthogonal, row_norm=None, random_state=seed, max_iter=5000)
    assert accuracy(y, model.fit_predict(X)) == 1
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("solver", ["paper", "soft"])
def test_graph_weight(seed, solver):
    X, y = rays(seed)
    model = KLSNMF(3, graph_weight=0.1, solver=solver, random_state=seed, max_iter=5000).fit(X)
    assert accuracy(y, model.labels_) == 1
    A = (rbf_kernel(X) > 0.5).astype(float)
    tied = GLSNMF(3, graph_neighbors=A, solver=solver, random_state=seed, max_iter=5000).fit(X)
    assert accuracy(y, tied.labels_) == 1
    with_sparse = GLSNMF(
        3, graph_neighbors=sparse.csr_matrix(A), solver=solver, random_state=seed, max_iter=5000
    ).fit(X)
    np.testing.assert_allclose(tied.G_, with_sparse.G_)


# ---------------------------------------------------------------------- to the letter


@pytest.mark.parametrize("steps", [1, 5, 50])
@pytest.mark.parametrize("lam", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("precomputed", [True, False])
def test_solver_paper_is_the_paper(steps, lam, precomputed):
    X = unit(rays(0)[0])
    K = naive.rbf(X, 1.0)
    W0, G0 = random_factors(60, 3, np.random.RandomState(1))
    options = {"lam": lam, "solver": "paper", "init": (W0, G0), "tol": 0, "max_iter": steps}
    if precomputed:
        model = KLSNMF(3, kernel="precomputed", n_init=1, **options).fit(K)
    else:
        model = KLSNMF(3, kernel="rbf", radius=1.0, n_init=1, **options).fit(X)
    W, G = naive.iterate(K, W0, G0, lam, steps)
    truth = W @ G.T
    assert np.abs(model.W_ @ model.G_.T - truth).max() <= 1e-8 * np.abs(truth).max()
    assert model.n_iter_ == steps
    assert model.objective_ == pytest.approx(naive.objective(K, W, G, lam))
    assert model.lam_ == lam
    np.testing.assert_allclose(model.similarity(4), truth[4], rtol=1e-7)


# ---------------------------------------------------------------------- identities


@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_kls_nmf_is_ls_nmf(seed, solver):
    X, _ = rays(seed)
    options = {"solver": solver, "random_state": seed, "max_iter": 300, "tol": 0}
    a, b = KLSNMF(3, kernel="linear", **options).fit(X), LSNMF(3, **options).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.W_, b.W_)


def test_ls_nmf_at_zero_is_a_factorization_of_the_data(seed):
    """f at λ = 0 is ½‖X - G WᵀX‖²."""
    X, _ = rays(seed)
    for orthogonal in (True, False):
        model = LSNMF(
            3, orthogonal=orthogonal, lam=0, row_norm=None, random_state=0, max_iter=300, tol=0
        ).fit(X)
        residual = X - model.G_ @ (model.W_.T @ X)
        assert model.objective_ == pytest.approx(0.5 * np.sum(residual**2), rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_is_dense_when_all_neighbours_are_kept(seed, solver):
    X, _ = rays(seed, n=40)
    W0, G0 = random_factors(40, 3, np.random.RandomState(seed))
    options = {"init": (W0, G0), "solver": solver, "max_iter": 30, "tol": 0, "lam": 0.001}
    options["diffusion"] = "unweighted"
    a = KLSNMF(3, n_neighbors=None, **options).fit(X)
    b = KLSNMF(3, n_neighbors=39, **options).fit(X)
    np.testing.assert_allclose(a.W_ @ a.G_.T, b.W_ @ b.G_.T, rtol=1e-6, atol=1e-9)


def test_precomputed_is_the_kernel_itself(seed):
    X, _ = rays(seed)
    options = {"init": "spectral", "diffusion": 0, "random_state": seed, "max_iter": 3000}
    direct = KLSNMF(3, row_norm="l2", **options).fit(X)
    K = fit_kernel(unit(X), "self-tuning", "auto", 10)[0].K
    for matrix in (K, sparse.csr_matrix(K), sparse.coo_array(K), K.toarray()):
        model = KLSNMF(3, kernel="precomputed", **options).fit(matrix)
        np.testing.assert_array_equal(model.labels_, direct.labels_)
        assert model.objective_ == pytest.approx(direct.objective_, rel=1e-6)
        assert not hasattr(model, "components_")
    called = KLSNMF(3, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5), **options).fit(X)
    named = KLSNMF(3, kernel="rbf", radius=1.0, **options).fit(X)
    np.testing.assert_array_equal(called.labels_, named.labels_)


# ---------------------------------------------------------------------- path and batch


def test_path_is_one_fit_after_the_other(seed):
    X, _ = rays(seed)
    lams = [0, 1e-4, "auto", 1e-3]
    options = {"random_state": seed, "n_init": 3, "max_iter": 3000}
    together = path(X, 3, lams=lams, **options)
    assert [model.lam for model in together] == lams
    for model, lam in zip(together, lams, strict=True):
        alone = KLSNMF(3, lam=lam, **options).fit(X)
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        np.testing.assert_allclose(model.G_, alone.G_, rtol=1e-6, atol=1e-9)
        assert model.lam_ == pytest.approx(alone.lam_)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-9)
        assert model.n_features_in_ == 6


def test_the_lowest_objective_of_the_starts_is_kept(seed):
    X, _ = rays(seed)
    rng = np.random.RandomState(seed)
    options = {"solver": "soft", "max_iter": 200, "tol": 0, "lam": 0}
    several = KLSNMF(3, init="random", n_init=6, random_state=seed, **options).fit(X)
    singly = [
        KLSNMF(3, init=random_factors(60, 3, rng), n_init=1, **options).fit(X).objective_
        for _ in range(6)
    ]
    assert several.objective_ == pytest.approx(min(singly), rel=1e-6)


def test_similarity_is_a_row(seed):
    X, _ = rays(seed)
    model = KLSNMF(3, random_state=seed).fit(X)
    Z = model.W_ @ model.G_.T
    for i in (0, 7, -1):
        np.testing.assert_allclose(model.similarity(i), Z[i])
    with pytest.raises(IndexError, match="i=60"):
        model.similarity(60)


def test_methods_are_estimators():
    for name, method in METHODS.items():
        assert name == name.lower()
        assert hasattr(method(), "fit_predict")


# ---------------------------------------------------------------------- λ


def test_auto_lam_follows_the_kernel(seed):
    """λ is relative: K times a constant changes neither λ nor labels."""
    X, _ = rays(seed)
    K = rbf_kernel(X, gamma=0.1)
    a = KLSNMF(3, kernel="precomputed", random_state=0, max_iter=3000).fit(K)
    b = KLSNMF(3, kernel="precomputed", random_state=0, max_iter=3000).fit(1000 * K)
    assert a.lam_ == pytest.approx(b.lam_, rel=1e-6)
    assert a.lam_ > 0
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.objective_ == pytest.approx(1000 * a.objective_, rel=1e-6)


def test_warnings_point_at_the_line_of_the_user():
    X, _ = rays(0)
    for call in (
        lambda: KLSNMF(3, max_iter=1).fit(X),
        lambda: KLSNMF(3, max_iter=1).fit_predict(X),
        lambda: path(X, 3, lams=[0], max_iter=1),
    ):
        with pytest.warns(ConvergenceWarning) as seen:
            call()
        assert seen[0].filename == __file__


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_lam_too_large_is_named_with_one_that_does(seed, solver):
    X, _ = rays(seed)
    model = KLSNMF(3, lam=50.0, solver=solver, random_state=seed, max_iter=3000)
    with pytest.warns(ConvergenceWarning, match=r"lam=50 is too large.*lam=\S+ or less") as seen:
        model.fit(X)
    assert set(model.labels_) <= {0, 1, 2}
    assert np.isfinite(model.W_).all()
    assert np.isfinite(model.G_).all()
    safe = float(str(seen[0].message).split("lam=")[-1].split()[0])
    assert 0 < safe < 50
    for lam in (safe, safe / 3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.set_params(lam=lam).fit(X)


# ---------------------------------------------------------------------- starts


def test_factors_of_labels():
    W, G = factors_of_labels(np.array([0, 1, 1, 2]), 4)
    np.testing.assert_array_equal(G, np.eye(4)[[0, 1, 1, 2]] + 0.2)
    np.testing.assert_array_equal(W, G / [1, 2, 1, 1])


def test_the_embedding_spans_the_leading_eigenvectors(seed):
    for n in (60, 500):  # by a dense solver, and by subspace iteration
        X, _ = rays(seed, n=n)
        K = fit_kernel(unit(X), "rbf", 0.5, None)[0]
        degrees = K.K.sum(axis=1)
        S = K.K / np.sqrt(np.outer(degrees, degrees))
        vectors = np.linalg.eigh(S)[1][:, -3:]
        truth = normalize(vectors)
        found = spectral_embedding(K, 3, np.random.RandomState(0))
        np.testing.assert_allclose(found @ found.T, truth @ truth.T, atol=1e-2)


def test_the_embedding_sees_all_pieces_of_a_graph(seed):
    """The trap: with 60 pieces the largest eigenvalue has 60 eigenvectors."""
    y = np.repeat(np.arange(60), 10)
    K = SparseGram(sparse.csr_array(np.equal.outer(y, y).astype(float)))
    found = spectral_embedding(K, 60, np.random.RandomState(seed))
    np.testing.assert_allclose(found @ found.T, np.equal.outer(y, y), atol=1e-6)


def test_starts_take_turns_and_are_not_repeated():
    X, y = rays(0)
    K = fit_kernel(unit(X), "self-tuning", "auto", 10)[0]
    rng = np.random.RandomState(0)
    # Clusters this clear are found by every start: one fit is enough.
    (made,) = starts(unit(X), K, 3, "auto", 4, rng)
    assert accuracy(y, np.argmax(made.factors["G"], axis=1)) == 1
    assert len(starts(unit(X), K, 3, "random", 4, rng)) == 4
    noise = rng.uniform(size=(60, 5))
    assert len(starts(noise, K, 6, "auto", 6, rng)) > 1
    assert len(starts(None, K, 3, "auto", 2, rng)) == 1


def test_numbering_by_appearance():
    np.testing.assert_array_equal(by_appearance(np.array([5, 2, 5, 7, 2])), [0, 1, 0, 2, 1])
