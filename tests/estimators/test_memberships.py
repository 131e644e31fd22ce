"""What users of KMeans look for: scores, soft memberships, and names that they know."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from klsnmf import KLSNMF, LSNMF, METHODS, WNMF, KernelKMeans, walk_score
from klsnmf.io.model_file import load, save

from ..helpers import blobs

# What a fit of few iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OURS = {name: method for name, method in METHODS.items() if name not in ("kmeans", "spectral")}
QUICK = {"n_init": 2, "max_iter": 30, "random_state": 0}
SHUFFLED = KFold(3, shuffle=True, random_state=0)

each = pytest.mark.parametrize("method", OURS.values(), ids=OURS.keys())


# ---------------------------------------------------------------------- soft memberships


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each
def test_rows_sum_to_one_and_the_largest_is_the_cluster(method, dtype):
    X, _ = blobs(60, 3, 6, 0)
    X = X.astype(dtype)
    model = method(3, **QUICK).fit(X[:40])
    shares = model.predict_proba(X)
    assert shares.shape == (60, 3)
    assert shares.dtype == model.scores(X).dtype
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(X))
    np.testing.assert_array_equal(model.memberships(X), shares)


@each
def test_shares_are_those_of_scores(method):
    X, _ = blobs(60, 3, 6, 1)
    model = method(3, **QUICK).fit(X)
    scores = model.scores(X)
    known = scores.max(axis=1) > 0
    expected = scores[known] / scores[known].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X)[known], expected, rtol=1e-6, atol=1e-12)


@each
def test_the_best_alone_are_a_sparse_part_of_all(method):
    X, _ = blobs(60, 4, 6, 0)
    model = method(4, **QUICK).fit(X)
    full, best = model.predict_proba(X), model.predict_proba(X, top=2)
    assert sparse.issparse(best)
    assert best.shape == full.shape
    assert best.has_canonical_format
    np.testing.assert_array_equal(np.diff(best.indptr), 2)
    rows, kept = best.toarray(), best.toarray() > 0
    np.testing.assert_array_equal(rows[kept], full[kept])
    np.testing.assert_allclose(rows.sum(axis=1), np.sort(full, axis=1)[:, 2:].sum(axis=1))
    np.testing.assert_array_equal(rows.argmax(axis=1), model.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X, top=9).toarray(), full)


@pytest.mark.parametrize("top", [0, -1])
def test_no_clusters_at_all_are_refused(top):
    X, _ = blobs(40, 3, 6, 0)
    model = KLSNMF(3, **QUICK).fit(X)
    with pytest.raises(ValueError, match=f"top={top} must be 1 or more"):
        model.predict_proba(X, top=top)
    with pytest.raises(TypeError):
        model.predict_proba(X, top=1.5)


def test_scores_that_are_nearly_the_same_stay_in_their_order():
    """Shares of two scores that differ in their last digit may be the same number."""
    model = KLSNMF(3)
    most = np.linspace(0.5, 1, 1000)
    third = np.random.default_rng(0).uniform(size=1000) * most
    scores = np.column_stack([np.nextafter(most, 0), most, third])
    shares = (scores / most[:, None]) / (scores / most[:, None]).sum(axis=1, keepdims=True)
    assert np.any(shares[:, 0] == shares[:, 1])
    model._scores = lambda X, method: scores
    np.testing.assert_array_equal(model.memberships(None).argmax(axis=1), 1)


def test_scores_of_any_size_have_shares():
    model = KLSNMF(3)
    most, least = np.finfo(float).max, np.finfo(float).smallest_subnormal
    model._scores = lambda X, method: np.array(
        [[most, most, 0.0], [0.0, least, 0.0], [0.0, 0.0, 0.0]]
    )
    shares = model.memberships(None)
    np.testing.assert_allclose(
        shares, [[0.5, 0.5, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-12
    )


@each
def test_after_sparse_samples_there_are_memberships(method):
    """scikit-learn takes estimators with predict_proba that accept sparse X for classifiers."""
    X, _ = blobs(60, 3, 6, 0)
    model = method(3, **QUICK).fit(sparse.csr_array(X))
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=f"{method.__name__} has no predict_proba after"):
        model.predict_proba(X)
    shares = model.memberships(sparse.csr_array(X))
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(X))
    assert hasattr(model.fit(X), "predict_proba")


def test_an_outlier_has_shares_too():
    X, _ = blobs(60, 3, 6, 0)
    far = np.vstack([X, X.max() * 50 * np.ones((1, 6))])
    model = KLSNMF(3, outliers="label", **QUICK).fit(far)
    assert model.predict(far)[-1] == -1
    np.testing.assert_allclose(model.predict_proba(far)[-1].sum(), 1)


# ---------------------------------------------------------------------- a score


@each
def test_score_is_that_of_the_predicted_clusters(method):
    X, y = blobs(90, 3, 6, 0)
    model = method(3, **QUICK).fit(X[:60])
    assert model.score(X) == walk_score(X, model.predict(X))
    assert model.score(X) == model.score(X, y)
    assert isinstance(model.score(X), float)


@each
def test_a_search_without_a_scorer_finds_the_clusters(method):
    X, _ = blobs(150, 3, 6, 0)
    search = GridSearchCV(
        method(**QUICK), {"n_clusters": [2, 3, 5]}, cv=SHUFFLED, error_score="raise"
    ).fit(X)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.score(X) == search.best_estimator_.score(X)


def test_a_search_over_a_pipeline_finds_clusters_that_are_not_round():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    search = GridSearchCV(
        make_pipeline(MinMaxScaler(), KLSNMF(random_state=0)),
        {"klsnmf__n_clusters": [2, 4], "klsnmf__kernel": ["linear", "self-tuning"]},
        cv=SHUFFLED,
        error_score="raise",
    ).fit(X)
    assert search.best_params_ == {"klsnmf__n_clusters": 2, "klsnmf__kernel": "self-tuning"}


def test_score_with_a_kernel_matrix_and_with_gaps():
    X, _ = blobs(90, 3, 6, 0)
    K = rbf_kernel(X, gamma=0.05)
    model = KLSNMF(3, kernel="precomputed", **QUICK).fit(K[:60, :60])
    assert model.score(K[:, :60]) == walk_score(K[:, :60], model.predict(K[:, :60]))
    search = GridSearchCV(
        KLSNMF(kernel="precomputed", **QUICK), {"n_clusters": [2, 3]}, cv=SHUFFLED
    ).fit(K)
    assert search.best_params_ == {"n_clusters": 3}
    X[::9, 2] = np.nan
    gaps = WNMF(3, **QUICK).fit(X)
    assert gaps.score(X) == walk_score(X, gaps.predict(X))


# ---------------------------------------------------------------------- names that are known


@each
def test_names_of_kmeans(method, tmp_path):
    X, _ = blobs(60, 3, 6, 0)
    model = method(3, **QUICK)
    assert not hasattr(model, "inertia_")
    assert not hasattr(model, "cluster_centers_")
    model.fit(X)
    save(model, tmp_path / "model.npz")
    for one in (model, load(tmp_path / "model.npz")[0]):
        assert one.inertia_ == one.objective_ * (2 if method is KernelKMeans else 1)
        if hasattr(one, "W_"):
            np.testing.assert_array_equal(one.cluster_centers_, one.components_)
        np.testing.assert_array_equal(one.predict_proba(X), model.predict_proba(X))
        assert one.score(X) == model.score(X)


def test_components_that_are_no_means_are_no_centers():
    X, _ = blobs(60, 3, 6, 0)
    assert not hasattr(WNMF(3, **QUICK).fit(X), "cluster_centers_")
    model = KLSNMF(3, kernel="precomputed", **QUICK).fit(rbf_kernel(X, gamma=0.05))
    assert not hasattr(model, "cluster_centers_")


def test_kernel_kmeans_has_the_inertia_of_kmeans():
    X, _ = blobs(90, 3, 6, 0)
    ours = KernelKMeans(3, kernel="linear", diffusion=0, row_norm=None, random_state=0).fit(X)
    theirs = KMeans(3, n_init=10, random_state=0).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    centers = theirs.cluster_centers_[theirs.predict(ours.cluster_centers_)]
    np.testing.assert_allclose(ours.cluster_centers_, centers)


# ---------------------------------------------------------------------- errors


@each
def test_errors_name_the_class_that_the_user_wrote(method):
    class Topics(method):
        """A class of a user."""

    X, _ = blobs(40, 3, 6, 0)
    gaps = np.where(X.max() == X, np.nan, X)
    with pytest.raises(
        TypeError, match=r"^Topics has no parameter 'n_cluster'\. Did you mean 'n_cl"
    ):
        Topics(n_cluster=3)
    with pytest.raises(TypeError, match=r"^Topics\.fit has no parameter 'weight'"):
        Topics(3).fit(X, weight=1)
    with pytest.raises(ValueError, match="parameter of Topics must be"):
        Topics(0).fit(X)
    with pytest.raises(Exception, match="This Topics instance is not fitted yet"):
        Topics(3).predict(X)
    with pytest.raises(ValueError, match="Topics is expecting 6 features"):
        Topics(3, **QUICK).fit(X).predict_proba(X[:, :4])
    if method is not WNMF:
        with pytest.raises(ValueError, match="Topics does not accept missing values"):
            Topics(3).fit(gaps)
    with pytest.raises(AttributeError, match="Topics has no predict_proba"):
        Topics(3, **QUICK).fit(sparse.csr_array(X)).predict_proba(X)


@pytest.mark.parametrize(
    ("method", "name", "here"),
    [
        (KLSNMF, "gamma", "radius"),
        (WNMF, "n_components", "n_clusters"),
        (KLSNMF, "affinity", "kernel"),
    ],
)
def test_names_of_scikit_learn_lead_to_ours(method, name, here):
    with pytest.raises(TypeError, match=f"no parameter '{name}'. Its counterpart is '{here}'"):
        method(**{name: 1})
    with pytest.raises(TypeError, match=r"LSNMF has no parameter 'gamma'\. It has callback"):
        LSNMF(gamma=1)


def test_a_subclass_may_take_what_it_likes():
    class Mine(KLSNMF):
        def __init__(self, n_clusters=8, *, mine=3, **more):
            super().__init__(n_clusters, **more)
            self.mine = mine

    assert Mine(2, mine=4, lam=0.5).lam == 0.5
