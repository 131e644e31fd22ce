"""What is shown while a command works: parts, the time that has passed, the time left."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from klsnmf.cli.estimate import Estimate, Part, about, clock, parts_of_clustering
from klsnmf.cli.working import _Lines

from ..command_runs import run

PLAN = [Part("neighbours", 10.0), Part("eigenvectors", 20.0), Part("results", 10.0)]


def watched(estimate, plan, took, every=0.5):
    """What is told of the time left, while each part takes so long: (now, told, true) rows."""
    estimate.plan(plan, 0.0)
    ends = np.cumsum(took)
    rows, place = [], 0
    for now in np.arange(every, ends[-1], every):
        while now >= ends[place]:
            place += 1
            estimate.reach(plan[place].name, ends[place - 1])
        rows.append((now, estimate.steady(now), ends[-1] - now))
    return rows


@pytest.mark.parametrize("speed", [0.3, 1.0, 5.0])
def test_the_time_left_is_that_of_all_parts_at_the_speed_of_this_machine(speed):
    took = [speed * part.seconds for part in PLAN]
    rows = watched(Estimate(0.0), PLAN, took)
    assert all(told is None for now, told, _ in rows if now < took[0])  # nothing is known yet
    later = [(told, true) for now, told, true in rows if now >= took[0] + 0.5]
    assert len(later) > 5
    for told, true in later:
        assert abs(told - true) <= 0.25 * true + 2.0


@pytest.mark.parametrize("took", [[10, 100, 5], [10, 1, 40], [2, 20, 1], [30, 3, 60]])
def test_the_time_left_never_jumps(took):
    """Whatever becomes of the parts, from one half second to the next it moves by a tenth."""
    rows = watched(Estimate(0.0), PLAN, took)
    told = [left for _, left, _ in rows if left is not None]
    for one, two in pairwise(told):
        assert two >= 0
        assert abs(two - one) <= 0.5 + 0.1 * max(one, two, 30)


def test_a_part_that_takes_too_long_is_not_said_to_end_at_once():
    rows = watched(Estimate(0.0), PLAN, [10, 200, 10])
    assert min(told for now, told, _ in rows if 20 < now < 200 and told is not None) > 5


def test_steps_of_a_part_tell_its_time():
    estimate = Estimate(0.0)
    estimate.plan([Part("parts of the work", None)], 10.0)
    assert estimate.left(20.0) is None
    estimate.step("parts of the work", 5, 100)
    assert estimate.left(20.0) is None  # too few
    estimate.step("parts of the work", 25, 100)
    assert estimate.left(20.0) == pytest.approx(30.0)
    estimate.step("soft iterations", 25, 100)  # of at most: they end sooner
    assert estimate.left(20.0) is None


def test_no_time_is_told_while_a_later_part_is_unknown():
    estimate = Estimate(0.0)
    estimate.plan([Part("neighbours", 2.0), Part("fit", None), Part("results", 1.0)], 0.0)
    estimate.step("neighbours", 5, 10)
    assert estimate.left(3.0) is None
    estimate.reach("fit", 4.0)
    assert estimate.left(5.0) is None
    assert estimate.share(5.0) is None


def test_a_time_that_was_told_does_not_disappear():
    """Steps that are counted anew inside of a part, and a part without any."""
    estimate = Estimate(0.0)
    estimate.plan(PLAN, 0.0)
    estimate.step("neighbours", 1, 5)
    assert estimate.steady(0.2) is None  # too short to tell
    assert estimate.steady(2.0) == pytest.approx(38.0, rel=0.1)
    estimate.step("neighbours", 0, 5)
    assert estimate.steady(2.5) is not None
    estimate.reach("eigenvectors", 2.6)
    assert estimate.steady(3.0) is not None


def test_work_that_is_repeated_does_not_turn_back_the_bar():
    estimate = Estimate(0.0)
    estimate.plan(PLAN, 0.0)
    estimate.reach("eigenvectors", 10.0)
    first = estimate.share(12.0)
    assert not estimate.reach("neighbours", 12.5)
    shares = [estimate.share(now) for now in np.arange(13, 300, 7.0)]
    assert 0 < first <= shares[0]
    assert np.all(np.diff(shares) >= 0)
    assert shares[-1] < 1


@pytest.mark.parametrize("k", [3, "auto"])
def test_the_parts_of_a_clustering(k):
    few, many = (parts_of_clustering("kls-nmf", n, 50, k) for n in (1_000, 50_000))
    assert [part.name for part in few] == [part.name for part in many]
    assert all(one.seconds <= two.seconds for one, two in zip(few, many, strict=True))
    assert parts_of_clustering("gnmf", 1_000, 50, k)[0] == Part("fit", None)


def test_every_part_of_a_default_fit_is_told(samples, monkeypatch):
    """A part that no stage of the fit announces would hold up the bar."""
    reached = []
    found = Estimate.reach

    def reach(self, stage, now):
        good = found(self, stage, now)
        reached.append(self.parts[self.place].name if self.parts else None)
        return good

    monkeypatch.setattr(Estimate, "reach", reach)
    np.save("mine.npy", np.vstack([samples[0]] * 15) + np.linspace(0, 0.01, 900)[:, None])
    run("cluster", "mine.npy")
    expected = [part.name for part in parts_of_clustering("kls-nmf", 900, 6, "auto")]
    assert [name for name in dict.fromkeys(reached) if name in expected[1:]] == expected[1:]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "a few seconds left"),
        (12, "about 10 s left"),
        (98, "about 100 s left"),
        (125, "about 2 min left"),
        (7000, "about 2 h left"),
    ],
)
def test_words_are_no_finer_than_the_estimate(seconds, words):
    assert about(seconds) == words


def test_clocks():
    assert [clock(each) for each in (7, 754, 3723)] == ["0:07", "12:34", "1:02:03"]


def test_lines_of_progress():
    lines = _Lines()
    lines.estimate.begun = time.monotonic()
    lines.title("Clustering \x1b[2Jmine")
    assert "\x1b" not in lines.line(lines.estimate.begun + 4)
    lines.plan([Part("starts", None)])
    lines.update("starts", 2, 8)
    lines.estimate.begun = lines.estimate.part_begun = 100.0
    line = lines.line(104.0)
    assert line.endswith("mine: starts, 2 of 8; elapsed 4 s; about 10 s left")
    lines.update("soft iterations", 10, 250)
    assert "soft iterations, 10 of at most 250; elapsed" in lines.line(104.0)


def test_lines_of_progress_appear_only_for_long_work(monkeypatch, capsys):
    monkeypatch.setattr("klsnmf.cli.working._SHORT", 0.01)
    said = ""
    with _Lines() as lines:
        lines.title("Work")
        while not said:  # how long that takes depends on the machine
            lines.ended.wait(0.02)
            said = capsys.readouterr().err
    assert re.fullmatch(r"Work; elapsed \d+ s\n", said)
    monkeypatch.setattr("klsnmf.cli.working._SHORT", 60)
    with _Lines() as lines:
        lines.title("Work")
    assert capsys.readouterr().err == ""


def test_lines_elsewhere_are_plain(samples, monkeypatch):
    monkeypatch.setattr("klsnmf.cli.working._SHORT", 0.01)
    monkeypatch.setattr("klsnmf.cli.working._INTERVAL", 0.01)
    np.save("mine.npy", samples[0])
    _, error = run("cluster", "mine.npy", "-k", 3)
    assert "; elapsed " in error
    assert error.replace("\n", "").isprintable()


def test_the_seconds_are_those_of_the_user(samples, monkeypatch):
    from klsnmf.cli import samples as reading

    read = reading.read

    def slowly(source):
        time.sleep(0.3)
        return read(source)

    monkeypatch.setattr(reading, "read", slowly)
    np.save("mine.npy", samples[0])
    begun = time.monotonic()
    found = json.loads(run("cluster", "mine.npy", "-k", 3, "--method", "kmeans", "--json")[0])
    assert found["fit_seconds"] + 0.3 <= found["seconds"] <= time.monotonic() - begun


def test_a_bar_in_a_terminal(samples):
    """One bar, which says that the time that has passed is the elapsed one."""
    np.save("mine.npy", samples[0])
    ours, theirs = pty.openpty()
    command = [Path(sys.prefix, "bin", "klsnmf"), "cluster", "mine.npy", "-k", "3"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    parts = []

    def listen():  # a terminal that nobody reads from stops who writes to it
        with contextlib.suppress(OSError):  # how Linux tells that the other side is closed
            while part := os.read(ours, 2**16):
                parts.append(part)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        done = subprocess.run(
            command,
            stderr=theirs,
            stdout=subprocess.PIPE,
            check=False,
            env=environment,
        )
    finally:
        os.close(theirs)
        listener.join()
        os.close(ours)
    shown = b"".join(parts).decode()
    assert done.returncode == 0
    assert re.search(r"elapsed \d+:\d\d", shown)
    assert b"60 samples in 3 clusters" in done.stdout
