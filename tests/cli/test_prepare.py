"""Tables that are prepared by the command: each step, in the fit and for new samples."""

import csv
import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

import klsnmf
from klsnmf.io import model_file
from klsnmf.io import read as files
from klsnmf.io.table import Choice, Counted, Table
from klsnmf.methods import METHODS
from klsnmf.metrics import accuracy
from klsnmf.preparation.base import Preparation
from klsnmf.preparation.categories import Encode
from klsnmf.preparation.gaps import FillMedian, FillNear, KeepColumns, LeaveOutRows
from klsnmf.preparation.numbers import Components, LogCounts, Standard, log_counts
from klsnmf.preparation.plan import fitted
from klsnmf.report import page
from klsnmf.report.clusters import clusters
from klsnmf.report.features import columns, features
from klsnmf.report.text import number

from ..command_runs import as_labels, labels_of, rows_of, run, write_csv
from ..helpers import blobs

N, K, P = 60, 3, 6


def write_rows(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.fixture
def mixed():
    """Clear clusters in columns of different units, with gaps, and a column of words."""
    X, y = blobs(N, K, P, seed=0)
    X = X * [1, 1, 1, 1000, 1000, 1]
    gaps = np.random.default_rng(0).random(X.shape) < 0.03
    gaps[:, 0] = False
    colours = np.array(["red", "green", "blue"])[y]
    cells = [
        [*("" if gap else value for value, gap in zip(row, gone, strict=True)), colour]
        for row, gone, colour in zip(X.tolist(), gaps, colours, strict=True)
    ]
    write_rows("mine.csv", [*(f"f{j}" for j in range(P)), "colour"], cells)
    return X, y, gaps


def steps_of(folder="mine-clusters"):
    return model_file.load(Path(folder, "model.npz"))[1]["preparation"]


def only_for_new(steps):
    """Whether nothing is done but to fill gaps in new samples."""
    return [type(step) for step in steps] == [FillMedian]


def summary(folder="mine-clusters"):
    return json.loads(Path(folder, "result.json").read_text())


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--missing", "drop-rows"], [LeaveOutRows]),
        (["--missing", "drop-columns"], [FillMedian]),
        (["--missing", "median", "--scale", "standard"], [Standard, FillMedian]),
        (["--missing", "knn", "--scale", "standard"], [Standard, FillNear]),
        (["--missing", "median", "--scale", "standard", "--pca", "2"],
         [Standard, FillMedian, Components]),
        (["--missing", "knn", "--scale", "standard", "--encode", "colour"],
         [Standard, FillNear, Encode]),
        (["--missing", "knn", "--scale", "log", "--columns", "f[1-4]"], [LogCounts, FillNear]),
    ],
)  # fmt: skip
def test_new_samples_are_prepared_like_the_old(options, kinds, mixed):
    _, y, gaps = mixed
    run("cluster", "mine.csv", "-k", K, "--prepare", "none", *options)
    assert [type(step) for step in steps_of().steps] == kinds
    labels = Path("mine-clusters/labels.csv").read_text()
    assert as_labels(run("predict", "mine-clusters", "mine.csv")[0]) == labels
    kept = ~gaps.any(axis=1) if "drop-rows" in options else np.full(N, True)
    assert len(labels_of("mine-clusters")) == kept.sum()
    if "standard" in options:
        assert accuracy(y[kept], labels_of("mine-clusters")) == 1
    assert all(option in summary()["command"] for option in options)


def test_rows_that_are_left_out_keep_their_numbers_and_are_told(mixed):
    _, _, gaps = mixed
    _, error = run("cluster", "mine.csv", "-k", K, "--missing", "drop-rows")
    with_gaps = gaps.any(axis=1)
    assert f"{with_gaps.sum()} of {N} rows left out: values are missing." in error
    ids = [int(row["id"]) for row in rows_of("mine-clusters/labels.csv")]
    assert ids == (1 + np.flatnonzero(~with_gaps)).tolist()


