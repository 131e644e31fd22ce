"""Kernels and graphs against slow, obvious twins."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.preprocessing import normalize

from klsnmf.kernels.build import fit_kernel
from klsnmf.kernels.functions import WIDE, local_radii, typical_radius
from klsnmf.kernels.neighbors import binary_graph, nearest, neighbor_indices

from ..naive import klsnmf as naive


@pytest.fixture(params=range(3))
def X(request):
    return np.random.default_rng(request.param).random((30, 4))


def gram(*args):
    K, fitted = fit_kernel(*args)
    return K, fitted.width


def dense(K):
    return K.K.toarray() if sparse.issparse(K.K) else K.K


def test_rbf(X):
    K, radius = gram(X, "rbf", 0.7, None)
    np.testing.assert_allclose(dense(K), naive.rbf(X, 0.7), rtol=1e-12)
    assert radius == 0.7


@pytest.mark.parametrize("n_neighbors", [1, 4, 10, 29])
def test_self_tuning(X, n_neighbors):
    K, _ = gram(X, "self-tuning", "auto", n_neighbors)
    np.testing.assert_allclose(dense(K), naive.self_tuning(X, n_neighbors), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear", "polynomial", "cosine"])
def test_sparse_is_dense_when_all_neighbours_are_kept(X, kernel):
    full, _ = gram(X, kernel, 0.5, None)
    kept, _ = gram(X, kernel, 0.5, len(X) - 1)
    np.testing.assert_allclose(dense(kept), dense(full), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 5])
def test_kernels_of_inner_products(X, n_neighbors):
    kept = np.ones((30, 30), dtype=bool)
    if n_neighbors:
        kept = dense(gram(X, "self-tuning", "auto", n_neighbors)[0]) > 0
    for kernel, truth in [
        ("linear", X @ X.T),
        ("polynomial", polynomial_kernel(X, degree=2, gamma=1)),
        (lambda A, B: A @ B.T + 3, X @ X.T + 3),
    ]:
        K, radius = gram(X, kernel, "auto", n_neighbors)
        np.testing.assert_allclose(dense(K), np.where(kept, truth, 0))
        assert radius is None
    K, _ = gram(X, "cosine", "auto", None)
    np.testing.assert_allclose(dense(K), normalize(X) @ normalize(X).T)


@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear", "polynomial", "cosine"])
@pytest.mark.parametrize("n_neighbors", [None, 5])
def test_sparse_samples_give_the_same_kernel(X, kernel, n_neighbors):
    X = X * (X > 0.5)
    a, _ = gram(X, kernel, 0.5, n_neighbors)
    b, _ = gram(sparse.csr_array(X), kernel, 0.5, n_neighbors)
    np.testing.assert_allclose(dense(a), dense(b), atol=1e-12)


def test_radii_of_duplicates_are_never_zero():
    X = np.vstack([np.zeros((12, 2)), np.random.default_rng(0).random((12, 2)) + 1])
    r = local_radii(nearest(X, 7)[1])
    assert (r > 0).all()
    K, _ = gram(X, "self-tuning", "auto", 10)
    assert np.isfinite(dense(K)).all()
    assert (dense(K)[:12, :12][dense(K)[:12, :12] > 0] == 1).all()
    same = np.ones((5, 2))
    assert (local_radii(nearest(same, 7)[1]) == 1).all()
    assert typical_radius(nearest(X, 7)[1]) > 0


def test_wide_kernels_are_made_in_float64():
    X = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    wide, _ = gram(X, "rbf", 100.0, None)
    assert 1 - dense(wide).mean() < WIDE
    assert wide.dtype == np.float64
    assert gram(X, "rbf", 0.5, None)[0].dtype == np.float32
    V = np.random.default_rng(1).random((50, 2))
    truth = naive.distances(naive.rbf(X.astype(float), 100.0)) @ V
    np.testing.assert_allclose(wide.distances(V, wide.dot(V)), truth, rtol=1e-6)


def test_neighbours_are_the_nearest(X):
    d = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    np.testing.assert_array_equal(neighbor_indices(X, 4), np.argsort(d, axis=1)[:, :4])
    assert neighbor_indices(X, 100).shape == (30, 29)
    assert neighbor_indices(X[:1], 4).shape == (1, 0)


def test_binary_graph(X):
    A = dense(binary_graph(X, 3).weights)
    np.testing.assert_array_equal(A, A.T)
    assert set(np.unique(A)) == {0, 1}
    assert (A.sum(axis=1) >= 3).all()
    assert not np.diag(A).any()


@pytest.mark.parametrize("n_neighbors", [None, 4, 10])
@pytest.mark.parametrize(
    "kernel",
    ["self-tuning", "rbf", "linear", "polynomial", "cosine", lambda A, B: (A @ B.T) ** 3],
)
@pytest.mark.parametrize("duplicates", [False, True])
def test_old_samples_get_their_rows_again(X, kernel, n_neighbors, duplicates):
    if duplicates:
        X = np.vstack([X, X[:5]])
    K, fitted = fit_kernel(X, kernel, "auto", n_neighbors)
    k, own = fitted.rows(X)
    assert sparse.issparse(k) == (n_neighbors is not None)
    k = k.toarray() if sparse.issparse(k) else k
    if not (duplicates and n_neighbors):  # neighbours equally near can be kept or not
        np.testing.assert_allclose(k, dense(K), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(own, K.diagonal)


def test_new_samples_by_hand(X):
    """The self-tuning kernel of a new sample, written out."""
    y = np.full(4, 0.4)
    _, fitted = fit_kernel(X, "self-tuning", "auto", 5)
    k, own = fitted.rows(y[None])
    d = np.sqrt(((X - y) ** 2).sum(axis=1))
    order = np.argsort(d)
    within = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    reach = np.sort(within, axis=1)[:, 5]
    r = np.sort(within, axis=1)[:, 7]
    kept = (d <= reach) | np.isin(np.arange(30), order[:5])
    truth = np.where(kept, np.exp(-(d**2) / (d[order[6]] * r)), 0)
    np.testing.assert_allclose(k.toarray()[0], truth)
    assert own == 1
    assert fitted.rows(X[:0])[0].shape == (0, 30)
