"""--join: the table of the input again, with the cluster beside each row."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from klsnmf.cli import results
from klsnmf.core.tables import formula_free
from klsnmf.io import join

from ..command_runs import labels_of, names, rows_of, run, words, write_csv

REMARKS = ["=1+1", "-5 or so", "a; -b", "+1", "two\nlines", 'a "word"', "x,y", "ü", "", "@x"] * 6


def joined(data, *options):
    shown = json.loads(run("cluster", data, "-k", 3, "--join", "--json", "-q", *options)[0])
    return Path(shown["folder"], next(each for each in shown["files"] if "joined" in each))


def check(found, X, y):
    np.testing.assert_allclose([float(row["f0"]) for row in found], X[:, 0], rtol=1e-14)
    assert [row["name"] for row in found] == names()
    assert [row["kind"] for row in found] == words(y)


@pytest.mark.parametrize(("end", "separator"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_text_stays_as_it_was(end, separator, samples):
    X, y = samples
    write_csv(f"mine.{end}", X, separator, name=names(), kind=words(y), remark=REMARKS)
    path = joined(f"mine.{end}")
    assert path.name == f"joined.{end}"
    with path.open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file, delimiter=separator))
    check(found, X, y)
    assert [int(row["cluster"]) for row in found] == labels_of("mine-clusters").tolist()
    strengths = [row["strength"] for row in rows_of("mine-clusters/labels.csv")]
    assert [float(row["strength"]) for row in found] == [float(each) for each in strengths]
    # As it was, but for what a spreadsheet would run.
    expected = ["'=1+1", "'-5 or so", *REMARKS[2:9], "'@x"] * 6
    assert [row["remark"] for row in found] == expected


def test_packed_text_and_a_table_without_names(samples):
    X, _ = samples
    lines = "".join(",".join(map(str, row)) + "\n" for row in X.tolist())
    Path("mine.csv.gz").write_bytes(gzip.compress(lines.encode()))
    found = rows_of(joined("mine.csv.gz"))
    assert list(found[0]) == ["1", "2", "3", "4", "5", "6", "cluster", "strength"]
    assert [float(row["1"]) for row in found] == X[:, 0].tolist()


def test_rows_that_were_left_out_have_no_cluster(samples):
    X, _ = samples
    X[7, 2] = X[20, 0] = np.nan
    write_csv("mine.csv", X, name=names(), cluster=np.arange(60) % 7)
    Path("mine.csv").write_text(Path("mine.csv").read_text().replace("nan", ""))
    path = joined("mine.csv", "--missing", "drop-rows", "--id-column", "name")
    found = rows_of(path)
    assert len(found) == 60
    assert [i for i, row in enumerate(found) if row["klsnmf_cluster"] == ""] == [7, 20]
    known = {row["id"]: row["cluster"] for row in rows_of("mine-clusters/labels.csv")}
    assert len(known) == 58
    for row in found:
        assert known.get(row["name"], "") == row["klsnmf_cluster"]
        assert row["cluster"] == str(names().index(row["name"]) % 7)  # that of the input


def test_several_parts(samples):
    X, y = samples
    Path("parts").mkdir()
    write_csv("parts/a.csv", X[:30], name=names()[:30], kind=words(y[:30]))
    write_csv("parts/b.csv", X[30:], kind=words(y[30:]), name=names()[30:], more=["x"] * 30)
    found = rows_of(joined("parts"))
    check(found, X, y)
    assert [row["more"] for row in found] == [""] * 30 + ["x"] * 30
    assert [int(row["cluster"]) for row in found] == labels_of("parts-clusters").tolist()


def test_a_workbook(samples):
    X, y = samples
    book = openpyxl.Workbook()
    book.active.append(["name", "kind", "remark", *(f"f{j}" for j in range(6))])
    for row in zip(names(), words(y), REMARKS, *X.T.tolist(), strict=True):
        book.active.append(list(row))
    for cell in book.active["C"]:
        cell.data_type = "s"  # text that begins like a formula
    book.save("mine.xlsx")
    sheet = openpyxl.load_workbook(joined("mine.xlsx")).active
    header, *rows = sheet.iter_rows(values_only=True)
    found = [dict(zip(header, row, strict=True)) for row in rows]
    check(found, X, y)
    assert [row["cluster"] for row in found] == labels_of("mine-clusters").tolist()
    assert not any(cell.data_type == "f" for row in sheet.iter_rows() for cell in row)


def test_parquet_keeps_its_types(samples):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = samples
    whole = pa.table({"name": names(), "kind": pa.array(words(y)).dictionary_encode(),
                      "when": pa.array(range(60), pa.timestamp("ms")),
                      **{f"f{j}": X[:, j].astype("f4") for j in range(6)}})  # fmt: skip
    pq.write_table(whole, "mine.parquet")
    found = pq.read_table(joined("mine.parquet"))
    assert found.select(whole.column_names).equals(whole)
    assert found["cluster"].to_pylist() == labels_of("mine-clusters").tolist()
    assert str(found["strength"].type) == "double"


def test_cells(samples):
    anndata = pytest.importorskip("anndata")
    X, y = samples
    data = anndata.AnnData(X.astype("f4"), obsm={"X_pca": X[:, :2]}, uns={"note": "mine"})
    data.obs["kind"] = words(y)
    data.write_h5ad("mine.h5ad")
    path = joined("mine.h5ad", "--label-column", "kind")
    found = anndata.read_h5ad(path)
    assert found.obs["klsnmf"].astype(int).tolist() == labels_of("mine-clusters").tolist()
    assert str(found.obs["klsnmf"].dtype) == "category"
    assert found.obs["klsnmf_strength"].between(0, 1).all()
    assert list(found.obs) == ["kind", "klsnmf", "klsnmf_strength"]
    np.testing.assert_array_equal(found.X, data.X)
    np.testing.assert_array_equal(found.obsm["X_pca"], data.obsm["X_pca"])
    assert found.uns["note"] == "mine"
    path.rename("again.h5ad")  # columns of an earlier run are replaced
    again = anndata.read_h5ad(joined("again.h5ad", "--label-column", "kind"))
    assert list(again.obs) == ["kind", "klsnmf", "klsnmf_strength"]
    run("predict", "again-clusters", "mine.h5ad")


@pytest.mark.parametrize("data", ["mine.npy", "--dataset"])
def test_what_cannot_be_joined(data, samples):
    np.save("mine.npy", samples[0])
    if data == "--dataset":
        _, told = run("cluster", data, "digits", "--join", code=2)
    else:
        _, told = run("cluster", data, "--join", code=3)
    assert "--join is for files of tables" in told
    assert not list(Path().glob("*-clusters"))


def test_every_file_that_is_written_is_known_as_a_result():
    assert set(join.RESULTS) <= set(results._RESULTS)


def test_numbers_are_no_formulas():
    for cell in ("-1.5", "+3", "-1,5", "-inf", "", "-", "a=b", "1e-3"):
        assert formula_free(cell) == cell
    for cell in ("=1", "-a", "+SUM(A1)", "@x", "\t=1", '"=1'):
        assert formula_free(cell) == f"'{cell}"
