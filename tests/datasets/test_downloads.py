"""Downloads from a server on the loopback address: a whole file with the right hash, or nothing."""

import errno
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from klsnmf.datasets import REGISTRY, DatasetError, DatasetNotFoundError, load
from klsnmf.datasets.download import progress_bar

from ..small_sets import answer, assert_same, empty_home, names_in, serving, shrink, zip_of

PATH = "/semeion.data"


@pytest.fixture
def home(tmp_path, monkeypatch):
    return empty_home(tmp_path, monkeypatch)


@pytest.fixture
def pages():
    return {}


@pytest.fixture
def semeion(home, pages, monkeypatch):
    """The arrays and the original of a small set that is downloaded from the server."""
    with serving(pages) as root:
        yield shrink(monkeypatch, "semeion", root + PATH)


def test_a_set_is_downloaded_once(home, pages, semeion):
    arrays, content = semeion
    pages[PATH] = content
    assert_same(load("semeion"), arrays)
    assert (home / "semeion.data").read_bytes() == content
    pages.clear()
    assert_same(load("semeion"), arrays)
    assert names_in(home) == ["semeion.data"]


def test_folders_are_made(home, pages, semeion):
    arrays, content = semeion
    pages[PATH] = content
    assert_same(load("semeion", home / "a" / "b"), arrays)
    assert names_in(home / "a" / "b") == ["semeion.data"]


def test_the_server_does_not_choose_the_name(home, pages, semeion):
    arrays, content = semeion
    disposition = 'attachment; filename="../evil"'
    pages[PATH] = lambda handler: answer(handler, content, Content_Disposition=disposition)
    assert_same(load("semeion"), arrays)
    assert names_in(home) == ["semeion.data"]
    assert names_in(home.parent) == ["data"]


def test_redirection_and_a_length_that_is_not_told(home, pages, semeion):
    arrays, content = semeion
    pages[PATH] = lambda handler: answer(handler, b"", 302, Location="/elsewhere")
    pages["/elsewhere"] = lambda handler: answer(handler, content, Content_Length=None)
    assert_same(load("semeion"), arrays)


def redirected(target):
    return lambda content: lambda handler: answer(handler, b"", 302, Location=target)


HOSTILE_ANSWERS = {
    "not found": (lambda content: None, "answered 404"),
    "another file": (lambda content: b"7" + content[1:], "not the one expected"),
    "an archive": (lambda content: zip_of([("../evil", b"")]), "not the one expected"),
    "nothing": (lambda content: b"", "not the one expected"),
    "too much": (lambda content: content + b" ", "more than the"),
    "too much, not told": (
        lambda content: lambda handler: answer(handler, content + b" ", Content_Length=None),
        "sends more than the",
    ),
    "a body that breaks off": (
        lambda content: lambda handler: answer(handler, content[:99], Content_Length=len(content)),
        "broke off at 99 of",
    ),
    "a length that is no number": (
        lambda content: lambda handler: answer(handler, content[:99], Content_Length="-1"),
        "not the one expected|broke off",
    ),
    "no http": (
        lambda content: lambda handler: handler.wfile.write(b"220 ready\r\n"),
        "could not be reached",
    ),
    "a redirection to a file": (redirected("file:///etc/hostname"), "answered 302|not be reached"),
    "a redirection to ftp": (redirected("ftp://127.0.0.1/x"), "could not be reached"),
    "an error with words of its own": (
        lambda content: lambda handler: handler.wfile.write(b"HTTP/1.1 500 \x1b[2J evil\r\n\r\n"),
        "answered 500 .Internal Server Error",
    ),
    "a redirection to itself": (redirected(PATH), "answered 302"),
}


@pytest.mark.parametrize("kind", HOSTILE_ANSWERS)
def test_hostile_answers(kind, home, pages, semeion):
    page, words = HOSTILE_ANSWERS[kind]
    pages[PATH] = page(semeion[1])
    with pytest.raises(DatasetNotFoundError, match=words) as refusal:
        load("semeion")
    text = str(refusal.value)
    assert "\n" not in text
    for remedy in ("by hand", REGISTRY["semeion"].address, str(home), "KLSNMF_DATA"):
        assert remedy in text
    assert names_in(home) == []
    assert names_in(home.parent) == ["data"]


