"""Were the constants of the rule for the number of clusters made for the sets they are measured on?

    python -m benchmarks.left_out run       what is seen of each number of clusters, for each set
    python -m benchmarks.left_out tables    docs/results/left_out.md from these rows

Each group of sets is left out in turn. The constants that are best on all the other groups are
taken, and scored on the group that was left out. The clusters are those along the slow directions,
before a fit improves them.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from klsnmf import KLSNMF
from klsnmf.core.tables import head, line
from klsnmf.core.words import wrapped
from klsnmf.kernels import count as rule
from klsnmf.kernels.neighbors import how_many_neighbors
from klsnmf.solve.levels import (
    MANY,
    MOST_AT_FIRST,
    clusters_along,
    count_on,
    persistence_of,
    told_by,
    worth_a_look,
)

from . import rival_sets
from .rivals import append, scores
from .rows import read_file

ROWS = Path("docs/results/left_out.csv")
PAGE = Path("docs/results/left_out.md")
COLUMNS = [
    *("set", "group", "n", "graph", "q", "dimension", "k", "found", "value", "persistence"),
    *("explained", "modularity", "evenness", "ari"),
]

#: Sets of texts and of sequences, and of images; those that are neither are "other".
TEXTS = {"tr41", "newsgroups", "reuters-r8", "reuters-r52", "splice"}
IMAGES = {
    *("jaffe", "yale", "pix", "digits", "semeion", "alphadigit", "faces94", "coil20", "mnist"),
    *("optdigits", "mfeat-pix", "mfeat-fou", "pendigits", "orl", "satimage"),
}

#: The constants that are tried: the powers of clarity and of the number of clusters, the share of
#: the best score, what few samples add to what is explained by chance, and the most that the power
#: of modularity can be.
CONSTANTS = list(
    product((2, 3, 4), (0, 0.25, 0.5, 0.75), (0.6, 0.7, 0.8, 0.9), (0.7, 0.86, 1), (0, 1, 2))
)
OURS = (3, 0.25, rule.NEAR, rule.OF_FEW, rule.MOST_POWER)


def run(folder: Path) -> None:
    done = {row["set"] for row in read_file(ROWS)}
    for group in rival_sets.GROUPS:
        for name in rival_sets.names(group, folder):
            if name not in done:
                X, answers = rival_sets.load(group, name, folder)
                for row in looked_at(X, answers):
                    append(ROWS, COLUMNS, [name, kind_of(group, name), len(X), *row])
                print(name, flush=True)


def kind_of(group: str, name: str) -> str:
    if group == "shapes":
        return "shapes"
    return "images" if name in IMAGES else "texts" if name in TEXTS else "other"


def looked_at(X: Any, answers: list[Any]) -> list[list[Any]]:
    estimator = KLSNMF("auto", random_state=0)
    samples = estimator._samples(estimator._setup(), X)
    graphs = samples.settings.graphs(samples.scaled, 2)
    dimension = graphs.numbers.dimension or rule.PLANE
    rows = []
    for one in count_on(graphs, check_random_state(0)).seen:
        slow, told = one.slow, [one.graph.weights, one.neighbors, f"{dimension:.2f}"]
        time = persistence_of(slow.values, slow.n)
        some = np.random.RandomState(0).permutation(slow.n)
        beyond = (k for k in worth_a_look(time) if k > MOST_AT_FIRST)
        for k in (*range(2, min(MOST_AT_FIRST, len(time)) + 1), *beyond):
            labels = clusters_along(slow, k, some[:1500])
            sizes = np.bincount(labels, minlength=k)
            seen = (
                slow.values[k],
                time[k - 1],
                *told_by(labels, slow, k),
                rule.evenness_of(sizes),
                max(scores(y, labels)[0] for y in answers),
            )
            found = int((sizes > how_many_neighbors(slow.n, k)).sum())
            rows.append([*told, k, found, *(f"{value:.6g}" for value in seen)])
    return rows


def agreement(
    rows: list[dict[str, str]], constants: tuple[float, ...], *, smallest: bool = False
) -> float:
    """The adjusted Rand index at the number that a rule with these constants takes.

    That is the finest number whose score comes near the best, or the smallest. If there are several
    graphs, a score is the mean over those that have room for their neighbours.
    """
    n, graphs = int(rows[0]["n"]), list(dict.fromkeys((row["graph"], row["q"]) for row in rows))
    found = [
        scored([row for row in rows if (row["graph"], row["q"]) == graph], constants)
        for graph in graphs
    ]
    neighbors = [int(q) for _, q in graphs]
    score, best = {}, {}
    for k in sorted(set().union(*found)):
        each = [
            of.get(k, (0.0, 0.0))
            for q, of in zip(neighbors, found, strict=True)
            if q <= max(neighbors[0], n // k)
        ]
        score[k], best[k] = np.mean([value for value, _ in each]), max(each)[1]
    most = max(score.values(), default=0.0)
    if most < rule.LEAST:
        return 0.0
    near = [k for k, value in score.items() if value >= constants[2] * most]
    return best[near[0 if smallest else -1]]


def scored(
    rows: list[dict[str, str]], constants: tuple[float, ...]
) -> dict[int, tuple[float, float]]:
    """For each number of clusters that a graph shows, its score and its adjusted Rand index."""
    clarity_power, number_power, _, few, most_power = constants
    names = ("k", "found", "value", "persistence", "explained", "modularity", "evenness", "ari")
    k, found, value, time, explained, modularity, evenness, ari = (
        np.array([float(row[name]) for row in rows]) for name in names
    )
    # The first two are not looked at, nor are all beyond the first candidates.
    values = np.r_[1.0, value[:1], value[: MOST_AT_FIRST - 1]]
    n, q, dimension = (float(rows[0][name]) for name in ("n", "q", "dimension"))
    chance = rule.by_chance(values, k, int(n), int(q), dimension, few)
    clear = rule.clarity(explained, chance)
    score = np.sqrt(time / (1 + time)) * clear**clarity_power * (k - 1) ** number_power * evenness
    score *= (2 * modularity) ** np.clip(dimension - rule.PLANE, 0, most_power)
    real = (k <= MANY) | (clear > 0.5)
    each: dict[int, tuple[float, float]] = {}
    for number, one in zip(found, zip(np.where(real, score, 0.0), ari, strict=True), strict=True):
        if number >= 2:
            each[int(number)] = max(each.get(int(number), (0.0, 0.0)), one)
    return each


def tables() -> None:
    sets: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in read_file(ROWS):
        sets.setdefault(row["group"], {}).setdefault(row["set"], []).append(row)
    means = {
        constants: {
            group: float(np.mean([agreement(rows, constants) for rows in of.values()]))
            for group, of in sets.items()
        }
        for constants in CONSTANTS
    }
    text = [
        "The mean adjusted Rand index, with constants that were chosen without the group, with "
        "those of the rule, and with the best for the group alone; and with the constants of the "
        "rule, but the smallest number near the best instead of the finest.",
        "",
        *head("left out", "sets", "chosen without it", "the rule", "best for it", "smallest"),
    ]
    for group, of in sets.items():
        others = [name for name in sets if name != group]
        without = max(CONSTANTS, key=lambda c: sum(means[c][name] for name in others))
        best = max(of_group[group] for of_group in means.values())
        small = np.mean([agreement(rows, OURS, smallest=True) for rows in of.values()])
        numbers = means[without][group], means[OURS][group], best, small
        text.append(line(group, str(len(of)), *(f"{number:.3f}" for number in numbers)))
    PAGE.write_text(wrapped("\n".join(text)) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "tables"])
    parser.add_argument("--elsewhere", type=Path, default=Path("build/elsewhere"))
    options = parser.parse_args()
    run(options.elsewhere) if options.what == "run" else tables()


if __name__ == "__main__":
    main()
