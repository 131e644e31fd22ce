"""Is doubt told where it should be? Every cluster of the defaults, with labels.

``python -m benchmarks.doubts run`` fits every set of ``benchmarks.rivals`` and of
``benchmarks.planted``, with the defaults and with ``sizes="even"``. It writes a row for each
cluster to docs/results/doubts.csv: whether it was doubted, and how well it matches a class.
``tables`` writes docs/results/doubts.md. A cluster is wrong here if no class has a Jaccard index of
0.7 with it.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from klsnmf import KLSNMF
from klsnmf.core.words import wrapped
from klsnmf.estimators.doubtful import InDoubt

from . import planted, rival_sets
from .rows import read_file

ROWS = Path("docs/results/doubts.csv")
PAGE = Path("docs/results/doubts.md")
COLUMNS = ["set", "group", "sizes", "cluster", "size", "doubted", "jaccard"]
RIGHT = 0.7
PLANTED = "planted"


def best_matches(y: Any, labels: Any) -> dict[int, float]:
    """For each cluster its largest Jaccard index with a class; noise, below 0, does not count."""
    known = y >= 0
    shared = contingency_matrix(labels[known], y[known])
    union = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    return dict(zip(np.unique(labels[known]).tolist(), (shared / union).max(axis=1), strict=True))


def rows_of(group: str, name: str, X: Any, answers: list[Any], sizes: str) -> Iterator[list[Any]]:
    """A row a cluster, for the right answer that is matched best."""
    best, score = None, -2.0
    for y in answers:
        k = len(np.unique(y[y >= 0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KLSNMF(k, sizes=sizes, random_state=0).fit(X)
        found = adjusted_rand_score(y[y >= 0], model.labels_[y >= 0])
        if found > score:
            best, score = (y, model), found
    assert best is not None
    y, model = best
    doubted = {
        c for note in model.notes_ if isinstance(note, InDoubt) for c in note.doubts.clusters
    }
    sizes_of = np.bincount(model.labels_)
    for cluster, match in best_matches(y, model.labels_).items():
        told = int(cluster in doubted)
        yield [name, group, sizes, cluster, sizes_of[cluster], told, f"{match:.4f}"]


def run(folder: Path) -> None:
    done = {(row["set"], row["sizes"]) for row in read_file(ROWS)}
    new = not ROWS.exists()
    with ROWS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for group, name in _sets(folder):
            for sizes in ("auto", "even"):
                if (name, sizes) not in done:
                    if group == PLANTED:
                        X, y = planted.SETS[name](0)
                        answers = [y]
                    else:
                        X, answers = rival_sets.load(group, name, folder)
                    answers = [np.where(y >= 0, y, -1) for y in map(_as_numbers, answers)]
                    writer.writerows(rows_of(group, name, X, answers, sizes))
                    file.flush()
            print(name, flush=True)


def _sets(folder: Path) -> Iterator[tuple[str, str]]:
    yield from ((PLANTED, name) for name in planted.SETS)
    for group in rival_sets.GROUPS:
        yield from ((group, name) for name in rival_sets.names(group, folder))


def _as_numbers(y: Any) -> Any:
    y = np.asarray(y)
    return y if np.issubdtype(y.dtype, np.integer) else np.unique(y, return_inverse=True)[1]


def table(rows: list[dict[str, str]]) -> list[str]:
    """Clusters that were doubted or not, and wrong or right, by group."""
    lines = [
        "| | doubted, wrong | doubted, right | not doubted, wrong | not doubted, right "
        "| of the doubted wrong | of the others wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    groups = [PLANTED, *rival_sets.GROUPS]
    kinds = {"auto": "the defaults", "even": 'sizes="even"'}
    for sizes, words in kinds.items():
        for group in [*groups, None]:
            some = [r for r in rows if r["sizes"] == sizes and group in (r["group"], None)]
            if not some:
                continue
            told = np.array([row["doubted"] == "1" for row in some])
            wrong = np.array([float(row["jaccard"]) < RIGHT for row in some])
            counts = [told & wrong, told & ~wrong, ~told & wrong, ~told & ~wrong]
            a, b, c, d = (int(np.count_nonzero(each)) for each in counts)
            shares = [f"{x / (x + y):.0%}" if x + y else "–" for x, y in ((a, b), (c, d))]
            name = f"{words}, {group or 'all'}"
            lines.append(f"| {name} | {a} | {b} | {c} | {d} | {' | '.join(shares)} |")
    return lines


def tables() -> None:
    text = [
        "# Doubt",
        "",
        "The table counts the clusters of one fit of each set. A cluster is wrong if its Jaccard "
        "index with every class is below 0.7. The rows are in `docs/results/doubts.csv`. `python "
        "-m benchmarks.doubts run` makes them, and `python -m benchmarks.doubts tables` makes this "
        "table.",
        "",
        *table(read_file(ROWS)),
    ]
    PAGE.write_text(wrapped("\n".join(text)) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "tables"])
    parser.add_argument("--elsewhere", type=Path, default=Path("build/elsewhere"))
    options = parser.parse_args()
    run(options.elsewhere) if options.what == "run" else tables()


if __name__ == "__main__":
    main()
