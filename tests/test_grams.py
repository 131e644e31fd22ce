"""One contract for every kind of Gram, checked against the dense truth."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf.grams import DenseGram, SparseGram
from klsnmf.graphs import Graph


class GramContract:
    """Inherit, give ``make(K)``, and a new kind of Gram is tested."""

    def make(self, K):
        raise AssertionError("a kind of Gram says how it is made")

    @pytest.fixture(params=[np.float32, np.float64])
    def dtype(self, request):
        return request.param

    @pytest.fixture(params=["nonnegative", "signed", "constant diagonal"])
    def K(self, request, dtype):
        rng = np.random.default_rng(len(request.param))
        K = rng.random((13, 13)) * (rng.random((13, 13)) < 0.5)
        if request.param == "signed":
            K -= 0.5 * (rng.random((13, 13)) < 0.5)
        K = K + K.T
        if request.param == "constant diagonal":
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
        np.testing.assert_array_equal(gram.diagonal, np.diag(K))
        assert gram.trace == pytest.approx(np.trace(K, dtype=np.float64), rel=1e-6, abs=1e-9)
        assert gram.largest >= np.abs(K).max()
        assert gram.nonnegative == (K >= 0).all()
        np.testing.assert_array_equal(gram.column(5), K[:, 5])

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


class TestSparse(GramContract):
    def make(self, K):
        return SparseGram(sparse.csr_array(K))

    def test_asymmetry(self):
        K = np.array([[1.0, 0.5], [0.25, 2.0]])
        assert self.make(K).asymmetry() == pytest.approx(0.25 / 2)


def test_degrees_of_a_graph():
    A = np.array([[0.0, 1, 2], [1, 0, 0], [2, 0, 0]])
    np.testing.assert_array_equal(Graph(sparse.csr_array(A)).degrees.ravel(), [3, 1, 2])
