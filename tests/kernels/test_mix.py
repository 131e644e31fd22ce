"""Several kernels: how their weights follow from what clusters explain."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf.grams.array import DenseGram
from klsnmf.kernels.mix import Mixture, explained
from klsnmf.kernels.similarity import View

from ..helpers import blobs


def test_weights_of_kernels_are_the_fourth_powers_of_their_shares():
    X, y = blobs(60, 3, 6, 0)
    grams = [DenseGram(rbf_kernel(X, gamma=gamma)) for gamma in (0.05, 1.0)]
    mixture = Mixture([View(K, K, None) for K in grams], 3, np.random.RandomState(0))
    mixture.learn(y)
    shares = np.array([explained(K, y) for K in grams]) / mixture.bounds
    assert 0.05 < shares.min() / shares.max() < 0.95
    np.testing.assert_allclose(mixture.weights, shares**4 / (shares**4).sum())
