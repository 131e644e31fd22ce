"""The mathematics, a file a method: what is minimised and one step towards it."""

from .base import Model, State
from .gls_nmf import GLSNMF, SignedGLSNMF, SymmetricGLSNMF
from .ls_nmf import KLSNMF, LSNMF, ExactKLSNMF, SymmetricKLSNMF
from .signed import SignedExactKLSNMF, SignedKLSNMF, SignedLSNMF

__all__ = [
    "GLSNMF",
    "KLSNMF",
    "LSNMF",
    "ExactKLSNMF",
    "Model",
    "SignedExactKLSNMF",
    "SignedGLSNMF",
    "SignedKLSNMF",
    "SignedLSNMF",
    "State",
    "SymmetricGLSNMF",
    "SymmetricKLSNMF",
]
