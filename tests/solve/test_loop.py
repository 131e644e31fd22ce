"""The loop: batches, stopping, leaving, verdicts."""

from copy import deepcopy
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klsnmf.estimators.notes import verdict_of
from klsnmf.grams.array import DenseGram
from klsnmf.models.base import PATIENCE
from klsnmf.models.ls_nmf import EXACT, FREE, PRINTED, SYMMETRIC, LocalSimilarity
from klsnmf.solve.loop import Keeper, solve
from klsnmf.solve.solution import Status, Trouble, factors_of_labels
from klsnmf.solve.starts import random_factors

from ..naive import klsnmf as naive

printed, symmetric, free, exact = (
    partial(LocalSimilarity, lam=0.0, step=step) for step in (PRINTED, SYMMETRIC, FREE, EXACT)
)
MODELS = [printed, symmetric, free, exact]


def kernel(seed, n=30):
    return DenseGram(naive.rbf(np.random.default_rng(seed).random((n, 3)), 0.4))


def some_starts(n, k, count, seed=0):
    rng = np.random.RandomState(seed)
    return [dict(zip("WG", random_factors(n, k, rng), strict=True)) for _ in range(count)]


class Kept(Keeper):
    """Keeps where fits stood after an iteration."""

    def __init__(self, iteration, standings=()):
        self.iteration, self.standings = iteration, list(standings)

    def restore(self, starts, max_iter):
        return self.standings

    def keep(self, standings):
        if max(len(one.losses) for one in standings()) == self.iteration:
            self.standings = deepcopy(standings())


def test_fits_that_have_traded_places_go_on_there():
    models = [symmetric(kernel(0), lam=lam) for lam in (0.0, 1e-3, 0.05)]
    starts, how = some_starts(30, 3, 3), {"max_iter": 60, "tol": 1e-6}
    (ended,) = solve(models[:1], starts[:1], max_iter=3000, tol=1e-7)
    kept = Kept(40)
    whole = solve(models, [ended.factors, *starts[1:]], keeper=kept, **how)
    assert [one.place for one in kept.standings] == [2, 1, 0]
    again = Kept(-1, kept.standings)
    for found, one in zip(solve(models, starts, keeper=again, **how), whole, strict=True):
        for name in ("W", "G"):
            np.testing.assert_array_equal(found.factors[name], one.factors[name])


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=2, deadline=None)
def test_a_batch_is_its_fits_one_by_one(model, seed):
    """Fits that end early change places in the batch; nothing of that shows."""
    K, lams = kernel(seed), [0.0, 1e-4, 1e-3, 1e-2, 0.05]
    starts = some_starts(30, 3, 5, seed)
    for i in (0, 3):  # two that have little left to do
        starts[i] = solve([model(K, lam=lams[i])], [starts[i]], max_iter=500, tol=1e-4)[0].factors
    options = {"max_iter": 120, "tol": 1e-3}
    together = solve([model(K, lam=lam) for lam in lams], starts, **options)
    for lam, start, solution in zip(lams, starts, together, strict=True):
        (alone,) = solve([model(K, lam=lam)], [start], **options)
        assert solution.status is alone.status
        assert solution.n_iter == alone.n_iter
        for name in ("W", "G"):
            np.testing.assert_allclose(
                solution.factors[name], alone.factors[name], rtol=1e-6, atol=1e-9
            )
        np.testing.assert_allclose(
            solution.history["objective"], alone.history["objective"], rtol=1e-9
        )


@pytest.mark.parametrize("steps", [1, 5, 50])
@pytest.mark.parametrize("lam", [0.0, 0.001, 0.01])
def test_iterations_are_the_naive_ones(lam, steps):
    K = kernel(0)
    start = some_starts(30, 3, 1)[0]
    (solution,) = solve([printed(K, lam=lam)], [start], max_iter=steps, tol=0)
    W, G = naive.iterate(K.K, start["W"], start["G"], lam, steps)
    truth = W @ G.T
    mine = solution.factors["W"] @ solution.factors["G"].T
    assert np.abs(mine - truth).max() <= 1e-8 * np.abs(truth).max()
    assert solution.n_iter == steps


