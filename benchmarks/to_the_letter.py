"""solver="paper" against a literal transcription: the largest difference of W Gᵀ.

The transcription is the one the tests use, tests/naive.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from klsnmf import KLSNMF
from klsnmf.solve.starts import random_factors
from tests.naive import klsnmf as naive


def run(quick: bool) -> list[str]:
    X = normalize(load_digits().data[: 100 if quick else 400])
    K = naive.rbf(X, 1.0)
    W0, G0 = random_factors(len(X), 10, np.random.RandomState(0))
    lines = [
        f"n = {len(X)}, k = 10, float64; largest difference relative to the largest entry of W Gᵀ",
        "",
        "| λ | iterations | rbf | the same K, precomputed |",
        "|---|---|---|---|",
    ]
    for lam in (0.0, 0.001, 0.01):
        for steps in (1, 5, 50):
            W, G = naive.iterate(K, W0, G0, lam, steps)
            truth = W @ G.T
            found = []
            for kernel, data in (("rbf", X), ("precomputed", K)):
                model = KLSNMF(
                    10,
                    lam=lam,
                    kernel=kernel,
                    radius=1.0,
                    solver="paper",
                    init=(W0, G0),
                    n_init=1,
                    tol=0,
                    max_iter=steps,
                ).fit(data)
                difference = np.abs(model.W_ @ model.G_.T - truth).max()
                found.append(difference / np.abs(truth).max())
            lines.append(f"| {lam:g} | {steps} | {found[0]:.1e} | {found[1]:.1e} |")
    return lines


if __name__ == "__main__":
    print("\n".join(run(quick=False)))
