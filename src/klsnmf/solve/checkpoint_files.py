"""Checkpoints in files. They are checked against the current fit before they are used."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..core import checks
from ..core.archive import Archive, refused_by
from ..core.checks import need
from ..core.types import Array, Labels
from .fingerprints import differences
from .solution import End, Standing, Start, Status, Trouble, factors_of_labels

#: How many numbers the state of a Mersenne Twister has.
_TWISTER = 624

#: The state of a random generator, as from ``RandomState.get_state``.
Generator = tuple[str, np.ndarray, int, int, float]


class CheckpointError(ValueError):
    """A checkpoint that this fit cannot continue from; the message says why."""

    exit_code = 3


def damaged(path: Path, reason: object) -> CheckpointError:
    said = str(reason).removesuffix(".")
    return CheckpointError(
        f"This fit cannot continue from the checkpoint {path} ({said}). Delete the file, or give "
        "checkpoint another name."
    )


@dataclass(frozen=True)
class Begun:
    """A batch of fits is about to begin: its starts, λ*, and the generator they came from."""

    starts: Sequence[Start]
    threshold: float
    generator: Generator | None

    def check(self, shape: tuple[int, int], dtype: Any) -> None:
        """Raise a ValueError if the starts do not fit the kernel."""
        for start in self.starts:
            _check_factors(start.factors, {"W", "G"}, shape, dtype)


@dataclass(frozen=True)
class Stage:
    """A run of the loop, up to an iteration. Its lists may have grown since."""

    iteration: int
    fits: Sequence[Standing]

    def check(self, starts: Sequence[Mapping[str, Array]], max_iter: int) -> None:
        """Raise a ValueError if fits from such starts cannot have this state."""
        need(len(self.fits) == len(starts), "it has another number of fits")
        need(self.iteration <= max_iter, "it has more iterations than there can be")
        for fit, start in zip(self.fits, starts, strict=True):
            some = next(iter(start.values()))
            if fit.factors:
                _check_factors(fit.factors, set(start), some.shape, some.dtype)
            need(fit.changes.keys() == start.keys(), "changes of other factors are in it")
            if fit.end is not None:
                need(fit.labels.max() < some.shape[1], "a label is too large")


Entry = Begun | Stage


@dataclass(frozen=True)
class Content:
    """A checkpoint: its fit, the generator at the beginning, and what was done since."""

    fingerprint: dict[str, Any]
    generator: Generator | None
    entries: Sequence[Entry]


_ARCHIVE = Archive("checkpoint", 2, Begun, Stage, Standing, End, Status, Trouble)


def write(file: IO[bytes], content: Content) -> None:
    # Not compressed, because factors hardly become smaller, and the fit is waiting.
    entries = [_packed(entry) for entry in content.entries]
    _ARCHIVE.write(file, vars(content) | {"entries": entries}, compressed=False)


def _packed(entry: Entry) -> Entry:
    """The stage with histories up to its iteration, and labels in place of starts."""
    if isinstance(entry, Begun):
        return replace(entry, starts=[_packed_start(start) for start in entry.starts])
    fits = []
    for fit in entry.fits:
        done = min(len(fit.losses), entry.iteration)
        short: dict[str, Any] = {
            "losses": np.array(fit.losses[:done]),
            "changes": {name: np.array(some[:done]) for name, some in fit.changes.items()},
            "labels": fit.labels.astype(np.int32),
        }
        fits.append(replace(fit, **short))
    return replace(entry, fits=fits)


def _packed_start(start: Start) -> Any:
    if start.labels is None:
        return {"way": start.way, "factors": start.factors}
    about = {"way": start.way, "columns": start.k, "dtype": start.factors["G"].dtype.name}
    return about | {"labels": start.labels.astype(np.int32)}


def read(path: Path, fingerprint: dict[str, Any]) -> Content:
    """The checkpoint of the fit with this fingerprint; others are refused."""
    refused = partial(damaged, path)
    with refused_by(refused):
        names = ("fingerprint", "generator", "entries")
        stored = _ARCHIVE.read(path, names, limit=os.stat(path).st_size)
        differ = differences(dict(stored["fingerprint"]), fingerprint)
    if differ:
        raise CheckpointError(
            f"The checkpoint {path} is of another fit: {differ}. Delete the file, or give "
            "checkpoint another name."
        )
    with refused_by(refused):
        samples = fingerprint["shape of X"][0]
        entries = [_unpacked(entry, samples) for entry in stored["entries"]]
        for entry, after in zip(entries, [*entries[1:], None], strict=True):
            lean = isinstance(entry, Stage) and not entry.fits[0].factors
            need(not lean or isinstance(after, Stage), "factors are missing")
        return Content(fingerprint, _unpacked_generator(stored["generator"]), entries)


def _unpacked(entry: Entry, samples: int) -> Entry:
    """An unpacked entry; a ValueError or a similar error if it is not valid."""
    if isinstance(entry, Begun):
        starts = [_unpacked_start(start, samples) for start in entry.starts]
        threshold = float(entry.threshold)
        need(bool(starts) and 0 <= threshold < math.inf, "a batch has no starts, or no threshold")
        return Begun(starts, threshold, _unpacked_generator(entry.generator))
    fits = [_unpacked_fit(fit, samples) for fit in entry.fits]
    done = max((len(fit.losses) for fit in fits), default=0)
    need(done > 0, "a run has no iteration")
    ran = [fit.place for fit in fits if len(fit.losses) == done]
    for places in ([fit.place for fit in fits], ran):
        need(sorted(places) == list(range(len(places))), "fits are not in their places")
    going_on = [fit for fit in fits if fit.end is None]
    need(all(len(fit.losses) == done for fit in going_on), "a fit that goes on is behind others")
    bare = [not fit.factors for fit in fits]
    need(not any(bare) or (all(bare) and not going_on), "factors are missing")
    return Stage(done, fits)


def _unpacked_start(start: Any, samples: int) -> Start:
    way = str(start["way"])
    if "factors" in start:
        return Start(way, {name: _factor(V) for name, V in start["factors"].items()})
    columns, dtype = start["columns"], np.dtype(str(start["dtype"]))
    need(type(columns) is int and 0 < columns <= samples, "a start has no columns")
    need(dtype in (np.float32, np.float64), f"a start holds {dtype}")
    labels = _labels(start["labels"], samples)
    need(labels.max() < columns, "a label is too large")
    W, G = factors_of_labels(labels, columns)
    return Start(way, {"W": W.astype(dtype), "G": G.astype(dtype)})


def _unpacked_fit(fit: Standing, samples: int) -> Standing:
    losses = _history(fit.losses)
    changes = {name: _history(values) for name, values in fit.changes.items()}
    need(len(losses) > 0, "a fit has no history")
    need(all(len(some) == len(losses) for some in changes.values()), "a history is too short")
    need(type(fit.place) is int, "a fit has no place")
    end: Any = fit.end  # so far it may be anything
    if end is not None:
        why = end.trouble is None or isinstance(end.trouble, Trouble)
        need(
            isinstance(end.status, Status) and why and 0 <= end.share <= 1,
            "the end of a fit is invalid",
        )
    return Standing(
        fit.place,
        {name: _factor(V) for name, V in fit.factors.items()},
        losses.tolist(),
        {name: values.tolist() for name, values in changes.items()},
        end,
        np.empty(0, np.intp) if end is None else _labels(fit.labels, samples),
    )


def _check_factors(
    factors: Mapping[str, Array], names: set[str], shape: tuple[int, ...], dtype: Any
) -> None:
    need(factors.keys() == names, "other factors are in it")
    for name, value in factors.items():
        need(value.shape == shape, f"{name} has shape {value.shape} in place of {shape}")
        need(value.dtype == dtype, f"{name} holds {value.dtype} in place of {dtype}")


def _factor(V: Any) -> Array:
    checks.array(V, "a factor", shape=(None, None), least=0)
    need(V.dtype in (np.float32, np.float64), f"a factor holds {V.dtype}")
    return V


def _history(values: Any) -> Array:
    # The history of a fit that collapsed may hold infinite numbers.
    return checks.array(values, "a history", shape=(None,), finite=False)


def _labels(labels: Any, samples: int) -> Labels:
    return checks.array(labels, "labels", "i", (samples,), least=0, most=samples - 1).astype(
        np.intp
    )


def _unpacked_generator(state: Any) -> Generator | None:
    if state is None:
        return None
    name, key, place, has_gauss, gauss = state
    need(name == "MT19937", "the state of a generator is invalid")
    need(key.dtype == np.uint32 and key.shape == (_TWISTER,), "the state of a generator is invalid")
    # numpy does not check this number.
    need(type(place) is int and 0 <= place <= _TWISTER, "the state of a generator is invalid")
    need(type(has_gauss) is int and has_gauss in (0, 1), "the state of a generator is invalid")
    return name, key, place, has_gauss, float(gauss)
