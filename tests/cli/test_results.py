"""Where results go: all of a run appear together, whatever ends it, and nothing stays behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from klsnmf.cli import results
from klsnmf.cli.results import (
    MADE_BY,
    OutputError,
    ResultsError,
    finish,
    require_free,
    require_one_run,
    result_folder,
)
from klsnmf.cli.stopping import Stopped, stoppable
from klsnmf.core.signals import undisturbed

from ..command_runs import run
from ..helpers import blobs
from .made import in_a_child, locked, make, state

X, _ = blobs(40, 3, 5, seed=0)

#: What an audit hook is told of, of all that is done to files.
STEPS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "open", "fcntl.flock", "ctypes.dlsym"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def signals_as_usual():
    """Whatever these tests were started by may ignore signals, as nohup does."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {
        number: signal.signal(number, handler)
        for number, handler in (usual | {signal.SIGHUP: signal.SIG_DFL}).items()
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def killed_at(step, number):
    """A run that is killed before its so manyth step."""
    seen = 0

    def hook(event, _):
        nonlocal seen
        if event in STEPS:
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    make(number)


@pytest.mark.parametrize("others", [False, True], ids=["alone", "beside files of others"])
def test_a_kill_at_any_step_leaves_results_of_one_run(others):
    make(0)
    if others:
        Path("out/notes.txt").write_text("mine")
    seen, now, last = set(), 0, 200
    for step in range(1, last):
        number = 1 + step % 2
        status = in_a_child(killed_at, step, number)
        if status == 0:
            break
        assert status == signal.SIGKILL
        found = state()
        seen.add("old" if found == now else "new" if found == number else found)
        assert found in (now, number, "unfinished")
        make(3)
        now = state()
        assert now == 3
        assert os.listdir() == ["out"]
        own = {"labels.csv", "model.npz", "report.html", "result.json"}
        assert set(os.listdir("out")) == own | ({"notes.txt"} if others else set())
    assert 10 < step < last - 1
    assert seen == ({"old", "new", "unfinished"} if others else {"old", "new"})


def test_the_first_results_appear_all_at_once():
    for step in range(1, 200):
        status = in_a_child(killed_at, step, 1)
        if Path("out").exists():
            assert state() == 1
        if status == 0:
            break
        for file in Path("out").glob("*"):
            file.unlink()
        if Path("out").exists():
            Path("out").rmdir()
    assert step > 10


def test_two_runs_in_one_folder():
    def many(number):
        for _ in range(25):
            make(number)

    make(0)
    children = []
    for number in (1, 2, 3):
        child = os.fork()
        if not child:
            status = 1
            try:
                many(number)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    while children:
        for _ in range(20):
            try:
                require_one_run(Path("out"), "labels.csv")
                break
            except FileNotFoundError:  # between two looks another folder took its place
                time.sleep(0.001)
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            children.remove(done)
            assert status == 0
    assert state() in (1, 2, 3)
    assert os.listdir() == ["out"]


def test_a_lock_that_another_process_keeps_is_told(monkeypatch):
    monkeypatch.setattr(results, "_PATIENCE", 0.1)
    with locked(), pytest.raises(OutputError, match="another process has locked"):
        make(1)
    make(1)
    assert os.listdir() == ["out"]


def test_where_there_are_no_locks(monkeypatch):
    monkeypatch.setattr("klsnmf.core.writing._fcntl", None)
    make(1)
    make(2)
    assert state() == 2
    assert os.listdir() == ["out"]


def test_results_of_the_living_are_left_alone():
    with result_folder(Path("out")) as aside:
        assert in_a_child(make, 1) == 0
        assert aside.exists()
        finish(aside, {"made_by": MADE_BY, "number": 5})
    assert json.loads(Path("out/result.json").read_text())["number"] == 5