def test_history_is_what_happened():
    K, start, lam = kernel(1), some_starts(30, 2, 1)[0], 0.01
    (solution,) = solve([printed(K, lam=lam)], [start], max_iter=4, tol=0)
    W, G = start["W"], start["G"]
    for t in range(4):
        W_new, G_new = naive.iterate(K.K, W, G, lam, 1)
        history = {key: values[t] for key, values in solution.history.items()}
        assert history["objective"] == pytest.approx(naive.objective(K.K, W_new, G_new, lam))
        assert history["change_W"] == pytest.approx(np.linalg.norm(W_new - W))
        assert history["change_G"] == pytest.approx(np.linalg.norm(G_new - G))
        W, G = W_new, G_new


@pytest.mark.parametrize("model", [free, exact])
@given(seed=st.integers(0, 10**6), lam=st.sampled_from([0.0, 0.001, 0.1, 10.0]))
@settings(max_examples=8, deadline=None)
def test_the_objective_never_rises(model, seed, lam):
    (solution,) = solve(
        [model(kernel(seed), lam=lam)], some_starts(30, 3, 1, seed), max_iter=60, tol=0
    )
    objective = solution.history["objective"]
    assert np.all(np.diff(objective) <= 1e-9 * 30)


@given(seed=st.integers(0, 10**6), lam=st.sampled_from([0.0, 0.001, 0.02]))
@settings(max_examples=2, deadline=None)
def test_the_limit_satisfies_the_kkt_conditions(seed, lam):
    """eq_fixed_W and eq_fix_cond_1: gradients vanish where factors do not."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0], [3, 0], [0, 3]])
    X = centres[np.arange(24) % 3] + rng.normal(scale=0.3, size=(24, 2))
    K = naive.rbf(X, 1.0)
    W, G = factors_of_labels(np.arange(24) % 3, 3)
    (solution,) = solve(
        [symmetric(DenseGram(K), lam=lam)], [{"W": W, "G": G}], max_iter=6000, tol=0
    )
    W, G = solution.factors["W"], solution.factors["G"]
    D = naive.distances(K)
    gradient_W = -K @ G + lam * D @ G + K @ W @ G.T @ G
    E = naive.sym(G.T @ K @ W) - lam * naive.sym(G.T @ D @ W)
    gradient_G = -K @ W + lam * D @ W + G @ E
    size = np.abs(K @ G).max()
    assert np.abs(gradient_W * W).max() < 1e-3 * size * W.max()
    assert np.abs(gradient_G * G).max() < 1e-3 * np.abs(K @ W).max() * G.max()


def test_patience():
    """A loss that falls in steps is followed, though most single steps change nothing."""
    calls = []

    class Stairs(LocalSimilarity):
        def loss(self, s):
            calls.append(None)
            return 1 / (1 + len(calls) // (PATIENCE // 2))

    (solution,) = solve(
        [Stairs(kernel(0), 0.0, FREE)], some_starts(30, 2, 1), max_iter=100, tol=1e-3
    )
    assert solution.n_iter == 100
    assert solution.status is Status.EXHAUSTED


def test_tolerance_zero_runs_all_iterations():
    K = DenseGram(np.eye(4))
    start = {"W": np.eye(4), "G": np.eye(4)}  # a fixed point: nothing moves
    (solution,) = solve([printed(K)], [start], max_iter=37, tol=0)
    assert solution.n_iter == 37
    (solution,) = solve([printed(K)], [start], max_iter=37, tol=1e-6)
    assert solution.status is Status.CONVERGED
    assert solution.n_iter == PATIENCE + 1


def test_verdicts_are_sentences():
    K, starts = kernel(0), some_starts(30, 2, 1)
    (done,) = solve([free(K)], starts, max_iter=2000, tol=1e-3)
    assert verdict_of(done, 1e-3).startswith("converged: the objective changed by less than 0.1%")
    (short,) = solve([free(K)], starts, max_iter=3, tol=1e-9)
    assert short.status is Status.EXHAUSTED
    assert verdict_of(short, 1e-9) == "stopped after 3 iterations"
    (stopped,) = solve([free(K)], starts, max_iter=9, tol=0, callback=lambda p: p.iteration == 2)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 2
    assert "callback" in verdict_of(stopped, 0)
    (lost,) = solve([free(K, lam=100.0)], starts, max_iter=50, tol=1e-3)
    assert lost.status is Status.COLLAPSED
    assert lost.trouble is Trouble.NO_CLUSTER
    assert lost.share > 0.5
    assert verdict_of(lost, 1e-3) == f"{lost.share:.0%} of the samples fit no cluster"


@pytest.mark.parametrize("model", [printed, symmetric])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_runaway_is_caught_before_it_overflows(model, dtype):
    """The trap: with λ above the threshold the printed rules end in NaN."""
    K = kernel(0).K
    W, G = random_factors(30, 3, np.random.RandomState(0))
    with np.errstate(all="ignore"):
        W_naive, G_naive = naive.iterate(K, W, G, 1000.0, 400)
    assert not np.isfinite(W_naive @ G_naive.T).all()
    start = {"W": W.astype(dtype), "G": G.astype(dtype)}
    (solution,) = solve(
        [model(DenseGram(K.astype(dtype)), lam=1000.0)], [start], max_iter=400, tol=0
    )
    assert solution.status is Status.COLLAPSED
    assert solution.trouble in (Trouble.GROWS, Trouble.NO_CLUSTER)
    assert all(np.isfinite(factor).all() for factor in solution.factors.values())


def test_scaling_the_columns_inside_the_loop_spoils_its_limit():
    """The trap: f does not change with the scale of columns, but the next steps do."""
    K = naive.rbf(np.random.default_rng(0).random((40, 3)), 1.0)
    W, G = random_factors(40, 3, np.random.RandomState(0))
    W_scaled, G_scaled = W, G
    for _ in range(1000):
        W_scaled, G_scaled = naive.iterate(K, W_scaled, G_scaled, 0.0, 1)
        length = np.linalg.norm(G_scaled, axis=0)
        W_scaled, G_scaled = W_scaled * length, G_scaled / length
    (solution,) = solve([printed(DenseGram(K))], [{"W": W, "G": G}], max_iter=1000, tol=0)
    assert solution.objective < 0.9 * naive.objective(K, W_scaled, G_scaled, 0.0)


def test_the_callback_is_told_how_far_it_is():
    seen = []
    solve(
        [free(kernel(0), lam=lam) for lam in (0.0, 0.1)],
        some_starts(30, 2, 2),
        max_iter=5,
        tol=0,
        callback=seen.append,
    )
    assert [progress.iteration for progress in seen] == [1, 2, 3, 4, 5]
    assert all(progress.fits == 2 for progress in seen)
    assert [progress.running for progress in seen] == [2, 2, 2, 2, 0]
    assert all(np.isfinite(progress.objective) for progress in seen)


def test_the_lowest_objective_does_not_rise_when_a_fit_leaves():
    K, starts, seen = kernel(0), some_starts(30, 3, 4), []
    # One has nothing left to do: it leaves first, and with the lowest objective.
    starts[0] = solve([free(K)], starts[:1], max_iter=2000, tol=1e-9)[0].factors
    solve([free(K)] * 4, starts, max_iter=200, tol=1e-5, callback=seen.append)
    assert len({progress.running for progress in seen}) > 1
    lowest = [progress.objective for progress in seen]
    assert np.all(np.diff(lowest) <= 1e-9 * lowest[0])
