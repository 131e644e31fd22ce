"""
A search without labels
=======================

``GridSearchCV`` compares settings by the ``score`` of an estimator. That of ``KMeans`` is best for
the most clusters, whatever the samples are like. The score of klsnmf looks at the samples and the
clusters alone, and can be compared between numbers of clusters and kernels. The samples are
simulated: two moons, and three long blobs.
"""

# %%
# Search for the number of clusters
# ---------------------------------
# The same search for both: a pipeline, three parts of the samples, no scorer, no labels.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from klsnmf import KLSNMF, walk_score
from klsnmf.metrics import accuracy

blobs, kinds = make_blobs(300, centers=3, random_state=170)
DATA = {
    "two moons": make_moons(300, noise=0.07, random_state=0),
    "three long blobs": (blobs @ [[0.6, -0.6], [-0.4, 0.8]], kinds),
}
NUMBERS = [2, 3, 4, 6, 8]
PARTS = KFold(3, shuffle=True, random_state=0)


def search(clusterer, X, **more):
    steps = [("scale", StandardScaler()), ("cluster", clusterer)]
    grid = {"cluster__n_clusters": NUMBERS, **more}
    return GridSearchCV(Pipeline(steps), grid, cv=PARTS).fit(X)


clusterers = {
    "KLSNMF": KLSNMF(random_state=0),
    "KMeans": KMeans(n_init=10, random_state=0),
}
found = {
    (name, kind): search(clusterer, X)
    for kind, (X, _) in DATA.items()
    for name, clusterer in clusterers.items()
}
for (name, kind), best in found.items():
    X, y = DATA[kind]
    k = best.best_params_["cluster__n_clusters"]
    print(f"{kind:17} {name:7} {k} clusters, accuracy {accuracy(y, best.predict(X)):.2f}")

# %%
# The scores of all numbers of clusters, and what the searches with KLSNMF found.

figure, axes = plt.subplots(2, 3, figsize=(9.5, 5.6), layout="constrained")
for row, kind in zip(axes, DATA, strict=True):
    for axis, name in zip(row, clusterers, strict=False):
        axis.plot(NUMBERS, found[name, kind].cv_results_["mean_test_score"], "o-")
        axis.set_title(f"{kind}: score of {name}")
        axis.set_xlabel("clusters")
    found["KLSNMF", kind].best_estimator_[-1].plot.map(ax=row[2])
    row[2].set_title("clusters of KLSNMF")
plt.show()

# %%
# Search for a kernel too
# -----------------------
# Any parameter of the clusterer can be in the grid. Leave the scaling out of it: scores of
# differently scaled samples cannot be compared.

X, y = DATA["two moons"]
best = search(KLSNMF(random_state=0), X, cluster__kernel=["self-tuning", "linear"])
print(best.best_params_, f"accuracy {accuracy(y, best.predict(X)):.2f}")

# %%
# Labels of other tools
# ---------------------
# ``walk_score`` judges any labels by the same measure.

for k in (2, 3, 6):
    labels = KMeans(k, n_init=10, random_state=0).fit_predict(X)
    print(f"KMeans with {k} clusters: {walk_score(X, labels):.2f}")
print(f"the true classes: {walk_score(X, y):.2f}")
