"""How many clusters: what is found where the number is not known, beside other tools.

    python -m benchmarks.levels run                     every row that is missing
    python -m benchmarks.levels run --groups shapes --tools KLSNMF HDBSCAN
    python -m benchmarks.levels tables                  docs/results/levels.md from the rows

The sets are those of ``benchmarks.rivals``, and draws of clusters that were planted, or of none at
all. Rows are added to docs/results/levels.csv as they are made; those that are there are not made
again. The rows of HDBSCAN and UMAP+HDBSCAN are those of ``benchmarks.rivals``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from klsnmf import KLSNMF, __version__, n_clusters_evidence
from klsnmf.core.words import wrapped

from . import level_tables, rival_sets
from .rival_tools import hdbscan, neighbour_graph, require, warm_up
from .rivals import append, count_classes, scores, threads
from .rows import read_file

ROWS = Path("docs/results/levels.csv")
RIVALS = Path("docs/results/rivals.csv")
PAGE = Path("docs/results/levels.md")
COLUMNS = [
    *("set", "group", "tool", "scaling", "seed", "n", "k", "chosen", "ari", "clear", "best"),
    *("seconds", "threads", "version"),
]

#: Draws of planted clusters, and of samples without any, of each kind.
DRAWS = 100
EMPTY_DRAWS = 60

#: Planted clusters: how many, in how many dimensions, how far apart in standard deviations.
NUMBERS = (3, 5, 8, 15)
DIMENSIONS = (2, 10, 50)
APART = 8.0

#: Silhouette: numbers that are tried, and samples that it is measured on.
MOST = 40
ASKED = 2000

GROUPS = [*rival_sets.GROUPS, "planted", "nothing"]


class Found(NamedTuple):
    """Labels, and what a tool says of them."""

    labels: Any
    clear: bool | None = None
    best: tuple[int, ...] = ()


def ours(X: Any, seed: int) -> Found:
    model = KLSNMF("auto", random_state=seed).fit(X)
    evidence = model.n_clusters_evidence_
    return Found(model.labels_, evidence.clear, evidence.levels)


def number_alone(X: Any, seed: int) -> Found:
    """Our number of clusters, without the clusters: all that is asked for of planted ones."""
    evidence = n_clusters_evidence(X, random_state=seed)
    return Found(np.arange(len(X)) % evidence.chosen, evidence.clear, evidence.levels)


def leiden(X: Any, seed: int) -> Found:
    """Communities at the resolution 1."""
    from leidenalg import RBConfigurationVertexPartition, find_partition

    found = find_partition(
        neighbour_graph(X, seed),
        RBConfigurationVertexPartition,
        resolution_parameter=1.0,
        seed=seed,
    )
    return Found(np.array(found.membership))


def by_density(X: Any, seed: int) -> Found:
    return Found(hdbscan(X, 0, seed))


def by_silhouette(X: Any, seed: int) -> Found:
    """k-means, with the number of clusters of the largest silhouette."""
    n = len(X)
    answers = []
    for k in range(2, min(MOST, n // 4) + 1):
        labels = KMeans(k, n_init=1, random_state=seed).fit_predict(X)
        size = min(ASKED, n)
        if len(np.unique(labels)) > 1:
            value = silhouette_score(X, labels, sample_size=size, random_state=seed)
            answers.append((value, -k, labels))
    return Found(max(answers, key=lambda one: one[:2])[2])


class Tool(NamedTuple):
    find: Callable[[Any, int], Found]
    both_scalings: bool = True
    packages: tuple[str, ...] = ()


OURS = "KLSNMF"
TOOLS = {
    OURS: Tool(ours, both_scalings=False),
    "Leiden": Tool(leiden, packages=("leidenalg", "igraph")),
    "HDBSCAN": Tool(by_density),
    "silhouette": Tool(by_silhouette),
}


class Cell(NamedTuple):
    group: str
    set: str
    tool: str
    scaling: str
    seed: int


def planted(seed: int) -> tuple[str, Any, Any]:
    """Round clusters of equal size, or of sizes up to 1 : 20, whose centres are apart."""
    kinds = [(k, p, unequal) for k in NUMBERS for p in DIMENSIONS for unequal in (False, True)]
    k, p, unequal = kinds[seed % len(kinds)]
    rng = np.random.default_rng(seed)
    centres: list[Any] = []
    spread = APART
    while len(centres) < k:
        one = spread * rng.normal(size=p) / np.sqrt(p)
        if all(np.linalg.norm(one - other) >= APART for other in centres):
            centres.append(one)
        spread *= 1.01
    sizes = np.geomspace(20, 400, k).round().astype(int) if unequal else np.full(k, 100)
    y = np.repeat(np.arange(k), sizes)
    name = f"{k} clusters in {p} dimensions, {'unequal' if unequal else 'equal'}"
    return name, np.array(centres)[y] + rng.normal(size=(len(y), p)), y


def nothing(seed: int) -> tuple[str, Any, Any]:
    """A normal distribution, or a uniform one, of 200 to 5000 samples."""
    rng = np.random.default_rng(seed)
    kind, p = ("normal", "uniform")[seed % 2], DIMENSIONS[seed // 2 % 3]
    n = int(np.exp(rng.uniform(np.log(200), np.log(5000))))
    X = rng.normal(size=(n, p)) if kind == "normal" else rng.uniform(size=(n, p))
    return f"{kind} in {p} dimensions", X, np.zeros(n, int)


def wanted(groups: list[str], tools: list[str], seeds: int, folder: Path) -> Iterator[Cell]:
    for seed in range(seeds):
        for group in (group for group in groups if group in rival_sets.GROUPS):
            for name in rival_sets.names(group, folder):
                X = rival_sets.load(group, name, folder).X
                for scaling in rival_sets.scalings(group, X):
                    for tool in tools:
                        known = tool == "HDBSCAN"  # of these sets there are rows of rivals
                        if not known and (scaling == "raw" or TOOLS[tool].both_scalings):
                            yield Cell(group, name, tool, scaling, seed)
    for group, draws, make in (
        ("planted", DRAWS, planted),
        ("nothing", 2 * EMPTY_DRAWS, nothing),
    ):
        for seed in range(draws) if group in groups else ():
            for tool in tools:
                if tool in (OURS, "HDBSCAN"):
                    yield Cell(group, make(seed)[0], tool, "raw", seed)


def row_of(cell: Cell, folder: Path) -> list[Any]:
    find = TOOLS[cell.tool].find
    if cell.group in rival_sets.GROUPS:
        X, answers = rival_sets.load(cell.group, cell.set, folder)
        X = rival_sets.scaled(X, cell.scaling)
    else:
        _, X, y = (planted if cell.group == "planted" else nothing)(cell.seed)
        answers = [y]
        find = number_alone if cell.tool == OURS else find
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        labels, clear, best = find(X, cell.seed)
        seconds = time.perf_counter() - start
    matches = [(scores(y, labels)[0], count_classes(y)) for y in answers]
    chosen = count_classes(labels)
    # Where several answers are right, the number that was found counts if it is one of theirs.
    ari = max(matches)[0]
    k = min((count_classes(y) for y in answers), key=lambda one: (one != chosen, abs(one - chosen)))
    key = [cell.set, cell.group, cell.tool, cell.scaling, cell.seed, len(X), k, chosen]
    told = "" if clear is None else int(clear)
    few = " ".join(map(str, best))
    return [*key, f"{ari:.4f}", told, few, f"{seconds:.3f}", threads(), __version__]


def run(file: Path, cells: Iterator[Cell], folder: Path) -> None:
    """Make the rows that are missing, and write each at once."""
    names = ("set", "tool", "scaling", "seed")
    done = {tuple(row[name] for name in names) for row in read_file(file)}
    for cell in cells:
        if (cell.set, cell.tool, cell.scaling, str(cell.seed)) not in done:
            row = row_of(cell, folder)
            append(file, COLUMNS, row)
            print(", ".join(map(str, row)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "tables"])
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--elsewhere", type=Path, default=Path("build/elsewhere"), help="where fetch stored them"
    )
    options = parser.parse_args()
    if options.what == "tables":
        page = level_tables.page(read_file(ROWS), read_file(RIVALS))
        PAGE.write_text(wrapped(page), encoding="utf-8")
        return
    require([tool for tool in options.tools if tool == "Leiden"])
    warm_up("KLSNMF")
    run(
        ROWS,
        wanted(options.groups, options.tools, options.seeds, options.elsewhere),
        options.elsewhere,
    )


if __name__ == "__main__":
    main()
