"""Samples that come in batches."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from klsnmf import KLSNMF
from klsnmf.estimators.labels import numbers_kept
from klsnmf.io.model_file import ModelError, load, save

from ..helpers import blobs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fed(X, count, **parameters):
    model = KLSNMF(3, **{"random_state": 0, "fit_on": 150} | parameters)
    labels = []
    for part in np.array_split(np.arange(X.shape[0]), count):
        model.partial_fit(X[part])
        labels.append(model.labels_)
    return model, np.concatenate(labels)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_batches_come_to_the_clusters_of_one_fit(seed, storage):
    X, y = blobs(600, 3, 6, seed)
    model, labels = fed(storage(X), 20, random_state=seed)
    assert adjusted_rand_score(y, labels) == 1  # numbers are the same in all batches
    assert adjusted_rand_score(y, model.predict(storage(X))) == 1
    assert model.n_samples_seen_ == 600
    assert model.labels_.shape == model.strengths_.shape == (30,)
    np.testing.assert_array_equal(model.labels_, model.predict(storage(X[-30:])))
    assert len(model.W_) == len(model.fitted_on_) <= 150


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_batches_changes_little(seed):
    X, y = blobs(400, 3, 6, seed)
    order = np.random.default_rng(seed).permutation(400)
    one, two = fed(X, 10)[0], fed(X[order], 10)[0]
    assert adjusted_rand_score(one.predict(X), two.predict(X)) == 1
    by_cluster = fed(X[np.argsort(y, kind="stable")], 10)[0]  # the worst of orders
    assert adjusted_rand_score(y, by_cluster.predict(X)) > 0.95


def test_the_same_batches_give_the_same_answer():
    X, _ = blobs(300, 3, 6, 0)
    one, two = fed(X, 7, random_state=3), fed(X, 7, random_state=3)
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_array_equal(one[0].W_, two[0].W_)


def held(model):
    """Bytes of all arrays that a model holds, each array once."""
    return len(pickle.dumps(model))


def test_memory_is_flat():
    X, _ = blobs(4000, 3, 6, 0)
    model, sizes = KLSNMF(3, random_state=0, fit_on=150), []
    for part in np.array_split(np.arange(4000), 40):
        sizes.append(held(model.partial_fit(X[part])))
        assert len(model._stream.sketch.keys) <= 150
        assert len(model.W_) <= 150
    assert max(sizes[20:]) < 1.1 * max(sizes[5:20])


def test_few_samples_are_collected():
    X, y = blobs(60, 3, 6, 0)
    model = KLSNMF(3, random_state=0)
    model.partial_fit(X[:1]).partial_fit(X[1:2])
    assert model.n_samples_seen_ == 2
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X[2:])
    assert model.n_samples_seen_ == 60
    assert adjusted_rand_score(y, model.predict(X)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_that_was_not_there_renews_the_others(seed):
    """Long before the stream is twice as long."""
    X, y = blobs(900, 4, 8, seed)
    old, new = X[y < 3], X[y == 3]
    model = KLSNMF(4, random_state=seed, fit_on=400)
    model.partial_fit(old[:600])
    renewed = model._stream.renewed
    before = model.predict(old[:600])
    model.partial_fit(new[:100])
    assert model._stream.renewed == 700 > renewed
    assert len(np.unique(model.labels_)) == 1  # all of the new ones together, and alone
    assert model.labels_[0] not in model.predict(old[:600])
    after = model.predict(old[:600])
    share = np.mean(before == after)
    assert share > 0.6  # one of the old clusters was two before, the others keep their numbers


def test_samples_of_known_clusters_renew_nothing_until_the_stream_doubles():
    X, _ = blobs(1000, 3, 6, 0)
    model = KLSNMF(3, random_state=0, fit_on=500).partial_fit(X[:400])
    for start in range(400, 780, 20):
        model.partial_fit(X[start : start + 20])
        assert model._stream.renewed == 400
    model.partial_fit(X[780:820])
    assert model._stream.renewed == 820


def test_a_stream_goes_on_from_a_fit():
    X, y = blobs(600, 3, 6, 0)
    model = KLSNMF(3, random_state=0, fit_on=200).fit(X[:300])
    assert len(model.fitted_on_) == 200
    before = model.labels_
    model.partial_fit(X[300:400])
    assert model.n_samples_seen_ == 400
    np.testing.assert_array_equal(model.predict(X[:300]), before)
    model.partial_fit(X[400:])  # renewed
    assert model._stream.renewed == 600
    np.testing.assert_array_equal(model.predict(X[:300]), before)
    assert adjusted_rand_score(y, model.predict(X)) == 1
    model.fit(X)  # and a fit begins anew
    assert not hasattr(model, "n_samples_seen_")
    assert not hasattr(model, "_stream")


def test_a_stream_from_a_fit_of_all_can_be_saved_at_once(tmp_path):
    X, _ = blobs(330, 3, 6, 0)
    model = KLSNMF(3, random_state=0).fit(X[:300]).partial_fit(X[300:])
    assert model._stream.renewed == 300  # nothing is renewed
    np.testing.assert_array_equal(model.fitted_on_, np.arange(300))
    save(model, tmp_path / "m.npz")
    back, _ = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_a_number_that_is_found_may_change():
    X, y = blobs(600, 5, 10, 0)
    model = KLSNMF("auto", random_state=0, fit_on=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(X[y < 3])
        three = model.n_clusters_
        model.partial_fit(X[y >= 3])
    assert (three, model.n_clusters_) == (3, 5)
    assert adjusted_rand_score(y, model.predict(X)) > 0.95


@pytest.mark.parametrize("outliers", ["cluster", "label"])
def test_files_keep_the_stream(tmp_path, outliers):
    X, _ = blobs(500, 3, 6, 0)
    model = fed(X[:300], 6, outliers=outliers)[0]
    save(model, tmp_path / "m.npz")
    back, copied = load(tmp_path / "m.npz")[0], pickle.loads(pickle.dumps(model))
    for start in (300, 400):
        batch = X[start : start + 100]
        expected = model.partial_fit(batch).labels_
        np.testing.assert_array_equal(back.partial_fit(batch).labels_, expected)
        np.testing.assert_array_equal(copied.partial_fit(batch).labels_, expected)
    assert back.n_samples_seen_ == 500


@pytest.mark.parametrize(
    "change",
    [
        {"keys": np.full(150, 2.0)},
        {"keys": np.zeros(3)},
        {"X": np.full((150, 6), np.nan)},
        {"X": np.zeros((150, 5))},
        {"places": np.full(150, -1)},
        {"size": -1},
        {"seen": "many"},
    ],
)
def test_a_damaged_sketch_is_refused(tmp_path, change):
    X, _ = blobs(300, 3, 6, 0)
    model = fed(X, 3)[0]
    vars(model._stream.sketch).update(change)
    save(model, tmp_path / "m.npz")
    with pytest.raises(ModelError):
        load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (np.ones((5, 4)), "4 features"),
        (np.ones((0, 6)), "0 sample"),
        (sparse.csr_array(np.ones((5, 6))), "in the same form"),
        (np.full((5, 6), np.nan), "NaN"),
        (np.full((5, 6), "a"), "could not convert"),
    ],
)
def test_a_bad_batch_changes_nothing(batch, message):
    X, _ = blobs(300, 3, 6, 0)
    model = fed(X, 3)[0]
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(batch)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_single_and_double_precision_in_one_stream():
    X, y = blobs(300, 3, 6, 0)
    model = KLSNMF(3, random_state=0, fit_on=200)
    model.partial_fit(X[:100].astype(np.float32)).partial_fit(X[100:])
    assert model._stream.sketch.X.dtype == model.W_.dtype == np.float32
    assert adjusted_rand_score(y, model.predict(X)) == 1


def test_no_stream_of_kernels():
    assert not hasattr(KLSNMF(2, kernel="precomputed"), "partial_fit")
    # Python adds why.
    with pytest.raises(AttributeError) as raised:
        KLSNMF(2, kernel="precomputed").partial_fit(np.eye(5))
    assert "the samples themselves" in str(raised.value.__cause__)


def test_numbers_are_kept():
    known = np.array([2, 2, 2, 0, 0, 1])
    assert numbers_kept(np.array([0, 0, 0, 1, 1, 2]), known, 3).tolist() == [2, 0, 1]
    # A cluster more gets a number of its own, and of fewer clusters none is beyond the last.
    assert numbers_kept(np.array([0, 0, 3, 1, 1, 2]), known, 4).tolist() == [2, 0, 1, 3]
    assert numbers_kept(np.array([0, 0, 0, 1, 1, 1]), known, 2).tolist() == [1, 0]
