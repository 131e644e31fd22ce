"""Tables that are prepared by the command: each step, in the fit and for new samples."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from klsnmf.io import model_file
from klsnmf.metrics import accuracy
from klsnmf.preparation.base import Preparation
from klsnmf.preparation.categories import Encode
from klsnmf.preparation.gaps import FillMedian, FillNear, KeepColumns, LeaveOutRows
from klsnmf.preparation.numbers import Components, LogCounts, Standard

from ..command_runs import labels_of, rows_of, run, write_csv
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


def summary(folder="mine-clusters"):
    return json.loads(Path(folder, "result.json").read_text())


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--missing", "drop-rows"], [LeaveOutRows]),
        (["--missing", "drop-columns"], []),
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
    run("cluster", "mine.csv", "-k", K, *options)
    assert [type(step) for step in steps_of().steps] == kinds
    labels = Path("mine-clusters/labels.csv").read_text()
    assert run("predict", "mine-clusters", "mine.csv")[0] == labels
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


@pytest.mark.parametrize("way", ["drop-rows", "drop-columns", "median", "knn"])
def test_arrays_have_gaps_too(way):
    X, _ = blobs(N, K, P, seed=0)
    X[3, 2] = np.nan
    np.save("mine.npy", X)
    _, error = run("cluster", "mine.npy", "-k", K, code=3)
    assert f"--missing {way}" in error.replace("drop-rows, drop-columns, median or knn", way)
    run("cluster", "mine.npy", "-k", K, "--missing", way)
    labels = Path("mine-clusters/labels.csv").read_text()
    assert run("predict", "mine-clusters", "mine.npy")[0] == labels


def test_counts_in_a_sparse_matrix_are_logarithms_too():
    X = np.random.default_rng(0).poisson(0.5 + 20 * np.kron(np.eye(K), np.ones((20, 4))))
    sparse.save_npz("mine.npz", sparse.csr_array(X))
    np.save("dense.npy", X)
    for data in ("mine.npz", "dense.npy"):
        run("cluster", data, "-k", K, "--scale", "log", "--pca", 3)
        labels = Path(f"{Path(data).stem}-clusters/labels.csv").read_text()
        assert run("predict", f"{Path(data).stem}-clusters", data)[0] == labels
    np.testing.assert_array_equal(labels_of("mine-clusters"), labels_of("dense-clusters"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--columns", "g*"], "no column that matches 'g*'"),
        (["--columns", "f*", "--exclude", "f*"], "no column of numbers"),
        (["--exclude", "f9"], "no column 'f9'"),
        (["--encode", "colours"], "Did you mean 'colour'?"),
        (["--columns", "colour"], "is not a number"),
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
        LogCounts(PLACES + 1),
        LogCounts(PLACES[::-1].copy()),
        LogCounts(PLACES - 1),
        LogCounts([0]),
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
        Preparation(P),
    ],
    ids=str,
)
def test_steps_from_a_stranger_are_checked(step, samples):
    X, _ = samples
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", K, "--method", "kmeans")
    estimator, about = model_file.load("mine-clusters/model.npz")
    good = about["preparation"]
    harmed = about | {"preparation": replace(good, steps=(step,))}
    model_file.save(estimator, "bad.npz", **harmed)
    _, error = run("predict", "bad.npz", "mine.npy", code=3)
    assert (
        "bad.npz is not a model that this version of klsnmf can read (its preparation is damaged:"
        in error
    )
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
    ids=str,
)
def test_a_preparation_from_a_stranger_is_checked(about, samples):
    X, _ = samples
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", K, "--method", "kmeans")
    estimator, _ = model_file.load("mine-clusters/model.npz")
    model_file.save(estimator, "bad.npz", **about)
    _, error = run("predict", "bad.npz", "mine.npy", code=3)
    assert (
        "bad.npz is not a model that this version of klsnmf can read (its preparation is" in error
    )
