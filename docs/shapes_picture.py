"""Draws shapes.png: shapes of the gallery, clustered by KLSNMF and by the tools of other projects.

Run ``python docs/shapes_picture.py`` in the repository. It needs the extra ``rivals``.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.rival_tools import TOOLS, require  # noqa: E402

COMPARED = ["KLSNMF", "Genie", "Leiden", "UMAP+KMeans", "SpectralClustering", "KMeans"]


def main() -> None:
    require(COMPARED)
    warnings.simplefilter("ignore")
    gallery = runpy.run_path(str(HERE.parent / "examples" / "gallery" / "plot_9_shapes.py"))
    plt.close("all")
    shapes = gallery["SHAPES"]
    figure, axes = plt.subplots(
        len(shapes), len(COMPARED), figsize=(9, 1.42 * len(shapes)), layout="constrained"
    )
    for row, (shape, draw) in zip(axes, shapes.items(), strict=True):
        X, y = draw(np.random.default_rng(0))
        found = {
            tool: np.asarray(TOOLS[tool].cluster(TOOLS[tool].prepare(X, 0), y.max() + 1, 0))
            for tool in COMPARED
        }
        scores = {tool: round(gallery["agreement"](y, found[tool]), 2) for tool in COMPARED}
        for axis, (tool, labels) in zip(row, found.items(), strict=True):
            axis.scatter(*X.T, c=gallery["colours"](y, labels), s=3, linewidths=0)
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_color("0.8")
            best = scores[tool] == max(scores.values())
            axis.set_xlabel(f"{scores[tool]:.2f}", fontsize=9, weight="bold" if best else "normal")
        row[0].set_ylabel(shape, fontsize=9)
    for axis, tool in zip(axes[0], COMPARED, strict=True):
        axis.set_title(tool.replace("SpectralC", "Spectral\nC"), fontsize=10)
    figure.savefig(HERE / "shapes.png", dpi=80)


if __name__ == "__main__":
    main()
