"""The conventions of scikit-learn: its common checks, and those it does not run by itself."""

import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted

from klsnmf import GLSNMF, KLSNMF, LSNMF

from ..helpers import blobs

# What a fit of few starts and iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_init": 2, "max_iter": 30}

#: Each class, each solver and each kind of kernel once; other pairs of them are in
#: test_reliability.
ESTIMATORS = [
    KLSNMF(n_init=2),
    KLSNMF(kernel="polynomial", row_norm=None, solver="exact", **QUICK),
    LSNMF(orthogonal=False, row_norm=None, **QUICK),
    LSNMF(solver="soft", init="random", n_neighbors=5, **QUICK),
    GLSNMF(kernel="rbf", solver="paper", **QUICK),
]

#: Estimators with checks that cannot hold for them; each has a twin below.
PRECOMPUTED = KLSNMF(kernel="precomputed", **QUICK)
#: Most checks feed data of both signs, and so a linear kernel of both signs: twins alone.
PRINTED_RULES = LSNMF(solver="paper", **QUICK)


#: It shuffles the samples of one of two fits, and clusters are numbered as they appear; starts are
#: drawn, and others for another order. scikit-learn expects the same of its KMeans. In the same
#: order a weight of two is the sample twice: test_weights has that.
SHUFFLED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "it compares numbers of clusters by order"
    for kind in ("dense", "sparse")
}


def expected_failures(estimator):
    if get_tags(estimator).input_tags.pairwise:
        return SHUFFLED | {
            "check_clustering": "it feeds samples, and a kernel matrix is square",
            "check_positive_only_tag_during_fit": (
                "it subtracts a constant from the kernel matrix, which is then the kernel of "
                "nothing: not positive semidefinite, and the objective has no lower bound"
            ),
        }
    return SHUFFLED


common_checks = estimator_checks.parametrize_with_checks(
    [*ESTIMATORS, PRECOMPUTED], expected_failed_checks=expected_failures
)
# scikit-learn 1.6 hands over a generator, and pytest 9 wants a list.
names, cases = common_checks.args


@pytest.mark.parametrize(names, list(cases), **common_checks.kwargs)
def test_common_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- twins


def check_as_clusterer(model, X, y):
    """check_clustering of scikit-learn, for data that the model can take."""
    k = len(np.unique(y))
    model = clone(model).set_params(n_clusters=k, random_state=0)
    labels = model.fit_predict(X)
    assert labels.shape == y.shape
    assert labels.dtype.kind == "i"
    assert adjusted_rand_score(y, labels) > 0.4
    np.testing.assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))
    assert labels.max() < k
    np.testing.assert_array_equal(model.labels_, labels)
    again = clone(model).fit(X.tolist())
    np.testing.assert_array_equal(again.labels_, labels)
    return model


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("solver", ["auto", "soft", "exact", "paper"])
def test_precomputed_kernel_as_a_clusterer(solver, seed):
    """In place of check_clustering."""
    X, y = blobs(50, 3, 6, seed)
    K = rbf_kernel(X, gamma=0.05)
    model = clone(PRECOMPUTED).set_params(solver=solver)
    dense = check_as_clusterer(model, K, y)
    as_sparse = clone(dense).fit(sparse.csr_matrix(K))
    np.testing.assert_array_equal(as_sparse.labels_, dense.labels_)
    K.flags.writeable = False
    np.testing.assert_array_equal(clone(dense).fit(K).labels_, dense.labels_)


def test_precomputed_kernel_of_both_signs():
    """In place of check_positive_only_tag_during_fit."""
    X, y = blobs(50, 3, 6, 0)
    X = X - X.mean(axis=0)
    K = X @ X.T
    assert (K < 0).any()
    assert not get_tags(PRECOMPUTED).input_tags.positive_only
    check_as_clusterer(PRECOMPUTED, K, y)


