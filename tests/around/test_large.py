"""The benchmark of very many samples, with few."""

import json
import subprocess
import sys

import numpy as np

from benchmarks import large
from benchmarks.rows import read_file


def test_files_are_made_in_blocks_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "BLOCK", 300)
    for data, (_, k) in large.DATA.items():
        samples, classes = large.written(data, 1000, tmp_path)
        X, y = np.load(samples), np.load(classes)
        assert X.shape == (1000, 50)
        assert X.dtype == np.float32
        assert set(y) == set(range(k))
        assert len(np.unique(X[:, 0])) == 1000  # no block is another once more
        before = samples.stat().st_mtime_ns
        large.written(data, 1000, tmp_path)
        assert samples.stat().st_mtime_ns == before


def test_a_row_from_end_to_end(tmp_path):
    rows = tmp_path / "rows.csv"
    line = ["run", "--n", "2000", "--data", "curves", "--tools", "part", "MiniBatchKMeans"]
    command = [sys.executable, "-m", "benchmarks.large", *line, "--rows", str(rows)]
    for _ in range(2):  # the second has nothing to do
        subprocess.run([*command, "--folder", str(tmp_path)], check=True, stdout=subprocess.PIPE)
    part, rival = sorted(read_file(rows), key=lambda row: row["tool"], reverse=True)
    assert (part["tool"], rival["tool"]) == ("part", "MiniBatchKMeans")
    assert part["fitted"] == "400"
    assert float(part["nmi"]) > 50
    assert float(part["predicted_seconds"]) > 0
    text = large.page([part, rival])
    assert "| 2,000 | KLSNMF, `fit_on` | 400 |" in text


def test_rows_that_are_committed_are_those_of_the_page():
    rows = read_file(large.ROWS)
    assert rows
    assert large.wrapped(large.page(rows)) == large.PAGE.read_text(encoding="utf-8")
    assert all(json.loads(row["accuracy"]) <= 100 for row in rows)
