"""How K @ V is done: one contract, several kinds of matrix."""

from .base import Gram, Operator
from .dense import DenseGram
from .diffused import DiffusedGram, Diffusion, diffuse
from .sparse import SparseGram

__all__ = [
    "DenseGram",
    "DiffusedGram",
    "Diffusion",
    "Gram",
    "Operator",
    "SparseGram",
    "diffuse",
]
