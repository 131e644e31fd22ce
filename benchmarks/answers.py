"""What each rule of the defaults is worth, and whether the rules hold where they were not made.

    python -m benchmarks.answers run                    every row that is missing
    python -m benchmarks.answers run --groups shapes planted
    python -m benchmarks.answers tables                 docs/results/answers.md from the rows

The defaults make a few answers and choose one of them (:mod:`klsnmf.solve.choose`). ``run`` makes
every answer that they could choose, for each set and seed, and notes what walks say of it and how
right it is. ``tables`` then decides again from these numbers, with rules left out and with other
thresholds. Rows are added to docs/results/answers.csv as they come; those that are there are not
made again.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from klsnmf import KLSNMF, __version__
from klsnmf.core.kmeans import draw_seed, kmeans
from klsnmf.core.types import Labels
from klsnmf.core.words import wrapped
from klsnmf.kernels.graphs import NeighborGraphs, neighborhood, numbers_of_neighbors
from klsnmf.kernels.neighbors import how_many_neighbors
from klsnmf.solve.choose import TRIES_FOR_MEANS, Answer, Asked, weighed

from . import answer_tables, planted, rival_sets
from .answer_rules import COLUMNS, SCORES, Candidate, Case, as_row
from .rival_sets import MOST, Answered
from .rivals import append, count_classes, scores
from .rows import read_file

ROWS = Path("docs/results/answers.csv")
RIVALS = Path("docs/results/rivals.csv")
PAGE = Path("docs/results/answers.md")

GROUPS = [*rival_sets.GROUPS, "planted"]

#: Draws of planted sets: each is small, and another draw is another set.
DRAWS = 10

#: Sets that take longest.
LAST = ["faces94", "letter", "newsgroups"]

#: Above this share of noise the graph of many neighbours is looked at too.
PERHAPS_NOISY = 0.5


def wanted(groups: list[str], seeds: int, folder: Path) -> list[tuple[str, str, int]]:
    """Groups, sets and seeds: all sets with one seed before the next, large ones last."""
    found = [
        (group, name, seed)
        for seed in range(max(seeds, DRAWS))
        for group in groups
        if seed < (DRAWS if group == "planted" else seeds)
        for name in names(group, folder)
    ]
    return sorted(found, key=lambda one: one[1] in LAST)


def names(group: str, folder: Path) -> list[str]:
    return list(planted.SETS) if group == "planted" else rival_sets.names(group, folder, MOST)


def load(group: str, name: str, seed: int, folder: Path) -> Answered:
    if group != "planted":
        return rival_sets.load(group, name, folder)
    X, y = planted.SETS[name](seed)
    return Answered(X, [y])


def run(file: Path, groups: list[str], seeds: int, folder: Path) -> None:
    """Make the rows that are missing; those of a set and a seed are written together."""
    done = {(row["set"], row["seed"]) for row in read_file(file)}
    cells = [cell for cell in wanted(groups, seeds, folder) if (cell[1], str(cell[2])) not in done]
    for number, (group, name, seed) in enumerate(cells, 1):
        X, answers = load(group, name, seed, folder)
        rows = []
        for k in sorted({count_classes(y) for y in answers}):
            right = [y for y in answers if count_classes(y) == k]
            case, found = candidates(X, k, seed)
            case = replace(case, set=name, group=group)
            rows += [
                as_row(case, replace(each, scores=best_scores(right, labels)), __version__)
                for each, labels in zip(case.candidates, found, strict=True)
            ]
        for row in rows:
            append(file, COLUMNS, row)
        told = f"{len(rows)} answers, share of noise {case.share:.2f}"
        print(f"{number} of {len(cells)}: {name}, seed {seed}: {told}", flush=True)


def best_scores(answers: list[Any], labels: Labels) -> dict[str, float]:
    """Of the right answers that which matches best; in percent."""
    ari, right, shared = max(scores(y, labels) for y in answers)
    return dict(zip(SCORES, (100 * right, 100 * shared, 100 * ari), strict=True))


def candidates(X: Any, k: int, seed: int) -> tuple[Case, list[Labels]]:
    """Every answer that the defaults could choose for samples X, and its labels."""
    model = KLSNMF(k, random_state=seed)
    setup = model._setup()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        samples = model._samples(setup, X)
        scaled, for_starts = samples.scaled, model._for_starts(setup, samples)
        n = scaled.shape[0]
        share = neighborhood(scaled, how_many_neighbors(n, k)).noise
        ways = {"few": numbers_of_neighbors(scaled, k, np.inf)}
        if share > PERHAPS_NOISY:
            ways["many"] = numbers_of_neighbors(scaled, k, -np.inf)
        # One search for all graphs: of as many neighbours as any of them has.
        most = max(numbers.most for numbers in ways.values())
        one = replace(samples.settings, n_neighbors=most).graphs(scaled, k)
        found: list[tuple[Candidate, Labels]] = []
        for way, numbers in ways.items():
            found += of_graphs(way, replace(one, numbers=numbers), for_starts, seed)
    case = Case("", "", seed, n, k, share, [each for each, _ in found])
    return case, [labels for _, labels in found]


def of_graphs(
    way: str, graphs: NeighborGraphs, X: Any, seed: int
) -> Iterator[tuple[Candidate, Labels]]:
    """The answers of these graphs, from the starts that ``choose`` has for them."""
    rng = check_random_state(seed)
    of_samples: Labels = kmeans(X, graphs.k, draw_seed(rng)).labels_
    of_starts = draw_seed(rng)

    def ask(q: int) -> Asked:
        graph = graphs.graph(q)
        return Asked(graph, graphs.walk(graph), of_starts)

    asked = [ask(graphs.numbers.usual)]
    even = asked[0].answer([of_samples], even=True)
    asked += [ask(q) for q in graphs.numbers.more]
    walks, known = [each.walk for each in asked], even.labels
    answers = [even]
    yield noted(way, asked[0], even, even.q, asked[0])
    for judge in asked:
        free = judge.answer([known], even=False)
        known = free.labels
        answers.append(free)
        judged, alone = weighed(walks, free, even), weighed(walks[:1], free, even)
        each, labels = noted(way, judge, free, free.q, asked[0])
        yield replace(each, judged=judged, alone=alone), labels
    if graphs.numbers.noisy:
        means: Labels = kmeans(X, graphs.k, draw_seed(rng), n_init=TRIES_FOR_MEANS).labels_
        each, labels = noted(way, asked[0], replace(even, labels=means), even.q, asked[0])
        yield replace(each, sizes="means", lost=each.lost_usual), labels
    begun = [(answer, answer.q, asked[0]) for answer in answers]
    for q in graphs.numbers.fewer:
        thin = ask(q)
        for answer in answers:
            begin = [answer.labels, of_samples] if answer.even else [answer.labels]
            other = thin.answer(begin, even=answer.even)
            begun.append((other, answer.q, thin))
            yield noted(way, thin, other, answer.q, asked[0])
    if graphs.numbers.dense:
        graph = asked[0].graph.by_density()
        dense = Asked(graph, graphs.walk(graph), of_starts)
        for answer, known, at in begun:
            other = dense.answer([answer.labels], even=answer.even)
            judged = weighed([graphs.walk(at.graph.by_density())], other, answer)
            each, labels = noted("dense", dense, other, known, asked[0])
            yield replace(each, q=answer.q, judged=judged), labels


def noted(
    way: str, asked: Asked, answer: Answer, known: int, usual: Asked
) -> tuple[Candidate, Labels]:
    numbers = asked.graph.pieces, answer.lost, usual.walk.lost(answer.labels), answer.smallest
    sizes = "even" if answer.even else "free"
    return Candidate(way, answer.q, sizes, known, *numbers), answer.labels


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "tables"])
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--elsewhere", type=Path, default=Path("build/elsewhere"), help="where fetch stored them"
    )
    options = parser.parse_args()
    if options.what == "run":
        run(ROWS, options.groups, options.seeds, options.elsewhere)
    else:
        page = answer_tables.page(read_file(ROWS), read_file(RIVALS))
        PAGE.write_text(wrapped(page), encoding="utf-8")


if __name__ == "__main__":
    main()
