"""Files and folders that appear complete or not at all."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from klsnmf.core.writing import exchange, made_aside, remove_leftovers, write_whole, written_aside

WRITER = """
import sys, time
from klsnmf.core.writing import written_aside
with written_aside(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    print("begun", flush=True)
    time.sleep(100)
"""


def names(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def writer(tmp_path):
    """Another process, in the middle of writing a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path / "a"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_file_that_is_written_anew_is_another_file(tmp_path):
    """Whoever has opened the old one reads it to its end: the new one took its name, at once."""
    file = tmp_path / "a"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        write_whole(file, b"new, and longer")
        assert reader.read() == b"old"
    assert file.read_bytes() == b"new, and longer"
    assert names(tmp_path) == ["a"]


def test_a_file_is_on_the_disk_before_it_has_its_name_and_then_the_name_is(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace

    def noted_sync(number):
        done.append(f"sync {Path(os.readlink(f'/proc/self/fd/{number}')).suffix or 'folder'}")
        sync(number)

    def noted_replace(source, target):
        done.append("rename")
        replace(source, target)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not tell which file a number is")
    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_whole(tmp_path / "a", b"content")
    assert done == ["sync .part", "rename", "sync folder"]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ESTALE, errno.EIO, errno.EBUSY])
def test_a_name_that_cannot_change_leaves_the_old_file(number, tmp_path, monkeypatch):
    """As file systems of networks say at times."""
    write_whole(tmp_path / "a", b"old")

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match=re.escape(os.strerror(number))):
        write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_never(tmp_path, writer):
    (aside,) = names(tmp_path)
    os.utime(tmp_path / aside, (0, 0))  # a clock that was set back says nothing
    write_whole(tmp_path / "a", b"mine")
    assert names(tmp_path) == [aside, "a"]
    writer.kill()
    writer.wait()
    write_whole(tmp_path / "b", b"of another name")
    assert names(tmp_path) == [aside, "a", "b"]
    write_whole(tmp_path / "a", b"mine again")
    assert names(tmp_path) == ["a", "b"]


def test_a_folder_is_a_leftover_too(tmp_path):
    child = os.fork()
    if not child:
        with made_aside(tmp_path / "a", Path.mkdir) as aside:
            (aside / "inside").write_text("something")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(names(tmp_path)) == 1
    remove_leftovers(tmp_path / "a")
    assert names(tmp_path) == []


def test_what_only_looks_like_a_leftover_stays(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("of others")
    (tmp_path / f".a.{'0' * 16}.part").symlink_to(precious)
    (tmp_path / ".a.backup.part").write_text("of others")
    (tmp_path / f".b.{'0' * 16}.part").write_text("of others")
    before = names(tmp_path)
    write_whole(tmp_path / "a", b"mine")
    assert names(tmp_path) == sorted([*before, "a"])
    assert precious.read_text() == "of others"


def test_a_name_as_long_as_can_be(tmp_path):
    path = tmp_path / ("é" * 127)
    write_whole(path, b"content")
    assert names(tmp_path) == [path.name]


def test_many_writers_of_one_file(tmp_path):
    """None fails because another took its unfinished file for a leftover."""
    children = []
    for number in range(4):
        child = os.fork()
        if not child:
            status = 1
            try:
                for _ in range(60):
                    write_whole(tmp_path / "a", bytes([number]) * 1000)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    while children:
        content = (tmp_path / "a").read_bytes() if (tmp_path / "a").exists() else bytes(1000)
        assert len(content) == 1000
        assert len(set(content)) == 1
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            children.remove(done)
            assert status == 0
        time.sleep(0.001)
    assert names(tmp_path) == ["a"]


def test_an_error_leaves_nothing_behind(tmp_path):
    write_whole(tmp_path / "a", b"old")

    def fail():
        with written_aside(tmp_path / "a") as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_folders_trade_names(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "inside").write_text(name)
    try:
        exchange(tmp_path / "a", tmp_path / "b")
    except OSError:
        pytest.skip("names cannot trade places on this system")
    assert (tmp_path / "a/inside").read_text() == "b"
    assert (tmp_path / "b/inside").read_text() == "a"
    with pytest.raises(OSError, match="No such file"):
        exchange(tmp_path / "a", tmp_path / "missing")