@pytest.mark.parametrize("seed", range(2))
def test_printed_rules_as_a_clusterer(seed):
    """In place of check_clustering and the other checks with signed data."""
    X, y = blobs(50, 3, 6, seed)
    model = check_as_clusterer(PRINTED_RULES, X, y)
    assert model.n_features_in_ == 6
    assert model.n_iter_ >= 1
    X32 = X.astype(np.float32)
    G = clone(model).fit_transform(X32)
    assert G.dtype == np.float32
    X.flags.writeable = False
    twin = pickle.loads(pickle.dumps(clone(model).fit(X)))
    np.testing.assert_array_equal(twin.labels_, model.labels_)
    with pytest.raises(ValueError, match=r'solver="paper" needs a kernel with no negative entry'):
        clone(model).fit(X - X.mean(axis=0))


# ---------------------------------------------------------------------- checks to be called


MORE_CHECKS = [
    "check_param_validation",
    "check_dataframe_column_names_consistency",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
]


# The checks of set_output fit with names and transform without, on purpose.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names, but:UserWarning")
@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.parametrize(
    "estimator",
    [method(n_clusters=2, n_init=1, max_iter=5) for method in (KLSNMF, LSNMF, GLSNMF)],
    ids=repr,
)
def test_more_checks(estimator, name):
    """Checks that scikit-learn runs on its own estimators, but not in check_estimator."""
    getattr(estimator_checks, name)(type(estimator).__name__, estimator)


def test_every_parameter_is_validated():
    """check_param_validation looks at those that have constraints; all must have."""
    for estimator in (KLSNMF(), LSNMF(), GLSNMF()):
        assert set(estimator._parameter_constraints) == set(estimator.get_params())


# ---------------------------------------------------------------------- dataframes


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("model", [KLSNMF(3, **QUICK), LSNMF(3, **QUICK)], ids=repr)
def test_column_names(model, library):
    frames = pytest.importorskip(library)
    X, _ = blobs(40, 3, 6, 0)
    names = [f"feature {i}" for i in range(6)]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    model = clone(model).set_params(random_state=0)
    framed, plain = clone(model).fit(frame), clone(model).fit(X)
    np.testing.assert_array_equal(framed.labels_, plain.labels_)
    np.testing.assert_allclose(framed.W_, plain.W_)
    np.testing.assert_array_equal(framed.predict(frame), framed.labels_)
    if not hasattr(StandardScaler().fit(frame), "feature_names_in_"):
        pytest.skip(f"this scikit-learn does not see column names of this {library}")
    assert list(framed.feature_names_in_) == names
    assert framed.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names should match"):
        framed.predict(frame[names[::-1]])
    framed.fit(X)
    assert not hasattr(framed, "feature_names_in_")


# ---------------------------------------------------------------------- life of an estimator


def fitted_attributes(model):
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


def assert_same(a, b):
    """Equal fitted attributes, to the last bit."""
    assert fitted_attributes(a) == fitted_attributes(b)
    for name in fitted_attributes(a):
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, dict):
            assert left.keys() == right.keys()
            for key in left:
                np.testing.assert_array_equal(left[key], right[key], err_msg=f"{name}[{key!r}]")
        else:
            np.testing.assert_array_equal(left, right, err_msg=name)


def own_kernel(A, B):
    return rbf_kernel(A, B, gamma=1.0)


