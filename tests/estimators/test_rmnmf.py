"""RMNMF: its short cuts against the naive twin, its constraints, and its outliers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klsnmf import RMNMF, SemiNMF
from klsnmf.grams.base import Data
from klsnmf.metrics import accuracy
from klsnmf.models.base import State
from klsnmf.models.rmnmf import RobustNMF, polar
from klsnmf.solve.loop import solve
from klsnmf.solve.solution import Status

from ..helpers import blobs
from ..naive import family as naive
from .test_family import graph_of, run

# What a fit of few iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

seeds = st.integers(0, 2**32 - 1)


# ---------------------------------------------------------------------- the naive twin


def samples(case):
    """Small samples and the clusters to start from, some of them awkward."""
    X, y = blobs(20, 3, 6, 0)
    X = X / 10 - 0.2
    if case == "zero rows":
        X[[0, 7]] = 0
    elif case == "duplicates":
        X[10:] = X[:10]
        y[10:] = y[:10]
    elif case == "identical clusters":  # errors of length zero, or nearly
        X = np.eye(3, 6)[y]
    elif case == "one cluster":
        y[:] = 0
    elif case == "one feature":
        X = X[:, :1]
    elif case == "more features":
        X = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(30, 6)))[0].T
    elif case == "an outlier":
        X[3] *= 1e3
    return X, y


CASES = ["plain", "zero rows", "duplicates", "identical clusters", "one cluster", "one feature"]
CASES += ["more features", "an outlier"]


@pytest.mark.parametrize("iterations", [1, 2, 30])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("case", CASES)
def test_rmnmf(case, alpha, iterations):
    X, y = samples(case)
    k = y.max() + 1
    A, graph = graph_of(20, 0)
    model = RobustNMF(Data(X), graph, alpha)
    solution = run(model, np.eye(k)[y], np.ones((X.shape[1], k)), max_iter=iterations)
    truth = naive.rmnmf(X, A, alpha, y, k, iterations)
    s = State(**solution.factors)
    found = solution.factors | {
        "E": model.E(s),
        "Lambda": s.last_mu * (s.D + s.R),
        "residual": model.constraint_residual(s),
    }
    for name, value in truth.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-9, err_msg=name)
    objective = naive.rmnmf_objective(X, A, alpha, truth["G"], truth["F"])
    assert solution.objective == pytest.approx(objective, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_the_residual_is_the_same_in_blocks_of_any_size(rows, monkeypatch):
    X, y = samples("plain")
    model = RobustNMF(Data(X), graph_of(20, 0)[1], 0.1)
    s = State(**run(model, np.eye(3)[y], np.ones((6, 3)), max_iter=5).factors)
    monkeypatch.setattr("klsnmf.models.rmnmf.BLOCK", 6 * (rows - 1))
    error = np.linalg.norm(X - s.G @ s.F.T - model.E(s)) / np.linalg.norm(X)
    split = np.linalg.norm(s.G - s.Z) / np.sqrt(3)
    assert model.constraint_residual(s) == pytest.approx(max(error, split))


def test_the_large_factors_are_renewed_in_place():
    X, y = samples("plain")
    model = RobustNMF(Data(X), graph_of(20, 0)[1], 0.1)
    solution = run(model, np.eye(3)[y], np.ones((6, 3)), max_iter=4)
    large = {name for name, value in solution.factors.items() if value.shape == X.shape}
    assert large == {"Q", "D", "R"}
    followed = {f"change_{name}" for name in set(model.factors) - large}
    assert set(solution.history) == {"objective"} | followed


def test_a_start_with_a_cluster_that_has_no_samples():
    X, y = samples("plain")
    model = RobustNMF(Data(X), graph_of(20, 0)[1], 0.1)
    factors = run(model, np.eye(4)[y], np.ones((6, 4)), max_iter=20).factors
    np.testing.assert_allclose(factors["G"].T @ factors["G"], np.eye(4), atol=1e-13)
    assert all(np.isfinite(value).all() for value in factors.values())


# ---------------------------------------------------------------------- the orthonormal factor


@given(seed=seeds, digits=st.floats(0, 16), k=st.integers(1, 8), size=st.floats(-100, 100))
@settings(max_examples=100, deadline=None)
def test_polar_of_any_condition(seed, digits, k, size):
    """Orthonormal to rounding; and nearest: MᵀG is symmetric and has no negative eigenvalue."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(k + rng.integers(0, 30), k)))[0]
    V = np.linalg.qr(rng.normal(size=(k, k)))[0]
    values = np.logspace(0, -digits, k)
    M = (U * values) @ V.T
    G = polar(10**size * M)
    np.testing.assert_allclose(G.T @ G, np.eye(k), atol=1e-13)
    H = M.T @ G
    np.testing.assert_allclose(H, H.T, atol=1e-11)
    assert np.linalg.eigvalsh((H + H.T) / 2).min() > -1e-11
    if digits < 6:
        np.testing.assert_allclose(G, U @ V.T, atol=1e-9)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_polar_of_too_low_a_rank_is_orthonormal(rank):
    rng = np.random.default_rng(rank)
    M = rng.normal(size=(12, rank)) @ rng.normal(size=(rank, 3))
    G = polar(M)
    np.testing.assert_allclose(G.T @ G, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(np.trace(M.T @ G), np.linalg.svd(M)[1].sum(), atol=1e-12)


# ---------------------------------------------------------------------- whole fits


@pytest.mark.parametrize("alpha", [0.001, 0.1, 10.0])
def test_rmnmf_ends_with_its_constraints_met(alpha):
    X, y = blobs(60, 3, 9, 0)
    X = X / np.linalg.norm(X, axis=1).mean()
    _, graph = graph_of(60, 0)
    model = RobustNMF(Data(X), graph, alpha)
    (solution,) = solve([model], [model.start(np.eye(3)[y], X[:0].T)], max_iter=1500, tol=1e-4)
    assert solution.status is Status.CONVERGED
    assert model.constraint_residual(State(**solution.factors)) < 1e-6
    Z = solution.factors["Z"]
    assert Z.min() >= 0
    np.testing.assert_allclose(Z.T @ Z, np.eye(3), atol=1e-5)


def test_rmnmf_of_fewer_samples_than_features_is_that_of_their_coordinates():
    rng = np.random.default_rng(0)
    X, _ = blobs(20, 3, 6, 0)
    basis = np.linalg.qr(rng.normal(size=(50, 6)))[0]
    options = {"random_state": 0, "n_init": 1, "max_iter": 60, "tol": 0}
    a, b = RMNMF(3, **options).fit(X), RMNMF(3, **options).fit(X @ basis.T)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.G_, b.G_, atol=1e-8)
    np.testing.assert_allclose(a.components_ @ basis.T, b.components_, atol=1e-8)
    assert a.objective_ == pytest.approx(b.objective_)


@pytest.mark.parametrize("seed", range(2))
def test_rmnmf_keeps_the_clusters_that_outliers_take_from_semi_nmf(seed):
    rng = np.random.default_rng(seed)
    X, y = blobs(100, 4, 12, seed)
    rows = rng.choice(100, size=5, replace=False)
    X[rows] = 30 * rng.normal(size=(5, 12))
    clean = np.setdiff1d(np.arange(100), rows)
    given = np.eye(4)[y] + 0.2, np.ones((12, 4))  # the same start for both, and a perfect one
    robust = RMNMF(4, init=given).fit(X)
    squares = SemiNMF(4, init=given, max_iter=1500).fit(X)
    assert accuracy(y[clean], robust.labels_[clean]) > 0.98
    assert accuracy(y[clean], squares.labels_[clean]) < 0.7
    assert accuracy(y[clean], RMNMF(4, random_state=seed).fit_predict(X)[clean]) > 0.98
