"""A soak: random fits, commands, kills, full disks, little memory and faults of workers, for long.

    python -m benchmarks.soak --minutes 30     # everything, in turn, at random
    python -m benchmarks.soak --kills 1000     # only commands that are ended by signals
    python -m benchmarks.soak --pairs 200      # only pairs of runs into one folder
    python -m benchmarks.soak --deaths 20      # only fits on workers, one of which is killed
    python -m benchmarks.soak --tables         # docs/results/soak.md from these rows

Every event is a row of ``docs/results/soak.csv``, ``kills.csv``, ``pairs.csv`` or ``deaths.csv``:
what was done, what came of it, whether that is well, the memory of this process and the files left
behind. The same seed does the same things, but for the moments of signals. Commands run in forked
children, so that packages are imported once. The command ends with 1 if any event was not well.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, METHODS
from klsnmf.core.tables import as_csv
from klsnmf.core.words import wrapped
from klsnmf.core.writing import write_whole

from .fuzz import Fuzzer
from .rows import read_file

RESULTS = Path(__file__).parent.parent / "docs" / "results"

#: Signals, and how a command says that it was ended by them; a kill says nothing.
SIGNALS = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}

#: What is done to files, of which an audit hook is told.
STEPS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "open", "fcntl.flock", "ctypes.dlsym"}

#: Growth of memory between the first fits and the last that is none.
GROWTH = 0.05

#: Seconds after which a fit on workers says where it waits, and after which it is given up. Dask
#: may take five minutes to notice that a worker is gone.
SAYS_WHERE, GIVEN_UP = 300, 900

WORKERS = """
import faulthandler, os, signal, sys, threading
import numpy as np
from distributed import Client, LocalCluster
from klsnmf import KLSNMF
from klsnmf.grams import distributed
if __name__ == "__main__":
    distributed.ROWS = 100
    X = np.random.default_rng(int(sys.argv[1])).random((400, 6))
    ways = dict(kernel="rbf", n_neighbors=None, random_state=0)
    expected = KLSNMF(4, **ways).fit(X).labels_
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            faulthandler.dump_traceback_later(float(sys.argv[3]))
            victim = list(client.run(os.getpid).values())[0]
            timer = threading.Timer(float(sys.argv[2]), os.kill, (victim, signal.SIGKILL))
            timer.start()
            found = KLSNMF(4, engine=client, **ways).fit(X).labels_
            timer.cancel()
            print("same" if (found == expected).all() else "other", flush=True)
            os._exit(0)  # a cluster is slow to end, and that is not ours
