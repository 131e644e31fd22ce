"""Leading eigenvectors of matrices that are known by their products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from klsnmf.core import eigenvectors
from klsnmf.core.bases import orthogonal
from klsnmf.core.eigenvectors import (
    ByRows,
    _filtered,
    leading,
    lowest,
    subspace_iteration,
)

SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", [(300, 200, 100), (400, 400)])
def test_the_leading_vectors_are_those_of_a_dense_solver(seed, sizes):
    """Of a neighbour graph of touching groups: the wanted ones exactly, the others nearly."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 3.0 * rng.normal(size=(len(sizes), 3))[y] + rng.normal(size=(len(y), 3))
    S = steps_between(kneighbors_graph(X, 8))
    values, vectors = leading(S.__matmul__, rng.normal(size=(len(y), 12)), 30, wanted=10)
    truth, naive = (each[..., ::-1] for each in np.linalg.eigh(S.toarray()))
    assert_allclose(values[:10], truth[:10], atol=1e-4)
    assert_allclose(values, truth[:30], atol=0.02)
    assert_allclose(vectors.T @ vectors, np.eye(30), atol=1e-5)
    gap = truth[9] - truth[10]
    beside = vectors[:, :10] - naive[:, :10] @ (naive[:, :10].T @ vectors[:, :10])
    assert np.linalg.norm(beside) < 0.01 / gap**0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_more_pieces_than_the_block_has_columns_are_found_if_they_are_known(seed):
    """Krylov vectors of a block hold an eigenvalue as often as the block has columns."""
    rng = np.random.default_rng(seed)
    S = steps_between(sparse.block_diag([rng.uniform(0.5, 1, size=(20, 20)) for _ in range(30)]))
    block = rng.normal(size=(600, 10))
    pieces = np.kron(np.eye(30), np.ones((20, 1))) * np.sqrt(np.asarray(S.degrees))[:, None]
    pieces /= np.linalg.norm(pieces, axis=0)
    values, vectors = leading(S.__matmul__, block, 35, known=pieces)
    assert_allclose(values[:30], 1, atol=1e-6)
    assert (values[30:] < 0.9).all()
    assert_allclose(np.linalg.norm(pieces.T @ vectors[:, :30], axis=0), 1, atol=1e-6)


def with_outliers(rng, n, outliers):
    """Steps in four groups that touch, and from outliers that hardly have a link, last of all."""
    X = 4.0 * rng.normal(size=(4, 3))[rng.integers(4, size=n)] + rng.normal(size=(n, 3))
    K = sparse.lil_array((n + outliers, n + outliers))
    K[:n, :n] = kneighbors_graph(X, 6)
    for outlier in range(n, n + outliers):
        K[outlier, rng.choice(n, 4, replace=False)] = rng.uniform(1e-5, 1e-4, size=4)
    return steps_between(K + sparse.diags_array(np.repeat([4.0, 0.5], [n, outliers])))


@pytest.mark.parametrize("seed", SEEDS)
def test_lone_samples_are_eigenvectors_without_a_filter(seed):
    """Those of the groups are found as exactly as without them, in fewer products."""
    rng, counts = np.random.default_rng(seed), []
    S = with_outliers(rng, 900, 60)
    start = rng.normal(size=(960, 10))

    class Counted(ByRows):
        def __call__(self, V):
            counts[-1] += V.shape[1]
            return super().__call__(V)

        def some(self, V):
            counts[-1] += V.shape[1]
            return super().some(V)

    class NoneIsLone(Counted):
        def lone(self, edge, most):
            return np.empty(0, np.intp), np.empty(0)

    found = []
    for multiply in (Counted(S), NoneIsLone(S)):
        counts.append(0)
        found.append(leading(multiply, start.copy(), 50, wanted=20))
    truth, naive = (each[..., ::-1] for each in np.linalg.eigh(S.toarray()))
    values, vectors = found[0]
    assert_allclose(values[:20], truth[:20], atol=1e-6)
    assert_allclose(vectors.T @ vectors, np.eye(50), atol=1e-6)
    of_groups = np.square(naive[:900, :20]).sum(axis=0) > 0.9
    assert of_groups.any()
    assert (~of_groups).any()
    truth = naive[:, :20][:, of_groups]
    assert np.linalg.norm(truth - vectors @ (vectors.T @ truth), axis=0).max() < 0.02
    assert counts[0] < 0.7 * counts[1]


