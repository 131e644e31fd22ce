"""The benchmark of preparation: its rows, and what its page says of them."""

from pathlib import Path

import pytest

from benchmarks import preparation
from benchmarks.rows import read_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(preparation, "ROWS", ROOT / preparation.ROWS)
    return read_file(preparation.ROWS)


def test_every_table_has_rows_before_and_after(rows):
    for name, (_, seeds) in preparation.TABLES.items():
        for way in ("none", "auto"):
            found = [(row["seed"], row["k"] == "auto") for row in rows if row["table"] == name
                     and row["way"] == way]  # fmt: skip
            assert len(found) == len(set(found)) == 2 * seeds, name


def test_preparation_helps_or_does_no_harm(rows):
    """With the number of classes given, on every table and every draw."""
    of = {(row["table"], row["seed"], row["way"]): row for row in rows if row["k"] != "auto"}
    for (name, seed, way), row in of.items():
        if way == "auto":
            before = of[name, seed, "none"]
            assert float(row["accuracy"]) >= float(before["accuracy"]) - 0.002, name


def test_the_page_is_made_from_the_rows(rows, tmp_path, monkeypatch):
    assert rows
    monkeypatch.setattr(preparation, "PAGE", tmp_path / "page.md")
    preparation.tables()
    stored = (ROOT / "docs/results/preparation.md").read_text(encoding="utf-8")
    assert preparation.PAGE.read_text(encoding="utf-8") == stored


@pytest.mark.parametrize("name", ["penguins", "wine", "four clusters with gaps"])
def test_a_row_can_be_made_again(name, rows, tmp_path):
    made = preparation.TABLES[name][0](0)
    preparation._write(tmp_path / "table.csv", made)
    k = str(len(set(made.kinds)))
    n, found, accuracy, _ = preparation._measured(
        tmp_path / "table.csv", preparation.WAYS["auto"], k
    )
    stored = next(
        r for r in rows if (r["table"], r["seed"], r["way"], r["k"]) == (name, "0", "auto", k)
    )
    assert (str(n), str(found)) == (stored["n"], stored["found"])
    assert abs(float(accuracy) - float(stored["accuracy"])) < 0.02
