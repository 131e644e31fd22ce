"""
Gene counts: simulated cells of unequal types
=============================================

**These are simulated data.** Counts of 500 genes in 3000 cells of eight types, 900 cells of the
most common type and 50 of the rarest, are drawn from a negative binomial distribution. Each type
has 30 marker genes, which are 4 to 15 times as active as elsewhere, and cells differ in depth, the
total of their counts. The example shows that rare types are found, what ``sizes`` and the usual
logarithm have to do with it, and how prototypes find the markers.
"""

# %%
# The generator
# -------------
# A count is Poisson with a gamma distributed rate: mean μ and variance μ + μ²/2.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering

from klsnmf import KLSNMF
from klsnmf.metrics import accuracy

SIZES = [900, 700, 500, 350, 250, 150, 100, 50]
k, genes, cells, markers = len(SIZES), 500, sum(SIZES), 30


def simulate(seed):
    """Counts (cells, genes), the type of each cell, and the markers (k, markers) of each type."""
    rng = np.random.default_rng(seed)
    types = rng.permutation(np.repeat(np.arange(k), SIZES))
    activity = np.tile(rng.gamma(0.5, 1.0, genes), (k, 1))
    marked = np.array([rng.permutation(genes)[:markers] for _ in range(k)])
    for one, its in zip(activity, marked, strict=True):
        one[its] *= rng.uniform(4, 15, markers)
    depth = rng.lognormal(np.log(1000), 0.5, cells)
    mean = (activity / activity.sum(axis=1, keepdims=True))[types] * depth[:, None]
    return rng.poisson(rng.gamma(2.0, mean / 2.0)), types, marked


counts, types, marked = simulate(0)
print(f"{counts.shape}, {np.mean(counts == 0):.0%} zeros, counts up to {counts.max()}")

# %%
# Raw counts or logarithms?
# -------------------------
# log(1 + counts per 10,000) is the usual preparation. Two simulations for each method. KLSNMF finds
# the types either way. On raw counts they stand out less, and there clusters that tend to be of
# equal size, ``sizes="even"``, are wrong: the most common type is cut, and rare ones are joined.
#
# The markers of this simulation are strong. With markers that are two to six times as active no
# method finds all types.


def prepared(counts):
    return np.log1p(counts / counts.sum(axis=1, keepdims=True) * 10_000)


methods = {
    "KLSNMF": lambda: KLSNMF(k, random_state=0),
    'sizes="even"': lambda: KLSNMF(k, sizes="even", random_state=0),
    "KMeans": lambda: KMeans(k, n_init=10, random_state=0),
    "SpectralClustering": lambda: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=0
    ),
}
found = {name: {"raw counts": [], "logarithms": []} for name in methods}
for seed in range(2):
    drawn, truth, _ = simulate(seed)
    for name, make in methods.items():
        for kind, X in (("raw counts", drawn.astype(float)), ("logarithms", prepared(drawn))):
            found[name][kind].append(accuracy(truth, make().fit_predict(X)))

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for shift, kind, colour in ((-0.2, "raw counts", "0.75"), (0.2, "logarithms", "#8cb8e0")):
    values = np.array([found[name][kind] for name in methods])
    places = np.arange(len(methods)) + shift
    axis.bar(places, values.mean(axis=1), 0.36, color=colour, label=kind)
    axis.plot(np.repeat(places, 2), values.ravel(), "_", color="black", markersize=12)
    for place, mean in zip(places, values.mean(axis=1), strict=True):
        axis.text(place, 0.04, f"{mean:.2f}", ha="center", fontsize=9)
axis.set(xticks=range(len(methods)), xticklabels=methods, ylim=(0, 1.03), ylabel="accuracy")
axis.set_title("Two simulations (a dash each) and their mean", fontsize=11)
figure.legend(frameon=False, loc="outside lower center", ncols=2)
plt.show()

# %%
# Markers
# -------
# For each cluster, the genes whose prototype is furthest above the mean of all prototypes. How
# many of the 30 that come first are true markers of the type?

X = prepared(counts)
model = KLSNMF(k, random_state=0).fit(X)
excess = model.components_ - model.components_.mean(axis=0)
leading = np.argsort(-excess, axis=1)[:, :markers]
home = [np.bincount(types[model.labels_ == cluster]).argmax() for cluster in range(k)]
for cluster in range(k):
    hits = len(set(leading[cluster]) & set(marked[home[cluster]]))
    size = np.sum(model.labels_ == cluster)
    true = np.sum(types == home[cluster])
    print(f"cluster {cluster}: {size:3d} cells ({true:3d} of the type), {hits} of 30 are markers")

# %%
# Cells by cluster, the ten leading genes of each cluster side by side.

order = np.argsort(model.labels_, kind="stable")
columns = leading[:, :10].ravel()
shown = X[:, columns]
scaled = (shown - shown.mean(axis=0)) / shown.std(axis=0)
figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
picture = axis.imshow(
    scaled[order],
    aspect="auto",
    cmap="RdBu_r",
    vmin=-2.5,
    vmax=2.5,
    interpolation="none",
)
edges = np.cumsum(np.bincount(model.labels_))[:-1]
axis.hlines(edges, -0.5, len(columns) - 0.5, color="black", linewidth=0.6)
axis.set(
    xlabel="leading genes, ten of each cluster 0 to 7",
    ylabel="cells, by cluster",
    xticks=np.arange(k) * 10 + 4.5,
    xticklabels=range(k),
)
figure.colorbar(picture, label="standardised logarithm", shrink=0.7)
plt.show()
