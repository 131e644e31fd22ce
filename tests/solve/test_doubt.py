"""Doubt: told where the number of clusters is wrong or a cluster is cut, and not elsewhere."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf import KLSNMF
from klsnmf.estimators.doubtful import InDoubt
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.walk import walk_on
from klsnmf.metrics import accuracy
from klsnmf.solve.choose import Answer
from klsnmf.solve.doubt import (
    between,
    beyond_background,
    borders_between,
    borders_inside,
    doubts_of,
    found_again,
    runner_up,
)
from klsnmf.solve.solution import RunnerUp

from ..helpers import linked_groups
from ..naive import walking as naive


def clear_blobs(seed, sizes=(60, 60, 60, 60, 60)):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return 14 * np.eye(len(sizes))[y] + rng.normal(size=(len(y), len(sizes))), y


def doubts_after(X, k, seed, **options):
    model = KLSNMF(k, random_state=seed, **options).fit(X)
    noted = [note.doubts for note in model.notes_ if isinstance(note, InDoubt)]
    return model, noted[0] if noted else None


@pytest.mark.parametrize("seed", range(4))
def test_no_doubt_where_the_clusters_are_right(seed):
    X, _ = clear_blobs(seed)
    assert doubts_after(X, 5, seed)[1] is None
    X, _ = clear_blobs(seed, sizes=(300, 100, 40, 20))
    assert doubts_after(X, 4, seed)[1] is None


@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_cut_in_two_is_told(seed):
    X, y = clear_blobs(seed)
    model, doubts = doubts_after(X, 6, seed)
    a, b, _ = doubts.one[0]
    of_classes = [set(y[model.labels_ == c]) for c in (a, b)]
    assert of_classes[0] == of_classes[1]
    assert {a, b} <= set(doubts.clusters)


@pytest.mark.parametrize("seed", range(4))
def test_two_clusters_in_one_are_told(seed):
    X, y = clear_blobs(seed)
    model, doubts = doubts_after(X, 4, seed)
    assert {len(set(y[model.labels_ == c])) for c, *_ in doubts.two} == {2}
    assert {sizes for *_, sizes in doubts.two} == {(60, 60)}
    (note,) = model.notes_
    assert {each.kind for each in note.reasons} == {"apart"}
    assert note.advised == (5,)


@pytest.mark.parametrize("seed", range(2))
def test_the_largest_of_unequal_clusters_cut_and_the_smallest_joined(seed):
    """What happens where every sample weighs the same."""
    X, y = clear_blobs(seed, sizes=(900, 60, 25, 20))
    model, doubts = doubts_after(X, 4, seed, sizes="even")
    largest = {c for c in range(4) if (y[model.labels_ == c] == 0).any()}
    if len(largest) > 1:
        assert set(doubts.one[0][:2]) <= largest
        assert {len(set(y[model.labels_ == c])) > 1 for c, *_ in doubts.two} == {True}


@pytest.mark.parametrize("seed", range(4))
def test_right_clusters_are_hardly_doubted_where_noise_links_them_all(seed):
    """Of the walks one in five and more leave each cluster, for whichever other."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(5), 200)
    X = 4 * rng.normal(size=(5, 100))[y] / 10 + rng.normal(size=(len(y), 100))
    model, doubts = doubts_after(X, 5, seed)
    assert accuracy(y, model.labels_) > 0.9
    assert doubts is None or len(doubts.clusters) <= 2
    assert len(doubts_after(X, 6, seed)[1].clusters) >= 1


