"""NMF beside scikit-learn's: the loss by time from the same starts, and the best of eight starts.

``python -m benchmarks.nmf measure`` appends rows to docs/results/nmf.csv; ``python -m
benchmarks.nmf page`` writes the tables and the curves made of them. Times are those of the
processor, on one thread, so that they do not depend on what else the machine does. Sets that are
not there are left out.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from klsnmf import WNMF, datasets
from klsnmf.core.tables import head, line
from klsnmf.core.words import wrapped

from .rows import read_file

RESULTS = Path(__file__).parent.parent / "docs" / "results"
FIELDS = ["set", "part", "seed", "tool", "iterations", "seconds", "loss"]

#: Seconds that curves go on for, and starts of each set.
SECONDS = {"digits": 1.0, "semeion": 1.0, "faces94": 20.0, "text": 4.0, "dense": 5.0}
SEEDS = 3

#: From here on the loss is to be no higher than scikit-learn's.
FROM = 0.05

#: Iterations after which scikit-learn is asked for its loss: it tells nothing in between.
LOOKS = sorted({round(2 ** (power / 2)) for power in range(27)})


def samples(name: str) -> tuple[Any, int]:
    """A set, and its number of components."""
    rng = np.random.default_rng(0)
    if name == "digits":
        return load_digits().data, 10
    if name == "dense":
        G, F = rng.gamma(0.3, size=(10_000, 20)), rng.gamma(0.3, size=(20, 500))
        return G @ F + rng.random((10_000, 500)), 20
    if name == "text":
        topics = rng.dirichlet(np.full(5000, 0.02), size=20)
        mixtures = rng.dirichlet(np.full(20, 0.1), size=20_000)
        parts = np.array_split(mixtures, 10)
        return sparse.vstack(
            [sparse.csr_array(rng.poisson(80 * part @ topics).astype(float)) for part in parts]
        ).tocsr(), 20
    data = datasets.load(name, download=False)
    return data.data.astype(np.float64), len(np.unique(data.target))


def start(X: Any, k: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    size = 2 * np.sqrt(X.mean() / k)
    return size * rng.random((X.shape[0], k)), size * rng.random((X.shape[1], k))


def ours(X: Any, k: int, seed: int, seconds: float) -> Iterator[tuple[int, float, float]]:
    """Iterations, seconds and loss, as a callback hears of them."""
    pair, heard = start(X, k, seed), []
    began = time.process_time()

    def listen(progress: Any) -> bool:
        now = time.process_time() - began
        heard.append((progress.iteration, now, progress.objective))
        return now > seconds

    WNMF(k, init=pair, tol=1e-12, max_iter=100_000, callback=listen).fit(X)
    yield from heard


def theirs(X: Any, k: int, seed: int, seconds: float) -> Iterator[tuple[int, float, float]]:
    G, F = start(X, k, seed)
    for iterations in LOOKS:
        tool = NMF(k, init="custom", tol=0, max_iter=iterations)
        W, H = G.copy(), np.ascontiguousarray(F.T)
        began = time.process_time()
        tool.fit_transform(X, W=W, H=H)
        took = time.process_time() - began
        yield iterations, took, float(tool.reconstruction_err_**2)
        if took > seconds:
            return


def best_of_eight(X: Any, k: int) -> Iterator[tuple[str, float, float]]:
    """Eight random starts of each tool, with its own rule to stop."""
    began = time.process_time()
    ends = [NMF(k, init="random", random_state=seed).fit(X) for seed in range(8)]
    took = time.process_time() - began
    yield "scikit-learn", took, float(min(end.reconstruction_err_ for end in ends) ** 2)
    began = time.process_time()
    model = WNMF(k, init="random", n_init=8, random_state=0).fit(X)
    yield "klsnmf", time.process_time() - began, float(model.reconstruction_err_**2)


def warm_up() -> None:
    """Load what both tools load on first use."""
    X, k = samples("digits")
    for run in (ours, theirs):
        list(run(X, k, 0, 0.1))
    list(best_of_eight(X, k))


def measure(names: list[str]) -> None:
    path = RESULTS / "nmf.csv"
    done = {(row["set"], row["part"], row["seed"]) for row in read_file(path)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up()
        for name in names:
            try:
                X, k = samples(name)
            except datasets.DatasetNotFoundError as error:
                print(error)
                continue
            for seed in range(SEEDS):
                if (name, "curve", str(seed)) not in done:
                    tools = (("klsnmf", ours), ("scikit-learn", theirs))
                    rows = [
                        [name, "curve", seed, tool, steps, f"{took:.4f}", f"{loss:.8g}"]
                        for tool, run in tools
                        for steps, took, loss in thinned(run(X, k, seed, SECONDS[name]))
                    ]
                    append(path, rows)
            if (name, "best of 8", "0") not in done:
                found = best_of_eight(X, k)
                append(
                    path,
                    [[name, "best of 8", 0, t, "", f"{s:.3f}", f"{v:.8g}"] for t, s, v in found],
                )


def thinned(points: Iterator[tuple[int, float, float]]) -> Iterator[tuple[int, float, float]]:
    """The first point, and then those that are 3 % later than the last."""
    last = 0.0
    for point in points:
        if point[1] >= 1.03 * last:
            last = point[1]
            yield point


def append(path: Path, rows: list[list[Any]]) -> None:
    with path.open("a", newline="") as stream:
        writer = csv.writer(stream)
        if stream.tell() == 0:
            writer.writerow(FIELDS)
        writer.writerows(rows)


# ---------------------------------------------------------------------- the page


def curves() -> dict[tuple[str, str], dict[str, list[tuple[float, float]]]]:
    """(set, seed) -> tool -> (seconds, loss)."""
    found: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for row in read_file(RESULTS / "nmf.csv"):
        if row["part"] == "curve":
            tools = found.setdefault((row["set"], row["seed"]), {})
            point = (float(row["seconds"]), float(row["loss"]))
            tools.setdefault(row["tool"], []).append(point)
    return found


def at(points: list[tuple[float, float]], when: float) -> float:
    """The lowest loss until then."""
    return min((loss for seconds, loss in points if seconds <= when), default=np.inf)


def tables() -> list[str]:
    lines = [
        'Both tools begin at the same start. "no higher at" counts the points of scikit-learn\'s '
        "curve, from 0.05 s on, at which the loss of klsnmf is not higher (to 1e-6 of the loss). "
        "The seconds are those until each tool is within 0.1 % of the higher of the two final "
        "losses.",
        "",
    ]
    lines += head(
        "set",
        "start",
        "no higher at",
        "seconds, scikit-learn",
        "seconds, klsnmf",
        "end, scikit-learn",
        "end, klsnmf",
    )
    for (name, seed), tools in curves().items():
        mine, other = tools["klsnmf"], tools["scikit-learn"]
        points = [point for point in other if point[0] >= FROM]
        good = sum(at(mine, seconds) <= loss * (1 + 1e-6) for seconds, loss in points)
        ends = [min(loss for _, loss in tool) for tool in (other, mine)]
        close = 1.001 * max(ends)
        times = [
            next((f"{s:.3f}" for s, loss in tool if loss <= close), "–") for tool in (other, mine)
        ]
        lines.append(
            line(name, seed, f"{good} of {len(points)}", *times, *(f"{end:.6g}" for end in ends))
        )
    lines += ["", "The best of eight random starts, each tool with its own defaults:", ""]
    lines += head(
        "set", "seconds, scikit-learn", "seconds, klsnmf", "loss, scikit-learn", "loss, klsnmf"
    )
    best: dict[str, dict[str, tuple[str, str]]] = {}
    for row in read_file(RESULTS / "nmf.csv"):
        if row["part"] == "best of 8":
            best.setdefault(row["set"], {})[row["tool"]] = row["seconds"], row["loss"]
    for name, tools in best.items():
        (a, b), (c, d) = tools["scikit-learn"], tools["klsnmf"]
        lines.append(line(name, a, c, f"{float(b):.6g}", f"{float(d):.6g}"))
    return lines


def draw() -> None:
    """The curves of the first start of each set."""
    from matplotlib.figure import Figure

    found = [(name, tools) for (name, seed), tools in curves().items() if seed == "0"]
    figure = Figure(figsize=(9, 2.6 * -(-len(found) // 3)), layout="constrained")
    for place, (name, tools) in enumerate(found, 1):
        axes = figure.add_subplot(-(-len(found) // 3), 3, place)
        for tool, points in sorted(tools.items()):
            seconds, losses = np.array(points).T
            axes.plot(seconds, losses, marker=".", markersize=3, label=tool)
        lowest = min(loss for points in tools.values() for _, loss in points)
        axes.set(title=name, xscale="log", xlabel="seconds", ylabel="loss")
        axes.set_ylim(lowest * 0.995, lowest * 1.2)
        axes.legend(fontsize="small")
    figure.savefig(RESULTS / "nmf.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("measure").add_argument("--sets", default=",".join(SECONDS))
    parts.add_parser("page")
    options = parser.parse_args()
    if options.part == "measure":
        measure(options.sets.split(","))
    else:
        (RESULTS / "nmf.md").write_text(wrapped("\n".join(tables())) + "\n")
        draw()


if __name__ == "__main__":
    main()
