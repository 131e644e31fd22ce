"""torch on the CPU beside numpy: the time of an iteration, of the same fits over the same K.

``python -m benchmarks.devices``, with torch installed. The two take turns, so that both meet the
same machine, and the ratio is the median over the turns. With ``--device cuda`` the tensors are
there.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from klsnmf.grams.array import DenseGram
from klsnmf.models.ls_nmf import EXACT, FREE, PRINTED, LocalSimilarity, Step
from klsnmf.solve.loop import solve
from klsnmf.solve.starts import random_factors

from .batch import kernel_matrix

SAMPLES, CLUSTERS, ITERATIONS, TURNS = 4000, 10, 10, 7
STEPS = {"soft": FREE, "exact": EXACT, "paper": PRINTED}


def seconds(gram: DenseGram, step: Step, fits: int) -> float:
    """An iteration of so many fits side by side."""
    rng = np.random.RandomState(0)
    starts = []
    for _ in range(fits):
        W, G = random_factors(gram.shape[0], CLUSTERS, rng)
        starts.append({"W": gram.hold(W), "G": gram.hold(G)})
    begin = time.perf_counter()
    # The loss of every iteration is a number of the host: a device has done its work by then.
    solve([LocalSimilarity(gram, 1e-3, step)] * fits, starts, max_iter=ITERATIONS, tol=0)
    return (time.perf_counter() - begin) / ITERATIONS


def run(device: str, threads: int) -> list[str]:
    import torch

    K = kernel_matrix(SAMPLES)
    grams = DenseGram(K), DenseGram(torch.asarray(K, device=device))
    lines = [
        f"n = {SAMPLES}, k = {CLUSTERS}, float32, {threads} thread(s), torch {torch.__version__} "
        f"on {device!r}, numpy {np.__version__}; milliseconds an iteration, the median of {TURNS}",
        "",
        "| solver | fits | numpy | torch | torch / numpy |",
        "|---|---|---|---|---|",
    ]
    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        for name, step in STEPS.items():
            for fits in (1, 16):
                turns = np.array([[seconds(g, step, fits) for g in grams] for _ in range(TURNS)])
                numpy_ms, torch_ms = 1e3 * np.median(turns, axis=0)
                ratio = np.median(turns[:, 1] / turns[:, 0])
                lines.append(f"| {name} | {fits} | {numpy_ms:.1f} | {torch_ms:.1f} | {ratio:.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="the device of torch")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print(*run(arguments.device, arguments.threads), sep="\n")


if __name__ == "__main__":
    main()
