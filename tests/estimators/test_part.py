"""Very many samples: a part is fitted, the others are placed."""

import numpy as np
import pytest
from scipy import sparse

from klsnmf import KLSNMF, path
from klsnmf.core import sketch
from klsnmf.core.work import observed
from klsnmf.estimators import part
from klsnmf.estimators.notes import OfAPart
from klsnmf.io.model_file import load, save
from klsnmf.kernels import sources
from klsnmf.kernels.sources import Source, SourceError

from ..helpers import blobs

X, Y = blobs(300, 3, 6, seed=1)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(part, "BLOCK", 64)
    monkeypatch.setattr(sources, "_BYTES", 40 * X.itemsize * X.shape[1])


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("outliers", ["cluster", "label"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_the_rest_is_placed_as_predict_places_it(seed, outliers, storage):
    samples = storage(X)
    found = KLSNMF(3, random_state=seed, fit_on=100, outliers=outliers).fit(samples)
    rows = found.fitted_on_
    assert len(np.unique(rows)) == 100
    assert (np.diff(rows) > 0).all()
    alone = KLSNMF(3, random_state=seed, outliers=outliers).fit(samples.tocsr()[rows] if
        sparse.issparse(samples) else samples[rows])  # fmt: skip
    expected = alone.predict(samples)
    expected[rows] = alone.labels_
    np.testing.assert_array_equal(found.labels_, expected)
    np.testing.assert_array_equal(found.strengths_[rows], alone.strengths_)
    np.testing.assert_array_equal(found.predict(samples), alone.predict(samples))
    np.testing.assert_array_equal(found.W_, alone.W_)
    assert found.strengths_.shape == (300,)
    assert found.strengths_.dtype == found.W_.dtype
    assert OfAPart(100, 300) in found.notes_
    assert alone.fitted_on_ is None


def test_samples_of_the_fit_keep_what_the_fit_says_of_them():
    """Where clusters touch, it is not quite what is said of new samples."""
    rng = np.random.default_rng(0)
    touching = rng.normal(size=(300, 2)) + 2 * np.eye(3, 2)[rng.integers(3, size=300)]
    found = KLSNMF(3, random_state=0, fit_on=150).fit(touching)
    rows = found.fitted_on_
    alone = KLSNMF(3, random_state=0).fit(touching[rows])
    np.testing.assert_array_equal(found.labels_[rows], alone.labels_)
    np.testing.assert_array_equal(found.strengths_[rows], alone.strengths_)
    assert (alone._placed(touching[rows])[1] != alone.strengths_).any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_a_file_is_fitted_like_its_array(tmp_path, order, dtype):
    samples = np.asarray(10 * X, dtype, order=order)
    np.save(tmp_path / "x.npy", samples)
    models = [
        KLSNMF(3, random_state=0, fit_on=100).fit(each) for each in (samples, tmp_path / "x.npy")
    ]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_array_equal(models[0].fitted_on_, models[1].fitted_on_)


def test_the_rule(monkeypatch):
    monkeypatch.setattr(sketch, "ALL", 200)
    monkeypatch.setattr(sketch, "PART", 50)

    def size(samples=X, **parameters):
        fitted = KLSNMF(3, random_state=0, **parameters).fit(samples).fitted_on_
        return None if fitted is None else len(fitted)

    assert size() == 50
    assert size(X[:200]) is None
    assert size(fit_on="all") is None
    assert size(fit_on=250) == 250
    assert size(fit_on=300) is None
    assert size(kernel="rbf") is None
    assert size(kernel="rbf", fit_on=100) == 100
    start = np.ones((300, 3)) + np.eye(3)[Y]
    assert size(init=(start, start)) is None
    K = X @ X.T
    assert size(K, kernel="precomputed") is None
    with pytest.raises(ValueError, match="there are none"):
        size(K, kernel="precomputed", fit_on=100)
    with pytest.raises(ValueError, match="fit_on"):
        size(fit_on=0)


def test_all_lams_of_a_path_share_the_part():
    models = path(X, 3, lams=[0, "auto"], random_state=0, fit_on=90)
    np.testing.assert_array_equal(models[0].fitted_on_, models[1].fitted_on_)
    assert all(model.labels_.shape == (300,) for model in models)


def test_names_of_columns_are_known():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    found = KLSNMF(3, random_state=0, fit_on=100).fit(frame)
    assert found.feature_names_in_.tolist() == list("abcdef")
    same = KLSNMF(3, random_state=0, fit_on=100).fit(X)
    np.testing.assert_array_equal(found.labels_, same.labels_)


def test_progress_is_told():
    told = []
    with observed(lambda *step: told.append(step)):
        KLSNMF(3, random_state=0, fit_on=100).fit(X)
    placed = [(done, total) for stage, done, total in told if stage == "samples placed"]
    assert placed == [(64, 300), (128, 300), (192, 300), (256, 300), (300, 300)]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, "file"])
