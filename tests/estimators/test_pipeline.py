"""A default fit does nothing twice, and comes to the same however its work is cut up."""

import threading
from collections import Counter

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, datasets
from klsnmf.core.work import allowed_threads, side_by_side
from klsnmf.datasets.store import DatasetNotFoundError
from klsnmf.grams import spectral, walk
from klsnmf.kernels import build, graphs, search, similarity
from klsnmf.kernels.cells import Cells
from klsnmf.kernels.search import nearest_others
from klsnmf.solve import choose, loop, perron

SEEDS = range(3)


def blobs(seed=0, n=400, p=20):
    return make_blobs(n, p, centers=4, cluster_std=2.0, random_state=seed)[0]


@pytest.fixture
def calls(monkeypatch):
    """How often each stage is called, and with which numbers of neighbours graphs are made."""
    counted = Counter()

    def count(module, name):
        function = getattr(module, name)

        def counting(*arguments, **options):
            counted[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counting)

    count(build, "nearest")
    count(graphs, "weigh_links")
    count(spectral, "leading")
    count(walk.Walk, "_features")
    return counted


@pytest.mark.parametrize("k", [4, "auto"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_stage_is_called_once(calls, seed, k):
    """One search; one graph and one eigen-solve for each number of neighbours that is asked."""
    model = KLSNMF(k, random_state=0).fit(blobs(seed))
    assert len(set(model.labels_)) == 4
    assert calls["nearest"] == 1
    assert calls["weigh_links"] == calls["leading"]
    assert calls["leading"] <= 2  # the usual graph, and a judge of more neighbours
    assert calls["_features"] <= 2 * calls["leading"] + 2 * (k == "auto")


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_of_any_size_change_nothing(monkeypatch, seed):
    X = blobs(seed)
    new = blobs(seed + 10, n=700)
    expected = KLSNMF(4, random_state=0).fit(X)
    scores = expected.scores(new)
    monkeypatch.setattr(search, "_FEW", 0)
    monkeypatch.setattr(search, "_BLOCK", 5 * len(X))
    monkeypatch.setattr(search, "_LEAST_ROWS", 1)
    monkeypatch.setattr(similarity, "_CROSS", 7 * len(X))
    found = KLSNMF(4, random_state=0).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.scores(new), scores, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_change_no_new_sample(monkeypatch, seed):
    monkeypatch.setattr(similarity, "_ROWS_PER_THREAD", 16)
    model, new = KLSNMF(4, random_state=0).fit(blobs(seed)), blobs(seed + 10)
    scores = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            scores.append(model.scores(new))
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_in_any_order(seed):
    X, order = blobs(seed), np.random.default_rng(seed).permutation(400)
    labels, others = (KLSNMF(4, random_state=0).fit(each).labels_ for each in (X, X[order]))
    pairs = set(zip(labels[order], others, strict=True))
    assert len(pairs) == 4  # the same clusters, under other numbers


def test_a_search_that_is_stopped_leaves_no_threads(monkeypatch):
    """The first thread is stopped, as by a signal, while others are at work."""
    X, before = blobs(), threading.active_count()
    others = search.Rough.others

    def stopped(*arguments):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return others(*arguments)

    monkeypatch.setattr(search, "_BLOCK", 10 * len(X))
    monkeypatch.setattr(search, "_LEAST_ROWS", 1)
    monkeypatch.setattr(search.Rough, "others", stopped)
    with threadpool_limits(2):
        if allowed_threads().get("blas", 1) < 2:
            pytest.skip("BLAS has a single thread here")
        allowed = allowed_threads()
        with pytest.raises(KeyboardInterrupt):
            nearest_others(X, np.arange(len(X)), 5)
        assert allowed_threads() == allowed
    assert threading.active_count() == before


def threads_of_a_fit():
    """The most parts that a search is cut into, and the most threads that libraries may use."""
    parts = [1]

    def counting(function, some):
        parts.append(len(some))
        return side_by_side(function, some)

    search.side_by_side = counting
    KLSNMF(4, random_state=0).fit(blobs(n=3000))
    return max(parts), max(allowed_threads().values())


def test_a_fit_inside_a_worker_of_joblib_uses_its_share_of_threads():
    """joblib tells its workers how many: with as many workers as cores one each."""
    with Parallel(n_jobs=2, backend="loky", inner_max_num_threads=1) as parallel:
        assert parallel(delayed(threads_of_a_fit)() for _ in range(2)) == [(1, 1)] * 2


@pytest.mark.parametrize("name", ["digits", "semeion", "alphadigit", "jaffe", "yale", "faces94"])
def test_nearly_all_neighbours_are_found_in_the_papers_sets(name):
    try:
        X = datasets.load(name).data.astype(np.float32)
    except DatasetNotFoundError:
        pytest.skip("the set is not there")
    _, d2 = Cells(X, 10).nearest_others()
    truth = nearest_others(X, np.arange(len(X)), 10)[1]
    assert (d2 <= truth[:, -1:] * (1 + 1e-6)).mean() >= 0.95


def test_starts_of_many_samples_are_made_of_a_part(monkeypatch):
    """Nothing but the last steps sees all of them."""
    X, seen = blobs(n=3000), []
    monkeypatch.setattr(perron, "_PART", 300)
    monkeypatch.setattr(perron, "_PART_OF_CLUSTER", 50)
    for name in ("kmeans", "kmeans_labels"):
        function = getattr(choose, name)

        def noted(Z, *arguments, function=function, **options):
            seen.append(len(Z))
            return function(Z, *arguments, **options)

        monkeypatch.setattr(choose, name, noted)
    labels = KLSNMF(4, random_state=0).fit(X).labels_
    assert set(seen) == {300}
    monkeypatch.undo()
    assert len(set(zip(labels, KLSNMF(4, random_state=0).fit(X).labels_, strict=True))) == 4


@pytest.mark.parametrize("solver", ["paper", "soft", "exact"])
def test_fits_of_a_batch_over_threads(monkeypatch, solver):
    """What each does with its own numbers is the same on any thread."""
    monkeypatch.setattr(loop, "_NUMBERS_PER_THREAD", 1)
    options = {"kernel": "rbf", "init": "random", "n_init": 5, "max_iter": 20, "tol": 0}
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = KLSNMF(4, solver=solver, random_state=0, **options).fit(blobs(n=200))
        found.append(model.G_)
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)
