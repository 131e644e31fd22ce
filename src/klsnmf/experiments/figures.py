"""The figures of the paper, and a few that it does not have, drawn from rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .behaviour import Point
from .protocol import GRIDS, S
from .published import METRICS, TITLES
from .rows import Row
from .selection import Result, by_lam, by_radius, settings
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


def draw_parameters(
    rows: Mapping[str, Sequence[Row]],
    chosen: Mapping[str, Mapping[int, Result]],
    path: Path,
) -> None:
    """Scores by λ, by λ/λ*, and by radius, at the smallest N of each set."""
    sets = [name for name, found in chosen.items() if found]
    figure, axes = _axes(3, len(sets), sharey="col")
    for column, name in zip(axes.T, sets, strict=True):
        size = min(chosen[name])
        curve = by_lam(rows[name], size, chosen[name][size].setting["radius"])
        for metric in METRICS:
            values = [means[metric] for *_, means in curve]
            # Purity often equals accuracy: dashes leave the other visible.
            look: dict[str, Any] = {
                "marker": "o",
                "ms": 3,
                "ls": ":" if metric == "purity" else "-",
            }
            column[0].plot([lam for lam, *_ in curve], values, label=TITLES[metric], **look)
            column[1].plot([share for _, share, _ in curve], values, **look)
            radii = by_radius(rows[name], size)
            column[2].plot([r for r, _ in radii], [m[metric] for _, m in radii], **look)
        column[0].set_title(f"{name}, N = {size}")
        for ax, title in zip(column, ("λ", "λ / λ*", "radius, at its best λ"), strict=True):
            ax.set_xscale("log")
            ax.set_xlabel(title)
            ax.grid(alpha=0.3)
    for line in axes:
        line[0].set_ylabel("%")
    axes[0, 0].legend(fontsize="small")
    figure.savefig(path, dpi=100)


def draw_graph_weights(rows: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Accuracy of GLS-NMF over λ × γ, a panel for each set."""
    sets = [name for name, found in rows.items() if found]
    figure, axes = _axes(1, len(sets))
    for ax, name in zip(axes[0], sets, strict=True):
        size = rows[name][0].N
        image = np.full((len(S), len(S)), np.nan)
        for text, scores in settings(rows[name], "GLS-NMF", size).items():
            setting = json.loads(text)
            place = S.index(setting["lam"]), S.index(setting["graph_weight"])
            image[place] = np.mean(list(scores["accuracy"].values()))
        shown = ax.imshow(image, origin="lower", cmap="viridis")
        ax.set_title(f"{name}, N = {size}")
        ax.set_xticks(range(len(S)), [f"{value:g}" for value in S], rotation=60, fontsize=7)
        ax.set_yticks(range(len(S)), [f"{value:g}" for value in S], fontsize=7)
        ax.set_xlabel("γ")
        figure.colorbar(shown, ax=ax, shrink=0.8)
    axes[0, 0].set_ylabel("λ")
    figure.savefig(path, dpi=100)


def draw_samples(data: Samples, name: str, folder: Path) -> Path:
    """Five images of each of ten classes, from the first to the last.

    Pictures of people go to a folder of their own.
    """
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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6 * sheet.shape[0] / sheet.shape[1]))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.imshow(sheet, cmap="gray", interpolation="nearest")
    ax.set_axis_off()
    figure.savefig(path, dpi=100)
    return path


def draw_all(
    folder: Path,
    rows: Mapping[str, Sequence[Row]],
    found: Mapping[str, Mapping[str, Mapping[int, Result]]],
    points: Sequence[Point],
) -> list[Path]:
    """Every figure that there are rows for."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    if points:
        drawn.append(folder / "convergence.png")
        draw_convergence(points, drawn[-1])
    chosen = {name: results.get("KLS-NMF", {}) for name, results in found.items()}
    if any(chosen.values()):
        drawn.append(folder / "parameters.png")
        draw_parameters(rows, chosen, drawn[-1])
    grids = {table.dataset: rows[name] for name, table in GRIDS.items() if rows.get(name)}
    if grids:
        drawn.append(folder / "graph_weights.png")
        draw_graph_weights(grids, drawn[-1])
    return drawn
