"""``klsnmf compare-runs``: two results, who moved where."""

import json
from pathlib import Path

import numpy as np
import pytest

from ..command_runs import labels_of, names, rows_of, run, write_csv

K = 3


@pytest.fixture
def two_runs(samples):
    """Results of three and of two clusters of the same samples."""
    write_csv("mine.csv", samples[0], name=names())
    for k, folder in ((K, "a"), (2, "b")):
        options = ["-k", k, "--method", "kmeans", "--id-column", "name", "--out", folder]
        run("cluster", "mine.csv", *options)


def labels(path, rows, header="id,cluster,strength"):
    Path(path).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def test_who_moved_where(two_runs):
    found = json.loads(run("compare-runs", "a", "b", "--json")[0])
    one, two = labels_of("a"), labels_of("b")
    assert found["n_samples"] == 60
    assert np.sum(found["table"]) == 60
    partners = dict(found["partners"])
    assert len(partners) == 2
    moved = [i for i in range(60) if partners.get(str(one[i])) != str(two[i])]
    assert [each["id"] for each in found["moved"]] == [f"sample {i}" for i in moved]
    assert found["n_moved"] == len(moved) > 0
    shown, error = run("compare-runs", "a", "b")
    assert error == ""
    assert f"{len(moved)} of 60 samples moved" in shown
    assert "A\tpartner in B\tstayed\tmoved\tto" in shown
    assert json.loads(run("compare-runs", "a", "a/labels.csv", "--json")[0])["n_moved"] == 0


def test_the_files(two_runs):
    options = ["--out", "moved.csv", "--picture", "flow.html"]
    shown, _ = run("compare-runs", "a", "b", *options)
    assert "moved.csv" in shown
    found = json.loads(run("compare-runs", "a", "b", "--json")[0])
    rows = rows_of("moved.csv")
    assert [row["id"] for row in rows] == [each["id"] for each in found["moved"]]
    assert {row["change"] for row in rows} == {"moved"}
    assert "<svg" in Path("flow.html").read_text(encoding="utf-8")
    for more, free in ((options[:2], "moved-2.csv"), (options[2:], "flow-2.html")):
        _, error = run("compare-runs", "a", "b", *more, code=4)
        assert f"{more[0]} {free}" in error
    run("compare-runs", "a", "b", *options, "--force")
    run("compare-runs", "a", "b", "--picture", "flow.svg")
    assert Path("flow.svg").read_text(encoding="utf-8").startswith("<svg")
    assert ".html or .svg" in run("compare-runs", "a", "b", "--picture", "flow.pdf", code=2)[1]


def test_samples_of_one_run_only(two_runs):
    lines = Path("a/labels.csv").read_text().splitlines()
    labels("c.csv", [*lines[3:], "=cmd(),7,1"], lines[0])
    found = json.loads(run("compare-runs", "a", "c.csv", "--json", "--out", "moved.csv")[0])
    assert found["only_a"] == ["sample 0", "sample 1"]
    assert found["only_b"] == ["=cmd()"]
    _, error = run("compare-runs", "a", "c.csv")
    assert "2 samples only in A: 'sample 0', 'sample 1'" in error
    rows = rows_of("moved.csv")
    assert [row["change"] for row in rows] == ["only in A", "only in A", "only in B"]
    assert rows[-1]["id"] == "'=cmd()"
    labels("d.csv", ["x,0,1"])
    assert "no id in common" in run("compare-runs", "a", "d.csv", code=3)[1]


def test_results_of_other_data_are_told(two_runs, samples):
    write_csv("other.csv", samples[0], name=names())
    options = ["-k", 2, "--method", "kmeans", "--id-column", "name"]
    run("cluster", "other.csv", *options)
    _, error = run("compare-runs", "a", "other-clusters")
    assert "A was made from mine.csv, B from other.csv" in error


def test_folders_of_others_and_of_two_runs_are_refused(two_runs):
    Path("others").mkdir()
    assert "does not exist" in run("compare-runs", "a", "others", code=3)[1]
    labels("others/labels.csv", ["x,0,1"])
    assert "no valid result.json" in run("compare-runs", "a", "others", code=3)[1]
    assert "does not exist" in run("compare-runs", "nowhere", "a", code=3)[1]
    Path("a/labels.csv").write_bytes(Path("b/labels.csv").read_bytes())
    assert "from another run than its result.json" in run("compare-runs", "a", "b", code=3)[1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "one column 'id'"),
        (b"id,cluster\n", "holds no samples"),
        (b"id,cluster,cluster\na,1,2\n", "one column 'cluster'"),
        (b"name,cluster\na,1\n", "one column 'id'"),
        (b"id,cluster\na,1\nb\n", "line 3"),
        (b"id,cluster\na,1\nb, \n", "line 3"),
        (b"id,cluster\n\xff\xfe,1\n", "could not be read"),
        (b'id,cluster\n"a,1\n', "could not be read"),
        (b"id,cluster\n" + b"a" * 200_000 + b",1\n", "could not be read"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(two_runs, content, told):
    Path("bad.csv").write_bytes(content)
    _, error = run("compare-runs", "a", "bad.csv", code=3)
    assert told in error
    assert len(error.splitlines()) == 1
    assert "bad.csv" in error


def test_names_of_clusters_command_no_terminal():
    labels("a.csv", ["x,\x1b[2J,1", "y,b,1"])
    labels("b.csv", ["x,b,1", "y,b,1"])
    shown, error = run("compare-runs", "a.csv", "b.csv")
    assert "\x1b" not in shown + error
