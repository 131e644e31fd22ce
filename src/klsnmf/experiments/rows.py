"""Rows of results, stored so that a crash cannot damage them.

The rows of a cell are a small file, written under another name and renamed. Now and then the small
files are packed into one compressed file for each N. Rows of another version or protocol are
refused.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

from ..core.tables import as_csv
from ..core.version import __version__
from ..core.writing import write_whole
from .protocol import Cell

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class ForeignRowsError(RuntimeError):
    """Rows that another version or protocol made."""


#: Earlier versions whose rows are still valid, because all they depend on is in the protocol.
_SAME_EXPERIMENTS = ("0.1.0",)

#: A dataclass of text, whole numbers and floats, with the version of the package that made it and
#: the fingerprint (``protocol``) of all else that it depends on.
Kind = TypeVar("Kind", bound="DataclassInstance")


def write_rows(path: Path, kind: type[Kind], rows: Iterable[Kind]) -> None:
    """Records as CSV, compressed if the name says so; the same rows are the same bytes."""
    text = as_csv([field.name for field in fields(kind)], map(astuple, rows)).encode()
    write_whole(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def read_rows(path: Path, kind: type[Kind], protocols: str | Mapping[str, str]) -> list[Kind]:
    """Such records, none without a file; of one protocol, or one for each method."""
    kinds: dict[str, Any] = {"str": str, "int": int, "float": float}
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    try:
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        rows: list[Any] = [
            kind(**{f.name: kinds[str(f.type)](record[f.name]) for f in fields(kind)})
            for record in csv.DictReader(text.splitlines())
        ]
        if not rows:
            raise ValueError("it is empty")
    except (KeyError, TypeError, ValueError, EOFError, OSError, zlib.error) as error:
        raise ForeignRowsError(
            f"{path} does not contain rows of klsnmf ({error}). Move it away, or choose another "
            "folder with --out."
        ) from error
    for row in rows:
        method = getattr(row, "method", "this kind")
        protocol = protocols if isinstance(protocols, str) else protocols.get(method)
        if row.version not in (__version__, *_SAME_EXPERIMENTS) or row.protocol != protocol:
            raise ForeignRowsError(
                f"{path} has rows of {method} that were made by version {row.version} with "
                f"protocol {row.protocol}. This is version {__version__} with protocol {protocol}, "
                "and the two are not mixed. Move the file away, or choose another folder with "
                "--out."
            )
    return rows


@dataclass(frozen=True)
class Row:
    """One fit: scores in percent, the λ used, its share of the processor time of its batch."""

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


class Store:
    """The rows of one table, by name, in the folder of all rows; each column has a protocol."""

    def __init__(self, folder: Path, table: str, protocols: Mapping[str, str]) -> None:
        self.folder, self.table, self.protocols = folder, table, protocols
        self.loose = folder / f"{table}.cells"

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells that have no rows yet."""
        done = {cell_of(row).key for row in self.rows()}
        return [cell for cell in cells if cell.key not in done]

    def write(self, cell: Cell, rows: Sequence[Row]) -> None:
        with _alone(self.folder):  # who packs removes the folder of loose rows
            write_rows(self.loose / f"{cell.key}.csv", Row, rows)

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
                packed = self.folder / f"{self.table}-{size:03d}.csv.gz"
                write_rows(packed, Row, [row for row in rows if size == row.N])
            for path in loose:
                path.unlink()
            with suppress(OSError):  # a killed process has left something there
                self.loose.rmdir()

    def _read_all(self, paths: Iterable[Path]) -> list[Row]:
        # A file that was packed a moment ago has no rows.
        return [row for path in paths for row in read_rows(path, Row, self.protocols)]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let others wait while this process writes or packs; a killed process frees the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cell_of(row: Row) -> Cell:
    """The cell that a row comes from: values of λ and ways to read labels share one."""
    told = json.loads(row.parameters)
    setting = tuple((name, value) for name, value in told.items() if name not in ("lam", "labels"))
    return Cell(row.set, row.N, row.subset, row.method, setting)
