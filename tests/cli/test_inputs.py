"""Tables from the standard input, in several parts, and in workbooks, through the command."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

from klsnmf.cli.commands import klsnmf
from klsnmf.metrics import accuracy

from ..command_runs import as_labels, labels_of, run, words, write_csv

COMMAND = Path(sys.prefix, "bin", "klsnmf")


def piped(content, *arguments):
    return CliRunner().invoke(klsnmf, [str(each) for each in arguments], input=content)


# ---------------------------------------------------------------------- the standard input


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "npz", "parquet", "xlsx"])
def test_the_standard_input_is_what_it_begins_as(kind, samples):
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = samples
    write_csv("mine.csv", X)
    Path("mine.csv.gz").write_bytes(gzip.compress(Path("mine.csv").read_bytes()))
    np.save("mine.npy", X)
    np.savez("mine.npz", X=X)
    pq.write_table(pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])}), "mine.parquet")
    book = openpyxl.Workbook()
    for row in [[f"f{j}" for j in range(X.shape[1])], *X.tolist()]:
        book.active.append(row)
    book.save("mine.xlsx")
    result = piped(Path(f"mine.{kind}").read_bytes(), "cluster", "-", "-k", 3, "--json", "-q")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown["data"] == "standard input"
    assert shown["folder"] == "stdin-clusters"
    assert shown["command"].startswith("klsnmf cluster - -k 3")
    assert accuracy(y, labels_of("stdin-clusters")) == 1
    result = piped(Path(f"mine.{kind}").read_bytes(), "predict", "stdin-clusters", "-", "-q")
    assert as_labels(result.stdout) == Path("stdin-clusters/labels.csv").read_text()


def test_errors_name_the_standard_input():
    result = piped(b"a,b\n1,2\n3,x\n4,5\n", "cluster", "-")
    assert result.exit_code == 3
    assert "standard input, line 3, column 'b': 'x' is not a number" in result.stderr
    assert piped(b"", "cluster", "-").exit_code == 3
    assert not Path("stdin-clusters").exists()


def test_more_than_is_allowed_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("klsnmf.io.stdin.LIMIT", 1000)
    result = piped(b"a,b\n" + b"1,2\n" * 1000, "cluster", "-")
    assert result.exit_code == 3
    assert "standard input has more than the 1000 bytes" in result.stderr


def test_a_pipe_of_the_shell(samples):
    X, y = samples
    write_csv("mine.csv", X)
    with open("mine.csv", "rb") as file:
        done = subprocess.run([COMMAND, "cluster", "-", "-q"], stdin=file, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert accuracy(y, labels_of("stdin-clusters")) == 1


# ---------------------------------------------------------------------- several parts


def write_parts(X, y, folder="parts"):
    Path(folder).mkdir()
    for i in range(3):
        some = slice(20 * i, 20 * i + 20)
        write_csv(f"{folder}/part {i}.csv", X[some], kind=words(y[some]))


def test_several_files_and_a_folder_of_them(samples):
    X, y = samples
    write_parts(X, y)
    write_csv("whole.csv", X, kind=words(y))
    files = [f"parts/part {i}.csv" for i in range(3)]
    run("cluster", "whole.csv", "-k", 3, "--label-column", "kind")
    expected = Path("whole-clusters/labels.csv").read_bytes()
    _, told = run("cluster", *files, "-k", 3, "--label-column", "kind", "--out", "a")
    assert Path("a/labels.csv").read_bytes() == expected
    assert "3 parts were put together: 60 rows." in told
    run("cluster", "parts", "-k", 3, "--label-column", "kind")
    assert Path("parts-clusters/labels.csv").read_bytes() == expected
    command = json.loads(Path("a/result.json").read_text())["command"]
    assert command.startswith("klsnmf cluster 'parts/part 0.csv' 'parts/part 1.csv' 'parts/part 2.")
    again = run("predict", "a", "parts", "-q")[0]
    assert as_labels(again).encode() == expected


@pytest.mark.parametrize("kind", ["npy", "parquet", "csv.gz"])
def test_parts_of_other_kinds(kind, samples):
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = samples
    Path("parts").mkdir()
    for i in range(3):
        some, path = X[20 * i : 20 * i + 20], f"parts/{i}.{kind}"
        if kind == "npy":
            np.save(path, some)
        elif kind == "parquet":
            pq.write_table(pa.table({f"f{j}": some[:, j] for j in range(X.shape[1])}), path)
        else:
            write_csv("part.csv", some)
            Path(path).write_bytes(gzip.compress(Path("part.csv").read_bytes()))
    run("cluster", "parts", "-k", 3)
    assert accuracy(y, labels_of("parts-clusters")) == 1


def test_columns_of_parts_go_by_their_names():
    Path("a.csv").write_text("a,b\n1,2\n3,4\n")
    Path("b.csv").write_text("b,a\n6,5\n,7\n")
    _, told = run("cluster", "a.csv", "b.csv", "--prepare", "none", code=3)
    assert "a.csv and 1 other has 1 missing value, in line 3 of b.csv, column 'b'" in told


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,c\n1,2\n", "b.csv does not fit below a.csv: it has no column of numbers 'b', and has"),
        (
            "a,b,c\n1,2,3\n",
            "b.csv does not fit below a.csv: it has 'c', which the first does not have",
        ),
        ("1,2\n3,4\n", "b.csv does not fit below a.csv"),
        ("a,b\n1,x\n2,3\n", "b.csv, line 2, column 'b'"),
    ],
)
def test_parts_that_do_not_fit_are_named(content, expected):
    Path("a.csv").write_text("a,b\n1,2\n3,4\n")
    Path("b.csv").write_text(content)
    _, told = run("cluster", "a.csv", "b.csv", code=3)
    assert expected in told


def test_parts_of_different_kinds():
    np.save("a.npy", np.ones((3, 2)))
    np.save("b.npy", np.ones((3, 3)))
    _, told = run("cluster", "a.npy", "b.npy", code=3)
    assert "b.npy does not fit below a.npy: it has 3 columns, and the first 2" in told
    Path("c.csv").write_text("a,b\n1,2\n")
    _, told = run("cluster", "a.npy", "c.csv", code=3)
    assert "c.csv does not fit below a.npy: it has names of columns" in told
    _, told = run("cluster", "a.npy", "missing.npy", code=3)
    assert "missing.npy does not exist" in told


def test_other_files_in_a_folder_of_parts_are_named(samples):
    X, y = samples
    write_parts(X, y)
    Path("parts/readme.md").write_text("what this is")
    _, told = run("cluster", "parts", "-k", 3)
    assert "1 file in parts is no table and was left out: 'readme.md'." in told
    Path("empty").mkdir()
    _, told = run("cluster", "empty", code=3)
    assert "empty holds no image" in told


# ---------------------------------------------------------------------- workbooks


def test_a_workbook(samples):
    X, y = samples
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("My cells")
    sheet.append(["kind", *(f"f{j}" for j in range(X.shape[1]))])
    for row, kind in zip(X.tolist(), words(y), strict=True):
        sheet.append([kind, *row])
    book.save("mine.xlsx")
    options = ["--sheet", "My cells", "--label-column", "kind", "-k", 3]
    shown = json.loads(run("cluster", "mine.xlsx", *options, "--json", "-q")[0])
    assert shown["scores"]["accuracy"] == 1
    assert "--sheet 'My cells'" in shown["command"]
    again = run("predict", "mine-clusters", "mine.xlsx", "--sheet", "My cells", "-q")[0]
    assert as_labels(again) == Path("mine-clusters/labels.csv").read_text()
    _, told = run("cluster", "mine.xlsx", "--out", "other", code=3)
    assert "mine.xlsx has column names but no rows" in told
