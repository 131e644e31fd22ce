"""Clustering by nonnegative matrix factorization with local similarity learning."""

from . import metrics
from .estimators import GLSNMF, KLSNMF, LSNMF, path
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
    "metrics",
    "path",
]
