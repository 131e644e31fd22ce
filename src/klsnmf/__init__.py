"""Clustering by nonnegative matrix factorization with local similarity learning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, metrics
    from .estimators import GLSNMF, KLSNMF, LSNMF, METHODS, n_clusters_evidence, path

__version__ = "0.1.0"

__all__ = [
    "GLSNMF",
    "KLSNMF",
    "LSNMF",
    "METHODS",
    "datasets",
    "metrics",
    "n_clusters_evidence",
    "path",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: scikit-learn takes a second, which `klsnmf --help` should not.
    if name in ("datasets", "metrics"):
        return import_module(f".{name}", __name__)
    if name in __all__:
        return getattr(import_module(".estimators", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
