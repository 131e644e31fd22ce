"""What a fit has to tell: data first, and each sentence made of it in one place."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from klsnmf import KLSNMF, WNMF
from klsnmf.estimators.notes import Collapsed, FewerClusters, FitWarning, NotConverged
from klsnmf.solve.solution import Trouble

from ..helpers import blobs

X, _ = blobs(60, 3, 6, seed=0)


@pytest.mark.parametrize("kind", [KLSNMF, WNMF])
def test_a_fit_that_ran_out_of_iterations(kind):
    with pytest.warns(ConvergenceWarning) as caught:
        model = kind(3, max_iter=2, n_init=1, random_state=0).fit(X)
    note = NotConverged(2, kind.__name__)
    assert model.status_ == "exhausted"
    assert model.notes_ == (note,)
    assert model.verdict_ == f"stopped after {model.n_iter_} iterations"
    (warning,) = (one.message for one in caught)
    assert isinstance(warning, FitWarning)
    assert warning.note == note
    assert str(warning) == str(note)
    assert "Raise max_iter" in str(note)
    assert repr(note) == f"NotConverged: {note}"
    assert repr(model.notes_) == f"({note!r},)"
    assert "--max-iter" in note.in_command
    assert "max_iter" not in note.in_command


def test_a_lam_that_is_too_large():
    with pytest.warns(FitWarning):
        model = KLSNMF(3, kernel="rbf", lam=1e6, random_state=0).fit(X)
    (note,) = model.notes_
    assert model.status_ == "collapsed"
    assert (note.parameter, note.value, note.trouble) == ("lam", 1e6, Trouble.NO_CLUSTER)
    assert 0.5 < note.share <= 1
    assert 0 < note.safe < 1e6
    calm = KLSNMF(3, kernel="rbf", lam=note.safe / 2, random_state=0).fit(X)
    assert calm.status_ == "converged"
    assert calm.notes_ == ()
    assert str(Collapsed("graph_weight", 2.0, Trouble.GROWS)).endswith("bound. Lower it.")
    assert str(Collapsed("lam", 2.0, Trouble.OVERFLOW)).endswith("Set lam=0.")


def test_fewer_clusters_than_asked_for():
    few = np.repeat(X[[0, 20, 40]], 5, axis=0)
    with pytest.warns(FitWarning):
        model = KLSNMF(5, kernel="rbf", random_state=0).fit(few)
    (note,) = model.notes_
    found = len(np.unique(model.labels_))
    assert note == FewerClusters(found, 5, "kernel")
    assert f"Only {found} of n_clusters=5" in str(note)
    assert note.in_command == f"Only {found} of 5 clusters have samples. Ask for fewer with -k."


def test_a_callback_that_stops():
    model = KLSNMF(3, callback=lambda progress: True, random_state=0).fit(X)
    assert model.status_ == "stopped"
    assert model.verdict_ == "stopped by the callback"
    assert model.notes_ == ()
