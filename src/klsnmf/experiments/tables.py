"""Tables in the layout of the paper, with its numbers beside ours: Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

from ..core.tables import as_csv as csv_of
from ..core.tables import head, line
from .protocol import Table
from .published import METRICS, TITLES, published, published_average, published_deviations
from .selection import Result, average, difference

#: The paper's columns in its order, then ours, then scikit-learn's.
PAPERS = ("WNMF", "RMNMF", "CNMF", "KNMF", "ONMF", "KLS-NMF")
COLUMNS = (
    *PAPERS,
    *("KLS-NMF, no labels", "KLS-NMF, self-tuning", "KMeans", "SpectralClustering"),
)

Results = Mapping[str, Mapping[int, Result]]


@dataclass(frozen=True)
class Entry:
    """A number of a table: ours and the paper's with their deviations; whether ours is the best.

    The best of the paper's six methods is one, and so is the best of all columns.
    """

    mean: float | None
    deviation: float = float("nan")
    paper: float | None = None
    paper_deviation: float = float("nan")
    best: bool = False


#: The name of a line (an N, or "Average") and its entries.
Line = tuple[str, list[Entry]]


def lines(table: Table, found: Results, metric: str) -> list[Line]:
    """A subtable: a line for each N, and the average over those that every column has."""
    columns = [column for column in COLUMNS if column in found]
    listed: list[Line] = []
    for size in table.sizes:
        entries = []
        for column in columns:
            result = found[column].get(size)
            key = table.name, size, column
            paper = (
                published().get(key, {}).get(metric),
                published_deviations().get(key, {}).get(metric, float("nan")),
            )
            if result is None:
                entries.append(Entry(None, float("nan"), *paper))
            else:
                entries.append(Entry(result.mean(metric), result.deviation(metric), *paper))
        listed.append((str(size), _with_best(columns, entries)))
    complete = [column for column in columns if len(found[column]) == len(table.sizes)]
    averages = [
        Entry(
            average(found[column], metric) if column in complete else None,
            paper=published_average(table.name, column, metric),
        )
        for column in columns
    ]
    return [*listed, ("Average", _with_best(columns, averages))]


def _with_best(columns: Sequence[str], entries: Sequence[Entry]) -> list[Entry]:
    means = {
        column: round(entry.mean, 2)
        for column, entry in zip(columns, entries, strict=True)
        if entry.mean is not None
    }
    best = max(means.values(), default=None)
    best_of_six = max((means[column] for column in PAPERS if column in means), default=None)
    return [
        replace(
            entry,
            best=column in means
            and (means[column] == best or (column in PAPERS and means[column] == best_of_six)),
        )
        for column, entry in zip(columns, entries, strict=True)
    ]


def as_markdown(table: Table, found: Results) -> str:
    """The three subtables, and the differences between KLS-NMF and the others."""
    columns = [column for column in COLUMNS if column in found]
    text = [f"# {table.title}: {table.dataset}", ""]
    in_paper = any(name == table.name for name, *_ in published())
    text += [
        f"Percent: mean ± standard deviation over {table.subsets} random subsets of N classes"
        + (", and in brackets the number in the paper" if in_paper else "")
        + ". The best of the paper's six methods is bold, and the best of all columns. Settings "
        "are chosen with the labels, "
        'for each N the best mean accuracy, but for "KLS-NMF, no labels", KMeans and '
        "SpectralClustering, which see no label. An empty cell has not been run.",
    ]
    for metric in METRICS:
        text += ["", f"## {TITLES[metric]}", "", *head("N", *columns)]
        for name, entries in lines(table, found, metric):
            text.append(line(name, *map(_markdown_entry, entries)))
    return "\n".join([*text, "", *_differences(found, columns), ""])


def _markdown_entry(entry: Entry) -> str:
    ours = _number(entry)
    ours = f"**{ours}**" if entry.best else ours
    return f"{ours} {_in_brackets(entry)}".strip()


def _in_brackets(entry: Entry, plus_minus: str = " ± ") -> str:
    if entry.paper is None:
        return ""
    return f"({_with_deviation(entry.paper, entry.paper_deviation, plus_minus)})"


def _number(entry: Entry, plus_minus: str = " ± ") -> str:
    if entry.mean is None:
        return ""
    return _with_deviation(entry.mean, entry.deviation, plus_minus)


def _with_deviation(mean: float, deviation: float, plus_minus: str) -> str:
    return f"{mean:.2f}" if isnan(deviation) else f"{mean:.2f}{plus_minus}{deviation:.2f}"


def _differences(found: Results, columns: Sequence[str]) -> list[str]:
    """KLS-NMF, with the labels and without, minus every other column, paired over subsets."""
    ours = [column for column in ("KLS-NMF", "KLS-NMF, no labels") if found.get(column)]
    text = [
        "## Differences, subset by subset",
        "",
        "In points, with the 95 % interval of the mean over all subsets of all N that both have. "
        "Subsets share classes, so the intervals are somewhat too narrow.",
        "",
        *head("", *(f"{one}: {TITLES[m]}" for one in ours for m in METRICS)),
    ]
    for column in columns:
        cells = []
        for one in ours:
            for metric in METRICS:
                gap = difference(found[one], found[column], metric) if column != one else None
                cells.append(f"{gap[0]:+.2f} ± {gap[1]:.2f}" if gap else "")
        text.append(line(f"minus {column}", *cells))
    return text


def as_csv(table: Table, found: Results) -> str:
    """A line for each number: set, score, N, column, ours, deviation, paper, chosen setting."""
    columns = [column for column in COLUMNS if column in found]
    rows = []
    for metric in METRICS:
        for name, entries in lines(table, found, metric):
            for column, entry in zip(columns, entries, strict=True):
                result = found[column].get(int(name)) if name != "Average" else None
                told = ", ".join(f"{k}={v}" for k, v in result.setting.items()) if result else ""
                numbers = entry.mean, entry.deviation, entry.paper, entry.paper_deviation
                rows.append([table.name, metric, name, column, *map(_plain, numbers), told])
    header = ["set", "score", "N", "column", "ours", "deviation", "paper", "paper_deviation"]
    return csv_of([*header, "setting"], rows)


def _plain(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.2f}"


def as_latex(table: Table, found: Results) -> str:
    """The three subtables one below the other, for a document with the package booktabs."""
    columns = [column for column in COLUMNS if column in found]
    text = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        f"\\caption{{Clustering of {table.dataset}: ours, and in brackets the paper's.}}",
        f"\\begin{{tabular}}{{r{'l' * len(columns)}}}",
    ]
    for metric in METRICS:
        text += ["\\toprule", f"\\multicolumn{{{len(columns) + 1}}}{{c}}{{{TITLES[metric]}}} \\\\"]
        text += ["\\midrule", " & ".join(["$N$", *columns]) + " \\\\", "\\midrule"]
        for name, entries in lines(table, found, metric):
            if name == "Average":
                text.append("\\midrule")
            text.append(" & ".join([name, *map(_latex_entry, entries)]) + " \\\\")
    return "\n".join([*text, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])


def _latex_entry(entry: Entry) -> str:
    ours, paper = _number(entry, "$\\pm$"), _in_brackets(entry, "$\\pm$")
    ours = f"\\textbf{{{ours}}}" if entry.best else ours
    return f"{ours} {paper}".strip()
