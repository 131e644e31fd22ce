"""Invented shapes: with the number of clusters known, and not known.

    python -m benchmarks.invented run                   every row that is missing
    python -m benchmarks.invented run --tools KLSNMF    of one tool only
    python -m benchmarks.invented tables                docs/results/invented.md from the rows

The shapes are those of ``benchmarks.invented_shapes``, each with several seeds. Rows are added to
docs/results/invented.csv as they are made; those that are there are not made again. Scattered
samples of a background belong to no cluster and are not scored.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from klsnmf import __version__
from klsnmf.core.tables import head, line
from klsnmf.core.words import wrapped

from . import level_tables, levels, rival_tools
from .invented_shapes import EARLY, LATER, SHAPES, shape
from .rivals import append, count_classes, scores, threads
from .rows import Row, read_file

ROWS = Path("docs/results/invented.csv")
PAGE = Path("docs/results/invented.md")
COLUMNS = [
    *("shape", "seed", "tool", "told", "n", "k", "chosen", "ari", "clear"),
    *("seconds", "threads", "version"),
]
SEEDS = 2

#: Tools that find the number of clusters, and those that are told it.
UNTOLD = ("KLSNMF", "HDBSCAN")
TOLD = ("KLSNMF", "Genie", "Leiden", "SpectralClustering", "KMeans")


class Cell(NamedTuple):
    shape: str
    seed: int
    tool: str
    told: bool  # whether the tool is told the number of clusters


def wanted(tools: list[str], seeds: int) -> Iterator[Cell]:
    for seed in range(seeds):
        for name in SHAPES:
            for told, of in ((False, UNTOLD), (True, TOLD)):
                for tool in of:
                    if tool in tools:
                        yield Cell(name, seed, tool, told)


def finder(cell: Cell, k: int) -> Callable[[Any, int], levels.Found]:
    if not cell.told:
        return levels.TOOLS[cell.tool].find
    tool = rival_tools.TOOLS[cell.tool]
    return lambda X, seed: levels.Found(tool.cluster(tool.prepare(X, seed), k, seed))


def row_of(cell: Cell) -> list[Any]:
    X, y = shape(cell.shape, cell.seed)
    k = count_classes(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        labels, clear, _ = finder(cell, k)(X, cell.seed)
        seconds = time.perf_counter() - start
    key = [*cell[:3], int(cell.told), len(X), k, count_classes(labels)]
    clearly = "" if clear is None else int(clear)
    ari = f"{scores(y, labels)[0]:.4f}"
    return [*key, ari, clearly, f"{seconds:.3f}", threads(), __version__]


def run(file: Path, cells: Iterator[Cell]) -> None:
    """Make the rows that are missing, and write each at once."""
    names = COLUMNS[:4]
    done = {tuple(row[name] for name in names) for row in read_file(file)}
    for cell in cells:
        if (cell.shape, str(cell.seed), cell.tool, str(int(cell.told))) not in done:
            row = row_of(cell)
            append(file, COLUMNS, row)
            print(", ".join(map(str, row)), flush=True)


# ----------------------------------------------------------------------------- the page


def page(rows: list[Row]) -> str:
    names = [name for name in SHAPES if any(row["shape"] == name for row in rows)]
    text = ["# Invented shapes", "", *_means(rows), "", *_clear(rows)]
    text += ["", *_each(rows, names)]
    return "\n".join(text) + "\n"


def _means(rows: list[Row]) -> list[str]:
    """For each tool the mean over the shapes that were there early, and over later ones."""
    text = ["The mean adjusted Rand index; and how often the number is exact, if it is not known."]
    for told, tools in (("0", UNTOLD), ("1", TOLD)):
        heads = [*("early shapes", "later shapes"), *(["exact", "far off"] if told == "0" else [])]
        title = "number known" if told == "1" else "number not known"
        text += ["", *head(title, *heads)]
        for tool in tools:
            of_tool = [row for row in rows if (row["told"], row["tool"]) == (told, tool)]
            if not of_tool:
                continue
            some = [[row for row in of_tool if row["shape"] in each] for each in (EARLY, LATER)]
            cells = [f"{_mean(part):.3f} ({len(part)})" if part else "" for part in some]
            if told == "0":
                off = np.array([levels_off(row) for row in of_tool])
                cells += [f"{np.mean(off == 1):.0%}", str((off > level_tables.FAR).sum())]
            text.append(line(tool, *cells))
    return text


def _clear(rows: list[Row]) -> list[str]:
    ours = [row for row in rows if row["tool"] == "KLSNMF" and row["told"] == "0"]
    clear = [row for row in ours if row["clear"] == "1"]
    right = [row for row in ours if levels_off(row) == 1]
    both = sum(row["clear"] == "1" for row in right)
    if not clear or not right:
        return []
    return [
        f"KLSNMF calls {len(clear)} of its {len(ours)} answers clear. The number is exact in "
        f"{both / len(clear):.0%} of them. Of all answers whose number is exact, "
        f"{both / len(right):.0%} are called clear.",
    ]


def levels_off(row: Row) -> float:
    """By what factor the number is wrong."""
    found, right = max(int(row["chosen"]), 1), int(row["k"])
    return max(found / right, right / found)


def _each(rows: list[Row], names: list[str]) -> list[str]:
    text = ["Each shape: the mean adjusted Rand index; first of those who do not know the number."]
    columns = [("0", tool) for tool in UNTOLD] + [("1", tool) for tool in TOLD]
    columns = [one for one in columns if any((row["told"], row["tool"]) == one for row in rows)]
    heads = [tool if told == "0" else f"{tool}, told" for told, tool in columns]
    text += ["", *head("shape", "clusters", *heads)]
    for name in names:
        of = [row for row in rows if row["shape"] == name]
        cells = [[row for row in of if (row["told"], row["tool"]) == one] for one in columns]
        text.append(
            line(name, of[0]["k"], *(f"{_mean(some):.3f}" if some else "" for some in cells))
        )
    return text


def _mean(rows: list[Row]) -> float:
    return float(np.mean([float(row["ari"]) for row in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "tables"])
    every = list(dict.fromkeys((*UNTOLD, *TOLD)))
    parser.add_argument("--tools", nargs="+", choices=every, default=every)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    if options.what == "tables":
        PAGE.write_text(wrapped(page(read_file(ROWS))), encoding="utf-8")
        return
    rival_tools.require([tool for tool in options.tools if rival_tools.TOOLS[tool].packages])
    rival_tools.warm_up("KLSNMF")
    run(ROWS, wanted(options.tools, options.seeds))


if __name__ == "__main__":
    main()
