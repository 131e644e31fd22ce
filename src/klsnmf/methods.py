"""The table of all methods: what comparisons, commands and tests choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

#: The modules of the package's classes and functions, which are imported on first use.
HOMES = {
    **dict.fromkeys(["GLSNMF", "KLSNMF", "LSNMF", "path"], "estimators.kls"),
    **dict.fromkeys(["levels", "n_clusters_evidence"], "estimators.kls"),
    **dict.fromkeys(["CNMF", "KNMF", "KernelKMeans"], "estimators.kernel"),
    **dict.fromkeys(["ONMF", "SemiNMF", "WNMF"], "estimators.factor"),
    **dict.fromkeys(["GNMF", "RMNMF"], "estimators.graph_factor"),
    "rank_evidence": "estimators.rank",
    "NMFImputer": "estimators.imputer",
    "prepare": "preparation.frames",
    "walk_score": "solve.judge",
}

#: The values that weights and widths are usually chosen from in comparisons of these methods.
USUAL = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)

#: How labels can be read from coefficients.
_READINGS = ("argmax", "kmeans")

_WEIGHTS = (0.0, "auto", *USUAL)
_RADII = ("auto", *USUAL)


@dataclass(frozen=True)
class Method:
    """A clusterer and what to know about it.

    Attributes
    ----------
    kind : the name of its class: one in ``HOMES``, or "module:class"
    description : one line
    accepts : what input it takes, of "nonnegative", "signed", "sparse", "nan", "precomputed"
    grid : values to try for each parameter. Papers choose among them with the true labels, because
        objectives of different settings cannot be compared
    counts : whether it finds the number of clusters itself with ``n_clusters="auto"``
    given : parameters that the command sets, because the default does not suit data of any unit
    """

    kind: str
    description: str
    accepts: frozenset[str]
    grid: Mapping[str, Sequence[Any]]
    counts: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> Any:
        """Its class, imported on first use: scikit-learn takes a second."""
        module, _, name = self.kind.rpartition(":")
        home = import_module(module or f".{HOMES[name]}", None if module else __package__)
        return getattr(home, name)


def _method(
    kind: str, description: str, accepts: str, grid: Mapping[str, Sequence[Any]], **more: Any
) -> Method:
    takes = frozenset(["nonnegative", *accepts.split()])
    return Method(kind, description, takes, grid, **more)


#: Every method by its name, with its description.
DETAILS: dict[str, Method] = {
    "kls-nmf": _method(
        "KLSNMF",
        "kernel NMF that learns clusters and local similarity together",
        "signed sparse precomputed",
        {"lam": _WEIGHTS},
        counts=True,
    ),
    "ls-nmf": _method(
        "LSNMF", "KLS-NMF with the linear kernel", "signed sparse", {"lam": _WEIGHTS}, counts=True
    ),
    "gls-nmf": _method(
        "GLSNMF",
        "KLS-NMF with a graph that ties neighbours together",
        "signed sparse precomputed",
        {"lam": _WEIGHTS, "graph_weight": USUAL},
        counts=True,
    ),
    "wnmf": _method(
        "WNMF",
        "NMF with a weight for every entry; gaps in the data have weight 0",
        "sparse nan",
        {"init": ("kmeans", "random"), "labels": _READINGS},
    ),
    "onmf": _method(
        "ONMF", "NMF with three factors, the outer two orthogonal", "sparse", {"labels": _READINGS}
    ),
    "cnmf": _method(
        "CNMF",
        "convex NMF: prototypes are mixtures of samples",
        "signed sparse",
        {"row_norm": ("l2", None), "labels": _READINGS},
        counts=True,
    ),
    "knmf": _method(
        "KNMF",
        "convex NMF in the space of a kernel",
        "signed sparse precomputed",
        {"kernel": ("rbf",), "radius": _RADII, "labels": _READINGS},
        counts=True,
    ),
    "rmnmf": _method(
        "RMNMF",
        "orthogonal NMF on a graph, with errors that are robust to outliers",
        "signed sparse",
        {"graph_weight": USUAL, "labels": _READINGS},
    ),
    "gnmf": _method(
        "GNMF",
        "NMF with a graph that ties the coefficients of neighbours together",
        "sparse",
        {"graph_weight": USUAL, "labels": _READINGS},
    ),
    "semi-nmf": _method(
        "SemiNMF",
        "NMF for data of any sign: coefficients are nonnegative, prototypes free",
        "signed sparse",
        {"labels": _READINGS},
    ),
    "kernel-kmeans": _method(
        "KernelKMeans",
        "k-means in the space of a kernel",
        "signed sparse precomputed",
        {"kernel": ("rbf",), "radius": _RADII},
        counts=True,
    ),
    "kmeans": _method(
        "sklearn.cluster:KMeans",
        "k-means of scikit-learn",
        "signed sparse",
        {"n_init": (10,)},
        given={"n_init": 10},
    ),
    "spectral": _method(
        "sklearn.cluster:SpectralClustering",
        "spectral clustering of scikit-learn",
        "signed sparse precomputed",
        {"affinity": ("nearest_neighbors", "rbf")},
        given={"affinity": "nearest_neighbors"},
    ),
}


class _Classes(Mapping[str, Any]):
    """The classes of the methods, each imported on first use."""

    def __getitem__(self, name: str) -> Any:
        return DETAILS[name].estimator

    def __contains__(self, name: object) -> bool:
        return name in DETAILS

    def __iter__(self) -> Iterator[str]:
        return iter(DETAILS)

    def __len__(self) -> int:
        return len(DETAILS)

    def __repr__(self) -> str:
        return repr(dict(self))


#: Every method by its name.
METHODS: Mapping[str, Any] = _Classes()
