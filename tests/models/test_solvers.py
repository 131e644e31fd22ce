"""The faster solvers: each step against its naive twin, descent, and where they end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from klsnmf.grams.array import DenseGram
from klsnmf.grams.base import Data
from klsnmf.grams.graph import Graph
from klsnmf.models import convex, quadratic
from klsnmf.models.base import State
from klsnmf.models.convex import ConvexNMF
from klsnmf.models.extrapolated import Extrapolated
from klsnmf.models.gnmf import GraphNMF
from klsnmf.models.nmf import NMF, FilledNMF, Penalty, WeightedNMF
from klsnmf.models.onmf import GroupedONMF, grouped
from klsnmf.models.quadratic import sweeps_worth, swept, swept_by_row
from klsnmf.models.rmnmf import GroupedRobust
from klsnmf.models.semi_nmf import SemiNonnegative
from klsnmf.solve.loop import solve
from klsnmf.solve.solution import Status

from ..naive import family as naive_family
from ..naive import klsnmf as naive_kernel
from ..naive import solvers as naive
from .test_rules import falls, weights

seeds = st.integers(0, 2**32 - 1)
close = {"rtol": 1e-8, "atol": 1e-9}


def problem(seed, signed=False, n=None, p=None, k=None):
    rng = np.random.default_rng(seed)
    n, p, k = n or rng.integers(4, 25), p or rng.integers(3, 12), k or rng.integers(1, 5)
    X = rng.normal(size=(n, p)) if signed else rng.random((n, p)) * (rng.random((n, p)) < 0.8)
    X[0, 0] = 1
    return X, rng.random((n, k)), rng.random((p, k))


def graph_of(n, seed):
    A = weights(n, seed)
    return A, Graph(sparse.csr_array(A))


def known(X, M, **penalties):
    return WeightedNMF(Data(M * X), M, float(np.sum(M * X**2)), **penalties)


def filled(X, M, **penalties):
    return FilledNMF(Data(M * X), M, float(np.sum(M * X**2)), **penalties)


def gaps(shape, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 2, size=shape) * (rng.random(shape) < 0.7)


# ---------------------------------------------------------------------- naive twins


@given(seed=seeds, many=st.booleans(), bent=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_sweep_is_each_entry_at_its_best_in_turn(seed, many, bent):
    """With more columns than are renewed together, and more rows than a block has."""
    X, V, F = problem(seed, signed=True, k=15 if many else None)
    E = np.random.default_rng(seed).random(V.shape) if bent else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quadratic, "_FEWEST", 5)
        patch.setattr(quadratic, "_BLOCK", 5)
        found = swept(V.copy(), F.T @ F, X @ F, 1, E)
    np.testing.assert_allclose(found, naive.sweep(V, F.T @ F, X @ F, E), **close)


@given(seed=seeds, ridge=st.sampled_from([0.0, 0.3]))
@settings(max_examples=30, deadline=None)
def test_a_sweep_with_weights_is_each_entry_at_its_best_in_turn(seed, ridge):
    X, V, F = problem(seed)
    M = gaps(X.shape, seed)
    M[1] = 0
    found = swept_by_row(V.copy(), M, F, (M * X) @ F, 1, ridge)
    expected = naive.weighted_sweep(V, M, F, (M * X) @ F, ridge)
    rows = M.any(axis=1) if ridge == 0 else slice(None)  # nothing is known of the others
    np.testing.assert_allclose(found[rows], expected[rows], **close)


@given(seed=seeds, ridge=st.sampled_from([0.0, 0.3]))
@settings(max_examples=30, deadline=None)
def test_a_step_with_gaps_that_are_filled(seed, ridge):
    """A sweep as if what is not known were what the last factors say."""
    X, G, F = problem(seed)
    M = gaps(X.shape, seed)
    M[0, 0] = 2
    model = filled(X, M, on_G=Penalty(square=ridge), on_F=Penalty(square=ridge))
    assert sweeps_worth(model.X, G.shape[1]) == sweeps_worth(model.X.T, G.shape[1]) == 1
    top, I = M.max(), np.eye(G.shape[1])
    Z = M * X + (top - M) * (G @ F.T)
    found = model.first_step(G.copy(), F, (M * X) @ F)
    np.testing.assert_allclose(found, naive.sweep(G, top * F.T @ F + ridge * I, Z @ F), **close)
    found = model.second_step(F.copy(), G, (M * X).T @ G)
    np.testing.assert_allclose(found, naive.sweep(F, top * G.T @ G + ridge * I, Z.T @ G), **close)


@given(seed=seeds, alpha=st.sampled_from([0.01, 1.0, 100.0]))
@settings(max_examples=30, deadline=None)
def test_a_step_of_gnmf_in_G(seed, alpha):
    X, G, F = problem(seed)
    A, graph = graph_of(len(X), seed)
    model = GraphNMF(Data(X), graph, alpha)
    assert sweeps_worth(model.X, G.shape[1]) == 1
    found = model.first_step(G.copy(), F, X @ F)
    np.testing.assert_allclose(found, naive.graph_sweep(X, A, alpha, G, F), **close)


@given(seed=seeds, signed=st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_step_of_convex_nmf_in_W(seed, signed):
    X, _, _ = problem(seed, signed)
    K, rng = X @ X.T, np.random.default_rng(seed)
    W, G = rng.random((2, len(X), 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convex, "_STEPS", 1)
        found = ConvexNMF(DenseGram(K)).first_step(W.copy(), G, K @ G)
    expected = naive.convex_W(K, W, G, 1e-4 * W.max(axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    before, after = (naive_kernel.objective(K, V, G, 0) for V in (W, found))
    assert falls(after, before, np.trace(K))


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_groups_are_the_best_of_all(seed):
    X, V, P = problem(seed)
    P = P.T[: V.shape[1]]
    found = grouped(X @ P.T, np.einsum("kp,kp->k", P, P), np.sum(X**2, axis=1))
    assert np.all(np.count_nonzero(found, axis=1) <= 1)
    best = [naive.best_group(x, P) for x in X]
    used = np.unique([c for _, c, value in best if value > 0])
    if len(used) == len(P):  # no column begins again
        for row, (_, c, value) in zip(found, best, strict=True):
            assert np.argmax(row) == c or value == 0
        sizes = np.array([np.linalg.norm([v for _, c, v in best if c == j]) for j in range(len(P))])
        error = naive.grouped_objective(X, found * sizes, P)
        assert error == pytest.approx(sum(error for error, _, _ in best))


# ---------------------------------------------------------------------- descent


def solvers_of(seed):
    """Every solver with a random problem, and its start."""
    X, G, F = problem(seed, n=20, p=8, k=3)
    _, graph = graph_of(20, seed)
    M, rng = gaps(X.shape, seed), np.random.default_rng(seed)
    W, V = rng.random((2, 20, 3))
    signed = X - 0.4
    some = Penalty(0.05, 0.1)
    pair = {"G": G, "F": F}
    return {
        "nmf": (Extrapolated(NMF(Data(X))), pair),
        "nmf with penalties": (Extrapolated(NMF(Data(X), on_G=some, on_F=some)), pair),
        "sparse nmf": (Extrapolated(NMF(Data(sparse.csr_array(X)))), pair),
        "wnmf": (Extrapolated(known(X, M)), pair),
        "wnmf with penalties": (Extrapolated(known(X, M, on_G=some, on_F=some)), pair),
        "filled": (Extrapolated(filled(X, M)), pair),
        "filled with penalties": (Extrapolated(filled(X, M, on_G=some, on_F=some)), pair),
        "semi-nmf": (Extrapolated(SemiNonnegative(Data(signed))), pair),
        "gnmf": (Extrapolated(GraphNMF(Data(X), graph, 2.0)), pair),
        "cnmf": (Extrapolated(ConvexNMF(DenseGram(X @ X.T))), {"W": W, "G": V}),
        "signed cnmf": (
            Extrapolated(ConvexNMF(DenseGram(signed @ signed.T))),
            {"W": W, "G": V},
        ),
        "rmnmf": (GroupedRobust(Data(signed), graph, 0.3), None),
    }


@pytest.mark.parametrize("name", solvers_of(0))
@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_no_iteration_raises_the_objective(name, seed):
    model, start = solvers_of(seed)[name]
    if start is None:
        start = model.start(np.random.default_rng(seed).random((20, 3)), np.empty((8, 3)))
    (solution,) = solve([model], [start], max_iter=60, tol=0)
    rises = np.diff(solution.history["objective"])
    assert rises.max() <= 1e-11 * model.scale
    assert all(np.isfinite(V).all() for V in solution.factors.values())


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_exact_steps_of_onmf_descend_and_keep_the_constraints(seed):
    X, G, F = problem(seed, n=20, p=9, k=3)
    model = GroupedONMF(Data(X))
    (solution,) = solve([model], [model.start(G, F)], max_iter=30, tol=0)
    s = State(**solution.factors)
    for V in (s.G, s.F):
        assert V.min() >= 0
        used = V.any(axis=0)
        np.testing.assert_allclose((V.T @ V)[used][:, used], np.eye(used.sum()), atol=1e-12)
    assert s.S.min() >= 0
    objective = solution.history["objective"]
    assert objective[-1] == pytest.approx(naive_family.onmf_objective(X, s.G, s.F, s.S), abs=1e-9)
    assert np.diff(objective[1:]).max() <= 1e-9 * np.sum(X**2)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_residual_of_onmf_is_what_its_next_steps_gain(seed):
    """Every prototype is tried for every sample, and for every feature."""
    X, G, F = problem(seed, n=20, p=9, k=3)
    model = GroupedONMF(Data(X))
    for iterations in (1, 2, 40):
        (solution,) = solve([model], [model.start(G, F)], max_iter=iterations, tol=0)
        s = State(**solution.factors)
        s.XF, s.XtG = X @ s.F, X.T @ s.G
        gain = 0.0
        for rows, V, prototypes in ((X, s.G, s.S @ s.F.T), (X.T, s.F, (s.G @ s.S).T)):
            best = sum(naive.best_group(row, prototypes)[0] for row in rows)
            gain += naive.grouped_objective(rows, V, prototypes) - best
        assert model.residual(s) ** 2 * np.sum(X**2) == pytest.approx(gain, abs=1e-9)


@given(seed=seeds, alpha=st.sampled_from([0.0, 0.1, 10.0]))
@settings(max_examples=15, deadline=None)
def test_grouped_rmnmf_ends_with_its_constraints_and_its_objective(seed, alpha):
    X, G, _ = problem(seed, signed=True, n=20, p=6, k=3)
    A, graph = graph_of(20, seed)
    model = GroupedRobust(Data(X), graph, alpha)
    (solution,) = solve([model], [model.start(G, np.empty((6, 3)))], max_iter=50, tol=0)
    s = State(**solution.factors)
    assert s.G.min() >= 0
    assert np.all(np.count_nonzero(s.G, axis=1) <= 1)
    expected = naive_family.rmnmf_objective(X, A, alpha, s.G, s.F)
    assert solution.objective == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------------- where they end


@pytest.mark.parametrize(
    "name",
    [
        *("nmf", "sparse nmf", "wnmf", "filled"),
        *("nmf with penalties", "wnmf with penalties", "filled with penalties"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_that_has_converged_solves_its_problem(name, seed):
    """The projected gradient, written out, is zero but for the tolerance."""
    X, _, _ = problem(seed, n=20, p=8, k=3)
    model, start = solvers_of(seed)[name]
    (solution,) = solve([model], [start], max_iter=5000, tol=1e-7)
    assert solution.status is Status.CONVERGED
    assert solution.residual <= 1e-7
    s = State(**solution.factors)
    M = gaps(X.shape, seed) if "wnmf" in name or "filled" in name else np.ones_like(X)
    penalty = Penalty(0.05, 0.1) if "penalties" in name else Penalty()
    slopes = naive.nmf_slopes(X, M, s.G, s.F)
    for V, slope in zip((s.G, s.F), slopes, strict=True):
        whole = slope + penalty.linear + penalty.square * V
        assert np.abs(naive.projected_gradient(V, whole)).max() < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_convex_nmf_that_has_converged_solves_its_problem(seed):
    model, start = solvers_of(seed)["cnmf"]
    (solution,) = solve([model], [start], max_iter=5000, tol=1e-7)
    assert solution.status is Status.CONVERGED
    K, s = model.problem.K.K, State(**solution.factors)
    in_W = K @ s.W @ s.G.T @ s.G - K @ s.G
    in_G = s.G @ s.W.T @ K @ s.W - K @ s.W
    for V, slope in ((s.W, in_W), (s.G, in_G)):
        size = np.abs(slope).max() + np.abs(K @ s.W).max()
        assert np.abs(naive.projected_gradient(V, slope)).max() < 1e-3 * size


@given(seed=seeds, size=st.floats(-8, 8))
@settings(max_examples=25, deadline=None)
def test_the_residual_knows_no_scale(seed, size):
    """Neither that of X, nor that of columns of G scaled up and of F scaled down."""
    X, G, F = problem(seed)
    rng = np.random.default_rng(seed)
    lengths = np.exp(rng.normal(size=G.shape[1]))
    found = []
    for X_, G_, F_ in (
        (X, G, F),
        (10**size * X, G, 10**size * F),
        (X, G * lengths, F / lengths),
    ):
        model = NMF(Data(X_))
        gain = model.gain(G_, F_, X_.T @ G_, X_ @ F_)
        found.append(gain / model.scale)
    np.testing.assert_allclose(found, found[0], rtol=1e-6, atol=1e-20)


def test_the_residual_is_zero_at_a_solution_and_nowhere_else():
    G, F = np.eye(6, 2), np.eye(5, 2)
    X = G @ F.T
    model = NMF(Data(X))
    assert model.gain(G, F, X.T @ G, X @ F) == 0
    assert model.gain(G, 2 * F, X.T @ G, X @ (2 * F)) > 0.1


def test_a_start_of_any_size_loses_no_column():
    """The trap: from a start that is too large the first columns became zero, and stayed so."""
    X, G, F = problem(0, n=60, p=30, k=6)
    model = Extrapolated(NMF(Data(X)))
    ends = []
    for size in (1.0, 30.0, 1e-6):
        (solution,) = solve([model], [{"G": size * G, "F": F}], max_iter=50, tol=0)
        assert solution.factors["G"].any(axis=0).all()
        ends.append(solution.objective)
    np.testing.assert_allclose(ends, ends[0], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in solvers_of(0) if name != "rmnmf"])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_a_start_gets_the_size_that_fits_best(name, seed):
    """Of its first factor: a little more or less is higher."""
    solver, start = solvers_of(seed)[name]
    problem = solver.problem
    first, second = (start[name] for name in problem.factors)
    operators = {factor: one for one, factor in solver.products().values()}
    of_second = operators[problem.factors[1]].dot(second)
    curve = np.vdot(first, problem.curved(first, second))
    best = np.vdot(first, problem.pull(of_second)) / curve
    heights = [
        problem.objective(V, second, operators[problem.factors[0]].dot(V))
        for V in (size * best * first for size in (0.99, 1, 1.01))
    ]
    assert heights[1] == min(heights)


def test_a_column_that_nothing_depends_on_stays():
    V = np.ones((4, 2))
    A, B = np.diag([1.0, 0.0]), np.zeros((4, 2))
    np.testing.assert_array_equal(swept(V.copy(), A, B, 3), [[0, 1]] * 4)
