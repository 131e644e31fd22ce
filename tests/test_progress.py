"""Progress: told from the places where time passes, to whoever wants to know."""

import numpy as np

from klsnmf import GNMF, KLSNMF, n_clusters_evidence
from klsnmf.progress import observed, steps, tell

from .helpers import blobs


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
    assert np.all(np.diff([done for _, done, _ in heard]) == 1)
