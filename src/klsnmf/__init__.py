"""Clustering by nonnegative matrix factorization with local similarity learning."""

from . import metrics
from .estimators import GLSNMF, KLSNMF, LSNMF, METHODS, path

__version__ = "0.1.0"

__all__ = ["GLSNMF", "KLSNMF", "LSNMF", "METHODS", "metrics", "path"]
