"""Rules of k-means in the space of a kernel, and of samples that no cluster has."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf import KernelKMeans
from klsnmf.grams.array import DenseGram
from klsnmf.models.base import State
from klsnmf.models.kernel_kmeans import Lloyd
from klsnmf.models.ls_nmf import PRINTED, LocalSimilarity
from klsnmf.models.new_samples import NewSamples

from ..helpers import blobs


def test_kernel_kmeans_begins_an_empty_cluster_at_the_furthest_sample():
    X = np.array([[0.0], [1], [2], [10], [11], [30]])
    K, G = X @ X.T, np.eye(3)[[0, 0, 0, 1, 1, 1]]
    W = G / np.maximum(G.sum(axis=0), 1)
    means = Lloyd(DenseGram(K)).update_W(State(W=W, G=G, KW=K @ W))
    np.testing.assert_array_equal(means[:, 2], [0, 0, 0, 0, 0, 1])


def test_with_the_printed_rules_a_lost_sample_has_the_label_of_its_largest_score():
    X, y = blobs(30, 3, 6, 0)
    K, G = rbf_kernel(X, gamma=0.1), np.eye(3)[y]
    W = G / G.sum(axis=0)
    lost = np.flatnonzero(y > 0)[:5]
    G[lost] = 0
    labels = LocalSimilarity(DenseGram(K), 0.0, PRINTED).labels(State(W=W, G=G, KW=K @ W, KG=K @ G))
    np.testing.assert_array_equal(labels, y)


def test_new_samples_go_to_the_nearest_mean_whatever_the_sizes_of_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(6, 1, (10, 2))])
    model = KernelKMeans(2, kernel="linear", row_norm=None, random_state=0).fit(X)
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(2)])
    new = rng.uniform(-3, 9, (300, 2))
    nearest = np.square(new[:, None] - means).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), nearest)


def test_where_no_cluster_gains_the_local_term_does_not_decide():
    """The trap: λ alone prefers the cluster whose column of W is lightest."""
    sums = np.array([1.0, 50.0])
    fit = NewSamples(C=np.eye(2), sums=sums, lengths=sums, lam=0.1, exact=True)
    kW, own = np.array([[0.01, 0.02], [0.02, 0.01]]), np.ones(2)
    assert (fit.scores(kW, own) < 0).all()
    assert fit.labels(kW, own).tolist() == [1, 0]