def test_columns_that_are_left_out_are_not_asked_for_again(mixed):
    X, _, gaps = mixed
    run("cluster", "mine.csv", "-k", K, "--missing", "drop-columns")
    whole = np.flatnonzero(~gaps.any(axis=0))
    assert steps_of().features == tuple(f"f{j}" for j in whole)
    write_rows("new.csv", [f"f{j}" for j in whole], X[:5, whole].tolist())
    assert len(run("predict", "mine-clusters", "new.csv")[0].splitlines()) == 6
    write_rows("few.csv", ["other", "more"], X[:5, :2].tolist())
    _, told = run("predict", "mine-clusters", "few.csv", code=3)
    all_of_them = f"lacks {len(whole)} of the {len(whole)} columns of the model: 'f{whole[0]}', "
    assert all_of_them in " ".join(told.split())
    assert "list all of them with --columns" in " ".join(told.split())


@pytest.mark.parametrize("way", ["drop-rows", "drop-columns", "median", "knn"])
def test_arrays_have_gaps_too(way):
    X, _ = blobs(N, K, P, seed=0)
    X[3, 2] = np.nan
    np.save("mine.npy", X)
    _, error = run("cluster", "mine.npy", "-k", K, code=3)
    assert f"--missing {way}" in error.replace("drop-rows, drop-columns, median or knn", way)
    run("cluster", "mine.npy", "-k", K, "--missing", way)
    labels = Path("mine-clusters/labels.csv").read_text()
    assert as_labels(run("predict", "mine-clusters", "mine.npy")[0]) == labels


def test_counts_in_a_sparse_matrix_are_logarithms_too():
    X = np.random.default_rng(0).poisson(0.5 + 20 * np.kron(np.eye(K), np.ones((20, 4))))
    sparse.save_npz("mine.npz", sparse.csr_array(X))
    np.save("dense.npy", X)
    for data in ("mine.npz", "dense.npy"):
        run("cluster", data, "-k", K, "--scale", "log", "--pca", 3)
        labels = Path(f"{Path(data).stem}-clusters/labels.csv").read_text()
        assert as_labels(run("predict", f"{Path(data).stem}-clusters", data)[0]) == labels
    np.testing.assert_array_equal(labels_of("mine-clusters"), labels_of("dense-clusters"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--columns", "g*"], "no column that matches 'g*'"),
        (["--columns", "f*", "--exclude", "f*"], "no column of numbers"),
        (["--exclude", "f9"], "no column 'f9'"),
        (["--encode", "colours"], "Did you mean 'colour'?"),
        (
            ["--columns", "colour"],
            "is not a number, the first of 60 such cells in 1 column "
            "('colour'). Use --encode for categories",
        ),
        (["--scale", "log", "--missing", "median", "--columns", "f0,low"], "--scale log is for"),
        (["--pca", "7", "--missing", "median"], "--pca 7 is too many; give 6 or fewer"),
        (["--missing", "median", "--columns", "empty,f0"], "column without any value: 'empty'"),
        (["--missing", "drop-columns", "--columns", "empty"], "in every column"),
        (["--missing", "drop-rows", "--columns", "empty"], "in every row"),
        (["--encode", "name", "--missing", "median"], "60 different values"),
        (["--encode", "empty", "--missing", "median"], "0 different values"),
    ],
)
def test_bad_options_are_refused_with_a_remedy(options, said, mixed):
    X, *_ = mixed
    names = [*(f"f{j}" for j in range(P)), "colour", "low", "empty", "name"]
    rows = [[*row, "red", -row[1], "", f"n{i}"] for i, row in enumerate(X.tolist())]
    write_rows("bad.csv", names, rows)
    others = [] if {"--columns", "--exclude"} & {*options} else ["--exclude", "low,empty,name"]
    others = [] if "--encode" in options else others
    _, error = run("cluster", "bad.csv", "-k", K, *options, *others, code=3)
    assert said in error
    assert "--debug" not in error


def test_options_for_columns_need_columns(samples):
    X, _ = samples
    np.save("mine.npy", X)
    np.savez("mine.npz", X=X)
    for data in ("mine.npy", "mine.npz"):
        for option in ("--exclude", "--encode"):
            _, error = run("cluster", data, "-k", K, option, "f1", code=3)
            assert "Leave out --exclude and --encode" in error
    write_csv("mine.csv", X)
    _, error = run("cluster", "mine.csv", "--pca", 2, "--method", "gnmf", code=2)
    assert "--pca 2 makes negative numbers" in error


