"""What a fit on a cluster needs: formulas against arrays that are really made, and their laws."""

import numpy as np
import pytest

from klsnmf.core.eigenvectors import SPARE
from klsnmf.core.kmeans import how_many_starts
from klsnmf.grams import distributed
from klsnmf.grams.array import DenseGram
from klsnmf.grams.spectral import how_many_vectors
from klsnmf.kernels.plan import make_plan
from klsnmf.kernels.sizing import PASSES, needs, needs_here


def test_memory_is_that_of_the_arrays(monkeypatch):
    n, p, k, fits, workers = 60, 7, 3, 4, 5
    monkeypatch.setattr(distributed, "ROWS", 6)
    gram = DenseGram(np.eye(n, dtype=np.float32))
    X, stack = np.empty((n, p), np.float32), gram.stack(fits, n, k)
    found = needs(n, p, k, neighbors=None, fits=fits, workers=workers)
    starts = how_many_starts(n, k, 2.0 * n * n, p)
    assert starts > fits
    assert found.client_memory == X.nbytes + 4 * stack.nbytes * starts / fits
    # K may take half of what a worker has.
    assert found.worker_memory == X.nbytes + 2 * gram.K.nbytes / workers + 2 * stack.nbytes
    # V to all workers and KV back, for W and for G.
    assert found.traffic == 2 * (workers + 1) * stack.nbytes
    assert (
        needs(n, p, k, neighbors=None, fits=fits, itemsize=8).traffic == 2 * 11 * 2 * stack.nbytes
    )


@pytest.mark.parametrize("workers", [1, 10, 50])
def test_workers_with_the_memory_that_is_told_are_not_refused(workers):
    found = needs(10**5, 50, 10, neighbors=None, workers=workers)
    plan = make_plan((10**5, 50), 4, "rbf", None, room=workers * found.worker_memory)
    assert plan.gram == "distributed"
    with pytest.raises(MemoryError, match="Start more workers"):
        make_plan((10**5, 50), 4, "rbf", None, room=workers * found.worker_memory / 2)


@pytest.mark.parametrize("neighbors", [None, 10])
def test_exact_comparison_is_quadratic_and_shared(neighbors):
    def seconds(n, workers):
        found = needs(n, 50, 10, neighbors=neighbors, workers=workers, network=np.inf)
        return found.first_seconds

    assert seconds(2 * 10**7, 10) == pytest.approx(4 * seconds(10**7, 10))
    assert seconds(10**7, 20) == pytest.approx(seconds(10**7, 10) / 2)
    assert seconds(10**7, 10) == 2 * 10**14 * 50 / (10 * 2e11)


@pytest.mark.parametrize("neighbors", [None, 10])
def test_no_more_threads_help_than_there_are_blocks(neighbors):
    def found(workers, threads):
        return needs(10**6, 50, 10, neighbors=neighbors, workers=workers, threads=threads)

    blocks = len(distributed.cut_rows(10**6))
    assert found(blocks, 1) == found(10 * blocks, 1)
    assert found(blocks, 1).first_seconds < found(blocks // 2, 1).first_seconds
    # Of one worker with too many threads, some of its operations are never done.
    fast = {"network": np.inf, "neighbors": neighbors}
    few, many = (
        needs(10**6, 50, 10, workers=1, threads=threads, **fast).first_seconds
        for threads in (blocks, 2 * blocks)
    )
    assert many == pytest.approx(2 * few)


def test_a_sparse_kernel_is_linear_but_for_the_comparison():
    small, large = (needs(n, 50, 10) for n in (10**6, 10**7))
    assert small.traffic == large.traffic == 0
    for name in ("worker_memory", "client_memory", "first_traffic", "seconds"):
        assert getattr(large, name) == pytest.approx(10 * getattr(small, name))


def test_eigenvectors_take_the_memory_of_their_arrays():
    """4k of them for many samples, more where they are cheap, some arrays of them at a time."""
    assert [how_many_vectors(n, 10) for n in (500, 2000, 20_000, 10**6)] == [80, 80, 52, 40]
    assert how_many_vectors(10**6, 100) == 256
    assert how_many_vectors(10**6, 200) == 400
    assert how_many_vectors(200, 10) == 200  # all of few
    n, k = 10**7, 10
    arrays = 6 * np.dtype(np.float32).itemsize * n * (40 + SPARE)
    graph = 120 * 10 * n / 4
    X = 4 * n * 50
    assert needs(n, 50, k).client_memory >= X + graph + arrays
    assert needs(n, 50, k).client_memory <= X + graph + 2 * arrays


def test_a_slow_part_decides():
    fast = {"flops": np.inf, "memory_bandwidth": np.inf, "network": np.inf}
    dense = {"n": 10**5, "p": 50, "k": 10, "neighbors": None}
    assert needs(**dense, **fast).seconds == 0
    for part in fast:
        assert needs(**dense, **(fast | {part: 1e9})).seconds > 0


def test_rules_cost_memory_traffic_at_the_client():
    fast = {"flops": np.inf, "network": np.inf, "memory_bandwidth": 1e10}
    one, two = (needs(10**6, 50, 10, fits=fits, **fast).seconds for fits in (4, 8))
    assert two - one == pytest.approx(PASSES * 10**6 * 10 * 4 * 4 / 1e10)


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"fits": 0}, {"n": 0}])
def test_nothing_is_no_size(wrong):
    with pytest.raises(ValueError, match="must be 1 or more"):
        needs(**{"n": 1000, "p": 5, "k": 3, **wrong})


def test_a_size_in_words():
    assert "2.1 GB per worker" in str(needs(10**7, 50, 10))
    assert "none per iteration" in str(needs(10**7, 50, 10))


def test_one_machine_fits_a_part_of_many():
    few, many = (needs_here(n, 50, 20) for n in (10**6, 10**7))
    assert (few.fitted, few.placing) == (10**6, 0)
    assert many.fitted == 200_000
    assert many.placing > 0
    assert many.memory < 10**7 * 50 * 4  # the file is not held
    assert needs_here(10**7, 50, 20, fit_on="all").fitted == 10**7
    assert needs_here(10**7, 50, 20, fit_on=5000).fitted == 5000
    assert needs_here(100, 50, 20, fit_on=5000).fitted == 100


def test_one_machine_in_words_and_shares():
    one, two = (needs_here(10**7, 50, 20, cores=cores) for cores in (1, 2))
    assert one.seconds == pytest.approx(2 * two.seconds)
    assert two.seconds == two.search + two.fit + two.placing
    more = needs_here(2 * 10**7, 50, 20)
    assert more.placing == pytest.approx(2 * two.placing)
    assert "200,000 samples fitted" in str(two)
    with pytest.raises(ValueError, match="must be 1 or more"):
        needs_here(0, 50, 20)
