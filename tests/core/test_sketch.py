"""A bounded sample of a stream."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf.core.sketch import Sketch

from ..naive.sampling import smallest_keys


def after(X, cuts, size, seed):
    sketch = Sketch.empty(X, size, seed)
    for part in np.split(np.arange(len(X)), cuts):
        sketch = sketch.add(X[part])
    return sketch


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cuts", [[], [1, 2, 50], [30, 60, 61], list(range(5, 100, 5))])
@pytest.mark.parametrize("size", [1, 10, 99, 200])
def test_the_sketch_is_that_of_one_sample_after_the_other(seed, cuts, size):
    X = np.random.default_rng(seed).random((100, 3))
    found = after(X, cuts, size, seed)
    places, samples = smallest_keys(X, size, seed)
    np.testing.assert_array_equal(found.places, places)
    np.testing.assert_array_equal(found.X, samples)
    assert found.seen == 100


def test_sparse_samples_stay_sparse():
    X = np.random.default_rng(0).random((40, 3))
    found = Sketch.empty(sparse.csr_array(X), 10, 0)
    for part in (slice(0, 15), slice(15, 40)):
        found = found.add(sparse.csr_array(X[part]))
    assert sparse.issparse(found.X)
    np.testing.assert_array_equal(found.X.toarray(), smallest_keys(X, 10, 0)[1])


def test_every_sample_has_the_same_chance():
    """Also where the sketch goes on from a uniform part of what was there."""
    X, count = np.arange(60.0)[:, None], np.zeros((2, 60))
    for seed in range(2000):
        count[0, after(X, [20, 45], 12, seed).places] += 1
        part = np.sort(np.random.default_rng([seed, 1]).permutation(40)[:12])
        known = Sketch.of_known(X[part], part, 40, 30, seed)
        assert known.size == 12  # more cannot be had of the first 40
        count[1, known.add(X[40:]).places] += 1
    # 2000 draws of chance 1/5: 400, with a standard deviation of 18.
    assert np.abs(count - 400).max() < 5 * 18
    for some in (slice(0, 40), slice(40, 60)):  # old and new alike
        np.testing.assert_allclose(count[:, some].mean(axis=1), 400, rtol=0.03)


def test_what_was_all_kept_goes_on_as_if_it_had_come_in_batches():
    X = np.random.default_rng(0).random((50, 2))
    known = Sketch.of_known(X[:30], np.arange(30), 30, 10, 7).add(X[30:])
    np.testing.assert_array_equal(known.places, after(X, [], 10, 7).places)
