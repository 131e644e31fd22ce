"""
Shapes: beside scikit-learn's tools
===================================

Ten shapes in the plane, **all of them simulated**: curves, rings, clusters of very different size,
samples far from all others. Each tool has its usual settings and knows the number of clusters.
Only HDBSCAN finds the number itself. The last two shapes are here because KLSNMF fails on them.
"""

# %%
# The shapes
# ----------
# A shape returns samples and their true clusters, -1 for samples that belong to none.

import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture

from klsnmf import KLSNMF


def clusters(*sizes):
    """True clusters of these sizes."""
    return np.repeat(np.arange(len(sizes)), sizes)


def polar(radius, angle):
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def gaussians(y, centres, deviations, rng):
    return np.array(centres)[y] + np.array(deviations)[y] * rng.normal(size=(len(y), 2))


def moons(rng):
    y = clusters(250, 250)
    arcs = polar(np.ones(500), np.pi * (y + rng.uniform(size=500))) + np.outer(y, [1, 0.5])
    return arcs + 0.1 * rng.normal(size=(500, 2)), y


def nested_rings(rng):
    y = clusters(40, 800)
    radius = np.array([1, 8])[y] + 0.15 * rng.normal(size=len(y))
    return polar(radius, rng.uniform(0, 2 * np.pi, len(y))), y


def spirals(rng):
    y = clusters(250, 250, 250)
    way = np.sqrt(rng.uniform(0.03, 1, 750))
    arms = polar(10 * way, 2 * np.pi * (1.1 * way + y / 3))
    return arms + 0.22 * rng.normal(size=(750, 2)), y


def unequal_sizes(rng):
    y = clusters(600, 300, 150, 80, 40, 20)
    centres = [[0, 0], [7, 2], [2, 7], [-5, 5.5], [-5, -5], [4.5, -5.5]]
    return gaussians(y, centres, [[1.7], [0.8], [0.8], [0.6], [0.5], [0.4]], rng), y


def stretched(rng):
    y, turn = clusters(250, 250, 250), [[0.86, 0.5], [-0.5, 0.86]]
    return gaussians(y, [[-2.25, 0], [0, 0], [2.25, 0]], [[0.35, 2.5]] * 3, rng) @ turn, y


def lines_and_outliers(rng):
    y = clusters(150, 150, 150)
    way = rng.uniform(0, 10, len(y))
    X = np.column_stack([way, 2.5 * y + np.sin(way)]) + 0.1 * rng.normal(size=(len(y), 2))
    far = np.column_stack([rng.uniform(12, 24, 6), rng.uniform(-8, 14, 6)])
    return np.vstack([X, far]), np.append(y, np.full(6, -1))


def unequal_densities(rng):
    y = clusters(400, 400, 150)
    return gaussians(y, [[0, 0], [3, 0], [11, 3]], [[0.5], [0.5], [2.7]], rng), y


def touching(rng):
    y = clusters(200, 200, 200, 200)
    return gaussians(y, [[0, 0], [4, 0], [0, 4], [4, 4]], [[1]] * 4, rng), y


def crossing(rng):
    y = clusters(250, 250)
    return gaussians(y, [[0, 0], [0, 0]], [[4, 0.25], [0.25, 4]], rng), y


def small_on_the_edge(rng):
    y = clusters(300, 20)
    return gaussians(y, [[0, 0], [2.8, 0]], [[1], [1]], rng), y


SHAPES = {
    "two moons": moons,
    "rings of 40\nand 800": nested_rings,
    "spirals": spirals,
    "600 down to\n20 samples": unequal_sizes,
    "stretched": stretched,
    "lines and\n6 outliers": lines_and_outliers,
    "unequal\ndensities": unequal_densities,
    "touching": touching,
    "crossing": crossing,
    "300 and 20,\nno gap": small_on_the_edge,
}

# %%
# The tools
# ---------
# SpectralClustering warns where a graph is in pieces. Here the pieces are the clusters.

warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)

TOOLS = {
    "KLSNMF": lambda k: KLSNMF(k, random_state=0),
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
    "Spectral\nClustering": lambda k: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=0
    ),
    "Ward": lambda k: AgglomerativeClustering(k),
    "Gaussian\nMixture": lambda k: GaussianMixture(k, n_init=5, random_state=0),
    "HDBSCAN": lambda k: HDBSCAN(min_cluster_size=10, copy=True),
}


def agreement(y, labels):
    """Adjusted Rand index of the samples that are in a cluster; noise of HDBSCAN is one more."""
    return adjusted_rand_score(y[y >= 0], labels[y >= 0])


def answers(shape, seed):
    """The samples and their clusters, and the labels of each tool."""
    X, y = SHAPES[shape](np.random.default_rng(seed))
    return X, y, {tool: make(y.max() + 1).fit_predict(X) for tool, make in TOOLS.items()}


