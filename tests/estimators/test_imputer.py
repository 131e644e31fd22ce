"""NMFImputer: what is filled in, scikit-learn's conventions, and bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import klsnmf
from klsnmf import NMFImputer

QUICK = {"n_init": 2, "random_state": 0}

common_checks = estimator_checks.parametrize_with_checks([NMFImputer(n_init=1, max_iter=20)])
names, cases = common_checks.args


@pytest.mark.parametrize(names, list(cases), **common_checks.kwargs)
def test_common_checks(estimator, check):
    check(estimator)


def table(n=80, p=12, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)) @ rng.random((3, p)) + 0.02 * rng.random((n, p))
    return X, np.where(rng.random(X.shape) < share, np.nan, X)


def error(filled, X, seen):
    return np.sqrt(np.mean((filled - X)[np.isnan(seen)] ** 2))


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_it_is_better_than_the_nearest_rows_on_digits(share):
    X = load_digits().data[::2]
    gone = np.random.default_rng(0).random(X.shape) < share
    seen = np.where(gone, np.nan, X)
    other = min(
        error(KNNImputer(n_neighbors=neighbours).fit_transform(seen), X, seen)
        for neighbours in (5, 10, 20)
    )
    model = NMFImputer(**QUICK)
    mine = error(model.fit_transform(seen), X, seen)
    assert mine < other
    assert model.error_ == pytest.approx(mine, rel=0.15)
    assert model.shares_.sum() == pytest.approx(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_known_entries_stay_as_they_are(dtype):
    X, seen = table()
    seen = seen.astype(dtype)
    known = ~np.isnan(seen)
    model = NMFImputer(**QUICK)
    for filled in (model.fit_transform(seen), model.transform(seen)):
        assert filled.dtype == dtype
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[known], seen[known])
        assert error(filled, X, seen) < 0.2 * X.std()


def test_rows_of_the_fit_and_others():
    X, seen = table(n=160)
    model = NMFImputer(**QUICK)
    filled = model.fit_transform(seen[:80])
    np.testing.assert_allclose(model.transform(seen[:80]), filled, atol=0.2 * X.std())
    new = model.transform(seen[80:])
    assert error(new, X[80:], seen[80:]) < 0.25 * X.std()
    np.testing.assert_allclose(model.transform(seen[80:90]), new[:10], atol=0.01 * X.std())
    whole = X[:5]
    np.testing.assert_array_equal(model.transform(whole), whole)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_the_unit_does_not_matter(scale):
    _, seen = table()
    plain = NMFImputer(**QUICK).fit_transform(seen)
    model = NMFImputer(**QUICK)
    other = model.fit_transform(seen * scale)
    np.testing.assert_allclose(other / scale, plain, rtol=1e-3)
    assert np.isfinite(model.error_)


def test_entries_of_both_signs():
    X, seen = table()
    shift = X.mean(axis=0)
    filled = NMFImputer(**QUICK).fit_transform(seen - shift)
    assert error(filled, X - shift, seen) < 0.3 * X.std()
    pipeline = make_pipeline(StandardScaler(), NMFImputer(**QUICK))
    assert np.isfinite(pipeline.fit_transform(seen)).all()


@pytest.mark.parametrize("n_components", [1, 3, "auto"])
def test_few_entries(n_components):
    X = np.array([[1, 2, 4.0], [2, 4, np.nan], [3, np.nan, 12]])
    model = NMFImputer(n_components, **QUICK)
    filled = model.fit_transform(X)
    assert np.isfinite(filled).all()
    assert np.isnan(model.error_)
    assert model.n_components_ == (1 if n_components == "auto" else n_components)


def test_names_and_copies():
    pandas = pytest.importorskip("pandas")
    _, seen = table(p=4)
    frame = pandas.DataFrame(seen, columns=["a", "b", "c", "d"])
    model = NMFImputer(**QUICK).set_output(transform="pandas")
    filled = model.fit_transform(frame)
    assert list(filled.columns) == list(model.get_feature_names_out()) == ["a", "b", "c", "d"]
    assert frame.isna().to_numpy().sum() == np.isnan(seen).sum()
    again = pickle.loads(pickle.dumps(model)).transform(frame)
    np.testing.assert_array_equal(again, model.transform(frame))
    assert clone(model).get_params() == model.get_params()


def test_it_has_a_public_name():
    assert "NMFImputer" in klsnmf.__all__


# ---------------------------------------------------------------------- bad input


def test_a_feature_without_a_known_entry():
    _, seen = table()
    seen[:, 3] = np.nan
    with pytest.warns(UserWarning, match="no known entry and are filled with zeros: '3'"):
        filled = NMFImputer(**QUICK).fit_transform(seen)
    np.testing.assert_array_equal(filled[:, 3], 0)


def test_a_row_without_a_known_entry():
    _, seen = table()
    seen[5] = np.nan
    model = NMFImputer(**QUICK)
    with pytest.warns(UserWarning, match="1 of the rows have no known entry"):
        filled = model.fit_transform(seen)
    np.testing.assert_allclose(filled[5], np.nanmean(seen, axis=0), rtol=1e-5)
    with pytest.warns(UserWarning, match="1 of the rows have no known entry"):
        np.testing.assert_allclose(model.transform(seen[[5]])[0], filled[5])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((4, 3), np.nan), "no known entry"),
        (np.array([[1, np.inf], [2, 3.0]]), "infinity"),
        (np.array([["a", "b"], ["c", "d"]]), "could not convert"),
        (np.ones(5), "2D array"),
    ],
)
def test_tables_that_are_none(X, message):
    with pytest.raises(ValueError, match=message):
        NMFImputer().fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 99}, "must be at most 12"),
        ({"n_init": 0}, "n_init"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_parameters_that_are_none(params, message):
    with pytest.raises(ValueError, match=message):
        NMFImputer(**params).fit(table()[1])


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_table_of_one_number(value):
    X = np.full((30, 5), value)
    X[::3, 1] = np.nan
    np.testing.assert_allclose(NMFImputer(**QUICK).fit_transform(X), value, rtol=0.05)
