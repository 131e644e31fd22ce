"""Clustering by nonnegative matrix factorization with local similarity learning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .core.version import __version__ as __version__

if TYPE_CHECKING:
    from . import datasets, metrics, report
    from .estimators.factor import GNMF, ONMF, RMNMF, WNMF, SemiNMF
    from .estimators.kernel import CNMF, KNMF, KernelKMeans
    from .estimators.kls import GLSNMF, KLSNMF, LSNMF, n_clusters_evidence, path
    from .methods import DETAILS, METHODS


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
    "estimators.kls": ["GLSNMF", "KLSNMF", "LSNMF", "n_clusters_evidence", "path"],
    "estimators.factor": ["GNMF", "ONMF", "RMNMF", "WNMF", "SemiNMF"],
    "estimators.kernel": ["CNMF", "KNMF", "KernelKMeans"],
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
