"""Clustering by nonnegative matrix factorization with local similarity learning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, metrics, report
    from .estimators import GLSNMF, KLSNMF, LSNMF, n_clusters_evidence, path
    from .family import GNMF, ONMF, RMNMF, WNMF, SemiNMF
    from .kernel_family import CNMF, KNMF, KernelKMeans
    from .methods import DETAILS, METHODS

__version__ = "0.1.0"

__all__ = [
    "CNMF",
    "DETAILS",
    "GLSNMF",
    "GNMF",
    "KLSNMF",
    "KNMF",
    "LSNMF",
    "METHODS",
    "ONMF",
    "RMNMF",
    "WNMF",
    "KernelKMeans",
    "SemiNMF",
    "datasets",
    "metrics",
    "n_clusters_evidence",
    "path",
    "report",
]

_MODULES = {
    "estimators": ["GLSNMF", "KLSNMF", "LSNMF", "n_clusters_evidence", "path"],
    "family": ["GNMF", "ONMF", "RMNMF", "WNMF", "SemiNMF"],
    "kernel_family": ["CNMF", "KNMF", "KernelKMeans"],
    "methods": ["DETAILS", "METHODS"],
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Imported on first use: scikit-learn takes a second, which `klsnmf --help` should not.
    if name in ("datasets", "metrics", "report"):
        return import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
