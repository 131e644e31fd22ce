"""Everything that is made from rows: tables, figures and the page of claims, in a folder."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import scipy
import sklearn

from ..core.tables import as_csv, head, line
from ..core.version import __version__
from ..core.words import wrapped
from ..core.writing import write_whole
from . import claims, convergence, cost, tables
from .protocol import GRIDS, QUICK, TABLES, Table
from .runner import store_of
from .selection import Found, Rows, average, results
from .subsets import classes_of, identity, is_here, samples

Tables = Mapping[str, Table]

#: The rows of some tables, and the results from them.
Gathered = tuple[Rows, Found]


def gather(chosen: Tables, folder: Path, data_home: str | None) -> Gathered:
    """All rows of the tables in a folder of results. The data sets need not be here."""
    rows = {name: store_of(table, folder, data_home).rows() for name, table in chosen.items()}
    found = {
        name: results(table, rows[name], identity(table.dataset, data_home)[1])
        for name, table in chosen.items()
    }
    return rows, found


def require_own_rows(folder: Path, data_home: str | None) -> None:
    """Refuse a folder with rows of another version or protocol, before any work is done in it."""
    for table in tables_in(folder).values():
        store_of(table, folder, data_home).rows()
    convergence.read(folder, data_home)
    cost.read(folder)


def tables_in(folder: Path) -> dict[str, Table]:
    """The tables that a folder of results has rows of."""
    return {
        name: table
        for name, table in {**TABLES, **GRIDS, QUICK.name: QUICK}.items()
        if any((folder / "rows").glob(f"{name}-[0-9][0-9][0-9].csv.gz"))
        or any((folder / "rows" / f"{name}.cells").glob("*.csv"))
    }


def averages(found: Found) -> list[tuple[str, str, float]]:
    """Table, column and mean accuracy over the N that have been run, for a first look."""
    return [
        (name, column, average(results, "accuracy"))
        for name, columns in found.items()
        for column, results in columns.items()
        if results
    ]


def write_pages(
    chosen: Tables, gathered: Gathered, folder: Path, data_home: str | None, *, figures: bool
) -> list[Path]:
    """Write everything for which there are rows, and return the files."""
    rows, found = gathered
    main = {name: found[name] for name in chosen if name not in GRIDS}
    texts = {}
    kinds = {"md": tables.as_markdown, "csv": tables.as_csv, "tex": tables.as_latex}
    for name in main:
        for kind, write in kinds.items() if rows[name] else ():
            texts[f"tables/{name}.{kind}"] = write(chosen[name], found[name])
    points, costs = convergence.read(folder, data_home), cost.read(folder)
    texts["claims.md"] = claims.page(main, rows, points, costs)
    texts["subsets.csv"] = _subsets([chosen[name] for name in main], data_home)
    texts["times.csv"] = _times(rows)
    texts["README.md"] = _readme(chosen, rows)
    for name, text in texts.items():
        text = wrapped(text) if name.endswith(".md") else text
        write_whole(folder / name, text.encode())
    written = [folder / name for name in texts]
    if figures:
        from . import figures as drawing

        written += drawing.draw_all(folder / "figures", rows, main, points)
        for name in dict.fromkeys(table.dataset for table in chosen.values()):
            if is_here(name, data_home):
                data = samples(name, data_home)
                written.append(drawing.draw_samples(data, name, folder / "figures"))
    return written


def _subsets(chosen: Sequence[Table], data_home: str | None) -> str:
    """The classes of each random subset; grids run on subsets of a table."""
    rows = []
    for table in chosen:
        _, n_classes = identity(table.dataset, data_home)
        for size in table.sizes:
            for subset in range(table.count(size, n_classes)):
                classes = classes_of(n_classes, size, subset, table.seed)
                rows.append([table.dataset, size, subset, " ".join(map(str, classes))])
    return as_csv(["set", "N", "subset", "classes"], rows)


def _times(rows: Rows) -> str:
    """Minutes on one core that the fits of each column took."""
    listed = []
    for name, found in rows.items():
        for column in dict.fromkeys(row.method for row in found):
            seconds = [float(row.seconds) for row in found if row.method == column]
            listed.append([name, column, len(seconds), f"{sum(seconds) / 60:.1f}"])
    return as_csv(["table", "column", "fits", "core_minutes"], listed)


def _readme(chosen: Tables, rows: Rows) -> str:
    """What is in the folder, the command that made it, how long that took, and with what."""
    asked = ["--quick" if name == QUICK.name else name for name in chosen]
    if {**TABLES, **GRIDS}.keys() <= chosen.keys():
        asked = []  # all there is, with the convergence of Yale and the cost of an iteration
    numbers = {"numpy": numpy, "scipy": scipy, "scikit-learn": sklearn}
    libraries = ", ".join(f"{name} {module.__version__}" for name, module in numbers.items())
    text = [
        "# Results of `klsnmf reproduce`",
        "",
        "This folder has the rows, one per fit, and the tables, figures and claims made from "
        "them. To make what is missing, set `KLSNMF_DATA` to the folder of the data sets and run",
        "",
        f"    klsnmf reproduce {' '.join([*asked, '--out'])} THIS_FOLDER",
        "",
        "`klsnmf reproduce --no-run --out THIS_FOLDER` writes the pages again from the rows.",
        "",
        *head("table", "rows", "N", "hours of one core"),
    ]
    for name, table in chosen.items():
        sizes = ", ".join(map(str, sorted({row.N for row in rows[name]})))
        hours = f"{sum(float(row.seconds) for row in rows[name]) / 60 / 60:.2f}"
        text.append(line(f"{table.title}, {name}", len(rows[name]), sizes, hours))
    made_by = (
        f"Pages written by klsnmf {__version__}, Python {platform.python_version()}, "
        f"{libraries}; {platform.system()}, {platform.machine()}, {os.cpu_count()} cores."
    )
    return "\n".join([*text, "", made_by, ""])
