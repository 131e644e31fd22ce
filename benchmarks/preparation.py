"""Tables before and after they are prepared, with the command's own parts.

``python -m benchmarks.preparation run`` clusters each table as it is (``--prepare none``) and as
``klsnmf cluster`` does without options, and with single options; with ``-k auto`` and with the
number of classes. It appends the missing rows to docs/results/preparation.csv; ``tables`` writes
docs/results/preparation.md. A table with gaps cannot be clustered as it is: "none" leaves rows with
gaps out there. Accuracy is that of the rows that have a label.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from klsnmf.cli.fits import fit
from klsnmf.cli.options import Source, Steps
from klsnmf.cli.samples import prepared, read
from klsnmf.core.tables import head, line
from klsnmf.core.words import wrapped
from klsnmf.io.table import Choice
from klsnmf.metrics import accuracy

from .planted import cells
from .rows import read_file

ROWS = Path("docs/results/preparation.csv")
PAGE = Path("docs/results/preparation.md")
COLUMNS = ["table", "seed", "way", "k", "n", "found", "accuracy", "ari"]

#: The column of a table that has its classes.
KIND = "kind"

#: Ways to prepare a table; a table with gaps that "none" leaves has rows left out.
WAYS = {
    "none": Steps("none"),
    "auto": Steps(),
    "auto, --scale none": Steps(scale="none"),
    "auto, --scale standard": Steps(scale="standard"),
    "auto, --scale log": Steps(scale="log"),
    "auto, --scale log-median": Steps(scale="log-median"),
    "auto, --pca 20": Steps(pca=20),
    "auto, --missing drop-rows": Steps(missing="drop-rows"),
    "auto, --missing median": Steps(missing="median"),
}


@dataclass(frozen=True)
class Made:
    """A table to be written: names of columns, rows of cells, and the ways it is tried in."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    kinds: Sequence[Any]
    ways: Sequence[str] = ("none", "auto")


def known(load: Callable[[], Any], *ways: str) -> Callable[[int], Made]:
    def make(_: int) -> Made:
        found = load()
        names = [str(name) for name in found.feature_names]
        return Made(names, found.data.tolist(), found.target.tolist(), ("none", "auto", *ways))

    return make


def counted(raised: tuple[float, float]) -> Callable[[int], Made]:
    def make(seed: int) -> Made:
        X, y = cells(seed, raised)
        names = [f"GENE{j + 1}" for j in range(X.shape[1])]
        ways = ("none", "auto", "auto, --scale log", "auto, --scale standard", "auto, --pca 20")
        return Made(names, X.astype(int).tolist(), y.tolist(), ways)

    return make


def penguins(_: int) -> Made:
    """The table of Palmer Archipelago, as it is: gaps, years, islands and sexes."""
    with (files("palmerpenguins") / "data" / "penguins.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds = [row.pop("species") for row in rows]
    ways = ("none", "auto", "auto, --missing drop-rows", "auto, --missing median")
    return Made(list(rows[0]), [list(row.values()) for row in rows], kinds, ways)


def with_gaps(seed: int) -> Made:
    """Four clusters in six columns of different units; numbers of rows, years; gaps of a tenth."""
    rng, n = np.random.default_rng(seed), 600
    y = rng.integers(0, 4, size=n)
    X = 4 * rng.normal(size=(4, 6))[y] + rng.normal(size=(n, 6))
    X = 20 * X + 300
    X *= [0.001, 0.01, 1, 1, 20, 500]
    cells = np.where(rng.random(X.shape) < 0.1, "", X.round(4).astype(str)).tolist()
    years = rng.integers(2015, 2019, size=n).tolist()
    rows = [[i + 1, *row, year] for i, (row, year) in enumerate(zip(cells, years, strict=True))]
    names = ["sample", *(f"measure {j}" for j in range(6)), "year"]
    ways = ("none", "auto", "auto, --scale none", "auto, --missing drop-rows")
    return Made(names, rows, y.tolist(), (*ways, "auto, --missing median"))


TABLES: dict[str, tuple[Callable[[int], Made], int]] = {
    "counts of cells": (counted((4, 15)), 3),
    "counts of cells, markers 3 to 6 times": (counted((3, 6)), 2),
    "counts of cells, markers 2 to 4 times": (counted((2, 4)), 2),
    "penguins": (penguins, 1),
    "wine": (known(load_wine), 1),
    "breast cancer": (known(load_breast_cancer), 1),
    "four clusters with gaps": (with_gaps, 3),
    "iris": (known(load_iris, "auto, --scale standard"), 1),
    "digits": (known(load_digits, "auto, --scale standard", "auto, --scale log-median"), 1),
}


def run() -> None:
    done = {tuple(row[name] for name in COLUMNS[:4]) for row in read_file(ROWS)}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for name, (make, seeds) in TABLES.items():
            for seed in range(seeds):
                made, path = make(seed), Path(folder, "table.csv")
                _write(path, made)
                for way in made.ways:
                    for k in ("auto", str(len(set(made.kinds)))):
                        if (name, str(seed), way, k) not in done:
                            _append([name, seed, way, k, *_measured(path, WAYS[way], k)])
            print(name, flush=True)


def _write(path: Path, made: Made) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*made.names, KIND])
        rows = zip(made.rows, made.kinds, strict=True)
        writer.writerows([*row, kind] for row, kind in rows)


def _measured(path: Path, steps: Steps, k: str) -> list[Any]:
    """How many rows have a label, in how many clusters, and how well these match the classes."""
    source = Source(path, None, Choice(label_column=KIND), steps)
    table = read(source)
    if steps.prepare == "none" and np.isnan(np.asarray(table.X)).any():
        source = Source(path, None, source.wanted, Steps("none", missing="drop-rows"))
    table, _ = prepared(table, source, ["kls-nmf"])
    labels = fit("kls-nmf", k if k == "auto" else int(k), 0, table, None).estimator.labels_
    y = [str(kind) for kind in table.target if table.target is not None]
    scores = accuracy(y, labels), adjusted_rand_score(y, labels)
    return [len(y), len(np.unique(labels)), *(f"{score:.4f}" for score in scores)]


def _append(row: list[Any]) -> None:
    new = not ROWS.exists()
    with ROWS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerow(row)


def tables() -> None:
    text = [
        "The mean accuracy over draws. Brackets show the number of clusters that `-k auto` found "
        "and, if rows were left out, the number of rows that have a label.",
        "",
        *head("table", "prepared by", "-k auto", "-k as many as classes"),
    ]
    groups: dict[tuple[str, str], dict[bool, list[dict[str, str]]]] = {}
    for row in read_file(ROWS):
        group = groups.setdefault((row["table"], row["way"]), {True: [], False: []})
        group[row["k"] == "auto"].append(row)
    most = {
        name: max(int(r["n"]) for r in read_file(ROWS) if r["table"] == name) for name in TABLES
    }
    for (name, way), by in groups.items():
        found, given = ([float(row["accuracy"]) for row in by[auto]] for auto in (True, False))
        numbers = sorted({row["found"] for row in by[True]}, key=int)
        n = np.mean([int(row["n"]) for row in by[True]])
        rows = f"; {n:.0f} rows" if n < most[name] else ""
        told = f"{np.mean(found):.3f} ({' to '.join([numbers[0], *numbers[1:][-1:]])}{rows})"
        text.append(line(name, way, told, f"{np.mean(given):.3f}"))
    PAGE.write_text(wrapped("\n".join(text)) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "tables"])
    what = parser.parse_args().what
    run() if what == "run" else tables()


if __name__ == "__main__":
    main()