@pytest.mark.parametrize("kind", ["folder", "pipe", "folder with something in it"])
def test_a_summary_that_is_none(kind):
    Path("out").mkdir()
    if kind == "pipe":
        os.mkfifo("out/result.json")
    else:
        Path("out/result.json").mkdir()
    if "something" in kind:
        Path("out/result.json/a").write_text("mine")
    before = sorted(Path().rglob("*"))
    with pytest.raises(OutputError, match="did not make"):
        require_free(Path("out"), force=False)
    require_free(Path("out"), force=True)
    with pytest.raises(OutputError, match=r"result\.json exists.*earlier results are unchanged"):
        make(1)
    assert sorted(Path().rglob("*")) == before


def test_files_of_others_stay_and_so_does_the_folder():
    make(0)
    Path("out/notes.txt").write_text("mine")
    before = Path("out").stat().st_ino
    make(1)
    assert Path("out/notes.txt").read_text() == "mine"
    Path("out/sub").mkdir()
    make(2)
    assert state() == 2
    assert Path("out").stat().st_ino == before
    assert Path("out/notes.txt").read_text() == "mine"


def test_who_stands_in_the_folder_still_does(monkeypatch):
    make(0)
    monkeypatch.chdir("out")
    with result_folder(Path("../out")) as aside:
        (aside / "labels.csv").write_text("new")
        finish(aside, {"made_by": MADE_BY, "number": 1})
    assert Path("labels.csv").read_text() == "new"


def test_a_link_to_a_folder_stays_a_link():
    Path("real").mkdir()
    Path("out").symlink_to("real")
    make(1)
    make(2)
    assert Path("out").is_symlink()
    assert state() == 2
    assert sorted(os.listdir()) == ["out", "real"]


def test_the_mode_of_a_folder_stays():
    make(0)
    Path("out").chmod(0o700)
    make(1)
    assert Path("out").stat().st_mode & 0o777 == 0o700


# ---------------------------------------------------------------------- who reads results


def test_predict_refuses_results_of_two_runs():
    np.save("mine.npy", X)
    for seed, name in ((0, "one"), (1, "two")):
        arguments = ("-k", 3, "--method", "kmeans", "--seed", seed, "--out", name)
        run("cluster", "mine.npy", *arguments)
    run("predict", "one", "mine.npy")
    Path("two/model.npz").replace("one/model.npz")
    _, error = run("predict", "one", "mine.npy", code=3)
    assert "from another run than its result.json" in error
    run("predict", "one/model.npz", "mine.npy")  # a file by its name is meant
    Path("one/result.json").write_text(json.dumps({"made_by": MADE_BY, "unfinished": True}))
    assert "incomplete results" in run("predict", "one", "mine.npy", code=3)[1]
    Path("one/result.json").unlink()
    assert "no valid result.json" in run("predict", "one", "mine.npy", code=3)[1]


def test_results_of_an_earlier_version_have_no_hashes():
    make(0)
    Path("out/result.json").write_text(json.dumps({"made_by": MADE_BY}))
    require_one_run(Path("out"), "labels.csv")
    Path("out/result.json").write_text(json.dumps({"made_by": MADE_BY, "sha256": [1]}))
    require_one_run(Path("out"), "labels.csv")
    Path("out/result.json").write_text(json.dumps({"made_by": "me"}))
    with pytest.raises(ResultsError, match="no valid"):
        require_one_run(Path("out"), "labels.csv")


