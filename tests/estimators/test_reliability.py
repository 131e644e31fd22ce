"""What must hold under bad input, faults and odd sizes.

The number in the title of a section is that of a row in the list of requirements: what is tried,
and what must happen.
"""

import os
import re
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info, threadpool_limits

from klsnmf import GLSNMF, KLSNMF, LSNMF, METHODS, datasets, path
from klsnmf.estimators.notes import Collapsed, FitWarning
from klsnmf.grams.array import DenseGram
from klsnmf.grams.diffused import diffuse
from klsnmf.solve.phases import best_by_lam
from klsnmf.solve.solution import factors_of_labels

from ..helpers import blobs

# Whether a short fit has converged, with samples in all clusters, matters in some tests only; a
# collapse would always be news.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{message}:sklearn.exceptions.ConvergenceWarning")
    for message in (".*before it converged", r"Only \d+ of n_clusters")
]

SOLVERS = ["paper", "soft", "exact", "auto"]
KERNELS = ["self-tuning", "rbf", "linear", "cosine", "polynomial"]

MODELS = {
    **{kernel: KLSNMF(3, kernel=kernel) for kernel in KERNELS},
    "not diffused": KLSNMF(3, diffusion=0),
    "LSNMF": LSNMF(3),
    "LSNMF, G free": LSNMF(3, orthogonal=False),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_method = pytest.mark.parametrize("method", [KLSNMF, LSNMF])


@pytest.fixture(params=range(2))
def seed(request):
    return request.param


def fitted(model, X, **params):
    """A fit of two starts unless told otherwise, with a seed of its own or 0."""
    model = clone(model).set_params(n_init=2).set_params(**params)
    if model.random_state is None:
        model.set_params(random_state=0)
    return model.fit(X)


def start(n, k, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1, size=(n, k)) / n, rng.uniform(0.1, 1, size=(n, k))


def bits(n, k, p, seed):
    """Clusters of zeros and ones: many samples have neighbours that are equally far."""
    X, y = blobs(n, k, p, seed)
    X = (X * np.random.default_rng(seed).uniform(0.2, 1, size=X.shape) > 1).astype(float)
    X[~X.any(axis=1), 0] = 1
    return X, y


def assert_valid(model, n):
    """Labels are in use from 0 on, and every number is finite."""
    k = model.n_clusters
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype.kind == "i"
    assert set(model.labels_) == set(range(model.labels_.max() + 1))
    assert model.labels_.max() < k
    for factor in (model.W_, model.G_):
        assert factor.shape == (n, k)
        assert np.isfinite(factor).all()
        assert (factor >= 0).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.lam_)
    assert np.isfinite(model.history_["objective"]).all()


def assert_close(a, b, tolerance):
    """The same labels, and factors that differ by no more than this share of the largest entry."""
    np.testing.assert_array_equal(a.labels_, b.labels_)
    for name in ("W_", "G_"):
        left, right = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(
            left, right, rtol=0, atol=tolerance * np.abs(right).max(), err_msg=name
        )


# ---------------------------------------------------------------------- 1: same seed twice


@each_model
def test_the_same_seed_gives_the_same_bits(model, seed):
    X, _ = blobs(80, 3, 6, seed)
    with threadpool_limits(1):
        a, b = (fitted(model, X, random_state=seed, max_iter=60) for _ in range(2))
    for name in ("labels_", "W_", "G_", "objective_", "n_iter_", "lam_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name, values in a.history_.items():
        np.testing.assert_array_equal(values, b.history_[name], err_msg=name)


@each_method
@pytest.mark.parametrize("init", ["random", "kmeans", "spectral", "auto"])
def test_a_generator_in_the_same_state_gives_the_same_bits(method, init):
    X, _ = blobs(60, 3, 6, 0)
    with threadpool_limits(1):
        a, b = (
            fitted(method(3, init=init), X, random_state=np.random.RandomState(5), max_iter=40)
            for _ in range(2)
        )
    np.testing.assert_array_equal(a.W_, b.W_)
    np.testing.assert_array_equal(a.G_, b.G_)


# ---------------------------------------------------------------------- 2: threads


@pytest.fixture
def shared_work(monkeypatch):
    """Little work is worth two threads too; a list that grows whenever work is shared."""
    arithmetic = "core.arithmetic._PRODUCTS", "core.arithmetic._DENSE_PRODUCTS"
    for place in ("core.work._FLOPS", *arithmetic, "solve.loop._NUMBERS"):
        monkeypatch.setattr(f"klsnmf.{place}_PER_THREAD", 1)
    shared = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, threads):
            shared.append(threads)
            super().__init__(threads)

    monkeypatch.setattr("klsnmf.core.work.ThreadPoolExecutor", Counted)
    return shared


# The default kernel has eigenvectors that are found in single precision: its rounding differs.
@pytest.mark.parametrize(
    ("model", "rounding"),
    [(KLSNMF(6, kernel="rbf"), 1e-8), (KLSNMF(6), 1e-5), (LSNMF(6), 1e-8)],
    ids=["rbf", "self-tuning", "LSNMF"],
)
def test_one_and_two_threads_agree(model, rounding, seed, shared_work):
    X, _ = blobs(200, 6, 12, seed)
    with threadpool_limits(2):
        if not any(p["num_threads"] > 1 for p in threadpool_info() if p["user_api"] == "blas"):
            pytest.skip("this BLAS has one thread only")
        two = fitted(model, X, n_init=8, tol=0, max_iter=40)
        assert shared_work
        shared_work.clear()
    with threadpool_limits(1):
        one = fitted(model, X, n_init=8, tol=0, max_iter=40)
    assert not shared_work
    assert_close(one, two, rounding)
    rounding /= 10
    assert one.objective_ == pytest.approx(two.objective_, rel=rounding, abs=rounding * len(X))


# ---------------------------------------------------------------------- 3: float32


def assert_float32_agrees(model, X):
    a, b = fitted(model, X.astype(np.float64)), fitted(model, X.astype(np.float32))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    # As many iterations in both: rounding may decide which is the last one before convergence.
    a = fitted(model, X.astype(np.float64), tol=0, max_iter=60)
    b = fitted(model, X.astype(np.float32), tol=0, max_iter=60)
    assert a.W_.dtype == a.G_.dtype == np.float64
    assert b.W_.dtype == b.G_.dtype == np.float32
    np.testing.assert_allclose(a.W_, b.W_, rtol=0, atol=1e-4)
    np.testing.assert_allclose(a.G_, b.G_, rtol=0, atol=1e-4)


