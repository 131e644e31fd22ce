"""The pictures of the page of benchmarks, from its rows."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator
from PIL import Image

from . import rows
from .cases import BARE, METHODS, MODELS, PRODUCTS, SAMPLES, TRANSCRIPTIONS
from .rows import Row

Measured = dict[str, list[Row]]

#: Exponents are fitted from here on: below, the time hardly depends on n.
LEAST = 10_000
LEAST_DENSE = 1000

#: Wide enough for a phone held upright, with large letters.
STYLE = {"font.size": 12, "lines.markersize": 5, "axes.grid": True, "grid.alpha": 0.3}
WIDTH, HEIGHT, DPI = 6.4, 4.4, 100


def with_exponent(label: str, sizes: Any, seconds: Any, least: float) -> str:
    slope = rows.exponent(sizes, seconds, least)
    return label if np.isnan(slope) else f"{label}: n^{slope:.2f}"


def curve(
    axis: Any, chosen: Iterable[Row], label: str, y: str = "seconds", least: float = 0, **style: Any
) -> None:
    """A line by n on two logarithmic axes; with ``least``, its exponent is told."""
    chosen = [row for row in chosen if row[y]]
    if not chosen:
        return
    sizes = [int(row["n"]) for row in chosen]
    measured = [rows.number(row, y) for row in chosen]
    if least:
        label = with_exponent(label, sizes, measured, least)
    axis.loglog(sizes, measured, marker="o", label=label, **style)


def compact(n: float) -> str:
    """1000 as 1k, a million as 1M: all sizes fit under an axis."""
    for unit, name in ((10**6, "M"), (10**3, "k")):
        if n >= unit:
            return f"{n / unit:g}{name}"
    return f"{n:g}"


def finish(axis: Any, x: str, y: str) -> None:
    """Names of the axes, a tick for each measured size, and the legend."""
    ticks = sorted({float(value) for line in axis.get_lines() for value in line.get_xdata()})
    axis.set_xticks(ticks, [compact(tick) for tick in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=9)


def panels(count: int) -> tuple[Any, Any]:
    return plt.subplots(count, 1, figsize=(WIDTH, HEIGHT * count), layout="constrained")


def draw_dense(measured: Measured) -> Any:
    found = measured["dense"]
    figure, (time, memory) = panels(2)
    for what in TRANSCRIPTIONS:
        for axis, y, least in ((time, "seconds", LEAST_DENSE), (memory, "peak_megabytes", 0)):
            curve(axis, rows.select(found, what=what), what, y, least)
    for fits in rows.values(found, "fits"):
        told = "one fit" if fits == "1" else f"{fits} fits in a batch"
        chosen = rows.select(found, what="paper", fits=fits)
        curve(time, chosen, told, least=LEAST_DENSE)
        curve(memory, chosen, told, "peak_megabytes")
        bare = rows.select(found, what=BARE, fits=fits)
        curve(time, bare, f"bare products, {told}", linestyle=":", color="grey")
    finish(time, "samples n", "seconds an iteration of one fit")
    finish(memory, "samples n", "peak memory, MB")
    return figure


def draw_tiled(measured: Measured) -> Any:
    figure, (time, memory) = panels(2)
    for what in ("iteration", "bare tiles"):
        curve(time, rows.select(measured["tiled"], what=what), what, least=LEAST_DENSE)
    iterations = rows.select(measured["tiled"], what="iteration")
    curve(memory, iterations, "tiled", "peak_megabytes")
    array = [{**row, "peak_megabytes": str(int(row["n"]) ** 2 * 4 / 1e6)} for row in iterations]
    curve(memory, array, "K as an array would take", "peak_megabytes", linestyle=":", color="grey")
    finish(time, "samples n", "seconds an iteration")
    finish(memory, "samples n", "peak memory, MB")
    return figure


def draw_sparse(measured: Measured) -> Any:
    figure, axis = panels(1)
    found = measured["sparse"]
    for what in PRODUCTS:
        curve(axis, rows.select(found, what=what), what, least=1)
    speed = max(gigabytes_per_second(rows.first(found, what=what)) for what in ("copy", "triad"))
    bound = [
        {**row, "seconds": str(rows.number(row, "gigabytes") / speed)}
        for row in rows.select(found, what="product")
    ]
    if speed > 0:
        told = "a product at the memory's bandwidth"
        curve(axis, bound, told, linestyle=":", color="grey")
    finish(axis, "samples n", "seconds")
    return figure


def gigabytes_per_second(row: Row | None) -> float:
    return rows.number(row, "gigabytes") / rows.number(row, "seconds")


def draw_methods(measured: Measured, data: str) -> Any:
    figure, axes = panels(3)
    found = rows.select(measured["fit"], data=data)
    for method in METHODS:
        chosen = rows.select(found, what=method)
        style = {"linewidth": 3} if method == "KLSNMF" else {}
        if method == SAMPLES:
            style = {"linestyle": ":", "color": "grey"}
        curve(axes[0], chosen, method, least=LEAST, **style)
        curve(axes[1], chosen, method, "peak_megabytes", **style)
        curve(axes[2], chosen, method, "nmi", **style)
    axes[2].set_yscale("linear")
    for axis, y in zip(axes, ("seconds", "peak memory, MB", "NMI, percent"), strict=True):
        finish(axis, "samples n", y)
    return figure


def parts_of_fit(chosen: Iterable[Row]) -> dict[str, list[float]]:
    """Seconds of KLSNMF's two parts: the search for neighbours, and all that follows."""
    graph = [rows.number(row, "graph_seconds") for row in chosen]
    whole = [rows.number(row, "seconds") for row in chosen]
    return {"graph": graph, "fit": [b - a for a, b in zip(graph, whole, strict=True)]}


