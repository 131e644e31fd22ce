"""Accuracy and time on real data with the defaults, beside KMeans and SpectralClustering.

``python -m benchmarks.quality`` writes docs/results/quality.csv, a row for each fit, and the
tables of docs/results/quality.md. Arrays are taken as they are stored, whole numbers included.
Data sets other than scikit-learn's digits are read from the folder that the environment
variable KLSNMF_DATA names; those not there are left out.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning

from klsnmf import KLSNMF, datasets, n_clusters_evidence
from klsnmf.core.words import wrapped
from klsnmf.metrics import accuracy, nmi

METHODS: dict[str, Callable[[int, int], Any]] = {
    "KLSNMF": lambda k, seed: KLSNMF(k, random_state=seed),
    "KMeans": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "SpectralClustering": lambda k, seed: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=seed
    ),
    # Written out, so that these numbers stay those of these settings.
    "KLSNMF, 10 neighbours, 8 starts": lambda k, seed: KLSNMF(
        k, kernel="self-tuning", n_neighbors=10, row_norm="l2", n_init=8, random_state=seed
    ),
}
DEFAULTS, *PLAIN = list(METHODS)[:3]

ROWS = Path("docs/results/quality.csv")
PAGE = Path("docs/results/quality.md")
HEADER = ["set", "method", "seed", "accuracy", "nmi", "seconds"]


def measure(make: Callable[[int, int], Any], X: Any, y: Any, seeds: int) -> Any:  # (seeds, 3)
    """Accuracy, NMI and seconds for each seed."""
    rows = []
    for seed in range(seeds):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # spectral clustering of graphs in pieces
            labels = make(len(np.unique(y)), seed).fit_predict(X)
        seconds = time.perf_counter() - start
        rows.append((100 * accuracy(y, labels), 100 * nmi(y, labels), seconds))
    return np.array(rows)


def run(quick: bool, keep: Callable[[list[Any]], Any] = lambda row: None) -> list[str]:
    """The tables; every fit is kept as it is done."""
    seeds = 1 if quick else 10
    lines = [
        f"Accuracy (mean ± deviation over {seeds} seeds), NMI, and the seconds of the fastest run:",
        "",
        "| data set | method | accuracy | NMI | seconds |",
        "|---|---|---|---|---|",
    ]
    found: dict[str, list[Any]] = {name: [] for name in METHODS}
    chosen = []
    slower = [
        "How many times as long as the plain tools it takes, by the fastest and by median runs:",
        "",
        f"| data set | {' | '.join(PLAIN)} |",
        "|---|---|---|",
    ]
    for name in ["digits"] if quick else datasets.REGISTRY:
        try:
            data = datasets.load(name, download=False)
        except datasets.DatasetNotFoundError:
            lines.append(f"| {name} | not found: try `klsnmf data info {name}` | | | |")
            continue
        X, y = data.data, data.target
        for method, make in METHODS.items():
            rows = measure(make, X, y, seeds)
            found[method].append(rows)
            for seed, numbers in enumerate(rows.round(3)):
                keep([name, method, seed, *numbers])
            scores = f"{rows[:, 0].mean():.1f} ± {rows[:, 0].std():.1f} | {rows[:, 1].mean():.1f}"
            lines.append(f"| {name} | {method} | {scores} | {rows[:, 2].min():.2f} |")
            print(lines[-1], flush=True)
        chosen.append(f"{name} {n_clusters_evidence(X, random_state=0).chosen}")
        slower.append(f"| {name} | {' | '.join(slowness(found))} |")
    lines += ["", *slower, "", *summary(found)]
    return [*lines, "", f'n_clusters="auto" chooses: {", ".join(chosen)}.']


def slowness(found: dict[str, list[Any]]) -> list[str]:
    """How many times as long as each plain tool the defaults take on the last set."""
    seconds = {method: sets[-1][:, 2] for method, sets in found.items()}
    ratios = [
        [how(seconds[DEFAULTS]) / how(seconds[plain]) for how in (np.min, np.median)]
        for plain in PLAIN
    ]
    return [f"{fastest:.1f}, {typical:.1f}" for fastest, typical in ratios]


def summary(found: dict[str, list[Any]]) -> list[str]:
    """Means over the sets, and the worst case against the better of the plain tools."""
    lines = ["| mean over the sets | accuracy | NMI | deviation of accuracy |", "|---|---|---|---|"]
    means = {method: np.array([r[:, :2].mean(axis=0) for r in found[method]]) for method in found}
    for method, sets in found.items():
        spread = np.mean([rows[:, 0].std() for rows in sets])
        score = means[method].mean(axis=0)
        lines.append(f"| {method} | {score[0]:.1f} | {score[1]:.1f} | {spread:.2f} |")
    better = np.maximum(*[means[name] for name in PLAIN])
    worst = (means[DEFAULTS] - better).min(axis=0)
    return [
        *lines,
        "",
        "The defaults minus the better of the plain tools, on the set with the smallest "
        f"difference: accuracy {worst[0]:+.1f}, NMI {worst[1]:+.1f}.",
    ]


def main() -> None:
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        lines = run(quick=False, keep=writer.writerow)
    page = "\n".join(["# The defaults and plain tools", "", *lines, ""])
    PAGE.write_text(wrapped(page), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
