"""Starts that compete in single precision: the winner is fitted as if alone, and wins rightly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from klsnmf import CNMF, GNMF, KNMF, ONMF, RMNMF, WNMF, SemiNMF
from klsnmf.core import memory
from klsnmf.grams.array import DenseGram
from klsnmf.grams.base import Data
from klsnmf.grams.low_rank import LowRankGram
from klsnmf.kernels.neighbors import binary_graph
from klsnmf.models import gnmf
from klsnmf.models.gnmf import GraphNMF
from klsnmf.models.ls_nmf import FREE, LocalSimilarity
from klsnmf.models.nmf import NMF
from klsnmf.models.onmf import OrthogonalNMF
from klsnmf.models.semi_nmf import SemiNonnegative
from klsnmf.solve import race
from klsnmf.solve.loop import solve
from klsnmf.solve.race import raced
from klsnmf.solve.solution import Status

from ..helpers import blobs
from ..naive import racing as naive

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

seeds = st.integers(0, 2**32 - 1)
HOW = {"max_iter": 40, "tol": 0}


@pytest.fixture
def always(monkeypatch):
    """A race however small the problem is."""
    monkeypatch.setattr(race, "WORTH", 0)
    monkeypatch.setattr(race, "FEWEST", 2)


def samples(seed, n=60, p=12):
    return np.random.default_rng(seed).random((n, p)) ** 3


def makers(X):
    return {
        "nmf": NMF(Data(X)),
        "onmf": OrthogonalNMF(Data(X)),
        "semi-nmf": SemiNonnegative(Data(X - X.mean())),
        "gnmf": GraphNMF(Data(X), binary_graph(X, 4), 0.5),
        "cnmf": LocalSimilarity(LowRankGram(X), 0.0, FREE),
        "knmf": LocalSimilarity(DenseGram(np.exp(-((X[:, None] - X) ** 2).sum(axis=2))), 0.0, FREE),
    }


def starts_of(model, X, k, count, seed):
    rng = np.random.default_rng(seed)
    if isinstance(model, LocalSimilarity):
        n = len(X)
        return [{"W": rng.random((n, k)), "G": rng.random((n, k))} for _ in range(count)]
    shapes = [(rows, k) for rows in X.shape]
    return [model.start(*(rng.random(shape) + 1e-3 for shape in shapes)) for _ in range(count)]


def same(one, other):
    for name, V in one.factors.items():
        assert V.dtype == np.float64
        np.testing.assert_array_equal(V, other.factors[name])
    np.testing.assert_array_equal(one.history["objective"], other.history["objective"])


@pytest.mark.parametrize("method", makers(samples(0)))
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
def test_the_winner_is_fitted_as_if_alone(method, seed):
    X = samples(seed)
    model = makers(X)[method]
    starts = starts_of(model, X, 3, 4, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "WORTH", 0)
        patch.setattr(race, "FEWEST", 2)
        (found,) = raced([model] * 4, starts, **HOW)
    alone = [solve([model], [start], **HOW)[0] for start in starts]
    ends = [one.objective for one in alone]
    same(found, alone[ends.index(found.objective)])
    # Single precision follows double for some dozen steps: nothing much better is passed over.
    assert found.objective <= min(ends) + 1e-4 * model.scale
    chosen = naive.winner(model, starts, **HOW)
    assert abs(ends[chosen] - found.objective) <= 1e-4 * model.scale


@pytest.mark.usefixtures("always")
def test_the_first_of_equal_starts_wins():
    X = samples(1)
    model = NMF(Data(X))
    best, worse = starts_of(model, X, 3, 2, seed=1)
    if solve([model], [worse], **HOW)[0].objective < solve([model], [best], **HOW)[0].objective:
        best, worse = worse, best
    # In other units of G and F the path is the same, but for rounding.
    twin = {"G": best["G"] * 3, "F": best["F"] / 3}
    (found,) = raced([model] * 3, [worse, best, twin], **HOW)
    same(found, solve([model], [best], **HOW)[0])


@pytest.mark.usefixtures("always")
def test_what_single_precision_cannot_tell_is_told_in_double():
    """An exact fit leaves nothing in float32 but rounding: all starts are fitted in double."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)) @ rng.random((2, 8))
    model = NMF(Data(X))
    starts = starts_of(model, X, 2, 3, seed=0)
    how = {"max_iter": 3000, "tol": 0}
    found = raced([model] * 3, starts, **how)
    assert len(found) == 3
    assert min(one.objective for one in found) < 1e-6 * model.scale
    for mine, theirs in zip(found, solve([model] * 3, starts, **how), strict=True):
        same(mine, theirs)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("offset", [1, 4, 10, 100])
