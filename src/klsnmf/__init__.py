"""Clustering by nonnegative matrix factorization with local similarity learning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .core.version import __version__ as __version__
from .methods import DETAILS, HOMES, METHODS

if TYPE_CHECKING:
    from . import datasets, metrics, report
    from .estimators.factor import ONMF, WNMF, SemiNMF
    from .estimators.graph_factor import GNMF, RMNMF
    from .estimators.imputer import NMFImputer
    from .estimators.kernel import CNMF, KNMF, KernelKMeans
    from .estimators.kls import GLSNMF, KLSNMF, LSNMF, levels, n_clusters_evidence, path
    from .estimators.rank import rank_evidence
    from .preparation.frames import prepare
    from .solve.judge import walk_score

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
    "NMFImputer",
    "SemiNMF",
    "datasets",
    "levels",
    "metrics",
    "n_clusters_evidence",
    "path",
    "prepare",
    "rank_evidence",
    "report",
    "walk_score",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: scikit-learn takes a second, which `klsnmf --help` should not.
    if name in ("datasets", "metrics", "report", "scanpy"):
        return import_module(f".{name}", __name__)
    if name in HOMES:
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
