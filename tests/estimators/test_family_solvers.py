"""The family with its faster solvers: where fits end, and what users ask of such tools."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import klsnmf
from klsnmf import CNMF, GNMF, KNMF, ONMF, RMNMF, WNMF, SemiNMF, rank_evidence
from klsnmf.models import quadratic

from ..helpers import blobs

FACTORIZATIONS = [WNMF, ONMF, SemiNMF, GNMF, RMNMF]
WEIGHABLE = [WNMF, ONMF, SemiNMF]


def planted(n=60, p=15, k=3, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    return rng.random((n, k)) @ rng.random((k, p)) + noise * rng.random((n, p))


# ---------------------------------------------------------------------- where fits end


@pytest.mark.parametrize("name", ["WNMF", "ONMF", "SemiNMF", "GNMF", "RMNMF", "CNMF", "KNMF"])
def test_every_method_converges_on_digits(name):
    X, _ = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = getattr(klsnmf, name)(10, n_init=2, random_state=0).fit(X[::3])
    assert model.status_ == "converged"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [WNMF, SemiNMF, GNMF, CNMF, KNMF])
def test_a_fit_ends_below_many_multiplicative_steps(method):
    """From the same start, of many: the two may come to different valleys from one of them."""
    X, _ = load_digits(return_X_y=True)
    X = X[:150]
    options = {"random_state": 0, "n_init": 5}
    fast = method(5, **options).fit(X)
    slow = method(5, solver="multiplicative", max_iter=1000, tol=0, **options).fit(X)
    assert fast.objective_ <= 1.002 * slow.objective_


def test_rmnmf_ends_lower_than_the_augmented_lagrangian():
    X, _ = load_digits(return_X_y=True)
    X = X[:200]
    options = {"random_state": 0, "n_init": 5}
    exact = RMNMF(5, **options).fit(X)
    split = RMNMF(5, solver="multiplicative", **options).fit(X)
    assert split.status_ == exact.status_ == "converged"
    assert exact.objective_ <= 1.005 * split.objective_


@pytest.mark.parametrize("method", [WNMF, SemiNMF, GNMF])
def test_the_same_fit_in_other_units(method):
    X = planted()
    a = method(3, random_state=0, graph_weight=0.5).fit(X) if method is GNMF else None
    a = a or method(3, random_state=0).fit(X)
    options = {"graph_weight": 0.5} if method is GNMF else {}
    b = method(3, random_state=0, **options).fit(1024 * X)
    assert a.n_iter_ == b.n_iter_
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.objective_ == pytest.approx(1024**2 * a.objective_, rel=1e-6)


@pytest.mark.parametrize("method", [*FACTORIZATIONS, CNMF, KNMF])
def test_the_verdict_names_the_residual(method):
    model = method(3, random_state=0).fit(planted())
    assert model.verdict_.startswith("converged: its residual, ")


# ---------------------------------------------------------------------- starts


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", FACTORIZATIONS)
@pytest.mark.parametrize("init", ["nndsvd", "auto"])
def test_starts_from_singular_vectors(init, method, form):
    X, y = blobs(60, 3, 8, 0)
    model = method(3, init=init, n_init=4, random_state=0).fit(form(X))
    assert np.isfinite(model.G_).all()
    assert model.labels_.shape == y.shape


def test_auto_is_no_worse_than_its_own_starts():
    X = planted(k=5, noise=0.3)
    ends = {
        init: WNMF(5, init=init, n_init=1, random_state=0, tol=1e-7).fit(X).objective_
        for init in ("nndsvd", "auto")
    }
    assert ends["auto"] == pytest.approx(ends["nndsvd"])


def test_a_fit_goes_on_from_another():
    X = planted()
    first = WNMF(3, random_state=0, tol=1e-6).fit(X)
    again = WNMF(3, init=(first.G_, first.components_.T), tol=1e-5).fit(X)
    assert again.n_iter_ <= 5
    assert again.objective_ <= first.objective_ * (1 + 1e-9)


# ---------------------------------------------------------------------- weights of samples


@pytest.mark.parametrize("solver", ["auto", "multiplicative"])
@pytest.mark.parametrize("method", WEIGHABLE)
def test_a_weight_of_two_is_the_sample_twice(method, solver, monkeypatch):
    # How many sweeps are worth a product depends on the number of samples; the end does not.
    monkeypatch.setattr(quadratic, "_MOST", 1)
    X, rng = planted(), np.random.default_rng(0)
    weight = rng.integers(1, 4, len(X))
    twice = np.repeat(np.arange(len(X)), weight)
    onehot = np.eye(3)[KMeans(3, n_init=1, random_state=0).fit(X).labels_]
    G, F = onehot + 0.2, X.T @ onehot / onehot.sum(axis=0)  # no column is empty at any time
    options = {"tol": 0, "max_iter": 15, "solver": solver}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a = method(3, init=(G, F), **options).fit(X, sample_weight=weight)
        b = method(3, init=(G[twice], F), **options).fit(X[twice])
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
    np.testing.assert_allclose(a.inverse_transform(a.G_)[twice], b.inverse_transform(b.G_))
    np.testing.assert_array_equal(a.labels_[twice], b.labels_)
    assert a.reconstruction_err_ == pytest.approx(b.reconstruction_err_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", WEIGHABLE)
def test_a_sample_without_weight_has_no_part(method, form):
    X, rng = planted(noise=0.2), np.random.default_rng(0)
    there = rng.random(len(X)) < 0.8
    G, F = rng.random((len(X), 3)), rng.random((X.shape[1], 3))
    a = method(3, init=(G, F), tol=1e-7).fit(form(X), sample_weight=there.astype(float))
    b = method(3, init=(G[there], F), tol=1e-7).fit(form(X[there]))
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)
    found = a.inverse_transform(a.G_)
    np.testing.assert_allclose(
        found[~there], b.inverse_transform(b.transform(X[~there])), atol=0.02
    )
    assert a.labels_.shape == (len(X),)


def test_weights_of_samples_and_of_entries_multiply():
    X, rng = planted(), np.random.default_rng(0)
    M, weight = rng.random(X.shape) + 0.1, rng.random(len(X)) + 0.5
    G, F = rng.random((len(X), 3)), rng.random((X.shape[1], 3))
    options = {"init": (G, F), "tol": 0, "max_iter": 10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a = WNMF(3, **options).fit(X, weights=M, sample_weight=weight)
        b = WNMF(3, **options).fit(X, weights=M * weight[:, None])
    assert a.objective_ == pytest.approx(b.objective_)
    assert a.reconstruction_err_ == pytest.approx(np.sqrt(a.objective_))


@pytest.mark.parametrize("method", WEIGHABLE)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(60, -1.0), "negative entries"),
        (np.zeros(60), "zero everywhere"),
        (np.ones(59), "must be \\(60,\\)"),
        (np.full(60, np.inf), "infinity"),
        (np.full(60, np.nan), "NaN"),
    ],
)
def test_weights_that_are_none(method, weight, message):
    with pytest.raises(ValueError, match=message):
        method(3).fit(planted(), sample_weight=weight)


# ---------------------------------------------------------------------- penalties


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_penalties_are_those_of_scikit_learn(l1_ratio):
    X, rng = planted(), np.random.default_rng(0)
    (n, p), k = X.shape, 3
    G, F = rng.random((n, k)), rng.random((p, k))
    alphas = {"alpha_W": 0.0005, "alpha_H": 0.001, "l1_ratio": l1_ratio}
    theirs = decomposition.NMF(k, init="custom", tol=1e-10, max_iter=10_000, **alphas)
    W = theirs.fit_transform(X, W=G.copy(), H=F.T.copy())
    H = theirs.components_
    value = np.sum((X - W @ H) ** 2)
    for V, alpha, size in ((W, 0.0005, p), (H, 0.001, n)):
        value += alpha * size * (2 * l1_ratio * V.sum() + (1 - l1_ratio) * np.sum(V**2))
    for more in ({}, {"weights": np.ones_like(X)}):
        mine = WNMF(k, init=(G, F), tol=1e-8, max_iter=3000, **alphas).fit(X, **more)
        assert mine.objective_ == pytest.approx(value, rel=1e-4)
        error = np.linalg.norm(X - mine.inverse_transform(mine.G_))
        assert mine.reconstruction_err_ == pytest.approx(error)


def test_a_penalty_of_zero_is_none():
    X = planted()
    a = WNMF(3, random_state=0).fit(X)
    b = WNMF(3, random_state=0, alpha_W=0.0, alpha_H=0.0, l1_ratio=0.7).fit(X)
    np.testing.assert_array_equal(a.G_, b.G_)


@pytest.mark.parametrize(
    "params", [{"alpha_W": -1.0}, {"alpha_H": -0.1}, {"l1_ratio": 2.0}, {"alpha_H": "other"}]
)
def test_penalties_that_are_none(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        WNMF(3, **params).fit(planted())


def test_multiplicative_rules_know_no_penalty():
    with pytest.raises(ValueError, match="have no penalties"):
        WNMF(3, alpha_W=0.1, solver="multiplicative").fit(planted())


# ---------------------------------------------------------------------- samples from coefficients


@pytest.mark.parametrize("method", FACTORIZATIONS)
def test_samples_from_coefficients(method):
    X = planted()
    model = method(3, random_state=0).fit(X)
    back = model.inverse_transform(model.G_)
    np.testing.assert_allclose(back, model.G_ @ model.components_)
    assert np.linalg.norm(X - back) == pytest.approx(model.reconstruction_err_, rel=1e-6)
    with pytest.raises(ValueError, match="2 columns, and there are 3 components"):
        model.inverse_transform(model.G_[:, :2])


def test_components_as_a_frame():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(planted(p=4), columns=["a", "b", "c", "d"])
    frame = WNMF(3, random_state=0).fit(X).components_frame()
    assert list(frame.columns) == ["a", "b", "c", "d"]
    assert list(frame.index) == ["wnmf0", "wnmf1", "wnmf2"]


# ---------------------------------------------------------------------- how many components


@pytest.mark.parametrize("seed", range(2))
def test_the_rank_of_planted_data(seed):
    X = planted(n=80, p=30, k=4, seed=seed, noise=0.02)
    evidence = rank_evidence(X, range(2, 7), random_state=seed)
    assert evidence.ranks == (2, 3, 4, 5, 6)
    assert evidence.errors.shape == (3, 5)
    assert evidence.chosen >= 4
    assert evidence.mean[:2].min() > 2 * evidence.mean[2:].min()
    assert "chosen" in str(evidence)


@pytest.mark.parametrize(
    ("ranks", "message"), [([], "empty"), ([0, 2], "between 1 and"), ([2, 99], "between 1 and")]
)
def test_ranks_that_are_none(ranks, message):
    with pytest.raises(ValueError, match=message):
        rank_evidence(planted(), ranks)