drawn = {shape: [answers(shape, seed) for seed in range(3)] for shape in SHAPES}

# %%
# One draw of each
# ----------------
# Clusters have the colours of the true clusters that they match best. A cluster that matches none
# is black, and noise is grey. In the corner stands the adjusted Rand index, which is 1 where all is
# right and about 0 for labels drawn at random; the best of a row is bold.

COLOURS = np.array(["#4477aa", "#ee7733", "#228833", "#ccbb44", "#aa3377", "#66ccee"])


def colours(y, labels):
    found, names = np.unique(labels[labels >= 0], return_inverse=True)
    table = contingency_matrix(y[(labels >= 0) & (y >= 0)], labels[(labels >= 0) & (y >= 0)])
    # Clusters that hold nothing but outliers are not in the table: they match nothing.
    known = np.isin(found, labels[y >= 0])
    matched = np.full(len(found), "#222222", dtype=object)
    rows, columns = linear_sum_assignment(table, maximize=True)
    true = np.unique(y[(labels >= 0) & (y >= 0)])
    matched[np.flatnonzero(known)[columns]] = COLOURS[true[rows]]
    painted = np.full(len(y), "#bbbbbb", dtype=object)
    painted[labels >= 0] = matched[names]
    return painted


figure, axes = plt.subplots(
    len(SHAPES), len(TOOLS), figsize=(9, 1.42 * len(SHAPES)), layout="constrained"
)
for row, (shape, draws) in zip(axes, drawn.items(), strict=True):
    X, y, found = draws[0]
    scores = {tool: round(agreement(y, labels), 2) for tool, labels in found.items()}
    for axis, (tool, labels) in zip(row, found.items(), strict=True):
        axis.scatter(*X.T, c=colours(y, labels), s=3, linewidths=0)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color("0.8")
        axis.text(
            *(0.97, 0.04, f"{scores[tool]:.2f}"),
            transform=axis.transAxes,
            ha="right",
            fontsize=9,
            weight="bold" if scores[tool] == max(scores.values()) else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
        )
    row[0].set_ylabel(shape, fontsize=9)
for axis, tool in zip(axes[0], TOOLS, strict=True):
    axis.set_title(tool, fontsize=10)
plt.show()

# %%
# More than one draw
# ------------------
# The mean over three draws of each shape. The picture shows the first, and some draws are kinder to
# a tool than others.

print(f"{'':22}" + "".join(f"{tool.split()[0]:>10}" for tool in TOOLS))
for shape, draws in drawn.items():
    means = [np.mean([agreement(y, found[tool]) for _, y, found in draws]) for tool in TOOLS]
    print(f"{' '.join(shape.split()):22}" + "".join(f"{mean:10.2f}" for mean in means))

# %%
# Where KLSNMF is not the best
# ----------------------------
# **600 down to 20 samples.** The edge of the largest cluster comes near the small ones here. Now
# and then the evidence for small clusters is not clear enough, and the largest is cut instead. If
# you know that sizes differ, say so: ``sizes="free"``.

by_sizes = {"auto": [], "free": []}
for X, y, _ in drawn["600 down to\n20 samples"]:
    for sizes, values in by_sizes.items():
        values.append(agreement(y, KLSNMF(6, sizes=sizes, random_state=0).fit_predict(X)))
for sizes, values in by_sizes.items():
    print(f"sizes={sizes!r}: " + ", ".join(f"{value:.2f}" for value in values))

# %%
# **Touching.** Every tool that knows the number of clusters cuts near the middle. The differences
# between them are accidents.
#
# **Crossing.** A graph of neighbours shows four arms that meet, and nothing in it says which arms
# belong together. A mixture of Gaussians is right, because straight clouds are what it assumes.
#
# **300 and 20, no gap.** On the side of the small cluster lie as many samples of the large one, so
# that no place between the two is empty. To halve the large cluster loses less than to cut off its
# edge. No tool is right here; the mixture comes nearest, because two round clouds are what it
# assumes.
#
# A fit says where it is not sure. On both of these shapes ``notes_`` tells that the border is weak.

for shape in ("crossing", "300 and 20,\nno gap"):
    X, _, _ = drawn[shape][0]
    model = KLSNMF(2, random_state=0).fit(X)
    said = " ".join(str(note) for note in model.notes_)
    print(textwrap.fill(f"{' '.join(shape.split())}: {said}", 90))

# %%
# Beside tools of other projects
# ------------------------------
# Genie, Leiden and UMAP are no part of scikit-learn, and are not run here. This picture has one
# draw of each shape; ``python docs/shapes_picture.py`` draws it.
#
# .. image:: ../shapes.png
#    :alt: Ten shapes, clustered by KLSNMF, Genie, Leiden, UMAP+KMeans, SpectralClustering, KMeans
#    :width: 100%
