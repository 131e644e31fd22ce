"""Limits of threads, asked for by computations in several threads at once."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from klsnmf import KLSNMF
from klsnmf.core.work import threads_for

from ..helpers import blobs


@pytest.fixture(autouse=True)
def two_threads():
    """Where all had one thread from the beginning, there would be nothing to limit."""
    with threadpool_limits(2):
        yield


def limits_now():
    return sorted((each["filepath"], each["num_threads"]) for each in threadpool_info())


def blas_now():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_limits_that_end_in_another_order_than_they_began():
    """The first to come goes first: the last must not leave the limit of the first behind."""
    before = limits_now()
    begun, go_on = threading.Event(), threading.Event()

    def second():
        with threads_for(0):
            begun.set()
            go_on.wait(30)

    other = threading.Thread(target=second)
    with threads_for(0):
        other.start()
        assert begun.wait(30)
    assert blas_now() == {1}, "the other still computes"
    go_on.set()
    other.join()
    assert limits_now() == before


def test_limits_inside_of_limits():
    before = limits_now()
    with threads_for(1e12):
        outer = limits_now()
        with threads_for(0):
            assert blas_now() == {1}
        assert limits_now() == outer
    assert limits_now() == before


def test_an_error_lifts_the_limit():
    before = limits_now()
    with pytest.raises(RuntimeError), threads_for(0):
        raise RuntimeError
    assert limits_now() == before


def test_fits_in_several_threads_leave_all_as_it_was():
    X, _ = blobs(80, 3, 5, seed=0)
    expected = KLSNMF(3, random_state=0).fit(X).labels_
    with threadpool_limits(limits=2):
        before, found = limits_now(), []

        def fit():
            for _ in range(3):
                found.append(KLSNMF(3, random_state=0).fit(X).labels_)

        threads = [threading.Thread(target=fit) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert limits_now() == before
    assert len(found) == 12
    for labels in found:
        np.testing.assert_array_equal(labels, expected)


def test_libraries_of_one_kind_that_differ_are_all_limited():
    """numpy and scipy bring a BLAS each; a variable that is set in between reaches one of them."""
    libraries = [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]
    if len(libraries) < 2:
        pytest.skip("one BLAS for all")
    one, other = libraries[:2]
    counts = one.num_threads, other.num_threads
    try:
        one.set_num_threads(1)
        other.set_num_threads(2)
        with threads_for(0):
            assert other.num_threads == 1
        assert other.num_threads == 2
    finally:
        one.set_num_threads(counts[0])
        other.set_num_threads(counts[1])
