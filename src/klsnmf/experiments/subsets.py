"""The data sets as the experiments see them: random subsets of their classes, and their width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.metrics import pairwise_distances

from ..core.types import Array, Labels
from ..datasets.arrays import as_arrays, content_hash
from ..datasets.registry import REGISTRY
from ..datasets.store import DatasetError, load


@dataclass(frozen=True)
class Samples:
    """A data set as the experiments see it."""

    X: Array  # (n, p)
    y: Labels  # (n,)
    n_classes: int
    image_shape: tuple[int, int]
    hash: str


@lru_cache(maxsize=2)
def samples(name: str, data_home: str | None) -> Samples:
    """A data set by name, in single precision."""
    data = load(name, data_home)
    classes = len(np.unique(data.target))
    found = content_hash(as_arrays(data.data, data.target, data.image_shape))
    return Samples(data.data.astype(np.float32), data.target, classes, data.image_shape, found)


@lru_cache
def identity(name: str, data_home: str | None) -> tuple[str, int]:
    """The hash of a data set and its number of classes, as it is here, or as it is published."""
    if not is_here(name, data_home):
        dataset = REGISTRY[name]
        return dataset.content, dataset.n_classes
    data = samples(name, data_home)
    return data.hash, data.n_classes


def is_here(name: str, data_home: str | None) -> bool:
    """Whether a data set can be loaded without the network."""
    try:
        load(name, data_home, download=False)
    except DatasetError:
        return False
    return True


def classes_of(n_classes: int, size: int, subset: int, seed: int) -> Sequence[int]:
    """The classes of a subset: a random choice that depends on nothing but these four numbers."""
    if size == n_classes:
        return range(n_classes)
    rng = np.random.default_rng([seed, n_classes, size, subset])
    return sorted(int(c) for c in rng.choice(n_classes, size, replace=False))


def width(X: Array, r: float) -> float:
    """σ for which exp(-d²/(2σ²)) is exp(-d²/(r max d²)): r is in units of the data."""
    return math.sqrt(r / 2) * float(pairwise_distances(X).max())