@each_model
def test_float32_is_float64_but_for_rounding(model, seed):
    X, _ = blobs(80, 3, 6, seed)
    assert_float32_agrees(model, X)


def test_float32_is_float64_where_distances_tie(seed):
    X, _ = bits(60, 3, 18, seed)
    assert_float32_agrees(KLSNMF(3, diffusion=0), X)


@pytest.mark.skipif("KLSNMF_DATA" not in os.environ, reason="KLSNMF_DATA is not set")
@pytest.mark.parametrize("name", ["jaffe", "pix", "semeion"])
@pytest.mark.parametrize(("method", "seed"), [(KLSNMF, 0), (LSNMF, 1)])
def test_float32_is_float64_on_stored_data(method, name, seed):
    data = datasets.load(name, download=False)
    assert_float32_agrees(method(len(np.unique(data.target)), random_state=seed), data.data)


# ---------------------------------------------------------------------- 5: degenerate samples


def degenerate(kind, seed):
    X, _ = blobs(40, 3, 6, seed)
    if kind == "zero rows":
        X[:6] = 0
    elif kind == "mostly zero rows":
        X[:25] = 0
    elif kind == "duplicate rows":
        X = np.repeat(X[:8], 5, axis=0)
    elif kind == "fewer different rows than clusters":
        X = np.repeat(X[:2], 20, axis=0)
    elif kind == "constant columns":
        X[:, :2] = 3.0
    elif kind == "zero columns":
        X[:, :2] = 0.0
    elif kind == "all rows the same":
        X[:] = X[0]
    elif kind == "one sample far away":
        X[0] *= 1e6
        X[0, 0] = 0
    return X


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kind",
    [
        "zero rows",
        "mostly zero rows",
        "duplicate rows",
        "fewer different rows than clusters",
        "constant columns",
        "zero columns",
        "all rows the same",
        "one sample far away",
    ],
)
@each_model
def test_degenerate_samples(model, kind):
    for seed, row_norm in enumerate(["l2", None]):
        X = degenerate(kind, seed)
        found = fitted(model, X, row_norm=row_norm, random_state=seed, max_iter=100)
        assert_valid(found, len(X))
        assert np.isfinite(found.components_).all()
        assert np.isfinite(found.transform(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["zero rows", "duplicate rows", "one sample far away"])
@pytest.mark.parametrize("kernel", ["self-tuning", "linear"])
@each_solver
def test_degenerate_samples_with_every_solver(solver, kernel, kind, seed):
    X = degenerate(kind, seed)
    model = KLSNMF(3, kernel=kernel, solver=solver)
    assert_valid(fitted(model, X, random_state=seed, max_iter=100), len(X))


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_nothing_but_zeros_is_refused(kernel):
    with pytest.raises(ValueError, match=r"No entry of the kernel matrix.*Multiply X|another ker"):
        KLSNMF(2, kernel=kernel).fit(np.zeros((10, 3)))


def test_zero_rows_are_not_blamed_on_lam():
    """They fit no cluster whatever λ is, and are no sign that λ is too large."""
    X, _ = blobs(40, 2, 4, 0)
    X[:25] = 0
    assert_valid(fitted(LSNMF(2), X, lam=1e-9, max_iter=100), 40)


@pytest.mark.parametrize(("own", "seed"), [(1.0, 0), (0.0, 1)])
@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("diffusion", [0, 2])
@each_solver
def test_an_isolated_sample(solver, diffusion, as_sparse, own, seed):
    """A sample that has nothing in common with the others, nor with itself if own is 0."""
    X, _ = blobs(40, 3, 6, seed)
    K = rbf_kernel(X, gamma=0.1)
    K[K < 0.05] = 0
    K[7] = K[:, 7] = 0
    K[7, 7] = own
    model = KLSNMF(3, kernel="precomputed", solver=solver, diffusion=diffusion)
    found = fitted(model, sparse.csr_array(K) if as_sparse else K, max_iter=100)
    assert_valid(found, 40)


# ---------------------------------------------------------------------- 6: huge and tiny data


def fit_or_refusal(model, X):
    """The fitted model, or the error."""
    try:
        return fitted(model, X, max_iter=100)
    except ValueError as error:
        return error


# Where K is constant, k-means says that it found fewer clusters.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("row_norm", ["l2", None])
@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, 1e-150), (np.float64, 1e150), (np.float32, 1e-30), (np.float32, 1e30)],
)
@each_model
def test_huge_and_tiny_data(model, dtype, factor, row_norm):
    X, _ = blobs(60, 3, 6, 0)
    model = clone(model).set_params(row_norm=row_norm)
    scaled = (X * factor).astype(dtype)
    found = fit_or_refusal(model, scaled)
    scale_free = getattr(model, "kernel", "linear") in ("self-tuning", "cosine")
    if scale_free or row_norm == "l2":
        plain = fitted(model, X.astype(dtype), max_iter=100)
        np.testing.assert_array_equal(found.labels_, plain.labels_)
        np.testing.assert_array_equal(found.predict(scaled), plain.predict(X.astype(dtype)))
    if isinstance(found, ValueError):
        message = r"([Dd]ivide|[Mm]ultiply) X by a constant|[Ll]ook at X"
        assert re.search(message, str(found))
        with pytest.raises(ValueError, match=message):
            fitted(model, sparse.csr_array(scaled))
    else:
        assert_valid(found, 60)
        as_sparse = fitted(model, sparse.csr_array(scaled), max_iter=100)
        np.testing.assert_array_equal(as_sparse.labels_, found.labels_)


def test_the_radius_has_the_unit_of_the_data(seed):
    X, _ = blobs(60, 3, 6, seed)
    for kernel in ("rbf", "self-tuning"):
        model = KLSNMF(3, kernel=kernel, row_norm=None)
        plain = fitted(model, X)
        for factor in (2.0**-500, 2.0**500):
            found = fitted(model, X * factor)
            np.testing.assert_allclose(found.radius_, plain.radius_ * factor)
        if kernel == "rbf":
            model.set_params(radius=plain.radius_ * factor)
            np.testing.assert_array_equal(fitted(model, X * factor).labels_, plain.labels_)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_huge_and_tiny_precomputed_kernels(factor, as_sparse, seed):
    X, _ = blobs(60, 3, 6, seed)
    K = rbf_kernel(X, gamma=0.1)
    model = KLSNMF(3, kernel="precomputed")
    plain = fitted(model, K)
    found = fitted(model, sparse.csr_array(K * factor) if as_sparse else K * factor)
    assert_valid(found, 60)
    np.testing.assert_array_equal(found.labels_, plain.labels_)


