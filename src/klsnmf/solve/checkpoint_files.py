"""Checkpoints in files: arrays, and one text in JSON, ``checkpoint``, that says what they are.

A file is a plain .npz archive, read by ``klsnmf.core.files``: nothing in it is run, and nothing is
believed until it has been compared with the fit that asks for it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..core import files
from ..core.types import Array, Labels
from .fingerprints import differences
from .loop import Standing, Status
from .starts import Start, labels_of, start_of_labels

FORMAT = "klsnmf checkpoint"
VERSION = 1

#: The longest text of a checkpoint, in bytes, and the longest verdict in it.
_LONGEST_TEXT = 2**26
_LONGEST_VERDICT = 1000

#: Numbers in the state of a Mersenne Twister.
_TWISTER = 624

#: The state of a random generator, as ``RandomState.get_state`` has it.
Generator = tuple[str, np.ndarray, int, int, float]


class CheckpointError(ValueError):
    """A checkpoint that this fit cannot go on from; the message says why."""

    exit_code = 3


@dataclass(frozen=True)
class Begun:
    """A batch of fits is about to begin: its starts, λ*, and the generator they came from."""

    starts: Sequence[Start]
    threshold: float
    generator: Generator | None


@dataclass(frozen=True)
class Stage:
    """A run of the loop, up to an iteration. Lists in it may have grown longer since."""

    iteration: int
    fits: Sequence[Standing]


Entry = Begun | Stage


@dataclass(frozen=True)
class Content:
    """A checkpoint: which fit it is of, the generator it began with, and what was done since."""

    fingerprint: dict[str, Any]
    generator: Generator | None
    entries: Sequence[Entry]


def write(file: IO[bytes], content: Content) -> None:
    arrays: dict[str, np.ndarray] = {}
    text = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": content.fingerprint,
        "generator": _pack_generator(content.generator, "begin", arrays),
        "entries": [
            (_pack_begun if isinstance(entry, Begun) else _pack_stage)(entry, str(place), arrays)
            for place, entry in enumerate(content.entries)
        ],
    }
    arrays["checkpoint"] = np.frombuffer(json.dumps(text).encode(), np.uint8)
    # Not compressed: factors hardly become smaller, and the fit is waiting.
    np.savez(file, **arrays)  # type: ignore[arg-type]


def read(path: Path, fingerprint: dict[str, Any]) -> Content:
    """The checkpoint of the fit with this fingerprint; anything else is refused."""
    try:
        arrays = files.read_npz(path, limit=os.stat(path).st_size)
        text = arrays.pop("checkpoint")
        _need(text.dtype == np.uint8 and text.size <= _LONGEST_TEXT, "its text is not text")
        stored = json.loads(text.tobytes())
        _need(stored["format"] == FORMAT, "its text is of another kind")
        _need(stored["version"] == VERSION, f"its format is version {stored['version']!r:.20}")
        then = dict(stored["fingerprint"])
        if differ := differences(then, fingerprint):
            raise CheckpointError(
                f"The checkpoint {path} is of another fit: {differ}. Delete the file, or give "
                "checkpoint another name."
            )
        generator = _unpack_generator(stored["generator"], "begin", arrays)
        samples = fingerprint["shape of X"][0]
        entries = [
            _unpack(entry, str(place), arrays, samples)
            for place, entry in enumerate(stored["entries"])
        ]
        for entry, after in zip(entries, [*entries[1:], None], strict=True):
            lean = isinstance(entry, Stage) and not entry.fits[0].factors
            _need(not lean or isinstance(after, Stage), "factors are missing")
    except CheckpointError:
        raise
    except (*_DAMAGE, files.UnsafeFileError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise damaged(path, reason) from error
    return Content(then, generator, entries)


#: What wrong content leads to while it is looked at.
_DAMAGE = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(OverflowError, RecursionError),
)


def damaged(path: Path, reason: object) -> CheckpointError:
    said = str(reason).removesuffix(".")
    return CheckpointError(
        f"{path} is no checkpoint that this fit can go on from ({said}). Delete the file, or give "
        "checkpoint another name."
    )


def check_starts(starts: Sequence[Start], shape: tuple[int, int], dtype: Any) -> None:
    """That stored starts go with a kernel: a ValueError if not."""
    for start in starts:
        _check_factors(start.factors, {"W", "G"}, shape, dtype)


def check_stage(stage: Stage, starts: Sequence[Mapping[str, Array]], max_iter: int) -> None:
    """That fits from such starts can stand as the stage says: a ValueError if not."""
    _need(len(stage.fits) == len(starts), "it has another number of fits")
    _need(stage.iteration <= max_iter, "it has more iterations than there can be")
    for fit, start in zip(stage.fits, starts, strict=True):
        some = next(iter(start.values()))
        if fit.factors:
            _check_factors(fit.factors, set(start), some.shape, some.dtype)
        _need(fit.changes.keys() == start.keys(), "changes of other factors are in it")
        if fit.status is not None:
            _need(fit.labels.max() < some.shape[1], "a label is too large")


def _check_factors(
    factors: Mapping[str, Array], names: set[str], shape: tuple[int, ...], dtype: Any
) -> None:
    _need(factors.keys() == names, "other factors are in it")
    for name, value in factors.items():
        _need(value.shape == shape, f"{name} has shape {value.shape} in place of {shape}")
        _need(value.dtype == dtype, f"{name} holds {value.dtype} in place of {dtype}")


def _need(condition: bool, reason: str) -> None:
    if not condition:
        raise ValueError(reason)


def _pack_begun(entry: Any, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    starts = []
    for place, start in enumerate(entry.starts):
        labels = labels_of(start)
        parts = start.factors if labels is None else {"labels": labels.astype(np.int32)}
        arrays |= {f"{name}.{place}.{part}": value for part, value in parts.items()}
        G = start.factors["G"]
        starts.append({"way": start.way, "columns": G.shape[1], "dtype": G.dtype.name})
    generator = _pack_generator(entry.generator, name, arrays)
    return {"starts": starts, "threshold": entry.threshold, "generator": generator}


def _pack_stage(entry: Any, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    fits = []
    for place, fit in enumerate(entry.fits):
        parts = dict(fit.factors) | {"losses": np.array(fit.losses[: entry.iteration])}
        for factor, values in fit.changes.items():
            parts[f"change.{factor}"] = np.array(values[: len(parts["losses"])])
        if fit.status is not None:
            parts["labels"] = fit.labels.astype(np.int32)
        arrays |= {f"{name}.{place}.{part}": value for part, value in parts.items()}
        status = None if fit.status is None else fit.status.name
        about = {"place": fit.place, "status": status, "verdict": fit.verdict}
        fits.append(about | {"factors": list(fit.factors), "changes": list(fit.changes)})
    return {"fits": fits}


def _unpack(entry: Any, name: str, arrays: dict[str, np.ndarray], samples: int) -> Entry:
    if "starts" in entry:
        starts = [
            _unpack_start(start, f"{name}.{place}", arrays, samples)
            for place, start in enumerate(entry["starts"])
        ]
        threshold = float(entry["threshold"])
        _need(bool(starts) and 0 <= threshold < math.inf, "a batch has no starts, or no threshold")
        return Begun(starts, threshold, _unpack_generator(entry["generator"], name, arrays))
    fits = [
        _unpack_fit(fit, f"{name}.{place}", arrays, samples)
        for place, fit in enumerate(entry["fits"])
    ]
    done = max((len(fit.losses) for fit in fits), default=0)
    _need(done > 0, "a run has no iteration")
    places = [fit.place for fit in fits]
    ran = [fit.place for fit in fits if len(fit.losses) == done]
    _need(sorted(places) == list(range(len(fits))), "fits are not in their places")
    _need(sorted(ran) == list(range(len(ran))), "fits are not in their places")
    ended = [fit.status is not None for fit in fits]
    lost = [not end and len(fit.losses) < done for end, fit in zip(ended, fits, strict=True)]
    _need(not any(lost), "a fit that goes on has fewer iterations")
    bare = [not fit.factors for fit in fits]
    _need(not any(bare) or (all(bare) and all(ended)), "factors are missing")
    return Stage(done, fits)


def _unpack_start(about: Any, name: str, arrays: dict[str, np.ndarray], samples: int) -> Start:
    columns, dtype, way = about["columns"], np.dtype(str(about["dtype"])), str(about["way"])
    _need(type(columns) is int and 0 < columns <= samples, "a start has no columns")
    _need(dtype in (np.float32, np.float64), f"a start holds {dtype}")
    if f"{name}.labels" in arrays:
        labels = _labels(arrays[f"{name}.labels"], samples)
        _need(labels.max() < columns, "a label is too large")
        return start_of_labels(way, labels, columns, lambda V: V.astype(dtype))
    return Start(way, {factor: _numbers(arrays[f"{name}.{factor}"], 2) for factor in ("W", "G")})


def _unpack_fit(about: Any, name: str, arrays: dict[str, np.ndarray], samples: int) -> Standing:
    losses = _numbers(arrays[f"{name}.losses"], 1)
    changes = {
        str(factor): _numbers(arrays[f"{name}.change.{factor}"], 1) for factor in about["changes"]
    }
    _need(len(losses) > 0, "a fit has no history")
    _need(all(len(some) == len(losses) for some in changes.values()), "a history is too short")
    status = None if about["status"] is None else Status[about["status"]]
    labels = np.empty(0, np.intp) if status is None else arrays[f"{name}.labels"]
    place, verdict = about["place"], about["verdict"]
    _need(type(place) is int, "a fit has no place")
    _need(isinstance(verdict, str) and len(verdict) <= _LONGEST_VERDICT, "a verdict is no text")
    return Standing(
        place,
        {str(factor): _numbers(arrays[f"{name}.{factor}"], 2) for factor in about["factors"]},
        losses.tolist(),
        {factor: values.tolist() for factor, values in changes.items()},
        status,
        verdict,
        labels if status is None else _labels(labels, samples),
    )


def _numbers(array: np.ndarray, axes: int) -> Array:
    _need(array.dtype in (np.float32, np.float64) and array.ndim == axes, "an array is of no use")
    return array


def _labels(array: np.ndarray, samples: int) -> Labels:
    _need(array.dtype == np.int32 and array.shape == (samples,), "labels are of another kind")
    _need(array.min() >= 0, "a label is negative")
    return array.astype(np.intp)


def _pack_generator(
    state: Generator | None, name: str, arrays: dict[str, np.ndarray]
) -> dict[str, Any] | None:
    if state is None:
        return None
    arrays[f"{name}.generator"] = state[1]
    return {"place": state[2], "has_gauss": state[3], "gauss": state[4]}


def _unpack_generator(about: Any, name: str, arrays: dict[str, np.ndarray]) -> Generator | None:
    if about is None:
        return None
    key, place, has = arrays[f"{name}.generator"], about["place"], about["has_gauss"]
    _need(key.dtype == np.uint32 and key.shape == (_TWISTER,), "a generator is none")
    # numpy reads the number at this place without a look.
    _need(type(place) is int and 0 <= place <= _TWISTER, "a generator is none")
    _need(type(has) is int and has in (0, 1), "a generator is none")
    return "MT19937", key, place, has, float(about["gauss"])
