"""Results on disks of all kinds, and clocks that are wrong: earlier results stay whole."""

import ctypes
import errno
import json
import os
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from klsnmf import KLSNMF
from klsnmf.cli import results
from klsnmf.cli.results import OutputError
from klsnmf.core.writing import made_aside
from klsnmf.solve import checkpoint

from ..command_runs import run
from ..helpers import blobs
from .made import in_a_child, locked, make, state

#: For processes that import tests.
WITH_TESTS = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

X, _ = blobs(40, 3, 5, seed=0)

#: What file systems of networks say, and disks that are broken.
ERRORS = [errno.EXDEV, errno.ESTALE, errno.EIO, errno.EBUSY, errno.ENOENT]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---------------------------------------------------------------------- names that do not change


def refuse_names(monkeypatch, number, steps):
    """The renamings of these numbers, counted from 1, fail."""
    made = count(1)
    rename, replace = os.rename, os.replace

    def perhaps(action):
        def act(*arguments, **options):
            if next(made) in steps:
                raise OSError(number, os.strerror(number))
            return action(*arguments, **options)

        return act

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "rename", perhaps(rename))
    monkeypatch.setattr(os, "replace", perhaps(replace))
    monkeypatch.setattr(results, "exchange", refuse)


@pytest.mark.parametrize("number", [*ERRORS, errno.ENOSYS, errno.EINVAL])
def test_where_folders_cannot_trade_names(number, monkeypatch):
    """Other systems, and file systems of networks."""
    make(0)
    refuse_names(monkeypatch, number, steps=())
    make(2)
    assert state() == 2
    assert os.listdir() == ["out"]


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("others", [False, True], ids=["alone", "beside files of others"])
def test_a_name_that_cannot_change_leaves_earlier_results(number, others, monkeypatch):
    """Whichever it is: all that was moved before goes back."""
    make(0)
    if others:
        Path("out/notes.txt").write_text("mine")
    before = sorted(os.listdir("out"))
    # A summary, a mark, three files that were there, three or two that are new, the summary again.
    for new, names in ((1, 9), (2, 8)):
        for step in range(1, names + 1):
            with monkeypatch.context() as patch:
                refuse_names(patch, number, {step})
                with pytest.raises(OutputError, match="earlier results are unchanged"):
                    make(new)
            assert state() == 0
            assert sorted(os.listdir("out")) == before
            assert os.listdir() == ["out"]
        with monkeypatch.context() as patch:
            refuse_names(patch, number, {names + 1})
            make(new)
        assert state() == new
        make(0)


@pytest.mark.parametrize("number", ERRORS)
def test_the_first_results_are_all_there_or_none(number, monkeypatch):
    with monkeypatch.context() as patch:
        refuse_names(patch, number, {2})  # the first puts result.json beside the others
        with pytest.raises(OutputError, match="Nothing was written"):
            make(1)
    assert os.listdir() == []
    make(1)
    assert state() == 1


def test_results_that_cannot_even_go_back_are_told_as_they_are(monkeypatch):
    make(0)
    with monkeypatch.context() as patch:
        refuse_names(patch, errno.EIO, range(5, 99))
        with pytest.raises(OutputError, match="only some of the new results") as told:
            make(1)
        assert "unchanged" not in str(told.value)
        assert state() == "unfinished"
    make(1)
    assert state() == 1


# ---------------------------------------------------------------------- other disks


def test_a_folder_on_a_disk_of_its_own(monkeypatch):
    make(0)
    monkeypatch.setattr(results, "_beside", lambda _: False)
    monkeypatch.setattr(results, "exchange", lambda *_: pytest.fail("it is on another disk"))
    make(2)
    assert state() == 2
    assert set(os.listdir("out")) == {"labels.csv", "report.html", "result.json"}


@pytest.fixture
def elsewhere():
    """A folder that does not exist yet, on another file system than this one."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == Path().stat().st_dev:
        pytest.skip("there is no other file system")
    place = shared / f"klsnmf-{os.getpid()}"
    yield place
    shutil.rmtree(place)


def test_results_on_another_file_system(elsewhere):
    """They are made there, because nothing can be moved there at once."""
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", 3, "--method", "kmeans", "--out", elsewhere)
    run("cluster", "mine.npy", "-k", 2, "--method", "kmeans", "--force", "--out", elsewhere)
    assert json.loads((elsewhere / "result.json").read_text())["n_clusters"] == 2
    assert not list(elsewhere.parent.glob(f".{elsewhere.name}*"))


#: Run with a disk of 64 kB in the place of results, which nobody else sees.
ON_A_SMALL_DISK = """
import errno, os
from pathlib import Path
from klsnmf.cli.results import OutputError
from tests.cli.made import make, state