def test_samples_far_from_zero(offset, seed):
    """Most of ‖X‖² is their mean: of what tells starts apart float32 has few digits, or none."""
    rng = np.random.default_rng(seed)
    X = rng.random((6, 20))[rng.integers(6, size=60)] + 0.05 * rng.random((60, 20)) + offset
    model = NMF(Data(X))
    starts = starts_of(model, X, 6, 6, seed)
    how = {"max_iter": 400, "tol": 1e-4}
    found = min(one.objective for one in raced([model] * 6, starts, **how))
    whole = min(one.objective for one in solve([model] * 6, starts, **how))
    assert found <= whole * 1.01


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("alpha", [1.0, 1e4, 1e7, 1e40])
def test_a_strong_graph(alpha):
    """In float32 the graph term is rounding, or infinite: then all starts are fitted in double."""
    X = samples(2)
    model = GraphNMF(Data(X), binary_graph(X, 4), alpha)
    starts = starts_of(model, X, 3, 4, seed=2)
    found = min(one.objective for one in raced([model] * 4, starts, **HOW))
    whole = min(one.objective for one in solve([model] * 4, starts, **HOW))
    assert np.isfinite(found)
    assert found <= whole * 1.001


@pytest.mark.usefixtures("always")
def test_no_room_for_a_race(monkeypatch):
    X = samples(3) - 0.3
    model = LocalSimilarity(DenseGram(X @ X.T), 0.0, FREE)
    starts = starts_of(model, X, 3, 3, seed=3)
    assert model.products()["PW"][0] is model.K.positive  # which is there from now on
    room = iter([10**9])  # for K in single precision, and not for its positive part
    monkeypatch.setattr(memory, "available", lambda: next(room, 0))
    monkeypatch.setattr(memory, "_SMALL", 0)
    assert len(raced([model] * 3, starts, **HOW)) == 3
    assert next(room, None) is None


@pytest.mark.usefixtures("always")
def test_stopped_in_a_race_that_single_precision_cannot_run(monkeypatch):
    """Numbers that overflow are not the best so far."""
    X = samples(4)
    model = GraphNMF(Data(X), binary_graph(X, 4), 1e40)
    monkeypatch.setattr(gnmf, "_MOST_GRAPH", np.inf)
    heard = []

    def stop(progress):
        heard.append(progress.phase)
        return True

    found = raced([model] * 3, starts_of(model, X, 3, 3, seed=4), callback=stop, **HOW)
    assert heard[0] == "race"
    assert {one.status for one in found} == {Status.STOPPED}
    for one in found:
        assert np.isfinite(one.objective)
        assert all(np.isfinite(V).all() for V in one.factors.values())


@pytest.mark.usefixtures("always")
def test_stopped_after_a_race_without_a_winner():
    rng = np.random.default_rng(0)
    X = np.outer(rng.random(40), rng.random(30))
    model = NMF(Data(X))
    calls = []

    def stop(progress):
        calls.append(progress)
        return progress.phase != "race"

    starts = starts_of(model, X, 2, 3, seed=0)
    (found,) = raced([model] * 3, starts, callback=stop, max_iter=400, tol=1e-4)
    best = min(progress.objective for progress in calls)
    assert found.objective <= 2 * best
    assert found.status is Status.STOPPED


@pytest.mark.parametrize("method", [WNMF, ONMF, SemiNMF, GNMF, CNMF, KNMF])
@pytest.mark.usefixtures("always")
def test_stopped_in_the_race(method):
    """What was reached so far counts, in the precision of X."""
    X = samples(0)
    heard = []

    def stop(progress):
        heard.append(progress)
        return progress.iteration == 3

    options = {"kernel": "rbf"} if method is KNMF else {}
    model = method(3, random_state=0, init="random", callback=stop, **options).fit(X)
    assert [progress.phase for progress in heard] == ["race"] * 3
    assert heard[0].fits == 10
    assert model.n_iter_ == 3
    assert "stopped by the callback" in model.verdict_
    assert model.G_.dtype == model.components_.dtype == np.float64