"""


@dataclass(frozen=True)
class Event:
    """Something that was done, and what came of it."""

    number: int
    event: str
    detail: str
    outcome: str
    well: int
    seconds: str
    megabytes: str
    leftovers: int


class Soak:
    """Events in a folder of their own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.rows: list[Event] = []
        self.fuzzer = Fuzzer(folder, seed)
        self.usual = 0.5  # seconds of a command
        self._import_all()

    def _import_all(self) -> None:
        """A run in this process: what it imports late, children need not."""
        from click.testing import CliRunner

        from klsnmf.cli.commands import klsnmf

        for method in ("kmeans", "kls-nmf", "semi-nmf"):
            path = self.folder / self.data()[0]
            given = ["cluster", path, "-k", 2, "--method", method, "--force"]
            given += ["--out", self.folder / "out"]
            done = CliRunner().invoke(klsnmf, list(map(str, given)))
            assert done.exit_code == 0, done.output

    # ------------------------------------------------------------------ commands in children

    def command(
        self,
        arguments: Sequence[object],
        *,
        before: Callable[[], None] | None = None,
        stop: int = 0,
        after: float = 0.0,
    ) -> tuple[int, str]:
        """The exit code of a command, or the signal below zero, and what it said."""
        said = self.folder / "said"
        begun = time.monotonic()
        child = os.fork()
        if not child:
            self._run(arguments, said, before)
        if stop and after:
            time.sleep(after)
            os.kill(child, stop)
        status = os.waitpid(child, 0)[1]
        if not stop and not before:
            self.usual = 0.9 * self.usual + 0.1 * (time.monotonic() - begun)
        return os.waitstatus_to_exitcode(status), said.read_text(errors="replace")

    def _run(
        self, arguments: Sequence[object], said: Path, before: Callable[[], None] | None
    ) -> None:
        """In the child: never returns."""
        code = 1
        try:
            os.chdir(self.folder)
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            from klsnmf.cli.commands import klsnmf

            if before is not None:
                before()
            klsnmf([str(each) for each in arguments], prog_name="klsnmf")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
            code = 99
        finally:
            sys.stdout.flush()
            os._exit(code)

    def data(self) -> tuple[str, int]:
        """A small table of a random kind, and the number of clusters to ask for."""
        n, p, k = self.random.randint(30, 80), self.random.randint(2, 6), self.random.randint(2, 4)
        X = self.rng.random((n, p)) + 3 * (np.arange(n) % k)[:, None]
        kind = self.random.choice(["csv", "npy", "npz"])
        path = self.folder / f"data.{kind}"
        if kind == "csv":
            names = ",".join(f"f{j}" for j in range(p))
            rows = "\n".join(",".join(map(repr, row)) for row in X.tolist())
            path.write_text(f"{names}\n{rows}\n")
        elif kind == "npy":
            np.save(path, X)
        else:
            np.savez(path, X=X)
        return path.name, k

    def cluster(self, **how: object) -> tuple[int, str]:
        """A run into the one results folder."""
        path, k = self.data()
        method = self.random.choice(["kmeans", "kls-nmf", "semi-nmf"])
        arguments = ["cluster", path, "-k", k, "--method", method, "--quiet", "--force"]
        arguments += ["--out", "out", "--seed", self.random.randint(0, 10**6)]
        return self.command(arguments, **how)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ what must hold

    def state(self) -> str:
        """The hash of the results, all of one run; "none" without, "mix" for anything else."""
        out = self.folder / "out"
        if not out.exists():
            return "none"
        try:
            summary = json.loads((out / "result.json").read_text())
            stored = summary["sha256"]
            if {file.name for file in out.iterdir()} != {*stored, "result.json"}:
                return "mix"
            for name, digest in stored.items():
                if hashlib.sha256((out / name).read_bytes()).hexdigest() != digest:
                    return "mix"
        except (OSError, ValueError, KeyError):
            return "mix"
        return json.dumps(stored, sort_keys=True) + summary["command"]

    def leftovers(self) -> int:
        return sum(1 for each in self.folder.rglob(".*") if each.name.endswith(".part"))

    # ------------------------------------------------------------------ events

    def fit(self) -> tuple[str, str, bool]:
        """A random method on random data, odd at times."""
        name = self.random.choice([name for name in METHODS if name != "spectral"])
        n, p, k = (self.random.randint(*span) for span in ((5, 150), (1, 8), (1, 5)))
        X = self.rng.random((n, p))
        way = self.random.choice(["plain", "equal rows", "zero rows", "huge", "tiny", "one column"])
        if way == "equal rows":
            X[: n // 2] = X[0]
        elif way == "zero rows":
            X[: n // 2] = 0
        elif way in ("huge", "tiny"):
            X *= 1e100 if way == "huge" else 1e-100
        elif way == "one column":
            X[:, 1:] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                labels = METHODS[name](k, random_state=self.random.randint(0, 99)).fit(X).labels_
            except ValueError as error:
                return f"{name}, {way}", f"refused: {error}"[:80], bool(str(error))
        good = labels.shape == (n,) and labels.min() >= 0 and labels.max() < k
        return f"{name}, {way}", "labels", bool(good)

    def run(self) -> tuple[str, str, bool]:
        """A whole run, new samples, and a comparison."""
        code, said = self.cluster()
        if code:
            return "cluster", f"{code} {said[-200:]}", False
        path = next(self.folder.glob("data.*")).name
        for old in self.folder.glob("data.*"):
            if old.name != path:
                old.unlink()
        code, said = self.cluster()
        good = code == 0 and self.state() not in ("none", "mix")
        newest = max(self.folder.glob("data.*"), key=lambda file: file.stat().st_mtime_ns)
        arguments = ["predict", "out", newest.name, "--quiet", "--out", "new.csv", "--force"]
        second, also = self.command(arguments)
        return (
            "cluster, predict",
            f"{code} {second} {(said + also)[-200:]}".strip(),
            (good and second == 0),
        )

    def kill(self) -> tuple[str, str, bool]:
        """A run that a signal ends at a random moment, or a kill at a random step among files."""
        old = self.state()
        number = self.random.choice(list(SIGNALS))
        by_step = self.random.random() < 0.5
        if by_step:
            step, name = self.random.randint(1, 60), signal.Signals(number).name
            detail = f"{name} at step {step}"

            def before() -> None:
                seen = 0

                def hook(event: str, arguments: tuple[object, ...]) -> None:
                    nonlocal seen
                    inside = bool(arguments) and str(self.folder) in str(arguments[0])
                    if event in STEPS and (inside or ".part" in str(arguments)):
                        seen += 1
                        if seen == step:
                            os.kill(os.getpid(), number)

                sys.addaudithook(hook)

            code, said = self.cluster(before=before)
        else:
            after = self.random.uniform(0.001, 1.3 * self.usual)
            detail = f"{signal.Signals(number).name} after {after:.3f} s"
            code, said = self.cluster(stop=number, after=after)
        found = self.state()
        # Before the command listens the system itself ends it; after its end there is no one.
        good = code in (0, SIGNALS[number], -number) and found != "mix"
        good &= found == old or found != "none"
        if code == SIGNALS[number] and "unchanged" in said:
            good &= found == old
        if "already complete" in said:
            good &= found != old
        good &= "Traceback" not in said or "KeyboardInterrupt" in said
        again, more = self.cluster()
        good &= again == 0 and self.state() not in ("none", "mix") and not self.leftovers()
        changed = "new results" if found != old else "old results"
        told = "" if good else (said + more)[-300:]
        return detail, f"{code}, {changed} {told}".strip(), good

    def full_disk(self) -> tuple[str, str, bool]:
        """No file may grow beyond a random size."""
        size, old = self.random.randint(0, 20_000), self.state()

        def before() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        code, said = self.cluster(before=before)
        good = code in (0, 4) and self.state() != "mix" and "Traceback" not in said
        good &= code == 0 or self.state() == old
        return f"{size} bytes", f"{code} {'' if good else said[-300:]}".strip(), good

    def little_memory(self) -> tuple[str, str, bool]:
        """An address space hardly larger than it is."""
        room, old = self.random.randint(2**20, 2**26), self.state()

        def before() -> None:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))

        code, said = self.cluster(before=before)
        good = code in (0, 1, 3) and self.state() != "mix" and "bug in klsnmf" not in said
        good &= code == 0 or self.state() == old
        return f"{room >> 20} MB", f"{code} {'' if good else said[-300:]}".strip(), good

    def pair(self) -> tuple[str, str, bool]:
        """Two runs into one folder at once."""
        path, k = self.data()
        children = []
        for seed in (self.random.randint(0, 10**6) for _ in range(2)):
            arguments = ["cluster", path, "-k", k, "--method", "kmeans", "--quiet", "--force"]
            arguments += ["--out", "out", "--seed", seed]
            child = os.fork()
            if not child:
                self._run(arguments, self.folder / f"said {seed}", None)
            children.append((child, self.folder / f"said {seed}"))
        codes, said = [], ""
        for child, file in children:
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            said += file.read_text()
            file.unlink()
        good = codes == [0, 0] and self.state() not in ("none", "mix") and not self.leftovers()
        return "", f"{codes} {'' if good else said[-300:]}".strip(), good

    def damaged(self) -> tuple[str, str, bool]:
        """Damaged and crafted files, read in this process."""
        count = 200
        try:
            for _ in range(count):
                self.fuzzer.one()
        except Exception as error:
            return f"{count} files", f"{type(error).__name__}: {error}"[:200], False
        return f"{count} files", "read or refused", True

    def workers(self) -> tuple[str, str, bool]:
        """A worker of a Dask cluster is killed during a fit."""
        after = self.random.uniform(0.0, 3.0)
        script = self.folder / "workers.py"
        script.write_text(WORKERS)
        command = [sys.executable, str(script), str(self.random.randint(0, 99)), f"{after:.2f}"]
        command.append(str(SAYS_WHERE))
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=GIVEN_UP
            )
        except subprocess.TimeoutExpired as error:
            said = (error.stderr or b"").decode(errors="replace")
            return f"killed after {after:.2f} s", f"it hung: {said[-2000:]}", False
        script.unlink()
        good = done.stdout.strip() == "same"
        said = "the same labels" if good else (done.stdout + done.stderr)[-300:]
        return f"killed after {after:.2f} s", said, good

    # ------------------------------------------------------------------ one after the other

    def do(self, name: str) -> Event:
        begun = time.monotonic()
        detail, outcome, good = getattr(self, name)()
        gc.collect()
        row = Event(
            len(self.rows) + 1,
            name.replace("_", " "),
            detail,
            " ".join(outcome.split()),
            int(good),
            f"{time.monotonic() - begun:.2f}",
            f"{resident():.0f}",
            self.leftovers(),
        )
        self.rows.append(row)
        return row


