"""A score of given clusters, without labels: what it prefers, and what it does not depend on."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from klsnmf import walk_score
from klsnmf.kernels.build import KernelSettings
from klsnmf.kernels.count import by_chance, clarity
from klsnmf.solve.judge import score_of
from klsnmf.solve.levels import count_on

from ..naive import levels as naive
from .test_levels import planted, rings


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_clusters_score_best(seed):
    X, y = planted(5, 4, seed)
    joined, cut = np.minimum(y, 3), y + 5 * (X[:, 0] > np.median(X[:, 0]))
    shuffled = np.random.default_rng(seed).permutation(y)
    best = walk_score(X, y)
    assert best > 1
    assert best > 1.2 * max(walk_score(X, other) for other in (joined, cut))
    assert walk_score(X, shuffled) < 0


def test_clusters_of_any_shape_score_best_where_a_silhouette_prefers_others():
    X = rings(0)
    y = np.repeat([0, 1], len(X) // 2)
    halves = (X[:, 0] > 0).astype(int)
    assert walk_score(X, y) > walk_score(X, halves)
    assert silhouette_score(X, y) < silhouette_score(X, halves)


def test_it_is_the_score_of_the_number_of_clusters():
    """In the usual graph, for the clusters that are found there."""
    X, y = planted(4, 3, 0)
    settings = KernelSettings("self-tuning", n_neighbors="auto", diffusion="auto", sizes="auto")
    counted = count_on(settings.graphs(X, 2), np.random.RandomState(0))
    assert walk_score(X, y) == pytest.approx(counted.seen[0].evidence.of(4, "score"), rel=1e-6)


def test_what_is_explained_is_compared_with_its_naive_twin():
    X, y = planted(3, 3, 1, apart=4.5)
    settings = KernelSettings("self-tuning", n_neighbors="auto", diffusion="auto", sizes="auto")
    K = settings.graphs(X, 2).graph(10).K
    values = np.linalg.eigvalsh(naive.steps(K.entries().toarray()))[::-1]
    rough = np.where(np.arange(len(y)) % 12 == 0, 0, y)
    for labels, better in ((y, True), (rough, False)):
        explained = naive.explained(K.entries().toarray(), labels)
        chance = by_chance(values[:41], np.array([3]), len(X), 10)
        assert (explained > chance[0]) == better
        time = naive.persistence(values, 3, max(1e-6, 1 / len(X) ** 2))
        told = np.sqrt(time / (1 + time)) * 2**0.25 * clarity(explained, chance)[0] ** 3
        expected = told if better else explained - chance[0]
        assert score_of(labels, K, 10) == pytest.approx(expected, rel=1e-4)


def test_names_order_unit_and_storage_do_not_matter():
    X, y = planted(3, 4, 2)
    X = np.abs(X)
    score = walk_score(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    assert walk_score(X, np.array(["a", "b", "c"])[y]) == pytest.approx(score)
    assert walk_score(X, 7 - 2 * y) == pytest.approx(score)
    assert walk_score(X[order], y[order]) == pytest.approx(score, rel=1e-4)
    assert walk_score(1e200 * X, y) == pytest.approx(score, rel=1e-4)
    assert walk_score(sparse.csr_array(X), y) == pytest.approx(score, rel=1e-4)
    assert walk_score(X.astype(np.float32), y) == pytest.approx(score, rel=1e-2)


def test_missing_values_have_the_mean_of_their_feature():
    X, y = planted(3, 4, 2)
    X[::7, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert walk_score(X, y) == walk_score(filled, y)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 17])
def test_few_samples_have_a_score_too(n):
    X, _ = planted(3, 4, 0)
    for k in range(1, n + 1):
        score = walk_score(X[:n], np.arange(n) % k)
        assert np.isfinite(score)
        if k in (1, n):
            assert score == 0


def test_labels_of_others():
    X, _ = planted(4, 3, 3)
    numbers = range(2, 8)
    scores = [walk_score(X, KMeans(k, n_init=10, random_state=0).fit_predict(X)) for k in numbers]
    assert numbers[int(np.argmax(scores))] == 4


def test_labels_that_do_not_fit_are_refused():
    X, y = planted(3, 4, 0)
    with pytest.raises(ValueError, match=r"labels has shape \(3,\); it must be \(180,\)"):
        walk_score(X, y[:3])
    with pytest.raises(ValueError, match="infinity"):
        walk_score(np.where(X.max() == X, np.inf, X), y)
