"""Draw docs/picture.png, the picture of the README: ``python docs/picture.py``.

The bars show rows of docs/results/ablation_summary.csv. Their numbers are also written into the
file, as text, so that a test can tell whether the picture is older than the rows.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, PngImagePlugin
from sklearn.datasets import load_digits, make_moons

from klsnmf import KLSNMF

HERE = Path(__file__).parent
PICTURE = HERE / "picture.png"
NAMES = {
    "default": "KLSNMF",
    "SpectralClustering(nearest_neighbors)": "SpectralClustering",
    "KMeans(n_init=10)": "KMeans",
}


def draw_digits(axis: plt.Axes) -> None:
    X, _ = load_digits(return_X_y=True)
    model = KLSNMF(10, random_state=0).fit(X)
    rows = []
    for cluster in range(10):
        members = np.flatnonzero(model.labels_ == cluster)
        typical = members[np.argsort(-model.G_[members, cluster])][:12]
        tiles = np.vstack([model.components_[cluster], np.zeros(64), X[typical]])
        rows.append(np.hstack(list(np.pad(tiles.reshape(-1, 8, 8), [(0, 0), (1, 1), (1, 1)]))))
    axis.imshow(np.vstack(rows), cmap="gray_r", vmax=16)
    axis.set_xticks([4.5, 79.5], ["prototype", "most typical members"])
    axis.set_title("Ten clusters of digits")


def draw_moons(axis: plt.Axes) -> None:
    X, _ = make_moons(400, noise=0.06, random_state=0)
    model = KLSNMF(2, random_state=0).fit(X)
    xs, ys = np.meshgrid(np.linspace(-1.4, 2.4, 150), np.linspace(-1.3, 1.8, 120))
    regions = model.predict(np.column_stack([xs.ravel(), ys.ravel()])).reshape(xs.shape)
    axis.contourf(xs, ys, regions, levels=[-0.5, 0.5, 1.5], colors=["#cfe2f3", "#fde3c8"])
    axis.scatter(*X.T, c=np.array(["C0", "C1"])[model.labels_], s=6)
    axis.set_xticks([])
    axis.set_title("Two moons, and new points")


def accuracies() -> dict[str, float]:
    with (HERE / "results" / "ablation_summary.csv").open(encoding="utf-8", newline="") as file:
        means = {row[""]: float(row["mean"]) for row in csv.DictReader(file)}
    return {name: means[variant] for variant, name in NAMES.items()}


def draw_scores(axis: plt.Axes) -> None:
    found = accuracies()
    axis.barh(list(found), list(found.values()), color=["C0", "0.8", "0.8"], height=0.7)
    for place, (name, mean) in enumerate(found.items()):
        colour = "white" if name == "KLSNMF" else "black"
        axis.text(2, place, f"{name}  {mean:.1f} %", va="center", color=colour)
    axis.set(xlim=(0, 100), xticks=[])
    axis.invert_yaxis()
    axis.set_title("Accuracy, mean of seven sets of images")


def main() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
    for axis, draw in zip(axes, (draw_digits, draw_moons, draw_scores), strict=True):
        draw(axis)
        axis.set_yticks([])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    figure.savefig(PICTURE, dpi=110)
    numbers = PngImagePlugin.PngInfo()
    for name, mean in accuracies().items():
        numbers.add_text(name, str(mean))
    with Image.open(PICTURE) as image:
        small = image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
    small.save(PICTURE, optimize=True, pnginfo=numbers)


if __name__ == "__main__":
    main()
