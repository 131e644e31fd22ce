"""All benchmarks: ``python -m benchmarks.run``, or ``--quick`` for a reduced run."""

from __future__ import annotations

import argparse
import platform
import time

import numpy
import scipy
import sklearn

import klsnmf

from . import batch, family, import_time, page, starts, to_the_letter

PARTS = {
    "The paper's rules, to the letter": to_the_letter,
    "Many fits over one K": batch,
    "Many runs of k-means": starts,
    "Time and memory": page,
    "The family": family,
    "Import": import_time,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer seeds")
    quick = parser.parse_args().quick
    print(
        f"klsnmf {klsnmf.__version__}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, Python {platform.python_version()}"
    )
    for title, part in PARTS.items():
        start = time.perf_counter()
        lines = part.run(quick)
        print(f"\n## {title}\n", *lines, sep="\n", end="\n\n")
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
