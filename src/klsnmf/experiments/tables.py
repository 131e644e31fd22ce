"""Tables in the layout of the paper, with its numbers beside ours: Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

from ..core.tables import as_csv as csv_of
from ..core.tables import head, line
from .protocol import Table
from .published import METRICS, OURS, RIVALS, TITLES, published, published_average, published_sizes
from .selection import Results, average, difference

#: The paper's columns in its order, then ours, then scikit-learn's.
PAPERS = (*RIVALS, OURS)
COLUMNS = (
    *PAPERS,
    *("KLS-NMF, no labels", "KLS-NMF, self-tuning", "KMeans", "SpectralClustering"),
)


@dataclass(frozen=True)
class Entry:
    """A number of a table: ours and the paper's with their deviations; whether ours is the best.

    The best of the paper's six methods is one, and so is the best of all columns.
    """

    mean: float | None
    deviation: float
    paper: float | None
    paper_deviation: float
    best: bool

    def text(self, bold: str, plus_minus: str) -> str:
        """Ours, and the paper's in brackets; ``bold`` is where the best is put."""
        ours = _with_deviation(self.mean, self.deviation, plus_minus)
        paper = _with_deviation(self.paper, self.paper_deviation, plus_minus)
        return f"{bold % ours if self.best else ours} {f'({paper})' if paper else ''}".strip()


def _with_deviation(mean: float | None, deviation: float, plus_minus: str) -> str:
    if mean is None:
        return ""
    return f"{mean:.2f}" if isnan(deviation) else f"{mean:.2f}{plus_minus}{deviation:.2f}"


def _columns(found: Results) -> list[str]:
    return [column for column in COLUMNS if column in found]


def lines(table: Table, found: Results, metric: str) -> list[tuple[str, list[Entry]]]:
    """A subtable: a line for each N, and the average over those that every column has.

    A line is its name (an N, or "Average") and its entries.
    """
    columns = _columns(found)
    listed = []
    for size in table.sizes:
        at_size = {column: found[column][size] for column in columns if size in found[column]}
        ours = {
            column: (one.mean(metric), one.deviation(metric)) for column, one in at_size.items()
        }
        printed = [published().get((table.name, size, column), {}) for column in columns]
        papers = [(one.get(metric), one.get(f"{metric}_std", nan)) for one in printed]
        listed.append((str(size), _entries(columns, ours, papers)))
    complete = [column for column in columns if len(found[column]) == len(table.sizes)]
    ours = {column: (average(found[column], metric), nan) for column in complete}
    papers = [(published_average(table.name, column, metric), nan) for column in columns]
    return [*listed, ("Average", _entries(columns, ours, papers))]


def _entries(
    columns: Sequence[str],
    ours: Mapping[str, tuple[float, float]],
    papers: Sequence[tuple[float | None, float]],
) -> list[Entry]:
    means = {column: round(mean, 2) for column, (mean, _) in ours.items()}
    best = max(means.values(), default=nan)
    best_of_six = max((means[column] for column in PAPERS if column in means), default=nan)
    entries = []
    for column, paper in zip(columns, papers, strict=True):
        is_best = means.get(column) in (best, best_of_six if column in PAPERS else best)
        mean, deviation = ours.get(column, (None, nan))
        entries.append(Entry(mean, deviation, *paper, is_best))
    return entries


def as_markdown(table: Table, found: Results) -> str:
    """The three subtables, and the differences between KLS-NMF and the others."""
    columns = _columns(found)
    brackets = ", and in brackets the number in the paper" if published_sizes(table.name) else ""
    text = [
        f"# {table.title}: {table.dataset}",
        "",
        f"Percent: mean ± standard deviation over {table.subsets} random subsets of N classes"
        f"{brackets}. The best of the paper's six methods is bold, and so is the best of all "
        "columns. For each N, the settings with the best mean accuracy are chosen with the labels. "
        '"KLS-NMF, no labels", KMeans and SpectralClustering see no label. An empty cell has not '
        "been run.",
    ]
    for metric in METRICS:
        text += ["", f"## {TITLES[metric]}", "", *head("N", *columns)]
        for name, entries in lines(table, found, metric):
            text.append(line(name, *(entry.text("**%s**", " ± ") for entry in entries)))
    return "\n".join([*text, "", *_differences(found, columns), ""])


def _differences(found: Results, columns: Sequence[str]) -> list[str]:
    """KLS-NMF, with the labels and without, minus every other column, paired over subsets."""
    pairs = [(one, m) for one in (OURS, "KLS-NMF, no labels") if found.get(one) for m in METRICS]
    text = [
        "## Differences, subset by subset",
        "",
        "In points, with the 95 % interval of the mean over all subsets that both columns have. "
        "Subsets share classes, so the intervals are somewhat too narrow.",
        "",
        *head("", *(f"{one}: {TITLES[metric]}" for one, metric in pairs)),
    ]
    for column in columns:
        cells = []
        for one, metric in pairs:
            gap = difference(found[one], found[column], metric) if column != one else None
            cells.append(f"{gap[0]:+.2f} ± {gap[1]:.2f}" if gap else "")
        text.append(line(f"minus {column}", *cells))
    return text


def as_csv(table: Table, found: Results) -> str:
    """A line for each number: set, score, N, column, ours, deviation, paper, chosen setting."""
    rows = []
    for metric in METRICS:
        for name, entries in lines(table, found, metric):
            for column, entry in zip(_columns(found), entries, strict=True):
                result = found[column].get(int(name)) if name != "Average" else None
                told = ", ".join(f"{k}={v}" for k, v in result.setting.items()) if result else ""
                numbers = entry.mean, entry.deviation, entry.paper, entry.paper_deviation
                plain = [f"{x:.2f}" if x is not None and not isnan(x) else "" for x in numbers]
                rows.append([table.name, metric, name, column, *plain, told])
    header = "set score N column ours deviation paper paper_deviation setting"
    return csv_of(header.split(), rows)


def as_latex(table: Table, found: Results) -> str:
    """The three subtables one below the other, for a document with the package booktabs."""
    columns = _columns(found)
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
            cells = [entry.text("\\textbf{%s}", "$\\pm$") for entry in entries]
            text.append(" & ".join([name, *cells]) + " \\\\")
    return "\n".join([*text, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])