# ---------------------------------------------------------------------- 7: not numbers


def with_entry(value):
    X, _ = blobs(20, 3, 6, 0)
    X[3, 2] = value
    return X


NOT_NUMBERS = {
    "NaN": (with_entry(np.nan), r"Input X contains NaN.*does not accept missing values"),
    "inf": (with_entry(np.inf), r"Input X contains infinity or a value too large"),
    "-inf": (with_entry(-np.inf), r"Input X contains infinity or a value too large"),
    "sparse NaN": (sparse.csr_array(with_entry(np.nan)), r"Input X contains NaN"),
    "sparse inf": (sparse.csr_array(with_entry(np.inf)), r"Input X contains infinity"),
    "complex": (with_entry(1.0) + 1j, r"Complex data not supported"),
    "strings": (np.full((20, 6), "one"), r"could not convert string to float: .*one"),
    "no samples": (np.empty((0, 6)), r"0 sample\(s\).*minimum of 1 is required"),
    "no features": (np.empty((20, 0)), r"0 feature\(s\).*minimum of 1 is required"),
    "1-D": (np.ones(20), r"Expected 2D array.*Reshape your data"),
    "3-D": (np.ones((4, 5, 6)), r"dim 3"),
}


@pytest.mark.parametrize(("X", "message"), NOT_NUMBERS.values(), ids=NOT_NUMBERS.keys())
@each_method
def test_what_is_not_a_table_of_numbers_is_refused(method, X, message):
    model = method(2)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize(("X", "message"), NOT_NUMBERS.values(), ids=NOT_NUMBERS.keys())
def test_new_samples_that_are_not_numbers_are_refused(X, message):
    model = fitted(KLSNMF(3), blobs(20, 3, 6, 0)[0], n_init=1, max_iter=5)
    for method in (model.predict, model.transform):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            method(X)


@pytest.mark.parametrize(
    "model",
    [
        LSNMF(2, solver="paper"),
        KLSNMF(2, kernel="cosine", solver="paper"),
        KLSNMF(2, kernel=lambda A, B: A @ B.T, solver="paper"),
    ],
    ids=["LSNMF", "cosine", "callable"],
)
def test_negative_entries_where_the_rules_forbid_them(model):
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ValueError, match=r'solver="paper" needs.*no negative entry.*"soft"'):
        model.fit(X)
    assert_valid(fitted(model, X, solver="soft"), 20)


# ---------------------------------------------------------------------- 8: precomputed kernels


def broken(what):
    K = rbf_kernel(blobs(20, 3, 6, 0)[0], gamma=0.1)
    if what == "not square":
        return K[:, :12], r"must be square, of shape \(n_samples, n_samples\).*\(20, 12\)"
    if what == "not symmetric":
        K[2, 5] += 0.1
        return K, r"must be symmetric. Give \(X \+ X\.T\) / 2"
    if what == "NaN":
        K[2, 5] = K[5, 2] = np.nan
        return K, r"Input X contains NaN"
    if what == "inf":
        K[2, 5] = K[5, 2] = np.inf
        return K, r"Input X contains infinity"
    if what == "huge":
        return K * 1e307, r"too large for float64: divide X by a constant"
    if what == "zero":
        return K * 0, r"nothing to factorize"
    assert what == "negative distance"
    K[2, 5] = K[5, 2] = 3.0
    return K, r"negative squared distances.*Enlarge its diagonal"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize(
    "what", ["not square", "not symmetric", "NaN", "inf", "huge", "zero", "negative distance"]
)
def test_a_matrix_that_is_no_kernel_is_refused(what, form):
    K, message = broken(what)
    model = KLSNMF(3, kernel="precomputed")
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(form(K))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_rounding_does_not_make_a_kernel_asymmetric(seed):
    rng = np.random.default_rng(seed)
    K = rbf_kernel(blobs(20, 3, 6, seed)[0], gamma=0.1)
    K *= 1 + 1e-12 * rng.uniform(size=K.shape)
    assert_valid(fitted(KLSNMF(3, kernel="precomputed"), K), 20)


def test_without_lam_distances_do_not_matter():
    K, _ = broken("negative distance")
    assert_valid(fitted(KLSNMF(3, kernel="precomputed"), K, lam=0), 20)


@pytest.mark.parametrize("solver", ["soft", "exact", "auto"])
def test_an_indefinite_kernel_of_both_signs(solver, seed):
    """Its distances are fine, yet the objective has no lower bound: wᵀKw < 0 for some w ≥ 0."""
    X, _ = blobs(30, 3, 6, seed)
    K = X @ X.T
    K -= K.mean()
    assert np.linalg.eigvalsh(K)[0] < -1
    found = fit_or_refusal(KLSNMF(3, kernel="precomputed", solver=solver, lam=0), K)
    if isinstance(found, ValueError):
        assert "positive semidefinite" in str(found)
    else:
        assert_valid(found, 30)
        assert found.W_.max() < 1e6


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_entries_of_a_sparse_kernel_may_come_in_parts(form, seed):
    K = rbf_kernel(blobs(30, 3, 6, seed)[0], gamma=0.1)
    K[K < 0.05] = 0
    whole = sparse.coo_array(K)
    rows, columns = whole.coords
    # Each entry as the sum of 2 K and -K, unsorted: no canonical form.
    data = np.concatenate([2 * whole.data, -whole.data])
    columns = np.concatenate([columns, columns])
    rows = np.concatenate([rows, rows])
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(31))
    parts = form((data[order], columns[order], indptr), shape=(30, 30))
    np.testing.assert_allclose(parts.toarray(), K)
    model = KLSNMF(3, kernel="precomputed")
    assert_close(fitted(model, parts), fitted(model, form(K)), 1e-8)


# ---------------------------------------------------------------------- 9: odd sizes


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("n", "k"), [(12, 1), (12, 12), (12, 11), (2, 1), (2, 2), (3, 2), (1, 1)])
@each_model
def test_odd_sizes(model, n, k):
    X = blobs(12, 3, 6, 0)[0][:n]
    found = fitted(model, X, n_clusters=k, max_iter=100)
    assert_valid(found, n)
    assert found.predict(X).shape == (n,)
    if k == 1:
        assert not found.labels_.any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("n", "k"), [(12, 1), (12, 12), (2, 2), (1, 1)])
@pytest.mark.parametrize("init", ["random", "kmeans", "spectral"])
@each_solver
def test_odd_sizes_with_every_solver_and_start(solver, init, n, k):
    X = blobs(12, 3, 6, 0)[0][:n]
    for kernel in ("self-tuning", "rbf", "linear"):
        model = KLSNMF(k, kernel=kernel, solver=solver, init=init)
        assert_valid(fitted(model, X, max_iter=60), n)


