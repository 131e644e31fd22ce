"""The family: accuracy of the rivals, restarts in a batch, and the memory of sparse fits.

``python -m benchmarks.family table --sets jaffe,pix`` measures accuracy, with parameters chosen by
the labels as in the paper. Rows go to docs/results/family.csv as they come; rows that are there
already are not measured again. The tables beside it are derived from all rows. Seconds are those of
the processor, on one thread.
``python -m benchmarks.family converged`` fits every method with its defaults, see converged.py.
``python -m benchmarks.family batch`` and ``memory`` print what they measure.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from klsnmf import CNMF, GNMF, KNMF, METHODS, WNMF, datasets
from klsnmf.core.tables import head, line
from klsnmf.estimators.labels import read_labels
from klsnmf.metrics import accuracy, nmi

from . import converged
from .rows import read_file

RESULTS = Path(__file__).parent.parent / "docs" / "results"
FIELDS = [
    "set",
    "method",
    "parameters",
    "labels",
    "seed",
    "accuracy",
    "nmi",
    "iterations",
    "seconds",
]
SEEDS = 5

#: Accuracy in the paper, all samples: its tables of the five sets, last row of each.
PAPER = {
    "jaffe": {"wnmf": 90.61, "onmf": 82.63, "cnmf": 69.95, "knmf": 81.69, "rmnmf": 95.77},
    "pix": {"wnmf": 74.0, "onmf": 89.0, "cnmf": 80.0, "knmf": 69.0, "rmnmf": 81.0},
    "semeion": {"wnmf": 55.56, "onmf": 49.15, "cnmf": 45.2, "knmf": 52.54, "rmnmf": 43.57},
    "alphadigit": {"wnmf": 36.67, "onmf": 34.97, "cnmf": 27.75, "knmf": 41.45, "rmnmf": 27.22},
    "faces94": {"wnmf": 73.98, "onmf": 68.5, "cnmf": 66.55, "knmf": 65.93, "rmnmf": 74.42},
}

#: What is tried of each method. "rows" says whether samples are scaled to length 1 first. With a
#: large "tol" a fit stops early, near the labels that it starts from: converged factors explain
#: more, but clusters are often told worse.
TRIED: dict[str, list[dict[str, Any]]] = {
    "wnmf": [
        {"rows": rows, **how}
        for rows in ("unit", "raw")
        for how in (
            {"init": "kmeans"},
            {"init": "kmeans", "tol": 0.03},
            {"init": "kmeans", "tol": 0.01},
            {"init": "random"},
        )
    ],
    # Exact steps keep the constraints; the multiplicative rules only tend to them, and so solve
    # another problem than they say.
    "onmf": [
        {"rows": rows, "solver": solver}
        for rows in ("unit", "raw")
        for solver in ("auto", "multiplicative")
    ],
    "cnmf": [
        {"rows": rows, **how}
        for rows in ("unit", "raw")
        for how in (
            {"init": "auto"},
            {"init": "auto", "tol": 0.1},
            {"init": "auto", "tol": 0.03},
            {"init": "random"},
        )
    ],
    "knmf": [
        *({"rows": "unit", "kernel": "rbf", "radius": radius} for radius in ("auto", 0.1, 1.0)),
        {"rows": "unit", "kernel": "self-tuning"},
    ],
    "rmnmf": [{"rows": "unit", "graph_weight": weight} for weight in (1.0, 0.01, 100.0)],
}

#: The same for all: five starts, in float32. One for 113 clusters.
EFFORT = {"n_init": 5, "max_iter": 500}
EFFORT_OF_MANY = {"n_init": 1, "max_iter": 300}


def fitted(method: str, params: dict[str, Any], X: Any, seed: int, effort: dict[str, int]) -> Any:
    options = {name: value for name, value in params.items() if name != "rows"}
    if method in ("cnmf", "knmf"):
        options["row_norm"] = None
    samples = normalize(X) if params["rows"] == "unit" else X
    k = options.pop("n_clusters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](k, random_state=seed, **effort, **options).fit(samples)


def rows_of(name: str, method: str, params: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """One fit, its labels read in both ways."""
    data = datasets.load(name, download=False)
    X, y = data.data, data.target
    k = len(np.unique(y))
    effort = EFFORT_OF_MANY if k > 100 else EFFORT
    start = time.process_time()
    with threadpool_limits(1):
        model = fitted(method, {**params, "n_clusters": k}, X.astype(np.float32), seed, effort)
    seconds = time.process_time() - start
    grouped, _ = read_labels(model.G_, model.labels_, "kmeans", check_random_state(seed))
    for how, labels in (("argmax", model.labels_), ("kmeans", grouped)):
        yield {
            "set": name,
            "method": method,
            "parameters": json.dumps(params, sort_keys=True),
            "labels": how,
            "seed": seed,
            "accuracy": round(100 * accuracy(y, labels), 2),
            "nmi": round(100 * nmi(y, labels), 2),
            "iterations": model.n_iter_,
            "seconds": round(seconds, 2),
        }


def measure(sets: list[str], methods: list[str], settings: int | None) -> None:
    """Append what is not measured yet, row by row; the first so many settings of each method."""
    RESULTS.mkdir(exist_ok=True)
    keys = ("set", "method", "parameters", "seed")
    done = {tuple(row[key] for key in keys) for row in read_file(RESULTS / "family.csv")}
    for name in sets:
        try:
            datasets.load(name, download=False)
        except datasets.DatasetNotFoundError as error:
            print(error)
            continue
        for method in methods:
            for params in TRIED[method][:settings]:
                for seed in range(SEEDS):
                    key = (name, method, json.dumps(params, sort_keys=True), str(seed))
                    if key in done:
                        continue
                    found = list(rows_of(name, method, params, seed))
                    with (RESULTS / "family.csv").open("a", newline="") as stream:
                        writer = csv.DictWriter(stream, FIELDS)
                        if stream.tell() == 0:
                            writer.writeheader()
                        writer.writerows(found)


def summary() -> list[dict[str, str]]:
    """The best parameters of each set, method and way to read labels, chosen with the labels."""
    by_choice: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in read_file(RESULTS / "family.csv"):
        choice = by_choice[row["set"], row["method"], row["labels"]]
        choice[row["parameters"]].append(float(row["accuracy"]))
    table = []
    for name, paper in PAPER.items():
        for method, value in paper.items():
            line, better = {"set": name, "method": METHODS[method].__name__}, -np.inf
            line["paper"] = f"{value:.1f}"
            for how in ("argmax", "kmeans"):
                choice = by_choice.get((name, method, how))
                if choice is None:
                    break
                # Settings that are measured with fewer seeds than others do not take part yet.
                best = max(
                    choice, key=lambda params: (len(choice[params]), np.mean(choice[params]))
                )
                scores = np.array(choice[best])
                told = ", ".join(f"{key}={setting}" for key, setting in json.loads(best).items())
                line[how] = f"{scores.mean():.1f} ± {scores.std():.1f}"
                line[f"{how} with"] = told
                line["seeds"] = str(len(scores))
                better = max(better, scores.mean())
            else:
                line["better - paper"] = f"{better - value:+.1f}"
                table.append(line)
    return table


def write_summary() -> None:
    """The derived table, as CSV for the documentation and as Markdown."""
    columns = ["set", "method", "paper", "argmax", "argmax with", "kmeans", "kmeans with"]
    columns += ["seeds", "better - paper"]
    table = summary()
    with (RESULTS / "family_summary.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(table)
    lines = [*head(*columns), *(line(*(row[name] for name in columns)) for row in table)]
    (RESULTS / "family.md").write_text("\n".join(lines) + "\n")


# ---------------------------------------------------------------------- restarts in a batch


def best_seconds(fit: Any, repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        fit()
        best = min(best, time.perf_counter() - start)
    return best


def batch(quick: bool, threads: int = 1) -> list[str]:
    """Ten restarts in one fit against ten fits of one start, as many iterations each."""
    n, p, k, repeats = (400, 64, 10, 1) if quick else (2000, 256, 10, 3)
    rng = np.random.default_rng(0)
    X = (rng.random((k, p)) ** 4)[rng.integers(k, size=n)] + 0.2 * rng.random((n, p))
    options = {"init": "random", "max_iter": 100, "tol": 0}
    lines = [
        f"n = {n}, p = {p}, k = {k}, 100 iterations, {threads} thread(s); best of {repeats}.",
        "Bare: the ratio if nothing but the products with the matrix of each method took time.",
        "",
        "| method | type | ten fits, s | one fit of ten starts, s | ratio | bare |",
        "|---|---|---|---|---|---|",
    ]
    makers = {
        "NMF": lambda **o: WNMF(k, **options, **o),
        "CNMF": lambda **o: CNMF(k, **options, **o),
        "KNMF": lambda **o: KNMF(k, kernel="rbf", **options, **o),
        "GNMF": lambda **o: GNMF(k, **options, **o),
    }
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in (np.float32, np.float64):
            data = X.astype(dtype)
            for name, make in makers.items():
                matrix = data @ data.T if name == "KNMF" else data
                singly = best_seconds(
                    lambda make=make, X=data: [
                        make(n_init=1, random_state=seed).fit(X) for seed in range(10)
                    ],
                    repeats,
                )
                together = best_seconds(
                    lambda make=make, X=data: make(n_init=10, random_state=0).fit(X), repeats
                )
                bare = 10 * bare_seconds(matrix, k) / bare_seconds(matrix, 10 * k)
                lines.append(
                    f"| {name} | {np.dtype(dtype).name} | {singly:.2f} | {together:.2f} | "
                    f"{singly / together:.1f} | {bare:.1f} |"
                )
    return lines


def bare_seconds(X: Any, columns: int) -> float:
    """A product with X and one with its transpose, the best of several."""
    rng = np.random.default_rng(0)
    F, G = (rng.random((columns, size)).astype(X.dtype) for size in X.shape[::-1])
    return best_seconds(lambda: (np.matmul(F, X.T), np.matmul(G, X)), 15)


# ---------------------------------------------------------------------- memory


def peak_of_sparse_fit(method: str, n: int) -> None:
    """Fit a random sparse matrix and print the peak memory of this process."""
    rng = np.random.default_rng(0)
    places = rng.integers(n, size=(2, n * n // 1000))
    X = sparse.csr_array((rng.random(places.shape[1]), tuple(places)), shape=(n, n))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        METHODS[method](20, max_iter=20, random_state=0).fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{peak:.2f} | {seconds:.0f}")


def memory(quick: bool) -> list[str]:
    n = 2000 if quick else 20000
    lines = [
        f"X of {n} x {n} with 0.1 % filled, k = 20, ten starts, 20 iterations",
        "",
        "| method | peak of the process, GB | seconds |",
        "|---|---|---|",
    ]
    for method in ("wnmf", "gnmf"):
        command = [sys.executable, "-m", "benchmarks.family", "sparse", method, str(n)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        lines.append(f"| {METHODS[method].__name__} | {said} |")
    return lines


def run(quick: bool) -> list[str]:
    return [*batch(quick), "", *memory(quick)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    table = parts.add_parser("table")
    table.add_argument("--sets", default=",".join(PAPER))
    table.add_argument("--methods", default=",".join(TRIED))
    table.add_argument("--settings", type=int, help="only the first so many of each method")
    ends = parts.add_parser("converged")
    ends.add_argument("--sets", default=",".join(converged.SETS))
    ends.add_argument("--methods", default=",".join(converged.EVERY))
    parts.add_parser("batch").add_argument("--threads", type=int, default=1)
    parts.add_parser("memory")
    one = parts.add_parser("sparse")
    one.add_argument("method")
    one.add_argument("n", type=int)
    options = parser.parse_args()
    if options.part == "table":
        measure(options.sets.split(","), options.methods.split(","), options.settings)
        write_summary()
    elif options.part == "converged":
        converged.measure(options.sets.split(","), options.methods.split(","))
        converged.write_page()
    elif options.part == "sparse":
        peak_of_sparse_fit(options.method, options.n)
    elif options.part == "batch":
        print("\n".join(batch(quick=False, threads=options.threads)))
    else:
        print("\n".join(memory(quick=False)))


if __name__ == "__main__":
    main()
