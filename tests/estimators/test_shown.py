"""What a fitted estimator shows in a notebook: its answer in a line, a report, plots."""

import builtins
import html
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from klsnmf import KLSNMF, METHODS, WNMF
from klsnmf.io.model_file import load, save
from klsnmf.report import Run, write

from ..helpers import blobs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

# What a fit of few iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OURS = {name: method for name, method in METHODS.items() if name not in ("kmeans", "spectral")}
QUICK = {"n_init": 2, "max_iter": 30, "random_state": 0}

each = pytest.mark.parametrize("method", OURS.values(), ids=OURS.keys())


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def points(ax):
    """All points of a map."""
    return np.vstack([group.get_offsets() for group in ax.collections])


# ---------------------------------------------------------------------- the answer in a line


@each
def test_the_answer_stands_above_the_diagram(method):
    X, _ = blobs(60, 3, 6, 0)
    model = method(3, **QUICK).fit(X)
    sizes = np.bincount(model.labels_)
    line = f"60 samples in 3 clusters of {sizes.min()} to {sizes.max()} samples; {model.verdict_}."
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert shown.index(line) < shown.index("sk-top-container")
        assert shown.count(line) == 1
    inside = make_pipeline(MinMaxScaler(), model)._repr_html_()
    assert "sk-top-container" in inside
    assert line not in inside


def test_no_answer_before_a_fit_and_none_where_html_is_not_wanted():
    X, _ = blobs(60, 3, 6, 0)
    assert " samples in " not in KLSNMF(3)._repr_html_()
    model = KLSNMF(3, **QUICK).fit(X)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}


def test_the_answer_counts_outliers_and_has_the_notes():
    X, _ = blobs(60, 3, 6, 0)
    far = np.vstack([X, X.max() * 50 * np.ones((1, 6))])
    model = KLSNMF(3, outliers="label", **QUICK).fit(far)
    assert "61 samples in 3 clusters of" in model._repr_html_()
    assert ", and 1 outlier;" in model._repr_html_()
    assert "<li>" not in model._answer_in_html()
    stopped = WNMF(3, n_init=1, max_iter=1, tol=1e-9).fit(X)
    assert f"<li>{html.escape(str(stopped.notes_[0]))}</li>" in stopped._repr_html_()


def test_the_name_of_a_class_is_escaped():
    X, _ = blobs(60, 3, 6, 0)
    hostile = type("<img src=x>", (KLSNMF,), {})
    assert "<strong>&lt;img src=x&gt;</strong>" in hostile(3, **QUICK).fit(X)._repr_html_()


# ---------------------------------------------------------------------- a report


