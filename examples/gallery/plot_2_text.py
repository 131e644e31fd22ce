"""
Text: tf-idf of documentation
=============================

The texts are the docstrings of SciPy's public functions, about a thousand of them, and the classes
are the seven parts of SciPy they come from. They are real texts that are on every machine with
SciPy; how many there are depends on its version. A tf-idf matrix is sparse, and stays so.
"""

# %%
# The corpus
# ----------

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from klsnmf import KLSNMF
from klsnmf.metrics import scores

PARTS = ["fft", "linalg", "ndimage", "optimize", "signal", "special", "stats"]

corpus = {}
for part in PARTS:
    module = importlib.import_module(f"scipy.{part}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if callable(getattr(module, name)) and len(text) > 400:
            corpus.setdefault(text, part)  # a text that two parts share counts once
texts, y = list(corpus), np.array(list(corpus.values()))
print({part: int(np.sum(y == part)) for part in PARTS})

# %%
# A pipeline
# ----------
# tf-idf rows hold amounts, so :class:`klsnmf.KLSNMF` scales them to length 1 by itself and
# compares directions, which is the cosine.

tfidf = TfidfVectorizer(
    stop_words="english", token_pattern="[a-z]{3,}", min_df=3, max_df=0.3, sublinear_tf=True
)
pipeline = make_pipeline(tfidf, KLSNMF(n_clusters=7, random_state=0)).fit(texts)
model = pipeline[-1]

# %%
# The largest entries of a prototype name a cluster. The bars say which part of SciPy its texts are
# from.

words = pipeline[0].get_feature_names_out()
figure, axes = plt.subplots(7, 1, figsize=(9, 5.6), sharex=True, layout="constrained")
for cluster, axis in enumerate(axes):
    counts = [np.sum(y[model.labels_ == cluster] == part) for part in PARTS]
    axis.barh([0] * 7, counts, left=np.cumsum([0, *counts[:-1]]), color=plt.cm.Set2.colors[:7])
    leading = words[np.argsort(-model.components_[cluster])[:9]]
    axis.set_title(", ".join(leading), fontsize=9, loc="left", pad=2)
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
axes[-1].set_xlabel("texts")
handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in plt.cm.Set2.colors[:7]]
figure.legend(handles, PARTS, loc="outside lower center", ncols=7, fontsize=9, frameon=False)
plt.show()

# %%
# Compare
# -------
# Three seeds for each, on the same matrix. The parts are of unequal size and share a vocabulary,
# so no method finds them all: here ``stats`` falls into tests and distributions, and ``fft`` goes
# with ``signal``.
#
# The choice of parts matters. This is the largest of three choices that were tried, and the one
# where the methods differ most.

X = pipeline[0].transform(texts)
methods = {
    "KLSNMF": lambda seed: KLSNMF(7, random_state=seed),
    "KMeans(n_init=10)": lambda seed: KMeans(7, n_init=10, random_state=seed),
    "SpectralClustering": lambda seed: SpectralClustering(
        7, affinity="nearest_neighbors", random_state=seed
    ),
}
print(f"{'mean of 3 seeds':20} {'accuracy':>9} {'NMI':>6} {'purity':>7}")
for name, make in methods.items():
    found = [scores(y, make(seed).fit_predict(X)) for seed in range(3)]
    means = {score: np.mean([one[score] for one in found]) for score in found[0]}
    print(f"{name:20} {means['accuracy']:9.3f} {means['nmi']:6.3f} {means['purity']:7.3f}")
