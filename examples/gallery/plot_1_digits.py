"""
Images: handwritten digits
==========================

1797 images of 8 × 8 pixels that come with scikit-learn. This example shows what the defaults do
with images, how to look at the clusters, and how the result compares with k-means and spectral
clustering over five seeds.
"""

# %%
# Fit
# ---
# Rows of X are images. Nothing is set but the number of clusters.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from klsnmf import KLSNMF
from klsnmf.metrics import accuracy, scores

X, y = load_digits(return_X_y=True)
model = KLSNMF(n_clusters=10, random_state=0).fit(X)

print(model.verdict_)
print({name: round(value, 3) for name, value in scores(y, model.labels_).items()})

# %%
# Look
# ----
# ``components_`` are the prototypes: means of the samples with the weights in ``W_``. A sample's
# entry in ``G_`` says how well its prototype explains it, so the largest belong to typical members
# and the smallest to doubtful ones.


def strip(cluster):
    """The prototype, ten typical and ten doubtful members, side by side."""
    members = np.flatnonzero(model.labels_ == cluster)
    order = members[np.argsort(-model.G_[members, cluster])]
    gap = np.zeros((1, 64))
    rows = [model.components_[[cluster]], gap, X[order[:10]], gap, X[order[-10:]]]
    return np.hstack(list(np.pad(np.vstack(rows).reshape(-1, 8, 8), [(0, 0), (1, 1), (1, 1)])))


figure, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
axis.imshow(np.vstack([strip(cluster) for cluster in range(10)]), cmap="gray_r", vmax=16)
axis.set_yticks(np.arange(10) * 10 + 4.5)
axis.set_yticklabels([f"{count} images" for count in np.bincount(model.labels_)])
axis.set_xticks([4.5, 69.5, 179.5], ["prototype", "most typical", "most doubtful"])
axis.tick_params(length=0)
axis.spines[:].set_visible(False)
plt.show()

# %%
# Which digits are taken for each other? The cluster of the 1s is the one with strangers in it.

used = np.unique(model.labels_)
table = np.array(
    [[np.sum((y == digit) & (model.labels_ == c)) for c in used] for digit in range(10)]
)
table = table[:, np.argsort(table.argmax(axis=0), kind="stable")]
figure, axis = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
axis.imshow(np.sqrt(table), cmap="Blues")
for (row, column), count in np.ndenumerate(table):
    if count:
        colour = "white" if count > 60 else "black"
        axis.text(column, row, count, ha="center", va="center", color=colour, fontsize=8)
axis.set(xlabel="cluster", ylabel="digit", yticks=range(10), xticks=[])
axis.set_title("Digits by cluster", fontsize=11)
plt.show()

# %%
# Compare
# -------
# Five seeds for each. k-means and spectral clustering get the same images, in scikit-learn's
# words: ten starts for one, the graph of nearest neighbours for the other.

methods = {
    "KLSNMF": lambda seed: KLSNMF(10, random_state=seed),
    "KMeans(n_init=10)": lambda seed: KMeans(10, n_init=10, random_state=seed),
    "SpectralClustering": lambda seed: SpectralClustering(
        10, affinity="nearest_neighbors", random_state=seed
    ),
}
found = {
    name: [accuracy(y, make(seed).fit_predict(X)) for seed in range(5)]
    for name, make in methods.items()
}
figure, axis = plt.subplots(figsize=(6.5, 2.2), layout="constrained")
for place, (name, values) in enumerate(found.items()):
    axis.barh(place, np.mean(values), color="C0" if name == "KLSNMF" else "0.75", height=0.6)
    axis.plot(values, np.full(5, place), "|", color="black", markersize=14)
    axis.text(0.02, place, f"{np.mean(values):.1%}", va="center", color="black")
axis.set(yticks=range(3), yticklabels=found, xlim=(0, 1), xlabel="accuracy (a tick for each seed)")
axis.invert_yaxis()
plt.show()
