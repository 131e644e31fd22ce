"""Doubtful clusters in words: each doubt once, and one piece of advice."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from klsnmf import KLSNMF
from klsnmf.estimators.doubtful import InDoubt, tiny_clusters
from klsnmf.io.model_file import load, save
from klsnmf.solve.solution import Doubts, RunnerUp

ONE, TWO = (0, 1, 0.15), (1, 0.09, (60, 28))
APART = (2, 0.0, (700, 50))


@pytest.mark.parametrize(
    ("doubts", "reasons", "advised"),
    [
        (Doubts(one=(ONE,)), [("one", (0, 1))], (3,)),
        (Doubts(two=(APART,)), [("apart", (2,))], (5,)),
        (Doubts(two=(TWO,)), [("two", (1,))], (5,)),
        (Doubts(one=(ONE,), two=(APART,)), [("swap", (0, 1, 2))], (3, 5)),
        # A cluster that may be two, and one with another, is named once.
        (Doubts(one=(ONE,), two=(TWO,)), [("misplaced", (0, 1))], (3, 5)),
        (
            Doubts(one=(ONE,), two=(APART, TWO)),
            [("apart", (2,)), ("misplaced", (0, 1))],
            (3, 6),
        ),
        # Of pairs in a ring, only two borders go.
        (
            Doubts(one=(ONE, (1, 2, 0.14), (0, 2, 0.13))),
            [("one", (0, 1)), ("one", (1, 2)), ("one", (0, 2))],
            (2,),
        ),
        (Doubts(loose=((3, 0.6),)), [("loose", (3,))], (3,)),
        (Doubts(one=(ONE,), loose=((3, 0.6),)), [("one", (0, 1)), ("loose", (3,))], (3,)),
    ],
)
def test_each_doubt_is_told_once_with_numbers_to_try(doubts, reasons, advised):
    note = InDoubt(doubts, 4)
    assert [each[:2] for each in note.reasons] == reasons
    assert note.advised == advised
    for words, name in ((str(note), "n_clusters="), (note.in_command, "-k ")):
        assert all(f"{name}{k}" in words for k in advised)
        assert all(each.words in words for each in note.reasons)
    assert "n_clusters" not in note.in_command


def test_the_parts_of_a_cluster_are_counted():
    note = InDoubt(Doubts(two=(APART,)), 7)
    assert "700 and 50 samples" in note.reasons[0].words


def test_samples_that_may_have_no_clusters_get_no_number_below_two():
    note = InDoubt(Doubts(one=(ONE, (1, 2, 0.4))), 3)
    assert note.advised == (1,)
    assert "n_clusters=1" not in str(note)
    both = InDoubt(Doubts(one=(ONE,), two=(TWO,)), 2)
    assert both.advised == (1, 3)
    assert "-k 3" in both.in_command
    assert "-k 1" not in both.in_command


def test_many_doubts_are_not_all_told_in_words():
    two = tuple((c, 0.01 * c, (30, 20)) for c in range(1, 8))
    note = InDoubt(Doubts(two=two), 8)
    assert [each.clusters for each in note.reasons] == [(1,), (2,), (3,)]
    assert note.advised == (15,)


def test_tiny_clusters_of_a_fit_are_noted_without_a_warning(recwarn, tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [200, 200, 12])
    X = 30 * np.eye(3)[y] + rng.normal(size=(len(y), 3))
    model = KLSNMF(3, sizes="free", random_state=0, verbose=1).fit(X)
    assert str(model.notes_[0]) in capsys.readouterr().out
    assert model.notes_ == tiny_clusters(model.labels_, 3)
    assert model.notes_[0].sizes[0][1] == 12
    assert not list(recwarn)
    save(model, tmp_path / "model.npz")
    assert load(tmp_path / "model.npz")[0].notes_ == model.notes_


def test_where_all_clusters_are_small_none_is_remarkable():
    assert tiny_clusters(np.arange(12) % 3, 3) == ()
    assert tiny_clusters(np.repeat([0, 1, 2], [5, 5, 2]), 3) == ()
    many = tiny_clusters(np.repeat(np.arange(8), [400, 400, *[2] * 6]), 8)
    assert len(many[0].sizes) == 6
    assert "6 clusters are tiny" in str(many[0])


def test_the_runner_up_is_told():
    note = InDoubt(Doubts(one=(ONE,)), 4, RunnerUp("free", 25, 31))
    told = "Another answer that was considered, with 25 neighbours and free sizes, puts 31 samples"
    for words in (str(note), note.in_command):
        assert told in words
    assert "Another answer" not in str(InDoubt(Doubts(one=(ONE,)), 4))


def test_a_fit_in_doubt_knows_its_runner_up():
    X, _ = make_blobs(300, 2, centers=3, cluster_std=3.0, random_state=0)
    model = KLSNMF(3, random_state=0).fit(X)
    (note,) = (one for one in model.notes_ if isinstance(one, InDoubt))
    assert note.runner_up.sizes in ("even", "free")
    assert 0 < note.runner_up.moved < 300
