"""Habits of scikit-learn's users, for every method: data frames, pipelines, searches, callbacks."""

import pickle
import re

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from klsnmf import KLSNMF, METHODS, WNMF
from klsnmf.metrics import accuracy, accuracy_scorer, nmi, nmi_scorer, purity, purity_scorer

from ..helpers import blobs

# What a fit of few iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OURS = {name: method for name, method in METHODS.items() if name not in ("kmeans", "spectral")}
QUICK = {"n_init": 2, "max_iter": 30, "random_state": 0}

each = pytest.mark.parametrize("method", OURS.values(), ids=OURS.keys())
new_enough = pytest.mark.skipif(
    not hasattr(KLSNMF, "set_callbacks"),
    reason=f"scikit-learn {sklearn.__version__} has no callbacks; 1.9 has",
)


# ---------------------------------------------------------------------- data frames


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each
def test_data_frames_go_in_and_come_out(method, library):
    frames = pytest.importorskip(library)
    X, _ = blobs(40, 3, 6, 0)
    names = [f"gene {i}" for i in range(6)]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    model, plain = method(3, **QUICK).fit(frame), method(3, **QUICK).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    if not hasattr(StandardScaler().fit(frame), "feature_names_in_"):
        pytest.skip(f"this scikit-learn does not see column names of this {library}")
    assert list(model.feature_names_in_) == names
    rows = model.set_output(transform=library).transform(frame)
    assert isinstance(rows, frames.DataFrame)
    assert list(rows.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(rows.to_numpy(), plain.transform(X), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_gaps_of_a_data_frame_are_gaps(library):
    frames = pytest.importorskip(library)
    X, _ = blobs(40, 3, 6, 0)
    X[3, 2] = X[7, 0] = np.nan
    columns = {
        f"x{i}": [None if np.isnan(value) else value for value in column]
        for i, column in enumerate(X.T)
    }
    framed, plain = (WNMF(3, **QUICK).fit(data) for data in (frames.DataFrame(columns), X))
    np.testing.assert_allclose(framed.G_, plain.G_, rtol=1e-6, atol=1e-9)


# ---------------------------------------------------------------------- pipelines and searches


@each
def test_at_the_end_of_a_pipeline(method):
    X, y = blobs(45, 3, 6, 0)
    pipeline = make_pipeline(MinMaxScaler(), method(3, **QUICK))
    labels = pipeline.fit_predict(X)
    np.testing.assert_array_equal(pipeline[-1].labels_, labels)
    assert accuracy(y, pipeline.predict(X)) > 0.9
    assert pipeline.transform(X[:5]).shape == (5, 3)
    assert len(pipeline.get_feature_names_out()) == 3


@pytest.mark.parametrize(
    ("scorer", "score"), [(accuracy_scorer, accuracy), (nmi_scorer, nmi), (purity_scorer, purity)]
)
def test_a_scorer_is_the_score_of_predicted_clusters(scorer, score):
    X, y = blobs(60, 3, 6, 0)
    # Two clusters for three classes, so that the score is neither 0 nor 1.
    model = KLSNMF(2, **QUICK).fit(X[:40])
    found = scorer(model, X[40:], y[40:])
    assert found == score(y[40:], model.predict(X[40:]))
    assert 0 < found < 1
    assert pickle.loads(pickle.dumps(scorer))(model, X[40:], y[40:]) == found


@each
def test_a_grid_search_with_our_scorers(method):
    X, y = blobs(60, 3, 6, 0)
    search = GridSearchCV(
        method(**QUICK),
        {"n_clusters": [2, 3]},
        scoring={"accuracy": accuracy_scorer, "nmi": nmi_scorer},
        refit="nmi",
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.cv_results_["mean_test_accuracy"][1] > 0.9
    assert search.predict(X).shape == y.shape


def test_cross_validation_of_a_pipeline():
    X, y = blobs(60, 3, 6, 0)
    pipeline = make_pipeline(MinMaxScaler(), KLSNMF(3, **QUICK))
    found = cross_validate(pipeline, X, y, cv=3, scoring=purity_scorer, error_score="raise")
    assert found["test_score"].min() > 0.9


# ---------------------------------------------------------------------- what is shown


@each
def test_html_of_an_estimator(method):
    X, _ = blobs(40, 3, 6, 0)
    model = method(n_clusters=3, init="<b>random</b>")
    html = model._repr_html_()
    assert method.__name__ in html
    assert "Not fitted" in html
    assert "<b>random</b>" not in html
    model.set_params(init="kmeans", n_init=1).fit(X)
    assert re.search(r"(?<!Not )[Ff]itted", model._repr_html_())
    assert method.__name__ in make_pipeline(MinMaxScaler(), model)._repr_html_()


@each
def test_verbose_prints_lines_with_the_iteration(method, capsys):
    X, _ = blobs(40, 3, 6, 0)
    model = method(3, tol=0, **QUICK).fit(X)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    # Methods with a kernel say first what they chose; nothing else comes between iterations.
    first = next(i for i, line in enumerate(lines) if ": iteration" in line)
    pattern = r"\w+: iteration \d+0 of at most \d+, \d of \d fits running, lowest objective \S+"
    *between, last = lines[first:]
    assert all(re.fullmatch(pattern, line) for line in between)
    assert re.fullmatch(r"seconds: .*all \S+", last)


def with_lam(model):
    """Steps with λ that follow where a fit was stopped at λ = 0."""
    return int(np.count_nonzero(model.history_.get("solver", []) == "local"))


@each
def test_a_callback_is_told_and_can_stop_the_fit(method):
    X, _ = blobs(40, 3, 6, 0)
    seen = []

    def stop_at_four(progress):
        seen.append(progress.iteration)
        return progress.iteration == 4

    model = method(3, tol=0, callback=stop_at_four, **QUICK).fit(X)
    assert seen == [1, 2, 3, 4]
    assert model.n_iter_ == 4 + with_lam(model)
    assert len(model.labels_) == 40


# ---------------------------------------------------------------------- scikit-learn's callbacks


class Diary:
    """A callback that writes down what it is told, and may ask to stop."""

    def __init__(self, stop_after=np.inf):
        self.lines, self.open, self.stop_after, self.iterations = [], [], stop_after, 0

    def setup(self, estimator, context):
        self.lines.append("setup")

    def teardown(self, estimator, context):
        self.lines.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.open.append(context.task_name)
        self.iterations += context.task_name == "iteration"
        if context.task_name != "iteration":
            self.lines.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        assert self.open.pop() == context.task_name
        if context.task_name != "iteration":
            self.lines.append(f"end {context.task_name}")
        return context.task_name == "iteration" and self.iterations >= self.stop_after


@new_enough
@each
def test_callbacks_see_the_fit_its_phases_and_their_iterations(method):
    X, _ = blobs(40, 3, 6, 0)
    diary, seen = Diary(), []
    model = method(3, callback=seen.append, **QUICK).set_callbacks(diary).fit(X)
    assert diary.lines[:2] == ["setup", "begin fit"]
    assert diary.lines[-2:] == ["end fit", "teardown"]
    phases = list(dict.fromkeys(progress.phase for progress in seen))
    between = [line for phase in phases for line in (f"begin {phase}", f"end {phase}")]
    assert diary.lines[2:-2] == between
    assert diary.iterations == len(seen)
    assert not diary.open
    np.testing.assert_array_equal(model.labels_, method(3, **QUICK).fit(X).labels_)
    assert not hasattr(model, "_callback_fit_ctx")


@new_enough
@each
def test_callbacks_can_stop_a_fit(method):
    X, _ = blobs(40, 3, 6, 0)
    diary = Diary(stop_after=3)
    model = method(3, tol=0, **QUICK).set_callbacks(diary).fit(X)
    assert model.n_iter_ == 3 + with_lam(model)
    assert model.verdict_ == "stopped by the callback"
    assert not diary.open
    assert diary.lines[-2:] == ["end fit", "teardown"]


@new_enough
@each
def test_callbacks_are_told_when_a_fit_fails(method):
    X, _ = blobs(40, 3, 6, 0)
    model = method(3, **QUICK).fit(X)
    before = set(vars(model))
    diary = Diary()
    with pytest.raises(ValueError, match="infinity"):
        model.set_callbacks(diary).fit(np.where(X.max() == X, np.inf, X))
    assert diary.lines == ["setup", "begin fit", "teardown"]
    assert set(vars(model)) == before | {"_skl_callbacks"}


@new_enough
@pytest.mark.parametrize("method", [KLSNMF, WNMF])
def test_a_progress_bar(method, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, _ = blobs(40, 3, 6, 0)
    model = method(3, **QUICK).set_callbacks(ProgressBar()).fit(X)
    shown = capsys.readouterr().out
    assert f"{method.__name__} - fit" in shown
    assert "100%" in shown
    assert pickle.loads(pickle.dumps(clone(model).set_callbacks())).get_params()["n_clusters"] == 3


@new_enough
def test_a_progress_bar_of_a_search_reaches_our_phases(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = blobs(60, 3, 6, 0)
    search = GridSearchCV(
        KLSNMF(**QUICK), {"n_clusters": [2, 3]}, scoring=accuracy_scorer, cv=2, error_score="raise"
    )
    search.set_callbacks(ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "candidate-split-evaluation" in shown
    assert "exact" in shown


@new_enough
def test_a_monitor_of_scores_has_that_of_the_fit():
    from sklearn.callback import ScoringMonitor

    X, y = blobs(40, 3, 6, 0)
    monitor = ScoringMonitor(scoring=accuracy_scorer)
    model = KLSNMF(2, **QUICK).set_callbacks(monitor).fit(X, y)
    (row,) = monitor.get_logs().data
    assert row["score"] == accuracy(y, model.labels_)
