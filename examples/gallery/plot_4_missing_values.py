"""
Missing values
==============

:class:`klsnmf.WNMF` takes NaN for "not known" and leaves such entries out of the problem. Here
pixels of handwritten digits are made unknown at random. WNMF draws them, better than the mean of
the pixel does, as long as not too many are missing; and the drawn images can be clustered by any
method.
"""

# %%
# Fill in
# -------
# X ≈ G F, fitted to the known pixels alone, has a value for the unknown ones too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer

from klsnmf import KLSNMF, WNMF
from klsnmf.metrics import accuracy

X, y = load_digits(return_X_y=True)
X, y = X[:900], y[:900]


def with_gaps(share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def drawn(gappy):
    """The samples, with WNMF's idea of what is unknown; pixels are at most 16."""
    model = WNMF(10, n_init=1, tol=2e-3, random_state=0).fit(gappy)
    return np.where(np.isnan(gappy), np.minimum(model.G_ @ model.components_, 16), gappy)


gappy = with_gaps(0.4)
filled = {"mean": SimpleImputer().fit_transform(gappy), "WNMF": drawn(gappy)}

figure, axes = plt.subplots(4, 14, figsize=(9, 3), layout="constrained")
colours = plt.cm.gray_r.copy()
colours.set_bad("#f4b183")
for axis, images, name in zip(
    axes, (X, gappy, *filled.values()), ("truth", "given", *filled), strict=True
):
    for place, sample in zip(axis, images, strict=False):
        place.imshow(sample.reshape(8, 8), cmap=colours, vmin=0, vmax=16)
        place.set(xticks=[], yticks=[])
    axis[0].set_ylabel(name)
figure.suptitle("40 % of the pixels are unknown (orange)", fontsize=11)
plt.show()

# %%
# Cluster
# -------
# WNMF clusters by itself, too: by its coefficients, which is not what it is best at.

shares = [0.0, 0.2, 0.4, 0.6, 0.7]
found = {name: [] for name in ("mean", "WNMF")}
clusters = {
    "WNMF fills, KLSNMF": [],
    "mean fills, KLSNMF": [],
    "mean fills, KMeans": [],
    "WNMF alone": [],
}
for share in shares:
    gappy = with_gaps(share)
    unknown = np.isnan(gappy)
    filled = {"mean": SimpleImputer().fit_transform(gappy), "WNMF": drawn(gappy)}
    for name, images in filled.items():
        error = np.sqrt(np.mean((images - X)[unknown] ** 2)) if share else np.nan
        found[name].append(error)
        labels = KLSNMF(10, random_state=0).fit_predict(images)
        clusters[f"{name} fills, KLSNMF"].append(accuracy(y, labels))
    labels = KMeans(10, n_init=10, random_state=0).fit_predict(filled["mean"])
    clusters["mean fills, KMeans"].append(accuracy(y, labels))
    alone = WNMF(10, labels="kmeans", n_init=2, tol=2e-3, random_state=0)
    clusters["WNMF alone"].append(accuracy(y, alone.fit_predict(gappy)))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for (name, values), style in zip(found.items(), ("s--", "o-"), strict=True):
    left.plot(shares, values, style, label=name, color="C0" if name == "WNMF" else "0.5")
left.set(xlabel="share of unknown pixels", ylabel="error of unknown pixels", ylim=(0, None))
left.set_title("Root mean square error (pixels are 0 to 16)", fontsize=11)
left.legend(frameon=False, loc="lower right")
lines = zip(clusters.items(), ("o-", "^:", "s--", "v-."), ("C0", "C0", "0.5", "C1"), strict=True)
for (name, values), style, colour in lines:
    right.plot(shares, values, style, label=name, color=colour)
right.set(xlabel="share of unknown pixels", ylabel="accuracy", ylim=(0, 1))
right.set_title("Clusters", fontsize=11)
right.legend(frameon=False, fontsize=9)
plt.show()

# %%
# Up to 60 % WNMF's idea of the unknown pixels is better than the mean; where even more are missing
# there is too little to fit ten prototypes to. For the clusters, the way of filling makes a
# difference only where more than half is missing. WNMF alone clusters worse than k-means on images
# filled with the mean, up to 40 %. One draw of gaps was tried for each share.
