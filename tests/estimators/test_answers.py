"""The defaults on planted clusters: unequal, thin, nested, touching, with outliers."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score as agreement

from klsnmf import KLSNMF
from klsnmf.core.kmeans import by_appearance

SEEDS = range(10)


def unequal_pieces(rng):
    """Round clusters of 400 down to 20 samples, far apart."""
    sizes = [400, 150, 60, 30, 20]
    y = np.repeat(np.arange(5), sizes)
    centres = 14 * np.eye(5)[rng.permutation(5)]
    return centres[y] + rng.normal(size=(len(y), 5)), y


def nested_rings(rng):
    """A small ring within one of twenty times as many samples."""
    y = np.repeat([0, 1], [40, 800])
    angle = rng.uniform(0, 2 * np.pi, size=len(y))
    radius = np.where(y == 0, 1.0, 8.0) + 0.15 * rng.normal(size=len(y))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def chains_with_outliers(rng):
    """Three curves, and five samples far from everything, which belong to none."""
    y = np.repeat(np.arange(3), 120)
    t = rng.uniform(0, 10, size=len(y))
    X = np.column_stack([t, np.sin(t) + 4 * y]) + 0.1 * rng.normal(size=(len(y), 2))
    far = np.column_stack([rng.uniform(30, 90, size=5), rng.uniform(-90, 90, size=5)])
    return np.vstack([X, far]), np.concatenate([y, np.full(5, -1)])


def touching_gaussians(rng):
    """Four of equal size, whose samples mix where they meet."""
    y = np.repeat(np.arange(4), 200)
    X = 4.0 * np.column_stack([y % 2, y // 2]) + rng.normal(size=(len(y), 2))
    return X, y


PLANTED = {
    "unequal pieces": (unequal_pieces, 5, 0.99),
    "nested rings of 1 : 20": (nested_rings, 2, 0.99),
    "chains with outliers": (chains_with_outliers, 3, 0.99),
    "equal Gaussians that touch": (touching_gaussians, 4, 0.75),
}


def found(make, k, seed, change=lambda X, rng: X, **options):
    rng = np.random.default_rng(seed)
    X, y = make(rng)
    labels = KLSNMF(k, random_state=seed, **options).fit_predict(change(X, rng))
    return labels, y


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_clusters_are_found(name, seed):
    make, k, least = PLANTED[name]
    labels, y = found(make, k, seed)
    assert agreement(y[y >= 0], labels[y >= 0]) >= least


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PLANTED)
def test_scale_and_place_of_the_samples_do_not_matter(name, seed):
    make, k, _ = PLANTED[name]
    labels, _ = found(make, k, seed)
    for change in (lambda X, _: 64.0 * X, lambda X, _: X + 3.0):
        again, _ = found(make, k, seed, change)
        assert agreement(labels, again) > 0.98


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PLANTED)
def test_the_order_of_the_samples_does_not_matter(name, seed):
    make, k, least = PLANTED[name]
    X, y = make(np.random.default_rng(seed))
    order = np.random.default_rng(seed + 1).permutation(len(X))
    labels = KLSNMF(k, random_state=seed).fit_predict(X[order])
    known = y[order] >= 0
    assert agreement(y[order][known], labels[known]) >= least
    in_order = KLSNMF(k, random_state=seed).fit_predict(X)
    assert agreement(in_order[order][known], labels[known]) > 0.95


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("name", PLANTED)
def test_samples_given_several_times_are_clustered_alike(name, copies, seed):
    make, k, _ = PLANTED[name]
    once, y = found(make, k, seed)
    labels, _ = found(make, k, seed, lambda X, _: np.tile(X, (copies, 1)))
    np.testing.assert_array_equal(labels, np.tile(labels[: len(y)], copies))
    known = y >= 0  # outliers may join another cluster
    assert agreement(labels[: len(y)][known], once[known]) > 0.98


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PLANTED)
def test_some_samples_given_twice_change_little(name, seed):
    make, k, least = PLANTED[name]
    _, y = found(make, k, seed)
    some = np.random.default_rng(seed).permutation(len(y))[: len(y) // 3]
    labels, _ = found(make, k, seed, lambda X, _: np.vstack([X, X[some]]))
    labels = labels[: len(y)]
    assert agreement(y[y >= 0], labels[y >= 0]) >= least


@pytest.mark.parametrize("seed", range(3))
def test_a_few_samples_apart_are_a_cluster_only_if_asked_for(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [150, 150, 8])
    X = np.array([[0.0, 0], [5, 0], [60, 60]])[y] + rng.normal(size=(len(y), 2))
    plain = KLSNMF(2, random_state=seed).fit_predict(X)
    assert agreement(y[y < 2], plain[y < 2]) >= 0.95
    asked = KLSNMF(2, sizes="free", random_state=seed).fit_predict(X)
    np.testing.assert_array_equal(by_appearance(asked), (y == 2).astype(int))


@pytest.mark.parametrize("seed", range(3))
def test_new_samples_join_the_small_clusters_too(seed):
    rng = np.random.default_rng(seed)
    X, y = unequal_pieces(rng)
    kept = rng.permutation(len(X)) % 10 > 0
    model = KLSNMF(5, random_state=seed).fit(X[kept])
    assert agreement(y[~kept], model.predict(X[~kept])) >= 0.99
    np.testing.assert_array_equal(model.predict(X[kept]), model.labels_)


def test_sizes_are_refused_where_there_is_no_graph():
    X, _ = touching_gaussians(np.random.default_rng(0))
    for options in ({"diffusion": 0}, {"kernel": "rbf"}, {"gram": "dense"}, {"n_neighbors": None}):
        with pytest.raises(ValueError, match='sizes="free" is for neighbour graphs'):
            KLSNMF(4, sizes="free", **options).fit(X)
