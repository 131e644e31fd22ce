"""
New samples
===========

A clustering that was learned on some samples gives clusters to others: ``predict`` for labels,
``transform`` for how much of each prototype a sample is made of. k-means can do that too, with
straight borders; scikit-learn's spectral clustering cannot.
"""

# %%
# Borders
# -------
# Two moons, and the cluster that every point of the plane would get.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV, train_test_split

from klsnmf import KLSNMF
from klsnmf.metrics import accuracy, accuracy_scorer, nmi_scorer

X, y = make_moons(400, noise=0.06, random_state=0)
xs, ys = np.meshgrid(np.linspace(-1.6, 2.6, 160), np.linspace(-1.1, 1.6, 110))
plane = np.column_stack([xs.ravel(), ys.ravel()])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axis, model in zip(
    axes, (KMeans(2, n_init=10, random_state=0), KLSNMF(2, random_state=0)), strict=True
):
    model.fit(X)
    regions = model.predict(plane).reshape(xs.shape)
    axis.contourf(xs, ys, regions, levels=[-0.5, 0.5, 1.5], colors=["#cfe2f3", "#fde3c8"])
    axis.scatter(*X.T, c=np.array(["C0", "C1"])[model.labels_], s=8)
    name, score = type(model).__name__, accuracy(y, model.labels_)
    axis.set_title(f"{name}: accuracy {score:.0%}", fontsize=11)
    axis.set(xticks=[], yticks=[])
plt.show()

# %%
# A point that is far from all samples is like none of them, and gets the label of the nearest one.

# %%
# Digits that were not seen
# -------------------------
# Half of the digits to learn from, the others to predict.

X, y = load_digits(return_X_y=True)
X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
print(f"{'accuracy':8} {'seen':>6} {'new':>6}")
for model in (KLSNMF(10, random_state=0), KMeans(10, n_init=10, random_state=0)):
    model.fit(X_fit)
    seen, new = accuracy(y_fit, model.labels_), accuracy(y_new, model.predict(X_new))
    print(f"{type(model).__name__:8} {seen:6.3f} {new:6.3f}")

# %%
# Choose parameters by prediction
# -------------------------------
# If some samples have labels, ``GridSearchCV`` with a scorer of :mod:`klsnmf.metrics` chooses what
# predicts left-out samples best. This is the only place where labels are used to choose anything.

search = GridSearchCV(
    KLSNMF(10, random_state=0),
    {"n_neighbors": [5, 10, 20]},
    scoring={"accuracy": accuracy_scorer, "nmi": nmi_scorer},
    refit="nmi",
    cv=2,
).fit(X_fit, y_fit)
for n_neighbors, score in zip([5, 10, 20], search.cv_results_["mean_test_nmi"], strict=True):
    print(f"n_neighbors={n_neighbors:2}: NMI {score:.3f} on left-out samples")
print(f"accuracy on the other half: {accuracy(y_new, search.predict(X_new)):.3f}")

# %%
# How sure?
# ---------
# Rows of ``transform`` have one positive entry, in the column of the cluster: how well its
# prototype explains the sample, as in ``G_``. The images with the smallest are the ones to look
# at.

model = KLSNMF(10, random_state=0).fit(X_fit)
strength = model.transform(X_new).max(axis=1)
order = np.argsort(strength)
figure, axes = plt.subplots(2, 14, figsize=(9, 1.6), layout="constrained")
for row, some in zip(axes, (order[-14:], order[:14]), strict=True):
    for axis, sample in zip(row, some, strict=True):
        axis.imshow(X_new[sample].reshape(8, 8), cmap="gray_r")
        axis.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("high")
axes[1, 0].set_ylabel("low")
plt.show()
