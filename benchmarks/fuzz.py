"""Damaged and crafted files for readers, models and checkpoints: each is read, or refused in words.

    make fuzz SECONDS=60
    python -m benchmarks.fuzz --seconds 60 --seed 1
    python -m benchmarks.fuzz --count 1000000
    python -m benchmarks.fuzz --only a.h5ad      # files of one kind
    python -m benchmarks.fuzz --again 1 4711     # input 4711 of seed 1, in this process

Input ``number`` of a seed is always the same. Inputs are read in a forked child with a limit of
memory, and of time for each: one that ends the child, takes too long, or raises what is no refusal
is a finding, told by its number. ``FINDINGS`` are what was found before, made by code: they come
first.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import mmwrite, savemat
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF, METHODS
from klsnmf.cli.results import earlier, harmless
from klsnmf.core.files import UnsafeFileError
from klsnmf.core.memory import NotEnoughMemory
from klsnmf.estimators.strengths import assign
from klsnmf.io import apart
from klsnmf.io.model_file import ModelError, load, save
from klsnmf.io.read import read
from klsnmf.io.table import Choice, Counted, InputError, Table
from klsnmf.preparation.base import Preparation
from klsnmf.preparation.categories import Encode
from klsnmf.preparation.gaps import FillMedian, FillNear, KeepColumns, LeaveOutRows
from klsnmf.preparation.numbers import Components, LogCounts, Standard
from klsnmf.solve import checkpoint
from klsnmf.solve.checkpoint_files import CheckpointError
from klsnmf.solve.checkpoint_files import read as read_checkpoint
from klsnmf.solve.fingerprints import fingerprint

#: Bytes of memory for a child beyond what it has, and seconds for an input.
ROOM = 2**30
SECONDS = 60

#: Files that another process reads, which takes half a second: how seldom they come. And seconds of
#: the processor after which that process is given up, as it is for users after a minute.
SELDOM = {"a.h5ad": 0.005}
APART_SECONDS = 3

#: How a file may be refused.
REFUSALS = (InputError, ModelError, CheckpointError, UnsafeFileError, NotEnoughMemory)

X = np.round(np.random.default_rng(0).random((12, 3)), 2) + np.repeat(np.eye(3), 4, axis=0)

#: What stands in the place of a number in a text.
WORDS = (
    *("nan", "inf", "-1", "0", "1e400", "99999999999999999999", "1_0", "", "x", "=1", '"', "\0"),
    *("1;2", "\ufeff", "\r", "٣", "--", "0x1", "1e-400", "%", "9" * 400),
)

#: What stands in the place of bytes.
PIECES = (b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff" * 8, b"9999", b"-1", b"\x80\0\0\0", b"{}")


def _mat(*parts: tuple[int, bytes]) -> bytes:
    """A MATLAB file of one variable with these parts."""
    body = b"".join(
        struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)
        for kind, content in parts
    )
    return bytes(124) + b"\x00\x01IM" + struct.pack("<II", 14, len(body)) + body


def _table(X: Any) -> Table:
    return Table("X", X, Counted(len(X)), words={"kind": ["a", "b"] * (len(X) // 2)})


def _steps(X: Any) -> Preparation:
    """Every step for columns of numbers and of categories."""
    p = X.shape[1]
    wide, places = p + 2, np.arange(p)
    steps = (
        *(LogCounts(places, 9.0), Standard(np.zeros(p), np.ones(p)), LeaveOutRows(0.5)),
        *(FillMedian(np.ones(p)), FillNear(X.copy()), Encode("kind", ("a", "b"))),
        *(KeepColumns(np.arange(wide)), Components(np.zeros(wide), np.eye(wide)[:3])),
    )
    return Preparation(p, None, steps)


def _write_cells(path: Path) -> None:
    """Cells as anndata writes them: an array in pieces, text, categories, and a sparse layer."""
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=(4, 3), compression="gzip")
        for table, names in (("obs", [f"c{i}" for i in range(12)]), ("var", list("abc"))):
            file.create_dataset(f"{table}/_index", data=names, dtype=h5py.string_dtype())
        file.create_dataset("obs/kind/codes", data=np.arange(12, dtype="i1") % 3)
        file.create_dataset("obs/kind/categories", data=list("uvw"), dtype=h5py.string_dtype())
        layer, matrix = file.create_group("layers/counts"), sparse.csr_array(X * (X > 1))
        layer.attrs.update({"encoding-type": "csr_matrix", "shape": X.shape})
        for name in ("data", "indices", "indptr"):
            layer[name] = getattr(matrix, name)


def _npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _sparse_npz(shape: Any, **change: Any) -> bytes:
    parts = {"data": np.ones(6), "indices": np.arange(6) % 3, "indptr": np.arange(0, 7, 2)}
    return _npz(format=np.array(b"csr"), shape=np.array(shape), **(parts | change))


def _packed_mat() -> bytes:
    body = zlib.compress(struct.pack("<II", 14, 2**23) + bytes(2**23), 9)
    return bytes(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(body)) + body


_MTX = b"%%MatrixMarket matrix coordinate real general\n"
_FLAGS, _NAME, _ONES = (6, struct.pack("<II", 6, 0)), (1, b"X"), (9, np.ones(9).tobytes())

#: What ended the process, took gigabytes or raised an error of others, by the ending of the file.
FINDINGS: dict[str, Callable[[], bytes]] = {
    "last pointer zero.npz": lambda: _sparse_npz([3, 3], indptr=np.array([0, 10**9, 10**9, 0])),
    "last pointer negative.npz": lambda: _sparse_npz([3, 3], indptr=np.array([0, 2, 4, -1])),
    "infinite shape.npz": lambda: _sparse_npz([np.inf, 3.0]),
    "shape of text.npz": lambda: _sparse_npz(["a", "b"]),
    "many columns.npz": lambda: _sparse_npz([3, 10**9]),
    "many rows.mtx": lambda: _MTX + b"100000000 3 1\n1 1 1\n",
    "many columns.mtx": lambda: _MTX + b"3 100000000 1\n1 1 1\n",
    "no rows.mtx": lambda: _MTX + b"0 0 0\n",
    "empty parts.mat": _packed_mat,
    "sides with fractions.mat": lambda: _mat(_FLAGS, (9, struct.pack("<dd", 3, 3)), _NAME, _ONES),
    "infinite sides.mat": lambda: _mat(_FLAGS, (9, struct.pack("<dd", np.inf, 3)), _NAME, _ONES),
}


class Fuzzer:
    """Inputs in a folder, each by its number."""

    def __init__(self, folder: Path, seed: int, only: str = "") -> None:
        self.folder, self.seed, self.number = folder / "fuzz", seed, 0
        self.folder.mkdir(exist_ok=True)
        self.good: dict[str, bytes] = {}
        self.arrays: dict[str, dict[str, np.ndarray]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._make()
        shares = np.array([SELDOM.get(name, 1.0) for name in self.good])
        if only:
            shares = np.array([float(name == only) for name in self.good])
        self.shares = shares / shares.sum()

    def _make(self) -> None:
        """A sound file of every kind."""

        def keep(name: str, write: Callable[[Path], object]) -> None:
            path = self.folder / name
            write(path)
            self.good[name] = path.read_bytes()
            if path.suffix == ".npz":
                with np.load(path) as stored:
                    self.arrays[name] = dict(stored)

        rows = "\n".join(f"n{i},{','.join(map(str, row))}" for i, row in enumerate(X.tolist()))
        keep("a.csv", lambda path: path.write_text(f"id,a,b,c\n{rows}\n"))
        keep("a.tsv", lambda path: path.write_text(f"id,a,b,c\n{rows}\n".replace(",", "\t")))
        packed = gzip.compress(f"id,a,b,c\n{rows}\n".encode(), mtime=0)
        keep("a.csv.gz", lambda path: path.write_bytes(packed))
        keep("a.npy", lambda path: np.save(path, X))
        keep("a.npz", lambda path: np.savez(path, X=X, y=np.arange(12) % 3))
        for form in ("csr", "csc", "coo"):
            matrix = sparse.coo_array(X * (X > 0.5)).asformat(form)
            keep(f"{form}.npz", lambda path, matrix=matrix: sparse.save_npz(path, matrix))
        keep("a.mtx", lambda path: mmwrite(str(path), sparse.coo_array(X)))
        keep("dense.mtx", lambda path: mmwrite(str(path), X))
        content = {"X": X, "s": sparse.csc_array(X), "t": "text", "c": {"a": 1.0}}
        keep("a.mat", lambda path: savemat(path, content))
        keep("packed.mat", lambda path: savemat(path, content, do_compression=True))
        self._keep_of_others(keep)
        for name in ("kmeans", "kls-nmf", "gnmf", "kernel-kmeans"):
            more = {"labels": "kmeans"} if name == "gnmf" else {}
            model = METHODS[name](3, random_state=0, **more).fit(X)
            keep(f"{name}.model.npz", lambda path, model=model: save(model, path))
        steps = _steps(X)
        model = METHODS["kmeans"](3, random_state=0).fit(steps.apply(_table(X)).X)
        keep("prepared.model.npz", lambda path: save(model, path, preparation=steps))
        self._keep_checkpoint(keep)
        summary = {"made_by": "klsnmf cluster", "files": [], "sha256": {}}
        keep("result.json", lambda path: path.write_text(json.dumps(summary)))

    def _keep_of_others(self, keep: Callable[..., None]) -> None:
        """Files that packages of others write, where these are installed."""
        with suppress(ImportError):
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = pa.table({"id": list("abcdefghijkl"), "a": X[:, 0], "b": X[:, 1]})
            keep("a.parquet", lambda path: pq.write_table(columns, path))
        with suppress(ImportError):
            import openpyxl

            book = openpyxl.Workbook()
            for row in [["id", "a", "b", "c"], *([f"n{i}", *row] for i, row in enumerate(X))]:
                book.active.append(row)
            keep("a.xlsx", book.save)
        with suppress(ImportError):
            keep("a.h5ad", _write_cells)

    def _keep_checkpoint(self, keep: Callable[..., None]) -> None:
        path = self.folder / "fit.checkpoint.npz"
        pause, checkpoint.PAUSE = checkpoint.PAUSE, -1.0
        stages: list[bytes] = []

        def watch(progress: Any) -> None:
            if path.exists():
                stages.append(path.read_bytes())

        try:
            model = KLSNMF(3, checkpoint=path, callback=watch, random_state=0)
            self.fingerprint = fingerprint([model], X)
            model.fit(X)
        finally:
            checkpoint.PAUSE = pause
        keep(path.name, lambda path: path.write_bytes(stages[len(stages) // 2]))

    # ------------------------------------------------------------------ inputs

    def make(self, number: int) -> tuple[str, bytes]:
        """The name and the content of an input."""
        rng = np.random.default_rng((self.seed, number))
        name = str(rng.choice(list(self.good), p=self.shares))
        whole = self.good[name]
        if name in self.arrays and rng.random() < 0.6:
            return name, self._with_other_arrays(name, rng)
        if name.endswith((".csv", ".tsv", ".mtx", ".json")) and rng.random() < 0.5:
            return name, self._with_other_words(whole, rng)
        return name, self._damaged(whole, rng)

    def _damaged(self, whole: bytes, rng: np.random.Generator) -> bytes:
        content = bytearray(whole)
        for _ in range(rng.integers(1, 5)):
            place, way = int(rng.integers(len(content) + 1)), rng.integers(5)
            if way == 0 and place < len(content):
                content[place] ^= 1 << int(rng.integers(8))
            elif way == 1:
                del content[place : place + int(rng.integers(1, 40))]
            elif way == 2:
                content[place:place] = content[place : place + int(rng.integers(1, 40))]
            elif way == 3:
                del content[place:]
            else:
                piece = PIECES[rng.integers(len(PIECES))]
                content[place : place + len(piece)] = piece
            content = content or bytearray(b"\0")
        return bytes(content)

    def _with_other_words(self, whole: bytes, rng: np.random.Generator) -> bytes:
        text = whole.decode()
        for _ in range(rng.integers(1, 4)):
            words = text.replace("\n", " \n ").replace("\t", " \t ").replace(",", " , ").split(" ")
            words[rng.integers(len(words))] = WORDS[rng.integers(len(WORDS))]
            text = "".join(words) if rng.random() < 0.5 else " ".join(words)
        return text.encode(errors="replace")

    def _with_other_arrays(self, name: str, rng: np.random.Generator) -> bytes:
        arrays = dict(self.arrays[name])
        for _ in range(rng.integers(1, 3)):
            which = str(rng.choice(list(arrays)))
            if which in ("model", "checkpoint"):
                text = arrays[which].tobytes()
                arrays[which] = np.frombuffer(self._with_other_json(text, rng), np.uint8)
            else:
                arrays[which] = self._other(arrays[which], rng)
        if rng.random() < 0.1:
            arrays.pop(str(rng.choice(list(arrays))))
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for each, array in arrays.items():
                part = io.BytesIO()
                np.lib.format.write_array(part, array, allow_pickle=False)
                archive.writestr(f"{each}.npy", part.getvalue())
        return stream.getvalue()

    def _other(self, array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        way = rng.integers(6)
        if way == 0 and array.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                return array.astype(str(rng.choice(["f4", "i8", "u8", "U3", "?", "c16", "i4"])))
        if way == 1:
            return array.reshape(-1)[: rng.integers(array.size + 1)]
        if way == 2:
            return array[..., None] if rng.random() < 0.5 else array.T.copy()
        if way == 3:
            return np.concatenate([array.reshape(-1)] * 2)
        changed = array.copy().reshape(-1)
        if array.dtype.kind in "fiu" and array.size:
            extremes = [0, -1, 1, 2**31 - 1, 10**9] + [np.nan, np.inf, -np.inf, 1e300] * (
                array.dtype.kind == "f"
            )
            with np.errstate(all="ignore"):
                value = np.array(extremes[rng.integers(len(extremes))]).astype(array.dtype)
            some = slice(None) if way == 5 else rng.integers(array.size)
            changed[some] = value
        return changed.reshape(array.shape)

    def _with_other_json(self, text: bytes, rng: np.random.Generator) -> bytes:
        values = ["null", "-1", "1e999", "NaN", "10" + "0" * 30, '"x"', "[]", "{}", "true", "0.5"]
        parts = text.decode().split(": ")
        place = int(rng.integers(1, len(parts)))
        head, comma, tail = parts[place].partition(",")
        parts[place] = values[rng.integers(len(values))] + comma + tail if comma else head
        return ": ".join(parts).encode()

    # ------------------------------------------------------------------ what must hold

    def one(self) -> None:
        """The next input: an error of another kind than a refusal is a finding."""
        self.try_one(*self.make(self.number))
        self.number += 1

    def try_one(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._use(path)
            except REFUSALS as refusal:
                if not str(refusal):
                    raise AssertionError("a refusal without a word") from refusal

    def _use(self, path: Path) -> None:
        if path.name.endswith(".model.npz"):
            estimator, about = load(path)
            try:
                labels, strengths = assign(estimator, about["preparation"].apply(_table(X)).X)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                return  # the command calls it a damaged model
            assert len(labels) == len(strengths) == len(X)
        elif path.name.endswith(".checkpoint.npz"):
            read_checkpoint(path, self.fingerprint)
        elif path.suffix == ".json":
            earlier(path.parent)
        else:
            cells = path.suffix == ".h5ad"
            choice = Choice(sheets=["counts"], label_column="kind") if cells else Choice()
            table = read(path, choice)
            assert table.X.shape[0] == len(table.ids)
            assert min(table.X.shape) > 0
            table.X @ np.ones(table.X.shape[1], table.X.dtype)
            for name in table.ids[:3]:
                assert not harmless(name).startswith(("=", "@"))


class Watch:
    """Inputs in a child, whose end is looked into."""

    def __init__(self, fuzzer: Fuzzer) -> None:
        self.fuzzer = fuzzer
        self.shared = mmap.mmap(-1, 16)  # the number of the input, and how many are done

    def run(self, first: int, count: int, until: float) -> tuple[int, str]:
        """How many inputs were done, and what was found; "" for nothing."""
        self.shared[:] = struct.pack("<qq", first, 0)
        said = self.fuzzer.folder / "said"
        child = os.fork()
        if not child:
            self._work(first, count, until, said)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        number, done = struct.unpack("<qq", self.shared[:])
        if status == 0:
            return done, ""
        why = said.read_text() if status == 1 and said.exists() else f"it ended with {status}"
        name, _ = self.fuzzer.make(number)
        return done + 1, f"input {number} of seed {self.fuzzer.seed}, {name}: {why}"

    def _work(self, first: int, count: int, until: float, said: Path) -> None:
        """In the child: never returns."""
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        status = 1
        try:
            for number in range(first, first + count):
                self.shared[:] = struct.pack("<qq", number, number - first)
                signal.alarm(SECONDS)
                self.fuzzer.try_one(*self.fuzzer.make(number))
                if time.monotonic() > until:
                    break
            self.shared[:] = struct.pack("<qq", number, number - first + 1)
            status = 0
        except BaseException:
            said.write_text(traceback.format_exc()[-2000:])
        finally:
            os._exit(status)


def main() -> int:
    """Try the findings, then inputs for so long, or so many."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--count", type=int, default=0, help="so many inputs, however long it takes"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="inputs of one kind, such as a.h5ad")
    parser.add_argument("--again", type=int, nargs=2, metavar=("SEED", "NUMBER"))
    given = parser.parse_args()
    fast = Path("/dev/shm")
    place = fast if fast.is_dir() else None
    # On one thread: a forked child has no threads but its own.
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as folder, threadpool_limits(1):
        apart.SECONDS = APART_SECONDS
        fuzzer = Fuzzer(Path(folder), given.again[0] if given.again else given.seed, given.only)
        if given.again:
            fuzzer.try_one(*fuzzer.make(given.again[1]))
            return 0
        return _fuzz(fuzzer, given)


def _fuzz(fuzzer: Fuzzer, given: argparse.Namespace) -> int:
    begun = time.monotonic()
    for name, make in FINDINGS.items():
        fuzzer.try_one(name, make())
    until = begun + given.seconds if not given.count else float("inf")
    watch, done, found = Watch(fuzzer), 0, 0
    while (done < given.count) if given.count else (time.monotonic() < until):
        part = min(20_000, given.count - done) if given.count else 20_000
        count, finding = watch.run(done, part, until)
        done += count
        if finding:
            found += 1
            print(finding, flush=True)
    seconds = time.monotonic() - begun
    print(f"{len(FINDINGS)} files found earlier and {done} inputs of seed {given.seed} in "
          f"{seconds:.0f} s: {found} findings")  # fmt: skip
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
