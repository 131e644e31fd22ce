"""Samples that are there several times: who is equal, and the links that copies get."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf.kernels.build import KernelSettings
from klsnmf.kernels.copies import copies_in

from ..naive import links as naive


def with_copies(seed, n=60, p=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(2)
    return X[np.concatenate([np.arange(n), rng.integers(n, size=n // 2)])]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [np.float32, np.float64, sparse.csr_array])
def test_equal_samples_are_found(seed, kind):
    X = with_copies(seed)
    found = copies_in(kind(X) if kind is sparse.csr_array else X.astype(kind))
    distinct, which = naive.copies(X.astype(np.float32 if kind is np.float32 else np.float64))
    np.testing.assert_array_equal(found.distinct, distinct)
    np.testing.assert_array_equal(found.which, which)


def test_whole_numbers_that_differ_a_little_are_not_equal():
    X = np.array(np.meshgrid(np.arange(40.0), np.arange(40.0))).reshape(2, -1).T
    assert copies_in(X) is None
    assert copies_in(X.astype(np.float32)) is None


def test_zero_has_one_sign():
    X = np.vstack([np.eye(30), np.eye(30), [[0.0] * 30, [-0.0] * 30]])
    assert len(copies_in(X).distinct) == 31


def test_few_copies_and_too_many():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert copies_in(X) is None
    assert copies_in(np.vstack([X, X[:6]])) is None
    assert copies_in(np.vstack([X, X[:9]])) is not None
    assert copies_in(np.repeat(X, 16, axis=0)) is not None
    assert copies_in(np.repeat(X, 17, axis=0)) is None
    assert copies_in(np.repeat(X[:20], 2, axis=0)) is None  # too few for a graph
    assert copies_in(np.ones((50, 2))) is None


@pytest.mark.parametrize("seed", range(3))
def test_copies_are_linked_as_their_originals_are(seed):
    X = with_copies(seed)
    copies = copies_in(X)
    u = len(copies.distinct)
    K = sparse.random_array((u, u), density=0.1, rng=np.random.default_rng(seed))
    K = sparse.csr_array(K + K.T)
    found = copies.spread(K)
    np.testing.assert_array_equal(found.toarray(), naive.spread(K.toarray(), copies.which))
    assert found.has_sorted_indices


def test_copies_count_once_where_a_few_samples_are_no_cluster():
    X, rng = np.zeros((46, 2)), np.random.default_rng(0)
    X[:40], X[40:] = rng.normal(size=(40, 2)), 50 + rng.normal(size=(6, 2))
    settings = KernelSettings("self-tuning", n_neighbors="auto", diffusion="auto", sizes="auto")
    graph = settings.graphs(np.tile(X, (3, 1)), 2).graph(10)
    labels = np.tile((np.arange(46) >= 40).astype(int), 3)
    np.testing.assert_array_equal(graph.counts(labels, 2), [40, 6])
    assert graph.pieces == 1