@pytest.mark.usefixtures("always")
def test_stopped_after_the_race():
    """What the race has found is better than the first steps of the winner once more."""
    X = samples(4)
    model = NMF(Data(X))
    starts = starts_of(model, X, 3, 4, seed=4)
    (found,) = raced([model] * 4, starts, callback=lambda progress: progress.fits == 1, **HOW)
    assert found.status is Status.STOPPED
    assert found.factors["G"].dtype == np.float64
    (whole,) = raced([model] * 4, starts, **HOW)
    assert found.objective == pytest.approx(whole.objective, rel=1e-3)
    assert found.n_iter == whole.n_iter


@pytest.mark.usefixtures("always")
def test_stopped_when_all_have_converged():
    """The last word of a callback counts, even if there was nothing left to stop."""
    X = samples(5)
    model = NMF(Data(X))
    starts = starts_of(model, X, 3, 2, seed=5)
    heard = []

    def stop(progress):
        heard.append(progress.phase)
        return progress.running == 0

    found = raced([model] * 2, starts, callback=stop, max_iter=2000, tol=1e-2)
    assert set(heard) == {"race"}
    assert {one.status for one in found} == {Status.CONVERGED}


@pytest.mark.usefixtures("always")
def test_the_callback_hears_of_both_parts():
    X = samples(0)
    heard = []
    WNMF(3, random_state=0, init="random", tol=0, max_iter=4, callback=heard.append).fit(X)
    assert [(one.phase, one.fits) for one in heard] == [("race", 10)] * 4 + [("steps", 1)] * 4


@pytest.mark.usefixtures("always")
def test_no_race_without_a_gain(monkeypatch):
    """Single precision, weights, and equations to more digits than float32 has."""
    X, _ = blobs(60, 3, 8, 0)
    gap = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    heard = []
    options = {"random_state": 0, "init": "random", "max_iter": 3, "callback": heard.append}
    WNMF(3, n_init=1, tol=0, **options).fit(X)  # asked for so many steps, and no others
    WNMF(3, n_init=1, solver="multiplicative", **options).fit(X)
    WNMF(3, **options).fit(X.astype(np.float32))
    WNMF(3, **options).fit(gap)
    RMNMF(3, **options).fit(X)
    CNMF(3, row_norm=None, **options).fit(X + 1000.0)  # nearly the same sample every time
    assert "race" not in {progress.phase for progress in heard}
    heard.clear()
    monkeypatch.undo()
    WNMF(3, **options).fit(X)
    assert "race" not in {progress.phase for progress in heard}


def test_status_of_the_winner():
    """A race that has converged does not end the fit of the winner early."""
    X = samples(3, 300, 200)
    model = NMF(Data(X))
    starts = starts_of(model, X, 20, race.FEWEST, seed=3)
    assert race.work(model, starts[0]) >= race.WORTH
    (found,) = raced([model] * len(starts), starts, max_iter=500, tol=1e-3)
    assert found.status is Status.CONVERGED


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(4))
def test_the_first_of_many_equal_starts_wins(seed):
    X = samples(seed)
    model = NMF(Data(X))
    (start,) = starts_of(model, X, 3, 1, seed)
    # In other units of G and F the path is the same, but for rounding.
    twins = [{"G": start["G"] * unit, "F": start["F"] / unit} for unit in (1, 3, 5, 7, 11, 13)]
    (found,) = raced([model] * 6, twins, **HOW)
    same(found, solve([model], twins[:1], **HOW)[0])


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [WNMF, SemiNMF, GNMF])
def test_a_single_start_begins_in_single_precision(method, form):
    """And ends where double precision alone would: on the way both may see the callback."""
    X, heard = samples(6), []
    pair = np.random.default_rng(0).random((60, 3)), np.random.default_rng(1).random((12, 3))
    options = {"init": pair, "tol": 1e-7, "max_iter": 3000}
    found = method(3, callback=heard.append, **options).fit(form(X))
    phases = [one.phase for one in heard]
    assert phases == sorted(phases)
    assert set(phases) == {"race", "steps"}
    assert found.G_.dtype == found.components_.dtype == np.float64
    assert found.status_ == "converged"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "WORTH", np.inf)
        alone = method(3, **options).fit(form(X))
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-3)


@pytest.mark.usefixtures("always")
def test_a_single_start_of_which_nothing_is_left_to_explain():
    """Where single precision ends, double goes on: the objective is not the rounding of float32."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)) @ rng.random((2, 8))
    pair = rng.random((40, 2)), rng.random((8, 2))
    model = WNMF(2, init=pair, tol=1e-9, max_iter=5000).fit(X)
    assert model.objective_ < 1e-10 * np.sum(X**2)
