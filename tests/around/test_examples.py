"""The code of the tutorial does what its text says."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from examples import add_a_method
from examples.add_a_method import RidgeNMF
from klsnmf import WNMF
from klsnmf.metrics import accuracy

from ..helpers import blobs

TUTORIAL = Path(add_a_method.__file__)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_the_method_has_at_most_40_lines():
    code = TUTORIAL.read_text().partition("# The mathematics")[2].partition("# What it is good")[0]
    assert 20 < len([line for line in code.splitlines() if line.strip()]) <= 40


def test_a_ridge_of_zero_is_nmf():
    X, y = blobs(60, 3, 9, 0)
    options = {"n_init": 2, "random_state": 0}
    a, b = (
        RidgeNMF(3, ridge=0, **options).fit(X),
        WNMF(3, solver="multiplicative", **options).fit(X),
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.G_, b.G_)
    assert accuracy(y, a.labels_) == 1


def test_its_steps_descend_and_a_larger_ridge_means_smaller_factors():
    X, _ = blobs(60, 3, 9, 0)
    norms = []
    for ridge in (0.1, 10.0, 100.0):
        model = RidgeNMF(3, ridge=ridge, n_init=2, max_iter=100, random_state=0).fit(X)
        assert np.all(np.diff(model.history_["objective"]) <= 1e-9 * np.sum(X**2))
        norms.append(np.linalg.norm(model.G_ @ model.components_))
    assert norms == sorted(norms, reverse=True)


def test_it_is_an_estimator():
    model = RidgeNMF(n_init=1, max_iter=10)
    assert clone(model).get_params() == model.get_params()
    reason = {"check_clustering": "it feeds data of both signs"} | {
        f"check_sample_weight_equivalence_on_{kind}_data": "it shuffles one of the fits"
        for kind in ("dense", "sparse")
    }
    check_estimator(model, expected_failed_checks=reason, on_skip=None)


def test_it_runs(capsys):
    runpy.run_path(str(TUTORIAL), run_name="__main__")
    said = capsys.readouterr().out
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        *("ridge=0", "ridge=1", "ridge=100"),
    ]
    assert said.count("accuracy 0.") == 3