def resident() -> float:
    """Megabytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


#: How often each event comes.
SHARES = {
    "fit": 30,
    "run": 10,
    "kill": 25,
    "full_disk": 10,
    "little_memory": 8,
    "pair": 10,
    "damaged": 10,
    "workers": 1,
}


def reference() -> float:
    """The memory of this process after a fit that is always the same."""
    X = np.random.default_rng(0).random((1000, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            KLSNMF(5, random_state=0).fit(X)
    gc.collect()
    return resident()


def store(name: str, rows: Sequence[Event]) -> None:
    text = as_csv([field.name for field in fields(Event)], map(astuple, rows))
    write_whole(RESULTS / f"{name}.csv", text.encode())


def table(rows: Sequence[Event]) -> list[str]:
    """How often each event came, and how often it was well."""
    lines = ["| event | times | well | seconds, median |", "|---|---|---|---|"]
    for name in dict.fromkeys(row.event for row in rows):
        some = [row for row in rows if row.event == name]
        median = float(np.median([float(row.seconds) for row in some]))
        lines.append(f"| {name} | {len(some)} | {sum(r.well for r in some)} | {median:.2f} |")
    return lines


def main() -> int:
    """Soak, kill, or run pairs, and store the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--deaths", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", action="store_true", help="write the page from stored rows")
    given = parser.parse_args()
    if given.tables:
        write_page()
        return 0
    # On one thread: a forked child has no threads but its own.
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, threadpool_limits(1):
        soak = Soak(Path(folder), given.seed)
        soak.cluster()
        for name, count, event in (
            ("kills", given.kills, "kill"),
            ("pairs", given.pairs, "pair"),
            ("deaths", given.deaths, "workers"),
        ):
            for _ in range(count):
                row = soak.do(event)
                if not row.well:
                    print(row, flush=True)
                if event == "workers" or len(soak.rows) % 50 == 0:
                    store(name, soak.rows)
            if count:
                store(name, soak.rows)
                print(*table(soak.rows), sep="\n")
        if given.minutes:
            _soak(soak, given.minutes)
        bad = sum(not row.well for row in soak.rows)
        print(f"{len(soak.rows)} events, {bad} of them not well")
        return int(bad > 0)


