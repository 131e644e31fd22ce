"""What each part of the method is worth: one thing changed at a time, on every data set.

The default weighs links by shared neighbours and exchanges clusters of its starts. Most variants
are measured without either, so that each is one change away from "without both"; those whose names
begin with "default" are one change away from the default.

``python -m benchmarks.ablation run`` adds rows to docs/results/ablation.csv, one a fit; rows that
are there already are not made again, so it can be stopped and started. ``python -m
benchmarks.ablation tables`` writes the tables of docs/results/ablation.md from the rows. With
``run --jobs 2`` two fits go on at a time, a thread each.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, __version__, datasets
from klsnmf.core.kmeans import how_many_starts
from klsnmf.core.words import wrapped
from klsnmf.estimators.setup import Setup
from klsnmf.grams.diffused import diffuse_enough
from klsnmf.kernels.build import fit_kernel
from klsnmf.kernels.inputs import unit_rows
from klsnmf.kernels.mix import Mixture, within_clusters
from klsnmf.kernels.neighbors import how_many_neighbors
from klsnmf.metrics import accuracy, nmi
from klsnmf.solve.starts import starts

from .rows import read_file

ROWS = Path("docs/results/ablation.csv")
PAGE = Path("docs/results/ablation.md")
SUMMARY = Path("docs/results/ablation_summary.csv")
COLUMNS = ["set", "variant", "seed", "accuracy", "nmi", "seconds", "version"]

#: From the quickest to the slowest.
SETS = ["jaffe", "yale", "pix", "digits", "semeion", "alphadigit", "faces94"]
DEFAULT = "default"
BASE = "without both"


class FreeG(KLSNMF):
    """KLS-NMF without GᵀG = I: the columns of G may overlap."""

    def _setup(self) -> Setup:
        return replace(super()._setup(), orthogonal=False)


class PlainAverage(KLSNMF):
    """Several kernels of equal weight, scaled as where weights are learned."""

    def _mixture(self, *args: Any) -> Mixture:
        mixture = super()._mixture(*args)
        mixture.weights = np.full(len(mixture.views), 1 / len(mixture.views))
        mixture.learn = lambda labels: True
        return mixture


#: A way to labels: a function of the samples, the number of clusters, and a seed.
Way = Callable[[Any, int, int], Any]


def default(make: type = KLSNMF, **params: Any) -> Way:
    """The default but for some parameters."""
    return lambda X, k, seed: make(k, random_state=seed, **params).fit(X).labels_


#: Without shared neighbours and without regrouping.
WITHOUT_BOTH = {"diffusion": "unweighted", "regroup": False}


def fitted(make: type = KLSNMF, **params: Any) -> Way:
    """The same without both."""
    return default(make, **{**WITHOUT_BOTH, **params})


def with_lam(share: float, way: Callable[..., Way] = fitted, **params: Any) -> Way:
    """λ as a share of λ*; the default is 1 %."""
    kernel = {} if way is default else {"diffusion": "unweighted"}

    def labels(X: Any, k: int, seed: int) -> Any:
        few = {"n_init": 2, "max_iter": 1, "regroup": False, "random_state": seed}
        auto = KLSNMF(k, **few, **kernel, **params).fit(X)
        return way(lam=100 * share * auto.lam_, **params)(X, k, seed)

    return labels


def start_alone(way: str) -> Way:
    """The labels of a start, before any step; of many the one with the lowest objective."""

    def labels(X: Any, k: int, seed: int) -> Any:
        X = unit_rows(X)
        base = fit_kernel(X, "self-tuning", "auto", how_many_neighbors(len(X), k))[0]
        K = diffuse_enough(base, k)[0]
        count = how_many_starts(len(X), k) if way == "auto" else 1
        found = starts(X, base, k, way, count, check_random_state(seed))
        each = [np.argmax(start.factors["G"], axis=1) for start in found]
        return min(each, key=lambda labels: -within_clusters(K, labels, k).sum())

    return labels


#: Question -> variant -> the labels it finds.
QUESTIONS: dict[str, dict[str, Way]] = {
    "The defaults and plain tools": {
        DEFAULT: default(),
        "without regrouping": default(regroup=False),
        "without shared neighbours": default(diffusion="unweighted"),
        BASE: fitted(),
        "KMeans(n_init=10)": lambda X, k, seed: (
            KMeans(k, n_init=10, random_state=seed).fit(X).labels_
        ),
        "SpectralClustering(nearest_neighbors)": lambda X, k, seed: (
            SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit(X).labels_
        ),
    },
    "One thing changed in the default": {
        "default, λ = 0": default(lam=0.0),
        "default, λ = 5 % of λ*": with_lam(0.05, default),
        "default, λ = 30 % of λ*": with_lam(0.3, default),
        "default, solver paper": default(solver="paper"),
        "default, solver soft": default(solver="soft"),
        "default, solver exact": default(solver="exact"),
        "default, G free": default(FreeG),
        "default, raw rows": default(row_norm=None),
        "default, spectral starts only": default(init="spectral"),
        "default, k-means starts only": default(init="kmeans"),
        "default, 5 neighbours": default(n_neighbors=5),
        "default, 20 neighbours": default(n_neighbors=20),
    },
    "Does the local term help a wide kernel?": {
        "rbf of radius 1, λ = 0": fitted(kernel="rbf", radius=1.0, lam=0.0),
        "rbf of radius 1, λ = 10 % of λ*": with_lam(0.1, kernel="rbf", radius=1.0),
        "rbf of radius 1, λ = λ*": with_lam(1.0, kernel="rbf", radius=1.0),
    },
    "Does the factorization improve on its start?": {
        "spectral start alone": start_alone("spectral"),
        "k-means start alone": start_alone("kmeans"),
        "best of all starts alone": start_alone("auto"),
    },
    "Random starts?": {"random starts": fitted(init="random", n_init=8)},
    "How many steps of diffusion? (default 4, doubled until tr Sᵗ ≤ 2k)": {
        "none": fitted(diffusion=0),
        "2 steps": fitted(diffusion=2),
        "8 steps": fitted(diffusion=8),
    },
    "Which kernel?": {
        "rbf": fitted(kernel="rbf"),
        "rbf, 10 neighbours": fitted(kernel="rbf", n_neighbors=10),
        "rbf, 10 neighbours, 4 steps": fitted(kernel="rbf", n_neighbors=10, diffusion=4),
        "linear": fitted(kernel="linear"),
        "polynomial": fitted(kernel="polynomial"),
        "cosine, 10 neighbours": fitted(kernel="cosine", n_neighbors=10),
    },
    "Several kernels?": {
        "self-tuning, rbf and linear": fitted(kernel=["self-tuning", "rbf", "linear"]),
        "their plain average": fitted(PlainAverage, kernel=["self-tuning", "rbf", "linear"]),
    },
}
VARIANTS = {name: labels for question in QUESTIONS.values() for name, labels in question.items()}


#: A set, a variant, and a seed.
Cell = tuple[str, str, int]

#: Samples and their classes.
Samples = tuple[Any, Any]


def missing(file: Path, sets: list[str], variants: list[str], seeds: int) -> Iterator[Cell]:
    done = {(row["set"], row["variant"], int(row["seed"])) for row in read_file(file)}
    for name in sets:
        for seed in range(seeds):
            for variant in variants:
                if (name, variant, seed) not in done:
                    yield name, variant, seed


@cache
def samples(name: str) -> Samples:
    data = datasets.load(name)
    return data.data.astype(np.float32), data.target


def row_of(load: Callable[[str], Samples], name: str, variant: str, seed: int) -> list[Any]:
    """One fit, scored."""
    X, y = load(name)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = VARIANTS[variant](X, len(np.unique(y)), seed)
    seconds = time.perf_counter() - start
    scores = f"{100 * accuracy(y, labels):.2f}", f"{100 * nmi(y, labels):.2f}"
    return [name, variant, seed, *scores, f"{seconds:.2f}", __version__]


def run(
    file: Path,
    load: Callable[[str], Samples],
    sets: list[str],
    variants: list[str],
    seeds: int,
    jobs: int,
) -> None:
    """Make the rows that are missing in a file, and write each at once."""
    cells = list(missing(file, sets, variants, seeds))
    if cells and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(",".join(COLUMNS) + "\n")
    for number, row in enumerate(made(load, cells, jobs), 1):
        with file.open("a", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerow(row)
        name, variant, seed, score, *_ = row
        print(f"{number} of {len(cells)}: {name}, seed {seed}, {variant}: {score}", flush=True)


def made(load: Callable[[str], Samples], cells: list[Cell], jobs: int) -> Iterator[list[Any]]:
    """The rows of the cells, as they come."""
    if jobs == 1:
        yield from (row_of(load, *cell) for cell in cells)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), threadpool_limits, (1,)) as pool:
        for future in as_completed([pool.submit(row_of, load, *cell) for cell in cells]):
            yield future.result()


def interval(values: Any) -> str:
    """Mean ± half of the 95 % interval of the mean."""
    values = np.asarray(values)
    if len(values) < 2:
        return f"{values.mean():.1f}"
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} ± {half:.1f}"


def tables() -> str:
    """The page of results, from the rows alone."""
    rows = read_file(ROWS)
    sets = [name for name in SETS if any(row["set"] == name for row in rows)]
    values = {
        score: {
            (name, variant): {
                int(row["seed"]): float(row[score])
                for row in rows
                if (row["set"], row["variant"]) == (name, variant)
            }
            for name in sets
            for variant in VARIANTS
        }
        for score in ("accuracy", "nmi")
    }
    seeds = {}
    for name in sets:
        counts = {len(values["accuracy"][name, variant]) for variant in VARIANTS} - {0}
        seeds[name] = " to ".join(map(str, sorted({min(counts), max(counts)})))
    lines = [
        "# What each part is worth",
        "",
        'One thing is changed at a time. Variants whose names begin with "default" are compared '
        f'with the default. All others are compared with "{BASE}": the default without the weights '
        "of shared neighbours and without the exchange of clusters in its starts. No label is used "
        "before scoring. Cells have the mean and the 95 % interval over seeds: "
        + ", ".join(f"{name} {count}" for name, count in seeds.items())
        + ". A cell is empty if a variant has not been run. The last column is the mean over the "
        "sets, if there is a number for each.",
        "",
        "The rows are in `docs/results/ablation.csv`, one per fit. `python -m benchmarks.ablation "
        "run` makes them, and `python -m benchmarks.ablation tables` makes this page.",
    ]
    for question, variants in QUESTIONS.items():
        for score, title in (("accuracy", "Accuracy"), ("nmi", "NMI")):
            shown = list(variants) if BASE in variants else [origin(*variants), *variants]
            if score == "accuracy":
                lines += ["", f"## {question}"]
            lines += [
                "",
                f"| {title} | {' | '.join(sets)} | mean |",
                "|---" * (len(sets) + 2) + "|",
            ]
            for variant in shown:
                cells = [values[score][name, variant] for name in sets]
                means = [np.mean(list(cell.values())) for cell in cells if cell]
                mean = f"{np.mean(means):.1f}" if len(means) == len(sets) else ""
                text = " | ".join(interval(list(cell.values())) if cell else "" for cell in cells)
                lines.append(f"| {variant} | {text} | {mean} |")
    return "\n".join([*lines, *paired(values["accuracy"], sets), *left_out(values, sets)]) + "\n"


def origin(variant: str, *_: str) -> str:
    """What a variant is one change away from."""
    return DEFAULT if variant.startswith(f"{DEFAULT}, ") else BASE


def summary() -> list[list[str]]:
    """Mean accuracy of each variant on each set, and over the sets, for the documentation."""
    rows = read_file(ROWS)
    table = [["", *SETS, "mean"]]
    for variant in VARIANTS:
        found = [
            [
                float(row["accuracy"])
                for row in rows
                if (row["set"], row["variant"]) == (name, variant)
            ]
            for name in SETS
        ]
        if all(found):
            means = [np.mean(values) for values in found]
            table.append([variant, *[f"{mean:.1f}" for mean in [*means, np.mean(means)]]])
    return table


def paired(values: Any, sets: list[str]) -> list[str]:
    """The default minus what else one has, and each variant minus where it comes from."""
    lines = ["", "## Differences, seed by seed", ""]
    lines += [
        "Accuracy, in points, with the 95 % interval of the mean difference.",
        "",
        f"| | {' | '.join(sets)} |",
        "|---" * (len(sets) + 1) + "|",
    ]
    others = QUESTIONS["The defaults and plain tools"]
    pairs = [(DEFAULT, other) for other in others if other != DEFAULT]
    pairs += [(variant, origin(variant)) for variant in VARIANTS if variant not in others]
    for first, second in pairs:
        cells = []
        for name in sets:
            one, two = values[name, first], values[name, second]
            common = sorted(one.keys() & two.keys())
            cells.append(interval([one[s] - two[s] for s in common]) if common else "")
        lines.append(f"| {first}, minus {second} | {' | '.join(cells)} |")
    return lines


def left_out(values: Any, sets: list[str]) -> list[str]:
    """For each set: the variant that is best on the other sets, and what it reaches on this one."""
    plain = [name for name in VARIANTS if "Clustering" in name or name.startswith("KMeans")]
    means = {
        (score, variant): np.array(
            [np.mean(list(values[score][name, variant].values()) or [np.nan]) for name in sets]
        )
        for score in values
        for variant in VARIANTS
    }
    rules = [
        v
        for v in VARIANTS
        if v not in plain and "alone" not in v and not np.isnan(means["accuracy", v]).any()
    ]
    lines = ["", "## One set left out", ""]
    lines += [
        "For each set, the variant with the highest mean accuracy on the other sets, and its "
        "accuracy / NMI on the one left out.",
        "",
    ]
    header = ["left out", "best on the others", "it reaches", "the default reaches", *plain]
    lines += [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    accuracies = {v: means["accuracy", v] for v in VARIANTS}
    for place, (name, best) in enumerate(zip(sets, chosen(accuracies, rules), strict=False)):
        cells = [
            f"{means['accuracy', v][place]:.1f} / {means['nmi', v][place]:.1f}"
            for v in [best, DEFAULT, *plain]
        ]
        lines.append(f"| {name} | {best} | {' | '.join(cells)} |")
    return lines


def chosen(accuracies: dict[str, Any], rules: list[str]) -> list[str]:
    """For each set the rule with the highest mean accuracy on the others."""
    if not rules:
        return []
    sums = {rule: accuracies[rule].sum() - accuracies[rule] for rule in rules}
    return [
        max(rules, key=lambda rule, place=place: sums[rule][place])
        for place in range(len(sums[rules[0]]))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "tables"])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time, a thread each")
    options = parser.parse_args()
    if options.what == "run":
        run(ROWS, samples, options.sets, options.variants, options.seeds, options.jobs)
    else:
        PAGE.write_text(wrapped(tables()))
        with SUMMARY.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(summary())


if __name__ == "__main__":
    main()
