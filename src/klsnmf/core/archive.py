"""Values in files: arrays in a plain .npz archive, and one text in JSON that says what they are.

Reading runs nothing from the file. The file names classes, but only those in a table of the reader
are known, and all of them are records of data. ``files`` reads archives. ``checks`` checks sparse
matrices, because the loops that use them do not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from enum import Enum
from typing import IO, Any

import numpy as np
from scipy import sparse

from . import checks, files, memory
from .checks import need
from .signals import undisturbed

#: The longest text, in bytes; names of columns are most of it. And how many bytes of memory one
#: byte may need: an empty list takes two bytes of text.
_LONGEST_TEXT = 2**26
_GROWTH = 32

#: The errors that wrong content causes while it is read.
_DAMAGE = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(OverflowError, RecursionError),
)


@contextmanager
def refused_by(refusal: Callable[[object], Exception]) -> Iterator[None]:
    """Refuse content that turns out to be wrong, whatever error it causes, with the reason."""
    try:
        yield
    except _DAMAGE as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise refusal(reason) from error


class Archive:
    """One kind of file.

    Parameters
    ----------
    entry : the name of the text in the archive; all files of this kind have the format
        "klsnmf" and that name
    version : files of other versions are refused
    records : dataclasses and enumerations that may be in a file
    **older : replacements for records that only older files have
    """

    def __init__(
        self, entry: str, version: int, *records: type, **older: Callable[..., Any]
    ) -> None:
        self.entry, self.version = entry, version
        self.records: Mapping[str, Any] = {record.__name__: record for record in records} | older

    @property
    def _heading(self) -> dict[str, Any]:
        return {"format": f"klsnmf {self.entry}", "version": self.version}

    def write(self, file: IO[bytes], content: Mapping[str, Any], *, compressed: bool) -> None:
        arrays: dict[str, np.ndarray] = {}
        nodes = {name: self.encode(value, arrays, name) for name, value in content.items()}
        text = json.dumps(self._heading | nodes)
        arrays[self.entry] = np.frombuffer(text.encode(), np.uint8)
        save: Any = np.savez_compressed if compressed else np.savez
        with undisturbed():  # an archive that is left with an open part cannot be closed
            save(file, allow_pickle=False, **arrays)

    def read(
        self, path: str | os.PathLike[str], names: tuple[str, ...], limit: int = files.LIMIT
    ) -> dict[str, Any]:
        """What was written under these names; an error of `refused_by` if it is missing."""
        arrays = files.read_npz(path, limit)
        text = arrays.pop(self.entry)
        need(
            text.dtype == np.uint8 and text.ndim == 1 and text.size <= _LONGEST_TEXT,
            "its text is not text",
        )
        memory.require(_GROWTH * text.size, f"The text of {path}", "It is probably damaged.")
        stored = json.loads(text.tobytes())
        need(stored["format"] == self._heading["format"], "its text is of another kind")
        version = stored["version"]
        need(
            version == self.version,
            f"its format is version {version!r:.20}, and this klsnmf knows {self.version}",
        )
        return {name: self.decode(stored[name], arrays) for name in names}

    def encode(self, value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
        """A value as JSON. Arrays are stored separately, by name. ``where`` is for messages."""

        def put_aside(array: np.ndarray) -> str:
            name = f"array_{len(arrays)}"
            arrays[name] = array
            return name

        kind = type(value).__name__
        if type(value) is self.records.get(kind):
            if isinstance(value, Enum):
                return {"record": kind, "name": value.name}
            held = {field.name: getattr(value, field.name) for field in fields(value)}
            return {"record": kind, "fields": self.encode_each(held, arrays, where)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, np.bool_ | np.integer | np.floating | np.str_):
            return value.item()
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
            return {"array": put_aside(value)}
        if isinstance(value, np.ndarray) and all(isinstance(name, str) for name in value.tolist()):
            return {"names": value.tolist()}
        if sparse.issparse(value):
            matrix = sparse.csr_array(value)
            parts = [put_aside(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
            return {"sparse": parts, "shape": list(matrix.shape)}
        if isinstance(value, list | tuple):
            items = [self.encode(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"tuple": items} if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            return {"dict": self.encode_each(value, arrays, where)}
        raise ValueError(
            f"{where} is of type {kind}, which a {self.entry} file does not hold: it holds "
            "numbers, text and arrays, no functions and no generators. Give it in another form, "
            "and fit again."
        )

    def encode_each(
        self, parts: Mapping[str, Any], arrays: dict[str, np.ndarray], where: str
    ) -> dict[str, Any]:
        return {
            str(name): self.encode(part, arrays, f"{where}.{name}") for name, part in parts.items()
        }

    def decode(self, node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
        """The value of a node; an error of `refused_by` if it is invalid."""
        if isinstance(node, list):
            return [self.decode(item, arrays) for item in node]
        if not isinstance(node, dict):
            return node
        if "array" in node:
            return arrays[node["array"]]
        if "names" in node:
            return np.array([str(name) for name in node["names"]], dtype=object)
        if "sparse" in node:
            data, indices, indptr = (arrays[name] for name in node["sparse"])
            return checks.csr(data, indices, indptr, node["shape"], "a sparse matrix in it")
        if "tuple" in node:
            return tuple(self.decode(item, arrays) for item in node["tuple"])
        if "dict" in node:
            return self.decode_each(node["dict"], arrays)
        record = self.records[node["record"]]
        if "name" in node:
            return record[node["name"]]
        return record(**self.decode_each(node["fields"], arrays))

    def decode_each(
        self, nodes: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> dict[str, Any]:
        return {name: self.decode(node, arrays) for name, node in nodes.items()}