assert os.path.ismount("out")
make(1)
make(2)
with Path("out/notes.txt").open("wb", buffering=0) as full:
    try:
        while True:
            full.write(bytes(4096))
    except OSError as error:
        assert error.errno == errno.ENOSPC
before = sorted(os.listdir("out"))
try:
    make(1)
except OutputError as error:
    print(error)
assert state() == 2
assert sorted(os.listdir("out")) == before
os.remove("out/notes.txt")
make(1)
assert state() == 1
"""


def test_a_small_disk_in_the_place_of_results():
    """It cannot be renamed. When it is full, the results on it are as before."""
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare")
    Path("out").mkdir()
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = 'mount -t tmpfs -o size=64k none out || exit 77; exec "$@"'
    done = subprocess.run(
        [*apart, mount, "sh", sys.executable, "-c", ON_A_SMALL_DISK],
        env=WITH_TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may not mount anything")
    assert done.returncode == 0, done.stderr
    assert "No space left on device" in done.stdout
    assert "earlier results are unchanged" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="rights are given away as on Linux")
def test_a_folder_that_may_not_be_written():
    """The user may be root, who could: the process gives that right away."""
    make(0)
    for place in ("out", "."):
        os.chmod(place, 0o500)

    def powerless():
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # without CAP_DAC_OVERRIDE

    code = "from tests.cli.made import make; make(1)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=WITH_TESTS,
        capture_output=True,
        text=True,
        preexec_fn=powerless,
        check=False,
    )
    for place in ("out", "."):
        os.chmod(place, 0o700)
    assert "Permission denied" in done.stderr
    assert "OutputError" in done.stderr
    assert "earlier results are unchanged" in done.stderr
    assert state() == 0
    assert os.listdir() == ["out"]


# ---------------------------------------------------------------------- clocks


@pytest.fixture
def wrong_clock(monkeypatch):
    """Whenever the time of day is asked for, it is an hour earlier than before."""
    hours = count(1)

    def earlier():
        hour = next(hours)
        assert hour < 1000, "somebody waits for a time that does not come"
        return 1e9 - 3600 * hour

    monkeypatch.setattr(time, "time", earlier)
    monkeypatch.setattr(time, "time_ns", lambda: int(earlier() * 1e9))


def of_the_future(*paths):
    for path in paths:
        os.utime(path, (2**32, 2**32))


def dies_while_it_writes():
    with made_aside(Path("out"), Path.mkdir) as aside:
        (aside / "labels.csv").write_text("half of it")
        os.kill(os.getpid(), 9)


@pytest.mark.usefixtures("wrong_clock")
def test_a_clock_that_was_set_back():
    """Files of the future are replaced or removed all the same, and those in use are not."""
    make(0)
    assert in_a_child(dies_while_it_writes) == 9
    (left,) = Path().glob(".out.*.part")
    of_the_future(left, "out", *Path("out").iterdir())
    with made_aside(Path("out"), Path.mkdir) as living:
        os.utime(living, (0, 0))
        assert not left.exists()
        make(1)
        assert state() == 1
        assert living.exists()
    assert os.listdir() == ["out"]


@pytest.mark.usefixtures("wrong_clock")
def test_who_waits_does_not_wait_for_the_time_of_day(monkeypatch):
    monkeypatch.setattr(results, "_PATIENCE", 0.1)
    with locked(), pytest.raises(OutputError, match="another process has locked"):
        make(1)


@pytest.mark.usefixtures("wrong_clock")
def test_a_checkpoint_of_the_future_is_gone_on_from(monkeypatch):
    """And it is written though the clock goes back."""
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    options = {"random_state": 0, "tol": 0, "max_iter": 40}
    expected = KLSNMF(3, **options).fit(X)
    seen = []

    def watch(progress):
        if progress.phase != "screening":
            seen.append((progress.phase, progress.iteration))
        if len(seen) == 20:
            raise KeyboardInterrupt

    model = KLSNMF(3, checkpoint="fit.npz", callback=watch, **options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    first, stopped = seen[0], seen[-1]
    of_the_future("fit.npz")
    model.fit(X)
    assert first not in seen[20:]
    assert seen[20] >= stopped or seen[20][0] != stopped[0]
    np.testing.assert_array_equal(model.W_, expected.W_)
    assert os.listdir() == []