@pytest.fixture
def strange(samples):
    """What is said of a model that somebody saved with this beside it."""
    np.save("mine.npy", samples[0])
    model = METHODS["kmeans"](n_clusters=K, random_state=0).fit(samples[0])
    model_file.save(model, "good.npz", preparation=Preparation(P))
    run("predict", "good.npz", "mine.npy")

    def told(**about):
        model_file.save(model, "bad.npz", **about)
        return run("predict", "bad.npz", "mine.npy", code=3)[1]

    return told


ONES = np.ones(P)
PLACES = np.arange(P)


@pytest.mark.parametrize(
    "step",
    [
        "standard",
        {"mean": ONES, "spread": ONES},
        Standard(ONES, 0 * ONES),
        Standard(ONES[:-1], ONES),
        Standard(np.nan * ONES, ONES),
        Standard("mean", [1]),
        LogCounts(PLACES + 1, 1e4),
        LogCounts(PLACES[::-1].copy(), 1e4),
        LogCounts(PLACES - 1, 1e4),
        LogCounts([0], 1e4),
        LogCounts(PLACES, -1.0),
        LogCounts(PLACES, np.inf),
        LogCounts(PLACES, 7),
        KeepColumns(PLACES[:-1]),
        KeepColumns(PLACES.astype(float)),
        LeaveOutRows(2.0),
        LeaveOutRows("0"),
        FillMedian(np.append(ONES[:-1], np.inf)),
        FillMedian(ONES[:2]),
        FillNear(np.ones((0, P))),
        FillNear(np.full((3, P), np.inf)),
        FillNear(np.ones((3, P + 1))),
        Components(ONES, np.ones((P, P - 1))),
        Components(ONES, np.full((P, P), np.nan)),
        Components(ONES, np.ones((0, P))),
        Encode("colour", ("a", 1)),
        Encode("colour", ()),
        Encode(1, ("a",)),
        Encode("colour", ("a",)),
        Encode("colour", ("a",), -1.0),
        Preparation(P),
    ],
    ids=lambda given: str(given)[:60],
)
def test_steps_from_a_stranger_are_checked(step, strange):
    error = strange(preparation=Preparation(P, None, (step,)))
    assert "bad.npz" in error
    assert "(its preparation is damaged:" in error
    assert "Give the model.npz that klsnmf cluster wrote, or make it again." in error


@pytest.mark.parametrize(
    "about",
    [
        {"preparation": "none"},
        {"preparation": Standard(ONES, ONES)},
        {"preparation": Preparation(-1)},
        {"preparation": Preparation(P + 1)},
        {"preparation": Preparation(P, ("a", "b"))},
        {"preparation": Preparation(P, (1, 2, 3, 4, 5, 6))},
        {"preparation": Preparation(P, None, (Standard(ONES * 0, ONES),) * 101)},
        {"preparation": Preparation(P, None, [Standard(ONES * 0, ONES)])},
    ],
    ids=lambda given: str(given)[:60],
)
def test_a_preparation_from_a_stranger_is_checked(about, strange):
    assert "(its preparation is" in strange(**about)


# ---------------------------------------------------------------------- looking at a table


def looked_at(X, names, **more):
    """The table after ``--prepare auto``, and its steps."""
    table = Table("t", np.asarray(X, dtype=float), Counted(len(X)), features=names, **more)
    return fitted(table, auto=True)


def measured(n=40, p=3, seed=0):
    return np.random.default_rng(seed).normal(10, 1, size=(n, p))


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        ("year", 2007 + np.arange(40) % 3, "'year', a year. As categories: --encode year."),
        ("birth_year", 1950 + np.arange(40) ** 2 % 37, "'birth_year', a year."),
        ("patient id", np.arange(40) ** 2, "As names: --id-column 'patient id'."),
        ("any", np.random.default_rng(0).permutation(40) + 7, "'any', probably names of samples"),
        ("class", np.arange(40) % 4, "For scores: --label-column class."),
        ("rooms", np.arange(40) % 5, "few different whole numbers"),
        ("flag", np.append(np.arange(39) % 2, np.nan), "few different whole numbers"),
    ],
)
def test_columns_that_are_no_measurements_are_left_out(name, column, said):
    table, steps = looked_at(np.column_stack([measured(), column]), ["a", "b", "c", name])
    assert table.features == ["a", "b", "c"]
    assert steps.features == ("a", "b", "c")
    (told,) = table.messages
    assert told.startswith(f"Left out: {name!r}, ")
    assert said in told
    assert "--columns '*'" in told


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("year", np.linspace(2007, 2009, 40)),  # with fractions
        ("year", np.arange(40) ** 2),  # days, perhaps, and no date
        ("mass", np.arange(40) ** 2 % 37),
        ("constant", np.full(40, 3)),
    ],
)
def test_columns_that_are_measurements_stay(name, column):
    table, _ = looked_at(np.column_stack([measured(), column]), ["a", "b", "c", name])
    assert table.features == ["a", "b", "c", name]