# ---------------------------------------------------------------------- signals

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("stage", ["read", "fit", "write"])
def test_signals_in_every_stage(number, code, stage, monkeypatch):
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", 3, "--method", "kmeans")
    before = {file.name: file.read_bytes() for file in Path("mine-clusters").iterdir()}
    where = {
        "read": "klsnmf.cli.samples.read",
        "fit": "klsnmf.cli.fits.fit",
        "write": "klsnmf.cli.results.write_labels",
    }
    monkeypatch.setattr(where[stage], lambda *_, **__: signal.raise_signal(number))
    _, error = run("cluster", "mine.npy", "-k", 2, "--method", "kmeans", "--force", code=code)
    assert "Interrupted. Nothing was written; earlier results are unchanged." in error
    assert sorted(os.listdir()) == ["mine-clusters", "mine.npy"]
    after = {file.name: file.read_bytes() for file in Path("mine-clusters").iterdir()}
    assert after == before


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_that_comes_too_late(number, code, monkeypatch):
    """Results that are being put in place are put there, and the message says so."""
    np.save("mine.npy", X)
    place = results._put_in_place

    def disturbed(*arguments):
        signal.raise_signal(number)
        place(*arguments)

    monkeypatch.setattr(results, "_put_in_place", disturbed)
    _, error = run("cluster", "mine.npy", "-k", 2, "--method", "kmeans", code=code)
    assert "already complete: they are in mine-clusters" in error
    assert "unchanged" not in error
    assert json.loads(Path("mine-clusters/result.json").read_text())["n_clusters"] == 2
    assert sorted(os.listdir()) == ["mine-clusters", "mine.npy"]


def test_the_checkpoint_is_kept_after_sigterm():
    X, _ = blobs(60, 3, 5, seed=0)
    np.save("mine.npy", X)
    code = """
import os, signal, sys
from klsnmf.cli import main
from klsnmf.solve.checkpoint import _StageKeeper
seen, keep = 0, _StageKeeper.keep
def counted(*arguments):
    global seen
    seen += 1
    if seen == 12:
        os.kill(os.getpid(), signal.SIGTERM)
    return keep(*arguments)
_StageKeeper.keep = counted
main()
"""
    command = [sys.executable, "-c", code, "cluster", "mine.npy", "-k", "3"]
    command += ["--checkpoint", "fit.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 143, done.stderr
    assert "Run the same fit again to continue from there" in done.stderr
    assert sorted(os.listdir()) == ["fit.npz", "mine.npy"]
    run("cluster", "mine.npy", "-k", 3, "--checkpoint", "fit.npz")
    assert sorted(os.listdir()) == ["mine-clusters", "mine.npy"]


def test_handlers_are_as_before():
    before = [signal.getsignal(number) for number, _ in SIGNALS]
    with stoppable():
        assert [signal.getsignal(number) for number, _ in SIGNALS] != before
    assert [signal.getsignal(number) for number, _ in SIGNALS] == before


def test_who_is_not_to_hang_up_does_not(monkeypatch):
    """nohup ignores SIGHUP for those that it starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGHUP)
    except KeyboardInterrupt:
        pytest.fail("it was interrupted")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_sigterm_does_not_disturb_the_end_of_the_first():
    done = []

    def stop():
        with stoppable():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGTERM)
                done.append(1)

    with pytest.raises(Stopped):
        stop()
    assert done == [1]


def test_a_signal_waits_for_what_must_not_be_disturbed():
    done = []

    def stop():
        with stoppable(), undisturbed():
            signal.raise_signal(signal.SIGTERM)
            done.append(1)

    with pytest.raises(Stopped) as stopped:
        stop()
    assert done == [1]
    assert stopped.value.exit_code == 143


# ---------------------------------------------------------------------- the standard files


@pytest.mark.parametrize("closed", [[1], [2], [0, 1, 2]])
def test_standard_files_that_are_closed(closed):
    np.save("mine.npy", X)
    command = [Path(sys.prefix, "bin", "klsnmf"), "cluster", "mine.npy", "-k", "2"]
    command += ["--method", "kmeans"]

    def close():
        for number in closed:
            os.close(number)

    done = subprocess.run(command, preexec_fn=close, check=False)
    assert done.returncode == 0
    assert sorted(os.listdir("mine-clusters")) == [
        *("labels.csv", "model.npz", "report.html", "result.json")
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_an_output_that_takes_no_more():
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", 2, "--method", "kmeans")
    command = [Path(sys.prefix, "bin", "klsnmf"), "predict", "mine-clusters", "mine.npy"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert "The output could not be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