def test_hardly_a_doubt_where_right_clusters_touch():
    """A tenth of the samples lie where four equal clusters mix. No cut is better."""
    y, doubted = np.repeat(np.arange(4), 200), 0
    for seed in range(8):
        noise = np.random.default_rng(seed).normal(size=(len(y), 2))
        X = 4.0 * np.column_stack([y % 2, y // 2]) + noise
        doubted += doubts_after(X, 4, seed)[1] is not None
    assert doubted <= 2


@pytest.mark.parametrize("seed", range(4))
def test_structureless_samples_are_in_doubt(seed):
    X = np.random.default_rng(seed).normal(size=(300, 5))
    _, doubts = doubts_after(X, 3, seed)
    assert len(doubts.clusters) >= 2


@pytest.mark.parametrize("seed", range(3))
def test_borders_are_what_matrices_of_all_pairs_say(seed):
    K, y = linked_groups(seed)
    walk = walk_on(SparseGram(sparse.csr_array(K)), 3)
    p = naive.crossings(K, y, 3, walk.time)
    found = borders_between(walk, y)
    for a in range(3):
        assert found[a, a] == 0
        for b in set(range(3)) - {a}:
            crossed = p[a, b] / (p[a, a] + p[a, b]) / 2 + p[a, b] / (p[b, b] + p[a, b]) / 2
            assert found[a, b] == pytest.approx(crossed, abs=0.01)


@pytest.mark.parametrize("seed", range(4))
def test_samples_between_clusters_are_those_that_matrices_of_all_pairs_tell(seed):
    K, y = linked_groups(seed, sizes=(60, 40, 24, 30), apart=2.5)
    walk = walk_on(SparseGram(sparse.csr_array(K)), 4)
    # Whole steps for the naive twin, and so many that only slow directions are left.
    object.__setattr__(walk, "time", 30.0)
    p = naive.ends(K, y, 4, 30)
    some = np.array([0, 3, 2])
    expected = [naive.between(p, y, c) for c in some]
    np.testing.assert_allclose(between(walk, y, some), expected, atol=0.02)


@pytest.mark.parametrize("k", range(3, 9))
def test_the_background_is_what_the_quietest_pairs_exchange(k):
    p = np.random.default_rng(k).uniform(size=(k, k)) + 3 * np.eye(k)
    p = (p + p.T) / (2 * p.sum())
    np.testing.assert_allclose(beyond_background(p), naive.without_background(p), atol=1e-12)


def test_two_clusters_and_empty_ones_have_no_background():
    p = np.array([[0.4, 0.1, 0.0], [0.1, 0.4, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(beyond_background(p), p)
    np.testing.assert_array_equal(beyond_background(p[:2, :2]), p[:2, :2])


def test_a_cluster_is_found_again_by_its_most_similar_one():
    labels, others = np.array([0, 0, 0, 0, 2, 2]), np.array([1, 1, 1, 0, 0, 0])
    assert found_again(labels, others) == {0: 0.75, 2: pytest.approx(2 / 3)}


def test_half_of_the_walks_cross_where_there_is_no_border():
    """Two halves of one cloud, drawn at random: a share that means what it says."""
    K, _ = linked_groups(0)
    walk = walk_on(SparseGram(sparse.csr_array(K)), 3)
    halves = np.random.default_rng(0).permutation(K.shape[0]) % 2
    assert borders_between(walk, halves)[0, 1] == pytest.approx(0.5, abs=0.05)


def test_a_border_inside_is_the_border_between_the_clusters_joined():
    K, y = linked_groups(0, apart=6.0)
    walk = walk_on(SparseGram(sparse.csr_array(K)), 3)
    joined = np.where(y == 2, 1, y)
    inside, parts = borders_inside(walk, joined)
    assert inside[1] == pytest.approx(borders_between(walk, y)[1, 2], abs=0.05)
    assert inside[0] > 0.125
    assert inside[2] == 0.5  # nobody is there
    np.testing.assert_array_equal(parts.sum(axis=1), np.bincount(joined, minlength=3))
    assert tuple(parts[1]) == tuple(sorted(np.bincount(y)[1:], reverse=True))
    assert [c for c, *_ in doubts_of(walk, joined).two] == [1]


def test_doubts_are_data_and_sentences_and_no_warning(recwarn):
    X, _ = clear_blobs(0)
    model, doubts = doubts_after(X, 6, 0)
    assert not list(recwarn)
    note = model.notes_[-1]
    assert not note.warns
    (reason,) = note.reasons
    assert (reason.kind, reason.clusters) == ("one", doubts.one[0][:2])
    assert reason.words in str(note)
    assert str(note).startswith("2 of 6 clusters are doubtful.")
    assert "n_clusters=5" in str(note)
    assert "-k 5" in note.in_command


def test_the_runner_up_is_the_other_answer_that_loses_least():
    def answer(labels, q, lost, even=True):
        return Answer(np.array(labels), q, even, lost, smallest=1)

    labels = np.array([0, 0, 0, 1, 1, 2])
    same, other, worse = (
        answer([1, 1, 1, 2, 2, 0], 10, 0.1),
        answer([1, 1, 0, 0, 0, 2], 25, 0.2, even=False),
        answer([0, 1, 2, 0, 1, 2], 7, 0.3),
    )
    assert runner_up([worse, other, same], labels) == RunnerUp("free", 25, 1)
    assert runner_up([same], labels) is None
    assert runner_up([], labels) is None
