"""The family under bad input, faults and odd sizes; sections numbered as in test_reliability."""

import re
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

from klsnmf import CNMF, GNMF, KNMF, ONMF, RMNMF, WNMF, KernelKMeans, SemiNMF
from klsnmf.metrics import accuracy

from ..helpers import blobs
from .test_reliability import (
    AS_THEY_ARE,
    CONVERTED,
    NOT_NUMBERS,
    contained,
    degenerate,
    fit_or_refusal,
)

# Whether a short fit has converged, with samples in all clusters, and whether there are as many
# features as clusters, matters in some tests only.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{message}:sklearn.exceptions.ConvergenceWarning")
    for message in (
        ".*before it converged",
        r"Only \d+ of n_clusters",
        "Number of distinct",
        r"n_clusters=\d+ is more than the",
    )
]

MODELS = {
    "WNMF": WNMF(3),
    "WNMF, k-means labels": WNMF(3, labels="kmeans"),
    "ONMF": ONMF(3),
    "SemiNMF": SemiNMF(3),
    "GNMF": GNMF(3),
    "GNMF, k-means labels": GNMF(3, labels="kmeans"),
    "RMNMF": RMNMF(3),
    "RMNMF, k-means labels": RMNMF(3, labels="kmeans"),
    "CNMF": CNMF(3),
    "CNMF, raw": CNMF(3, row_norm=None, labels="kmeans"),
    "KNMF": KNMF(3),
    "KNMF, rbf": KNMF(3, kernel="rbf"),
    "KernelKMeans": KernelKMeans(3),
    "KernelKMeans, linear": KernelKMeans(3, kernel="linear", row_norm=None),
}
OF_KERNELS = (CNMF, KNMF, KernelKMeans)
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
each_method = pytest.mark.parametrize(
    "method", [WNMF, ONMF, SemiNMF, GNMF, RMNMF, CNMF, KNMF, KernelKMeans]
)


def fitted(model, X, **params):
    return (
        clone(model).set_params(n_init=2, random_state=0, max_iter=60).set_params(**params).fit(X)
    )


def assert_valid(model, X):
    """Labels are in use from 0 on, and every number is finite."""
    n, k = X.shape[0], model.n_clusters
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype.kind == "i"
    assert set(model.labels_) == set(range(model.labels_.max() + 1))
    assert model.labels_.max() < k
    assert model.G_.shape == (n, k)
    assert (model.G_ >= 0).all()
    assert np.isfinite(model.G_).all()
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.history_["objective"]).all()
    assert len(model.history_["objective"]) == model.n_iter_
    assert model.verdict_
    new, labels = model.transform(X), model.predict(X)
    assert np.isfinite(new).all()
    assert new.dtype == model.G_.dtype
    assert set(labels) <= set(range(k))


# ---------------------------------------------------------------------- 5: degenerate samples


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
    X = degenerate(kind, 0)
    assert_valid(fitted(model, X), X)


@each_method
def test_nothing_but_zeros(method):
    X = np.zeros((10, 3))
    if method in (KNMF, KernelKMeans):  # to the self-tuning kernel they are duplicates
        assert_valid(fitted(method(2), X), X)
        return
    with pytest.raises(ValueError, match="nothing to factorize"):
        fitted(method(2), X)


@pytest.mark.parametrize("method", [KNMF, KernelKMeans])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_an_isolated_sample(method, form):
    X, _ = blobs(40, 3, 6, 0)
    K = rbf_kernel(X, gamma=0.1)
    K[K < 0.05] = 0
    K[7] = K[:, 7] = 0
    K[7, 7] = 1
    model = fitted(method(3, kernel="precomputed"), form(K))
    assert np.isfinite(model.G_).all()
    assert model.labels_.max() < 3


@pytest.mark.parametrize("method", [GNMF, RMNMF])
def test_a_sample_without_neighbours(method):
    X, _ = blobs(40, 3, 6, 0)
    A = rbf_kernel(X, gamma=0.1)
    A[7] = A[:, 7] = 0
    assert_valid(fitted(method(3, graph_neighbors=A), X), X)


