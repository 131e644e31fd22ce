"""
Cells: the layout of scanpy
===========================

scanpy keeps cells in an ``AnnData``: counts in ``X``, principal components in ``obsm["X_pca"]``,
and what is known of each cell in ``obs``. :func:`klsnmf.scanpy.cluster` reads and writes it. The
counts here are simulated: six kinds of cells, of which the rarest has 40. The example needs anndata
and not scanpy; the two lines that scanpy would do are marked.
"""

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import klsnmf.scanpy
from klsnmf.metrics import accuracy

rng = np.random.default_rng(0)
sizes = [300, 240, 160, 100, 60, 40]
kinds = np.repeat([f"kind {c}" for c in "ABCDEF"], sizes)
means = rng.gamma(0.5, 2.0, (6, 500))  # of each gene in each kind
depth = rng.lognormal(0, 0.4, (sum(sizes), 1))  # cells are caught more or less completely
counts = rng.poisson(depth * np.repeat(means, sizes, axis=0))

cells = pd.DataFrame({"kind": kinds}, index=[f"cell {i}" for i in range(len(kinds))])
adata = anndata.AnnData(counts.astype(np.float32), obs=cells)
adata.X = np.log1p(adata.X / adata.X.sum(axis=1, keepdims=True) * 1e4)  # scanpy.pp.log1p
adata.obsm["X_pca"] = PCA(20, random_state=0).fit_transform(adata.X)  # scanpy.pp.pca

model = klsnmf.scanpy.cluster(adata)
print(pd.crosstab(adata.obs["kind"], adata.obs["klsnmf"]))

# %%
# KMeans has to be told the number of clusters. On kinds as clear as these it does as well.

known = np.unique(kinds, return_inverse=True)[1]
plain = KMeans(6, n_init=10, random_state=0).fit_predict(adata.obsm["X_pca"])
print(f"accuracy: klsnmf {accuracy(known, model.labels_):.3f}, KMeans {accuracy(known, plain):.3f}")

# %%
# The clusters are a categorical column, as scanpy's own tools write them, so that its plots and
# tests take them by name. ``obs["klsnmf_strength"]`` is how clearly a cell belongs to its cluster.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
x, y = adata.obsm["X_pca"][:, :2].T
axes[0].scatter(x, y, c=adata.obs["klsnmf"].cat.codes, cmap="tab10", s=8)
axes[0].set_title(f"{model.n_clusters_} clusters")
points = axes[1].scatter(x, y, c=adata.obs["klsnmf_strength"], s=8)
axes[1].set_title("strength")
figure.colorbar(points)
plt.show()
