"""One contract for every kind of similarity, checked against the Gram of the samples it was
fitted to; on the host and on devices."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from klsnmf.core.arrays import host_copy, namespace, place, to_host
from klsnmf.kernels.build import KernelSettings, fit_kernel
from klsnmf.kernels.functions import KERNELS, Kernel
from klsnmf.kernels.mix import Mixture
from klsnmf.kernels.similarity import DiffusedKernel

from ..naive import links as naive

N, K = 60, 3
SAMPLES, _ = make_blobs(N + 8, 4, centers=K, cluster_std=1.5, random_state=0)
X, NEW = np.abs(SAMPLES[:N]), np.abs(SAMPLES[N:])


def there(A, library):
    """A as an array of this library, away from the host where it has other devices."""
    if library == "numpy":
        return A
    module = pytest.importorskip(library)
    pytest.importorskip("array_api_compat")
    device = module.Device("device1") if library == "array_api_strict" else "cpu"
    return module.asarray(A, device=device)


def dense(k):
    k = to_host(k)
    return k.toarray() if sparse.issparse(k) else k


class SimilarityContract:
    """Inherit, give ``settings``, and a new kind of similarity is tested."""

    settings: ClassVar[dict] = {}
    libraries: ClassVar = ("numpy", "array_api_strict", "torch")
    close: ClassVar = {"rtol": 1e-9, "atol": 1e-12}  # how well rows of the fit are known
    diagonal_too = True
    by_numbers = False  # whether new samples are rows k(y, x)
    most_bytes = 8 * N * N  # a pickle holds no matrix of all pairs

    @pytest.fixture(params=["numpy", "array_api_strict", "torch"])
    def library(self, request):
        if request.param not in self.libraries:
            pytest.skip("is for the host")
        return request.param

    @pytest.fixture
    def samples(self, library):
        return there(X @ X.T, library) if self.by_numbers else there(X, library)

    @pytest.fixture
    def new(self, library):
        return there(NEW @ X.T, library) if self.by_numbers else there(NEW, library)

    @pytest.fixture
    def view(self, samples):
        views = KernelSettings(**self.settings).views(samples, 1.0, K, local=False)
        return Mixture(views, K, np.random.RandomState(0)).view()

    @pytest.fixture
    def gram(self, view):
        return view.K.dot(np.eye(N))

    @pytest.fixture
    def similarity(self, view):
        return view.kernel

    def test_samples_of_the_fit_get_their_rows_again(self, similarity, samples, gram):
        k, own = similarity.rows(samples)
        found = dense(k)
        other = np.ones((N, N), bool) if self.diagonal_too else ~np.eye(N, dtype=bool)
        np.testing.assert_allclose(found[other], gram[other], **self.close)
        np.testing.assert_allclose(to_host(own), np.diag(gram), rtol=1e-6)

    def test_products_with_new_samples_are_those_of_their_rows(self, similarity, new, library):
        W = np.random.default_rng(0).random((N, K))
        k, own = similarity.rows(new)
        kW, lengths = similarity.product(new, there(W, library))
        assert kW.shape == (len(NEW), K)
        assert place(kW) == place(lengths) == place(there(W, library))
        np.testing.assert_allclose(to_host(kW), dense(k) @ W, rtol=1e-9)
        np.testing.assert_allclose(to_host(lengths), to_host(own), rtol=1e-12)

    def test_no_samples(self, similarity, new, library):
        k, own = similarity.rows(new[:0, :])
        assert k.shape == (0, N)
        assert own.shape == (0,)
        kW, _ = similarity.product(new[:0, :], there(np.ones((N, K)), library))
        assert kW.shape == (0, K)

    def test_the_nearest_among_some(self, similarity, samples, new):
        among = np.arange(0, N, 3)
        np.testing.assert_array_equal(similarity.nearest(samples, np.arange(N))[among], among)
        assert np.isin(similarity.nearest(new, among), among).all()

    def test_pickling(self, similarity, new):
        stored = pickle.dumps(similarity)
        assert len(stored) < self.most_bytes
        again = pickle.loads(stored)
        np.testing.assert_array_equal(dense(again.rows(new)[0]), dense(similarity.rows(new)[0]))

    def test_a_copy_for_the_host(self, similarity, new):
        copied = similarity.host_copy()
        for told in (copied, host_copy(similarity)):
            k, own = told.rows(to_host(new))
            assert namespace(own) is np
            np.testing.assert_allclose(dense(k), dense(similarity.rows(new)[0]), rtol=1e-6)
        assert type(copied) is type(similarity)

    def test_what_it_says_of_itself(self, similarity):
        assert (similarity.steps is None) == (not isinstance(similarity, DiffusedKernel))
        radii = 1 if similarity.width is None else to_host(similarity.width)
        assert np.all(np.isfinite(radii))
        assert np.all(radii > 0)


class TestPlain(SimilarityContract):
    settings: ClassVar = {"kernel": "rbf"}


class TestNeighbours(SimilarityContract):
    settings: ClassVar = {"kernel": "self-tuning", "n_neighbors": 8}


class TestFunction(SimilarityContract):
    settings: ClassVar = {"kernel": lambda A, B: (A @ B.T + 1) ** 2 / 100, "n_neighbors": 8}

    def test_pickling(self):
        """As well as the function can be."""


class TestLinear(SimilarityContract):
    settings: ClassVar = {"kernel": "linear"}


class TestLifted(SimilarityContract):
    settings: ClassVar = {"kernel": "self-tuning", "n_neighbors": 8, "diffusion": "auto"}

    @pytest.fixture
    def view(self, samples):
        return KernelSettings(**self.settings, sizes="auto").graphs(samples, K).means()


class TestProductsWithSamples(SimilarityContract):
    """The kernel matrix of CNMF."""

    settings: ClassVar = {"kernel": "linear", "gram": "samples"}

    def test_of_sparse_samples(self):
        (view,) = KernelSettings(**self.settings).views(sparse.csr_array(X), 1.0, K, local=False)
        assert not view.K.stored
        _, linear = fit_kernel(sparse.csr_array(X), "linear", "auto", None)
        kept = linear.product(sparse.csr_array(NEW), np.eye(N))
        np.testing.assert_allclose(kept[0], NEW @ X.T)


class TestPrecomputed(SimilarityContract):
    settings: ClassVar = {"kernel": "precomputed"}
    by_numbers = True

    def test_the_nearest_among_some(self, similarity, new):
        among = np.arange(0, N, 3)
        found = similarity.nearest(new, among)
        np.testing.assert_array_equal(found, among[np.argmax(NEW @ X[among].T, axis=1)])


class TestLinked(SimilarityContract):
    settings: ClassVar = {"kernel": "self-tuning", "n_neighbors": 8, "diffusion": "auto"}

    @pytest.fixture
    def similarity(self, view):
        return view.kernel.base

    @pytest.fixture
    def gram(self, view):
        return view.base.dot(np.eye(N))


class TestByDensity(TestLinked):
    """Links that count by density; some radii are less than a quarter of the usual one."""

    usual: ClassVar = 10.0

    @pytest.fixture
    def similarity(self, view):
        return view.kernel.base.by_density(self.usual)

    @pytest.fixture
    def gram(self, view):
        r = to_host(view.kernel.base.base.r)
        return naive.by_density(view.base.dot(np.eye(N)), r, r, self.usual)


class TestCopied(SimilarityContract):
    """Samples of which half are there twice."""

    settings: ClassVar = {"kernel": "self-tuning", "n_neighbors": 8, "diffusion": "auto"}
    libraries: ClassVar = ("numpy",)
    usual: ClassVar = None

    @pytest.fixture
    def samples(self, library):
        return X[np.arange(N) % 40]

    @pytest.fixture
    def graph(self, samples):
        graph = KernelSettings(**self.settings, sizes="auto").graphs(samples, K).graph(8)
        return graph if self.usual is None else graph.by_density()

    @pytest.fixture
    def similarity(self, graph):
        return graph.kernel

    @pytest.fixture
    def gram(self, graph):
        return graph.K.dot(np.eye(N))

    def test_the_nearest_among_some(self, similarity, samples, new):
        among = np.arange(0, N, 3)
        found = similarity.nearest(samples, np.arange(N))
        np.testing.assert_array_equal(samples[found], samples)
        assert np.isin(similarity.nearest(new, among), among).all()

    def test_it_knows_all_samples(self, similarity, samples):
        np.testing.assert_array_equal(similarity.samples, samples)
        assert similarity.width.shape == (N,)


class TestCopiedByDensity(TestCopied):
    usual: ClassVar = "that of the graph"


class TestDiffused(SimilarityContract):
    """The default: links weighed, then steps by powers of S, which is sparse, or an array there."""

    settings: ClassVar = TestLinked.settings
    close: ClassVar = {"rtol": 1e-7, "atol": 1e-9}
    most_bytes = 8 * N * N * 2


class TestDiffusedPrecomputed(TestPrecomputed):
    settings: ClassVar = {"kernel": "precomputed", "diffusion": 4}
    most_bytes = 8 * N * N * 2


class TestDiffusedFar(TestDiffused):
    """So many steps that new samples take some of them at once."""

    settings: ClassVar = {"kernel": "rbf", "diffusion": 64}


class TestTwoSteps(TestDiffused):
    """By products with tiles."""

    settings: ClassVar = {"kernel": "rbf", "diffusion": 2, "gram": "tiled"}
    libraries: ClassVar = ("numpy",)
    most_bytes = 8 * N * N

    @pytest.fixture(autouse=True)
    def many(self, monkeypatch):
        monkeypatch.setattr("klsnmf.grams.diffused._MOST_SQUARED", 0)


class TestAlongEigenvectors(TestTwoSteps):
    """But for what the eigenvectors leave out."""

    settings: ClassVar = TestLinked.settings
    close: ClassVar = {"atol": 0.03}
    diagonal_too = False
    most_bytes = 8 * N * N * 2


class TestMixed(SimilarityContract):
    settings: ClassVar = {"kernel": ["rbf", "self-tuning", "linear"], "n_neighbors": 8}


class TestMixedAndDiffused(SimilarityContract):
    settings: ClassVar = {"kernel": ["self-tuning", "linear"], "diffusion": "auto"}
    close: ClassVar = {"rtol": 1e-7, "atol": 1e-9}
    most_bytes = 8 * N * N * 2


# ----------------------------------------------------------------------- a kernel of one's own name


def cauchy(t):
    """1/(1 + d²/(r_x r_y)), all that a contributor writes."""
    return 1 / (1 + t)


@pytest.fixture(params=["each", "one"])
def named(request, monkeypatch):
    monkeypatch.setitem(KERNELS, "cauchy", Kernel(cauchy, radii=request.param))
    return request.param


def naive_cauchy(Y, r_y, r_x):
    return 1 / (1 + np.square(Y[:, None] - X).sum(axis=2) / np.outer(r_y, r_x))


@pytest.mark.parametrize(
    "how",
    [
        {"gram": "dense"},
        {"gram": "tiled"},
        {"gram": "low-rank"},
        {"n_neighbors": N - 1},
        {"library": "array_api_strict"},
        {"library": "array_api_strict", "n_neighbors": N - 1},
        {"library": "torch"},
    ],
    ids=str,
)
def test_a_new_profile_is_all_that_a_kernel_takes(named, how):
    how = dict(how)
    library = how.pop("library", "numpy")
    settings = KernelSettings("cauchy", diffusion=0, **{"n_neighbors": None, **how})
    (view,) = settings.views(there(X, library), 1.0, K, local=True)
    r = to_host(view.kernel.r)
    truth = naive_cauchy(X, r, r)
    np.testing.assert_allclose(view.K.dot(np.eye(N)), truth, rtol=1e-6)
    np.testing.assert_allclose(to_host(view.K.diagonal), 1)
    k, own = view.kernel.rows(there(NEW, library))
    distances = np.sqrt(np.square(NEW[:, None] - X).sum(axis=2))
    r_new = np.sort(distances, axis=1)[:, 6] if named == "each" else np.full(len(NEW), r[0])
    np.testing.assert_allclose(dense(k), naive_cauchy(NEW, r_new, r), rtol=1e-6)
    np.testing.assert_allclose(to_host(own), 1)


def test_a_new_profile_in_single_precision(named):
    narrow, wide = (
        fit_kernel(X.astype(np.float32) * scale, "cauchy", radius, None)[0]
        for scale, radius in ((1, "auto"), (1e-3, 10.0))
    )
    assert narrow.dtype == np.float32
    assert wide.dtype == (np.float64 if named == "one" else np.float32)
