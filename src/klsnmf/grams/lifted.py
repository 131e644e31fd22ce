"""The linear kernel of samples that are lifted by h: XXᵀ + h²."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..core.arithmetic import plus
from ..core.arrays import on_host
from ..core.types import Matrix
from .array import DenseGram
from .base import Gram
from .low_rank import LowRankGram


def lifted_gram(X: Matrix, height: float) -> Gram:
    """XXᵀ + h², nowhere negative for an h that no sample is longer than; formed on a device."""
    if not on_host(X):
        return DenseGram(plus(X @ X.T + height**2))
    h = np.full((X.shape[0], 1), height, X.dtype)
    features = sparse.hstack([X, h]).tocsr() if sparse.issparse(X) else np.hstack([X, h])
    return LowRankGram(features, nonnegative=True)