def test_as_many_clusters_as_samples_are_told_apart(seed):
    X, _ = blobs(10, 3, 6, seed)
    for model in (KLSNMF(10, kernel="rbf"), KLSNMF(10, diffusion=0)):
        assert len(set(fitted(model, X, lam=0, max_iter=1000).labels_)) == 10


@each_method
@pytest.mark.parametrize(("n", "k"), [(5, 6), (1, 2), (3, 100)])
def test_more_clusters_than_samples_are_refused(method, n, k):
    X = np.ones((n, 4))
    with pytest.raises(ValueError, match=rf"n_samples={n} should be >= n_clusters={k}"):
        method(k).fit(X)
    with pytest.raises(ValueError, match=rf"n_samples={n} should be >= n_clusters={k}"):
        path(X, k, lams=[0, 1])


# ---------------------------------------------------------------------- 10: collapse


def collapses(caught):
    notes = (getattr(w.message, "note", None) for w in caught)
    return [note for note in notes if isinstance(note, Collapsed)]


def assert_advice_is_good(model, X, lam):
    """A λ that collapses is named with one that does not, and which half of it does not either."""
    model = clone(model).set_params(max_iter=200)
    with pytest.warns(FitWarning) as caught:
        found = fitted(model, X, lam=lam)
    assert_valid(found, len(X))
    (note,) = collapses(caught)
    assert (note.parameter, note.value) == ("lam", lam)
    assert f"lam={note.advised:.3g} or less does not collapse." in str(note)
    safe = note.advised
    assert 0 < safe < lam
    for smaller in (safe, safe / 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert_valid(fitted(model, X, lam=smaller), len(X))
        assert not collapses(caught)


@pytest.mark.parametrize(("kernel", "seed"), [("rbf", 0), ("self-tuning", 1)])
@each_solver
def test_a_lam_too_large_is_named_with_one_that_is_not(solver, kernel, seed):
    X, _ = blobs(50, 3, 6, seed)
    model = KLSNMF(3, kernel=kernel, solver=solver, random_state=seed)
    assert_advice_is_good(model, X, [1e3, 1e12][seed])


@pytest.mark.parametrize(("kernel", "seed"), [("rbf", 0), ("self-tuning", 1)])
@each_solver
def test_advice_where_there_are_no_clusters(solver, kernel, seed):
    X = np.random.default_rng(seed).uniform(size=(30, 4))
    model = KLSNMF(4, kernel=kernel, solver=solver, diffusion=0, init="random", random_state=seed)
    assert_advice_is_good(model, X, 1e4)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_a_lam_too_large_for_the_linear_kernel(orthogonal, seed):
    X, _ = blobs(60, 3, 6, seed)
    assert_advice_is_good(LSNMF(3, orthogonal=orthogonal, random_state=seed), X, 1e3)


@pytest.mark.parametrize(("dtype", "seed"), [(np.float32, 0), (np.float64, 1)])
@pytest.mark.parametrize("solver", ["paper", "soft"])
def test_the_advised_lam_is_not_rounded_up(solver, dtype, seed):
    """Duplicates put λ* exactly on the edge: the number in the message must not lie above it."""
    rng = np.random.default_rng(seed)
    for different, copies, k in [(2, 2, 1), (5, 11, 2), (6, 11, 2)]:
        X = np.repeat(rng.uniform(size=(different, 4)), copies, axis=0).astype(dtype)
        model = KLSNMF(k, solver=solver, diffusion=0, random_state=seed)
        assert_advice_is_good(model, X, 1e3)


def test_the_advised_lam_leaves_a_margin():
    """Close to the edge a λ may do where a slightly smaller one does not."""
    X, _ = blobs(50, 3, 6, 338)
    assert_advice_is_good(KLSNMF(3, solver="exact", random_state=338), X, 1e12)


def test_path_warns_of_each_lam_that_collapses(seed):
    X, _ = blobs(60, 3, 6, seed)
    with pytest.warns(ConvergenceWarning) as caught:
        models = path(X, 3, lams=[0, 1e3, "auto", 1e6], random_state=seed, max_iter=3000)
    assert [note.value for note in collapses(caught)] == [1e3, 1e6]
    for model in models:
        assert_valid(model, 60)


def test_path_advises_a_lam_that_it_has_seen(seed, monkeypatch):
    """Nothing is tried for the sake of a warning where smaller λ have just been fitted."""
    X, _ = blobs(60, 3, 6, seed)
    batches = []

    def noted(problem, lams):
        batches.append(list(lams))
        return best_by_lam(problem, lams)

    for module in ("estimators.by_kernel", "solve.phases"):
        monkeypatch.setattr(f"klsnmf.{module}.best_by_lam", noted)
    lams = [1e6, 2e-3, 0, 1e-3]
    with pytest.warns(ConvergenceWarning) as caught:
        path(X, 3, lams=lams, random_state=seed, max_iter=3000)
    assert collapses(caught)[0].safe == 2e-3
    assert batches == [lams]


@pytest.mark.parametrize("graph_weight", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("init", "seed"), [("random", 0), ("auto", 1)])
@pytest.mark.parametrize("solver", ["paper", "soft"])
def test_a_graph_that_outweighs_the_rest_is_named(solver, init, graph_weight, seed):
    """The graph term alone can make G grow without bound, at λ = 0 too: then say so."""
    X, _ = blobs(40, 3, 6, seed)
    for kernel in ("self-tuning", "rbf", "cosine"):
        model = GLSNMF(3, kernel=kernel, graph_weight=graph_weight, solver=solver, init=init)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert_valid(fitted(model, X, lam=0, random_state=seed), 40)
        assert all(issubclass(w.category, ConvergenceWarning) for w in caught)
        for note in collapses(caught):
            assert (note.parameter, note.value) == ("graph_weight", graph_weight)


# ---------------------------------------------------------------------- 11: permuted samples


def assert_permuted_alike(model, X, init, seed):
    """Samples in another order, with their rows of the start, give the result in that order."""
    order = np.random.default_rng(seed).permutation(len(X))
    model = clone(model).set_params(tol=0, max_iter=40)
    plain = fitted(model, X, init=init)
    permuted = fitted(model, X[order], init=tuple(factor[order] for factor in init))
    np.testing.assert_array_equal(permuted.labels_, plain.labels_[order])
    np.testing.assert_allclose(permuted.W_, plain.W_[order], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(permuted.G_, plain.G_[order], rtol=1e-6, atol=1e-9)
    assert permuted.objective_ == pytest.approx(plain.objective_, rel=1e-9, abs=1e-9)
    assert permuted.lam_ == pytest.approx(plain.lam_, rel=1e-9)


# Diffusion makes another matrix of that of the kernel, whichever it is: sparse or dense.
@pytest.mark.parametrize(
    ("kernel", "diffusion"),
    [*((kernel, 0) for kernel in KERNELS), ("self-tuning", 4), ("linear", 4)],
)
@each_solver
def test_permuted_samples_give_a_permuted_result(solver, kernel, diffusion, seed):
    X, _ = blobs(50, 3, 6, seed)
    model = KLSNMF(3, kernel=kernel, diffusion=diffusion, solver=solver)
    assert_permuted_alike(model, X, start(50, 3, seed), seed)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_permuted_samples_of_ls_nmf(orthogonal, seed):
    X, _ = blobs(50, 3, 6, seed)
    assert_permuted_alike(LSNMF(3, orthogonal=orthogonal), X, start(50, 3, seed), seed)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_permuted_samples_of_both_signs(orthogonal, seed):
    X, y = blobs(50, 3, 6, seed)
    init = factors_of_labels(y, 3)
    assert_permuted_alike(LSNMF(3, orthogonal=orthogonal), X - X.mean(axis=0), init, seed)


def test_permuted_samples_are_diffused_as_many_steps():
    for seed in range(40, 65):
        X, _ = blobs(60, 5, 10, seed)
        order = np.random.default_rng(seed).permutation(60)
        model = KLSNMF(3, init=start(60, 3, seed), tol=0, max_iter=1)
        assert fitted(model, X).diffusion_ == fitted(model, X[order]).diffusion_, seed


# ---------------------------------------------------------------------- 12: one iteration


@each_solver
@each_method
def test_one_iteration_is_too_few(method, solver, seed):
    X, _ = blobs(40, 3, 6, seed)
    model = method(3, solver=solver, max_iter=1, random_state=seed)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 before it converged. Raise max_iter"):
        model.fit(X)
    assert model.n_iter_ == 1
    assert all(len(values) == 1 for values in model.history_.values())
    assert_valid(model, 40)


@each_solver
@each_method
def test_with_tolerance_zero_all_iterations_are_what_was_asked_for(method, solver):
    X, _ = blobs(40, 3, 6, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = method(3, solver=solver, max_iter=7, tol=0, random_state=0).fit(X)
    assert model.n_iter_ == 7


# ---------------------------------------------------------------------- 13: containers


def contained(X, container, folder):
    """The same numbers in another container, and a way to see them as an array again."""
    if container == "read-only memmap":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if container == "Fortran order":
        return np.asfortranarray(X)
    if container == "every other row":
        return np.repeat(X, 2, axis=0)[::2]
    if container == "list":
        return X.tolist()
    if container in ("pandas", "polars"):
        frames = pytest.importorskip(container)
        return frames.DataFrame({f"x{i}": X[:, i].copy() for i in range(X.shape[1])})
    if container == "integers":
        return X.astype(np.uint8)
    if container == "objects":
        return X.astype(object)
    return getattr(sparse, container)(X)


#: These come to the methods as they are.
AS_THEY_ARE = ["read-only memmap", "Fortran order", "every other row", "csr_array"]
#: These become one of those before a method sees them, in the same way for all.
CONVERTED = [
    "list",
    "pandas",
    "polars",
    "integers",
    "objects",
    "csr_matrix",
    "csc_matrix",
    "coo_array",
    "lil_matrix",
]


THIRTY = {"tol": 0, "max_iter": 30}


@cache
def of_an_array(model, row_norm):
    """Whole numbers, which are the same in every type, and a fit to them."""
    X = np.rint(10 * blobs(40, 3, 6, 0)[0])
    X[X < 10] = 0
    return X, fitted(MODELS[model], X, row_norm=row_norm, **THIRTY)


@pytest.mark.parametrize(
    ("model", "container"),
    [
        *((model, container) for model in MODELS for container in AS_THEY_ARE),
        *((model, container) for model in ("self-tuning", "LSNMF") for container in CONVERTED),
    ],
)
def test_the_container_does_not_matter(model, container, tmp_path):
    for row_norm in ("l2", None):
        X, plain = of_an_array(model, row_norm)
        other = contained(X, container, tmp_path)
        found = fitted(MODELS[model], other, row_norm=row_norm, **THIRTY)
        assert_close(found, plain, 1e-6)
        after = other.toarray() if sparse.issparse(other) else np.asarray(other, dtype=float)
        np.testing.assert_array_equal(after, X)


# ---------------------------------------------------------------------- 15: Ctrl-C


class PressesCtrlC:
    """Interrupts at the given call."""

    def __init__(self, call):
        self.call, self.calls = call, 0

    def __call__(self, progress):
        self.calls += 1
        if self.calls == self.call:
            raise KeyboardInterrupt


@each_solver
@each_method
def test_an_interrupted_fit_leaves_nothing_behind(method, solver):
    X, _ = blobs(40, 3, 6, 0)
    model = method(3, solver=solver, random_state=0, tol=0, max_iter=20, callback=PressesCtrlC(3))
    threads = threadpool_info()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.callback.calls == 3
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "labels_")
    assert threadpool_info() == threads
    model.set_params(callback=None).fit(X)
    untouched = clone(model).fit(X)
    np.testing.assert_array_equal(model.W_, untouched.W_)
    np.testing.assert_array_equal(model.labels_, untouched.labels_)


@each_method
def test_an_interrupted_second_fit_keeps_the_first(method):
    """All of it, down to the number and the names of the features."""
    pandas = pytest.importorskip("pandas")
    X, _ = blobs(40, 3, 6, 0)
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    model = method(3, random_state=0, max_iter=20, tol=0).fit(frame)
    before = {name: value for name, value in vars(model).items() if name != "callback"}
    model.set_params(callback=PressesCtrlC(3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(blobs(30, 3, 4, 1)[0])
    for name in ("labels_", "W_", "G_", "components_", "history_", "verdict_", "lam_"):
        assert getattr(model, name) is before[name], name
    np.testing.assert_array_equal(model.predict(frame), before["labels_"])
    assert model.n_features_in_ == model.components_.shape[1] == 6
    assert list(model.feature_names_in_) == list(frame.columns)


def test_an_interrupted_path_raises():
    X, _ = blobs(40, 3, 6, 0)
    with pytest.raises(KeyboardInterrupt):
        path(X, 3, lams=[0, 0.001], tol=0, max_iter=20, callback=PressesCtrlC(3))


@each_method
def test_an_error_in_the_callback_comes_out(method):
    def fails(progress):
        raise RuntimeError("no space for the log")

    model = method(3, callback=fails)
    with pytest.raises(RuntimeError, match="no space for the log"):
        model.fit(blobs(40, 3, 6, 0)[0])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


# ---------------------------------------------------------------------- 19: memory


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 10**9)


@pytest.mark.parametrize(
    "model",
    [
        KLSNMF(3, kernel="rbf", gram="dense"),
        KLSNMF(3, kernel="cosine", gram="dense"),
        KLSNMF(3, gram="dense"),
        KLSNMF(3, kernel=rbf_kernel),
    ],
    ids=["rbf", "cosine", "self-tuning", "callable"],
)
@pytest.mark.parametrize(("dtype", "size"), [(np.float64, "3.2 GB"), (np.float32, "1.6 GB")])
def test_a_kernel_matrix_too_large_is_refused_before_it_is_made(model, dtype, size, little_memory):
    X = np.ones((20_000, 3), dtype)
    tracemalloc.start()
    try:
        with pytest.raises(
            MemoryError, match=rf"20000 samples.*{size}.*1 GB.*(n_neighbors|by its name)"
        ):
            model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000**2 / 100
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_the_remedy_is_not_what_was_done_already(little_memory):
    """K of a callable is computed whole: n_neighbors does not make it smaller."""
    model = KLSNMF(3, kernel=rbf_kernel, n_neighbors=10)
    with pytest.raises(MemoryError, match=r"3\.2 GB") as caught:
        model.fit(np.ones((20_000, 3)))
    assert "Give n_neighbors" not in str(caught.value)


def test_memory_that_suffices_is_no_reason_to_refuse(monkeypatch):
    monkeypatch.setattr("klsnmf.core.memory._SMALL", 0)  # little memory is not asked about
    X, _ = blobs(100, 3, 6, 0)
    model = KLSNMF(3, kernel="rbf", gram="dense")
    size = 100**2 * 8
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 2 * size)
    assert_valid(fitted(model, X), 100)
    with pytest.raises(MemoryError, match=r"80 kB, and max_memory=5e-05 GB: raise it to 8.8e-05"):
        fitted(clone(model).set_params(max_memory=5e-5), X)
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: size)
    with pytest.raises(MemoryError):
        fitted(model, X)
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: None)  # the system does not tell
    assert_valid(fitted(model, X), 100)