# ---------------------------------------------------------------------- 6: huge and tiny data


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, 1e-150), (np.float64, 1e150), (np.float32, 1e-30), (np.float32, 1e30)],
)
@each_model
def test_huge_and_tiny_data(model, dtype, factor):
    X, _ = blobs(60, 3, 6, 0)
    scaled = (X * factor).astype(dtype)
    found = fit_or_refusal(model, scaled)
    if isinstance(found, ValueError):
        assert re.search(r"([Dd]ivide|[Mm]ultiply) X by a constant|[Ll]ook at X", str(found))
        assert isinstance(model, OF_KERNELS)
        assert model.row_norm != "l2"
        return
    assert_valid(found, scaled)
    if not isinstance(model, RMNMF):  # its α has the unit of X
        plain = fit_or_refusal(model, X.astype(dtype))
        np.testing.assert_array_equal(found.labels_, plain.labels_)
        np.testing.assert_array_equal(found.predict(scaled), plain.predict(X.astype(dtype)))
    rescaled = found.components_ / np.asarray(factor, dtype)
    assert 0.1 < np.abs(found.G_ @ rescaled).mean() < 10 or isinstance(model, OF_KERNELS)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("dtype", "largest"),
    [(np.float32, 3.4e38), (np.float32, 1e-44), (np.float64, 1.7e308), (np.float64, 1e-322)],
)
@each_model
def test_data_at_the_edges_of_their_type(model, dtype, largest, form):
    """A result without NaN and infinity, or a sentence; the unit of such data is a number too."""
    X, _ = blobs(40, 3, 6, 0)
    X = (X / X.max() * largest).astype(dtype)
    found = fit_or_refusal(model, form(X))
    if isinstance(found, ValueError):
        assert re.search(r"([Dd]ivide|[Mm]ultiply) (X|it) by a constant", str(found))
        return
    assert_valid(found, X)
    for values in (*found.history_.values(), getattr(found, "radius_", 1.0)):
        if np.asarray(values).dtype.kind == "f":
            assert np.isfinite(values).all()


@pytest.mark.parametrize("method", [WNMF, ONMF, SemiNMF, GNMF])
def test_an_objective_that_overflows_is_refused_in_words(method):
    X = np.random.default_rng(0).integers(0, 20000, (30, 5)) * 1e152
    with pytest.raises(ValueError, match="divide X by a constant"):
        fitted(method(3), X)


def test_samples_of_very_different_lengths():
    X, _ = blobs(40, 3, 6, 0)
    X[::2] *= 1e-160
    assert_valid(fitted(RMNMF(3), X), X)


def test_the_objective_has_the_unit_of_the_data():
    X, _ = blobs(60, 3, 6, 0)
    for model, factor in ((WNMF(3), 4.0**50), (GNMF(3), 4.0**50), (SemiNMF(3), 4.0**50)):
        a, b = fitted(model, X), fitted(model, X * 2.0**50)
        assert b.objective_ == pytest.approx(a.objective_ * factor)
    a, b = fitted(RMNMF(3), X), fitted(RMNMF(3, graph_weight=2.0**50), X * 2.0**50)
    assert b.objective_ == pytest.approx(a.objective_ * 2.0**50)


# ---------------------------------------------------------------------- 7: not numbers


@pytest.mark.parametrize(("X", "message"), NOT_NUMBERS.values(), ids=NOT_NUMBERS.keys())
@each_method
def test_what_is_not_a_table_of_numbers_is_refused(method, X, message):
    if method is WNMF and "NaN" in message:
        assert_valid(fitted(WNMF(2), X), X)
        return
    model = method(2)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [WNMF, ONMF, GNMF])