def test_a_gap_in_a_late_block_is_named_before_the_fit(tmp_path, monkeypatch, value, storage):
    broken = X.copy()
    broken[271, 4] = broken[280, 2] = value
    if storage == "file":
        np.save(tmp_path / "x.npy", broken)
        broken = tmp_path / "x.npy"
    else:
        broken = storage(broken)
    monkeypatch.setattr(Source, "take", None)  # nothing is fitted
    with pytest.raises(ValueError, match="row 271,"):
        KLSNMF(3, random_state=0, fit_on=100).fit(broken)


@pytest.mark.parametrize("how", ["longer", "cut", "gone", "touched"])
def test_a_file_that_changes_while_it_is_read(monkeypatch, file, how):
    changes = {
        "longer": lambda: np.save(file, np.vstack([X, X])),
        "cut": lambda: file.write_bytes(file.read_bytes()[:-100]),
        "gone": file.unlink,
        "touched": lambda: np.save(file, X + 1),
    }
    model, place = KLSNMF(3, random_state=0, fit_on=100), KLSNMF._placed

    def changing(self, samples):
        changes.pop(how, lambda: None)()
        return place(self, samples)

    monkeypatch.setattr(KLSNMF, "_placed", changing)
    with pytest.raises(SourceError, match="not the file that the fit began with"):
        model.fit(file)
    assert not hasattr(model, "labels_")


def test_files_of_no_use(tmp_path):
    model = KLSNMF(3, fit_on=100)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.fit(tmp_path / "none.npy")
    np.save(tmp_path / "flat.npy", np.arange(1000.0))
    with pytest.raises(ValueError, match="one row for each sample"):
        model.fit(tmp_path / "flat.npy")
    np.save(tmp_path / "text.npy", np.full((200, 3), "a"))
    with pytest.raises(ValueError, match="save numbers"):
        model.fit(tmp_path / "text.npy")


@pytest.mark.parametrize("outliers", ["cluster", "label"])
def test_a_model_file_keeps_it(tmp_path, outliers):
    found = KLSNMF(3, random_state=0, fit_on=100, outliers=outliers).fit(X)
    save(found, tmp_path / "m.npz")
    back, _ = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(back.labels_, found.labels_)
    np.testing.assert_array_equal(back.fitted_on_, found.fitted_on_)
    np.testing.assert_array_equal(back.predict(X), found.predict(X))
    assert back.notes_ == found.notes_


def test_the_note_in_words():
    note = OfAPart(200_000, 10_000_000)
    assert str(note).startswith("200,000 of 10,000,000 samples were fitted")
    assert 'fit_on="all"' in str(note)
    assert "fit_on" not in note.in_command
    assert not note.warns


@pytest.mark.parametrize("streamed", [False, True])
def test_the_report_and_the_map_show_the_part(streamed):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    model = KLSNMF(3, random_state=0, fit_on=100)
    found = model.partial_fit(X[:200]).partial_fit(X[200:]) if streamed else model.fit(X)
    page = found.report(X, ids=[f"sample {i}" for i in range(300)])
    assert page.run.X.shape == (100, 6)
    assert page.run.ids[0] == f"sample {found.fitted_on_[0]}"
    np.testing.assert_array_equal(np.bincount(page.run.labels), page.run.sizes)
    assert b"<svg" in page.content
    for samples in (None, X):
        assert found.plot.map(samples) is not None
    with pytest.raises(ValueError, match="300 were clustered"):
        found.report(X[:50])
