"""The mathematics, a file a method: what is minimised and one step towards it."""

from .base import Model, State
from .gls_nmf import GLSNMF, SignedGLSNMF, SymmetricGLSNMF
from .gnmf import GNMF
from .kernel_kmeans import KernelKMeans
from .ls_nmf import KLSNMF, LSNMF, ExactKLSNMF, SymmetricKLSNMF
from .nmf import NMF, WNMF
from .onmf import ONMF
from .rmnmf import RMNMF
from .semi_nmf import SemiNMF
from .signed import SignedExactKLSNMF, SignedKLSNMF, SignedLSNMF

__all__ = [
    "GLSNMF",
    "GNMF",
    "KLSNMF",
    "LSNMF",
    "NMF",
    "ONMF",
    "RMNMF",
    "WNMF",
    "ExactKLSNMF",
    "KernelKMeans",
    "Model",
    "SemiNMF",
    "SignedExactKLSNMF",
    "SignedGLSNMF",
    "SignedKLSNMF",
    "SignedLSNMF",
    "State",
    "SymmetricGLSNMF",
    "SymmetricKLSNMF",
]
