"""Cluster scikit-learn's handwritten digits, compare, and draw the clusters.

Run it with ``make demo``. It prints a table and writes digits.png into the current folder.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from klsnmf import KLSNMF
from klsnmf.metrics import scores
from klsnmf.solve.loop import Progress

PICTURE = Path("digits.png")
MEMBERS = 20


def show(progress: Progress) -> None:
    """One line that is written over; plain lines now and then if that is impossible."""
    if not sys.stdout.isatty():
        if progress.iteration % 50 == 0:
            print(f"  {progress.phase} steps: iteration {progress.iteration}", flush=True)
    else:
        done = progress.iteration / progress.max_iter
        bar = "█" * int(30 * done)
        print(
            f"\r  {progress.phase:>5} steps {bar:<30} iteration {progress.iteration:4d}, "
            f"{progress.running} of {progress.fits} starts running, "
            f"objective {progress.objective:9.3f} ",
            end="",
            flush=True,
        )


def gallery(prototype: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The prototype, twice as large, and beside it the members in two rows."""
    large = np.kron(prototype.reshape(8, 8), np.ones((2, 2)))
    tiles = np.pad(members.reshape(-1, 8, 8), [(0, 0), (0, 1), (1, 0)], constant_values=np.nan)
    rows = np.vstack([np.hstack(list(half)) for half in np.array_split(tiles, 2)])
    return np.hstack([np.pad(large, [(0, 2), (0, 2)], constant_values=np.nan), rows])


def draw(model: KLSNMF, X: np.ndarray) -> None:
    """Each cluster as a gallery of its most typical members; the objective by iteration."""
    figure = plt.figure(figsize=(11, 9), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[2.4, 1])
    axes = top.subplots(5, 2).T.ravel()
    for cluster, axis in enumerate(axes):
        members = np.flatnonzero(model.labels_ == cluster)
        typical = members[np.argsort(-model.G_[members, cluster])][:MEMBERS]
        axis.imshow(gallery(model.components_[cluster], X[typical]), cmap="gray_r", vmin=0, vmax=16)
        axis.set_title(f"cluster {cluster}, {len(members)} digits", fontsize=9, loc="left", pad=3)
        axis.set_axis_off()
    top.suptitle("Prototype (large) and most typical members of each cluster", fontsize=11)

    axis = bottom.subplots()
    phases, objective = model.history_["solver"], model.history_["objective"]
    iterations = np.arange(1, len(phases) + 1)
    for phase in dict.fromkeys(phases):
        here = phases == phase
        name = {"exact": "exact steps, λ = 0", "local": "exact steps with the local term"}[phase]
        axis.plot(iterations[here], objective[here], linewidth=2, label=name)
    axis.set(xlabel="iteration", ylabel="objective")
    axis.set_title("Objective of the best start; the local term is the step up", fontsize=11)
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=130)


def main() -> None:
    X, y = load_digits(return_X_y=True)
    k = len(np.unique(y))
    print(f"{len(X)} images of handwritten digits, {k} clusters, no labels used\n")
    methods = {
        "KLSNMF": KLSNMF(k, random_state=0, callback=show),
        "KMeans": KMeans(k, n_init=10, random_state=0),
        "SpectralClustering": SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    }
    rows = []
    for name, model in methods.items():
        start = time.perf_counter()
        labels = model.fit_predict(X)
        rows.append((name, scores(y, labels), time.perf_counter() - start))
    if sys.stdout.isatty():
        print("\r" + " " * 100 + "\r", end="")
    print(f"{'':20}{'accuracy':>10}{'NMI':>8}{'purity':>8}{'seconds':>9}")
    for name, score, seconds in rows:
        numbers = "".join(f"{100 * score[key]:8.1f}" for key in ("nmi", "purity"))
        print(f"{name:20}{100 * score['accuracy']:10.1f}{numbers}{seconds:9.1f}")
    draw(methods["KLSNMF"], X)
    print(f"\nThe clusters as pictures: {PICTURE}")


if __name__ == "__main__":
    main()
