"""Rows of results: flat, and kept so that no crash can tear them.

A cell's rows are a small file of their own, written aside and renamed. Now and then the small files
are packed into one compressed file for each N.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

from ..core.writing import write_whole
from .protocol import Cell


class ForeignRowsError(RuntimeError):
    """Rows that another version or protocol made."""


@dataclass(frozen=True)
class Row:
    """One fit.

    Scores are percent, ``lam`` is the λ used, ``seconds`` its share of the processor time that its
    batch took.
    """

    set: str
    N: int
    subset: int
    method: str
    parameters: str
    seed: int
    accuracy: str
    nmi: str
    nmi_max: str
    purity: str
    objective: str
    iterations: int
    lam: str
    seconds: str
    version: str
    protocol: str


FIELDS = [field.name for field in fields(Row)]
_INTEGERS = {"N", "subset", "seed", "iterations"}


class Store:
    """The rows of one table in a folder.

    Parameters
    ----------
    folder : the folder of all rows
    table : the name of the table
    version : what the rows must have been made by; others are refused
    protocols : the same for the fingerprint of each column
    """

    def __init__(
        self, folder: Path, table: str, version: str, protocols: Mapping[str, str]
    ) -> None:
        self.folder, self.table = folder, table
        self.version, self.protocols = version, protocols
        self.loose = folder / f"{table}.cells"

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells that have no rows yet."""
        done = {cell_of(row).key for row in self.rows()}
        return [cell for cell in cells if cell.key not in done]

    def write(self, cell: Cell, rows: Sequence[Row]) -> None:
        write_whole(self.loose / f"{cell.key}.csv", _as_csv(rows).encode())

    def rows(self) -> list[Row]:
        """All rows there are, each once."""
        # In this order: rows that another process packs meanwhile are seen twice, not missed.
        loose = self._read_all(sorted(self.loose.glob("*.csv")))
        packed = self._read_all(sorted(self.folder.glob(f"{self.table}-[0-9][0-9][0-9].csv.gz")))
        return list({(cell_of(row), row.parameters): row for row in [*packed, *loose]}.values())

    def pack(self) -> None:
        """The rows of each N in one compressed file."""
        with _alone(self.folder):
            loose = sorted(self.loose.glob("*.csv"))
            sizes = {row.N for row in self._read_all(loose)}
            rows = sorted(self.rows(), key=lambda row: (row.subset, row.method, row.parameters))
            for size in sizes:
                text = _as_csv([row for row in rows if size == row.N])
                # No time of day inside: the same rows are the same bytes.
                packed = self.folder / f"{self.table}-{size:03d}.csv.gz"
                write_whole(packed, gzip.compress(text.encode(), mtime=0))
            for path in loose:
                path.unlink()
            with suppress(OSError):  # another process has begun to fill it again
                self.loose.rmdir()

    def _read_all(self, paths: Iterable[Path]) -> list[Row]:
        rows: list[Row] = []
        for path in paths:
            with suppress(FileNotFoundError):  # packed a moment ago
                rows += self._read(path)
        return rows

    def _read(self, path: Path) -> list[Row]:
        data = path.read_bytes()
        with refusing(path):
            text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
            rows = [_row(record) for record in csv.DictReader(io.StringIO(text))]
            if not rows:
                raise ValueError("it is empty")
        for row in rows:
            expected = self.version, self.protocols.get(row.method)
            require_own(path, (row.version, row.protocol), expected, row.method)
        return rows


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Say of a file that cannot be read as rows which it is, and what to do."""
    try:
        yield
    except (KeyError, TypeError, ValueError, EOFError, OSError, zlib.error) as error:
        raise ForeignRowsError(
            f"{path} does not hold rows of this program ({error}). Move it away, or choose "
            "another folder with --out."
        ) from error


def require_own(
    path: Path, found: tuple[str, str], expected: tuple[str, str | None], of: str = "this kind"
) -> None:
    """Refuse rows of another version or protocol."""
    if found != expected:
        raise ForeignRowsError(
            f"{path} has rows of {of} of version {found[0]} and protocol {found[1]}; now version "
            f"{expected[0]} and protocol {expected[1]} are asked for. They are not mixed: move the "
            "file away, or choose another folder with --out."
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While one process packs, others wait; a process that is killed lets go."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _row(record: Mapping[str, str]) -> Row:
    return Row(**{name: int(v) if name in _INTEGERS else v for name, v in record.items()})  # type: ignore[arg-type]


def cell_of(row: Row) -> Cell:
    """The cell that a row comes from: values of λ and ways to read labels share one."""
    told = json.loads(row.parameters)
    setting = tuple((name, value) for name, value in told.items() if name not in ("lam", "labels"))
    return Cell(row.set, row.N, row.subset, row.method, setting)


def _as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()
