"""The tables of ``benchmarks.speed``."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from .pictures import HEIGHT, STYLE, WIDTH, compact
from .rows import Row, exponent, select

#: Sizes in the picture: the largest.
SIZES_SHOWN = 5

STAGES = ("neighbours", "graphs", "eigenvectors", "answers", "steps")
RIVALS = ("SpectralClustering", "KMeans")


def page(rows: list[Row]) -> str:
    return "\n".join(
        [
            "# Where the time goes",
            "",
            "The seconds of the best of three fits (of one above 50,000 samples). Each tool has "
            "its better number of threads. The tools are measured in turns in one process. Seconds "
            "vary from hour to hour, so compare ratios. The rows are in `docs/results/speed.csv`. "
            "`python -m benchmarks.speed run` makes them, and `python -m benchmarks.speed tables` "
            "makes these tables.",
            *of_sets(select(rows, case="sets")),
            *of_stages(select(rows, case="stages")),
            *of_others(rows),
            *of_batch(select(rows, case="batch")),
            *of_mnist(select(rows, case="mnist")),
            "",
        ]
    )


def of_sets(rows: list[Row]) -> list[str]:
    lines = [
        "",
        "## The paper's sets",
        "",
        "| set | n × p | k | KLSNMF | SpectralClustering | KMeans(n_init=10) | times spectral "
        "| times KMeans |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["data"] for row in rows):
        of = {row["tool"]: row for row in rows if row["data"] == name}
        mine, (one, two) = of["KLSNMF"], (float(of[rival]["value"]) for rival in RIVALS)
        took = float(mine["value"])
        lines.append(
            f"| {name} | {mine['n']} × {mine['p']} | {mine['k']} | {took:.3f} | {one:.3f} "
            f"| {two:.3f} | {took / one:.1f} | {took / two:.1f} |"
        )
    return lines


def of_stages(rows: list[Row]) -> list[str]:
    names = (*STAGES, "rest", "all")
    lines = [
        "",
        "## Stages",
        "",
        "Twenty clusters that touch, with outliers, in 50 dimensions, single precision.",
        "",
        f"| n | {' | '.join(names)} | all / neighbours | MB | KMeans | Spectral |",
        "|" + "---|" * (len(names) + 5),
    ]
    sizes = sorted({int(row["n"]) for row in rows})
    for n in sizes:
        of = {(row["tool"], row["stage"]): float(row["value"]) for row in select(rows, n=n)}
        mine = [of["KLSNMF", name] for name in names]
        told = " | ".join(f"{took:.3g}" for took in mine)
        rivals = [
            f"{of[tool, 'all']:.3g}" if (tool, "all") in of else ""
            for tool in ("KMeans", "Spectral")
        ]
        lines.append(
            f"| {n:,} | {told} | {mine[-1] / mine[0]:.1f} | {of['KLSNMF', 'MB']:.0f} "
            f"| {rivals[0]} | {rivals[1]} |"
        )
    took = {n: _stages_of(rows, n)["all"] for n in sizes}
    steps = [
        (took[more] / took[n]) ** (np.log(3) / np.log(more / n)) for n, more in pairwise(sizes)
    ]
    grows = exponent(sizes, [took[n] for n in sizes])
    told = (
        f"The time grows as n to the power of {grows:.2f}. The largest step for three times as "
        f"many samples is {max(steps, default=np.nan):.1f}."
    )
    return [*lines, "", told]


def _stages_of(rows: list[Row], n: int) -> dict[str, float]:
    chosen = select(rows, n=n, tool="KLSNMF")
    return {row["stage"]: float(row["value"]) for row in chosen}


def draw(rows: list[Row], file: Path) -> None:
    """Where the time goes: a bar for each of five sizes, cut by stage."""
    made = select(rows, case="stages")
    sizes = sorted({int(row["n"]) for row in made})[-SIZES_SHOWN:]
    with plt.rc_context(STYLE | {"svg.fonttype": "none", "svg.hashsalt": "klsnmf"}):
        figure, axis = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        below = np.zeros(len(sizes))
        for name in (*STAGES, "rest"):
            of = [_stages_of(made, n) for n in sizes]
            shares = np.array([100 * each[name] / each["all"] for each in of])
            axis.bar(range(len(sizes)), shares, bottom=below, label=name)
            below += shares
        axis.set_xticks(
            range(len(sizes)),
            [f"{compact(n)}\n{_stages_of(made, n)['all']:.2g} s" for n in sizes],
        )
        axis.set_xlabel("samples, and seconds of the fit")
        axis.set_ylabel("share of the time, %")
        figure.legend(loc="outside upper center", ncols=3, fontsize=9)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def of_others(rows: list[Row]) -> list[str]:
    lines = ["", "## New samples, and a busy machine", ""]
    for row in select(rows, case="predict"):
        lines.append(
            f"- `predict` for a fit of {row['n']} × {row['p']}: {float(row['value']):,.0f} samples "
            f"per second, {row['threads']} threads."
        )
    busy = select(rows, case="busy")
    for n in sorted({int(row["n"]) for row in busy}):
        took = {row["stage"]: float(row["value"]) for row in select(busy, n=n)}
        lines.append(
            f"- {n:,} samples: {took['alone']:.3g} s alone, and {took['beside']:.3g} s while "
            f"another process keeps one core busy, {took['beside'] / took['alone']:.1f} times as "
            "long."
        )
    return lines


def of_batch(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    first = rows[0]
    lines = [
        "",
        "## A batch over one dense K",
        "",
        f"35 fits of {first['n']} samples, k = {first['k']}, single precision, {first['threads']} "
        "threads: milliseconds of an iteration of one fit, and of its share of the two bare "
        "products at their best in the same run.",
        "",
        "| solver | a fit-iteration | bare products | times |",
        "|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["data"] for row in rows):
        took = {row["tool"]: float(row["value"]) for row in select(rows, data=name)}
        mine, bare = took["KLSNMF"], took["products"]
        lines.append(f"| {name} | {mine:.3f} | {bare:.3f} | {mine / bare:.2f} |")
    return lines


def of_mnist(rows: list[Row]) -> list[str]:
    lines = ["", "## MNIST"] if rows else []
    for tool in dict.fromkeys(row["tool"] for row in rows):
        of = {row["stage"]: float(row["value"]) for row in select(rows, tool=tool)}
        code = "the earlier code" if tool == "before" else "this code"
        told = (
            f"- {rows[0]['n']} × {rows[0]['p']} by {code}: {of['all']:.0f} s, accuracy "
            f"{of['accuracy']:.1f}, NMI {of['nmi']:.1f}"
        )
        if "samples a second" in of:
            told += (
                f", of these {of['neighbours']:.0f} s for neighbours; `predict`: "
                f"{of['samples a second']:,.0f} samples per second"
            )
        lines += ["", told + "."]
    return lines
