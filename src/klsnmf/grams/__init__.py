"""How K @ V is done: one contract, several kinds of matrix."""

from .base import Gram, Operator
from .data import Data, LinearGram
from .dense import DenseGram
from .diffused import DiffusedGram, Diffusion, diffuse, diffuse_enough
from .sparse import SparseGram

__all__ = [
    "Data",
    "DenseGram",
    "DiffusedGram",
    "Diffusion",
    "Gram",
    "LinearGram",
    "Operator",
    "SparseGram",
    "diffuse",
    "diffuse_enough",
]
