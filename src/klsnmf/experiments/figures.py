"""The figures of the paper, and a few that it does not have, drawn from rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .convergence import Point
from .protocol import GRIDS, S
from .published import METRICS, OURS, TITLES
from .selection import Found, Result, Rows, by_lam, by_radius, settings
from .subsets import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Sets whose images may be shown to anyone. The others are pictures of people.
PUBLIC = ("digits", "semeion", "alphadigit")


def _axes(rows: int, columns: int, **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * columns, 2.6 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def draw_convergence(points: Sequence[Point], path: Path) -> None:
    """Changes of W and G and the objective by iteration; a line for each of ten subsets."""
    sets = list(dict.fromkeys(point.set for point in points))
    curves: dict[tuple[str, int], list[Point]] = defaultdict(list)
    for point in points:
        if point.solver == "paper":
            curves[point.set, point.subset].append(point)
    kinds = {"change_W": "‖W_t − W_t+1‖", "change_G": "‖G_t − G_t+1‖", "objective": "objective"}
    figure, axes = _axes(len(kinds), len(sets), sharex=True)
    for (name, _), curve in curves.items():
        for ax, kind in zip(axes[:, sets.index(name)], kinds, strict=True):
            ax.plot([p.iteration for p in curve], [getattr(p, kind) for p in curve], lw=0.8)
    for ax, name in zip(axes[0], sets, strict=True):
        ax.set_title(name)
    for line, (kind, title) in zip(axes, kinds.items(), strict=True):
        line[0].set_ylabel(title)
        for ax in line:
            ax.set_xscale("log")
            ax.grid(alpha=0.3)
            if kind != "objective":
                ax.set_yscale("log")
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    figure.savefig(path, dpi=100)


def draw_parameters(rows: Rows, chosen: Mapping[str, Mapping[int, Result]], path: Path) -> None:
    """Scores by λ, by λ/λ*, and by radius, at the smallest N of each set."""
    figure, axes = _axes(3, len(chosen), sharey="col")
    for column, name in zip(axes.T, chosen, strict=True):
        size = min(chosen[name])
        curve = by_lam(rows[name], size, chosen[name][size].setting["radius"])
        lams, shares, reached = zip(*curve, strict=True)
        radii, best = zip(*by_radius(rows[name], size), strict=True)
        for ax, x, found in zip(
            column, (lams, shares, radii), (reached, reached, best), strict=True
        ):
            for metric in METRICS:
                # Purity often equals accuracy: dashes leave the other visible.
                look = ":o" if metric == "purity" else "-o"
                ax.plot(x, [one.mean(metric) for one in found], look, ms=3, label=TITLES[metric])
        column[0].set_title(f"{name}, N = {size}")
        for ax, title in zip(column, ("λ", "λ / λ*", "radius, at its best λ"), strict=True):
            ax.set_xscale("log")
            ax.set_xlabel(title)
            ax.grid(alpha=0.3)
    for line in axes:
        line[0].set_ylabel("%")
    axes[0, 0].legend(fontsize="small")
    figure.savefig(path, dpi=100)


def draw_graph_weights(rows: Rows, path: Path) -> None:
    """Accuracy of GLS-NMF over λ × γ, a panel for each set."""
    figure, axes = _axes(1, len(rows))
    for ax, name in zip(axes[0], rows, strict=True):
        size = rows[name][0].N
        image = np.full((len(S), len(S)), np.nan)
        for one in settings(rows[name], "GLS-NMF", size):
            place = S.index(one.setting["lam"]), S.index(one.setting["graph_weight"])
            image[place] = one.mean("accuracy")
        shown = ax.imshow(image, origin="lower", cmap="viridis")
        ax.set_title(f"{name}, N = {size}")
        values = [f"{value:g}" for value in S]
        ax.set_xticks(range(len(S)), values, rotation=60, fontsize=7)
        ax.set_yticks(range(len(S)), values, fontsize=7)
        ax.set_xlabel("γ")
        figure.colorbar(shown, ax=ax, shrink=0.8)
    axes[0, 0].set_ylabel("λ")
    figure.savefig(path, dpi=100)


def draw_samples(data: Samples, name: str, folder: Path) -> Path:
    """Five images of each of ten classes; pictures of people go to a folder of their own."""
    from matplotlib.figure import Figure

    if name not in PUBLIC:
        folder = folder / "people"
        folder.mkdir(parents=True, exist_ok=True)
        # So that they are not published by accident.
        (folder / ".gitignore").write_text("*\n")
    path = folder / f"samples-{name}.png"
    classes = np.unique(data.y)
    shown = classes[np.linspace(0, len(classes) - 1, min(10, len(classes))).round().astype(int)]
    height, width = data.image_shape
    gap = max(1, width // 20)
    cells = np.full((5, height + gap, len(shown), width + gap), np.nan, np.float32)
    for column, one in enumerate(shown):
        images = data.X[data.y == one][:5]
        cells[: len(images), :height, column, :width] = images.reshape(-1, height, width)
    sheet = cells.reshape(5 * (height + gap), -1)[:-gap, :-gap]
    figure = Figure(figsize=(6, 6 * sheet.shape[0] / sheet.shape[1]))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.imshow(sheet, cmap="gray", interpolation="nearest")
    ax.set_axis_off()
    figure.savefig(path, dpi=100)
    return path


def draw_all(folder: Path, rows: Rows, found: Found, points: Sequence[Point]) -> list[Path]:
    """Every figure that there are rows for."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("convergence.png", "parameters.png", "graph_weights.png")
    convergence, parameters, weights = (folder / name for name in names)
    if points:
        draw_convergence(points, convergence)
    if chosen := {name: results[OURS] for name, results in found.items() if results.get(OURS)}:
        draw_parameters(rows, chosen, parameters)
    if grids := {one.dataset: rows[name] for name, one in GRIDS.items() if rows.get(name)}:
        draw_graph_weights(grids, weights)
    drawn = {convergence: points, parameters: chosen, weights: grids}
    return [path for path, shown in drawn.items() if shown]