def told(model):
    """The estimator in words that are the same in every process: no address of a function."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(model))


LIVES = [
    KLSNMF(3),
    KLSNMF(3, kernel="rbf", radius=0.5),
    KLSNMF(3, kernel="cosine", n_neighbors=8, row_norm=None),
    KLSNMF(3, kernel=own_kernel, solver="soft"),
    KLSNMF(3, diffusion=4, solver="exact"),
    GLSNMF(3, graph_weight=0.1),
    LSNMF(3),
    LSNMF(3, orthogonal=False),
]


@pytest.mark.parametrize("model", LIVES, ids=told)
def test_pickle_round_trip(model):
    X, _ = blobs(40, 3, 6, 0)
    model = clone(model).set_params(random_state=0, **QUICK).fit(X)
    twin = pickle.loads(pickle.dumps(model))
    assert_same(model, twin)
    assert twin.get_params() == model.get_params()
    new, _ = blobs(10, 3, 6, 1)
    np.testing.assert_array_equal(twin.predict(new), model.predict(new))
    np.testing.assert_array_equal(twin.transform(new), model.transform(new))
    np.testing.assert_array_equal(twin.similarity(3), model.similarity(3))


@pytest.mark.parametrize("model", LIVES, ids=told)
def test_clone_has_the_parameters_and_nothing_else(model):
    X, _ = blobs(40, 3, 6, 0)
    model = clone(model).set_params(random_state=0, **QUICK).fit(X)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert set(vars(twin)) == set(model.get_params())
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)
    assert_same(twin.fit(X), model)


def test_clone_with_arrays_as_parameters():
    X, _ = blobs(40, 3, 6, 0)
    rng = np.random.default_rng(0)
    init = rng.random((40, 3)) / 40, rng.random((40, 3))
    A = np.ones((40, 40))
    model = GLSNMF(3, init=init, graph_neighbors=A, graph_weight=0.01, max_iter=5)
    twin = clone(model)
    assert twin.init is not init
    np.testing.assert_array_equal(twin.init, init)
    np.testing.assert_array_equal(twin.graph_neighbors, A)
    assert_same(model.fit(X), twin.fit(X))


@pytest.mark.parametrize("method", [KLSNMF, LSNMF, GLSNMF])
def test_get_and_set_params(method):
    model = method()
    defaults = model.get_params()
    assert defaults["n_clusters"] == 8
    changed = {"n_clusters": 3, "lam": 0.5, "solver": "soft", "n_init": 1, "random_state": 7}
    assert model.set_params(**changed) is model
    assert model.get_params() == {**defaults, **changed}
    assert method(**model.get_params()).get_params() == model.get_params()
    with pytest.raises(ValueError, match=r"Invalid parameter 'gamma'"):
        model.set_params(gamma=1)
    with pytest.raises(TypeError):
        method(3, 0.5)  # everything but n_clusters goes by its name


def test_set_params_takes_effect_in_the_next_fit():
    X, _ = blobs(40, 3, 6, 0)
    model = KLSNMF(2, random_state=0, **QUICK).fit(X)
    assert model.W_.shape == (40, 2)
    model.set_params(n_clusters=3)
    assert model.W_.shape == (40, 2)
    model.fit(X)
    assert model.W_.shape == (40, 3)
    assert_same(model, KLSNMF(3, random_state=0, **QUICK).fit(X))


PARAMETERS_IN_TURN = [
    {"kernel": "self-tuning", "diffusion": 2},
    {"kernel": "linear", "diffusion": 0},
    {"kernel": "rbf"},
    {"kernel": "precomputed"},
    {"kernel": "cosine", "n_neighbors": 5},
]


# Each comes first twice and second twice, so that what one leaves behind meets two others.
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (PARAMETERS_IN_TURN[i], PARAMETERS_IN_TURN[(i + step) % len(PARAMETERS_IN_TURN)])
        for step in (1, 3)
        for i in range(len(PARAMETERS_IN_TURN))
    ],
    ids=repr,
)
def test_a_second_fit_leaves_nothing_of_the_first(first, second):
    pandas = pytest.importorskip("pandas")
    X, _ = blobs(40, 3, 6, 0)
    Y, _ = blobs(30, 3, 4, 1)

    def matrix(data, params):
        return rbf_kernel(data) if params["kernel"] == "precomputed" else data

    names = [f"x{i}" for i in range(matrix(X, first).shape[1])]
    model = KLSNMF(3, random_state=0, **QUICK).set_params(**first)
    model.fit(pandas.DataFrame(matrix(X, first), columns=names))
    model.set_params(**KLSNMF(3, random_state=0, **QUICK).get_params()).set_params(**second)
    model.fit(matrix(Y, second))
    fresh = KLSNMF(3, random_state=0, **QUICK).set_params(**second).fit(matrix(Y, second))
    assert set(vars(model)) == set(vars(fresh))
    assert_same(model, fresh)
