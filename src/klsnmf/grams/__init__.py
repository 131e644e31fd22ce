"""How K @ V is done: one contract, several kinds of matrix."""

from .base import Gram, Operator
from .dense import DenseGram
from .sparse import SparseGram

__all__ = ["DenseGram", "Gram", "Operator", "SparseGram"]
