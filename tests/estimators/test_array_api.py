"""Arrays of other libraries: what is on a device stays there, and comes out as on the host.

array-api-strict allows what the standard does and nothing else, and has devices that refuse to be
mixed: a fit that ends there has sent nothing to the host unasked.
"""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.fixes import parse_version

from klsnmf import GLSNMF, KLSNMF, KNMF, LSNMF, WNMF, path
from klsnmf.core import arrays
from klsnmf.estimators import strengths
from klsnmf.grams.array import DenseGram
from klsnmf.grams.diffused import DiffusedGram
from klsnmf.io import model_file
from klsnmf.metrics import accuracy

xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")

# What few starts and iterations say about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

AWAY = xp.Device("device1")
QUICK = {"n_init": 2, "max_iter": 30, "random_state": 0}
IRIS = load_iris().data


class ThreadPool:
    """What has the methods of a client that parameters are checked for."""

    def submit(self): ...
    def gather(self): ...


def signed_samples(seed=0):
    """Three clusters around 0: their linear kernel has entries of both signs."""
    rng = np.random.RandomState(seed)
    return 3 * rng.normal(size=(3, 6))[rng.randint(3, size=80)] + rng.normal(size=(80, 6))


def away(A):
    return xp.asarray(A, device=AWAY)


def assert_same(there, here, X, rtol=1e-8):
    """A model fitted to X away says the same as one fitted here, where it was fitted."""
    new = away(X)
    fitted = {name: getattr(there, name) for name in ("labels_", "W_", "G_", "components_")}
    asked = ("predict", "transform", "memberships")
    fitted |= {name: getattr(there, name)(new) for name in asked}
    for name, array in fitted.items():
        assert array.device == AWAY, name
    twins = {name: getattr(here, name)(X) for name in asked}
    for name, array in fitted.items():
        expected = twins[name] if name in twins else getattr(here, name)
        scale = np.abs(expected).max()
        found = arrays.to_host(array)
        assert found.dtype == expected.dtype, name
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale, err_msg=name)
    assert there.objective_ == pytest.approx(here.objective_, rel=rtol)
    assert there.verdict_ == here.verdict_


def test_what_users_look_for_comes_from_a_device():
    """Scores, reports and plots are of the host, whoever computed the clusters."""
    there, here = (KLSNMF(3, kernel="rbf", **QUICK).fit(X) for X in (away(IRIS), IRIS))
    assert there.score(away(IRIS)) == pytest.approx(here.score(IRIS))
    best = there.predict_proba(away(IRIS), top=1)
    np.testing.assert_allclose(best.toarray(), here.predict_proba(IRIS, top=1).toarray())
    assert there.inertia_ == pytest.approx(here.inertia_)
    assert there.cluster_centers_.device == AWAY
    assert "150 samples in 3 clusters" in there._repr_html_()
    assert b"150" in there.report(away(IRIS)).content
    pytest.importorskip("matplotlib").use("Agg")
    plots = there.plot
    for draw in (plots.map, plots.sizes, plots.history):
        draw().figure.clear()


DENSE = {
    "rbf": {"kernel": "rbf"},
    "self-tuning": {"kernel": "self-tuning", "n_neighbors": None},
    "polynomial": {"kernel": "polynomial", "row_norm": None},
    "linear": {"kernel": "linear"},
    "cosine": {"kernel": "cosine"},
}


# Each kernel and each solver: the one makes a matrix, and the other sees nothing else of it.
@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        ("rbf", "paper"),
        ("rbf", "soft"),
        ("rbf", "exact"),
        *((kernel, "auto") for kernel in DENSE),
    ],
)
def test_dense_kernels_as_on_the_host(kernel, solver):
    model = KLSNMF(3, solver=solver, **DENSE[kernel], **QUICK)
    assert_same(clone(model).fit(away(IRIS)), model.fit(IRIS), IRIS)


