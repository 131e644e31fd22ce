"""The tests on a busy machine: all must pass, however often.

    python -m benchmarks.busy_tests --runs 20

One core is kept busy by another process while the tests run as ``make test`` runs them. Every run
is a row of ``docs/results/busy_tests.csv``: the commit, how many tests passed, those that failed,
and the seconds. The command ends with 1 if any test failed.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "docs" / "results" / "busy_tests.csv"
COLUMNS = ("commit", "passed", "failed", "names", "seconds")

#: As ``make test`` runs them.
COMMAND = (sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-q")


@contextmanager
def busy_core() -> Iterator[None]:
    """Another process that never rests."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def run(tests: Sequence[str]) -> tuple[str, ...]:
    """A row of one run of the tests."""
    begun = time.monotonic()
    with busy_core():
        done = subprocess.run(
            [*COMMAND, *tests], cwd=ROOT, capture_output=True, text=True, check=False
        )
    seconds = f"{time.monotonic() - begun:.0f}"
    names = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    passed = re.search(r"(\d+) passed", done.stdout)
    if done.returncode not in (0, 1) or not passed:
        names.append(f"pytest ended with {done.returncode}")
    return commit(), passed[1] if passed else "0", str(len(names)), " ".join(names), seconds


def commit() -> str:
    """The commit that is checked out, with a sign if files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip()


def main() -> int:
    """Run the tests so often, and add a row for each run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy_tests", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("tests", nargs="*", help="only these tests, which makes no row")
    given = parser.parse_args()
    bad = 0
    for _ in range(given.runs):
        row = run(given.tests)
        bad += row[2] != "0"
        print(*row, flush=True)
        if given.tests:
            continue
        new = not ROWS.exists()
        with ROWS.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS] * new + [row])
    print(f"{given.runs - bad} of {given.runs} runs passed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
