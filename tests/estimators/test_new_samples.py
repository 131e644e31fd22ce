"""predict and transform, and diffusion."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, LSNMF
from klsnmf.grams.array import DenseGram
from klsnmf.grams.diffused import DiffusedGram, diffuse
from klsnmf.grams.sparse import SparseGram
from klsnmf.kernels.build import fit_kernel
from klsnmf.metrics import accuracy

from ..grams.test_grams import GramContract
from .test_kls import rays, unit

KERNELS = ["self-tuning", "rbf", "linear", "polynomial", "cosine", lambda A, B: np.exp(A @ B.T)]


@pytest.fixture(params=range(2))
def seed(request):
    return request.param


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("row_norm", ["l2", None])
@pytest.mark.parametrize("n_neighbors", ["auto", 8])
def test_old_samples_keep_their_labels_and_rows(seed, kernel, row_norm, n_neighbors):
    X, _ = rays(seed)
    model = KLSNMF(
        3,
        kernel=kernel,
        row_norm=row_norm,
        n_neighbors=n_neighbors,
        random_state=seed,
        tol=0,
        max_iter=300,
    ).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), model.G_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_new_samples_go_to_their_cluster(seed, kernel):
    X, y = rays(seed, n=120)
    model = KLSNMF(3, kernel=kernel, random_state=seed, max_iter=3000).fit(X[:80])
    labels = model.predict(X[80:])
    assert accuracy(np.concatenate([y[:80], y[80:]]), np.concatenate([model.labels_, labels])) == 1
    G = model.transform(X[80:])
    assert G.shape == (40, 3)
    np.testing.assert_array_equal(np.argmax(G, axis=1), labels)


def test_precomputed_rows_of_new_samples(seed):
    X, _ = rays(seed, n=90)
    X = unit(X)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = KLSNMF(3, kernel="precomputed", random_state=seed, max_iter=3000).fit(K[:60, :60])
    direct = KLSNMF(
        3, kernel="rbf", radius=np.sqrt(0.5), init="spectral", random_state=seed, max_iter=3000
    ).fit(X[:60])
    np.testing.assert_array_equal(model.predict(K[60:, :60]), direct.predict(X[60:]))
    np.testing.assert_allclose(model.transform(K[60:, :60]), direct.transform(X[60:]), atol=1e-6)


def test_new_samples_keep_their_order_whichever_are_searched_together(monkeypatch, seed):
    monkeypatch.setattr("klsnmf.kernels.among.MANY", 50)
    X, _ = rays(seed, n=300)
    model = KLSNMF(3, random_state=0).fit(X[:200])
    alone = np.concatenate([model.transform(X[i : i + 1]) for i in range(200, 300)])
    monkeypatch.setattr("klsnmf.kernels.similarity._ROWS", 16)
    monkeypatch.setattr("klsnmf.kernels.similarity._ROWS_PER_THREAD", 8)
    for threads in (1, 2):
        with threadpool_limits(threads):
            np.testing.assert_allclose(model.transform(X[200:]), alone, rtol=1e-9)
            np.testing.assert_array_equal(model.predict(X[200:]), alone.argmax(axis=1))


def test_new_samples_are_searched_in_the_cells_of_the_fit(monkeypatch, seed):
    monkeypatch.setattr("klsnmf.kernels.among.MANY", 50)
    X, _ = rays(seed, n=300)
    model = KLSNMF(3, neighbor_search="approximate", random_state=0).fit(X[:200])
    stored = pickle.dumps(model)
    again = pickle.loads(stored).transform(X[200:])  # it makes the same cells
    monkeypatch.setattr("klsnmf.kernels.cells.MiniBatchKMeans", None)
    np.testing.assert_array_equal(model.transform(X[200:]), again)


def test_free_coefficients_are_the_nonnegative_minimum(seed):
    """LS-NMF with G free: each row solves a small least squares problem."""
    X, _ = rays(seed)
    model = LSNMF(3, orthogonal=False, lam=0, row_norm=None, random_state=seed, tol=0)
    model.fit(X)
    new = np.random.default_rng(seed).uniform(0, 4, size=(5, 6))
    prototypes = model.W_.T @ X
    truth = np.array([nnls(prototypes.T, x)[0] for x in new])
    np.testing.assert_allclose(model.transform(new), truth, atol=1e-4)


def test_output_names_and_types(seed):
    X, _ = rays(seed)
    model = KLSNMF(3, random_state=0).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert list(model.get_feature_names_out()) == ["klsnmf0", "klsnmf1", "klsnmf2"]
    for container in ("pandas", "polars"):
        frame = KLSNMF(3, random_state=0).set_output(transform=container).fit_transform(X)
        assert list(frame.columns) == ["klsnmf0", "klsnmf1", "klsnmf2"]


# ---------------------------------------------------------------------- diffusion


def naive_diffusion(K, steps):
    degrees = K.sum(axis=1)
    S = K / np.sqrt(np.outer(degrees, degrees))
    P = np.linalg.matrix_power(S, steps)
    return P / np.sqrt(np.outer(np.diag(P), np.diag(P)))


class TestDiffused(GramContract):
    """Diffusion of sparse matrices, against its dense truth."""

    form = staticmethod(lambda K: SparseGram(sparse.csr_array(K)))

    @pytest.fixture(params=[2, 4])
    def K(self, request, dtype):
        rng = np.random.default_rng(request.param)
        base = rng.random((13, 13)) * (rng.random((13, 13)) < 0.3)
        base = base + base.T + np.eye(13)
        self.formed, diffusion = diffuse(self.form(base.astype(dtype)), request.param, 3)
        self.lazy = DiffusedGram(diffusion)
        return naive_diffusion(base, request.param).astype(dtype)

    def make(self, K):
        return self.lazy

    def test_what_it_says_of_itself(self, K):
        gram = self.make(K)
        np.testing.assert_allclose(gram.diagonal, np.diag(K), rtol=1e-5)
        np.testing.assert_allclose(gram.column(5), K[:, 5], rtol=1e-4, atol=1e-6)
        assert gram.nonnegative
        assert gram.largest == 1

    def test_formed(self, K):
        np.testing.assert_allclose(self.formed.K, K, rtol=1e-4, atol=1e-6)

    def test_the_matrix_is_left_alone(self, K):
        gram = self.make(K)
        before = gram.diffusion.S.copy()
        gram.dot(np.ones((13, 2), K.dtype))
        assert np.abs(gram.diffusion.S - before).max() == 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_precomputed_kernel_of_uneven_diagonal_knows_its_samples_again(form):
    """k(x, x) of a sample of the fit follows from its row: the local term needs it."""
    rng = np.random.default_rng(0)
    X = 5 * np.eye(3, 6)[np.arange(60) % 3] + rng.random((60, 6)) * rng.uniform(0.2, 4, (60, 1))
    K = X @ X.T
    model = KLSNMF(3, kernel="precomputed", lam=0.05, random_state=0, max_iter=2000).fit(form(K))
    np.testing.assert_allclose(model._similarity.rows(form(K))[1], np.diag(K), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(form(K)), model.labels_)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_steps_are_even(steps):
    with pytest.raises(ValueError, match=f"diffusion={steps}.*even number"):
        diffuse(DenseGram(np.eye(3)), steps, 2)


def test_diffusion_of_few_and_of_many_samples_is_the_same(seed, monkeypatch):
    X, _ = rays(seed)
    few = KLSNMF(3, diffusion=4, random_state=seed, tol=0, max_iter=100).fit(X)
    monkeypatch.setattr("klsnmf.grams.diffused._MOST_FORMED", 10)
    many = KLSNMF(3, diffusion=4, random_state=seed, tol=0, max_iter=100).fit(X)
    assert few.diffusion_ == many.diffusion_ == 4
    np.testing.assert_array_equal(few.labels_, many.labels_)
    np.testing.assert_allclose(few.W_, many.W_, rtol=1e-6, atol=1e-9)


def test_diffusion_of_a_precomputed_kernel(seed):
    X, _ = rays(seed)
    K, _ = fit_kernel(unit(X), "self-tuning", "auto", 10)
    options = {"init": "spectral", "random_state": seed, "tol": 0, "max_iter": 50}
    direct = KLSNMF(3, diffusion=4, row_norm="l2", **options).fit(X)
    for matrix in (K.K, K.K.toarray()):
        model = KLSNMF(3, kernel="precomputed", diffusion=4, **options).fit(matrix)
        np.testing.assert_allclose(model.G_, direct.G_, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(model.predict(matrix), direct.labels_)


def test_diffusion_refuses_what_it_cannot_do(seed):
    X, _ = rays(seed)
    with pytest.raises(ValueError, match="diffusion=2 needs a kernel with no negative entry"):
        KLSNMF(3, kernel="linear", row_norm=None, diffusion=2).fit(X - X.mean(axis=0))
    with pytest.raises(ValueError, match="even number"):
        KLSNMF(3, diffusion=3).fit(X)
    assert not hasattr(KLSNMF(3, diffusion=0, random_state=0).fit(X), "diffusion_")
