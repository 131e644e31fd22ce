"""Where the objective ends, before and after a change of the solver: the same K, λ and seeds.

``python -m benchmarks.objective --before FOLDER`` fits with the source in FOLDER, and with this
one. FOLDER is the ``src`` of another version, for example of a worktree:

    git worktree add ../before 6120147
    python -m benchmarks.objective --before ../before/src

Rows go to docs/results/objective.csv, one a data set, kind of diffusion, seed and λ; rows that are
there already are not made again, so it can be stopped and started. Without ``--before`` the rows
are summed up. λ is 0, and what lam="auto" is in the version before. Both versions must know the
names of the kinds of diffusion, and make the same K of them. Rows of "auto" were made by commit
5c6ff7a: since then a graph is chosen there, and K is another. The data sets other than digits are
read from the folder that KLSNMF_DATA names; those not there are left out. Seconds are those of one
thread; the two versions take turns.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .rows import read_file

ROWS = Path("docs/results/objective.csv")
HERE = Path(__file__).resolve().parents[1]
KEYS = ("set", "diffusion", "seed", "lam")
VALUES = ("f", "n_iter", "seconds")
COLUMNS = [*KEYS, *(f"{value}_{when}" for value in VALUES for when in ("before", "after"))]

#: From the quickest to the slowest.
SETS = ["jaffe", "yale", "pix", "digits", "semeion", "alphadigit", "faces94"]
SEEDS = 20

#: A fit that ends higher by more than this share of the objective ends higher.
SAME = 1e-6


@cache
def samples(name: str) -> tuple[Any, int] | None:
    """The samples of a set and how many clusters it has; None where it is not at hand."""
    from klsnmf import datasets

    try:
        data = datasets.load(name, download=False)
    except datasets.DatasetNotFoundError:
        return None
    return data.data, len(np.unique(data.target))


def work() -> None:
    """Fits that are asked for on the standard input, a line each; run by another process."""
    from klsnmf import KLSNMF, __file__

    print(json.dumps(__file__), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        found = samples(asked.pop("set"))
        answer = None
        if found is not None:
            X, k = found
            begun = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = KLSNMF(k, **asked).fit(X)
            seconds = time.process_time() - begun
            answer = {
                "f": model.objective_,
                "n_iter": model.n_iter_,
                "seconds": round(seconds, 3),
                "lam": model.lam_,
            }
        print(json.dumps(answer), flush=True)


class Version:
    """A process that fits with the source in some folder."""

    def __init__(self, source: Path) -> None:
        source = source.resolve()
        path = os.pathsep.join([str(source), str(HERE)])
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from benchmarks.objective import work; work()"],
            env={**os.environ, **threads, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not Path(self._answer()).is_relative_to(source):
            raise SystemExit(f"{source} is not a folder with the package klsnmf in it.")

    def fit(self, **asked: Any) -> Any:
        assert self.process.stdin is not None
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the fits ended with exit code {self.process.wait()}")
        return json.loads(line)


def compare(before: Path, sets: list[str], seeds: int, kinds: list[str]) -> None:
    """Add the rows that are missing."""
    versions = [Version(before), Version(HERE / "src")]
    there = {(row["set"], row["diffusion"], row["seed"]) for row in read_file(ROWS)}
    for name in sets:
        for kind in kinds:
            for seed in range(seeds):
                if (name, kind, str(seed)) not in there:
                    _add(_compared(versions, name, kind, seed))


def _compared(versions: list[Version], name: str, kind: str, seed: int) -> list[dict[str, Any]]:
    """The rows of both λ, so that a run that is stopped leaves both or none."""
    rows = []
    for lam in (0.0, "auto"):
        both = []
        for version in versions:
            asked = {"set": name, "diffusion": kind, "random_state": seed, "lam": lam}
            both.append(version.fit(**asked))
            if both[0] is None:
                return []
            lam = both[0]["lam"]
        row = {"set": name, "diffusion": kind, "seed": seed, "lam": lam}
        for when, one in zip(("before", "after"), both, strict=True):
            row |= {f"{value}_{when}": one[value] for value in VALUES}
        rows.append(row)
    return rows


def _add(rows: list[dict[str, Any]]) -> None:
    new = not ROWS.exists()
    with ROWS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def summary() -> list[str]:
    """A line a data set and kind of diffusion, and one for all."""
    rows = read_file(ROWS)
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(f"{row['set']}, {row['diffusion']}", []).append(row)
    lines = [
        "| set, diffusion | fits | not higher | largest excess | iterations | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, some in {**groups, "all": rows}.items():
        get = {key: np.array([float(row[key]) for row in some]) for key in COLUMNS[3:]}
        excess = get["f_after"] / get["f_before"] - 1
        numbers = [str(len(some)), str(np.count_nonzero(excess <= SAME)), f"{excess.max():+.1e}"]
        for value, digits in (("n_iter", 0), ("seconds", 1)):
            means = (get[f"{value}_{when}"].mean() for when in ("before", "after"))
            numbers.append(" → ".join(f"{mean:.{digits}f}" for mean in means))
        lines.append(f"| {name} | {' | '.join(numbers)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, help="the source folder of the version before")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--diffusion", nargs="+", default=["unweighed"])
    options = parser.parse_args()
    if options.before is not None:
        compare(options.before, options.sets, options.seeds, options.diffusion)
    print("\n".join(summary()))


if __name__ == "__main__":
    main()
