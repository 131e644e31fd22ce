"""``klsnmf compare-runs``: two results of the same samples, and which samples moved."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.words import listed, plural
from . import options
from .output import printable, show_json, show_notes, show_table

if TYPE_CHECKING:
    from ..report.moves import Moves

_LABELS = "labels.csv"

#: The largest file of labels that is read, in bytes: about ten million samples.
_LONGEST = 2**29

#: A table of more clusters does not fit into a terminal; then each cluster has a line.
_WIDE = 12

#: How many clusters, or ids, are named in a line.
_TOLD = 4


@click.command("compare-runs", short_help="Compare two results: who moved where.")
@click.argument("a", type=options.PATH)
@click.argument("b", type=options.PATH)
@click.option("--out", type=options.PATH, help="A .csv file for the samples that moved.")
@click.option(
    "--picture",
    type=options.PATH,
    metavar="FILE",
    help="A picture of the moves: .html for a page, .svg for the picture alone.",
)
@click.option("--force", is_flag=True, help="Replace these files.")
@options.quiet("Show no notes, only errors and the result.")
@options.as_json
def compare_runs(
    a: Path,
    b: Path,
    out: Path | None,
    picture: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare two results of the same samples, A and B: who moved where.

    A and B are folders that klsnmf cluster wrote, or files with the columns id and cluster. Each
    cluster of A has at most one partner in B, so that partners share as many samples as possible. A
    sample moved if it is not in the partner of its cluster. Samples are matched by their id.
    """
    kind = None if picture is None else picture.suffix.lower()
    if kind not in (None, ".html", ".svg"):
        raise click.UsageError(f"--picture {picture}: use a name that ends in .html or .svg.")
    from .results import ResultsError, require_new, write_file

    for file, option in ((out, "--out"), (picture, "--picture")):
        if file is not None:
            require_new(file, option, force=force)
    runs = [_labels(path) for path in (a, b)]
    from ..report import flow
    from ..report.moves import moves

    try:
        found = moves(*runs)
    except ValueError as error:
        raise ResultsError(
            f"{a} and {b} have no id in common. Give two results of the same samples; A has "
            f"{listed([name for name, _ in runs[0]], 3)}, B has "
            f"{listed([name for name, _ in runs[1]], 3)}."
        ) from error
    names = (str(a), str(b))
    if out is not None:
        write_file(out, _as_csv(found), force=force)
    if picture is not None:
        draw = flow.page if kind == ".html" else flow.svg
        write_file(picture, draw(found, names), force=force)
    messages = [*_other_data(a, b), *_messages(found)]
    if not quiet:
        show_notes(messages)
    if as_json:
        show_json({"a": names[0], "b": names[1], **_facts(found), "messages": messages})
        return
    click.echo(flow.in_words(found))
    _show(found)
    for file in (out, picture):
        if file is not None and not quiet:
            click.echo(f"Written: {printable(str(file))}")


def _labels(path: Path) -> list[tuple[str, str]]:
    """The ids and clusters of a result, given as a folder or a file."""
    from ..core.files import UnsafeFileError, size_of_regular_file
    from .results import ResultsError, require_one_run

    file = path / _LABELS if path.is_dir() else path
    if not file.exists():
        raise ResultsError(
            f"{file} does not exist. Give a folder that klsnmf cluster wrote, or its {_LABELS}."
        )
    try:
        if path.is_dir():
            require_one_run(path, _LABELS)
        if size_of_regular_file(file) > _LONGEST:
            raise ResultsError(f"{file} is larger than {_LONGEST >> 20} MB. Use fewer rows.")
        with file.open(encoding="utf-8-sig", newline="") as stream:
            found = list(_rows(file, csv.reader(stream, strict=True)))
    except (UnicodeDecodeError, UnsafeFileError, csv.Error, OSError) as error:
        raise ResultsError(
            f"{file} could not be read: {error}. Give a {_LABELS} that klsnmf cluster wrote."
        ) from error
    if not found:
        raise ResultsError(f"{file} holds no samples. Give a file with at least one.")
    return found