@pytest.mark.parametrize("members", [2, 20])
def test_lone_samples_of_a_piece_that_is_known_are_not_found_twice(members):
    """Of a piece in which all links are weak, one vector is known; the others are what is left."""
    rng, loose = np.random.default_rng(0), np.eye(members) + np.full((members, members), 1e-4)
    S = steps_between(sparse.block_diag([rng.uniform(0.5, 1, size=(60, 60))] * 8 + [loose] * 3))
    piece = np.repeat(np.arange(11), [60] * 8 + [members] * 3)
    known = np.zeros((len(piece), 11))
    known[np.arange(len(piece)), piece] = np.sqrt(S.degrees)
    known /= np.linalg.norm(known, axis=0)
    m = 11 + min(3 * (members - 1), 8)
    values, vectors = leading(ByRows(S), rng.normal(size=(len(piece), 12)), m, known=known)
    assert_allclose(values[:11], 1, atol=1e-6)
    assert_allclose(values[11:], 1 / (1 + members * 1e-4), atol=1e-6)
    assert_allclose(vectors.T @ vectors, np.eye(m), atol=1e-6)
    assert np.abs(S @ vectors - vectors * values).max() < 1e-6


def steps_between(K):
    """Deg^-½ (K + Kᵀ) Deg^-½."""
    K = sparse.csr_array(K)
    K = K + K.T
    degrees = np.asarray(K.sum(axis=1)).ravel()
    S = sparse.csr_array(K.multiply(1 / np.sqrt(np.outer(degrees, degrees))))
    S.degrees = degrees
    return S


@pytest.mark.parametrize("together", [1, 7, 4096])
@pytest.mark.parametrize("degree", [1, 2, 5, 12])
def test_the_filter_is_a_chebyshev_polynomial(monkeypatch, degree, together):
    """Whether a product is made at once or some rows after the others."""
    monkeypatch.setattr(eigenvectors, "_TOGETHER", together)
    rng, low, edge = np.random.default_rng(degree), -0.3, 0.8
    S = steps_between(kneighbors_graph(rng.normal(size=(60, 3)), 5))
    Q = rng.normal(size=(60, 4))
    values, vectors = np.linalg.eigh(S.toarray())
    polynomial = np.polynomial.Chebyshev.basis(degree, domain=[low, edge])
    expected = vectors * (polynomial(values) / polynomial(1.0)) @ vectors.T @ Q
    for multiply in (S.__matmul__, ByRows(S)):
        assert_allclose(_filtered(multiply, Q.copy(), low, edge, degree), expected, atol=1e-10)


def ring_and_a_piece(n, dtype):
    """A ring: eigenvalues cos(2πj/n), which crowd below 1; and a piece of its own."""
    shift = np.roll(np.eye(n), 1, axis=0)
    S = np.zeros((n + 1, n + 1))
    S[:n, :n], S[n, n] = (shift + shift.T) / 2, 1
    return S.astype(dtype), [1, 1, *np.repeat(np.cos(2 * np.pi * np.arange(1, 3) / n), 2)]


@pytest.mark.parametrize("roughly", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_crowded_eigenvalues_are_found(dtype, roughly):
    n = 500
    S, expected = ring_and_a_piece(n, dtype)
    Q = np.random.RandomState(0).normal(size=(n + 1, 16)).astype(dtype)
    rough = S.astype(np.float32).__matmul__ if roughly else None
    values, vectors = leading(S.__matmul__, Q, 6, rough=rough)
    assert vectors.dtype == dtype
    assert_allclose(values, expected, atol=1e-5)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-4)
    assert np.abs(S @ vectors - vectors * values).max() < 1e-2


