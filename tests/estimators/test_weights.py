"""Weights of samples: a weight of 2 is the sample twice, for every method."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf import CNMF, GLSNMF, GNMF, KLSNMF, KNMF, LSNMF, ONMF, RMNMF, WNMF, KernelKMeans, SemiNMF
from klsnmf.io.model_file import load, save

from ..helpers import blobs
from ..naive import weights as naive

#: What fits of a given number of steps say about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SEEDS = range(3)

RBF = {"kernel": "rbf", "radius": 2.0}


def function(X, Y):
    return rbf_kernel(X, Y, gamma=0.1)


KERNELS = [RBF, *({"kernel": kernel} for kernel in ("linear", "cosine", "polynomial", function))]


def name_of(given):
    """The same in every process, which the text of a function is not."""
    return getattr(given["kernel"], "__name__", given["kernel"])


def noisy(seed, n=40, p=5, k=3):
    """Clusters that touch, so that every entry of W and G counts."""
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, p)) + 1.5 * np.eye(k, p)[rng.integers(k, size=n)]


def drawn(seed, n=40, least=0):
    """Weights from this one to 3, and each row of X as often."""
    weight = np.random.default_rng(100 + seed).integers(least, 4, n)
    weight[:3] = 1, 2, 3
    return weight, np.repeat(np.arange(n), weight)


def given(seed, weight, k=3):
    """A start for samples, and the same for copies."""
    rng, rows = np.random.default_rng(200 + seed), np.repeat(np.arange(len(weight)), weight)
    W, G = rng.random((2, len(weight), k)) + 0.1
    return (W * weight[:, None], G), (W[rows], G[rows])


def same(a, b, rows, rtol=1e-7):
    """Whether a fit with weights is that of the copies."""
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
    assert a.n_iter_ == b.n_iter_
    np.testing.assert_array_equal(a.labels_[rows], b.labels_)
    np.testing.assert_allclose(a.strengths_[rows], b.strengths_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(a.components_, b.components_, rtol=rtol, atol=1e-9)


# ---------------------------------------------------------------------- kernels of all pairs


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lam", [0.0, 0.001])
@pytest.mark.parametrize("solver", ["exact", "auto", "soft", "paper"])
@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
def test_a_weight_of_two_is_the_sample_twice_with_kernels(kernel, solver, lam, seed):
    X, (weight, rows) = noisy(seed), drawn(seed)
    weighted, copies = given(seed, weight)
    how = {"solver": solver, "lam": lam, "tol": 0, "max_iter": 12, "row_norm": None, **kernel}
    a = KLSNMF(3, init=weighted, **how).fit(X, sample_weight=weight)
    b = KLSNMF(3, init=copies, **how).fit(X[rows])
    same(a, b, rows)
    there = np.flatnonzero(weight)
    whose = np.searchsorted(there, rows)
    np.testing.assert_allclose(a.G_[whose], b.G_, rtol=1e-7, atol=1e-12)
    all_copies = np.stack([np.bincount(rows, column, len(X)) for column in b.W_.T], axis=1)
    np.testing.assert_allclose(a.W_, all_copies[there], rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "method",
    [
        LSNMF(3, init="kmeans", regroup=False),
        LSNMF(3, init="kmeans", orthogonal=False, max_iter=50),
        KLSNMF(3, init="kmeans", regroup=False, gram="tiled", **RBF),
        KLSNMF(3, init="kmeans", regroup=False, gram="low-rank", kernel="linear"),
        KernelKMeans(3, init="kmeans", **RBF),
        CNMF(3, init="kmeans", tol=1e-6),
        KNMF(3, init="kmeans", tol=1e-6, **RBF),
        KNMF(3, init="kmeans", max_iter=50, solver="multiplicative", **RBF),
    ],
    ids=repr,
)
def test_starts_are_those_of_the_copies(method, seed):
    """By k-means. From eigenvectors they are drawn with other random numbers."""
    X, (weight, rows) = noisy(seed), drawn(seed)
    a = method.set_params(random_state=seed).fit(X, sample_weight=weight)
    at, labels, places = a.objective_, a.labels_[rows], a.transform(X)
    b = method.fit(X[rows])
    assert at == pytest.approx(b.objective_, rel=1e-5)
    np.testing.assert_array_equal(labels, b.labels_)
    np.testing.assert_allclose(places, b.transform(X), atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
def test_rounds_of_kernel_kmeans_are_those_of_the_copies(kernel, seed):
    """From any clusters, also where there are none to find."""
    X, (weight, rows) = np.random.default_rng(seed).random((40, 3)), drawn(seed)
    G = np.eye(5)[np.random.default_rng(seed).integers(5, size=40)]
    how = {"row_norm": None, "tol": 0, "max_iter": 3, **kernel}
    a = KernelKMeans(5, init=(G, G), **how).fit(X, sample_weight=weight)
    b = KernelKMeans(5, init=(G[rows], G[rows]), **how).fit(X[rows])
    same(a, b, rows)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", [*KERNELS, {"kernel": "precomputed"}], ids=name_of)
def test_clear_clusters_are_found_from_any_start(kernel, seed):
    X, _ = blobs(60, 3, 6, seed)
    weight, rows = drawn(seed, 60, least=1)
    precomputed = kernel["kernel"] == "precomputed"
    K = function(X, X)
    a, b = (KLSNMF(3, random_state=seed, **kernel) for _ in range(2))
    a.fit(K if precomputed else X, sample_weight=weight)
    b.fit(K[np.ix_(rows, rows)] if precomputed else X[rows])
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
    assert a.lam_ == pytest.approx(b.lam_, rel=1e-9)
    np.testing.assert_array_equal(a.labels_[rows], b.labels_)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lam", [0.0, 0.01])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_any_weights(form, lam, seed):
    """The objective is that of the definition, and the theorems hold with weights."""
    X, rng = noisy(seed), np.random.default_rng(seed)
    weight = rng.exponential(size=len(X))
    K = function(X, X)
    model = KLSNMF(3, kernel="precomputed", lam=lam, random_state=seed)
    model.fit(form(K), sample_weight=weight)
    W, G = model.W_, model.G_
    assert model.objective_ == pytest.approx(naive.objective(K, W, G, weight, lam), rel=1e-9)
    np.testing.assert_allclose(G.T @ (weight[:, None] * G), np.eye(3), atol=1e-9)
    if lam == 0:
        np.testing.assert_allclose(W, weight[:, None] * G, rtol=1e-7)
    objectives = model.history_["objective"]
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).sum() >= len(objectives) - 2


@pytest.mark.parametrize("seed", SEEDS)
def test_only_proportions_of_weights_matter(seed):
    X, weight = noisy(seed), np.random.default_rng(seed).exponential(size=40)
    model = KLSNMF(3, random_state=seed, init="kmeans", **RBF)
    a = model.fit(X, sample_weight=weight)
    labels, objective = a.labels_, a.objective_
    b = model.fit(X, sample_weight=8 * weight)
    np.testing.assert_array_equal(labels, b.labels_)
    assert b.objective_ == pytest.approx(8 * objective, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_single_precision(seed):
    X, _ = blobs(60, 3, 6, seed)
    weight, rows = drawn(seed, 60)
    X = X.astype(np.float32)
    a = KLSNMF(3, random_state=0, **RBF).fit(X, sample_weight=weight)
    b = KLSNMF(3, random_state=0, **RBF).fit(X[rows])
    assert a.W_.dtype == a.G_.dtype == np.float32
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-4)
    np.testing.assert_array_equal(a.labels_[rows], b.labels_)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_graph_of_ones_own(seed):
    """Weights need not be whole numbers then; with whole ones it is the graph of the copies."""
    X, (weight, rows) = noisy(seed), drawn(seed, least=1)
    A = np.random.default_rng(seed).random((40, 40)) < 0.2
    A = (A | A.T).astype(float)
    weighted, copies = given(seed, weight)
    how = {"graph_weight": 0.1, "tol": 0, "max_iter": 12, "lam": 0.001, **RBF}
    a = GLSNMF(3, init=weighted, graph_neighbors=A, **how).fit(X, sample_weight=weight)
    b = GLSNMF(3, init=copies, graph_neighbors=A[np.ix_(rows, rows)], **how).fit(X[rows])
    same(a, b, rows)
    GLSNMF(3, graph_neighbors=A, **how).fit(X, sample_weight=weight + 0.5)


def test_an_empty_cluster_begins_again_where_that_of_the_copies_does():
    X, (weight, rows) = noisy(0), drawn(0, least=1)
    for method in (KLSNMF(4, solver="exact", lam=0.0, **RBF), KernelKMeans(4, **RBF)):
        G = np.eye(4)[np.arange(40) % 3]  # nobody is in the fourth
        a = method.set_params(init=(weight[:, None] * G, G)).fit(X, sample_weight=weight)
        labels, objective = a.labels_, a.objective_
        b = method.set_params(init=(G[rows], G[rows])).fit(X[rows])
        np.testing.assert_array_equal(labels[rows], b.labels_)
        assert objective == pytest.approx(b.objective_, rel=1e-9)
        assert len(np.unique(labels)) == 4


# ---------------------------------------------------------------------- where copies are made


COUNTING = [
    KLSNMF(3),
    KLSNMF(3, n_neighbors=None),
    KLSNMF(3, kernel="rbf"),
    KLSNMF(3, kernel=["rbf", "linear"]),
    KLSNMF(3, kernel="linear", n_neighbors=5),
    KLSNMF(3, kernel="rbf", radius=2.0, diffusion=2),
    KLSNMF(3, outliers="label", **RBF),
    KLSNMF("auto"),
    KLSNMF("auto", **RBF),
    GLSNMF(3, **RBF),
    KernelKMeans(3),
    KNMF(3),
    CNMF(3, labels="kmeans"),
    GNMF(3),
    RMNMF(3),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("model", COUNTING, ids=repr)
def test_a_fit_that_counts_samples_is_that_of_the_copies(model, seed):
    """To the last bit: they are what is fitted."""
    X, _ = blobs(60, 3, 6, seed)
    X += np.random.default_rng(seed).uniform(size=X.shape)
    weight, rows = drawn(seed, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = model.set_params(random_state=seed).fit(X, sample_weight=weight)
        known = vars(a).copy()
        placed = a.predict(X)
        b = model.fit(X[rows])
    last = np.cumsum(weight)[weight > 0] - 1  # of the copies of each sample
    assert known["objective_"] == b.objective_
    np.testing.assert_array_equal(known["labels_"][weight > 0], b.labels_[last])
    np.testing.assert_array_equal(known["components_"], b.components_)
    np.testing.assert_array_equal(placed, b.predict(X))
    np.testing.assert_array_equal(known["labels_"][weight == 0], placed[weight == 0])
    assert known["labels_"].shape == known["strengths_"].shape == (60,)
    if "fitted_on_" in known:
        np.testing.assert_array_equal(known["fitted_on_"], rows)


@pytest.mark.parametrize("model", COUNTING, ids=repr)
def test_a_fit_that_counts_samples_wants_whole_numbers(model):
    X, _ = blobs(20, 3, 6, 0)
    with pytest.raises(ValueError, match=r"it must be whole numbers here.*round them, or use "):
        model.fit(X, sample_weight=np.full(20, 1.5))


def test_too_many_copies():
    X, _ = blobs(20, 3, 6, 0)
    with pytest.raises(ValueError, match=r"asks for 2e\+08 copies.*divide it by a constant"):
        KLSNMF(3).fit(X, sample_weight=np.full(20, 10_000_000))
    KLSNMF(3, **RBF).fit(X, sample_weight=np.full(20, 10_000_000))


@pytest.mark.parametrize("method", [KLSNMF(3), GNMF(3), RMNMF(3)], ids=repr)
def test_what_is_given_for_all_samples_goes_with_the_copies(method):
    X, _ = blobs(40, 3, 6, 0)
    weight, rows = drawn(0)
    A = np.random.default_rng(0).random((40, 40)) < 0.2
    A = (A | A.T).astype(float)
    first, second = (V[:, :3] for V in np.random.default_rng(1).random((2, 40, 3)))
    kernel = isinstance(method, KLSNMF)
    pair = (weight[:, None] * first, second) if kernel else (first, X.T @ first)
    copies = (first[rows], second[rows]) if kernel else (first[rows], pair[1])
    options = {"graph_weight": 0.1, "max_iter": 20}
    a = method.set_params(init=pair, graph_neighbors=A, **options).fit(X, sample_weight=weight)
    known = a.objective_, a.labels_[rows]
    b = method.set_params(init=copies, graph_neighbors=sparse.csr_array(A[np.ix_(rows, rows)]))
    b.fit(X[rows])
    assert known[0] == pytest.approx(b.objective_, rel=1e-12)
    np.testing.assert_array_equal(known[1], b.labels_)
    wrong = method.set_params(init=(pair[0][:-1], pair[1][:-1]))
    with pytest.raises(ValueError, match=r"of init has shape \(39, 3\); it must have 40 rows"):
        wrong.fit(X, sample_weight=weight)


# ---------------------------------------------------------------------- samples without weight


@pytest.mark.parametrize(
    "method",
    [
        *(KLSNMF(3), KLSNMF(3, **RBF), LSNMF(3), KernelKMeans(3), CNMF(3), KNMF(3, **RBF)),
        *(WNMF(3), ONMF(3), SemiNMF(3), GNMF(3), RMNMF(3)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_samples_without_weight_are_placed_as_predict_does(method, form):
    X, _ = blobs(60, 3, 6, 2)
    there = np.arange(60) % 4 > 0  # the first one is not
    a = method.set_params(random_state=0).fit(form(X), sample_weight=there.astype(float))
    known = a.labels_, a.objective_, a.predict(form(X))
    b = method.fit(form(X)[there])
    assert known[1] == pytest.approx(b.objective_, rel=1e-9)
    np.testing.assert_array_equal(known[0][there], b.labels_)
    np.testing.assert_array_equal(known[0][~there], b.predict(form(X))[~there])
    np.testing.assert_array_equal(known[2], b.predict(form(X)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("labels", ["argmax", "kmeans"])
@pytest.mark.parametrize("method", [WNMF, ONMF, SemiNMF])
def test_new_samples_of_factorizations_are_those_of_the_copies(method, labels, seed):
    X, (weight, rows) = noisy(seed), drawn(seed)
    how = {"random_state": seed, "tol": 1e-9, "max_iter": 5000, "n_init": 3, "labels": labels}
    a = method(3, **how).fit(X, sample_weight=weight)
    b = method(3, **how).fit(X[rows])
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)
    np.testing.assert_allclose(a.transform(X), b.transform(X), atol=2e-2)
    assert (a.labels_[rows] == b.labels_).mean() > 0.95


# ---------------------------------------------------------------------- what goes with a fit


def test_a_model_file(tmp_path):
    X, _ = blobs(60, 3, 6, 0)
    weight, _ = drawn(0, 60)
    for method in (KLSNMF(3), KLSNMF(3, **RBF), KNMF(3), KernelKMeans(3), GNMF(3)):
        model = method.set_params(random_state=0).fit(X, sample_weight=weight)
        save(model, tmp_path / "model.npz")
        again, _ = load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.labels_, model.labels_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_stream_knows_no_weights():
    X, _ = blobs(60, 3, 6, 0)
    model = KLSNMF(3, random_state=0).fit(X, sample_weight=np.full(60, 2))
    with pytest.raises(ValueError, match="the fit before had sample_weight: fit without"):
        model.partial_fit(X)
    model.fit(X).partial_fit(X)


def test_a_part_of_weighted_samples():
    X, _ = blobs(300, 3, 6, 0)
    weight, _ = drawn(0, 300)
    model = KLSNMF(3, random_state=0, fit_on=100).fit(X, sample_weight=weight)
    drawn_rows = KLSNMF(3, random_state=0, fit_on=100).fit(X).fitted_on_
    np.testing.assert_array_equal(model.fitted_on_, np.repeat(drawn_rows, weight[drawn_rows]))
    assert model.labels_.shape == (300,)


@pytest.mark.parametrize("method", [KLSNMF(3), KLSNMF(3, **RBF), KNMF(3)], ids=repr)
def test_a_report(method):
    X, _ = blobs(60, 3, 6, 0)
    weight, _ = drawn(0, 60)
    model = method.set_params(random_state=0).fit(X, sample_weight=weight)
    assert model.report(X)._repr_html_().startswith("<iframe")


def test_what_is_refused():
    X, _ = blobs(20, 3, 6, 0)
    K, weight = function(X, X), np.ones(20)
    weight[0] = 0
    precomputed = KLSNMF(3, kernel="precomputed")
    with pytest.raises(ValueError, match="leave out the row and column of the kernel"):
        precomputed.fit(K, sample_weight=weight)
    with pytest.raises(ValueError, match="give n_clusters as a number"):
        KLSNMF("auto", kernel="precomputed").fit(K, sample_weight=2 * np.ones(20))
    with pytest.raises(ValueError, match="checkpoint=None"):
        KLSNMF(3, checkpoint="fit.npz", **RBF).fit(X, sample_weight=weight + 1)


def test_frames_keep_their_names():
    pandas = pytest.importorskip("pandas")
    X, _ = blobs(20, 3, 6, 0)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    for model in (KLSNMF(3), WNMF(3), GNMF(3)):
        model.fit(frame, sample_weight=np.arange(20))
        assert list(model.feature_names_in_) == list("abcdef")


def test_no_warning_where_there_is_none():
    X, _ = blobs(60, 3, 6, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        KLSNMF(3, random_state=0).fit(X, sample_weight=np.full(60, 2))