def _soak(soak: Soak, minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    names = list(SHARES)
    for name in ("fit", "damaged", "run") * 3:  # all that is imported late
        soak.do(name)
    first = reference()
    while time.monotonic() < end:
        (name,) = soak.random.choices(names, [SHARES[each] for each in names])
        row = soak.do(name)
        if not row.well:
            print(row, flush=True)
        if len(soak.rows) % 100 == 0:
            store("soak", soak.rows)
    last = reference()
    outcome = f"{first:.0f} MB after the first fits, {last:.0f} MB after the last"
    grown = last <= first * (1 + GROWTH)
    number = len(soak.rows) + 1
    soak.rows.append(
        Event(number, "memory", "", outcome, int(grown), "0", f"{last:.0f}", soak.leftovers())
    )
    store("soak", soak.rows)
    write_page()


def stored(name: str) -> list[Event]:
    """The rows of an earlier run; none without."""
    rows = []
    for row in read_file(RESULTS / f"{name}.csv"):
        number, well, left = (int(row[each]) for each in ("number", "well", "leftovers"))
        words = row["event"], row["detail"], row["outcome"]
        rows.append(Event(number, *words, well, row["seconds"], row["megabytes"], left))
    return rows


def write_page() -> None:
    """The tables of ``docs/results/soak.md`` from all rows there are."""
    text = ["# A long random test", ""]
    for name, words in (
        ("soak", "`python -m benchmarks.soak --minutes 30`, events of all kinds at random"),
        ("kills", "`python -m benchmarks.soak --kills 1000`, a normal run after each"),
        ("pairs", "`python -m benchmarks.soak --pairs 200`, two runs into one folder at once"),
        ("deaths", "`python -m benchmarks.soak --deaths 20`, a worker is killed during each fit"),
    ):
        if not (rows := stored(name)):
            continue
        left = sum(row.leftovers > 0 for row in rows)
        told = [f"Memory: {row.outcome}." for row in rows if row.event == "memory"]
        told.append(
            f"Unfinished files were left after {left} of {len(rows)} events, until the next run."
        )
        text += [f"{words} (`docs/results/{name}.csv`):", "", *table(rows), "", " ".join(told), ""]
    write_whole(RESULTS / "soak.md", wrapped("\n".join(text)).encode())
    print("\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