def draw_growth(measured: Measured) -> Any:
    figure, axis = panels(1)
    for color, data in enumerate(("clusters", "curves")):
        chosen = rows.select(measured["fit"], data=data, what="KLSNMF")
        sizes = [int(row["n"]) for row in chosen]
        for (part, seconds), line in zip(parts_of_fit(chosen).items(), ("--", "-"), strict=True):
            label = with_exponent(f"{data}, {part}", sizes, seconds, LEAST)
            axis.loglog(sizes, seconds, line, marker="o", color=f"C{color}", label=label)
    finish(axis, "samples n", "seconds")
    return figure


def draw_threads(measured: Measured) -> Any:
    figure, axis = panels(1)
    found = measured["threads"]
    counts = [int(count) for count in rows.values(found, "threads")]
    axis.plot(counts, counts, ":", color="grey", label="as many times as threads")
    for name, chosen in threaded(found).items():
        by_count = {int(row["threads"]): rows.number(row, "seconds") for row in chosen}
        if 1 in by_count:
            times = [by_count[1] / by_count[count] for count in by_count]
            axis.plot(list(by_count), times, marker="o", label=name)
    finish(axis, "threads", "times as fast as one thread")
    return figure


def threaded(found: list[Row]) -> dict[str, list[Row]]:
    """What is measured by threads, each with its rows by threads."""
    shown = {
        "dense, 35 fits": {"what": "paper"},
        "tiled": {"what": "iteration", "data": "tiled"},
        "sparse": {"what": "iteration", "data": "sparse"},
        "memory's triad": {"what": "triad"},
        "whole fit": {"what": "KLSNMF"},
    }
    chosen = {name: rows.select(found, **wanted) for name, wanted in shown.items()}
    return {
        name: sorted(some, key=lambda row: int(row["threads"]))
        for name, some in chosen.items()
        if some
    }


def draw_width(measured: Measured) -> Any:
    figure, axis = panels(1)
    for what in (*MODELS, BARE):
        chosen = sorted(rows.select(measured["width"], what=what), key=lambda row: int(row["fits"]))
        widths = [int(row["fits"]) for row in chosen]
        style = {"linestyle": ":", "color": "grey"} if what == BARE else {}
        axis.loglog(
            widths,
            [1e3 * rows.number(row, "seconds") for row in chosen],
            marker="o",
            label=what,
            **style,
        )
    finish(axis, "fits in a batch", "ms an iteration of one fit")
    return figure


#: Name of the file -> the case whose rows it needs, and what draws it.
PICTURES: dict[str, tuple[str, Callable[[Measured], Any]]] = {
    "dense": ("dense", draw_dense),
    "tiled": ("tiled", draw_tiled),
    "sparse": ("sparse", draw_sparse),
    "clusters": ("fit", lambda measured: draw_methods(measured, "clusters")),
    "curves": ("fit", lambda measured: draw_methods(measured, "curves")),
    "growth": ("fit", draw_growth),
    "threads": ("threads", draw_threads),
    "width": ("width", draw_width),
}


def save(figure: Any, file: Path) -> None:
    """Lines and letters need few colours: a picture is a quarter as large with 64 of them."""
    stream = io.BytesIO()
    figure.savefig(stream, dpi=DPI)
    with Image.open(stream) as image:
        image.convert("RGB").quantize(64).save(file, optimize=True)


def draw(folder: Path, measured: Measured) -> list[str]:
    """Draw what there are rows for, and return the names."""
    drawn = []
    with plt.rc_context(STYLE):
        for name, (case, make) in PICTURES.items():
            some = measured[case]
            if name in ("clusters", "curves"):
                some = rows.select(some, data=name)
            if some:
                figure = make(measured)
                save(figure, folder / f"{name}.png")
                plt.close(figure)
                drawn.append(name)
    return drawn