def test_signed_data_into_a_nonnegative_method(method, form):
    X, _ = blobs(20, 3, 6, 0)
    message = rf"Negative values in data passed to {method.__name__}: .* is -0\.25. Use SemiNMF"
    X[3, 2] = -0.25
    with pytest.raises(ValueError, match=message):
        method(2).fit(form(X))
    model = fitted(method(2), np.abs(X))
    with pytest.raises(ValueError, match=message):
        model.predict(form(X))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.eye(20, 6), r"weights has negative entries, the smallest is -1; .*nonnegative"),
        (np.ones((6, 20)), r"weights has shape \(6, 20\); it must be that of X, \(20, 6\)"),
        (np.full((20, 6), np.nan), r"Input weights contains NaN"),
        (np.zeros((20, 6)), r"nothing to factorize"),
        (np.ones(20), r"weights has shape \(20,\); it must be that of X, \(20, 6\)"),
        (np.full((20, 6), 1e308), r"weights has entries up to 1e\+308; divide it by a constant"),
        (np.full((20, 6), 1e-300), r"weights has no entry above 1e-300; multiply it by a constant"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*no known entry")
def test_weights_that_are_none(weights, message):
    X, _ = blobs(20, 3, 6, 0)
    model = WNMF(3)
    with pytest.raises(ValueError, match=message):
        model.fit(X, weights=weights)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_weights_in_the_place_of_y_are_not_ignored():
    X, _ = blobs(20, 3, 6, 0)
    with pytest.raises(ValueError, match=r"weights are given by name, fit\(X, weights=...\)"):
        WNMF(3).fit(X, np.ones_like(X))


def test_new_samples_without_any_known_entry_are_named():
    X, _ = blobs(20, 3, 6, 0)
    model = fitted(WNMF(3), X)
    before = model.predict(X)
    X[2] = np.nan
    with pytest.warns(UserWarning, match="1 of the new samples have no known entry"):
        labels = model.predict(X)
    np.testing.assert_array_equal(np.delete(labels, 2), np.delete(before, 2))


def test_weights_too_small_to_compute_with_are_none():
    X, _ = blobs(20, 3, 6, 0)
    weights = np.ones((20, 6))
    weights[4] = 1e-300
    with pytest.warns(UserWarning, match="1 of the samples in X have no known entry"):
        model = WNMF(3, random_state=0).fit(X, weights=weights)
    weights[4] = 0
    with pytest.warns(UserWarning, match="1 of the samples in X have no known entry"):
        same = WNMF(3, random_state=0).fit(X, weights=weights)
    np.testing.assert_array_equal(model.G_, same.G_)


@pytest.mark.parametrize("method", [GNMF, RMNMF])
@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((19, 19)), r"graph_neighbors has shape \(19, 19\).*\(20, 20\)"),
        (np.triu(np.ones((20, 20))), r"graph_neighbors must be symmetric. Give \(A \+ A\.T\) / 2"),
        (-np.ones((20, 20)), r"graph_neighbors has negative weights"),
        (np.full((20, 20), np.nan), r"Input graph_neighbors contains NaN"),
        (np.full((20, 20), 1e308), r"graph_neighbors has entries up to 1e\+308; divide it"),
    ],
)
def test_graphs_that_are_none(method, graph, message):
    X, _ = blobs(20, 3, 6, 0)
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=message):
            method(3, graph_neighbors=form(graph)).fit(X)


@pytest.mark.parametrize("method", [GNMF, RMNMF])
def test_a_graph_of_one_dimension(method):
    with pytest.raises(ValueError, match=r"graph_neighbors has shape \(20,\)"):
        method(3, graph_neighbors=np.ones(20)).fit(blobs(20, 3, 6, 0)[0])


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ((np.ones((20, 3)),), r"init must be a pair \(G0, F0\)"),
        ((np.ones((20, 2)), np.ones((6, 3))), r"G0 of init has shape \(20, 2\).*\(20, 3\)"),
        ((np.ones((20, 3)), np.ones((3, 6))), r"F0 of init has shape \(3, 6\).*\(6, 3\)"),
        ((-np.ones((20, 3)), np.ones((6, 3))), r"G0 of init has negative entries"),
        ((np.ones((20, 3)), -np.ones((6, 3))), r"F0 of init has negative entries"),
        ((np.zeros((20, 3)), np.ones((6, 3))), r"G0 of init is zero everywhere"),
    ],
)
def test_starts_that_are_none(init, message):
    X, _ = blobs(20, 3, 6, 0)
    with pytest.raises(ValueError, match=message):
        WNMF(3, init=init).fit(X)


# ---------------------------------------------------------------------- gaps


@pytest.mark.filterwarnings("ignore:1 of the new samples")
@pytest.mark.parametrize("labels", ["argmax", "kmeans"])
def test_samples_and_features_without_a_known_entry(labels):
    """A row of zeros in G_ and the label of most samples; a column of zeros in components_."""
    X, _ = blobs(40, 3, 6, 0)
    X[4], X[:, 2] = np.nan, np.nan
    model = WNMF(3, random_state=0, n_init=2, labels=labels)
    with pytest.warns(UserWarning, match="no known entry of positive weight") as caught:
        model.fit(X)
    said = [str(w.message) for w in caught if "no known" in str(w.message)]
    assert said[0].startswith("1 of the samples in X")
    assert said[1].startswith("1 of the features in X")
    assert_valid(model, X)
    assert not model.G_[4].any()
    assert not model.components_[:, 2].any()
    assert model.labels_[4] == np.argmax(np.bincount(np.delete(model.labels_, 4)))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(ValueError, match="no known entry other than zero"):
        WNMF(2).fit(np.full((5, 3), np.nan))


