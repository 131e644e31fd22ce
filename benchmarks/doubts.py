"""Is doubt told where it should be? Every cluster of the defaults, with labels.

``python -m benchmarks.doubts run`` fits every set of ``benchmarks.rivals`` and of
``benchmarks.planted``, with the defaults and with ``sizes="even"``. It writes a row for each
cluster to docs/results/doubts.csv: whether it was doubted, and how well it matches a class.
``tables`` writes docs/results/doubts.md. A cluster is wrong here if no class has a Jaccard index of
0.7 with it. Planted sets are drawn again, with seeds that were never looked at while rules were
made.
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
COLUMNS = ["set", "group", "draw", "sizes", "cluster", "size", "doubted", "jaccard", "ari"]
RIGHT = 0.7
PLANTED = "planted"

#: Seeds of planted sets, others than those of ``benchmarks.answers``.
DRAWS = range(1000, 1010)
SETS = {**planted.SETS, **planted.NOISY}

#: The adjusted Rand index from which on an answer for a planted set is right.
FOUND = 0.9


def best_matches(y: Any, labels: Any) -> dict[int, float]:
    """For each cluster its largest Jaccard index with a class; noise, below 0, does not count."""
    known = y >= 0
    shared = contingency_matrix(labels[known], y[known])
    union = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    return dict(zip(np.unique(labels[known]).tolist(), (shared / union).max(axis=1), strict=True))


def rows_of(
    group: str, name: str, draw: int, X: Any, answers: list[Any], sizes: str
) -> Iterator[list[Any]]:
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
        found = [cluster, sizes_of[cluster], told, f"{match:.4f}", f"{score:.4f}"]
        yield [name, group, draw, sizes, *found]


def run(folder: Path) -> None:
    done = {(row["set"], row["draw"], row["sizes"]) for row in read_file(ROWS)}
    new = not ROWS.exists()
    with ROWS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for group, name, draw in _sets(folder):
            for sizes in ("auto", "even"):
                if (name, str(draw), sizes) not in done:
                    if group == PLANTED:
                        X, y = SETS[name](draw)
                        answers = [y]
                    else:
                        X, answers = rival_sets.load(group, name, folder)
                    answers = [np.where(y >= 0, y, -1) for y in map(_as_numbers, answers)]
                    writer.writerows(rows_of(group, name, draw, X, answers, sizes))
                    file.flush()
            print(name, draw, flush=True)


def _sets(folder: Path) -> Iterator[tuple[str, str, int]]:
    yield from ((PLANTED, name, draw) for name in SETS for draw in DRAWS)
    for group in rival_sets.GROUPS:
        yield from ((group, name, 0) for name in rival_sets.names(group, folder))


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
            ours = [row for row in rows if row["sizes"] == sizes]
            some = [row for row in ours if row["group"] == (group or row["group"])]
            some = some if group else [row for row in some if row["group"] != PLANTED]
            if not some:
                continue
            told = np.array([row["doubted"] == "1" for row in some])
            wrong = np.array([float(row["jaccard"]) < RIGHT for row in some])
            counts = [told & wrong, told & ~wrong, ~told & wrong, ~told & ~wrong]
            a, b, c, d = (int(np.count_nonzero(each)) for each in counts)
            shares = [f"{x / (x + y):.0%}" if x + y else "–" for x, y in ((a, b), (c, d))]
            name = f"{words}, {group or 'all but planted'}"
            lines.append(f"| {name} | {a} | {b} | {c} | {d} | {' | '.join(shares)} |")
    return lines


def of_planted(rows: list[dict[str, str]]) -> list[str]:
    """For each planted set how often the defaults are wrong, and how often that is doubted."""
    lines = [
        "| planted set | draws | not found | of these without a doubt | found, but doubted |",
        "|---|---|---|---|---|",
    ]
    fits: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        if row["group"] == PLANTED and row["sizes"] == "auto":
            fits.setdefault((row["set"], row["draw"]), []).append(row)
    for name in dict.fromkeys(name for name, _ in fits):
        some = [clusters for (other, _), clusters in fits.items() if other == name]
        wrong = np.array([float(clusters[0]["ari"]) < FOUND for clusters in some])
        told = np.array([any(row["doubted"] == "1" for row in clusters) for clusters in some])
        counts = len(some), wrong.sum(), (wrong & ~told).sum(), (~wrong & told).sum()
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return lines


def tables() -> None:
    rows = read_file(ROWS)
    text = [
        "# Doubt",
        "",
        "The table counts the clusters of one fit of each set. A cluster is wrong if its Jaccard "
        "index with every class is below 0.7. The rows are in `docs/results/doubts.csv`. `python "
        "-m benchmarks.doubts run` makes them, and `python -m benchmarks.doubts tables` makes "
        "these tables.",
        "",
        *table(rows),
        "",
        f"Planted sets are drawn {len(DRAWS)} times, with seeds that were never looked at while "
        "rules were made. An answer has found the clusters if its adjusted Rand index is at least "
        f"{FOUND}. Equal round clusters that touch overlap so much that no method can reach that.",
        "",
        *of_planted(rows),
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
