"""The conventions of scikit-learn, for every method of the table."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import estimator_checks, get_tags

from klsnmf import DETAILS, GLSNMF, KLSNMF, KNMF, LSNMF, METHODS, WNMF, KernelKMeans
from klsnmf.methods import METHODS as METHODS_OF_ESTIMATORS

from ..helpers import blobs
from .test_sklearn import MORE_CHECKS, SHUFFLED, check_as_clusterer

# What a fit of few starts and iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: Those of test_sklearn, which checks them with more of their parameters, and scikit-learn's own.
ELSEWHERE = (KLSNMF, LSNMF, GLSNMF, METHODS["kmeans"], METHODS["spectral"])

FAMILY = {name: method for name, method in METHODS.items() if method not in ELSEWHERE}
QUICK = {"n_init": 1, "max_iter": 20}
QUICKEST = {"n_clusters": 2, "n_init": 1, "max_iter": 5}
ESTIMATORS = [
    *(method(**QUICK) for method in FAMILY.values()),
    WNMF(labels="kmeans", **QUICK),
]
PRECOMPUTED = [method(kernel="precomputed", **QUICK) for method in (KNMF, KernelKMeans)]

each = pytest.mark.parametrize("method", FAMILY.values(), ids=FAMILY.keys())


def expected_failures(estimator):
    tags = get_tags(estimator).input_tags
    if tags.pairwise:
        return SHUFFLED | {
            "check_clustering": "it feeds samples, and a kernel matrix is square",
            "check_positive_only_tag_during_fit": (
                "it subtracts a constant from the kernel matrix, which is then the kernel of "
                "nothing: not positive semidefinite, and the objective has no lower bound"
            ),
        }
    signs = {"check_clustering": "it feeds data of both signs"} if tags.positive_only else {}
    return SHUFFLED | signs


common_checks = estimator_checks.parametrize_with_checks(
    [*ESTIMATORS, *PRECOMPUTED], expected_failed_checks=expected_failures
)
# scikit-learn 1.6 hands over a generator, and pytest 9 wants a list.
names, cases = common_checks.args


@pytest.mark.parametrize(names, list(cases), **common_checks.kwargs)
def test_common_checks(estimator, check):
    check(estimator)


# The checks of set_output fit with names and transform without, on purpose.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names, but:UserWarning")
@pytest.mark.parametrize("name", MORE_CHECKS)
@each
def test_more_checks(method, name):
    """Checks that scikit-learn runs on its own estimators, but not in check_estimator."""
    getattr(estimator_checks, name)(method.__name__, method(**QUICKEST))


@pytest.mark.parametrize("seed", range(2))
@each
def test_as_a_clusterer(method, seed):
    """In place of check_clustering, which feeds data of both signs."""
    X, y = blobs(50, 3, 6, seed)
    model = check_as_clusterer(method(), X, y)
    X.flags.writeable = False
    twin = pickle.loads(pickle.dumps(clone(model).fit(X)))
    np.testing.assert_array_equal(twin.labels_, model.labels_)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_array_equal(twin.transform(X), model.transform(X))


@pytest.mark.parametrize("model", PRECOMPUTED, ids=repr)
def test_precomputed_kernel_as_a_clusterer(model):
    X, y = blobs(50, 3, 6, 0)
    check_as_clusterer(model, rbf_kernel(X, gamma=0.05), y)


@each
def test_every_parameter_is_validated(method):
    """check_param_validation looks at those that have constraints; all must have."""
    assert set(method()._parameter_constraints) == set(method().get_params())


# ---------------------------------------------------------------------- the table


def test_the_table_is_complete():
    assert METHODS is METHODS_OF_ESTIMATORS
    assert list(METHODS) == [
        *("kls-nmf", "ls-nmf", "gls-nmf", "wnmf", "onmf", "cnmf", "knmf", "rmnmf", "gnmf"),
        *("semi-nmf", "kernel-kmeans", "kmeans", "spectral"),
    ]
    assert list(DETAILS) == list(METHODS)
    assert all(DETAILS[name].estimator is METHODS[name] for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_the_table_tells_the_truth(name):
    method = DETAILS[name]
    estimator = method.estimator()
    tags = get_tags(estimator).input_tags
    assert method.description
    assert "\n" not in method.description
    assert method.accepts <= {"nonnegative", "signed", "sparse", "nan", "precomputed"}
    assert ("signed" in method.accepts) == (not tags.positive_only)
    assert ("nan" in method.accepts) == tags.allow_nan
    if method.estimator.__module__.startswith("klsnmf"):  # scikit-learn 1.6 does not tag its own
        assert ("sparse" in method.accepts) == tags.sparse
    own = {"kernel", "affinity"} & set(estimator.get_params())
    assert ("precomputed" in method.accepts) == bool(own)
    assert method.grid
    for parameter, values in method.grid.items():
        for value in values:
            estimator.set_params(**{parameter: value})._validate_params()