def test_samples_without_a_known_entry_are_no_cluster():
    """The trap: many of them became a cluster of k-means, and all others were k - 1."""
    X, y = blobs(60, 3, 6, 0)
    X[::4] = np.nan
    model = WNMF(3, random_state=0, n_init=2, labels="kmeans")
    with pytest.warns(UserWarning, match="15 of the samples"):
        model.fit(X)
    known = ~np.isnan(X[:, 0])
    assert accuracy(y[known], model.labels_[known]) == 1
    assert len(set(model.labels_[~known])) == 1


@pytest.mark.parametrize("labels", ["argmax", "kmeans"])
@pytest.mark.parametrize("method", [CNMF, lambda k, **o: KNMF(k, kernel="linear", **o)])
def test_samples_of_zeros_go_where_most_are(method, labels):
    X, _ = blobs(50, 3, 6, 0)
    X = np.concatenate([np.zeros((2, 6)), X, X[30:]])
    model = method(3, n_init=2, labels=labels, random_state=0).fit(X)
    most = np.argmax(np.bincount(model.labels_[2:]))
    assert list(model.labels_[:2]) == [most, most]
    np.testing.assert_array_equal(model.predict(X[:2]), [most, most])


def test_a_sparse_matrix_with_gaps_or_weights():
    X, _ = blobs(30, 3, 6, 0)
    X[X < 1] = 0
    X[3, 0] = np.nan
    a, b = fitted(WNMF(3), X), fitted(WNMF(3), sparse.csr_array(X))
    np.testing.assert_allclose(a.G_, b.G_)
    X[3, 0] = 0
    weights = np.random.default_rng(0).random(X.shape)
    model = WNMF(3, random_state=0, max_iter=30)
    a = clone(model).fit(X, weights=weights)
    b = clone(model).fit(sparse.csr_matrix(X), weights=weights)
    np.testing.assert_allclose(a.G_, b.G_)
    np.testing.assert_array_equal(model.fit_predict(X, weights=weights), a.labels_)
    c = clone(model).fit(X, weights=sparse.csr_array(weights))
    np.testing.assert_array_equal(a.G_, c.G_)


# ---------------------------------------------------------------------- 8: precomputed kernels


@pytest.mark.parametrize("method", [KNMF, KernelKMeans])
def test_a_matrix_that_is_no_kernel_is_refused(method):
    K = rbf_kernel(blobs(20, 3, 6, 0)[0], gamma=0.1)
    model = method(3, kernel="precomputed")
    with pytest.raises(ValueError, match="must be square"):
        model.fit(K[:, :12])
    K[2, 5] += 0.1
    with pytest.raises(ValueError, match="must be symmetric"):
        model.fit(K)
    K[2, 5] = K[5, 2] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(K)


# ---------------------------------------------------------------------- 9: odd sizes


@pytest.mark.parametrize(("n", "k"), [(12, 1), (12, 12), (12, 11), (2, 2), (3, 2), (1, 1)])
@each_model
def test_odd_sizes(model, n, k):
    X = blobs(12, 3, 6, 0)[0][:n]
    for init in ("kmeans", "random"):
        found = fitted(model, X, n_clusters=k, init=init)
        assert_valid(found, X)
        if k == 1:
            assert not found.labels_.any()


@each_method
@pytest.mark.parametrize(("n", "k"), [(5, 6), (1, 2)])
def test_more_clusters_than_samples_are_refused(method, n, k):
    with pytest.raises(ValueError, match=rf"n_samples={n} should be >= n_clusters={k}"):
        method(k).fit(np.ones((n, 4)))


# ---------------------------------------------------------------------- 10: no collapse


@pytest.mark.parametrize("method", [GNMF, RMNMF])
@pytest.mark.parametrize("graph_weight", [0.0, 1e-6, 1e6, 1e12])
def test_a_graph_of_any_weight(method, graph_weight):
    """Neither method has a weight beyond which it blows up."""
    X, _ = blobs(40, 3, 6, 0)
    assert_valid(fitted(method(3, graph_weight=graph_weight), X, max_iter=300), X)


# ---------------------------------------------------------------------- 11: permuted samples


