"""Samples of which very many are equal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from klsnmf import KLSNMF
from klsnmf.kernels.crowds import crowds_of
from klsnmf.kernels.neighbors import SURPLUS, nearest, reach_of

from ..helpers import blobs

FORMS = [np.asarray, sparse.csr_array]


def crowded(n, share, seed, groups=1):
    """Samples of three clusters, a share of which are copies of a few."""
    X, y = blobs(n, 3, 6, seed)
    rng = np.random.default_rng(seed)
    copies = rng.permutation(n)[: int(share * n)]
    X[copies] = X[copies[rng.integers(0, groups, len(copies))]]
    y[copies] = -1 if groups > 1 else y[copies[0]]
    return X, y, copies


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**16),
    share=st.sampled_from([0.2, 0.5, 0.9, 1.0]),
    groups=st.integers(1, 3),
    form=st.sampled_from(FORMS),
)
def test_neighbours_are_as_near_as_the_nearest(seed, share, groups, form):
    """The naive twin: all distances, sorted."""
    X, _, _ = crowded(300, share, seed, groups)
    found, d2 = nearest(form(X), 5)
    naive = np.square(X[:, None] - X).sum(axis=2)
    np.testing.assert_allclose(naive[np.arange(300)[:, None], found][np.isfinite(d2)],
                               d2[np.isfinite(d2)], rtol=1e-9, atol=1e-12)  # fmt: skip
    np.fill_diagonal(naive, np.inf)
    np.testing.assert_allclose(d2[:, :5], np.sort(naive, axis=1)[:, :5], rtol=1e-9, atol=1e-12)
    kept = d2 <= reach_of(d2, 5)[:, None]
    for i, row in enumerate(found):
        assert i not in row[kept[i]]
        assert len(set(row[kept[i]])) >= 5


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_nobody_is_the_neighbour_of_everyone(share):
    """Links grow with the samples, not with their square."""
    n, q = 2000, 10
    X, _, copies = crowded(n, share, 0)
    found, d2 = nearest(X, q)
    kept = d2 <= reach_of(d2, q)[:, None]
    assert kept[copies].sum(axis=1).max() <= q + SURPLUS + 1
    assert np.bincount(found[kept], minlength=n)[copies].max() <= 4 * (q + SURPLUS)


def test_a_crowd_is_in_one_piece_and_well_mixed():
    X = np.ones((1000, 3))
    found, d2 = nearest(X, 10)
    i, j = np.nonzero(d2 == 0)
    graph = sparse.coo_array((np.ones(len(i)), (i, found[i, j])), shape=(1000, 1000)).tocsr()
    graph = graph + graph.T
    assert csgraph.connected_components(graph)[0] == 1
    degrees = np.asarray(graph.sum(axis=0)).ravel()
    values = np.linalg.eigvalsh(graph.toarray() / degrees[0])
    assert values[-2] < 0.8 * values[-1]


@pytest.mark.parametrize("form", FORMS)
def test_equals_are_found_whatever_the_sign_of_zero(form):
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    (members,) = crowds_of(form(X), np.arange(4), 3)
    assert sorted(members) == [0, 1, 3]


@pytest.mark.parametrize("form", FORMS)
def test_equal_samples_have_one_label(form):
    X, y, copies = crowded(400, 0.5, 3)
    labels = KLSNMF(3, random_state=0).fit(form(X)).labels_
    assert len(set(labels[copies])) == 1
    assert len(set(zip(labels.tolist(), y.tolist(), strict=True))) == 3