def test_what_takes_another_matrix_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr("klsnmf.core.memory._SMALL", 0)  # little memory is not asked about
    X, _ = blobs(100, 3, 6, 0)
    size = 100**2 * 8
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 2 * size)
    with pytest.raises(MemoryError, match=r"sum of several kernels of 100 .* 160 kB.*one kernel"):
        fitted(KLSNMF(3, kernel=["rbf", "polynomial"], gram="dense"), X)
    K = DenseGram(rbf_kernel(X))
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: size)
    with pytest.raises(MemoryError, match=r"Diffusion of 100 samples .* 80 kB.*diffusion=0"):
        diffuse(K, 2, 3)
    with pytest.raises(MemoryError, match=r"so wide that .* 80 kB, and 80 kB of mem"):
        fitted(KLSNMF(3, kernel="rbf", radius=1e3), X.astype(np.float32))
    with pytest.raises(MemoryError, match=r"positive part of the kernel matrix .* 80 kB"):
        _ = DenseGram(-rbf_kernel(X)).positive


def test_a_sparse_kernel_needs_no_square(monkeypatch):
    """Diffusion forms K_t where that is faster, but not where there is no room for it."""
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 10**7)
    n = 2000
    X, _ = blobs(n, 3, 6, 0)
    for diffusion in (0, 2):
        model = KLSNMF(3, init="kmeans", diffusion=diffusion, tol=0, max_iter=3)
        tracemalloc.start()
        try:
            fitted(model, X, n_init=1)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * n**2, f"diffusion={diffusion}"