@each_model
def test_permuted_samples_give_a_permuted_result(model):
    rng = np.random.default_rng(0)
    X, y = blobs(50, 3, 6, 0)
    order = rng.permutation(50)
    G, F = np.eye(3)[y] + rng.uniform(0.1, 0.2, size=(50, 3)), rng.random((6, 3))
    pairs = (G, F), (G[order], F)
    if isinstance(model, OF_KERNELS):
        pairs = (G / 50, G), (G[order] / 50, G[order])
    options = {"tol": 0, "max_iter": 40}
    plain = fitted(model, X, init=pairs[0], **options)
    permuted = fitted(model, X[order], init=pairs[1], **options)
    # Where a fit has converged, rounding decides which of its last iterates is the lowest.
    np.testing.assert_allclose(permuted.G_, plain.G_[order], rtol=1e-4, atol=1e-6)
    assert permuted.objective_ == pytest.approx(plain.objective_, rel=1e-9, abs=1e-9)
    labels = permuted.labels_, plain.labels_[order]
    if getattr(model, "labels", None) == "kmeans":  # numbered as samples come
        labels = (np.equal.outer(found, found) for found in labels)
    np.testing.assert_array_equal(*labels)


# ---------------------------------------------------------------------- 12: one iteration


@each_method
def test_one_iteration_is_too_few(method):
    X, _ = blobs(40, 3, 6, 0)
    model = method(3, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 before it converged") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1
    assert all(len(values) == 1 for values in model.history_.values())
    assert_valid(model, X)


@each_method
def test_with_tolerance_zero_all_iterations_are_what_was_asked_for(method):
    X, _ = blobs(40, 3, 6, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = method(3, max_iter=7, tol=0, random_state=0).fit(X)
    assert model.n_iter_ == 7


# ---------------------------------------------------------------------- 13: containers


MANY = {"tol": 0, "max_iter": 200}


@cache
def of_an_array(model):
    """Whole numbers, which are the same in every type, and a fit to them."""
    X = np.rint(10 * blobs(40, 3, 6, 0)[0])
    X[X < 10] = 0
    return X, fitted(MODELS[model], X, **MANY)


@pytest.mark.parametrize(
    ("model", "container"),
    [
        *((model, container) for model in MODELS for container in AS_THEY_ARE),
        *((model, container) for model in ("WNMF", "KNMF") for container in CONVERTED),
    ],
)
def test_the_container_does_not_matter(model, container, tmp_path):
    X, b = of_an_array(model)
    other = contained(X, container, tmp_path)
    # The faster solver takes more steps for a product where products are dear, as sparse ones are:
    # the way is another, the end is the same.
    a = fitted(MODELS[model], other, **MANY)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.G_, b.G_, rtol=0, atol=1e-4)
    after = other.toarray() if sparse.issparse(other) else np.asarray(other, dtype=float)
    np.testing.assert_array_equal(after, X)


@each_model
def test_entries_of_a_sparse_matrix_may_come_in_parts(model):
    """Each entry as the sum of 2 x and -x, and with indices of 64 bits."""
    X, _ = blobs(30, 3, 6, 0)
    whole = sparse.csr_array(X)
    data = np.repeat(whole.data, 2) * np.tile([2, -1], whole.nnz)
    indices, indptr = np.repeat(whole.indices, 2), 2 * whole.indptr
    parts = sparse.csr_array((data, indices, indptr), shape=X.shape)
    parts.indices, parts.indptr = indices.astype(np.int64), indptr.astype(np.int64)
    np.testing.assert_allclose(parts.toarray(), X)
    options = {"tol": 0, "max_iter": 20}
    a, b = fitted(model, parts, **options), fitted(model, whole, **options)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.G_, b.G_, rtol=0, atol=1e-6)
    assert a.objective_ == pytest.approx(b.objective_, abs=1e-9)


@each_model
def test_float32_is_float64_but_for_rounding(model):
    X, _ = blobs(60, 3, 6, 0)
    options = {"tol": 0, "max_iter": 60}
    a, b = fitted(model, X, **options), fitted(model, X.astype(np.float32), **options)
    assert a.G_.dtype == a.components_.dtype == a.transform(X).dtype == np.float64
    assert b.G_.dtype == b.components_.dtype == np.float32
    assert b.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(a.labels_, b.labels_)
    # Near a solution the objective is flat: there float32 cannot tell factors apart so well.
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-3)
    np.testing.assert_allclose(a.G_, b.G_, rtol=0, atol=2e-3)


@each_method
def test_a_failed_second_fit_keeps_the_first(method):
    X, _ = blobs(40, 3, 6, 0)
    model = fitted(method(3), X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit(X[:2, :4])
    assert vars(model) == before