@pytest.mark.parametrize(
    ("kernel", "solver"), [("linear", "soft"), ("linear", "exact"), ("cosine", "auto")]
)
def test_kernels_of_both_signs(kernel, solver):
    X = signed_samples()
    model = KLSNMF(3, kernel=kernel, solver=solver, **QUICK)
    assert_same(clone(model).fit(away(X)), model.fit(X), X, rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        KLSNMF(3, **QUICK),
        KLSNMF(3, diffusion=0, **QUICK),
        KLSNMF(3, diffusion=40, **QUICK),
        # Exchanges in single precision: rounding decides where K is not positive semidefinite.
        KLSNMF(3, kernel="rbf", n_neighbors=7, regroup=False, **QUICK),
        KLSNMF(3, kernel="polynomial", n_neighbors=7, lam=0, **QUICK),
        KLSNMF(3, kernel=["rbf", "self-tuning"], **QUICK),
        KLSNMF("auto", **QUICK),
        LSNMF(3, orthogonal=False, **QUICK),
        GLSNMF(3, **QUICK),
        GLSNMF(3, kernel="rbf", solver="paper", **QUICK),
    ],
    ids=lambda model: repr(model).replace("\n", ""),
)
def test_neighbours_diffusion_and_graphs_as_on_the_host(model):
    # Diffusion leaves tiny negative entries: on a device each is raised to zero, on the host their
    # sums in products are.
    assert_same(clone(model).fit(away(IRIS)), model.fit(IRIS), IRIS, rtol=1e-3)


def test_duplicates_and_ties():
    X = np.round(2 * np.repeat(IRIS[::2], 3, axis=0))  # many equal samples, and equal distances
    model = KLSNMF(3, **QUICK)
    # K is formed there, and entries just below zero, which eigenvectors leave, become zero.
    assert_same(clone(model).fit(away(X)), model.fit(X), X, rtol=1e-3)


def test_empty_columns_begin_anew():
    X = np.repeat(IRIS[:20], 2, axis=0)
    W0, G0 = (np.abs(np.random.RandomState(i).normal(size=(40, 5))) for i in range(2))
    G0[:, 3:] = 0
    model = KLSNMF(5, kernel="rbf", solver="exact", init=(W0, G0), max_iter=20)
    there = clone(model).set_params(init=(away(W0), away(G0))).fit(away(X))
    assert_same(there, model.fit(X), X)


@pytest.mark.parametrize("n_neighbors", [None, 9])
def test_a_function_as_kernel(n_neighbors):
    def kernel(X, Y):
        return (X @ Y.T + 1) ** 2 / 1000

    options = {"row_norm": None, "lam": 0, "regroup": False, **QUICK}
    model = KLSNMF(3, kernel=kernel, n_neighbors=n_neighbors, **options)
    assert_same(clone(model).fit(away(IRIS)), model.fit(IRIS), IRIS, rtol=1e-6)


def test_precomputed():
    K = IRIS @ IRIS.T
    model = KLSNMF(3, kernel="precomputed", **QUICK)
    there, here = clone(model).fit(away(K)), model.fit(K)
    np.testing.assert_array_equal(arrays.to_host(there.labels_), here.labels_)
    np.testing.assert_array_equal(arrays.to_host(there.predict(away(K[:9]))), here.labels_[:9])


def test_a_graph_of_ones_own():
    A = (np.abs(np.subtract.outer(np.arange(150), np.arange(150))) == 1).astype(float)
    model = GLSNMF(3, kernel="rbf", graph_neighbors=A, **QUICK)
    there = clone(model).set_params(graph_neighbors=away(A)).fit(away(IRIS))
    assert_same(there, model.fit(IRIS), IRIS)
    A[0, 2] = 1
    with pytest.raises(ValueError, match="must be symmetric"):
        clone(model).set_params(graph_neighbors=away(A)).fit(away(IRIS))
    with pytest.raises(ValueError, match="negative weights"):
        clone(model).set_params(graph_neighbors=away(-A)).fit(away(IRIS))
    with pytest.raises(ValueError, match=r"has shape \(9, 9\)"):
        clone(model).set_params(graph_neighbors=away(A[:9, :9])).fit(away(IRIS))


def test_single_precision_stays():
    X = IRIS.astype(np.float32)
    model = KLSNMF(3, **QUICK).fit(away(X))
    assert model.G_.dtype == model.components_.dtype == xp.float32
    assert model.transform(away(X)).dtype == xp.float32
    np.testing.assert_array_equal(arrays.to_host(model.labels_), KLSNMF(3, **QUICK).fit(X).labels_)


def test_a_wide_kernel_is_made_in_double_precision():
    X = IRIS.astype(np.float32)
    model = KLSNMF(3, kernel="rbf", radius=100.0, **QUICK)
    there, here = clone(model).fit(away(X)), model.fit(X)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-4)


