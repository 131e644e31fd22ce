"""
Several kernels
===============

Give a list of kernels, and their weights are learned together with the clusters. Here samples have
four views: the upper and the lower half of a handwritten digit, and two sets of columns that are
pure noise. The example shows that kernels of noise get no weight. It does not show the highest
accuracy: the learned weights favour one half too much.
"""

# %%
# Four views
# ----------
# A kernel is a function of two arrays of samples; each of ours looks at columns of its own.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from klsnmf import KLSNMF
from klsnmf.metrics import accuracy

digits, y = load_digits(return_X_y=True)
digits, y = digits[:600], y[:600]
rng = np.random.default_rng(0)
X = np.hstack([digits, rng.uniform(0, 16, (len(digits), 32))])
views = {
    "upper half": slice(0, 32),
    "lower half": slice(32, 64),
    "noise": slice(64, 80),
    "more noise": slice(80, 96),
}


def kernel_of(columns):
    """A Gaussian kernel on some columns, as wide as the seventh neighbour is away."""
    part = X[:, columns]
    distances, _ = NearestNeighbors(n_neighbors=8).fit(part).kneighbors(part)
    gamma = 0.5 / np.median(distances[:, 7]) ** 2
    return lambda A, B: rbf_kernel(A[:, columns], B[:, columns], gamma=gamma)


kernels = {name: kernel_of(columns) for name, columns in views.items()}

# %%
# Weights
# -------
# ``row_norm=None``: the four parts are not one picture whose brightness could be scaled.

options = {"row_norm": None, "tol": 1e-3, "random_state": 0}
together = KLSNMF(10, kernel=list(kernels.values()), **options).fit(X)
for name, weight in zip(kernels, together.kernel_weights_, strict=True):
    print(f"{name:11} {weight:.2f}")

# %%
# Compare
# -------
# Each kernel on its own, their plain average, the learned sum, and the tools that know nothing of
# views.

found = {
    f"{name} alone": accuracy(y, KLSNMF(10, kernel=kernel, **options).fit_predict(X))
    for name, kernel in kernels.items()
}
average = sum(kernel(X, X) for kernel in kernels.values()) / len(kernels)
plain = KLSNMF(10, kernel="precomputed", random_state=0).fit_predict(average)
found["plain average"] = accuracy(y, plain)
found["learned weights"] = accuracy(y, together.labels_)
found["KMeans, all columns"] = accuracy(y, KMeans(10, n_init=10, random_state=0).fit_predict(X))
found["KLSNMF, all columns"] = accuracy(y, KLSNMF(10, random_state=0).fit_predict(X))
spectral = SpectralClustering(10, affinity="nearest_neighbors", random_state=0)
found["SpectralClustering, all columns"] = accuracy(y, spectral.fit_predict(X))

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=[1, 1.6]
)
left.bar(range(4), together.kernel_weights_, color="C0", width=0.6)
left.set(xticks=range(4), ylim=(0, 1), ylabel="learned weight")
left.set_xticklabels(kernels, rotation=20)
colours = ["C0" if name == "learned weights" else "0.75" for name in found]
bars = right.barh(list(found), list(found.values()), color=colours)
right.bar_label(bars, fmt="{:.2f}", padding=3, fontsize=9)
right.set(xlim=(0, 1), xlabel="accuracy")
right.invert_yaxis()
plt.show()

# %%
# Noise is dropped, and two halves together are better than either alone. But the plain average
# does better here, noise and all, and so do the tools that take all columns as they are: noise
# that is spread over many columns hurts distances little, while the weights trust the lower half
# too much. Learned weights are for when you do not know which of your kernels are any good.
