"""One contract for every kind of Gram, checked against the dense truth."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF
from klsnmf.core import arithmetic
from klsnmf.core.arithmetic import is_nearly_empty, row_parts
from klsnmf.grams import array
from klsnmf.grams.array import DenseGram
from klsnmf.grams.diffused import DiffusedGram, diffuse, diffuse_enough
from klsnmf.grams.graph import Graph
from klsnmf.grams.low_rank import LowRankGram
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.spectral import (
    ENOUGH,
    SpectralDiffusion,
    diffuse_along_eigenvectors,
    spectral_embedding,
)
from klsnmf.grams.tiled import TiledGram
from klsnmf.grams.weighted import WeightedGram
from klsnmf.kernels.build import fit_kernel
from klsnmf.kernels.functions import KERNELS
from klsnmf.kernels.tiles import KernelTiles, nystrom

from ..naive import mixing as naive
from ..naive import weights as copied


class GramContract:
    """Inherit, give ``make(K)``, and a new kind of Gram is tested.

    A kind that cannot be made from any matrix gives the fixture K with matrices it can be made
    from.
    """

    squares: ClassVar = {"rtol": 1e-4}  # how well sums of squares are known

    def make(self, K):
        raise AssertionError("a kind of Gram says how it is made")

    @pytest.fixture(autouse=True)
    def threads_for_small_matrices(self, monkeypatch):
        monkeypatch.setattr("klsnmf.core.arithmetic._PRODUCTS_PER_THREAD", 20)

    @pytest.fixture(params=[np.float32, np.float64])
    def dtype(self, request):
        return request.param

    @pytest.fixture(
        params=[
            ("nonnegative", np.float64),
            ("signed", np.float32),
            ("signed", np.float64),
            ("constant diagonal", np.float32),
        ],
        ids=lambda param: f"{param[0]}-{param[1].__name__}",
    )
    def K(self, request):
        kind, dtype = request.param
        rng = np.random.default_rng(len(kind))
        K = rng.random((13, 13)) * (rng.random((13, 13)) < 0.5)
        if kind == "signed":
            K -= 0.5 * (rng.random((13, 13)) < 0.5)
        K = K + K.T
        if kind == "constant diagonal":
            np.fill_diagonal(K, 2)
        return K.astype(dtype)

    @pytest.mark.parametrize("fits", [1, 4])
    def test_products_of_a_stack(self, K, fits):
        gram = self.make(K)
        V = gram.stack(fits, 13, 3)
        V[...] = np.random.default_rng(0).random(V.shape)
        out = gram.stack(fits, 13, 3)
        gram.multiply(V, out)
        np.testing.assert_allclose(out, K @ V, rtol=1e-5, atol=1e-6)
        assert out.dtype == K.dtype

    @pytest.mark.parametrize("fits", [1, 4])
    def test_products_of_factors_with_one_entry_a_row(self, K, fits):
        """What an exact G looks like; a row of zeros and an empty column too."""
        gram, k = self.make(K), 30
        rng = np.random.default_rng(fits)
        V, out = gram.stack(fits, 13, k), gram.stack(fits, 13, k)
        for block in V:
            block[np.arange(12), rng.integers(k - 1, size=12)] = rng.random(12)
        gram.multiply(V, out)
        np.testing.assert_allclose(out, K @ V, rtol=1e-5, atol=1e-5)

    def test_a_part_of_a_stack_leaves_the_rest_alone(self, K):
        gram = self.make(K)
        V, out = gram.stack(3, 13, 2), gram.stack(3, 13, 2)
        V[...] = 1
        gram.multiply(V[:2], out[:2])
        assert not out[2].any()
        np.testing.assert_allclose(out[:2], K @ V[:2], rtol=1e-5, atol=1e-6)

    def test_product_of_one_block(self, K):
        V = np.random.default_rng(1).random((13, 4)).astype(K.dtype)
        np.testing.assert_allclose(self.make(K).dot(V), K @ V, rtol=1e-5, atol=1e-6)

    def test_what_it_says_of_itself(self, K):
        gram = self.make(K)
        assert gram.shape == K.shape
        assert gram.dtype == K.dtype
        np.testing.assert_allclose(gram.diagonal, np.diag(K), rtol=1e-5)
        assert gram.trace == pytest.approx(np.trace(K, dtype=np.float64), rel=1e-6, abs=1e-9)
        assert gram.largest >= np.abs(K).max() * (1 - 1e-5)
        assert (K >= 0).all() or not gram.nonnegative
        np.testing.assert_allclose(gram.column(5), K[:, 5], rtol=1e-4, atol=1e-6)
        assert gram.order in ("C", "F")
        assert gram.flops > 0

    def test_distances(self, K):
        gram, V = self.make(K), np.random.default_rng(2).random((13, 3)).astype(K.dtype)
        d = np.diag(K)
        D = d[:, None] + d - 2 * K
        W = V[::-1].copy()
        total = gram.total_distance(W, V, float((W * (K @ V)).sum()))
        assert total == pytest.approx(float((W * (D @ V)).sum()), rel=1e-4)
        assert gram.smallest_distance() == pytest.approx(
            min(D.min(), 0) / np.abs(K).max(), rel=1e-4, abs=1e-6
        )
        if D.min() >= 0:
            np.testing.assert_allclose(gram.distances(V, K @ V), D @ V, rtol=1e-4)

    def test_the_positive_part(self, K):
        plus, V = self.make(K).positive, np.ones((13, 1), K.dtype)
        np.testing.assert_allclose(plus.dot(V), np.maximum(K, 0) @ V, rtol=1e-5)
        assert plus.nonnegative

    def test_sums_of_squares(self, K):
        weights = np.random.default_rng(5).random(13).astype(K.dtype)
        truth = np.square(K.astype(float)) @ weights
        np.testing.assert_allclose(self.make(K).square_sums(weights), truth, **self.squares)

    def test_rough_work(self, K):
        rough = self.make(K).in_single_precision()
        V = np.random.default_rng(3).random((13, 3))
        np.testing.assert_allclose(
            rough.dot(V.astype(rough.dtype)), K.astype(float) @ V, rtol=1e-4, atol=1e-5
        )

    def test_another_order_of_the_samples(self, K):
        gram, V = self.make(K), np.random.default_rng(5).random((13, 3)).astype(K.dtype)
        other, order, back = gram.reordered()
        np.testing.assert_array_equal(V[order][back], V)
        np.testing.assert_allclose(other.dot(V[order])[back], gram.dot(V), rtol=1e-5, atol=1e-6)

    def test_threads_do_not_matter(self, K):
        gram, V = self.make(K), np.random.default_rng(4).random((13, 3)).astype(K.dtype)
        with threadpool_limits(1):
            alone = gram.dot(V)
        with threadpool_limits(3):
            np.testing.assert_allclose(gram.dot(V), alone, rtol=1e-5, atol=1e-6)

    def test_the_matrix_is_left_alone(self, K):
        before = K.copy()
        gram = self.make(K)
        _ = gram.positive
        gram.distances(V := np.ones((13, 2), K.dtype), gram.dot(V))
        np.testing.assert_array_equal(K, before)


class TestDense(GramContract):
    def make(self, K):
        return DenseGram(K)

    def test_asymmetry(self):
        K = np.array([[1.0, 0.5], [0.25, 2.0]])
        assert DenseGram(K).asymmetry() == pytest.approx(0.25 / 2)

    def test_any_memory_order_without_a_copy(self):
        K = np.random.default_rng(0).random((5, 5))
        K = K + K.T
        for version in (K, np.asfortranarray(K)):
            assert np.shares_memory(DenseGram(version).K, version)
        np.testing.assert_allclose(DenseGram(np.repeat(K, 2, axis=1)[:, ::2]).dot(K), K @ K)


@pytest.mark.parametrize("filled", [1.0, 0.02])
def test_dense_products_in_parts_are_the_same_with_any_threads(filled, monkeypatch):
    """A stack that is nearly empty is multiplied as a sparse matrix."""
    monkeypatch.setattr(array, "_COLUMNS", 7)
    for name in ("_PRODUCTS_PER_THREAD", "_DENSE_PRODUCTS_PER_THREAD"):
        monkeypatch.setattr(arithmetic, name, 1)
    rng, found = np.random.default_rng(0), []
    K, V = rng.random((60, 60)), rng.random((60, 5)) * (rng.random((60, 5)) < filled)
    K = K + K.T
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(DenseGram(K).dot(V))
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], K @ V, rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (3, 50_000), (200, 30)])
def test_what_is_nearly_empty_is_told(shape):
    A = np.zeros(shape, np.float32)
    assert is_nearly_empty(A, 1)
    A[-1, -1] = 1
    assert not is_nearly_empty(A, 1)
    assert is_nearly_empty(A, 1.5)


class TestSparse(GramContract):
    def make(self, K):
        return SparseGram(sparse.csr_array(K))

    def test_asymmetry(self):
        K = np.array([[1.0, 0.5], [0.25, 2.0]])
        assert self.make(K).asymmetry() == pytest.approx(0.25 / 2)


class TestWeighted(GramContract):
    """Ω^½ K Ω^½ is this matrix; its distances are Ω^½ D Ω^½."""

    weight = np.arange(1.0, 14)

    def make(self, K):
        root = np.sqrt(self.weight)
        return WeightedGram(DenseGram((K / root / root[:, None]).astype(K.dtype)), self.weight)

    def test_distances(self, K):
        gram, V = self.make(K), np.random.default_rng(2).random((13, 3)).astype(K.dtype)
        root, plain = np.sqrt(self.weight), gram.K.K
        d, W = np.diag(plain), V[::-1].copy()
        D = root[:, None] * (d[:, None] + d - 2 * plain) * root
        total = gram.total_distance(W, V, float((W * (K @ V)).sum()))
        assert total == pytest.approx(float((W * (D @ V)).sum()), rel=1e-4)
        np.testing.assert_allclose(gram.distances(V, K @ V, 0.5), np.abs(D @ V) / 2, rtol=1e-3)
        assert gram.smallest_distance() == gram.K.smallest_distance()

    @pytest.mark.parametrize("seed", range(5))
    def test_samples_count_as_often_as_their_weight_says(self, seed):
        rng = np.random.default_rng(seed)
        n = rng.integers(3, 9)
        weight, values = rng.integers(1, 5, n), rng.integers(0, 6, n).astype(float)
        gram = WeightedGram(DenseGram(np.eye(n)), weight.astype(float))
        assert gram.median(values) == copied.median(values, weight)
        assert gram.count(values > 2) == np.repeat(values > 2, weight).sum()
        np.testing.assert_allclose(gram.each(gram.diagonal), 1)

    @pytest.mark.parametrize("seed", range(3))
    def test_eigenvectors_are_those_of_the_copies(self, seed):
        """Up to their signs, which products of rows do not know."""
        rng = np.random.default_rng(seed)
        X, weight = rng.normal(size=(20, 2)) + 4 * np.eye(2)[np.arange(20) % 2], np.arange(20) % 3
        weight += 1
        K = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 4)
        rows, draws = np.repeat(np.arange(20), weight), np.random.RandomState(0)
        gram = WeightedGram(DenseGram(K), weight.astype(float))
        few = spectral_embedding(gram, 2, draws)
        all_ = spectral_embedding(DenseGram(K[np.ix_(rows, rows)]), 2, draws)
        np.testing.assert_allclose((few @ few.T)[np.ix_(rows, rows)], all_ @ all_.T, atol=1e-3)


@dataclass
class TilesOfMatrix:
    """Tiles cut from a matrix."""

    K: np.ndarray
    metric: bool = False

    def __post_init__(self):
        self.dtype, self.diagonal = self.K.dtype, self.K.diagonal()
        self.largest, self.nonnegative = np.abs(self.K).max(), bool((self.K >= 0).all())

    def tile(self, rows, columns):
        return self.K[rows, columns].copy()

    def positive(self):
        return TilesOfMatrix(np.maximum(self.K, 0))

    def in_single_precision(self):
        return TilesOfMatrix(self.K.astype(np.float32))


class TestTiled(GramContract):
    @pytest.fixture(autouse=True, params=[4, 13, 20])
    def tile(self, request, monkeypatch):
        monkeypatch.setattr("klsnmf.grams.tiled.TILE", request.param)

    def make(self, K):
        return TiledGram(TilesOfMatrix(K))


def samples(kind, dtype, n=13):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4)) + 5
    X = X if kind == "nonnegative" else X - 5
    X[1] = X[0]
    X = X.astype(dtype)
    return sparse.csr_array(X) if kind == "sparse" else X


class TestTiledKernels(GramContract):
    """From samples, against the array that the same kernel makes of them."""

    @pytest.fixture(params=["self-tuning", "rbf", "linear", "cosine", "polynomial"])
    def kernel(self, request):
        return request.param

    @pytest.fixture(params=["nonnegative", "signed", "sparse"])
    def K(self, request, kernel, dtype, monkeypatch):
        monkeypatch.setattr("klsnmf.grams.tiled.TILE", 5)
        X = samples(request.param, dtype)
        dense, fitted = fit_kernel(X, kernel, "auto", None)
        self.tiles = KernelTiles(KERNELS[kernel], fitted.X, fitted.r, np.dtype(dtype))
        return dense.K

    def make(self, K):
        return TiledGram(self.tiles)


class TestLowRank(GramContract):
    """K = ΦΦᵀ + diag(δ)."""

    @pytest.fixture(params=["nonnegative", "signed", "sparse", "with a diagonal"])
    def K(self, request, dtype):
        self.X = samples(request.param, dtype)
        self.diagonal = None
        X = self.X.toarray() if request.param == "sparse" else self.X
        K = X @ X.T
        if request.param == "with a diagonal":
            K = K + np.diag(np.arange(13, dtype=dtype))
            self.diagonal = np.diagonal(K)
        return K

    def make(self, K):
        return LowRankGram(self.X, self.diagonal)

    def test_the_positive_part(self, K):
        gram = self.make(K)
        plus = gram.positive.dot(np.eye(13, dtype=K.dtype))
        assert gram.positive.nonnegative
        assert (plus >= -1e-5).all()
        assert (plus >= K - 1e-4).all()
        if (K >= 0).all():
            np.testing.assert_allclose(plus, K, rtol=1e-5, atol=1e-5)


def weights(n, density, seed=0):
    """A symmetric matrix K ≥ 0 with a positive diagonal."""
    rng = np.random.default_rng(seed)
    K = rng.random((n, n)) * (rng.random((n, n)) < density)
    return K + K.T + np.eye(n)


class TestDiffusedAlongEigenvectors(GramContract):
    """K_t from all eigenvectors but a few that have faded."""

    @pytest.fixture
    def K(self, dtype, monkeypatch):
        # Three groups of samples, and every sample much like the others of its group.
        base = np.kron(np.eye(3), np.ones((5, 5)))[:13, :13] + 0.01 * weights(13, 1)
        self.base = DenseGram(base.astype(dtype))
        monkeypatch.setattr("klsnmf.grams.spectral.SPARE", 4)
        _, diffusion = diffuse_along_eigenvectors(self.base, 3)
        return naive.diffused(base, diffusion.steps).astype(dtype)

    def make(self, K):
        return diffuse_along_eigenvectors(self.base, 3)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_clipped_leaves_the_diagonal(dtype):
    """The trap: zero in a denominator made W overflow, with λ = 0 on letters."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 3)).astype(dtype)
    lengths = np.square(features).sum(axis=1)
    gram = LowRankGram(features, lengths + 1, nonnegative=True)
    V = rng.random((50, 4)).astype(dtype)
    truth = np.maximum((features @ features.T + np.eye(50)) @ V, (lengths + 1)[:, None] * V)
    np.testing.assert_allclose(gram.dot(V), truth, rtol=1e-4)
    signed = V - 0.5  # no factor: nothing is clipped
    np.testing.assert_allclose(
        gram.dot(signed), (features @ features.T + np.eye(50)) @ signed, rtol=1e-3, atol=1e-3
    )