def test_what_is_crowded_for_single_precision_is_found_in_double():
    """On a ring of 1200 samples all eigenvalues of the block are within a thousandth of 1."""
    n = 1200
    S = sparse.csr_array(ring_and_a_piece(n, np.float64)[0])
    start = np.random.RandomState(0).normal(size=(n + 1, 16))
    expected = 1 - np.cos(2 * np.pi * np.array([0, 0, 1, 1]) / n)
    for rough in (None, S.astype(np.float32).__matmul__):
        values, _ = leading(S.__matmul__, start.copy(), 4, rough=rough)
        assert_allclose(1 - values, expected, atol=1e-8)


def test_no_products_are_spent_where_all_eigenvalues_are_one():
    """More equal pieces than vectors are looked for: rounding of rough products must not stay."""
    S = sparse.block_diag([np.full((4, 4), 0.25)] * 60).tocsr()
    single, products = S.astype(np.float32), []

    def multiply(V):
        products.append(V.dtype)
        return (S if V.dtype == np.float64 else single) @ V

    start = np.random.RandomState(0).normal(size=(240, 18))
    values, vectors = leading(multiply, start, 10, rough=multiply)
    assert_allclose(values, 1, atol=1e-6)
    assert_allclose(S @ vectors, vectors, atol=2e-6)
    assert len(products) < 80


def test_rough_products_that_get_nowhere_are_given_up():
    """With most eigenvectors asked for, filters span more than single precision can hold."""
    rng = np.random.default_rng(0)
    K = kneighbors_graph(rng.normal(size=(300, 3)), 6)
    K = K + K.T
    root = 1 / np.sqrt(np.asarray(K.sum(axis=1)).ravel())
    S = sparse.csr_array(K.multiply(root[:, None]).multiply(root))
    single, start = S.astype(np.float32), rng.normal(size=(300, 208))
    values, vectors = leading(S.__matmul__, start, 200, rough=single.__matmul__)
    assert np.linalg.norm(S @ vectors - vectors * values, axis=0).max() < 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_rough_products_find_the_same_vectors_and_do_most_of_the_work(seed):
    rng = np.random.RandomState(seed)
    K = sparse.random_array((480, 480), density=0.04, rng=np.random.default_rng(seed))
    K = K + K.T + sparse.block_diag([np.full((80, 80), 0.1)] * 6)
    root = 1 / np.sqrt(np.asarray(K.sum(axis=1)).ravel())
    S = sparse.csr_array(K * root[:, None] * root)
    single, products = S.astype(np.float32), {np.float32: 0, np.float64: 0}

    def by(matrix):
        def multiply(V):
            assert V.dtype == matrix.dtype
            products[matrix.dtype.type] += 1
            return matrix @ V

        return multiply

    values, vectors = leading(by(S), rng.normal(size=(480, 14)), 6, rough=by(single))
    naive_values, naive = np.linalg.eigh(S.toarray())
    assert_allclose(values, naive_values[::-1][:6], atol=1e-5)
    truth = naive[:, ::-1][:, :6]
    assert np.linalg.norm(vectors - truth @ (truth.T @ vectors)) < 1e-2
    assert products[np.float32] > 20
    assert products[np.float64] == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_subspace_iteration_ends_when_nothing_changes(seed):
    rng = np.random.RandomState(seed)
    basis = np.linalg.qr(rng.normal(size=(500, 500)))[0]
    spectrum = np.concatenate([np.linspace(1, 0.9, 5), np.full(495, 0.1)])
    A, calls = (basis * spectrum) @ basis.T, []

    def multiply(V):
        calls.append(V.shape)
        return A @ V

    values, vectors = subspace_iteration(multiply, 500, 5, rng)
    assert_allclose(values, spectrum[:5], rtol=1e-9)
    assert_allclose(np.abs(basis[:, :5].T @ vectors), np.eye(5), atol=1e-6)
    assert len(calls) < 20  # 61 in all rounds


