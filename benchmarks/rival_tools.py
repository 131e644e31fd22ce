"""The tools that are compared, each with its usual settings.

Four of them are packages of other projects, in the extra ``rivals``: umap-learn, leidenalg with
igraph, and genieclust. They are imported only when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from klsnmf import KLSNMF

NEIGHBOURS = 15
GINI_THRESHOLD = 0.3

#: Of 5 (scikit-learn's default), 10, 15 and 25 the one with which HDBSCAN is best on shapes, and
#: after UMAP on eleven other sets.
LEAST_OF_CLUSTER = 10

#: Of 5, 10, 20 and 40 the one with which mixtures are best in the mean of ten sets.
PRINCIPAL = 20

#: A search for the resolution ends after so many partitions, with the nearest number of clusters.
MOST_PARTITIONS = 50

Labels = Any  # (n,)
Seed = int | None


class Tool(NamedTuple):
    """A way to labels: a step that does not need the number of clusters, and one that may.

    Tools with the same first step share what it makes; its time counts for each of them.
    """

    cluster: Callable[[Any, int, Seed], Labels]
    prepare: Callable[[Any, Seed], Any] = lambda X, seed: X
    seeded: bool = True  # whether another seed may give another answer
    needs_k: bool = True
    both_scalings: bool = True  # whether it is given raw rows and unit rows, to keep the better
    packages: tuple[str, ...] = ()
    compiles: bool = False  # on first use, which is not its time


def ours(X: Any, k: int, seed: Seed) -> Labels:
    return KLSNMF(k, random_state=seed).fit_predict(X)


def kmeans(X: Any, k: int, seed: Seed) -> Labels:
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X)


def spectral(X: Any, k: int, seed: Seed) -> Labels:
    return SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit_predict(X)


def ward(X: Any, k: int, seed: Seed) -> Labels:
    return AgglomerativeClustering(k).fit_predict(X)


def mixture(X: Any, k: int, seed: Seed) -> Labels:
    """Full covariances, of the first principal components where there are many features."""
    X = np.asarray(X, np.float64)
    if X.shape[1] > PRINCIPAL:
        X = PCA(PRINCIPAL, random_state=seed).fit_transform(X)
        X /= X.std()  # the constant that is added to each variance is made for this scale
    return GaussianMixture(k, n_init=5, random_state=seed).fit_predict(X)


def hdbscan(X: Any, k: int, seed: Seed) -> Labels:
    """It finds the number of clusters itself; samples that it calls noise get the label -1."""
    return HDBSCAN(LEAST_OF_CLUSTER, copy=True).fit_predict(X)


def embed(X: Any, seed: Seed) -> Any:  # (n, p) -> (n, at most 10)
    from umap import UMAP

    dimensions = min(10, X.shape[1])
    return UMAP(
        n_neighbors=NEIGHBOURS, n_components=dimensions, min_dist=0.0, random_state=seed
    ).fit_transform(X)


def neighbour_graph(X: Any, seed: Seed) -> Any:
    """An undirected edge where one sample is among the nearest neighbours of the other."""
    import igraph

    n = X.shape[0]
    links = kneighbors_graph(X, min(NEIGHBOURS, n - 1)).tocoo()
    graph = igraph.Graph(n=n, edges=np.stack([links.row, links.col], axis=1))
    return graph.as_undirected(mode="collapse")


def leiden(graph: Any, k: int, seed: Seed) -> Labels:
    """Communities at the resolution that gives k of them."""
    from leidenalg import RBConfigurationVertexPartition, find_partition

    def partition(resolution: float) -> Labels:
        found = find_partition(
            graph, RBConfigurationVertexPartition, resolution_parameter=resolution, seed=seed
        )
        return np.array(found.membership)

    return at_resolution(partition, k)


def at_resolution(partition: Callable[[float], Labels], k: int) -> Labels:
    """The labels of the resolution that gives k clusters, or of the one that is nearest to that.

    The number of clusters grows with the resolution, but for accidents: the resolution is doubled
    or halved until k is between two of them, and then the interval is halved.
    """
    low, high, resolution, nearest = 0.0, np.inf, 1.0, None
    for _ in range(MOST_PARTITIONS):
        labels = partition(resolution)
        count = len(np.unique(labels))
        if nearest is None or abs(count - k) < abs(len(np.unique(nearest)) - k):
            nearest = labels
        if count == k:
            break
        low, high = (resolution, high) if count < k else (low, resolution)
        resolution = 2 * low if high == np.inf else (low + high) / 2 if low else high / 2
    return nearest


def genie(X: Any, k: int, seed: Seed) -> Labels:
    from genieclust import Genie

    return Genie(k, gini_threshold=GINI_THRESHOLD).fit_predict(X)


OURS = "KLSNMF"
TOOLS = {
    OURS: Tool(ours, both_scalings=False, compiles=True),
    "Genie": Tool(genie, seeded=False, packages=("genieclust",)),
    "Leiden": Tool(leiden, neighbour_graph, packages=("leidenalg", "igraph")),
    "SpectralClustering": Tool(spectral),
    "KMeans": Tool(kmeans),
    "Ward": Tool(ward, seeded=False),
    "GaussianMixture": Tool(mixture),
    "HDBSCAN": Tool(hdbscan, seeded=False, needs_k=False),
    "UMAP+KMeans": Tool(kmeans, embed, packages=("umap",), compiles=True),
    "UMAP+HDBSCAN": Tool(hdbscan, embed, needs_k=False, packages=("umap",), compiles=True),
}


def require(tools: list[str]) -> None:
    """End with a sentence if a package of these tools is not installed."""
    wanted = {package: tool for tool in tools for package in TOOLS[tool].packages}
    for package, tool in wanted.items():
        if find_spec(package) is None:
            raise SystemExit(
                f"{tool} needs the package {package}, which is not installed: run "
                'pip install "klsnmf[rivals]", or leave the tool out with --tools.'
            )


def warm_up(name: str, seed: Seed = 0) -> None:
    """Let a tool compile what it compiles, on samples that do not matter.

    Without a seed UMAP uses threads, and compiles other code.
    """
    tool, rng = TOOLS[name], np.random.RandomState(0)
    # UMAP searches neighbours in another way from 4096 samples on.
    for n in (60, 4100) if tool.compiles else ():
        X = rng.normal(size=(n, 4)).astype(np.float32)
        tool.cluster(tool.prepare(X, seed), 3, 0)
