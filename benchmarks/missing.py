"""Missing values: NMFImputer beside scikit-learn's imputers and a soft-thresholded SVD.

``python -m benchmarks.missing measure`` hides entries of a table at random, has each tool fill them
in, and appends the errors to docs/results/missing.csv; ``page`` writes the tables made of them.
Every tool chooses its own parameters, where it has to, by a tenth of the entries that are left.
Seconds are those of the processor, on one thread, the choice included.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from threadpoolctl import threadpool_limits

from klsnmf import NMFImputer, datasets
from klsnmf.core.tables import head, line

from .rows import read_file

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SHARES = (0.1, 0.3, 0.5, 0.8)
FIELDS = ["table", "missing", "tool", "parameters", "error", "seconds"]


def table(name: str) -> Any:
    if name == "digits":
        return load_digits().data
    if name == "ratings":
        # Tastes of 5 kinds, ratings from 1 to 5: as those of films are, but known everywhere.
        rng = np.random.default_rng(0)
        tastes, films = rng.gamma(0.5, size=(600, 5)), rng.gamma(0.5, size=(5, 200))
        liking = tastes @ films + 0.3 * rng.normal(size=(600, 200))
        return np.digitize(liking, np.quantile(liking, [0.1, 0.3, 0.6, 0.85])) + 1.0
    return datasets.load(name, download=False).data.astype(np.float64)


def hidden(X: Any, share: float, seed: int) -> Any:
    """Which entries are hidden: a share of those that are known."""
    rng = np.random.default_rng(seed)
    return (rng.random(X.shape) < share) & ~np.isnan(X)


def error(filled: Any, X: Any, where: Any) -> float:
    return float(np.sqrt(np.mean((filled - X)[where] ** 2)))


def chosen(fill: Callable[[Any, Any], Any], X: Any, tried: list[Any]) -> Any:
    """The parameter with the lowest error of entries that are hidden from it."""
    aside = hidden(X, 0.1, seed=1)
    seen = np.where(aside, np.nan, X)
    return min(tried, key=lambda parameter: error(fill(seen, parameter), X, aside))


def by_factors(X: Any, _: None) -> Any:
    return NMFImputer(random_state=0).fit_transform(X)


def by_soft_svd(X: Any, share: float) -> Any:
    """Mazumder, Hastie and Tibshirani (2010): fill in, shrink the singular values, and again."""
    known = ~np.isnan(X)
    means = np.nan_to_num(np.nanmean(X, axis=0))
    centred = np.where(known, X - means, 0)
    cut = share * np.linalg.norm(centred, 2)
    Z = np.zeros_like(centred)
    for _ in range(100):
        U, sizes, Vt = np.linalg.svd(np.where(known, centred, Z), full_matrices=False)
        new = (U * np.maximum(sizes - cut, 0)) @ Vt
        done = np.linalg.norm(new - Z) <= 1e-3 * np.linalg.norm(new)
        Z = new
        if done:
            break
    return Z + means


def by_knn(X: Any, n_neighbors: int) -> Any:
    return KNNImputer(n_neighbors=n_neighbors, keep_empty_features=True).fit_transform(X)


def by_regression(X: Any, _: None) -> Any:
    imputer = IterativeImputer(max_iter=10, random_state=0, keep_empty_features=True)
    return imputer.fit_transform(X)


TOOLS: dict[str, tuple[Callable[[Any, Any], Any], list[Any]]] = {
    "NMFImputer": (by_factors, [None]),
    "KNNImputer": (by_knn, [3, 5, 10, 20]),
    "IterativeImputer": (by_regression, [None]),
    "soft SVD": (by_soft_svd, [0.01, 0.02, 0.05, 0.1, 0.2]),
}


#: Features beyond which IterativeImputer is left out: it solves a regression on all others for each
#: of them, which takes 22 GB for some thousand.
MOST_REGRESSIONS = 500


def measure(names: list[str], tools: list[str]) -> None:
    path = RESULTS / "missing.csv"
    done = {(row["table"], row["missing"], row["tool"]) for row in read_file(path)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            X = table(name)
            for share in SHARES:
                gone = hidden(X, share, seed=0)
                seen = np.where(gone, np.nan, X)
                for tool in tools:
                    many = tool == "IterativeImputer" and X.shape[1] > MOST_REGRESSIONS
                    if many or (name, str(share), tool) in done:
                        continue
                    fill, tried = TOOLS[tool]
                    began = time.process_time()
                    best = chosen(fill, seen, tried) if len(tried) > 1 else tried[0]
                    found = error(fill(seen, best), X, gone)
                    took = time.process_time() - began
                    with path.open("a", newline="") as stream:
                        writer = csv.writer(stream)
                        if stream.tell() == 0:
                            writer.writerow(FIELDS)
                        writer.writerow([name, share, tool, best, f"{found:.4f}", f"{took:.2f}"])


def page() -> list[str]:
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in read_file(RESULTS / "missing.csv"):
        found.setdefault((row["table"], row["missing"]), {})[row["tool"]] = row
    lines = [
        "The root mean squared error of hidden entries, and seconds. The lowest error is bold.",
        "",
        *head("table", "missing", *TOOLS),
    ]
    for (name, share), rows in found.items():
        best = min(float(row["error"]) for row in rows.values())
        cells = []
        for tool in TOOLS:
            if tool not in rows:
                cells.append("–")
                continue
            value, took = rows[tool]["error"], float(rows[tool]["seconds"])
            told = f"**{float(value):.3g}**" if float(value) == best else f"{float(value):.3g}"
            cells.append(f"{told}, {took:.1f} s")
        lines.append(line(name, f"{float(share):.0%}", *cells))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    taken = parts.add_parser("measure")
    taken.add_argument("--tables", default="digits,ratings,jaffe,yale")
    taken.add_argument("--tools", default=",".join(TOOLS))
    parts.add_parser("page")
    options = parser.parse_args()
    if options.part == "measure":
        measure(options.tables.split(","), options.tools.split(","))
    (RESULTS / "missing.md").write_text("\n".join(page()) + "\n")


if __name__ == "__main__":
    main()