def test_a_path_is_one_batch_there_too():
    there, here = (path(X, 3, lams=[0, 0.01], **QUICK) for X in (away(IRIS), IRIS))
    for a, b in zip(there, here, strict=True):
        np.testing.assert_array_equal(arrays.to_host(a.labels_), b.labels_)


def test_similarity_is_a_row_of_the_product():
    model = KLSNMF(3, **QUICK).fit(away(IRIS))
    row = arrays.to_host(model.G_ @ model.W_[4, :])
    np.testing.assert_array_equal(arrays.to_host(model.similarity(4)), row)
    with pytest.raises(IndexError, match="i=150"):
        model.similarity(150)


@pytest.mark.parametrize("shape", [(7, 3), (1, 1)])
def test_products_of_a_device_gram(shape):
    rng = np.random.RandomState(0)
    A = rng.normal(size=(shape[0], 2))
    K = A @ A.T
    gram, V = DenseGram(away(K)), rng.normal(size=shape)
    np.testing.assert_allclose(gram.dot(V), K @ V)  # from the host and back
    stack, out = gram.stack(2, *shape), gram.stack(2, *shape)
    stack[1, ...] = gram.hold(V)
    gram.multiply(stack, out)
    np.testing.assert_allclose(arrays.to_host(out[1, ...]), K @ V)
    np.testing.assert_allclose(arrays.to_host(gram.column(0)), K[0])
    np.testing.assert_allclose(arrays.to_host(gram.positive.K), np.maximum(K, 0))
    assert gram.trace == pytest.approx(np.trace(K))


# ---------------------------------------------------------------------- bad input


def test_mixed_devices_end_in_one_sentence():
    model = KLSNMF(3, kernel="rbf", **QUICK).fit(away(IRIS))
    here = xp.asarray(IRIS)
    with pytest.raises(ValueError, match=r"predict\(\).*CPU_DEVICE.*and .*device1"):
        model.predict(here)
    with pytest.raises(ValueError, match=r"transform\(\).* X is a numpy array, and .*device1"):
        model.transform(IRIS)
    with pytest.raises(ValueError, match=r"X is a list on the host, and .*device1"):
        model.predict(IRIS.tolist())
    with pytest.raises(ValueError, match=r"device1.*, and .* is a numpy array"):
        KLSNMF(3, kernel="rbf", **QUICK).fit(IRIS).predict(away(IRIS))
    W0 = np.ones((150, 3))
    for start, X in (((W0, W0), away(IRIS)), ((away(W0), W0), IRIS), ((here, here), away(IRIS))):
        with pytest.raises(ValueError, match=r"W0 of init is .*, and X is .*: bring both"):
            KLSNMF(3, init=start).fit(X)
    for graph, X in ((np.eye(150), away(IRIS)), (away(np.eye(150)), IRIS)):
        with pytest.raises(ValueError, match=r"graph_neighbors is .*, and X is .*: bring both"):
            GLSNMF(3, graph_neighbors=graph, **QUICK).fit(X)
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) returns is a numpy array, and X is"):
        KLSNMF(3, kernel=lambda X, Y: np.eye(150)).fit(away(IRIS))


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.full((5, 2), np.nan), "X contains NaN, and KLSNMF does not accept missing values"),
        (np.full((5, 2), np.inf), "X contains infinity"),
        (np.ones(5), "Expected 2D array"),
        (np.ones((0, 2)), "0 sample"),
        (np.ones((5, 0)), "0 feature"),
        (np.ones((2, 2)), "n_samples=2 should be >= n_clusters=3"),
        (np.ones((5, 2), complex), "Complex data not supported"),
    ],
)
def test_unusable_numbers(X, match):
    with pytest.raises(ValueError, match=match):
        KLSNMF(3).fit(away(X))


@pytest.mark.parametrize("kernel", ["self-tuning", "cosine"])
@pytest.mark.parametrize(("fitted", "new"), [("float32", "float64"), ("float64", "float32")])
def test_new_samples_of_another_type(kernel, fitted, new):
    X = IRIS + 1
    model = KLSNMF(3, kernel=kernel, **QUICK).fit(away(X.astype(fitted)))
    found = model.predict(away(X.astype(new)))
    assert np.mean(arrays.to_host(found) == arrays.to_host(model.labels_)) > 0.98
    assert model.transform(away(X.astype(new))).dtype == model.G_.dtype
    assert model.predict(away(X.astype(np.int64))).shape == found.shape