def test_few_whole_numbers_are_the_data_where_most_are_of_that_kind():
    X = np.random.default_rng(0).integers(1, 6, size=(60, 5))
    table, steps = looked_at(X, list("abcde"))
    np.testing.assert_array_equal(table.X, X)
    assert table.messages == []
    assert only_for_new(steps.steps)


@pytest.mark.parametrize("p", [5, 30])
@pytest.mark.parametrize("codes", [(0, 1), (1, 2)])
def test_two_numbers_beside_answers_on_one_scale_are_a_category(p, codes):
    rng = np.random.default_rng(p)
    mood = rng.integers(-1, 2, size=(90, 1))
    answers = np.clip(3 + mood + rng.integers(-1, 2, size=(90, p)), 1, 5)
    gender = rng.choice(codes, 90)
    names = [*(f"q{j}" for j in range(p)), "gender"]
    table, _ = looked_at(np.column_stack([answers, gender]), names)
    assert table.features == names[:-1]
    assert table.messages[0] == (
        "Left out: 'gender', only two different numbers beside columns that share a longer scale, "
        "so probably a category. As categories: --encode gender. To use it as numbers: "
        "--columns '*'."
    )


def test_yes_and_no_are_the_data_where_most_columns_say_so():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=(90, 6)), rng.integers(1, 6, size=(90, 3))])
    assert list(looked_at(X, list("abcdefghi"))[0].features) == list("abcdefghi")


def counts(n=60, p=30, seed=0):
    rng = np.random.default_rng(seed)
    depth = rng.lognormal(0, 0.5, size=(n, 1))
    return rng.poisson(depth * rng.gamma(0.5, 4, size=p)).astype(float)


def test_counts_beside_measurements():
    X = np.column_stack([counts(), measured(60)[:, :2] * [1, 50]])
    names = [*(f"g{j}" for j in range(30)), "age", "mass"]
    table, steps = looked_at(X, names)
    assert steps.scales == ["log-median", "standard"]
    depth = X[:, :30].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table.X[:, :30], np.log1p(X[:, :30] / depth * np.median(depth)))
    np.testing.assert_allclose(table.X[:, 30:].std(axis=0), 1)
    assert table.messages[0].startswith("30 columns, 'g0' to 'g29': counts (")
    assert table.messages[1].startswith("'age', 'mass': no counts, scaled to mean 0")


@pytest.mark.parametrize("seed", range(3))
def test_columns_beside_counts_that_are_none(seed):
    """A total, an age, a batch and a sex, in whole numbers like the counts."""
    X, rng = counts(300, 60, seed), np.random.default_rng(seed)
    more = {
        "total": X.sum(axis=1) + rng.poisson(100, 300),
        "age": rng.integers(20, 80, 300),
        "batch": rng.integers(0, 3, 300),
        "sex": rng.integers(1, 3, 300),
    }
    names = [*(f"g{j}" for j in range(60)), *more]
    table, steps = looked_at(np.column_stack([X, *more.values()]), names)
    told = table.messages
    assert told[0].startswith("Left out: 'batch', 'sex', only a few different whole numbers")
    assert told[1].startswith("60 columns, 'g0' to 'g59': counts (")
    assert told[2].startswith("'total', 'age': no counts, scaled to mean 0")
    log = next(step for step in steps.steps if isinstance(step, LogCounts))
    np.testing.assert_array_equal(log.which, np.arange(60))
    thin = Table("t", sparse.csr_array(np.column_stack([X, *more.values()])), Counted(300))
    thin = replace(thin, features=names)
    (log,) = fitted(thin, auto=True)[1].steps
    np.testing.assert_array_equal(log.which, np.arange(60))


