"""The time to import an estimator as a ratio to that of ``import sklearn.cluster``.

``import klsnmf`` alone imports next to nothing: the estimators follow on first use.
"""

from __future__ import annotations

import subprocess
import sys
import time


def seconds(statement: str, repeats: int) -> float:
    """The best of several fresh interpreters, less that of an empty one."""
    best = []
    for code in (statement, "pass"):
        found = []
        for _ in range(repeats):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            found.append(time.perf_counter() - start)
        best.append(min(found))
    return best[0] - best[1]


def run(quick: bool) -> list[str]:
    repeats = 1 if quick else 15
    mine = seconds("from klsnmf import KLSNMF", repeats)
    theirs = seconds("import sklearn.cluster", repeats)
    return [
        f"`from klsnmf import KLSNMF` {mine:.2f} s, `import sklearn.cluster` {theirs:.2f} s: "
        f"ratio {mine / theirs:.2f}"
    ]


if __name__ == "__main__":
    print("\n".join(run(quick=False)))
