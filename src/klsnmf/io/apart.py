"""Work of libraries that a damaged file can end or keep busy for ever: in a process of its own.

The process has a limit of memory and of time. What goes in and out are files of arrays and text, so
nothing is unpickled. It is no fence against code: it is there so that a file is refused in words
where a library would crash or hang.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import memory
from ..core.archive import Archive, refused_by
from ..core.files import BEST_RATIO, LIMIT, UnsafeFileError, size_of_regular_file
from .table import Choice, InputError, Table

#: Seconds of the processor for any file, and how many of its bytes are worth one more.
SECONDS = 60
_BYTES_A_SECOND = 2**20

#: How much longer it may take where other programs are busy, or it waits for the disk.
_PATIENCE = 10

#: Bytes of memory for any file, and how often what a file may unpack to can be in memory.
ROOM = 2**30
_COPIES = 4

_MESSAGE = Archive("message", 1, Table, Choice)

#: Errors that go through, by their names.
_REFUSALS = {each.__name__: each for each in (InputError, UnsafeFileError, memory.NotEnoughMemory)}

#: Where this process finds modules, the other must find them too.
_BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from klsnmf.io.apart import work; work(*sys.argv[2:])"
)


def apart(function: Callable[..., Any], path: Path, *values: Any) -> Any:
    """What ``function(path, *values)`` returns, found by another process.

    The function stands in a module of ``klsnmf.io``. Values are numbers, text, arrays, a Choice,
    lists and mappings of them, or a Table.
    """
    size = size_of_regular_file(path)
    seconds = SECONDS + size // _BYTES_A_SECOND
    with TemporaryDirectory(prefix="klsnmf-") as folder:
        asked, found = Path(folder, "asked.npz"), Path(folder, "found.npz")
        call = {
            "module": function.__module__,
            "function": function.__name__,
            "values": [str(path), *values],
            "seconds": seconds,
            "room": ROOM + _COPIES * min(LIMIT, BEST_RATIO * size),
        }
        _write(asked, call)
        paths = json.dumps([each or str(Path.cwd()) for each in sys.path])
        command = [sys.executable, "-c", _BEGIN, paths, str(asked), str(found)]
        try:
            ended = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE * seconds,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            ended = None
        if ended == 0:
            return _answer(found)
    raise UnsafeFileError(f"{path} is damaged: the library that reads such files did not finish.")


def _write(path: Path, content: dict[str, Any]) -> None:
    with path.open("wb") as file:
        _MESSAGE.write(file, content, compressed=False)


def _answer(found: Path) -> Any:
    with refused_by(lambda reason: UnsafeFileError(f"A process gave no answer: {reason}.")):
        answer = _MESSAGE.read(found, ("refusal", "words", "value"))
    if answer["refusal"]:
        raise _REFUSALS[answer["refusal"]](answer["words"])
    value = answer["value"]
    if isinstance(value, Table) and value.target is not None:
        value = replace(value, target=_objects(list(value.target)))
    return value


def _objects(values: list[Any]) -> NDArray[Any]:
    """Classes, which are text, numbers and None: archives have lists of these, and no arrays."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


def work(asked: str, found: str) -> None:
    """In the other process: call the function, and write what it returned or refused."""
    call = _MESSAGE.read(asked, ("module", "function", "values", "seconds", "room"))
    function = getattr(import_module(call["module"]), call["function"])
    path, *values = call["values"]
    _limit(call["seconds"], call["room"])
    answer: dict[str, Any] = {"refusal": "", "words": "", "value": None}
    try:
        value = function(Path(path), *values)
        if isinstance(value, Table) and value.target is not None:
            value = replace(value, target=value.target.tolist())
        answer["value"] = value
    except tuple(_REFUSALS.values()) as error:
        answer |= {"refusal": type(error).__name__, "words": str(error)}
    except MemoryError:
        answer |= {"refusal": "NotEnoughMemory", "words": f"{path} does not fit into memory."}
    except OSError as error:
        answer |= {"refusal": "InputError", "words": f"{path}: {error.strerror or error}."}
    _write(Path(found), answer)


def _limit(seconds: int, room: int) -> None:
    """No more than this of the processor and of memory, where the system has such limits."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
