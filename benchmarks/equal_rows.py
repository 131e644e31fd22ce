"""How long a fit takes where many rows are equal, beside distinct rows.

    python -m benchmarks.equal_rows [--rows 10000]

Seconds are those of the processor, on one thread. The rows go to ``docs/results/equal_rows.csv``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from klsnmf import KLSNMF
from klsnmf.core.tables import as_csv
from klsnmf.core.writing import write_whole

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "equal_rows.csv"


def samples(n: int) -> dict[str, np.ndarray]:
    """The same rows with more and more of them equal."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 10)) + 2 * rng.integers(0, 2, (5, 10))[np.arange(n) % 5]
    found = {"distinct": X}
    for name, share in (("a tenth equal", 0.1), ("half equal", 0.5), ("all equal", 1.0)):
        found[name] = X.copy()
        found[name][: int(share * n)] = X[0]
    found["of 50 kinds"] = X[rng.integers(0, 50, n)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    n, rows, first = parser.parse_args().rows, [], 0.0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KLSNMF(5, random_state=0).fit(samples(500)["distinct"])  # imports, once
        for name, X in samples(n).items():
            begun = time.process_time()
            labels = KLSNMF(5, random_state=0).fit(X).labels_
            seconds = time.process_time() - begun
            first = first or seconds
            rows.append((name, n, len(set(labels)), f"{seconds:.2f}", f"{seconds / first:.2f}"))
            print(*rows[-1], flush=True)
    text = as_csv(["rows", "n", "clusters", "seconds", "times distinct"], rows)
    write_whole(RESULTS, text.encode())


if __name__ == "__main__":
    main()