def test_no_products_are_spent_on_what_single_precision_cannot_tell():
    """More pieces than vectors are looked for: all eigenvalues are 1, and any mixture will do."""
    rng = np.random.default_rng(0)
    K = np.kron(np.eye(60), np.ones((8, 8))) * rng.uniform(0.1, 1, size=(480, 480))
    K = (K + K.T).astype(np.float32)
    root = 1 / np.sqrt(K.sum(axis=1, keepdims=True))
    products = []

    def multiply(V):
        products.append(V.shape)
        return root * (K @ (root * V))

    Q = rng.normal(size=(480, 16)).astype(np.float32)
    values, _ = leading(multiply, Q, 8)
    assert_allclose(values, 1, atol=1e-5)
    assert len(products) < 100


def strip(n, length, rng):
    """Neighbours in a strip; in a long one eigenvalues crowd below 1."""
    return steps_between(kneighbors_graph(rng.uniform(size=(n, 2)) * [length, 1], 6))


def test_crowded_vectors_are_found_with_few_products():
    """Counted by columns; a filter of all 88 of them takes several times as many a degree."""
    rng, columns = np.random.default_rng(0), []
    S = strip(6000, 100, rng)

    def multiply(V):
        columns.append(V.shape[1])
        return S @ V

    values, vectors = leading(multiply, rng.normal(size=(6000, 28)), 80, wanted=40)
    residuals = np.linalg.norm(S @ vectors - vectors * values, axis=0)
    assert residuals[:40].max() < 0.02 * (1 - values[-1])
    assert sum(columns) < 7000


def test_threads_change_nothing_but_rounding():
    rng = np.random.default_rng(0)
    S, start = strip(9000, 20, rng), rng.normal(size=(9000, 24))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(leading(S.__matmul__, start.copy(), 8))
    assert_allclose(found[0][0], found[1][0], atol=1e-9)
    assert_allclose(np.abs(found[0][1].T @ found[1][1]).diagonal()[:5], 1, atol=1e-6)


def test_columns_that_depend_on_each_other_have_an_orthogonal_basis():
    rng = np.random.default_rng(0)
    for dtype, most in ((np.float32, 1e-5), (np.float64, 1e-12)):
        for scale in (1.0, 1e-3, 1e-9, 0.0):
            Q = rng.normal(size=(500, 6)).astype(dtype)
            Q[:, 5] = Q[:, 0] + scale * Q[:, 5]
            basis = orthogonal(Q.copy())
            assert_allclose(basis.T @ basis, np.eye(6), atol=most)
            left = Q - basis @ (basis.T @ Q)
            assert np.abs(left).max() < most * 10


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lazy", [0.0, 0.5, 0.9])
def test_where_eigenvalues_begin_is_told_from_below_and_closely(seed, lazy):
    """Who stays where he is with some probability has no eigenvalue below twice that, less 1."""
    rng = np.random.default_rng(seed)
    S = lazy * np.eye(600) + (1 - lazy) * strip(600, 5, rng).toarray()
    smallest = np.linalg.eigvalsh(S)[0]
    low = lowest(S.__matmul__, rng.normal(size=(600, 1)))
    assert smallest - 0.25 * (1 - smallest) <= low <= smallest + 1e-3 * (1 - smallest)
    assert lowest(lambda V: V, np.ones((5, 1))) <= 1  # a single step tells all


def test_a_filter_that_knows_where_eigenvalues_begin_takes_fewer_products():
    rng = np.random.default_rng(0)
    walk, counts = strip(6000, 20, rng), []
    for lazy in (0.0, 0.9):
        S, columns = lazy * sparse.eye_array(6000) + (1 - lazy) * walk, []

        def multiply(V, S=S, columns=columns):
            columns.append(V.shape[1])
            return S @ V

        leading(multiply, np.random.RandomState(0).normal(size=(6000, 16)), 8)
        counts.append(sum(columns))
    assert counts[1] < 1.2 * counts[0]  # eigenvalues are ten times closer to 1: √10 without
