"""Texts that everybody has: docstrings of functions, with the module that each is from.

    python -m benchmarks.docstrings texts        # a folder, a .txt file a function
    klsnmf cluster texts --label-column folder

Every documented submodule of numpy, scipy and scikit-learn with 40 functions or more that have a
docstring of 200 characters: it says what a function is about, and its module is a class that nobody
chose for clustering. A docstring that stands in several modules is in the first.
"""

from __future__ import annotations

import argparse
import inspect
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

#: The submodules that the packages' own references list; the modules below count as their parents.
MODULES = {
    "numpy": "char fft linalg ma polynomial random",
    "scipy": "cluster.hierarchy cluster.vq constants fft integrate interpolate io linalg ndimage "
    "optimize signal signal.windows sparse sparse.csgraph sparse.linalg spatial spatial.distance "
    "special stats",
    "sklearn": "cluster covariance cross_decomposition datasets decomposition ensemble "
    "feature_extraction feature_selection gaussian_process impute inspection linear_model manifold "
    "metrics metrics.pairwise mixture model_selection multiclass naive_bayes neighbors "
    "neural_network preprocessing svm tree utils",
}

LEAST, LONG = 40, 200


def docstrings(least: int = LEAST) -> list[tuple[str, str, str]]:
    """Module, function and docstring of each, in the order of their names."""
    found: dict[str, tuple[str, str]] = {}
    for package, modules in MODULES.items():
        for module in modules.split():
            home = import_module(f"{package}.{module}")
            for name in getattr(home, "__all__", None) or dir(home):
                if text := _docstring(home, name):
                    parent = f"{package}.{module.split('.')[0]}"
                    found.setdefault(text, (parent, f"{package}.{module}.{name}"))
    counts = Counter(module for module, _ in found.values())
    named = ((module, name, text) for text, (module, name) in found.items())
    return sorted(each for each in named if counts[each[0]] >= least)


def _docstring(home: Any, name: str) -> str:
    """What a public function says of itself, if that is long enough."""
    try:
        item = getattr(home, name)
    except (AttributeError, ImportError):  # what has to be switched on first
        return ""
    function = callable(item) and not inspect.isclass(item) and hasattr(item, "__name__")
    text = inspect.getdoc(item) if function and not name.startswith("_") else None
    return text if text and len(text) >= LONG else ""


def write(folder: Path, least: int = LEAST) -> int:
    """A .txt file for each docstring, in a folder for its module; how many there are."""
    texts = docstrings(least)
    for module, name, text in texts:
        (folder / module).mkdir(parents=True, exist_ok=True)
        (folder / module / f"{name}.txt").write_text(text, encoding="utf-8")
    return len(texts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.docstrings", description=__doc__)
    parser.add_argument("folder", type=Path)
    print(write(parser.parse_args().folder), "texts")