# ---------------------------------------------------------------------- wrong arguments


N = 20
W0, G0 = start(N, 3, 0)
A = np.ones((N, N))
WRONG_ARGUMENTS = {
    "W0 too short": (
        {"init": (W0[:-1], G0)},
        r"W0 of init has shape \(19, 3\).*\(n_samples, n_clusters\) = \(20, 3\)",
    ),
    "G0 too narrow": (
        {"init": (W0, G0[:, :2])},
        r"G0 of init has shape \(20, 2\).*\(n_samples, n_clusters\) = \(20, 3\)",
    ),
    "W0 negative": ({"init": (-W0, G0)}, r"W0 of init has negative entries.*nonnegative"),
    "G0 negative": ({"init": (W0, -G0)}, r"G0 of init has negative entries.*nonnegative"),
    "G0 with NaN": ({"init": (W0, G0 * np.nan)}, r"(?s)G0 of init contains NaN"),
    "three factors": ({"init": (W0, G0, G0)}, r"init must be a pair \(W0, G0\).*3 elements"),
    "one factor": ({"init": [W0]}, r"init must be a pair \(W0, G0\).*1 elements"),
    "unknown start": ({"init": "best"}, r"'init' parameter.*'spectral'"),
    "graph of other samples": (
        {"graph_weight": 1, "graph_neighbors": A[:9, :9]},
        r"graph_neighbors has shape \(9, 9\); a graph of 20 samples has shape \(20, 20\)",
    ),
    "graph not square": (
        {"graph_weight": 1, "graph_neighbors": sparse.csr_array(A[:9])},
        r"graph_neighbors has shape \(9, 20\)",
    ),
    "graph asymmetric": (
        {"graph_weight": 1, "graph_neighbors": np.triu(A)},
        r"graph_neighbors must be symmetric. Give \(A \+ A\.T\) / 2",
    ),
    "graph negative": (
        {"graph_weight": 1, "graph_neighbors": -A},
        r"graph_neighbors has negative weights",
    ),
    "graph with NaN": (
        {"graph_weight": 1, "graph_neighbors": A * np.nan},
        r"graph_neighbors contains NaN",
    ),
    "no neighbours": ({"graph_weight": 1, "graph_neighbors": 0}, r"'graph_neighbors' parameter"),
    "exact with a graph": (
        {"solver": "exact", "graph_weight": 0.5},
        r'solver="exact".*graph_weight=0\.5 use solver="soft" or "auto"',
    ),
    "unknown solver": ({"solver": "fast"}, r"'solver' parameter.*'paper'"),
    "lam negative": ({"lam": -0.1}, r"'lam' parameter.*range \[0\.0, inf\)"),
    "lam a word": ({"lam": "small"}, r"'lam' parameter.*'auto'"),
    "lam NaN": ({"lam": float("nan")}, r"'lam' parameter"),
    "n_clusters zero": ({"n_clusters": 0}, r"'n_clusters' parameter.*range \[1, inf\)"),
    "n_clusters above n": ({"n_clusters": 21}, r"n_samples=20 should be >= n_clusters=21"),
    "n_init zero": ({"n_init": 0}, r"'n_init' parameter"),
    "max_iter zero": ({"max_iter": 0}, r"'max_iter' parameter"),
    "tol negative": ({"tol": -1.0}, r"'tol' parameter"),
    "n_neighbors zero": ({"n_neighbors": 0}, r"'n_neighbors' parameter"),
    "row_norm l1": ({"row_norm": "l1"}, r"'row_norm' parameter.*'l2'"),
    "graph_weight negative": ({"graph_weight": -1.0}, r"'graph_weight' parameter"),
    "diffusion odd": ({"diffusion": 3}, r"diffusion=3 must be an even number"),
    "callback a word": ({"callback": "print"}, r"'callback' parameter.*callable"),
}


