"""The report, read without a browser: what is in it, how large it is, and what it escapes."""

import sys
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import load_digits, load_wine

from klsnmf import DETAILS, KLSNMF, LSNMF, METHODS, WNMF
from klsnmf.estimators.strengths import strengths
from klsnmf.report import Run, page, scatter, shell, write

from ..helpers import blobs
from ..report_runs import HOSTILE, hostile_run, run_of


class Reader(HTMLParser):
    """The elements of a page, their attributes, and its words."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)

    @property
    def ids(self):
        return {value for name, value in self.attributes if name == "id"}

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def read(tmp_path):
    """The report of a run, read."""

    def write_and_read(run):
        path = tmp_path / "report.html"
        write(run, path)
        assert path.stat().st_size <= page.LIMIT
        assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
        return Reader(path.read_text(encoding="utf-8"))

    return write_and_read


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_report_without_empty_sections(method, read):
    X, y = blobs(60, 3, 8, seed=0)
    estimator = METHODS[method](n_clusters=3, random_state=0).fit(X)
    report = read(run_of(estimator, X, method=method, target=y))
    assert {"map", "sizes", "clusters", "agreement", "again"} <= report.ids
    assert ("similarity" in report.ids) == (hasattr(estimator, "W_") and hasattr(estimator, "G_"))
    assert ("fit" in report.ids) == hasattr(estimator, "history_")
    assert "evidence" not in report.ids
    assert {f"cluster-{c}" for c in range(3)} <= report.ids
    assert report.tags.count("use") >= 60
    assert "accuracy" in report.text
    named = "the prototype is" if hasattr(estimator, "components_") or method == "kmeans" else ""
    assert (named or "the mean of the members is") in report.text


def test_images_have_galleries_and_prototypes(read):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    report = read(run_of(KLSNMF(10, random_state=0).fit(X), X, image_shape=(8, 8), target=y))
    pictures = [value for name, value in report.attributes if name == "src"]
    assert len(pictures) > 10 * 5
    assert all(one.startswith("data:image/png;base64,") for one in pictures)
    assert "prototype" in report.text


def test_the_evidence_for_a_chosen_number_is_shown(read):
    X, _ = blobs(60, 3, 8, seed=1)
    estimator = KLSNMF("auto", random_state=0).fit(X)
    report = read(run_of(estimator, X))
    assert "evidence" in report.ids
    assert f"Why {estimator.n_clusters_} clusters" in report.text
    assert estimator.n_clusters_evidence_.verdict in report.text
    assert "agreement" not in report.ids
    assert "accuracy" not in report.text


def test_strength_is_explained_as_it_was_measured(read):
    X, _ = blobs(40, 2, 5, seed=0)
    votes = read(run_of(SpectralClustering(2, random_state=0).fit(X), X)).text
    distances = read(run_of(KMeans(2, n_init=1, random_state=0).fit(X), X)).text
    assert "10 nearest neighbours" in votes
    assert "another cluster would do as well" not in votes
    assert "another cluster would do as well" in distances


def test_scores_are_explained_and_notes_are_no_warnings(read):
    X, y = blobs(60, 3, 6, seed=0)
    estimator = KMeans(5, n_init=1, random_state=0).fit(X)
    strength = np.full(60, 0.99)
    report = read(run_of(estimator, X, target=y, strength=strength, notes=["Left out: remarks."]))
    assert "2 clusters are left over" in report.text
    for words in ("Normalised mutual information", "most common label", "None is doubtful"):
        assert words in report.text
    assert "Left out: remarks." in report.text
    assert ("class", "notes") in report.attributes
    assert ("class", "findings") not in report.attributes


@pytest.mark.filterwarnings("ignore:.*choice is not clear")
def test_names_from_files_are_text_and_nothing_else(read):
    report = read(hostile_run())
    assert report.tags.count("script") == 2  # the data, which is not run, and the script
    assert [v for k, v in report.attributes if k == "type" and "json" in v] == ["application/json"]
    assert report.tags.count("style") == 1
    assert {"b", "iframe", "object", "link", "base", "form"} & set(report.tags) <= {"b"}
    assert not [name for name, _ in report.attributes if name.startswith("on") or name == "style"]
    sources = [value for name, value in report.attributes if name in ("src", "href")]
    assert all(value.startswith(("data:image/png;", "#")) for value in sources)
    for name in HOSTILE[:3]:
        assert name in report.text
    assert "\u202e" not in report.text
    policy = next(v for k, v in report.attributes if k == "content" and "default-src" in v)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


_small = np.array([[0.0, 1], [0, 2], [5, 1], [6, 1], [5, 2], [0, 1]])
_fitted = KMeans(2, n_init=1, random_state=0).fit(_small)
_names = st.text(st.characters(exclude_categories=[]), min_size=1, max_size=80)


@settings(deadline=None, max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(name=_names, ids=st.lists(_names, min_size=6, max_size=6), feature=_names, label=_names)
def test_no_name_changes_the_page(name, ids, feature, label):
    assert _elements(name, tuple(ids), feature, "z" + label) == _plain_elements()


def _elements(name, ids, feature, label):
    target = np.array([label, "other"] * 3, dtype=object)
    run = run_of(
        _fitted,
        _small,
        name=name,
        ids=list(ids),
        features=[feature, "second"],
        target=target,
        command=name,
        messages=[label],
    )
    reader = Reader(page.render(run).decode("utf-8"))
    return reader.tags, [name for name, _ in reader.attributes]


@cache
def _plain_elements():
    return _elements("name", tuple("abcdef"), "first", "z")


@pytest.fixture
def short_map(monkeypatch):
    """Only as many steps as t-SNE needs at least: these tests are not about the map."""
    monkeypatch.setattr(scatter, "_ITERATIONS", 250)


@pytest.mark.usefixtures("short_map")
@pytest.mark.parametrize("noise", ["grey", "colour"])
def test_a_report_of_large_images_stays_small(noise, read):
    n, k = 20_000, 113
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(n, 784), dtype=np.uint8)
    shape = (28, 28)
    if noise == "colour":
        n, shape = 700, (16, 16, 3)
        X = X[:n, : 16 * 16 * 3]
    estimator = KMeans(k, init=X[:k].astype(float), n_init=1, max_iter=1)
    estimator.labels_ = np.arange(n) % k
    estimator.cluster_centers_ = X[:k].astype(float)
    names = [f"{i}{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(n)]
    target = np.array([names[i % 300] for i in range(n)], dtype=object)
    report = read(run_of(estimator, X, ids=names, image_shape=shape, target=target))
    assert report.tags.count("article") == k
    assert len([value for name, value in report.attributes if name == "src"]) > 2 * k


@pytest.mark.usefixtures("short_map")
def test_more_clusters_than_can_be_looked_at(read):
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    estimator = KMeans(900)
    estimator.labels_ = np.arange(2000) % 900
    report = read(run_of(estimator, X))
    assert report.tags.count("article") == 150
    assert "150 largest clusters" in report.text


def _with_gaps():
    X, _ = blobs(40, 2, 5, seed=0)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.2] = np.nan
    return WNMF(2, random_state=0).fit(X), X


def _sparse():
    X = sparse.random(80, 300, density=0.05, format="csr", random_state=0)
    return KMeans(3, n_init=1, random_state=0).fit(X), X


def _precomputed():
    X, _ = blobs(40, 2, 5, seed=0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 20)
    return SpectralClustering(2, affinity="precomputed", random_state=0).fit(K), K


def _precomputed_sparse():
    _, K = _precomputed()
    K = sparse.csr_matrix(np.where(K > 0.01, K, 0))
    return KLSNMF(2, kernel="precomputed", random_state=0).fit(K), K


def _one_column():
    X = np.r_[np.zeros(10), np.ones(10)][:, None]
    return KMeans(2, n_init=1, random_state=0).fit(X), X


def _two_columns():
    X, _ = blobs(30, 2, 2, seed=0)
    return LSNMF(2, random_state=0).fit(X), X


def _two_samples():
    X = np.array([[1.0, 2, 3], [3, 1, 0]])
    return KMeans(1, n_init=1).fit(X), X


def _all_alike():
    X = np.ones((30, 4))
    return KLSNMF(1, random_state=0).fit(X), X


@pytest.mark.parametrize(
    "made",
    [
        _with_gaps,
        _sparse,
        _precomputed,
        _precomputed_sparse,
        _one_column,
        _two_columns,
        _two_samples,
        _all_alike,
    ],
)
def test_unusual_data_have_a_report(made, read):
    estimator, X = made()
    report = read(run_of(estimator, X))
    assert report.tags.count("article") == len(np.unique(estimator.labels_))
    assert report.tags.count("use") >= X.shape[0]
    assert "nan" not in report.text.lower().replace("\n", " ").split()


@pytest.mark.parametrize("shape", [(4, 4, 3), (6, 8, 1), (48, 1)])
def test_shapes_of_images(shape, read):
    X = np.random.default_rng(0).uniform(size=(20, 48))
    report = read(run_of(KMeans(2, n_init=1).fit(X), X, image_shape=shape))
    assert report.tags.count("img") >= 20


def test_a_sample_without_a_label_is_not_counted(read):
    X, y = load_wine(return_X_y=True)
    target = np.array([f"kind {value}" for value in y], dtype=object)
    target[:5] = None
    target[5] = np.nan
    estimator = KMeans(3, n_init=1, random_state=0).fit(X)
    report = read(run_of(estimator, X, target=target))
    assert "172 of 178 samples have one" in report.text
    target[:] = None
    assert "agreement" not in read(run_of(estimator, X, target=target)).ids


def test_a_report_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(page.os, "replace", fail)
    X, _ = blobs(20, 2, 3, seed=0)
    with pytest.raises(OSError, match="disk is full"):
        write(run_of(KMeans(2, n_init=1).fit(X), X), path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_without_jinja2_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(shell, "_environment", shell._environment.__wrapped__)
    X, _ = blobs(20, 2, 3, seed=0)
    with pytest.raises(ImportError, match=r"pip install 'klsnmf\[report\]'"):
        write(run_of(KMeans(2, n_init=1).fit(X), X), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_parts_of_a_run_must_fit_together():
    X, _ = blobs(20, 2, 3, seed=0)
    estimator = KMeans(2, n_init=1).fit(X)
    with pytest.raises(ValueError, match="ids is for 3 entries"):
        run_of(estimator, X, ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="image_shape is for 4 entries"):
        run_of(estimator, X, image_shape=(2, 2))


def test_a_run_is_shown_with_its_command_and_its_parameters(read):
    X, _ = blobs(20, 2, 3, seed=0)
    run = run_of(KMeans(2, n_init=1, random_state=7).fit(X), X, command="klsnmf cluster 'a b.csv'")
    assert isinstance(run, Run)
    report = read(run)
    assert "klsnmf cluster 'a b.csv'" in report.text
    assert "random_state 7" in report.text


@pytest.mark.parametrize("method", ["kls-nmf", "spectral"])
def test_name_estimator_and_data_are_enough(method, read):
    X, _ = blobs(30, 2, 4, seed=0)
    estimator = METHODS[method](n_clusters=2, random_state=0).fit(X)
    run = Run(name="mine", estimator=estimator, X=X)
    assert run.method == method
    assert list(run.ids) == [str(i) for i in range(1, 31)]
    np.testing.assert_array_equal(run.strength, strengths(estimator, X))
    report = read(run)
    assert DETAILS[method].description in report.text
    assert "The fit took" not in report.text
    assert report.tags.count("code") == 1  # the changes as a line of Python, and no command
    assert "The fit took 1.5 s" in read(run_of(estimator, X, seconds=1.5)).text


def test_a_clusterer_from_elsewhere_has_a_report(read):
    X, _ = blobs(30, 2, 4, seed=0)
    names = np.array([f"column {j}" for j in range(4)])  # as feature_names_in_ is
    run = Run(name="mine", estimator=AgglomerativeClustering(2).fit(X), X=X, features=names)
    assert run.method == ""
    report = read(run)
    assert "Clusters found by AgglomerativeClustering" in report.text
    assert "column 3" in report.text
