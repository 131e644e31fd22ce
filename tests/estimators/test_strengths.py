"""Membership strength: between 0 and 1, low between clusters, and what its definition says."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf import KLSNMF, METHODS, KernelKMeans
from klsnmf.core.arithmetic import nearness
from klsnmf.estimators.labels import strength
from klsnmf.estimators.strengths import assign, strengths

from ..helpers import blobs

# Clusters as clear as these are separate pieces to spectral clustering, and slow for some others.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Graph is not fully connected:UserWarning"),
]


def test_from_scores_and_distances():
    scores = np.array([[4.0, 1.0], [2.0, 2.0], [1.0, 4.0], [0.0, 0.0], [1.0, -3.0]])
    np.testing.assert_allclose(strength(scores, np.zeros(5, int)), [0.75, 0, 0, 0, 1])
    distances = np.array([[1.0, 4.0], [2.0, 2.0], [0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(strength(nearness(distances), np.zeros(4, int)), [0.75, 0, 1, 0])
    one = np.array([[2.0], [0.0], [-1.0]])
    np.testing.assert_array_equal(strength(one, np.zeros(3, int)), 1)
    np.testing.assert_array_equal(strength(nearness(np.abs(one)), np.zeros(3, int)), 1)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", METHODS)
def test_a_sample_between_clusters_is_doubtful(name, storage):
    X, y = blobs(60, 3, 6, seed=0)
    between = (X[y == 0].mean(axis=0) + X[y == 1].mean(axis=0)) / 2
    X = storage(np.vstack([X, between]))
    options = {"affinity": "nearest_neighbors"} if name == "spectral" else {}
    model = METHODS[name](n_clusters=3, random_state=0, **options).fit(X)
    found = strengths(model, X)
    assert found.shape == (61,)
    assert found.min() >= 0
    assert found.max() <= 1
    # With a graph term a sample that is like no cluster has nothing but itself to go by.
    assert found[-1] < np.median(found[:-1]) or name == "gls-nmf"
    if name == "spectral":
        with pytest.raises(ValueError, match="cannot place new samples"):
            assign(model, X)
        return
    labels, again = assign(model, X)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert again.min() >= 0
    assert again.max() <= 1
    assert again[-1] < np.median(again[:-1]) or name == "gls-nmf"


@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", ["rbf", "linear"]])
def test_samples_of_the_fit_and_the_same_as_new_ones(kernel):
    X, _ = blobs(80, 4, 8, seed=2)
    for model in (KLSNMF(4, kernel=kernel, random_state=0), KernelKMeans(4, kernel=kernel)):
        model.fit(X)
        labels, found = assign(model, X)
        np.testing.assert_array_equal(labels, model.labels_)
        np.testing.assert_allclose(found, strengths(model, X), atol=1e-6)


def test_kernel_distances_are_distances():
    X, _ = blobs(40, 3, 5, seed=3)
    model = KernelKMeans(3, kernel="linear", row_norm=None, random_state=0).fit(X)
    means = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    distances = np.linalg.norm(X[:, None] - means, axis=2)
    expected = strength(nearness(distances), model.labels_)
    np.testing.assert_allclose(strengths(model, X), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["gnmf", "cnmf"])
def test_clusters_read_by_k_means(name):
    X, _ = blobs(60, 3, 6, seed=4)
    model = METHODS[name](3, labels="kmeans", random_state=0).fit(X)
    found = strengths(model, X)
    rows = model.G_ / np.linalg.norm(model.G_, axis=1, keepdims=True)
    means = np.array([rows[model.labels_ == c].mean(axis=0) for c in range(3)])
    distances = np.linalg.norm(rows[:, None] - means, axis=2)
    np.testing.assert_allclose(found, strength(nearness(distances), model.labels_), atol=1e-6)


@pytest.mark.parametrize(
    "name", [name for name, kind in METHODS.items() if hasattr(kind, "scores")]
)
def test_strengths_of_new_samples_are_those_of_assign(name):
    X, _ = blobs(60, 3, 6, seed=0)
    model = METHODS[name](n_clusters=3, random_state=0).fit(X)
    new = X[::3] * 0.9 + 0.1 * X[1::3]
    np.testing.assert_allclose(model.strengths(new), assign(model, new)[1])


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_kind_that_the_fit_has_not_seen_is_novel(storage):
    X, y = blobs(600, 3, 6, seed=0)
    known, other = y < 2, y == 2
    model = KLSNMF(2, random_state=0).fit(storage(X[known][::2]))
    assert np.mean(model.novelty(storage(X[known][1::2])) >= 0.99) < 0.1
    assert (model.novelty(storage(X[other])) >= 0.99).all()
    assert not model.novelty(storage(X[known][::2])).any()
    blind = KLSNMF(2, kernel="precomputed", random_state=0).fit(X @ X.T)
    with pytest.raises(ValueError, match="keeps no samples"):
        blind.novelty(X @ X.T)
