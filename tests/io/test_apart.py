"""Work in a process of its own: what it finds comes back, and whatever ends it is a refusal."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from klsnmf.core.files import UnsafeFileError
from klsnmf.core.memory import NotEnoughMemory
from klsnmf.io import apart as process
from klsnmf.io.apart import apart
from klsnmf.io.table import Choice, InputError, Table


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a file"
    path.write_text("content")
    return path


def table(path: Path, choice: Choice, scale: float) -> Table:
    target = np.empty(3, object)
    target[:] = ["a", None, 3]
    X = sparse.csr_array(scale * np.eye(3, dtype=np.float32))
    return Table(path.read_text(), X, list("xyz"), choice.columns, target, words={"w": ["", None]})


def test_a_table_comes_back_as_it_was(path):
    found = apart(table, path, Choice(columns=["p", "q", "r"]), 0.5)
    assert (found.name, found.ids, found.features) == ("content", ["x", "y", "z"], ["p", "q", "r"])
    assert (found.X.toarray() == 0.5 * np.eye(3)).all()
    assert (found.X.dtype, found.X.indices.dtype) == (np.float32, np.int32)
    assert found.target.dtype == object
    assert found.target.tolist() == ["a", None, 3]
    assert found.words == {"w": ["", None]}


REFUSALS = {each.__name__: each for each in (InputError, UnsafeFileError, NotEnoughMemory)}


def refuse(path: Path, name: str) -> None:
    raise REFUSALS[name](f"{path.name}: no")


def is_gone(path: Path) -> None:
    raise FileNotFoundError(2, "No such file", str(path))


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_comes_back_in_its_words(path, name):
    with pytest.raises(REFUSALS[name], match=r"^a file: no$"):
        apart(refuse, path, name)


def test_a_file_that_is_gone(path):
    with pytest.raises(InputError, match=r"a file: No such file\.$"):
        apart(is_gone, path)


def crash(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def spin(path: Path) -> None:
    while time.process_time() < 10:  # far more than is allowed, but not for ever
        pass


def wait(path: Path) -> None:
    time.sleep(60)


def fail(path: Path) -> None:
    raise KeyError(path)


@pytest.mark.parametrize("function", [crash, spin, wait, fail])
def test_what_does_not_come_to_an_end_is_refused(path, function, monkeypatch):
    monkeypatch.setattr(process, "SECONDS", 2)
    monkeypatch.setattr(process, "_PATIENCE", 1 if function is wait else 1000)
    with pytest.raises(UnsafeFileError, match=r"a file is damaged: .* did not finish"):
        apart(function, path)


def fill(path: Path, size: int) -> int:
    return len(bytearray(size))


def test_memory_is_limited(path):
    assert apart(fill, path, process.ROOM // 4) == process.ROOM // 4
    with pytest.raises(NotEnoughMemory, match="a file does not fit into memory"):
        apart(fill, path, 2 * process.ROOM)


def test_no_files_are_left(path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(path.parent))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(UnsafeFileError):
        apart(crash, path)
    apart(fill, path, 1)
    assert list(path.parent.iterdir()) == [path]
