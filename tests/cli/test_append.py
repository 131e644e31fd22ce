"""New samples for the clusters of an earlier result."""

import json
from pathlib import Path

import numpy as np
import pytest

from klsnmf.core import sketch
from klsnmf.io.model_file import load
from klsnmf.metrics import accuracy

from ..command_runs import labels_of, names, rows_of, run, write_csv
from ..helpers import blobs


@pytest.fixture
def files():
    """A clustered table, and new rows of the same columns in another order, with others."""
    X, y = blobs(160, 3, 6, seed=0)
    write_csv("old.csv", X[:60], name=names())
    run("cluster", "old.csv", "-k", 3, "--id-column", "name", "--scale", "standard")
    backwards = X[60:, ::-1]
    with open("new.csv", "w") as file:
        print("name,more,f5,f4,f3,f2,f1,f0", file=file)
        for i, row in enumerate(backwards.tolist()):
            print(f"new {i},7", *row, sep=",", file=file)
    return X, y


def test_new_samples_join_the_clusters(files):
    _, y = files
    run("predict", "old-clusters", "new.csv", "--out", "placed.csv")
    out, _ = run("cluster", "--append", "old-clusters", "new.csv", "--quiet", "--json")
    summary = json.loads(out)
    assert summary["n_samples"] == 100
    assert summary["n_samples_seen"] == 160
    assert sum(summary["sizes"]) == 100
    assert summary["files"] == ["labels.csv", "model.npz", "result.json"]
    labels = labels_of("new-clusters")
    assert accuracy(y, np.concatenate([labels_of("old-clusters"), labels])) == 1
    rows = rows_of("new-clusters/labels.csv")
    assert rows[0]["id"] == "new 0"
    expected = [row["cluster"] for row in rows_of("placed.csv")]
    assert [row["cluster"] for row in rows] == expected


def test_the_new_model_goes_on(files):
    run("cluster", "--append", "old-clusters/model.npz", "new.csv", "--out", "a")
    estimator, about = load("a/model.npz")
    assert estimator.n_samples_seen_ == 160
    assert about["preparation"].features == tuple(f"f{j}" for j in range(6))
    out, _ = run("cluster", "--append", "a", "old.csv", "--out", "b", "--id-column", "name")
    assert "60 new samples, 220 in all" in " ".join(out.split())
    np.testing.assert_array_equal(labels_of("b"), labels_of("old-clusters"))
    assert load("b/model.npz")[0].n_samples_seen_ == 220


def test_few_samples_leave_the_clusters_as_they_were(files):
    X, y = files
    write_csv("few.csv", X[60:70], name=names(10))
    for place, (model, seen) in enumerate([("old-clusters", 70), ("few-0", 80), ("few-1", 90)]):
        out, _ = run("cluster", "--append", model, "few.csv", "--out", f"few-{place}")
        assert f"{seen} in all. The clusters stayed as they were." in " ".join(out.split())
        found = np.concatenate([labels_of("old-clusters"), labels_of(f"few-{place}")])
        assert accuracy(y[:70], found) == 1


def test_other_columns_are_refused_and_nothing_is_written(files):
    X, _ = files
    write_csv("bad.csv", X[:10, :5], name=names(10))
    _, err = run("cluster", "--append", "old-clusters", "bad.csv", code=3)
    assert "f5" in err
    assert not Path("bad-clusters").exists()


def test_gaps_are_filled_and_strangers_told(files):
    Path("gap.csv").write_text("name,f0,f1,f2,f3,f4,f5\na,1,2,3,4,5,6\nb,1,2,,400,5,6\n")
    _, err = run("cluster", "--append", "old-clusters", "gap.csv")
    said = " ".join(err.split())
    assert "1 missing value is filled in" in said
    assert "unlike every sample of the model" in said
    assert rows_of("gap-clusters/labels.csv")[1]["strength"] == "0.0000"


def test_samples_of_a_new_kind_are_told():
    """Nearer to the model than its outlier is to the others, so that only many together tell."""
    X, y = blobs(300, 3, 6, seed=0)
    known, other = X[y < 2], X[y == 2]
    write_csv("old.csv", np.vstack([known[20:], 9 * known[:1]]))
    write_csv("other.csv", other[:20])
    write_csv("same.csv", known[:20])
    run("cluster", "old.csv", "-k", 2)
    out, told = run("predict", "old-clusters", "other.csv", "--json")
    _, also = run("cluster", "--append", "old-clusters", "other.csv")
    for each in (told, also):
        assert "20 of 20 samples are farther from the nearest sample of the model" in each
    for rows in (json.loads(out), rows_of("other-clusters/labels.csv")):
        assert all(float(row["novelty"]) >= 0.99 for row in rows)
    assert run("predict", "old-clusters", "same.csv")[1] == ""


@pytest.mark.parametrize("option", [["-k", "3"], ["--scale", "none"], ["--levels"], ["--seed", 1]])
def test_what_the_model_has_decided(files, option):
    _, err = run("cluster", "--append", "old-clusters", "new.csv", *option, code=2)
    assert option[0] in err
    assert "the settings of the model are used" in " ".join(err.split())


def test_models_that_cannot_go_on(files):
    run("cluster", "old.csv", "-k", 3, "--method", "kmeans", "--out", "means")
    _, err = run("cluster", "--append", "means", "new.csv", code=3)
    assert "klsnmf predict" in " ".join(err.split())
    _, err = run("cluster", "--append", "nowhere", "new.csv", code=3)
    assert "does not exist" in err


def test_a_large_file_is_fitted_in_part(monkeypatch, samples):
    monkeypatch.setattr(sketch, "ALL", 40)
    monkeypatch.setattr(sketch, "PART", 30)
    X, y = samples
    np.save("big.npy", X)
    out, err = run("cluster", "big.npy", "-k", 3)
    assert "30 of 60 samples were fitted" in " ".join(err.split())
    assert accuracy(y, labels_of("big-clusters")) == 1
    assert Path("big-clusters/report.html").exists()
    assert "60 samples in 3 clusters" in " ".join(out.split())
    _, err = run("cluster", "big.npy", "--levels", "--out", "other", code=2)
    assert "Leave out --levels" in " ".join(err.split())
    run("cluster", "--append", "big-clusters", "big.npy", "--out", "more")
    assert load("more/model.npz")[0].n_samples_seen_ == 120
