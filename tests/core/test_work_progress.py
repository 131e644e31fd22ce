"""Progress: told from the places where time passes, to whoever wants to know."""

import re
from itertools import pairwise

from klsnmf import GNMF, KLSNMF, n_clusters_evidence
from klsnmf.core.work import observed, steps, tell
from klsnmf.estimators import callbacks
from klsnmf.grams import spectral

from ..helpers import blobs


def test_nobody_listens():
    tell("work", 1, 2)
    assert list(steps([3, 4], "work")) == [3, 4]


def test_an_observer_hears_what_goes_on_inside():
    heard = []
    with observed(lambda *told: heard.append(told)):
        assert list(steps("ab", "work")) == ["a", "b"]
    tell("work", 3, 3)
    assert heard == [("work", 1, 2), ("work", 2, 2)]


def test_fits_tell_of_starts_and_iterations():
    X, _ = blobs(60, 3, 6, seed=0)
    for estimator in (KLSNMF(3, random_state=0), GNMF(3, random_state=0)):
        heard = []
        with observed(lambda *told, heard=heard: heard.append(told)):
            estimator.fit(X)
        stages = {stage for stage, _, _ in heard}
        assert "starts" in stages
        assert any(stage.endswith("iterations") for stage in stages)
        assert all(1 <= done <= total for _, done, total in heard)
    heard = []
    with observed(lambda *told: heard.append(told)):
        n_clusters_evidence(X, random_state=0)
    assert heard[-1][0] == "numbers of clusters"
    assert heard[-1][1] == heard[-1][2]
    # There may be a second round, of more numbers.
    counted = pairwise(done for _, done, _ in heard)
    assert all(done in (1, before + 1) for before, done in counted)


def test_observers_inside_each_other_all_hear():
    inner, outer = [], []
    with observed(lambda *told: outer.append(told)):
        with observed(lambda *told: inner.append(told)):
            tell("work", 1, 2)
        tell("work", 2, 2)
    assert inner == [("work", 1, 2)]
    assert outer == [("work", 1, 2), ("work", 2, 2)]


def test_verbose_tells_what_comes_before_the_iterations(monkeypatch, capsys):
    """Eigenvectors of many samples with a kernel of all pairs can take minutes."""
    monkeypatch.setattr(spectral, "_MANY", 100)
    X, _ = blobs(300, 3, 6, seed=0)
    KLSNMF(3, kernel="rbf", verbose=1, random_state=0).fit(X)
    assert "eigenvectors:" not in capsys.readouterr().out  # it was a moment
    monkeypatch.setattr(callbacks, "SECONDS", 0.0)
    KLSNMF(3, kernel="rbf", verbose=1, random_state=0).fit(X)
    said = capsys.readouterr().out
    assert re.search(r"eigenvectors: \d+ of at most \d+\n", said)
    assert re.search(r"starts: \d+ of at most \d+\n", said)
    KLSNMF(3, kernel="rbf", random_state=0).fit(X)
    assert not capsys.readouterr().out