@pytest.mark.parametrize(
    ("params", "message"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS.keys()
)
@each_method
def test_a_wrong_argument_is_named_with_what_would_be_right(method, params, message):
    model = method(3).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(blobs(N, 3, 6, 0)[0])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


KERNEL_ERRORS = {
    "wrong shape": (lambda A, B: (A @ B.T)[:-1], r"shape \(19, 20\).*must return.*\(20, 20\)"),
    "a number": (lambda A, B: 1.0, r"shape \(\).*must return.*\(20, 20\)"),
    "a vector": (lambda A, B: A[:, 0], r"shape \(20,\).*must return.*\(20, 20\)"),
    "words": (lambda A, B: np.full((20, 20), "near"), r"type <U4.*must return real numbers"),
    "complex": (lambda A, B: A @ B.T + 0j, r"type complex128.*must return real numbers"),
    "NaN": (lambda A, B: A @ B.T * np.nan, r"kernel returned NaN or infinity.*finite"),
    "inf": (lambda A, B: A @ B.T * np.inf, r"kernel returned NaN or infinity.*finite"),
    "asymmetric": (lambda A, B: np.triu(rbf_kernel(A, B)), r"symmetric"),
}


@pytest.mark.parametrize(("kernel", "message"), KERNEL_ERRORS.values(), ids=KERNEL_ERRORS.keys())
@pytest.mark.parametrize("n_neighbors", [None, 5])
def test_a_function_that_is_no_kernel_is_refused(kernel, message, n_neighbors):
    model = KLSNMF(3, kernel=kernel, n_neighbors=n_neighbors)
    with pytest.raises(ValueError, match=message):
        model.fit(blobs(N, 3, 6, 0)[0])


def test_wrong_arguments_of_kls_nmf():
    X, _ = blobs(N, 3, 6, 0)
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match=r"'kernel' parameter.*'self-tuning'"):
        KLSNMF(3, kernel="sigmoid").fit(X)
    for radius in (0.0, -1.0, "wide"):
        with pytest.raises(ValueError, match=r"'radius' parameter.*'auto'"):
            KLSNMF(3, kernel="rbf", radius=radius).fit(X)
    with pytest.raises(ValueError, match=r'init="kmeans" needs samples.*use init="spectral"'):
        KLSNMF(3, kernel="precomputed", init="kmeans").fit(K)
    with pytest.raises(ValueError, match=r"graph_neighbors is a number.*give the graph as a mat"):
        KLSNMF(3, kernel="precomputed", graph_weight=1.0).fit(K)
    with pytest.raises(ValueError, match=r"diffusion=2 needs a kernel with no negative entry"):
        KLSNMF(3, kernel="linear", diffusion=2).fit(X - X.mean(axis=0))


def test_wrong_arguments_of_ls_nmf():
    X, _ = blobs(N, 3, 6, 0)
    for solver in ("paper", "exact"):
        with pytest.raises(ValueError, match=rf"solver='{solver}'.*orthogonal=False use solver"):
            LSNMF(3, orthogonal=False, solver=solver).fit(X)
    with pytest.raises(ValueError, match=r"graph_weight=1.*use orthogonal=True, or graph_weight=0"):
        LSNMF(3, orthogonal=False, graph_weight=1).fit(X)
    with pytest.raises(ValueError, match=r"'orthogonal' parameter"):
        LSNMF(3, orthogonal="yes").fit(X)


def test_wrong_arguments_of_path():
    X, _ = blobs(N, 3, 6, 0)
    with pytest.raises(ValueError, match="lams is empty; give at least one value"):
        path(X, 3, lams=[])
    with pytest.raises(ValueError, match="lams is empty"):
        path(X, 3, lams=iter([]))
    with pytest.raises(ValueError, match=r"'lam' parameter.*Got -1"):
        path(X, 3, lams=[0.1, -1])
    with pytest.raises(TypeError, match="solvent"):
        path(X, 3, lams=[0.1], solvent="soft")


@each_model
def test_new_samples_of_another_width_are_refused(model):
    found = fitted(model, blobs(N, 3, 6, 0)[0])
    for method in (found.predict, found.transform):
        with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 6"):
            method(np.ones((2, 4)))


# ---------------------------------------------------------------------- inputs stay as they are


def snapshot(value):
    """A deep copy to compare with, down to the order of stored entries."""
    if sparse.issparse(value):
        parts = ("data", "indices", "indptr") if value.format == "csr" else ("data", "row", "col")
        return [np.array(getattr(value, part)) for part in parts]
    return [np.array(value)]


def assert_untouched(value, before):
    for now, then in zip(snapshot(value), before, strict=True):
        np.testing.assert_array_equal(now, then)


