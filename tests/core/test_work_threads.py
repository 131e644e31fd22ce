"""Threads are limited to what helps, never raised above what the user allows."""

import subprocess
import sys

import numpy as np  # noqa: F401 - brings the pools of threads
import pytest
import sklearn.cluster  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

from klsnmf.core.work import allowed_threads, threads_for


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
