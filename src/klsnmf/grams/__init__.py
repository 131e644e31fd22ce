"""How K @ V is done: one contract, several kinds of matrix."""

from .base import Gram, Operator
from .data import Data
from .dense import DenseGram
from .device import DeviceGram, gram_of
from .diffused import DiffusedGram, Diffusion, diffuse, diffuse_enough
from .links import Links, weigh_links
from .low_rank import LowRankGram
from .sparse import SparseGram
from .spectral import SpectralDiffusion
from .tiled import TiledGram, Tiles

__all__ = [
    "Data",
    "DenseGram",
    "DeviceGram",
    "DiffusedGram",
    "Diffusion",
    "Gram",
    "Links",
    "LowRankGram",
    "Operator",
    "SparseGram",
    "SpectralDiffusion",
    "TiledGram",
    "Tiles",
    "diffuse",
    "diffuse_enough",
    "gram_of",
    "weigh_links",
]
