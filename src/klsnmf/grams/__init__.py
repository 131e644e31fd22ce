"""How K @ V is done: one contract, several kinds of matrix."""

from .base import Gram, Operator
from .dense import DenseGram
from .diffused import DiffusedGram, formed, steps_for
from .sparse import SparseGram

__all__ = ["DenseGram", "DiffusedGram", "Gram", "Operator", "SparseGram", "formed", "steps_for"]