def test_other_numbers_become_floats():
    counts = np.round(10 * IRIS).astype(np.int32)
    model = KLSNMF(3, kernel="rbf", **QUICK).fit(away(counts))
    assert model.G_.dtype == xp.float64
    with pytest.raises(ValueError, match="2 features, but KLSNMF is expecting 4"):
        model.predict(away(counts[:, :2]))


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"gram": "tiled", "n_neighbors": None}, "gram='tiled' is for samples on the host"),
        ({"neighbor_search": "approximate"}, "neighbor_search='approximate' is for samples"),
        ({"checkpoint": "fit.npz"}, "checkpoint='fit.npz' is for samples on the host"),
        ({"engine": ThreadPool()}, "engine= is for samples on the host"),
    ],
)
def test_what_the_host_alone_can_do(params, match):
    with pytest.raises(ValueError, match=match):
        KLSNMF(3, **params).fit(away(IRIS))


def test_functions_that_do_not_return_a_kernel():
    for kernel, match in (
        (lambda X, Y: X, r"shape \(150, 4\)"),
        (lambda X, Y: X @ Y.T / 0.0, "NaN or infinity"),
        (lambda X, Y: X @ Y.T + xp.arange(150, device=AWAY, dtype=xp.float64), "not symmetric"),
    ):
        with pytest.raises(ValueError, match=match), np.errstate(all="ignore"):
            KLSNMF(3, kernel=kernel).fit(away(IRIS))


def test_no_more_than_the_device_has_room_for(monkeypatch):
    with pytest.raises(MemoryError, match=r"kernel matrix of 150 .* max_memory=1e-05 GB"):
        KLSNMF(3, max_memory=1e-5).fit(away(IRIS))
    monkeypatch.setattr(arrays, "free_memory", lambda home: 300_000)
    with pytest.raises(MemoryError, match=r"Diffusion of 150 samples .* Set diffusion=0"):
        KLSNMF(3).fit(away(IRIS))
    KLSNMF(3, diffusion=0, **QUICK).fit(away(IRIS))
    monkeypatch.setattr(arrays, "free_memory", lambda home: 100_000)
    with pytest.raises(MemoryError, match=r"kernel matrix of 150 .* are free"):
        KLSNMF(3).fit(away(IRIS))


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    arrays._compat.cache_clear()
    monkeypatch.setattr(arrays, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'array_api_strict .*pip install "klsnmf\[gpu\]"'):
        KLSNMF(3).fit(away(IRIS))


def test_the_rest_of_the_family_computes_on_the_host():
    X = xp.asarray(IRIS)
    for method in (WNMF(3, random_state=0), KNMF(3, n_init=2, random_state=0)):
        found = clone(method).fit(X)
        assert isinstance(found.G_, np.ndarray)
        np.testing.assert_array_equal(found.labels_, method.fit(IRIS).labels_)
        np.testing.assert_array_equal(found.predict(X), method.predict(IRIS))


# ---------------------------------------------------------------------- after the fit


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"kernel": ["rbf", "self-tuning"]}])
def test_a_saved_model_is_one_of_the_host(tmp_path, params):
    model = KLSNMF(3, **params, **QUICK).fit(away(IRIS))
    model_file.save(model, tmp_path / "model.npz")
    loaded, _ = model_file.load(tmp_path / "model.npz")
    assert isinstance(loaded.G_, np.ndarray)
    np.testing.assert_array_equal(loaded.predict(IRIS), arrays.to_host(model.predict(away(IRIS))))
    np.testing.assert_allclose(
        loaded.transform(IRIS), arrays.to_host(model.transform(away(IRIS))), atol=1e-10
    )
    host = KLSNMF(3, **params, **QUICK).fit(IRIS)
    np.testing.assert_allclose(
        strengths.strengths(model, away(IRIS)), strengths.strengths(host, IRIS), atol=1e-4
    )


def test_diffusion_is_sparse_on_the_host_where_it_was_there():
    X = np.repeat(IRIS, 2, axis=0) + np.arange(300)[:, None] % 7
    model = KLSNMF(3, diffusion="unweighted", **QUICK).fit(away(X))
    diffusion = arrays.host_copy(model)._similarity.diffusion
    assert diffusion.S.nnz < 0.1 * 300**2
    assert isinstance(diffusion.gram(), DiffusedGram)
    assert arrays.host_copy(diffusion) is diffusion


