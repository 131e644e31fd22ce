"""Bad input into every method: an error with its remedy, or a result and a warning."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from klsnmf import (
    CNMF,
    GLSNMF,
    GNMF,
    KLSNMF,
    KNMF,
    LSNMF,
    METHODS,
    ONMF,
    RMNMF,
    WNMF,
    KernelKMeans,
    SemiNMF,
    prepare,
    rank_evidence,
)
from klsnmf.estimators.notes import FitWarning, MoreThanFeatures
from klsnmf.io.model_file import load, save

from ..helpers import blobs

OURS = {name: method for name, method in METHODS.items() if name not in ("kmeans", "spectral")}
FACTORS = (WNMF, ONMF, SemiNMF, GNMF, RMNMF)
BY_KERNEL = (KLSNMF, LSNMF, GLSNMF, CNMF, KNMF, KernelKMeans)
QUICK = {"n_init": 1, "random_state": 0}

each = pytest.mark.parametrize("method", OURS.values(), ids=OURS.keys())


def refused(model, message, X, **more):
    """The fit is refused with this message, and leaves nothing behind."""
    with pytest.raises(ValueError, match=message):
        model.fit(X, **more)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


# ---------------------------------------------------------------------- ranks


def notes_of_a_fit(model, X):
    """What was noted of too many components; warnings and notes must say the same."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    noted = [note for note in model.notes_ if isinstance(note, MoreThanFeatures)]
    warned = [w.message.note for w in caught if isinstance(w.message, FitWarning)]
    assert [note for note in warned if isinstance(note, MoreThanFeatures)] == noted
    return noted


BOUND = [WNMF, ONMF, SemiNMF, GNMF, CNMF]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", BOUND)
def test_more_components_than_features_are_told(method, form, tmp_path):
    X, _ = blobs(40, 3, 4, 0)
    model = method(6, **QUICK)
    assert notes_of_a_fit(model, form(X)) == [MoreThanFeatures(6, 4)]
    assert len(model.labels_) == 40
    assert np.isfinite(model.G_).all()
    assert np.isfinite(model.components_).all()
    save(model, tmp_path / "model.npz")
    assert load(tmp_path / "model.npz")[0].notes_ == model.notes_
    assert notes_of_a_fit(method(4, **QUICK), form(X)) == []


@pytest.mark.parametrize("init", ["kmeans", "random", "nndsvd", "auto"])
@pytest.mark.parametrize("method", FACTORS)
def test_more_components_than_features_from_every_start(method, init):
    X, _ = blobs(40, 3, 4, 0)
    noted = notes_of_a_fit(method(6, init=init, **QUICK), X)
    assert noted == ([] if method is RMNMF else [MoreThanFeatures(6, 4)])


@pytest.mark.parametrize("method", [KLSNMF, LSNMF, KNMF, KernelKMeans, RMNMF])
def test_clusters_may_be_more_than_features(method):
    X = np.random.default_rng(0).uniform(size=(60, 2))
    assert notes_of_a_fit(method(6, **QUICK), X) == []


def test_free_factors_are_those_of_cnmf():
    X, _ = blobs(40, 3, 4, 0)
    free = LSNMF(6, orthogonal=False, **QUICK)
    assert notes_of_a_fit(free, X) == [MoreThanFeatures(6, 4)]


def test_the_note_says_what_to_do():
    note = MoreThanFeatures(6, 4)
    assert str(note).startswith("n_clusters=6 is more than the 4 features of X")
    assert "lower n_clusters, or use KLSNMF" in str(note)
    assert "ask for fewer with -k, or use KLSNMF" in note.in_command


def test_ranks_beyond_the_features_are_not_tried():
    X, _ = blobs(40, 3, 4, 0)
    with pytest.raises(ValueError, match="must be between 1 and 4"):
        rank_evidence(X, [3, 6])


@each
def test_more_clusters_than_samples_are_refused(method):
    X, _ = blobs(5, 2, 30, 0)
    refused(method(6, **QUICK), "n_samples=5 should be >= n_clusters=6", X)


# ---------------------------------------------------------------------- starts


@pytest.mark.parametrize("method", FACTORS)
@pytest.mark.parametrize(
    ("init", "message"),
    [
        ((np.ones((20, 3)),), r"init must be a pair \(G0, F0\)"),
        ((np.ones((20, 2)), np.ones((6, 3))), r"G0 of init has shape \(20, 2\).*\(20, 3\)"),
        ((np.ones((20, 3)), np.ones((3, 6))), r"F0 of init has shape \(3, 6\).*\(6, 3\)"),
        ((np.ones(20), np.ones((6, 3))), r"Expected 2D array"),
        ((-np.ones((20, 3)), np.ones((6, 3))), r"G0 of init has negative entries"),
        ((np.full((20, 3), np.nan), np.ones((6, 3))), r"G0 of init contains NaN"),
        ((np.zeros((20, 3)), np.ones((6, 3))), r"G0 of init is zero everywhere"),
    ],
)
def test_starts_of_factors_that_are_none(method, init, message):
    X, _ = blobs(20, 3, 6, 0)
    refused(method(3, init=init), message, X)