def shuffled(matrix):
    """A CSR matrix whose rows are stored in no order."""
    matrix = sparse.csr_array(matrix)
    for first, last in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[first:last] = matrix.indices[first:last][::-1].copy()
        matrix.data[first:last] = matrix.data[first:last][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


FORMS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csr, unsorted": shuffled,
    "coo": sparse.coo_matrix,
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@each_form
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each_model
def test_samples_are_not_modified(model, dtype, form):
    for row_norm in ("l2", None):
        X = form(blobs(40, 3, 6, 0)[0].astype(dtype))
        before = snapshot(X)
        found = fitted(model, X, row_norm=row_norm, max_iter=20)
        assert_untouched(X, before)
        found.transform(X)
        found.predict(X)
        assert_untouched(X, before)


@each_form
@pytest.mark.parametrize("diffusion", [0, 2])
@each_solver
def test_a_precomputed_kernel_is_not_modified(solver, diffusion, form):
    K = rbf_kernel(blobs(40, 3, 6, 0)[0], gamma=0.1)
    K[K < 0.1] = 0
    K = form(K)
    before = snapshot(K)
    model = KLSNMF(3, kernel="precomputed", solver=solver, diffusion=diffusion)
    found = fitted(model, K, max_iter=20)
    assert_untouched(K, before)
    found.transform(K)
    assert_untouched(K, before)


@each_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_is_not_modified(solver, dtype):
    X = blobs(40, 3, 6, 0)[0].astype(dtype)
    init = tuple(factor.astype(dtype) for factor in start(40, 3, 0))
    before = [snapshot(factor) for factor in init]
    for model in (KLSNMF(3, solver=solver), LSNMF(3, solver=solver)):
        found = fitted(model, X, init=init, max_iter=20)
        for factor, then in zip(init, before, strict=True):
            assert_untouched(factor, then)
            assert not np.shares_memory(factor, found.W_)
            assert not np.shares_memory(factor, found.G_)


@each_form
@pytest.mark.parametrize("solver", ["paper", "soft"])
def test_a_graph_is_not_modified(solver, form):
    X, _ = blobs(40, 3, 6, 0)
    graph = form((rbf_kernel(X, gamma=0.1) > 0.3).astype(float))
    before = snapshot(graph)
    fitted(GLSNMF(3, graph_neighbors=graph, graph_weight=0.01, solver=solver), X, max_iter=20)
    assert_untouched(graph, before)


def test_a_function_cannot_be_surprised():
    """What a kernel function returns may be its own: it is not written to."""
    X, _ = blobs(40, 3, 6, 0)
    K = rbf_kernel(X, gamma=0.1)
    before = K.copy()
    fitted(KLSNMF(3, kernel=lambda A, B: K), X, max_iter=20)
    np.testing.assert_array_equal(K, before)


# ---------------------------------------------------------------------- callback and verbose


@each_solver
@each_method
def test_a_callback_is_told_of_the_progress(method, solver):
    X, _ = blobs(40, 3, 6, 0)
    seen = []
    model = method(3, solver=solver, n_init=3, tol=0, max_iter=8, random_state=0)
    model.set_params(callback=seen.append).fit(X)
    assert len(seen) == model.n_iter_ == 8
    for progress in seen:
        assert 1 <= progress.iteration <= progress.max_iter <= 8
        assert 0 <= progress.running <= progress.fits <= 3
        assert np.isfinite(progress.objective)
    assert min(p.objective for p in seen) >= min(model.history_["objective"]) - 1e-9


class StopsAt:
    """Says stop once, at the given call, and never again."""

    def __init__(self, call):
        self.call, self.calls = call, 0

    def __call__(self, progress):
        self.calls += 1
        return self.calls == self.call


@pytest.mark.parametrize("max_iter", [50, 6, 3])
@each_solver
@each_method
def test_a_callback_that_returns_true_stops_the_fit(method, solver, max_iter):
    """At once. Where "auto" is at λ = 0 yet it takes one step with λ: the objective is f then."""
    X, _ = blobs(40, 3, 6, 0)
    stop = StopsAt(3)
    options = {"solver": solver, "tol": 0, "max_iter": max_iter, "random_state": 0}
    model = method(3, **options, callback=stop).fit(X)
    assert stop.calls == 3
    exact = 3 if max_iter > 3 else 1  # iterations at λ = 0, by "auto"
    phases = ["exact"] * exact + ["local"] * max(1, 3 - exact) if solver == "auto" else [solver] * 3
    assert list(model.history_["solver"]) == phases
    if max_iter == 50:
        assert "stopped by the callback" in model.verdict_
    assert_valid(model, 40)
    exactly = method(3, **options).fit(X)
    np.testing.assert_allclose(
        model.history_["objective"][:3], exactly.history_["objective"][:3], rtol=1e-9
    )


@pytest.mark.parametrize("answer", [None, False])
def test_a_callback_that_does_not_return_true_changes_nothing(answer):
    X, _ = blobs(40, 3, 6, 0)
    with threadpool_limits(1):
        plain = fitted(KLSNMF(3), X)
        watched = fitted(KLSNMF(3, callback=lambda progress: answer), X)
    np.testing.assert_array_equal(plain.W_, watched.W_)
    assert plain.n_iter_ == watched.n_iter_


@each_solver
@each_method
def test_verbose_prints_and_is_quiet_otherwise(method, solver, capsys):
    X, _ = blobs(40, 3, 6, 0)
    model = method(3, solver=solver, tol=0, max_iter=50, random_state=0)
    model.fit(X)
    assert capsys.readouterr().out == ""
    seen = []
    model.set_params(verbose=1, callback=seen.append).fit(X)
    printed = capsys.readouterr().out.splitlines()
    assert printed
    phases = ["exact", "local"] if solver == "auto" else [solver]
    for phase in phases:
        assert any(
            re.match(rf"{phase}: iteration 10 of at most \d+, \d of \d", line) for line in printed
        )
    assert seen


@pytest.mark.parametrize("seed_of_start", [57, 69])
def test_permuted_samples_when_a_column_begins_again(seed_of_start):
    """From these starts a column of G runs empty, and several samples are not explained at all."""
    X, _ = blobs(50, 3, 6, seed_of_start)
    start_of_both = start(50, 3, seed_of_start)
    assert_permuted_alike(LSNMF(3), X - X.mean(axis=0), start_of_both, seed_of_start)


@pytest.mark.parametrize("method", ["kls-nmf", "ls-nmf", "semi-nmf", "gnmf", "cnmf"])
def test_missing_values_are_named_with_what_to_do(method):
    X = np.ones((20, 4))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN, and \w+ does not accept missing.*WNMF"):
        METHODS[method](2).fit(X)


def test_a_kernel_matrix_with_gaps_or_of_distances_is_told_what_to_do():
    X, _ = blobs(20, 3, 6, 0)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    with pytest.raises(ValueError, match="If X is a matrix of distances"):
        KLSNMF(3, kernel="precomputed").fit(D)
    D[2, 3] = np.nan
    with pytest.raises(ValueError, match="Compute them from samples without gaps"):
        KLSNMF(3, kernel="precomputed").fit(D)