# ---------------------------------------------------------------------- torch


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def test_digits_as_tensors(torch):
    # So few that the host diffuses by powers, as a device always does.
    X, y = (part[:1000] for part in load_digits(return_X_y=True))
    X = X.astype(np.float32)
    model = KLSNMF(10, n_init=8, random_state=0)
    tensors, arrays = clone(model).fit(torch.asarray(X)), model.fit(X)
    labels = tensors.labels_.numpy()
    assert np.mean(labels == arrays.labels_) > 0.99
    assert accuracy(y, labels) == pytest.approx(accuracy(y, arrays.labels_), abs=0.01)
    assert tensors.diffusion_ == pytest.approx(arrays.diffusion_, rel=1e-3)
    assert tensors.G_.dtype == torch.float32
    assert torch.equal(tensors.predict(torch.asarray(X[:99])), tensors.labels_[:99])


@pytest.mark.parametrize("solver", ["paper", "soft", "exact", "auto"])
def test_tensors_from_the_same_start(torch, solver):
    start = [np.random.RandomState(i).uniform(size=(150, 3)) for i in range(2)]
    model = KLSNMF(3, kernel="rbf", solver=solver, init=tuple(start), max_iter=50)
    there = clone(model).set_params(init=tuple(map(torch.asarray, start)))
    there, here = there.fit(torch.asarray(IRIS)), model.fit(IRIS)
    np.testing.assert_array_equal(there.labels_.numpy(), here.labels_)
    np.testing.assert_allclose(there.G_.numpy(), here.G_, atol=1e-9)
    np.testing.assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-9)


def test_types_of_tensors(torch):
    X = torch.asarray(np.round(10 * IRIS))
    shapes = {
        torch.float16: torch.float32,
        torch.bfloat16: torch.float32,
        torch.int64: torch.float64,
    }
    for given, inside in shapes.items():
        assert KLSNMF(3, kernel="rbf", **QUICK).fit(X.to(given)).G_.dtype == inside
    model = KLSNMF(3, **QUICK).fit(X.clone().requires_grad_())
    assert not model.G_.requires_grad
    assert not model.transform(X.clone().requires_grad_()).requires_grad


def test_tensors_without_numbers(torch):
    with pytest.raises(ValueError, match="'meta', which holds no numbers"):
        KLSNMF(3).fit(torch.empty(9, 2, device="meta"))
    with pytest.raises(ValueError, match="graph_neighbors is a sparse tensor of torch"):
        GLSNMF(3, graph_neighbors=torch.eye(9).to_sparse()).fit(torch.eye(9))
    with pytest.raises(ValueError, match="X is a sparse tensor of torch"):
        KLSNMF(3).fit(torch.eye(9).to_sparse())


def test_tensors_are_pickled_and_left_alone(torch):
    X = torch.asarray(IRIS.copy())
    model = KLSNMF(3, **QUICK).fit(X)
    assert torch.equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)
    np.testing.assert_array_equal(X.numpy(), IRIS)
    K = X @ X.T
    before = K.clone()
    KLSNMF(3, kernel="precomputed", **QUICK).fit(K)
    assert torch.equal(K, before)


CHECKS = """
import json, sys, warnings
from sklearn.utils import estimator_checks
from klsnmf import KLSNMF
warnings.simplefilter("ignore")
model = KLSNMF(3, n_init=2, max_iter=30)
asked = [check for _, check in estimator_checks.estimator_checks_generator(model)
         if "array_api" in check.func.__name__]
estimator_checks.estimator_checks_generator = lambda *_, **__: [(model, each) for each in asked]
results = estimator_checks.check_estimator(model, on_fail=None, on_skip=None)
print(json.dumps([[r["check_name"], r["status"], str(r["exception"])] for r in results]))
"""


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="older checks ask for the standard of 2023, where functions took no plain numbers",
)
def test_common_checks_with_dispatch_switched_on():
    """scikit-learn's own checks run with its array_api_dispatch, for which scipy asks this."""
    done = subprocess.run(
        [sys.executable, "-c", CHECKS],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    results = json.loads(done.stdout.splitlines()[-1])
    # It gives weights, which are for samples on the host.
    failed = [each for each in results if each[1] == "failed"]
    assert [name for name, _, _ in failed] in ([], ["check_array_api_mixed_inputs"])
    assert all("sample_weight is for samples on the host" in told for _, _, told in failed)
    assert any(status == "passed" for _, status, _ in results)
