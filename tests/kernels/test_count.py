"""How many clusters: what the score of a number is made of, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from klsnmf.kernels.count import (
    CLEAR,
    LEAST,
    NEAR,
    RIVAL,
    Evidence,
    by_chance,
    chosen_of,
    clarity,
    evenness_of,
    scores,
)


def evidence(score, chosen=None, first=2):
    score = np.asarray(score, float)
    numbers = np.arange(first, first + len(score))
    ones, zeros = np.ones(len(score)), np.zeros(len(score))
    found = chosen_of(numbers, score) if chosen is None else chosen
    return Evidence(numbers, zeros, 0.9 * ones, 0.5 * ones, score, np.ones(3), found)


def test_clusters_beside_which_others_are_specks_are_worth_few():
    assert evenness_of(np.full(7, 30)) == pytest.approx(1)
    assert evenness_of(np.array([10, 0, 10])) == pytest.approx(1 / 2)
    assert evenness_of(np.array([5])) == 0
    assert evenness_of(np.array([960, *[10] * 4])) < 0.1
    assert evenness_of(np.array([600, 300, 150, 75, 30])) > 0.5


def test_the_score_is_made_of_what_is_seen():
    numbers, time = np.array([2, 5]), np.array([4.0, 0.25])
    clear, evenness, modularity = np.array([[0.5, 1.0], [1.0, 0.3], [0.4, 0.7]])
    told = np.sqrt([4 / 5, 0.25 / 1.25]) * np.array([1, 4]) ** 0.25 * clear**3 * evenness
    for dimension, power in ((1.5, 0), (2, 0), (3, 1), (4, 2), (30, 2)):
        found = scores(numbers, time, clear, evenness, modularity, dimension)
        np.testing.assert_allclose(found, told * (2 * modularity) ** power)


def test_cuts_that_explain_no_more_than_chance_are_not_clear():
    explained, chance = np.array([0.9, 0.6, 1.0]), np.array([0.8, 0.7, 0.7])
    np.testing.assert_allclose(clarity(explained, chance), [0.5, 0.0, 1.0])


def test_the_finest_number_near_the_best_is_taken():
    assert chosen_of(np.array([2, 3, 9]), np.array([1.0, NEAR, NEAR - 0.01])) == 3
    assert chosen_of(np.array([2, 3, 9]), np.array([1.0, 0.1, NEAR])) == 9
    assert chosen_of(np.array([2, 3]), np.array([LEAST * 0.99, 0])) == 1
    assert chosen_of(np.array([]), np.array([])) == 1


@pytest.mark.parametrize(
    ("score", "clear"),
    [
        ([0.0, CLEAR, 0.0], True),
        ([0.0, 0.99 * CLEAR, 0.0], False),
        ([1.01 * RIVAL * CLEAR, CLEAR, 0.0], False),
        ([0.99 * RIVAL * CLEAR, CLEAR, 0.0], True),
        ([0.0, 0.0, 0.0], True),
        ([0.0, LEAST / 2, 0.0], False),
    ],
)
def test_when_an_answer_is_clear(score, clear):
    assert evidence(score).clear is clear
    verdict = evidence(score).verdict
    assert ("But look at" in verdict or "not clear" in verdict) != clear


def test_clusters_that_are_kept_for_long_are_clear_unless_another_number_is_near():
    low = evidence([0.2, 0.5, 0.1])
    assert not low.clear
    assert replace(low, persistence=np.array([0.2, 8.0, 0.2])).clear
    rival = evidence([0.2, 1.0, 0.6])
    assert not replace(rival, persistence=np.array([0.2, 8.0, 0.2])).clear


def test_what_is_told_where_nothing_stands_out():
    found = evidence([0.5, 0.8, 0.55, 0.57])
    assert found.chosen == 5
    assert found.levels == (5, 3, 2)
    assert "5 clusters" in found.verdict
    assert "look at 3 and 2 too" in found.verdict
    assert repr(found).splitlines()[1].split() == ["clusters", "score", "persistence", "clarity"]
    assert [int(line.split()[0]) for line in repr(found).splitlines()[2:]] == [2, 3, 5]
    one = evidence([0.0, 0.001])
    assert repr(one) == one.verdict
    assert one.levels == (1,)
    doubtful = evidence([0.0, LEAST / 2])
    assert doubtful.levels == (1, 3)
    assert "But look at 3 too" in doubtful.verdict


@pytest.mark.parametrize("seed", range(5))
def test_numbers_that_are_told_are_levels(seed):
    rng = np.random.default_rng(seed)
    found = evidence(rng.uniform(size=20) ** 3)
    told = [int(word.strip(",.")) for word in found.verdict.split() if word.strip(",.").isdigit()]
    assert found.chosen in told
    assert {*told} - {1} <= {*found.levels}


def test_levels_are_apart():
    found = replace(evidence(np.zeros(30)), chosen=20)
    found.score[[3, 4, 18, 19]] = [2.0, 1.9, 2.2, 2.1]  # 5, 6, 20, 21
    assert found.levels == (20, 5)
    found.score[3] = 0.0
    assert found.levels == (20, 6)


def test_cuts_of_a_piece_explain_less_where_there_are_more_dimensions_and_samples():
    numbers, j = np.array([2, 4, 20]), np.arange(60)
    values = 1 - 1e-3 * j
    many, few = by_chance(values, numbers, 10_000, 10), by_chance(values, numbers, 500, 10)
    assert (many < few).all()
    assert (by_chance(values, numbers, 10_000, 10, dimension=10) < many).all()
    assert (by_chance(values, numbers, 500, 10, dimension=10) < few).all()
    thin = 1 - 1e-5 * j**2
    assert (by_chance(thin, numbers, 500, 10) > few).all()
    assert many[0] > many[1]
    assert (few < 1).all()
    for dimension in (0.0, 1e9):
        assert (by_chance(values, numbers, 500, 10, dimension) > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_pieces_that_are_never_left_do_not_outweigh_what_is_inside_of_them(seed):
    """A longer time is better, but a hundred times as long no more than half as good again."""
    rng = np.random.default_rng(seed)
    time, ones = rng.uniform(1, 5), np.ones(1)
    short, long = (
        scores(3 * ones, t * ones, 0.5 * ones, ones, ones, 2.0) for t in (time, 100 * time)
    )
    assert short < long < 1.5 * short
