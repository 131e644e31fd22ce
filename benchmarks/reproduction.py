"""The runner of the experiments: how fast it is, and whether kills matter.

``python -m benchmarks.reproduction speed`` times the KLS-NMF cells of one subset of Semeion, N = 5:
as single fits, and by the runner. ``python -m benchmarks.reproduction kills`` kills a run of PIX,
N = 2 and 3, ten times at random points, and compares its rows with those of a run left alone.
``python -m benchmarks.reproduction hours`` runs the first of the ten subsets of every N of tables I
to IV, all methods, and tells from it how long the tables take. ``python -m
benchmarks.reproduction again`` makes a random sample of the committed cells once more, of all
tables, and compares scores. The data sets must be in the folder that KLSNMF_DATA names.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF
from klsnmf.experiments.protocol import GRIDS, TABLES
from klsnmf.experiments.rows import cell_of
from klsnmf.experiments.runner import run, store_of
from klsnmf.experiments.subsets import classes_of, samples, width
from klsnmf.experiments.work import run_cell

TABLE = dataclasses.replace(TABLES["semeion"], subsets=1)
SIZE = 5
RESULTS = Path(__file__).parent.parent / "docs" / "results" / "reproduction"


def singly(each_start: bool) -> int:
    """The fits of the cells one after the other, one thread; how many."""
    data = samples(TABLE.dataset, None)
    chosen = np.isin(data.y, classes_of(data.n_classes, SIZE, 0, TABLE.seed))
    X = normalize(data.X[chosen])
    trial = TABLE.trial("KLS-NMF")
    fixed: dict[str, Any] = dict(trial.fixed)
    starts = fixed.pop("n_init")
    fits = [(1, seed) for seed in range(starts)] if each_start else [(starts, 0)]
    for setting in trial.settings():
        for lam in trial.lams():
            for n_init, seed in fits:
                KLSNMF(
                    SIZE,
                    radius=width(X, setting["radius"]),
                    lam=lam,
                    row_norm=None,
                    n_init=n_init,
                    random_state=seed,
                    **fixed,
                ).fit(X)
    return len(trial.settings()) * len(trial.lams()) * len(fits)


def speed() -> list[str]:
    lines = ["| how | fits | seconds | times the runner |", "|---|---|---|---|"]
    cores = os.cpu_count() or 1
    times = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for title, each_start in (
            ("one fit for each row and start", True),
            ("one fit for each row", False),
        ):
            begun = time.perf_counter()
            fits = singly(each_start)
            times[title] = (fits, time.perf_counter() - begun)
    for processes in dict.fromkeys((1, cores)):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            run(TABLE, Path(folder), sizes=[SIZE], columns=["KLS-NMF"], processes=processes)
            seconds = time.perf_counter() - begun
            count = len(store_of(TABLE, Path(folder), None).rows())
        times[f"the runner, {processes} process(es)"] = (count, seconds)
    for title, (count, seconds) in times.items():
        ratio = seconds / list(times.values())[-1][1]
        lines.append(f"| {title} | {count} | {seconds:.1f} | {ratio:.1f} |")
    return lines


def kills(count: int = 10) -> list[str]:
    """Rows of a run that was killed at random points, against rows of a run left alone."""
    table = TABLES["pix"]
    options = ["pix", "-N", "2", "-N", "3", "--no-figures", "--quiet"]
    command = [str(Path(sys.executable).with_name("klsnmf")), "reproduce", *options, "--out"]
    chance = random.Random()
    with tempfile.TemporaryDirectory() as folder:
        alone, killed = Path(folder, "alone"), Path(folder, "killed")
        begun = time.perf_counter()
        subprocess.run([*command, str(alone)], check=True, capture_output=True)
        whole = time.perf_counter() - begun
        done = []
        for _ in range(count):
            process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL)
            time.sleep(5 + chance.random() * whole / count)
            ended = process.poll() is not None
            process.kill()
            process.wait()
            found = store_of(table, killed, None).rows() if (killed / "rows").exists() else []
            done.append(f"{len(found)} rows{', ended by itself' if ended else ''}")
        subprocess.run([*command, str(killed)], check=True, capture_output=True)
        one, two = (
            {dataclasses.replace(row, seconds="") for row in store_of(table, place, None).rows()}
            for place in (alone, killed)
        )
        tables = [(place / "tables" / "pix.csv").read_text() for place in (alone, killed)]
    return [
        f"{count} kills, after each: {'; '.join(done)}.",
        f"{len(one)} rows alone, {len(two)} rows after kills, {len(one ^ two)} differ.",
        f"The tables are {'the same' if tables[0] == tables[1] else 'NOT the same'}.",
    ]


def hours() -> list[str]:
    """How long tables I to IV take on all cores, from the first subset of every N."""
    lines = [
        "| table | first subsets, s | whole set, s | all subsets, hours |",
        "|---|---|---|---|",
    ]
    total = 0.0
    for name in ("semeion", "jaffe", "pix", "alphadigit"):
        table = TABLES[name]
        classes = samples(table.dataset, None).n_classes
        parts = [size for size in table.sizes if size < classes]
        seconds = []
        for sizes in (parts, [classes]):
            with tempfile.TemporaryDirectory() as folder:
                begun = time.perf_counter()
                run(dataclasses.replace(table, subsets=1), Path(folder), sizes=sizes)
                seconds.append(time.perf_counter() - begun)
        whole = (table.subsets * seconds[0] + seconds[1]) / 3600
        total += whole
        lines.append(f"| {table.title} | {seconds[0]:.0f} | {seconds[1]:.0f} | {whole:.2f} |")
    return [*lines, f"| together | | | {total:.2f} |"]


def again(count: int = 150) -> list[str]:
    """Rows of a random sample of cells, beside those that are committed."""
    tables = {**TABLES, **GRIDS}
    kept = {
        name: {(cell_of(row), row.parameters): row for row in store_of(table, RESULTS, None).rows()}
        for name, table in tables.items()
    }
    known = sorted({(name, cell) for name, rows in kept.items() for cell, _ in rows}, key=str)
    chosen = random.Random(0).sample(known, count)
    fits = other_objective = 0
    differences: list[float] = []
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), threadpool_limits, (1,)) as pool:
        made = [pool.submit(run_cell, tables[name], cell, None) for name, cell in chosen]
        for (name, cell), future in zip(chosen, made, strict=True):
            for row in future.result():
                old = kept[name][cell, row.parameters]
                fits += 1
                differences += [
                    abs(float(getattr(row, score)) - float(getattr(old, score)))
                    for score in ("accuracy", "nmi", "purity")
                ]
                objectives = float(row.objective), float(old.objective)
                other_objective += not np.isclose(*objectives, rtol=1e-4, equal_nan=True)
    changed = sum(difference > 0 for difference in differences)
    return [
        f"{count} cells of {len(known)}, {fits} fits: {changed} of {len(differences)} scores are "
        f"others than in the rows, by {max(differences):.2f} points at most; "
        f"{other_objective} objectives differ by more than 1/10,000.",
    ]


PARTS = {"speed": speed, "kills": kills, "hours": hours, "again": again}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=list(PARTS))
    print("\n".join(PARTS[parser.parse_args().what]()))


if __name__ == "__main__":
    main()