@pytest.mark.parametrize("method", BY_KERNEL)
@pytest.mark.parametrize(
    ("init", "message"),
    [
        ((np.ones((20, 3)),), r"init must be a pair \(W0, G0\)"),
        ((np.ones((20, 2)), np.ones((20, 3))), r"W0 of init has shape \(20, 2\).*\(20, 3\)"),
        ((np.ones((20, 3)), np.ones((3, 20))), r"G0 of init has shape \(3, 20\).*\(20, 3\)"),
        ((np.ones((20, 3)), -np.ones((20, 3))), r"G0 of init has negative entries"),
        ((np.full((20, 3), np.inf), np.ones((20, 3))), r"W0 of init contains infinity"),
        ((np.zeros((20, 3)), np.ones((20, 3))), r"W0 of init is zero everywhere"),
    ],
)
def test_starts_of_a_kernel_that_are_none(method, init, message):
    X, _ = blobs(20, 3, 6, 0)
    refused(method(3, init=init), message, X)


# ---------------------------------------------------------------------- gaps


@each
def test_a_column_without_any_known_entry(method):
    X, _ = blobs(20, 3, 6, 0)
    X[:, 2] = np.nan
    if method is not WNMF:
        refused(
            method(3, **QUICK), f"{method.__name__} does not accept missing values.*use WNMF", X
        )
        return
    with pytest.warns(UserWarning, match="1 of the features in X have no known entry"):
        model = WNMF(3, **QUICK).fit(X)
    assert not model.components_[:, 2].any()


# ---------------------------------------------------------------------- weights and penalties


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-1.0, np.ones(19)], "sample_weight has negative entries, the smallest is -1"),
        (np.zeros(20), "sample_weight is zero everywhere"),
        (np.ones(19), r"sample_weight has shape \(19,\); it must be \(20,\)"),
        (np.ones((20, 1)), r"sample_weight has shape \(20, 1\); it must be \(20,\)"),
        (np.r_[np.inf, np.ones(19)], "sample_weight contains infinity"),
        (np.r_[np.nan, np.ones(19)], "sample_weight contains NaN"),
        (np.full(20, 1e100), r"sample_weight has entries up to 1e\+100; divide it by a constant"),
        (np.full(20, 1e-100), "sample_weight has no entry above 1e-100; multiply it by a constant"),
        (np.r_[1.0, 1.0, np.zeros(18)], "n_samples=2 should be >= n_clusters=3"),
    ],
)
@each
def test_weights_of_samples_that_are_none(method, weight, message, form):
    X, _ = blobs(20, 3, 6, 0)
    refused(method(3, **QUICK), message, form(X), sample_weight=weight)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "much"])
@pytest.mark.parametrize("name", ["alpha_W", "alpha_H", "l1_ratio"])
def test_penalties_that_are_none(name, value):
    X, _ = blobs(20, 3, 6, 0)
    refused(WNMF(3, **{name: value}), f"'{name}' parameter of WNMF", X)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "much"])
@pytest.mark.parametrize("method", [GNMF, RMNMF, KLSNMF, LSNMF, GLSNMF])
def test_weights_of_graphs_that_are_none(method, value):
    X, _ = blobs(20, 3, 6, 0)
    refused(method(3, graph_weight=value), f"'graph_weight' parameter of {method.__name__}", X)


def test_weights_of_entries_are_finite():
    X, _ = blobs(20, 3, 6, 0)
    weights = np.full((20, 6), np.inf)
    refused(WNMF(3, **QUICK), "weights contains infinity", X, weights=weights)


@each
def test_only_wnmf_has_weights_of_entries(method):
    """Others name the parameter that they do not have, instead of ignoring it."""
    if method is WNMF:
        return
    X, _ = blobs(20, 3, 6, 0)
    with pytest.raises(TypeError, match=f"{method.__name__}.fit has no parameter 'weights'"):
        method(3, **QUICK).fit(X, weights=np.ones_like(X))


@pytest.mark.parametrize("name", ["alpha_W", "alpha_H", "l1_ratio"])
@each
def test_only_wnmf_has_penalties(method, name):
    if method is WNMF:
        return
    with pytest.raises(TypeError, match=name):
        method(3, **{name: 0.1})


@pytest.mark.parametrize("kind", [KLSNMF, WNMF])
def test_columns_of_text_are_named_with_a_remedy(kind, capsys):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"cell": list("abcdefgh"), "g": np.arange(8.0), "h": np.arange(8.0)})
    with pytest.raises(ValueError, match=r"'cell'.*klsnmf\.prepare"):
        kind(2).fit(frame)
    prepare(frame, verbose=True)
    assert "'cell'" in capsys.readouterr().out
