"""What was seen to break once: it must not again."""

import os
import subprocess
import sys

import numpy as np
import pytest

from klsnmf import CNMF, KLSNMF, METHODS, KernelKMeans

from ..helpers import blobs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("n", "k"), [(200, 20), (60, 60), (40, 3)])
@pytest.mark.parametrize("kernel", ["self-tuning", "cosine"])
def test_samples_that_have_nothing_in_common(n, k, kernel):
    labels = KLSNMF(k, kernel=kernel, random_state=0).fit(np.eye(n)).labels_
    assert labels.shape == (n,)
    assert set(labels) <= set(range(k))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["kls-nmf", "gnmf", "semi-nmf", "cnmf", "kernel-kmeans"])
def test_clusters_are_numbered_as_they_appear(name):
    """So that equally good starts give the same labels."""
    X, _ = blobs(60, 4, 8, seed=2)
    for seed in range(4):
        labels = METHODS[name](4, init="random", random_state=seed).fit(X).labels_
        _, first = np.unique(labels, return_index=True)
        assert (np.diff(first) > 0).all()


def mostly_zeros():
    X, _ = blobs(50, 3, 5, seed=0)
    X[:30] = 0
    return X


@pytest.mark.filterwarnings("ignore:.*distinct clusters", "ignore:Graph is not")
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("seed", range(3))
def test_fewer_clusters_than_asked_for_are_counted_without_gaps(kernel, seed):
    """Samples like no cluster go to others, and may leave one empty."""
    model = KernelKMeans(25, kernel=kernel, random_state=seed)
    with pytest.warns(UserWarning, match="clusters have samples") as told:
        model.fit(mostly_zeros())
    found = len(set(model.labels_))
    assert set(model.labels_) == set(range(found))
    assert any(f"Only {found} of" in str(each.message) for each in told)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("kmeans", "spectral")])
def test_every_method_tells_of_clusters_that_are_missing(name):
    for X, k in ((mostly_zeros(), 25), (mostly_zeros()[25:] * np.logspace(0, 30, 25)[:, None], 4)):
        for more in ({}, {"max_iter": 2}):
            model = METHODS[name](k, random_state=0, **more).fit(X)
            found = len(set(model.labels_))
            assert set(model.labels_) == set(range(found))
            if found < k:
                told = [type(note).__name__ for note in model.notes_]
                assert "FewerClusters" in told or "Collapsed" in told


def test_a_row_far_larger_than_all_others():
    X, _ = blobs(40, 3, 5, seed=0)
    X[7] *= 1e30
    with pytest.warns(UserWarning, match="Only 2 of n_clusters=3 clusters have samples"):
        labels = CNMF(3, random_state=0).fit(X).labels_
    assert set(labels) == {0, 1}


SMALL_AFTER_LARGE = """
import ctypes, gc, resource
import numpy as np
from klsnmf import KLSNMF, KernelKMeans, SemiNMF

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

rng = np.random.default_rng(0)
small = rng.random((200, 5))
expected = [each(3, random_state=0).fit(small).labels_ for each in (KLSNMF, SemiNMF)]
KLSNMF(3, kernel="rbf", n_neighbors=None).fit(small)
room = used()
resource.setrlimit(resource.RLIMIT_AS, (room + 2**28, room + 2**28))
failed = 0
# There is no room for the first kernel matrix; for the second there is, and for nothing beside it.
for method, n in ((KLSNMF, 12_000), (KLSNMF, 5_600), (KernelKMeans, 5_600)):
    model = method(3, kernel="rbf", n_neighbors=None)
    try:
        model.fit(rng.random((n, 20)))
    except MemoryError as error:
        assert "memory" in str(error)
        assert not hasattr(model, "labels_")
        failed += 1
assert failed == 3, failed
gc.collect()
getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # what is free goes back to the system
assert used() < room + 2**26, "something is kept"  # a kernel matrix takes nearly 2**27
for each, labels in zip((KLSNMF, SemiNMF), expected):
    np.testing.assert_array_equal(each(3, random_state=0).fit(small).labels_, labels)
print("well")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is set as on Linux")
def test_a_small_fit_after_one_that_ran_out_of_memory():
    done = subprocess.run(
        [sys.executable, "-c", SMALL_AFTER_LARGE],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.stdout == "well\n", done.stderr
