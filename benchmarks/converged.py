"""The family with its defaults: whether fits converge, how long they take, and how low they end.

``python -m benchmarks.family converged --sets digits`` fits every method with its defaults, and the
related methods also by 10,000 steps of the rules of their papers from as many starts. Rows go to
docs/results/converged.csv as they come; rows that are there are not measured again. The table
beside it is made of all rows. Seconds are those of the processor, on one thread.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from klsnmf import METHODS, ONMF, datasets
from klsnmf.core.tables import head, line
from klsnmf.core.words import wrapped

from .rows import read_file

RESULTS = Path(__file__).parent.parent / "docs" / "results"
FIELDS = [
    "set",
    "method",
    "solver",
    "starts",
    "status",
    "warnings",
    "iterations",
    "seconds",
    "objective",
]

SETS = ["digits", "jaffe", "pix", "yale", "semeion", "alphadigit", "faces94"]

#: Every method of the package, and those that have the rules of other papers too.
EVERY = [name for name in METHODS if name not in ("kmeans", "spectral")]
RELATED = ["wnmf", "onmf", "cnmf", "knmf", "rmnmf", "gnmf", "semi-nmf"]

#: Steps of the papers' rules, and their starts: one for 113 clusters, because they take hours.
STEPS = 10_000
STARTS, STARTS_OF_MANY = 10, 1


def fitted(method: str, X: Any, k: int, **params: Any) -> dict[str, Any]:
    """A fit, and what it says of itself."""
    began = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = METHODS[method](k, random_state=0, **params).fit(X)
    seconds = time.process_time() - began
    objective = model.objective_
    if method == "onmf" and params:
        # These rules break the constraints; one exact step makes the factors keep them.
        objective = kept(model, X).objective_
    return {
        "status": model.status_,
        "warnings": " ".join(str(one.message) for one in said),
        "iterations": model.n_iter_,
        "seconds": f"{seconds:.2f}",
        "objective": f"{objective:.8g}",
    }


def kept(model: Any, X: Any) -> Any:
    pair = model.G_, model.components_.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ONMF(model.n_clusters, init=pair, max_iter=1, tol=0).fit(X)


def rows_of(name: str, method: str) -> Iterator[dict[str, Any]]:
    data = datasets.load(name, download=False)
    X, k = data.data.astype(np.float64), len(np.unique(data.target))
    of_both = {"set": name, "method": method}
    yield of_both | {"solver": "auto", "starts": "default"} | fitted(method, X, k)
    if method in RELATED:
        starts = STARTS_OF_MANY if k > 100 else STARTS
        slow = {"solver": "multiplicative", "n_init": starts, "max_iter": STEPS, "tol": 0}
        yield of_both | {"solver": slow["solver"], "starts": starts} | fitted(method, X, k, **slow)


def measure(sets: list[str], methods: list[str]) -> None:
    path = RESULTS / "converged.csv"
    done = {(row["set"], row["method"]) for row in read_file(path)}
    for name in sets:
        for method in methods:
            if (name, method) in done:
                continue
            made = list(rows_of(name, method))
            with path.open("a", newline="") as stream:
                writer = csv.DictWriter(stream, FIELDS)
                if stream.tell() == 0:
                    writer.writeheader()
                writer.writerows(made)


def page() -> list[str]:
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in read_file(RESULTS / "converged.csv"):
        found.setdefault((row["set"], row["method"]), {})[row["solver"]] = row
    fits = [rows["auto"] for rows in found.values()]
    converged = sum(row["status"] == "converged" for row in fits)
    told = [row for row in fits if row["warnings"]]
    pairs = [(rows["auto"], rows["multiplicative"]) for rows in found.values() if len(rows) > 1]
    higher = [excess(*pair) for pair in pairs]
    lines = [
        f"{converged} of {len(fits)} fits have converged, and {len(told)} had a warning. "
        f"{sum(one <= 0 for one in higher)} of {len(higher)} ended no higher than {STEPS:,} steps "
        "of the papers' rules.",
        "",
        *head("set", "method", "status", "iterations", "seconds", "objective", "after the rules"),
    ]
    for (name, method), rows in found.items():
        fast, slow = rows["auto"], rows.get("multiplicative")
        beside = "–"
        if slow:
            beside = f"{float(slow['objective']):.6g} ({excess(slow, fast):+.2%})"
        lines.append(
            line(
                name,
                METHODS[method].__name__,
                fast["status"],
                fast["iterations"],
                f"{float(fast['seconds']):.2f}",
                f"{float(fast['objective']):.6g}",
                beside,
            )
        )
    return lines


def excess(one: dict[str, str], other: dict[str, str]) -> float:
    """How much higher one ended than the other, as a share; less than rounding counts as none."""
    share = float(one["objective"]) / float(other["objective"]) - 1
    return 0.0 if abs(share) < 1e-6 else share


def write_page() -> None:
    (RESULTS / "converged.md").write_text(wrapped("\n".join(page())) + "\n")
