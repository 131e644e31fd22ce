"""How many clusters: what the score of a number is made of."""

import numpy as np

from klsnmf import n_clusters_evidence


def test_the_score_of_a_number_is_its_gap_its_share_and_its_stability():
    X = np.random.default_rng(0).normal(size=(200, 3))
    evidence = n_clusters_evidence(X, random_state=0)
    values, k = evidence.eigenvalues, evidence.candidates
    gap = values[k - 1] - values[k]
    np.testing.assert_allclose(evidence.eigengap, gap)
    expected = gap * np.minimum(gap / (1 - values[k]), 1) * np.maximum(evidence.stability, 0)
    np.testing.assert_allclose(evidence.score, expected)
    assert evidence.stability.min() < 0.9
