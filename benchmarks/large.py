"""Very many samples on one machine: seconds, peak memory and accuracy, predicted beside measured.

    python -m benchmarks.large run --n 100000 1000000 10000000    what is missing
    python -m benchmarks.large run --n 1000000 --data curves --tools KLSNMF
    python -m benchmarks.large tables      predictions made anew, and docs/results/large.md

Samples are made in blocks and written to a .npy file in ``--folder``, from which all tools read
them. ``clusters``: twenty Gaussian clusters that touch, the largest twenty times the smallest, with
2 % outliers. ``curves``: six rings and arcs that k-means cannot tell apart. Both have 50 features.

Tools: ``KLSNMF`` with its defaults; ``part``, the same with ``fit_on`` a fifth of the samples, at
most 200,000; ``stream``, ``partial_fit`` in batches of 10,000; ``MiniBatchKMeans``. Each runs in a
process of its own, whose peak memory counts. Rows are added to docs/results/large.csv.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from sklearn.cluster import MiniBatchKMeans

from klsnmf import KLSNMF
from klsnmf.core.arrays import slices
from klsnmf.core.tables import as_csv
from klsnmf.core.words import wrapped
from klsnmf.core.work import timed
from klsnmf.core.writing import write_whole
from klsnmf.kernels.sizing import needs_here
from klsnmf.metrics import accuracy, nmi

from .measuring import peak_megabytes
from .rows import Row, read_file

ROWS = Path("docs/results/large.csv")
PAGE = Path("docs/results/large.md")
KEYS = ["data", "n", "tool"]
STAGES = ["neighbours", "graphs", "eigenvectors", "answers", "steps", "placing"]
MEASURED = ["p", "k", "fitted", "seconds", "cpu_seconds", *STAGES, "megabytes", "accuracy", "nmi"]
PREDICTED = ["predicted_seconds", "predicted_megabytes"]
COLUMNS = [*KEYS, *MEASURED, *PREDICTED]

FEATURES, BLOCK, BATCH = 50, 100_000, 10_000

Block = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def clusters(seed: int = 0, k: int = 20) -> Callable[[int, np.random.Generator], Block]:
    """Clusters of different widths and sizes that touch, and 2 % outliers spread around them."""
    rng = np.random.default_rng(seed)
    centers = 0.8 * rng.normal(size=(k, FEATURES))
    widths, shares = rng.uniform(0.6, 1.2, size=k), np.arange(1, k + 1) / np.arange(1, k + 1).sum()

    def block(n: int, rng: np.random.Generator) -> Block:
        y = rng.choice(k, size=n, p=shares)
        X = centers[y] + widths[y, None] * rng.normal(size=(n, FEATURES))
        outliers = np.flatnonzero(rng.random(n) < 0.02)
        X[outliers] += rng.uniform(-6, 6, size=(len(outliers), FEATURES))
        return X, y

    return block


def curves(seed: int = 0) -> Callable[[int, np.random.Generator], Block]:
    """Two linked rings, a ring around another, two arcs in each other: six clusters."""
    lift = np.linalg.qr(np.random.default_rng(seed).normal(size=(FEATURES, 3)))[0]

    def block(n: int, rng: np.random.Generator) -> Block:
        y, t = rng.integers(6, size=n), rng.uniform(0, 2 * np.pi, size=n)
        zero, c, s, half = np.zeros(n), np.cos(t), np.sin(t), t / 2
        shapes = [
            (c, s, zero),
            (1 + c, zero, s),
            (c, s, zero + 3),
            (2 * c, 2 * s, zero + 3),
            (np.cos(half), np.sin(half), zero - 3),
            (1 - np.cos(half), 0.5 - np.sin(half), zero - 3),
        ]
        Z = np.stack([np.choose(y, [shape[axis] for shape in shapes]) for axis in range(3)], axis=1)
        return Z @ lift.T + 0.03 * rng.normal(size=(n, FEATURES)), y

    return block


DATA = {"clusters": (clusters, 20), "curves": (curves, 6)}


def written(data: str, n: int, folder: Path) -> tuple[Path, Path]:
    """Files of samples and of their clusters, made if they are not there."""
    samples, classes = (folder / f"{data}-{n}-{what}.npy" for what in ("x", "y"))
    if not classes.exists():
        make = DATA[data][0]()
        X = open_memmap(samples, "w+", np.float32, (n, FEATURES))
        y = np.empty(n, np.uint8)
        for number, some in enumerate(slices(n, BLOCK)):
            rng = np.random.default_rng([1, number])
            X[some], y[some] = make(some.stop - some.start, rng)
        X.flush()
        np.save(classes, y)
    return samples, classes


def batches(samples: Path, size: int) -> Iterator[np.ndarray[Any, Any]]:
    X = np.load(samples, mmap_mode="r")
    return (np.array(X[some]) for some in slices(len(X), size))


def fitted(samples: Path, k: int, **parameters: Any) -> tuple[Any, Any]:
    model = KLSNMF(k, random_state=0, **parameters).fit(samples)
    return model, model.labels_


def by_part(samples: Path, k: int) -> tuple[Any, Any]:
    n = np.load(samples, mmap_mode="r").shape[0]
    return fitted(samples, k, fit_on=min(n // 5, 200_000))


def by_stream(samples: Path, k: int) -> tuple[Any, Any]:
    """Labels are those that the batches got when they came."""
    model, labels = KLSNMF(k, random_state=0), []
    for batch in batches(samples, BATCH):
        labels.append(model.partial_fit(batch).labels_)
    return model, np.concatenate(labels)


def by_means(samples: Path, k: int) -> tuple[Any, Any]:
    X = np.load(samples)
    model = MiniBatchKMeans(k, n_init=3, random_state=0).fit(X)
    return model, model.labels_


TOOLS: dict[str, Callable[[Path, int], tuple[Any, Any]]] = {
    "MiniBatchKMeans": by_means,
    "stream": by_stream,
    "part": by_part,
    "KLSNMF": fitted,
}


def measured(data: str, n: int, tool: str, folder: Path) -> Row:
    """A row, in a process of its own."""
    samples, classes = written(data, n, folder)
    k, y = DATA[data][1], np.load(classes)
    start, begun = time.perf_counter(), time.process_time()
    with timed() as stages, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, labels = TOOLS[tool](samples, k)
    seconds, cpu = time.perf_counter() - start, time.process_time() - begun
    peak = peak_megabytes()
    rows = getattr(model, "fitted_on_", None)
    part = n if rows is None else len(rows)
    row: dict[str, Any] = {"data": data, "n": n, "tool": tool, "p": FEATURES, "k": k}
    row |= {"fitted": part, "seconds": f"{seconds:.1f}", "cpu_seconds": f"{cpu:.1f}"}
    row |= {"megabytes": f"{peak:.0f}"}
    row |= {"accuracy": f"{100 * accuracy(y, labels):.2f}", "nmi": f"{100 * nmi(y, labels):.2f}"}
    row |= {name: f"{stages[name]:.1f}" for name in STAGES if name in stages}
    found = {name: str(value) for name, value in row.items()}
    return found | predicted(found)


def predicted(row: Row) -> Row:
    """What the formulas of today say of a row."""
    if row["tool"] not in ("KLSNMF", "part"):
        return {}
    guess = needs_here(int(row["n"]), int(row["p"]), int(row["k"]), fit_on=int(row["fitted"]))
    seconds, megabytes = f"{guess.seconds:.2f}", f"{guess.memory / 1e6:.0f}"
    return dict(zip(PREDICTED, (seconds, megabytes), strict=True))


def run(options: argparse.Namespace) -> None:
    there = {tuple(row[name] for name in KEYS) for row in read_file(options.rows)}
    options.folder.mkdir(parents=True, exist_ok=True)
    for n in options.n:
        for data in options.data:
            for tool in options.tools:
                if (data, str(n), tool) in there:
                    continue
                line = [sys.executable, "-m", "benchmarks.large", "one", "--n", str(n)]
                line += ["--data", data, "--tools", tool, "--folder", str(options.folder)]
                made = subprocess.run(line, stdout=subprocess.PIPE, check=True, text=True)
                row = json.loads(made.stdout.splitlines()[-1])
                add(options.rows, row)
                print(*(f"{name} {value}" for name, value in row.items()), sep=", ", flush=True)


def add(file: Path, row: Row) -> None:
    """Store a row; the file is never half written."""
    write(file, [*read_file(file), row])


def write(file: Path, rows: list[Row]) -> None:
    rows.sort(key=lambda one: (one["data"], int(one["n"]), one["tool"]))
    text = as_csv(COLUMNS, [[one.get(name, "") for name in COLUMNS] for one in rows])
    write_whole(file, text.encode())


NAMES = {
    "KLSNMF": "KLSNMF",
    "part": "KLSNMF, `fit_on`",
    "stream": "KLSNMF, `partial_fit`",
    "MiniBatchKMeans": "MiniBatchKMeans",
}


HEAD = ("samples", "tool", "fitted", "accuracy", "NMI", "seconds", "half of CPU seconds")
HEAD += ("predicted", "GB", "predicted GB")


def page(rows: list[Row]) -> str:
    """The tables of the documentation."""
    lines = []
    for data in DATA:
        mine = [cells(row) for row in rows if row["data"] == data]
        if mine:
            table = [HEAD, ("---",) * len(HEAD), *mine]
            lines += [
                f"## {data.capitalize()}",
                "",
                *(f"| {' | '.join(row)} |" for row in table),
                "",
            ]
    return "\n".join(lines)


def cells(row: Row) -> tuple[str, ...]:
    def told(name: str, form: str = ",.0f", unit: float = 1) -> str:
        return format(float(row[name]) / unit, form) if row[name] else ""

    return (
        *(told("n"), NAMES[row["tool"]], told("fitted"), told("accuracy", ".1f")),
        *(told("nmi", ".1f"), told("seconds"), told("cpu_seconds", unit=2)),
        *(told("predicted_seconds"), told("megabytes", ".1f", 1e3)),
        told("predicted_megabytes", ".1f", 1e3),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "one", "tables"])
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--folder", type=Path, default=Path("build/large"))
    parser.add_argument("--rows", type=Path, default=ROWS)
    options = parser.parse_args()
    if options.what == "tables":
        write(options.rows, [row | predicted(row) for row in read_file(options.rows)])
        PAGE.write_text(wrapped(page(read_file(options.rows))), encoding="utf-8")
    elif options.what == "one":
        (n,), (data,), (tool,) = options.n, options.data, options.tools
        print(json.dumps(measured(data, n, tool, options.folder)))
    else:
        run(options)


if __name__ == "__main__":
    main()