def test_rough_work_is_in_single_precision():
    K = weights(40, 0.3)
    for gram in (
        DenseGram(K),
        DiffusedGram(diffuse(SparseGram(sparse.csr_array(K)), 4, 3)[1]),
        diffuse_along_eigenvectors(DenseGram(K), 3)[0],
    ):
        assert gram.dtype == np.float64
        assert gram.in_single_precision().dtype == np.float32


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("steps", [2, 4, 8])
@pytest.mark.parametrize("base", ["dense", "tiled", "low-rank", "sparse"])
def test_any_gram_can_be_diffused(base, steps, many, monkeypatch):
    """Its diagonal is exactly 1 too: distances, and with them the objective, depend on it.

    With many samples the way is another: along eigenvectors, where there is no exact diagonal.
    """
    if many:
        monkeypatch.setattr("klsnmf.grams.diffused._MOST_FORMED", 0)
        monkeypatch.setattr("klsnmf.grams.diffused._MOST_ENTRIES", 0)
        monkeypatch.setattr("klsnmf.grams.diffused._MOST_SQUARED", 0)
    X = np.random.default_rng(0).random((40, 6))
    K = X @ X.T
    gram = {
        "dense": DenseGram(K),
        "tiled": TiledGram(TilesOfMatrix(K)),
        "low-rank": LowRankGram(X),
        "sparse": SparseGram(sparse.csr_array(K)),
    }[base]
    found, diffusion = diffuse(gram, steps, 3)
    matrix = found.dot(np.eye(40))
    np.testing.assert_allclose(np.diag(matrix), found.diagonal, rtol=1e-9)
    # The rank of K is 6: eigenvectors leave nothing out, but for how well they are known.
    close = {"rtol": 1e-3} if isinstance(diffusion, SpectralDiffusion) else {"rtol": 1e-6}
    np.testing.assert_allclose(matrix, naive.diffused(K, steps), **close)
    np.testing.assert_allclose(
        diffusion.lengths(sparse.csr_array(naive.normalized(K)[:3])),
        np.square(np.linalg.matrix_power(naive.normalized(K), steps // 2)[:3]).sum(axis=1),
        **close,
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("steps", [2, 4, 8, "auto"])
def test_tiles_are_diffused_as_the_array(steps):
    X = load_digits().data[:150]
    options = {"kernel": "rbf", "n_neighbors": None, "random_state": 0, "n_init": 4}
    array, tiles = (
        KLSNMF(5, gram=gram, diffusion=steps, **options).fit(X) for gram in ("dense", "tiled")
    )
    np.testing.assert_array_equal(array.labels_, tiles.labels_)
    assert tiles.objective_ == pytest.approx(array.objective_, rel=1e-6)


@pytest.mark.parametrize("form", [DenseGram, lambda K: SparseGram(sparse.csr_array(K))])
@pytest.mark.parametrize("groups", [3, 6])
def test_steps_along_eigenvectors_are_enough(form, groups):
    """tr(S^t) is at most 2k, but for the part of it that random signs give."""
    n = 120
    K = np.kron(np.eye(groups), np.ones((n // groups, n // groups))) * weights(n, 0.3)
    K += 0.01 * weights(n, 0.1, seed=1)
    gram, diffusion = diffuse_along_eigenvectors(form(K), groups)
    S = naive.normalized(K)
    assert np.trace(np.linalg.matrix_power(S, diffusion.steps)) <= 1.2 * ENOUGH * groups
    found, truth = gram.dot(np.eye(n)), naive.diffused(K, diffusion.steps)
    np.testing.assert_allclose(np.diag(found), 1, rtol=1e-6)
    assert np.abs(found - truth).mean() < 0.03
    # What is left out of an entry is bounded by what is left out of the two samples.
    scaled = diffusion.c * np.linalg.matrix_power(S, diffusion.steps) * diffusion.c[:, 0]
    left_out = np.abs(found - scaled)[~np.eye(n, dtype=bool)]
    bound = np.sqrt(np.outer(gram.rest, gram.rest))[~np.eye(n, dtype=bool)]
    assert (left_out <= 2 * bound + 1e-6).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_digits_are_diffused_along_eigenvectors_as_by_powers(dtype):
    """With few clusters of many samples eigenvectors are plenty, and leave next to nothing out."""
    X = load_digits().data[:1200].astype(dtype)
    K, _ = fit_kernel(X, "self-tuning", "auto", 10)
    gram, diffusion = diffuse_enough(K, 10)
    assert isinstance(diffusion, SpectralDiffusion)
    assert diffusion.U.shape == (1200, 80)
    every = gram.dot(np.eye(1200, dtype=dtype))
    dense = K.K.toarray()
    off = np.abs(every - naive.diffused(dense, diffusion.steps))
    assert off.mean() < 1e-3
    assert off.max() < 0.1
    # Half as many steps would not have been enough.
    traces = [
        np.trace(np.linalg.matrix_power(naive.normalized(dense), steps))
        for steps in (diffusion.steps // 2, diffusion.steps)
    ]
    assert traces[0] > ENOUGH * 10 > traces[1]


def test_an_outlier_is_like_itself_alone():
    """Eigenvectors say next to nothing of it, and that must not be blown up to unit length."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(150, 3)), rng.normal(size=(150, 3)) + 9, [[4.5, 40, 4.5]]])
    K = fit_kernel(X, "rbf", 1.0, None)[0].K + 1e-9
    gram, _ = diffuse_along_eigenvectors(DenseGram(K), 2)
    column = gram.column(300)
    assert column[300] == pytest.approx(1)
    assert np.abs(column[:300]).max() < 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "self-tuning"])
def test_nystrom_has_the_right_diagonal_and_rows_of_its_landmarks(kernel, dtype, monkeypatch):
    X = samples("signed", dtype, n=60)
    truth, fitted = fit_kernel(X, kernel, 3.0 if kernel == "rbf" else "auto", None)
    tiles = KernelTiles(KERNELS[kernel], fitted.X, fitted.r, np.dtype(dtype))
    every = nystrom(tiles).dot(np.eye(60, dtype=dtype))
    if kernel != "self-tuning":  # which is not positive semidefinite
        np.testing.assert_allclose(every, truth.K, rtol=1e-2, atol=1e-2 * truth.largest)
    monkeypatch.setattr("klsnmf.kernels.tiles.LANDMARKS", 30)
    some = nystrom(tiles)
    entries = some.dot(np.eye(60, dtype=dtype))
    np.testing.assert_allclose(some.diagonal, entries.diagonal(), rtol=1e-4)
    np.testing.assert_allclose(some.diagonal, truth.diagonal, rtol=0.2)
    if kernel == "rbf":
        np.testing.assert_allclose(some.diagonal, truth.diagonal, rtol=1e-3)
        off = ~np.eye(60, dtype=bool)
        assert np.abs(entries - truth.K)[off].max() < 0.2


@pytest.mark.parametrize("columns", [1, 30, 200])
def test_sparse_products_in_parts(columns, monkeypatch):
    monkeypatch.setattr("klsnmf.core.arithmetic._PRODUCTS_PER_THREAD", 200)
    monkeypatch.setattr("klsnmf.core.work.cores_granted", lambda: 4)
    parts = []
    monkeypatch.setattr(
        "klsnmf.core.arithmetic.row_parts",
        lambda K, count: parts.append(count) or row_parts(K, count),
    )
    K = sparse.csr_array(weights(90, 0.1))
    V = np.random.default_rng(0).random((90, columns))
    with threadpool_limits(4):
        np.testing.assert_array_equal(SparseGram(K).dot(V), K @ V)
    assert parts
    assert set(parts) == {4}


def test_float32_tiles_of_samples_far_from_the_origin():
    """What cancels in ‖x‖² + ‖y‖² - 2⟨x, y⟩ is computed in float64, or not at all."""
    X = (np.random.default_rng(0).normal(size=(50, 3)) + 1e4).astype(np.float32)
    wide = np.vstack([X, X[:10] * -1]).astype(np.float32)
    for data in (X, wide):
        truth = fit_kernel(data.astype(np.float64), "rbf", 0.5, None)[0].K
        r = np.full(len(data), np.sqrt(2) * 0.5, np.float32)
        tiles = KernelTiles(KERNELS["rbf"], data, r, np.dtype(np.float32))
        np.testing.assert_allclose(
            tiles.tile(slice(0, 40), slice(10, 60)), truth[:40, 10:60], atol=1e-4
        )


def test_degrees_of_a_graph():
    A = np.array([[0.0, 1, 2], [1, 0, 0], [2, 0, 0]])
    np.testing.assert_array_equal(Graph(sparse.csr_array(A)).degrees.ravel(), [3, 1, 2])
