"""``--join``: the table that was read, with the results beside each of its rows.

The file is read a second time, so that all its columns are kept as they were, including those that
were not used. The result has the format of the file.
"""

from __future__ import annotations

import csv as csv_files
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..core.files import ending
from ..core.tables import formula_free
from . import csv, h5ad, xlsx
from .cells import is_data
from .errors import STANDARD_INPUT, InputError
from .table import Choice, Counted, Table

#: Columns for the samples, by name: lists, with None for rows that were left out.
Columns = Mapping[str, Sequence[Any]]

_STEM = "joined"


def joined_name(paths: Sequence[Path]) -> str:
    """The name of the joined file; an InputError if these files cannot be joined."""
    kinds = {_FAMILIES.get(ending(path), "") for path in paths if not path.is_dir()}
    if STANDARD_INPUT in paths or len(kinds) != 1 or not (kind := kinds.pop()):
        what = "The standard input" if STANDARD_INPUT in paths else paths[0]
        raise InputError(
            f"{what} cannot be joined with its clusters: --join is for files of tables, all of one "
            f"kind, that end in {', '.join(_FAMILIES)}. Leave out --join; labels.csv has the names "
            "of all samples with their clusters."
        )
    if kind == ".h5ad" and len(paths) > 1:
        raise InputError("--join takes one .h5ad file. Join them one by one.")
    return f"{_STEM}{kind}"


def write(
    paths: Sequence[Path], choice: Choice, table: Table, found: Columns, target: Path
) -> None:
    """Write the tables at these paths, one below the other, with the columns of results."""
    n = len(table.ids)
    rows = np.arange(n) if table.rows is None else np.asarray(table.rows)
    place = dict(zip(rows.tolist(), range(n), strict=True))
    values = list(zip(*found.values(), strict=True))
    empty = (None,) * len(found)

    def of_row(row: int) -> tuple[Any, ...]:
        return values[place[row]] if row in place else empty

    _WRITERS[target.suffix](paths, choice, list(found), of_row, target)


#: The results for a row, counted over all files.
OfRow = Callable[[int], tuple[Any, ...]]


def _new_names(names: Sequence[str], added: Sequence[str]) -> list[str]:
    """Names for the new columns that no other column has."""
    return [name if name not in names else f"klsnmf_{name}" for name in added]


def _below(
    parts: Sequence[tuple[list[str], Iterator[Sequence[Any]]]], added: Sequence[str], of_row: OfRow
) -> Iterator[list[Any]]:
    """The names of all columns, then the rows of all parts, each with its results."""
    names = list(dict.fromkeys(name for part, _ in parts for name in part))
    if len(parts) == 1:
        names = parts[0][0]  # which may have a name twice
    yield [*names, *_new_names(names, added)]
    count = 0
    for part, rows in parts:
        for row in rows:
            cells = dict(zip(part, row, strict=False))
            whole = list(row) if len(parts) == 1 else [cells.get(name) for name in names]
            yield [*whole, *of_row(count)]
            count += 1


def _part(
    rows: Iterator[Sequence[Any]], *, decimal_comma: bool = False
) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """The names of the columns, and the rows; a table without names counts its columns."""
    header = next(rows, [])
    texts = [xlsx.text_of(cell).strip() for cell in header]
    if is_data(texts, decimal_comma):
        return list(Counted(len(texts))), chain([header], rows)
    return texts, rows


def _csv(
    paths: Sequence[Path], _: Choice, added: Sequence[str], of_row: OfRow, target: Path
) -> None:
    parts = []
    for path in paths:
        delimiter = csv.delimiter_of(path)
        rows = (cells for _, cells in csv.rows_of(path, delimiter))
        parts.append(_part(rows, decimal_comma=delimiter == ";"))
    with target.open("w", encoding="utf-8", newline="") as file:
        # Tabs and semicolons stay the separator, because decimal commas need them.
        writer = csv_files.writer(file, delimiter=delimiter, lineterminator="\n")
        for row in _below(parts, added, of_row):
            writer.writerow(["" if cell is None else formula_free(str(cell)) for cell in row])


def _xlsx(
    paths: Sequence[Path], choice: Choice, added: Sequence[str], of_row: OfRow, target: Path
) -> None:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(_STEM)
    with xlsx.opened_sheets(paths, choice) as sheets:
        parts = [_part(cells for _, cells in xlsx.values_of(*each)) for each in sheets]
        for row in _below(parts, added, of_row):
            sheet.append([formula_free(cell) if isinstance(cell, str) else cell for cell in row])
    book.save(target)


def _parquet(
    paths: Sequence[Path], _: Choice, added: Sequence[str], of_row: OfRow, target: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = pa.concat_tables([pq.read_table(path) for path in paths], promote_options="default")
    columns = zip(*(of_row(row) for row in range(whole.num_rows)), strict=True)
    for name, values in zip(_new_names(whole.column_names, added), columns, strict=True):
        whole = whole.append_column(name, pa.array(values))
    pq.write_table(whole, target)


def _h5ad(
    paths: Sequence[Path], _: Choice, added: Sequence[str], of_row: OfRow, target: Path
) -> None:
    shutil.copyfile(paths[0], target)
    with h5ad.opened(paths[0]) as store:
        n = len(store.frame("obs")[1])
    columns = zip(*(of_row(row) for row in range(n)), strict=True)
    names = {"cluster": "klsnmf", **{name: f"klsnmf_{name}" for name in added if name != "cluster"}}
    h5ad.add_columns(target, {names[a]: v for a, v in zip(added, columns, strict=True)})


_WRITERS = {".csv": _csv, ".tsv": _csv, ".xlsx": _xlsx, ".parquet": _parquet, ".h5ad": _h5ad}

#: The kinds of files that can be joined, and the kind that each becomes.
_FAMILIES = {
    ".csv": ".csv",
    ".csv.gz": ".csv",
    ".tsv": ".tsv",
    ".tsv.gz": ".tsv",
    ".xlsx": ".xlsx",
    ".parquet": ".parquet",
    ".h5ad": ".h5ad",
}

#: The files that a run may write for it.
RESULTS = tuple(f"{_STEM}{kind}" for kind in _WRITERS)
