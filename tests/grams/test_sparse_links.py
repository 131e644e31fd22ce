"""Links weighed by shared neighbours: against the naive twin, at the limits, and in fits."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs

from klsnmf import KLSNMF, KNMF
from klsnmf.grams.array import DenseGram
from klsnmf.grams.sparse import SparseGram, weigh_links
from klsnmf.kernels.inputs import unit_rows
from klsnmf.metrics import accuracy

from ..naive import klsnmf as naive_kernels
from ..naive import links as naive

SEEDS = range(3)


def random_links(seed, n=30, share=0.2):
    rng = np.random.default_rng(seed)
    K = np.triu(rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < share), 1)
    return K + K.T + np.eye(n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_against_the_naive_twin(seed, share, dtype):
    K = random_links(seed, share=share).astype(dtype)
    gram, _ = weigh_links(SparseGram(sparse.csr_array(K)))
    assert gram.dtype == dtype
    np.testing.assert_allclose(gram.K.toarray(), naive.weighed(K, K), rtol=1e-6)
    np.testing.assert_array_equal(gram.K.toarray(), gram.K.toarray().T)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_rows_at_a_time(seed, monkeypatch):
    K = sparse.csr_array(random_links(seed))
    whole, _ = weigh_links(SparseGram(K))
    monkeypatch.setattr("klsnmf.grams.sparse._ENTRIES", 100)
    parts, _ = weigh_links(SparseGram(K))
    np.testing.assert_array_equal(parts.K.toarray(), whole.K.toarray())


@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_of_the_samples_changes_no_weight(seed):
    """It is for speed alone: the weights, and later the eigenvectors, are those without it."""
    K = random_links(seed).astype(np.float32)
    near = np.random.default_rng(seed).permutation(len(K))
    plain, _ = weigh_links(SparseGram(sparse.csr_array(K)))
    gram, links = weigh_links(SparseGram(sparse.csr_array(K), near))
    np.testing.assert_array_equal(gram.K.toarray(), plain.K.toarray())
    np.testing.assert_array_equal(links.N.toarray(), K > 0)
    other, order, back = gram.reordered()
    np.testing.assert_array_equal(order, near)
    np.testing.assert_array_equal(other.K.toarray(), plain.K.toarray()[near][:, near])
    np.testing.assert_array_equal(other.K.toarray()[back][:, back], plain.K.toarray())


@pytest.mark.parametrize("seed", SEEDS)
def test_new_samples(seed):
    """Rows of samples that are new, and of those of the fit, which get theirs again."""
    K = random_links(seed)
    k = np.abs(random_links(seed + 10, n=30)[:7])
    gram, links = weigh_links(SparseGram(sparse.csr_array(K)))
    found = links.weighed(sparse.csr_array(k))
    np.testing.assert_allclose(found.toarray(), naive.weighed(k, K), rtol=1e-12)
    again = links.weighed(sparse.csr_array(K[3:9]))
    np.testing.assert_array_equal(again.toarray(), gram.K.toarray()[3:9])
    assert links.weighed(sparse.csr_array((0, 30))).shape == (0, 30)


@pytest.mark.parametrize("seed", SEEDS)
def test_on_a_device(seed):
    xp = pytest.importorskip("array_api_strict")
    K = random_links(seed)
    gram, links = weigh_links(DenseGram(xp.asarray(K)))
    np.testing.assert_allclose(np.asarray(gram.K), naive.weighed(K, K), rtol=1e-12)
    rows = sparse.csr_array(K[:4])
    host = links.host_copy().weighed(rows)
    np.testing.assert_allclose(host.toarray(), np.asarray(gram.K)[:4], rtol=1e-12)


def test_where_all_are_linked_nothing_changes():
    K = random_links(0, share=1.0)
    np.testing.assert_array_equal(weigh_links(SparseGram(sparse.csr_array(K)))[0].K.toarray(), K)
    X, _ = make_blobs(40, centers=3, random_state=0)
    options = {"n_neighbors": 39, "random_state": 0, "tol": 0, "max_iter": 50}
    every = KNMF(3, **options).fit(X)
    plain = KNMF(3, diffusion="unweighted", **options).fit(X)
    np.testing.assert_array_equal(every.W_, plain.W_)


def test_the_default_walks_along_weighed_links():
    """All of the kernel, written out."""
    rng = np.random.default_rng(0)
    X = unit_rows(load_digits().data[:120] + 1e-3 * rng.random((120, 64)))  # no two equally far
    K = naive_kernels.self_tuning(X, 6)
    model = KLSNMF(10, row_norm=None, random_state=0).fit(X)
    k, _ = model._similarity.base.rows(X)
    np.testing.assert_allclose(k.toarray(), naive.weighed(K, K), atol=1e-12)
    # A number of steps is a number of steps: K and nothing else.
    for diffusion in (4, "unweighted"):
        plain = KLSNMF(10, row_norm=None, diffusion=diffusion, random_state=0).fit(X)
        np.testing.assert_allclose(plain._similarity.base.rows(X)[0].toarray(), K, atol=1e-12)


def bridged(seed, size=60, bridges=25):
    """Two clusters of known links, and links across as strong as those within.

    Within a cluster samples lie on a line and know the eight nearest on it.
    """
    rng = np.random.default_rng(seed)
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 4
    K = np.kron(np.eye(2), near).astype(float)
    for i, j in zip(
        rng.permutation(size)[:bridges], size + rng.permutation(size)[:bridges], strict=True
    ):
        K[i, j] = K[j, i] = 1
    return K, np.repeat([0, 1], size)


@pytest.mark.parametrize("seed", range(6))
def test_bridges_between_clusters_count_for_little(seed):
    """The trap: by their strength alone bridges cannot be told from other links."""
    K, y = bridged(seed)
    weighed = weigh_links(SparseGram(sparse.csr_array(K)))[0].K.toarray()
    across = y[:, None] != y
    assert weighed[across].max() < 0.1 * np.median(weighed[~across & (K > 0)])

    def found(matrix):
        model = KLSNMF(2, kernel="precomputed", diffusion=8, lam=0, random_state=seed)
        return accuracy(y, model.fit(matrix).labels_)

    assert found(weighed) == 1
    assert found(K) < 1


@pytest.mark.parametrize("hubs", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_hubs(seed, hubs):
    """Samples that nearly all are linked with, as those at the mean of many features are."""
    K = random_links(seed, n=60, share=0.05)
    rng = np.random.default_rng(seed)
    for hub in range(hubs):
        far = rng.random(60) < 0.9
        K[hub, far] = K[far, hub] = 0.5
        K[hub, hub] = 1
    gram, links = weigh_links(SparseGram(sparse.csr_array(K)))
    assert len(links.hubs) == hubs
    np.testing.assert_allclose(gram.K.toarray(), naive.weighed(K, K), rtol=1e-12)
    again = links.weighed(sparse.csr_array(K[:5]))
    np.testing.assert_array_equal(again.toarray(), gram.K.toarray()[:5])


def test_a_hub_takes_no_room(monkeypatch):
    """The trap: one sample that all are linked with made a product with all n² entries."""
    largest = []
    product = sparse.csr_array.__matmul__

    def seen(A, B):
        found = product(A, B)
        largest.append(found.nnz if sparse.issparse(found) else found.size)
        return found

    n = 3000
    near = np.arange(n - 1)
    links = sparse.coo_array((np.ones(n - 1), (near, near + 1)), shape=(n, n)).tolil()
    links[0, 1:] = 1
    K = sparse.csr_array(links + links.T + sparse.eye_array(n))
    monkeypatch.setattr(sparse.csr_array, "__matmul__", seen)
    weigh_links(SparseGram(K))
    assert max(largest) < 20 * n


def test_a_sample_without_neighbours():
    K = random_links(0)
    K[4] = K[:, 4] = 0
    K[4, 4] = 1
    weighed = weigh_links(SparseGram(sparse.csr_array(K)))[0].K.toarray()
    assert weighed[4, 4] == 1
    assert np.count_nonzero(weighed[4]) == 1


@pytest.mark.parametrize("most_dense", [0, 2**26])
def test_where_all_are_linked(monkeypatch, most_dense):
    """Products of such patterns are those of arrays, or of sparse ones."""
    monkeypatch.setattr("klsnmf.grams.sparse._MOST_DENSE", most_dense)
    K = SparseGram(sparse.csr_array(np.kron(np.eye(3), np.ones((150, 150)))))
    weighed, links = weigh_links(K)
    assert np.abs(weighed.K - K.K).max() == 0
    assert np.abs(links.weighed(K.K[:2]) - K.K[:2]).max() == 0