def test_no_network(home, monkeypatch):
    with serving({}) as root:
        pass
    shrink(monkeypatch, "semeion", root + PATH)  # nobody listens there any more
    with pytest.raises(DatasetNotFoundError, match=r"could not be reached.*by hand"):
        load("semeion", home / "new")
    assert names_in(home) == []


def test_only_the_web(home, monkeypatch):
    shrink(monkeypatch, "semeion", (home / "secret").as_uri())
    with pytest.raises(DatasetNotFoundError, match="not a web address"):
        load("semeion")


def test_a_download_with_the_wrong_pixels_is_refused(home, pages, semeion, monkeypatch):
    pages[PATH] = semeion[1]
    other = replace(REGISTRY["semeion"], image_shape=(8, 8))
    monkeypatch.setitem(REGISTRY, "semeion", other)
    with pytest.raises(DatasetError, match="refused"):
        load("semeion")


# ---------------------------------------------------------------------- the disk


def test_a_folder_that_cannot_be_made(home, pages, semeion):
    pages[PATH] = semeion[1]
    (home / "file").write_text("")
    with pytest.raises(DatasetError, match=r"could not be stored in .*another folder"):
        load("semeion", home / "file" / "data")
    assert names_in(home) == ["file"]


def test_no_permission(home, pages, semeion):
    pages[PATH] = semeion[1]
    home.chmod(0o500)
    if os.access(home, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(DatasetError, match=r"could not be stored in .*another folder"):
        load("semeion")
    assert names_in(home) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk(number, home, pages, semeion, monkeypatch):
    def fail(_):
        raise OSError(number, os.strerror(number))

    pages[PATH] = semeion[1]
    (home / "yale.npz").write_bytes(b"an earlier file")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DatasetError, match=r"could not be stored in .*another folder"):
        load("semeion")
    assert names_in(home) == ["yale.npz"]


def test_an_interrupt_leaves_nothing_behind(home, pages, semeion, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    pages[PATH] = semeion[1]
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load("semeion")
    assert names_in(home) == []


FETCH = """
import sys
from dataclasses import replace
from klsnmf.datasets.registry import REGISTRY
from klsnmf.datasets.store import data_folder, fetch
url, sha256, size = sys.argv[1:]
dataset = REGISTRY["semeion"]
original = replace(dataset.original, url=url, sha256=(sha256,), size=int(size))
fetch(replace(dataset, original=original), data_folder())
"""


def test_two_processes_at_once(home, pages, semeion):
    """Whoever looks into the folder sees the whole file or none, and both processes succeed."""
    _, content = semeion
    both = threading.Barrier(2, timeout=60)

    def slowly(handler):
        both.wait()
        answer(handler, b"", Content_Length=len(content))
        for start in range(0, len(content), 4000):
            handler.wfile.write(content[start : start + 4000])
            time.sleep(0.02)

    pages[PATH] = slowly
    original = REGISTRY["semeion"].original
    command = [sys.executable, "-c", FETCH, original.url, *original.sha256, str(original.size)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    parts = set()
    while any(process.poll() is None for process in processes):
        parts |= {name for name in names_in(home) if name.endswith(".part")}
        if (home / "semeion.data").exists():
            assert (home / "semeion.data").read_bytes() == content
        time.sleep(0.005)
    assert [process.returncode for process in processes] == [0, 0]
    # Each wrote a file of its own, or two: another may take it for a leftover before it is locked.
    assert len(parts) >= 2
    assert names_in(home) == ["semeion.data"]


# ---------------------------------------------------------------------- progress


@pytest.mark.parametrize("rich", [True, False])
def test_progress_is_shown_in_a_terminal(rich, home, pages, semeion, monkeypatch, capsys):
    arrays, content = semeion
    pages[PATH] = content
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    assert_same(load("semeion"), arrays)
    shown = capsys.readouterr()
    assert "semeion" in shown.err
    assert ("100 % of" in shown.err) == (not rich)
    assert shown.out == ""


def test_progress_of_unknown_length(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress_bar("a") as progress:
        progress(2_000_000, None)
    assert "a: 2.0 MB" in capsys.readouterr().err


def test_progress_is_silent_elsewhere(home, pages, semeion, capsys):
    pages[PATH] = semeion[1]
    load("semeion")
    assert capsys.readouterr() == ("", "")
