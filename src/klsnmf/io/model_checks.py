"""Checks of every array of a fitted model before it is used: it may come from a stranger."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy import sparse

from ..core import checks
from ..core.checks import need


@dataclass(frozen=True)
class _Wanted:
    """What an array must be.

    Attributes
    ----------
    sides : one letter for each side: n samples of the fit, l samples with labels, k clusters, p
        features, m kernels. Other letters must mean the same number throughout a record. ``?`` is
        any number.
    kind : the kind of its numbers, as in numpy
    least, most : the range of its entries; a letter means one less than that side
    scalar : whether a single number, or None, may stand in its place
    """

    sides: str
    kind: str = "f"
    least: float | None = None
    most: float | str | None = None
    scalar: bool = False


#: By the name of the attribute, or by the names of the record and its field.
WANTED = {
    "labels_": _Wanted("l", "i", 0, "k"),
    "_clusters": _Wanted("n", "i", 0, "k"),
    "labels_ with outliers": _Wanted("l", "i", -1, "k"),
    "W_": _Wanted("nk", least=0),
    "G_": _Wanted("nk", least=0),
    "strengths_": _Wanted("l", least=0, most=1),
    "fitted_on_": _Wanted("n", "i", 0, scalar=True),
    "components_": _Wanted("kp"),
    "cluster_centers_": _Wanted("kp"),
    "kernel_weights_": _Wanted("m", least=0),
    "radius_": _Wanted("n", least=0, scalar=True),
    "FittedKernel.X": _Wanted("np"),
    "FittedKernel.r": _Wanted("n", least=0),
    "FittedKernel.reach": _Wanted("n", least=0),
    "FittedKernel.width": _Wanted("n", least=0, scalar=True),
    "LiftedKernel.X": _Wanted("np"),
    "LiftedKernel.mean": _Wanted("p"),
    "PrecomputedKernel.diagonal": _Wanted("n", least=0),
    "CopiedKernel.which": _Wanted("n", "i", 0, "n"),
    "Links.N": _Wanted("nn", least=0),
    "Diffusion.S": _Wanted("nn"),
    "Diffusion.degrees": _Wanted("n", least=0),
    "Diffusion.c": _Wanted("n1"),
    "SpectralDiffusion.U": _Wanted("ne"),
    "SpectralDiffusion.values": _Wanted("e"),
    "SpectralDiffusion.degrees": _Wanted("n", least=0),
    "SpectralDiffusion.c": _Wanted("n1"),
    "NewSamples.C": _Wanted("kk"),
    "NewSamples.sums": _Wanted("k", least=0),
    "NewSamples.lengths": _Wanted("k"),
    "NearestMean.C": _Wanted("kk"),
    "NearestMean.sums": _Wanted("k", least=0),
    "NearestMean.lengths": _Wanted("k"),
    "NearestMean.length": _Wanted("k", least=0),
    "Neighbourhoods.X": _Wanted("np"),
    "Neighbourhoods.wide": _Wanted("n", least=0),
    "Sketch.X": _Wanted("sp"),
    "Sketch.keys": _Wanted("s", least=0, most=1),
    "Sketch.places": _Wanted("s", "i", 0),
    **{f"Sketch.{name}": _Wanted("", scalar=True) for name in ("size", "seed", "seen")},
    "Stream.wide": _Wanted("n", least=0, scalar=True),
    **{f"Stream.{name}": _Wanted("", scalar=True) for name in ("renewed", "usual", "strange")},
    "Level.labels": _Wanted("n", "i", 0, "n"),
    "Grouped.number": _Wanted("?", "i", 0, "k"),
}

#: Records of which all else is about fewer samples: the field that says which one each sample is.
_OF_FEWER = {"CopiedKernel": "which"}

#: The largest whole number of a model. JSON allows any length, but compiled code does not.
_LARGEST = 2**53

#: Attributes that are only shown. The history of a fit that failed may hold infinite numbers.
_SHOWN = ("history_", "n_clusters_evidence_", "objective_", "inertia_", "verdict_", "notes_")


def check(estimator: Any) -> None:
    """Raise a ValueError if any array of an estimator could not come from a fit."""
    held = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    own = {name: value for name, value in vars(estimator).items() if name.startswith("_")}
    sizes = _sizes(estimator)
    for name, value in (held | own).items():
        apart = name == "labels_" and "_neighbourhoods" in own  # where outliers have the label -1
        if name not in _SHOWN:
            _look(value, "labels_ with outliers" if apart else name, sizes)


def _sizes(estimator: Any) -> dict[str, int]:
    """How many samples, clusters and features a model says it has."""
    p = estimator.n_features_in_
    need(type(p) is int and p > 0, "n_features_in_ is no number of features")
    some = getattr(estimator, "G_", None)
    some = estimator.cluster_centers_.T if some is None else some
    checks.array(some, "a factor", shape=(None, None))
    labelled = n = len(checks.array(estimator.labels_, "labels_", "i", (None,)))
    if getattr(estimator, "fitted_on_", None) is not None:  # a part of those with labels, or others
        n = len(estimator.G_)
        need(hasattr(estimator, "_clusters"), "it has no labels of the samples of its fit")
    k = getattr(estimator, "n_clusters_", some.shape[1])
    need(type(k) is int and 0 < k <= n, "n_clusters_ is no number of clusters")
    kernel = getattr(estimator, "kernel", None)
    several = len(kernel) if isinstance(kernel, list | tuple) else 1
    return {"n": n, "k": k, "p": p, "m": several, "l": labelled, "1": 1}


def _look(value: Any, name: str, sizes: dict[str, int]) -> None:
    """Check a value and everything in it."""
    if hasattr(value, "get_params"):
        check(value)
    elif is_dataclass(value) and not isinstance(value, type):
        inside = dict(sizes)  # letters of this record only
        kind, parts = type(value).__name__, {f.name: getattr(value, f.name) for f in fields(value)}
        if kind in _OF_FEWER:
            which = parts.pop(_OF_FEWER[kind])
            _look(which, f"{kind}.{_OF_FEWER[kind]}", inside)
            inside["n"] = int(which.max()) + 1
        for field, part in parts.items():
            _look(part, f"{kind}.{field}", inside)
    elif isinstance(value, list | tuple):
        for item in value:
            _look(item, name, sizes)
    elif name in WANTED:
        _require(value, name, WANTED[name], sizes)
    elif isinstance(value, np.ndarray) or sparse.issparse(value):
        numbers = value.data if sparse.issparse(value) else value
        checks.array(numbers, name, "biufUO")
    elif isinstance(value, float):
        need(math.isfinite(value), f"{name} is not finite")
    elif isinstance(value, int):
        need(abs(value) <= _LARGEST, f"{name} is too large a number")
    else:
        known = value is None or isinstance(value, bool | int | str | dict | Enum)
        need(known, f"{name} is of type {type(value).__name__}")


def _require(value: Any, name: str, wanted: _Wanted, sizes: dict[str, int]) -> None:
    if wanted.scalar and not isinstance(value, np.ndarray):
        sound = value is None or (isinstance(value, int | float) and 0 <= value < math.inf)
        return need(sound, f"{name} is no number")
    numbers = value.data if sparse.issparse(value) else value
    shape = getattr(value, "shape", ())
    need(len(shape) == len(wanted.sides), f"{name} has shape {shape}")
    for letter, side in zip(wanted.sides, shape, strict=True):
        expected = side if letter == "?" else sizes.setdefault(letter, side)
        need(side == expected, f"{name} has shape {shape}, and one side should be {expected}")
    most = sizes[wanted.most] - 1 if isinstance(wanted.most, str) else wanted.most
    checks.array(numbers, name, wanted.kind, least=wanted.least, most=most)
