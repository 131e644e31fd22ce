"""Threads are limited to what helps, never raised above what the user allows."""

import subprocess
import sys

import joblib
import numpy as np
import pytest
import sklearn.cluster  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

from klsnmf.core import arithmetic, work
from klsnmf.core.arithmetic import tall_times
from klsnmf.core.bases import tall_inner
from klsnmf.core.work import allowed_threads, side_by_side, threads_for
from klsnmf.grams.low_rank import LowRankGram


def counts(kind):
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == kind]


@pytest.mark.parametrize("blas", [1, 2])
@pytest.mark.parametrize("openmp", [1, 2])
def test_limits_of_the_user_hold(blas, openmp):
    with threadpool_limits({"blas": blas, "openmp": openmp}):
        before = counts("blas"), counts("openmp")
        with threads_for(1e12):
            assert (counts("blas"), counts("openmp")) == before
        with threads_for(0):
            assert set(counts("blas") + counts("openmp")) == {1}
            with threads_for(1e12):
                assert set(counts("blas")) == {1}
        assert (counts("blas"), counts("openmp")) == before


def test_a_large_part_inside_a_small_one_may_use_what_was_allowed_outside():
    with threadpool_limits(2):
        allowed, before = allowed_threads(), counts("blas")
        with threads_for(0), threads_for(1e12, allowed):
            assert counts("blas") == before


def test_libraries_that_are_loaded_later_are_limited_too():
    """OpenMP comes with scikit-learn's compiled modules, here after the first look."""
    code = """
from klsnmf.core.work import allowed_threads, threads_for
import numpy
before = allowed_threads()
import sklearn.cluster
from threadpoolctl import threadpool_info
assert "openmp" in allowed_threads(), "OpenMP is not seen"
with threads_for(0):
    assert {pool["num_threads"] for pool in threadpool_info()} == {1}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_work_side_by_side_has_one_thread_of_blas_each(parts):
    """Also a single part: threads of BLAS would wait for each other, on a busy machine long."""
    with threadpool_limits(2):
        before, seen = counts("blas"), []
        side_by_side(lambda _: seen.append(counts("blas")), range(parts))
        assert counts("blas") == before
    assert len(seen) == parts
    assert {count for each in seen for count in each} == {1}


@pytest.mark.parametrize("worth", [1e3, 1e5, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tall_products_are_the_same_to_the_last_bit_with_any_threads(monkeypatch, worth, dtype):
    monkeypatch.setattr(arithmetic, "_DENSE_PRODUCTS_PER_THREAD", worth)
    rng = np.random.default_rng(0)
    A, B, M = (rng.random(shape).astype(dtype) for shape in ((5000, 7), (5000, 4), (7, 4)))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append((tall_times(A, M), tall_inner(A, B), LowRankGram(A).dot(B)))
    for one, two, naive in zip(*found, (A @ M, A.T @ B, A @ (A.T @ B)), strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, naive, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_no_more_threads_than_a_container_is_granted(monkeypatch):
    """joblib reads what is granted: from Linux's control groups, and which cores are allowed."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    work.cores_granted.cache_clear()
    try:
        with threadpool_limits(2):
            before = counts("blas")
            assert set(allowed_threads().values()) == {1}
            with threads_for(1e12):
                assert set(counts("blas")) == {1}
            assert counts("blas") == before
    finally:
        work.cores_granted.cache_clear()
