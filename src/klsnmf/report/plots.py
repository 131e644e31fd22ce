"""Plots of a fit with matplotlib: what the report shows, for notebooks and papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import to_host
from ..core.drawing import axes
from ..core.types import Matrix
from . import marks
from .run import Run
from .scatter import NUMBERED, densest, plane, sample

#: At most so many samples are on a map.
_POINTS = 1500

#: The shapes of marks, as matplotlib calls them.
_MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_map(estimator: Any, X: Matrix, ax: Any = None) -> Any:  # (n, p)
    run = Run("samples", estimator, X)
    which = sample(run, _POINTS)
    seen, labels = plane(run, which), run.labels[which]
    ax = axes(ax)
    for cluster in np.unique(labels):
        points = seen.positions[labels == cluster]
        ax.scatter(
            *points.T, s=14, color=_colour(cluster), marker=_MARKERS[marks.shape(cluster)], lw=0
        )
        if run.n_clusters <= NUMBERED:
            at = points[densest(points)]
            box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.6}
            beside = {
                "xytext": (10, 10),
                "textcoords": "offset points",
            }  # so that no point is hidden
            ax.annotate(str(cluster), at, **beside, weight="bold", bbox=box)
    drawn = f", {len(which)} of {len(run.labels)} samples" if len(which) < len(run.labels) else ""
    ax.set_title(f"{seen.kind}{drawn}")
    if not seen.features:  # only neighbours have a meaning, not the place of a point
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_aspect("equal", "datalim")
    return ax


def draw_sizes(estimator: Any, ax: Any = None) -> Any:
    labels = to_host(estimator.labels_)
    numbers, sizes = np.unique(labels, return_counts=True)
    ax = axes(ax)
    # Outliers, which have the label -1, come last.
    order = np.argsort(np.where(numbers < 0, labels.max() + 1, numbers))
    numbers, sizes = numbers[order], sizes[order]
    colours = ["0.7" if cluster < 0 else _colour(cluster) for cluster in numbers]
    ax.bar(np.arange(len(sizes)), sizes, color=colours)
    if len(sizes) <= NUMBERED:
        names = ["none" if cluster < 0 else str(cluster) for cluster in numbers]
        ax.set_xticks(np.arange(len(sizes)), names)
    ax.set_xlabel("cluster")
    ax.set_ylabel("samples")
    return ax


def draw_evidence(estimator: Any, ax: Any = None) -> Any:
    profile = getattr(estimator, "levels_", None)
    if profile is None:
        raise ValueError(
            f"{type(estimator).__name__} was given its number of clusters, so there is no evidence "
            'to draw. Fit KLSNMF with n_clusters="auto", or call '
            "klsnmf.levels(X).plot_evidence()."
        )
    ax = profile.plot_evidence(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_title(f"{estimator.n_clusters_} chosen; coloured: levels")
    return ax


def draw_history(estimator: Any, ax: Any = None) -> Any:
    history = getattr(estimator, "history_", {})
    objective = np.asarray(history.get("objective", ()), dtype=float)
    if not len(objective):
        raise ValueError(
            f"This {type(estimator).__name__} has no history to draw: it made no iteration. Fit it "
            "again."
        )
    ax = axes(ax)
    steps = np.arange(1, len(objective) + 1)
    ax.plot(steps, objective, color=marks.LIGHT[0], marker="." if len(steps) < 30 else "")
    phases = [str(phase) for phase in history.get("solver", ())]
    for step in np.flatnonzero(np.array(phases[1:]) != np.array(phases[:-1])):
        ax.axvline(step + 1.5, color="0.6", ls="--", lw=1)
        words = "another objective"
        ax.annotate(words, (step + 1.5, 1), (4, -4), xycoords=("data", "axes fraction"),
                    textcoords="offset points", va="top", color="0.4")  # fmt: skip
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective")
    return ax


def _colour(cluster: int) -> str:
    return marks.LIGHT[marks.colour(cluster)]
