"""The table of all methods: what comparisons, commands and tests choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.cluster import KMeans, SpectralClustering

from .estimators.factor import GNMF, ONMF, RMNMF, WNMF, SemiNMF
from .estimators.kernel import CNMF, KNMF, KernelKMeans
from .estimators.kls import GLSNMF, KLSNMF, LSNMF

#: The values that weights and widths are usually chosen from in comparisons of these methods.
USUAL = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)

#: How labels can be read from coefficients.
_READINGS = ("argmax", "kmeans")


@dataclass(frozen=True)
class Method:
    """A clusterer and what to know of it.

    Attributes
    ----------
    estimator : its class
    description : one line
    grid : parameters to choose from, name -> values. Papers choose with the labels: objectives of
        different settings say nothing about each other
    accepts : what input it takes, of "nonnegative", "signed", "sparse", "nan", "precomputed"
    """

    estimator: type
    description: str
    grid: Mapping[str, Sequence[Any]]
    accepts: frozenset[str]


def _method(estimator: type, description: str, accepts: str, **grid: Sequence[Any]) -> Method:
    return Method(estimator, description, grid, frozenset(["nonnegative", *accepts.split()]))


#: Every method by its name, described.
DETAILS: dict[str, Method] = {
    "kls-nmf": _method(
        KLSNMF,
        "kernel NMF that learns clusters and local similarity together",
        "signed sparse precomputed",
        lam=(0.0, "auto", *USUAL),
    ),
    "ls-nmf": _method(
        LSNMF,
        "KLS-NMF with the linear kernel",
        "signed sparse",
        lam=(0.0, "auto", *USUAL),
    ),
    "gls-nmf": _method(
        GLSNMF,
        "KLS-NMF with a graph that ties neighbours together",
        "signed sparse precomputed",
        lam=(0.0, "auto", *USUAL),
        graph_weight=USUAL,
    ),
    "wnmf": _method(
        WNMF,
        "NMF with a weight for every entry; gaps in the data have weight 0",
        "sparse nan",
        init=("kmeans", "random"),
        labels=_READINGS,
    ),
    "onmf": _method(
        ONMF,
        "NMF with three factors, the outer two orthogonal",
        "sparse",
        labels=_READINGS,
    ),
    "cnmf": _method(
        CNMF,
        "convex NMF: prototypes are mixtures of samples",
        "signed sparse",
        row_norm=("l2", None),
        labels=_READINGS,
    ),
    "knmf": _method(
        KNMF,
        "convex NMF in the space of a kernel",
        "signed sparse precomputed",
        kernel=("rbf",),
        radius=("auto", *USUAL),
        labels=_READINGS,
    ),
    "rmnmf": _method(
        RMNMF,
        "orthogonal NMF on a graph, with errors that outliers do not rule",
        "signed sparse",
        graph_weight=USUAL,
        labels=_READINGS,
    ),
    "gnmf": _method(
        GNMF,
        "NMF with a graph that ties the coefficients of neighbours together",
        "sparse",
        graph_weight=USUAL,
        labels=_READINGS,
    ),
    "semi-nmf": _method(
        SemiNMF,
        "NMF for data of any sign: coefficients are nonnegative, prototypes free",
        "signed sparse",
        labels=_READINGS,
    ),
    "kernel-kmeans": _method(
        KernelKMeans,
        "k-means in the space of a kernel",
        "signed sparse precomputed",
        kernel=("rbf",),
        radius=("auto", *USUAL),
    ),
    "kmeans": _method(
        KMeans,
        "k-means of scikit-learn",
        "signed sparse",
        n_init=(10,),
    ),
    "spectral": _method(
        SpectralClustering,
        "spectral clustering of scikit-learn",
        "signed sparse precomputed",
        affinity=("nearest_neighbors", "rbf"),
    ),
}

#: Every method by its name.
METHODS: dict[str, type] = {name: method.estimator for name, method in DETAILS.items()}