def test_the_report_is_the_page_of_the_run(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = KLSNMF(3, **QUICK).fit(X)
    page = model.report(X, name="iris", target=y)
    assert repr(page).startswith("Report of 150 samples in 3 clusters")
    page.save(tmp_path / "ours.html")
    write(Run("iris", model, X, target=y), tmp_path / "twin.html")
    ours, twin = ((tmp_path / f"{name}.html").read_text("utf-8") for name in ("ours", "twin"))
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert re.sub(when, "", ours) == re.sub(when, "", twin)


def test_the_frame_holds_the_page_and_nothing_gets_out_of_it():
    X, _ = blobs(60, 3, 6, 0)
    hostile = '"></iframe><script>alert(1)</script>'
    page = (
        KLSNMF(3, **QUICK).fit(X).report(X, name=hostile, ids=[f"{hostile}{i}" for i in range(60)])
    )
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" title="([^"]*)" sandbox="allow-scripts allow-downloads" [^<>]*>'
        r"</iframe>",
        page._repr_html_(),
    )
    assert "<" not in frame[1]
    inside = html.unescape(frame[1])
    assert inside.replace('<base href="about:srcdoc">', "", 1).encode() == page.content
    assert html.unescape(frame[2]) == f"Report of {hostile}"


@pytest.mark.parametrize("indexed", [True, False])
def test_names_of_a_data_frame_are_those_of_the_report(indexed):
    pandas = pytest.importorskip("pandas")
    X, _ = blobs(60, 3, 6, 0)
    names = [f"plant {i}" for i in range(60)] if indexed else None
    frame = pandas.DataFrame(X, index=names, columns=[f"gene {i}" for i in range(6)])
    run = KLSNMF(3, **QUICK).fit(frame).report(frame).run
    assert list(run.features) == [f"gene {i}" for i in range(6)]
    assert run.ids[7] == ("plant 7" if indexed else "7")


@each
def test_every_method_has_a_report(method):
    X, _ = blobs(60, 3, 6, 0)
    model = method(3, **QUICK).fit(sparse.csr_array(X))
    assert b"<!doctype html>" in model.report(sparse.csr_array(X)).content.lower()[:200]
    assert method(3, **QUICK).fit(X.tolist()).report(X.tolist()).run.n_clusters == 3


def test_other_samples_than_those_of_the_fit_have_no_report():
    X, _ = blobs(60, 3, 6, 0)
    model = KLSNMF(3, **QUICK)
    with pytest.raises(NotFittedError, match="KLSNMF instance is not fitted"):
        model.report(X)
    model.fit(X)
    with pytest.raises(ValueError, match="must describe the same samples"):
        model.report(X[:50])
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.report(X[:, :4])


# ---------------------------------------------------------------------- plots


@each
def test_plots_of_every_method(method, tmp_path):
    X, _ = blobs(60, 3, 6, 0)
    model = method(3, **QUICK).fit(X)
    save(model, tmp_path / "model.npz")
    for one in (model, load(tmp_path / "model.npz")[0]):
        ax = one.plot.map()
        assert points(ax).shape == (60, 2)
        assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
        assert [bar.get_height() for bar in one.plot.sizes().patches] == list(
            np.bincount(one.labels_)
        )
        drawn = one.plot.history().lines[0].get_ydata()
        np.testing.assert_array_equal(drawn, one.history_["objective"])


@each
def test_plots_draw_on_given_axes(method):
    X, _ = blobs(60, 3, 6, 0)
    model, (_, ax) = method(3, **QUICK).fit(X), plt.subplots()
    figures = plt.get_fignums()
    for draw in (model.plot.map, model.plot.sizes, model.plot.history):
        assert draw(ax=ax) is ax
    assert plt.get_fignums() == figures


def test_a_map_of_two_features_is_those_features():
    X, _ = make_moons(100, noise=0.05, random_state=0)
    X = 1e30 * X  # such numbers are scaled inside
    model = KLSNMF(2, random_state=0).fit(X)
    for ax in (model.plot.map(), model.plot.map(X)):
        in_order = X[np.argsort(model.labels_, kind="stable")]
        np.testing.assert_allclose(points(ax), in_order, rtol=1e-12)
        assert len(ax.get_xticks()) > 0


def test_a_map_of_given_samples_is_that_of_kept_ones():
    X, _ = blobs(80, 3, 25, 0)
    model = KLSNMF(3, **QUICK).fit(X)
    assert model.row_norm_ == "l2"
    np.testing.assert_allclose(points(model.plot.map()), points(model.plot.map(X)), atol=1e-3)
    assert len(model.plot.map().get_xticks()) == 0


def test_a_kernel_matrix_is_not_kept():
    X, _ = blobs(60, 3, 6, 0)
    K = rbf_kernel(X, gamma=0.05)
    model = KLSNMF(3, kernel="precomputed", **QUICK).fit(K)
    with pytest.raises(ValueError, match=r"give the kernel matrix, plot\.map\(K\)"):
        model.plot.map()
    assert points(model.plot.map(K)).shape == (60, 2)


def test_outliers_have_a_bar_of_their_own():
    X, _ = blobs(60, 3, 6, 0)
    far = np.vstack([X.max() * 50 * np.ones((1, 6)), X])
    ax = KLSNMF(3, outliers="label", **QUICK).fit(far).plot.sizes()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2", "none"]
    assert ax.patches[-1].get_height() == 1


def test_evidence_is_drawn_where_there_is_some():
    X, _ = blobs(120, 3, 6, 0)
    model = KLSNMF("auto", random_state=0).fit(X)
    bars = model.plot.evidence().patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], model.n_clusters_evidence_.score)
    for other in (KLSNMF(3, **QUICK), WNMF(3, **QUICK)):
        with pytest.raises(
            ValueError, match=r'no evidence to draw\. Fit KLSNMF with n_clusters="auto"'
        ):
            other.fit(X).plot.evidence()


def test_a_line_stands_where_another_phase_begins():
    X, _ = blobs(120, 3, 6, 0)
    model = KLSNMF(3, lam=1e-3, **QUICK).fit(X)
    changes = np.flatnonzero(model.history_["solver"][1:] != model.history_["solver"][:-1])
    assert len(changes) == 1
    _, line = model.plot.history().lines
    assert list(line.get_xdata()) == [changes[0] + 1.5] * 2


def test_no_history_is_told():
    X, _ = blobs(60, 3, 6, 0)
    model = KLSNMF(3, **QUICK).fit(X)
    model.history_ = {}
    with pytest.raises(ValueError, match="has no history to draw"):
        model.plot.history()


@pytest.mark.parametrize("name", ["map", "sizes", "evidence", "history"])
def test_no_plots_before_a_fit(name):
    with pytest.raises(NotFittedError, match="KLSNMF instance is not fitted"):
        getattr(KLSNMF(3).plot, name)()


def test_a_missing_matplotlib_is_told(monkeypatch):
    X, _ = blobs(60, 3, 6, 0)
    model = KLSNMF(3, **QUICK).fit(X)
    whole = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (model.plot.map, model.plot.sizes, model.plot.history):
        with pytest.raises(
            ImportError, match=r"Plots need matplotlib: pip install 'klsnmf\[plot\]'"
        ):
            draw()