def test_new_counts_are_brought_to_the_depth_of_the_old():
    X, names = counts(), [f"g{j}" for j in range(30)]
    table, steps = looked_at(X, names)
    new = Table("new", 7 * X[:5], Counted(5), features=names)
    np.testing.assert_allclose(steps.apply(new).X, table.X[:5])
    assert steps.steps[0].depth == np.median(X.sum(axis=1))


def test_sparse_counts_with_names():
    X = counts()
    names = [f"g{j}" for j in range(30)]
    thin = Table("t", sparse.csr_array(X), Counted(60), features=names)
    found, steps = fitted(thin, auto=True)
    assert steps.scales == ["log-median"]
    np.testing.assert_allclose(found.X.toarray(), looked_at(X, names)[0].X)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X + 0.5,
        lambda X: X - 1,
        lambda X: np.minimum(X, 2),  # ratings: the largest is in most columns
        lambda X: X[:, :15],
        lambda X: np.tile(X[:1], (60, 1)),  # rows of one sum
        lambda X: X + 50,  # neither zeros nor a long tail
    ],
)
def test_what_are_no_counts(change):
    X = change(counts())
    _, steps = looked_at(X, [f"g{j}" for j in range(X.shape[1])])
    assert "log-median" not in steps.scales


def test_what_has_no_different_units():
    rng = np.random.default_rng(0)
    names = list("abcdef")
    blank = rng.gamma(1, 1, size=(50, 6)) * (rng.random((50, 6)) < 0.6) * [1, 1, 1, 1, 1, 99]
    components = rng.normal(size=(50, 6)) * [99, 9, 5, 3, 2, 1]
    components -= components.mean(axis=0)
    even = rng.normal(5, 1, size=(50, 6)) * [1, 1, 1, 1, 1, 6]
    for X in (blank, components, even):
        table, steps = looked_at(X, names)
        assert table.messages == []
        assert only_for_new(steps.steps)
    assert looked_at(even * [1, 1, 1, 1, 1, 3], names)[1].scales == ["standard"]


def test_most_of_a_row_or_column_is_missing():
    X = measured(50, 4)
    X[:30, 1] = np.nan
    X[3] = np.nan
    X[4, 0] = np.nan
    table, steps = looked_at(X, list("abcd"))
    assert [type(step) for step in steps.steps] == [LeaveOutRows, FillNear]
    assert steps.features == ("a", "c", "d")
    assert table.X.shape == (49, 3)
    assert table.rows.tolist() == [i for i in range(50) if i != 3]
    assert [message.partition(":")[0] for message in table.messages] == [
        "Left out, because most values are missing",
        "1 of 50 rows left out",
        "1 missing value was filled in from the nearest samples. Otherwise",
    ]
    near = np.argsort(np.linalg.norm(X[:, 2:] - X[4, 2:], axis=1))
    near = [i for i in near if i not in (3, 4)][:5]
    np.testing.assert_allclose(table.X[3, 0], X[near, 0].mean())


def test_options_have_the_last_word(mixed):
    run("cluster", "mine.csv", "-k", K)
    assert [type(step) for step in steps_of().steps] == [Standard, FillNear]
    asked = ["--scale", "none", "--missing", "median", "--force"]
    run("cluster", "mine.csv", "-k", K, *asked)
    assert [type(step) for step in steps_of().steps] == [FillMedian]
    _, error = run("cluster", "mine.csv", "-k", K, "--prepare", "none", "--force", code=3)
    assert "The command does it for you: --missing drop-rows, drop-columns, median or knn." in error


def test_methods_that_take_no_negative_numbers_are_not_given_any(mixed):
    X, *_ = mixed
    write_csv("full.csv", X)
    run("cluster", "full.csv", "-k", K, "--method", "gnmf")
    assert only_for_new(steps_of("full-clusters").steps)
    assert any("different spreads" in message for message in summary("full-clusters")["messages"])
    run("cluster", "mine.csv", "-k", K, "--method", "wnmf")  # which takes gaps as they are
    assert steps_of().steps == ()
    shown = json.loads(run("compare", "full.csv", "-k", K, "--seeds", 1, "--json")[0])
    assert {row["method"]: bool(row["left_out"]) for row in shown["methods"]}["gnmf"]
    run("compare", "full.csv", "-k", K, "--seeds", 1, "--methods", "gnmf,kmeans")