def _rows(file: Path, lines: Any) -> Iterator[tuple[str, str]]:
    from .results import ResultsError

    header: list[str] = next(lines, [])
    if header.count("id") != 1 or header.count("cluster") != 1:
        raise ResultsError(
            f"{file} needs one column 'id' and one column 'cluster'; it has {listed(header)}. Give "
            f"a {_LABELS} that klsnmf cluster wrote."
        )
    name, cluster = header.index("id"), header.index("cluster")
    for line in lines:
        if len(line) != len(header) or not line[cluster].strip():
            raise ResultsError(
                f"{file}, line {lines.line_num}: a row needs {plural(len(header), 'cell')} and a "
                "cluster. Correct this line, or give the file that klsnmf cluster wrote."
            )
        yield line[name], line[cluster].strip()


def _other_data(a: Path, b: Path) -> list[str]:
    """A note on results of different data: equal ids may be different samples."""
    from .results import earlier

    one, two = ((earlier(path) or {}).get("data") for path in (a, b))
    if one == two or None in (one, two):
        return []
    return [f"Check that these are the same samples: A was made from {one}, B from {two}."]


def _clusters(found: Moves, sample: int) -> tuple[str, str]:
    """The clusters of a sample in A and in B."""
    one, two = (found.clusters[side][found.places[side][sample]] for side in (0, 1))
    return one, two


def _as_csv(found: Moves) -> str:
    """The samples that moved, and those that are only in one run."""
    from ..core.tables import as_csv, harmless

    rows = [(found.ids[sample], *_clusters(found, sample), "moved") for sample in found.moved]
    rows += [(name, "", "", "only in A") for name in found.only[0]]
    rows += [(name, "", "", "only in B") for name in found.only[1]]
    header = ["id", "cluster_a", "cluster_b", "change"]
    return as_csv(header, ([harmless(cell) for cell in row] for row in rows))


def _facts(found: Moves) -> dict[str, Any]:
    rows, columns = found.clusters
    partners = [[rows[i], columns[j]] for i, j in enumerate(found.partner) if j is not None]
    moved = []
    for sample in found.moved:
        one, two = _clusters(found, sample)
        moved.append({"id": found.ids[sample], "a": one, "b": two})
    return {
        "n_samples": len(found.ids),
        "n_moved": len(moved),
        "share_moved": round(found.share, 6),
        "adjusted_rand": round(found.adjusted_rand, 6),
        "clusters_a": rows,
        "clusters_b": columns,
        "table": found.counts.tolist(),
        "partners": partners,
        "moved": moved,
        "only_a": found.only[0],
        "only_b": found.only[1],
    }


def _messages(found: Moves) -> list[str]:
    told = [
        f"{plural(len(ids), 'sample')} only in {run}: {listed(ids, _TOLD)}."
        for run, ids in zip("AB", found.only, strict=True)
        if ids
    ]
    if found.repeated:
        told.append(
            f"{plural(found.repeated, 'sample')} with an id that another sample has too: matched "
            "in the order of the rows."
        )
    return told


def _show(found: Moves) -> None:
    rows, columns = ([printable(name) for name in names] for names in found.clusters)
    if max(len(rows), len(columns)) <= _WIDE:
        counts = found.counts.tolist()
        show_table(["A \\ B", *columns], [[name, *counts[i]] for i, name in enumerate(rows)])
    lines = []
    for i, name in enumerate(rows):
        partner, counts = found.partner[i], found.counts[i]
        stayed = 0 if partner is None else int(counts[partner])
        others = sorted((j for j in counts.nonzero()[0] if j != partner), key=lambda j: -counts[j])
        where = ", ".join(f"{columns[j]} ({counts[j]})" for j in others[:_TOLD])
        more = f" and {len(others) - _TOLD} more" if len(others) > _TOLD else ""
        own = "none" if partner is None else columns[partner]
        lines.append([name, own, stayed, int(counts.sum()) - stayed, f"{where}{more}"])
    show_table(["A", "partner in B", "stayed", "moved", "to"], lines)
    if len(found.moved):
        ids = listed([found.ids[sample] for sample in found.moved], 2 * _TOLD)
        click.echo(printable(f"Moved: {ids}"))