# ---------------------------------------------------------------------- in Python


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_prepared_as_the_command_does(library, mixed):
    frame = pytest.importorskip(library).read_csv("mine.csv")
    run("cluster", "mine.csv", "-k", K, "--encode", "colour")
    table = files.read(Path("mine.csv"), Choice(words=["colour"]))
    expected = steps_of().apply(table).X
    ready = klsnmf.prepare(frame, encode=["colour"])
    np.testing.assert_allclose(ready.fit_transform(frame), expected)
    assert isinstance(ready, ColumnTransformer)
    again = pickle.loads(pickle.dumps(ready))
    np.testing.assert_allclose(again.transform(frame[:5]), expected[:5])
    model = make_pipeline(klsnmf.prepare(frame), klsnmf.KLSNMF(K, random_state=0))
    assert accuracy(mixed[1], model.fit_predict(frame)) == 1


def test_what_a_frame_is_prepared_by_is_told(capsys):
    pandas = pytest.importorskip("pandas")
    X = counts()
    frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    frame["year"] = pandas.array([2007, None] * 30, dtype="Int64")
    ready = klsnmf.prepare(frame, verbose=True)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "Left out: 'year', a year."
    assert told[1].startswith("30 columns, 'g0' to 'g29': counts (")
    assert "--" not in "".join(told)
    np.testing.assert_allclose(ready.fit_transform(frame), log_counts(X, np.median(X.sum(axis=1))))
    plain = klsnmf.prepare(frame, scale="none", missing="median").fit_transform(frame)
    np.testing.assert_allclose(plain, X)
    logs = klsnmf.prepare(frame, scale="log").fit_transform(frame)
    np.testing.assert_allclose(logs, np.log1p(X / X.sum(axis=1, keepdims=True) * 10_000))
    for wrong, said in ((X, "DataFrame"), (pandas.concat([frame, frame], axis=1), "'g0'")):
        with pytest.raises((TypeError, ValueError), match=said):
            klsnmf.prepare(wrong)
    by_number = pandas.DataFrame(np.column_stack([X, np.arange(60) % 3]))
    by_number[31] = ["a", "b"] * 30
    assert klsnmf.prepare(by_number, encode=[31]).fit_transform(by_number).shape == (60, 33)
    for wrong in ({"scale": "root"}, {"missing": "mean"}, {"encode": ["sex"]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            klsnmf.prepare(frame, **wrong)


def test_a_column_that_is_excluded_is_not_encoded(mixed):
    run("cluster", "mine.csv", "-k", K, "--encode", "colour", "--exclude", "colour")
    assert not any(isinstance(step, Encode) for step in steps_of().steps)
    assert not any(name.startswith("colour") for name in summary()["columns"])


def test_strengths_of_an_earlier_run_are_not_clustered_by(samples):
    X, _ = samples
    write_csv("mine.csv", X)
    run("cluster", "mine.csv", "-k", K, "--join")
    _, error = run("cluster", "mine-clusters/joined.csv", "-k", K, "--out", "again")
    assert "'strength', results of an earlier run" in error
    assert summary("again")["columns"] == summary()["columns"]


@pytest.mark.parametrize("options", [[], ["--prepare", "none"], ["--pca", "3"]])
def test_gaps_in_new_samples_are_filled_by_a_model_that_saw_none(options, samples):
    X, y = samples
    write_csv("mine.csv", X)
    run("cluster", "mine.csv", "-k", K, *options)
    Path("new.csv").write_text(Path("mine.csv").read_text().replace(f"{X[3, 0]}", "", 1))
    rows, error = run("predict", "mine-clusters", "new.csv")
    assert "1 missing value is filled in with the medians of the model's samples." in error
    labels = [int(line.split(",")[1]) for line in rows.splitlines()[1:]]
    assert accuracy(y, labels) == 1
    (fill,) = (step for step in steps_of().steps if isinstance(step, FillMedian))
    np.testing.assert_allclose(fill.values, np.median(X, axis=0))


def test_a_gap_in_sparse_samples_names_the_remedy():
    X = counts()
    sparse.save_npz("mine.npz", sparse.csr_array(X))
    run("cluster", "mine.npz", "-k", K)
    X[3, 0] = np.nan
    sparse.save_npz("new.npz", sparse.csr_array(X))
    _, error = run("predict", "mine-clusters", "new.npz", code=3)
    assert "use klsnmf cluster with --missing drop-rows" in error


@pytest.mark.parametrize("unit", [1, 1000])
def test_categories_count_as_much_as_a_column_whatever_the_unit(unit):
    rng = np.random.default_rng(0)
    X, y = rng.normal(10, 1, size=(N, 2)) * unit, np.arange(N) % K
    rows = [[*row, f"kind {c}"] for row, c in zip(X.tolist(), y, strict=True)]
    write_rows("mine.csv", ["a", "b", "colour"], rows)
    run("cluster", "mine.csv", "-k", K, "--encode", "colour", "--scale", "none")
    encode = steps_of().steps[-1]
    assert encode.size == pytest.approx(np.sqrt(X.var(axis=0).mean()))
    thin = Table("t", sparse.csr_array(X), Counted(N), words={"colour": [str(c) for c in y]})
    assert fitted(thin)[1].steps[-1].size == pytest.approx(encode.size)


def test_clusters_of_blank_samples_mean_nothing():
    X = counts()
    X[[3, 40]] = 0
    write_rows("mine.csv", [f"g{j}" for j in range(30)], X.astype(int).tolist())
    _, error = run("cluster", "mine.csv", "-k", K)
    said = "2 of 60 samples have only zeros. Their clusters mean nothing (strength 0)."
    assert said in error
    strengths = np.array([float(row["strength"]) for row in rows_of("mine-clusters/labels.csv")])
    assert not strengths[[3, 40]].any()
    assert strengths.any()
    again, error = run("predict", "mine-clusters", "mine.csv")
    assert said in error
    assert as_labels(again) == Path("mine-clusters/labels.csv").read_text()


def test_new_samples_unlike_all_others_are_told(samples):
    X, _ = samples
    write_csv("mine.csv", X)
    run("cluster", "mine.csv", "-k", K)
    write_csv("new.csv", np.vstack([X[:5], X[:1] + 50, -X[1:2] - 50]))
    rows, error = run("predict", "mine-clusters", "new.csv")
    assert "2 of 7 samples are unlike every sample of the model" in error
    strengths = [float(line.split(",")[2]) for line in rows.splitlines()[1:]]
    assert strengths[5:] == [0, 0]
    assert min(strengths[:5]) > 0


def test_the_report_has_the_units_of_the_user(mixed, monkeypatch):
    """Means, values of members and scales of colours, however the columns were scaled."""
    X, y, _ = mixed
    X = X - X.min(axis=0)
    rows = [[*row, 2000 + c, "ab"[c % 2]] for row, c in zip(X.tolist(), y.tolist(), strict=True)]
    write_rows("mine.csv", [*(f"f{j}" for j in range(P)), "year", "colour"], rows)
    seen = []
    monkeypatch.setattr(page, "write", lambda run, path: (seen.append(run), path.write_text("")))
    run("cluster", "mine.csv", "-k", K, "--scale", "standard", "--encode", "colour")
    (shown,) = seen
    np.testing.assert_allclose(shown.X[:, :P].std(axis=0), 1)
    np.testing.assert_allclose(shown.in_units(shown.X)[:, :P], X, atol=1e-9)
    np.testing.assert_allclose(np.unique(shown.in_units(shown.X)[:, P:]), [0, 1])
    assert [*shown.aside] == ["year", "colour"]
    np.testing.assert_array_equal(shown.aside["year"], 2000 + y)
    bars = [bar for cluster in clusters(shown, 3, 1000) for bar in cluster.bars]
    means = {number(mean) for mean in X.mean(axis=0)}
    assert {bar.mean for bar in bars if bar.feature.startswith("f")} <= means
    known = features(shown, 10**6)
    first = columns(shown, np.arange(N), known, 10**6)[0]
    np.testing.assert_allclose(
        [first["low"], first["high"]], [X[:, 0].min(), X[:, 0].max()], atol=1e-9
    )
    run("cluster", "mine.csv", "-k", K, "--pca", "2", "--force")
    assert [*seen[1].aside] == [*(f"f{j}" for j in range(P)), "year", "colour"]
