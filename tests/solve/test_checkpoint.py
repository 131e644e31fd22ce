"""Interrupted fits go on, to the last bit; files of other fits and of strangers are refused."""

import contextlib
import errno
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from klsnmf import GLSNMF, KLSNMF, LSNMF, WNMF, path
from klsnmf.core.work import threads_for
from klsnmf.io.model_file import load, save
from klsnmf.models.ls_nmf import LocalSimilarity
from klsnmf.solve import checkpoint
from klsnmf.solve.checkpoint_files import CheckpointError

from ..command_runs import labels_of, run
from ..helpers import blobs

# Fits are short here: whether they converge does not matter.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N, K = 70, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 6))  # no clusters: every start comes to others
SIGNED = X - X.mean(axis=0)
START = RNG.uniform(size=(N, K)), RNG.uniform(size=(N, K))
QUICK = {"random_state": 0, "max_iter": 30, "tol": 0}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.npz"


@pytest.fixture(autouse=True)
def one_thread():
    """Sums over several threads may be added in another order the next time."""
    with threads_for(0):
        yield


class Interrupt:
    """Interrupts at the given call."""

    def __init__(self, call, error=KeyboardInterrupt):
        self.call, self.error, self.seen = call, error, []

    def __call__(self, progress):
        self.seen.append((progress.phase, progress.iteration))
        if len(self.seen) == self.call:
            raise self.error


def assert_same(model, expected):
    for name in ("labels_", "W_", "G_", "objective_", "n_iter_", "lam_", "verdict_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)
    assert model.history_.keys() == expected.history_.keys()
    for name, values in expected.history_.items():
        np.testing.assert_array_equal(model.history_[name], values, name)


def interrupted(model, samples, call, error=KeyboardInterrupt):
    callback = Interrupt(call, error)
    with pytest.raises(error) as caught:
        model.set_params(callback=callback).fit(samples)
    return callback, caught.value


def stored(file):
    """The arrays of a checkpoint, and its text."""
    with np.load(file) as archive:
        arrays = dict(archive)
    return arrays, json.loads(arrays.pop("checkpoint").tobytes())


def store(file, arrays, text):
    np.savez(file, checkpoint=np.frombuffer(json.dumps(text).encode(), np.uint8), **arrays)


# ---------------------------------------------------------------------- going on


RESTARTS = KLSNMF(
    K, kernel="rbf", solver="soft", init="random", n_init=7, random_state=0, tol=1e-3, max_iter=80
)
FITS = {
    "default": (KLSNMF(K, **QUICK), X),
    "converging": (KLSNMF(K, random_state=1, max_iter=80, tol=1e-6), X),
    "single precision": (KLSNMF(K, **QUICK), X.astype(np.float32)),
    "soft": (KLSNMF(K, kernel="rbf", solver="soft", **QUICK), X),
    "paper, random": (KLSNMF(K, kernel="rbf", solver="paper", init="random", **QUICK), X),
    "ending one by one": (RESTARTS, X),
    "exact": (KLSNMF(K, kernel="rbf", solver="exact", n_init=9, **QUICK), X),
    "start given": (KLSNMF(K, init=START, **QUICK), X),
    "lam too large": (KLSNMF(K, kernel="rbf", lam=100.0, **QUICK), X),
    "several kernels": (KLSNMF(K, kernel=["rbf", "self-tuning"], **QUICK), X),
    "tiles": (KLSNMF(K, kernel="rbf", gram="tiled", **QUICK), X),
    "sparse": (LSNMF(K, **QUICK), sparse.csr_array(np.where(X > 0.5, X, 0))),
    "signed": (LSNMF(K, orthogonal=False, **QUICK), SIGNED),
    "graph": (GLSNMF(K, **QUICK), X),
}


@pytest.mark.parametrize(("model", "samples"), FITS.values(), ids=FITS.keys())
def test_an_interrupted_fit_goes_on_to_the_last_bit(model, samples, file):
    undisturbed = Interrupt(0)
    expected = clone(model).set_params(callback=undisturbed).fit(samples)
    model = clone(model).set_params(checkpoint=file)
    told = []
    for _ in range(100):
        callback = Interrupt(13)
        try:
            model.set_params(callback=callback).fit(samples)
            break
        except KeyboardInterrupt:
            assert file.exists()
            told += callback.seen
    assert told
    assert_same(model, expected)
    assert not file.exists()
    # No iteration was done twice, but for the screening of starts, which is short.
    told = [one for one in told + callback.seen if one[0] != "screening"]
    assert told == [one for one in undisturbed.seen if one[0] != "screening"]


@pytest.mark.parametrize("call", [14, 30])
def test_a_path_goes_on(call, file):
    lams, params = [0, 0.001, "auto", 50.0], {"kernel": "rbf", **QUICK}
    expected = path(X, K, lams=lams, **params)
    with pytest.raises(KeyboardInterrupt):
        path(X, K, lams=lams, checkpoint=file, callback=Interrupt(call), **params)
    found = path(X, K, lams=lams, checkpoint=file, **params)
    for one, two in zip(found, expected, strict=True):
        assert_same(one, two)
    with pytest.raises(KeyboardInterrupt):
        path(X, K, lams=lams, checkpoint=file, callback=Interrupt(call), **params)
    with pytest.raises(CheckpointError, match="lam was"):
        path(X, K, lams=lams[:2], checkpoint=file, **params)
    with pytest.raises(ValueError, match="several kernels"):
        path(X, K, lams=lams, checkpoint=file, kernel=["rbf", "linear"])


@pytest.mark.parametrize(
    ("n_clusters", "kernel"), [(K, ["rbf", "self-tuning"]), ("auto", "self-tuning")]
)
@pytest.mark.parametrize("own", [True, False], ids=["generator", "global"])
def test_what_was_drawn_at_random_is_kept(own, n_clusters, kernel, file):
    def seeded(seed):
        if own:
            return np.random.RandomState(seed)
        np.random.seed(seed)
        return None

    def drawn(generator):
        return (np.random if generator is None else generator).uniform(size=3)

    model = KLSNMF(n_clusters, kernel=kernel, **QUICK)
    first = seeded(3)
    expected = clone(model).set_params(random_state=first).fit(X)
    model = clone(model).set_params(checkpoint=file, random_state=seeded(3))
    after = drawn(first) if own else None
    interrupted(model, X, 20)
    later = seeded(4)
    model.set_params(callback=None, random_state=later).fit(X)
    assert_same(model, expected)
    if own:  # as if there had been no interruption
        np.testing.assert_array_equal(drawn(later), after)


def test_an_interrupt_in_the_middle_of_an_iteration(file, monkeypatch):
    """What is kept then is the last iteration that was complete."""
    expected = KLSNMF(K, **QUICK).fit(X)
    update, calls = LocalSimilarity.update_G, []

    def interrupting(self, state):
        calls.extend([None] * (self.lam > 0))  # screening and the first phase are at λ = 0
        if len(calls) == 8:
            raise KeyboardInterrupt
        return update(self, state)

    monkeypatch.setattr(LocalSimilarity, "update_G", interrupting)
    model = KLSNMF(K, checkpoint=file, **QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    monkeypatch.setattr(LocalSimilarity, "update_G", update)
    assert parts(stored(file)[1]["entries"][1])["fits"]
    assert_same(model.fit(X), expected)


def test_an_interrupt_while_the_state_is_copied(file, monkeypatch):
    expected = KLSNMF(K, **QUICK).fit(X)
    copy, calls = np.copyto, []

    def interrupting(*arguments, **options):
        if sys._getframe(1).f_code.co_name == "_copied":
            calls.append(None)
            if len(calls) == 21:
                raise KeyboardInterrupt
        copy(*arguments, **options)

    monkeypatch.setattr(np, "copyto", interrupting)
    model = KLSNMF(K, checkpoint=file, **QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert_same(model.fit(X), expected)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        pytest.param(zipfile._ZipWriteFile, "__init__", id="a part is open"),
        pytest.param(checkpoint, "_identity", id="it has its name"),
    ],
)
def test_an_interrupt_while_the_checkpoint_is_written(file, monkeypatch, owner, name):
    """It waits, or the archive could not be closed, or would be taken for that of a stranger."""
    expected = KLSNMF(K, **QUICK).fit(X)
    monkeypatch.setattr(checkpoint, "PAUSE", -1.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    usual, calls = getattr(owner, name), []

    def followed_by_a_signal(*arguments):
        result = usual(*arguments)
        calls.append(None)
        if len(calls) == 7:  # of a call for the name, one is before all writing and one before each
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(owner, name, followed_by_a_signal)
    model = KLSNMF(K, checkpoint=file, **QUICK)
    with pytest.raises(KeyboardInterrupt) as stopped:
        model.fit(X)
    assert "Run the same fit again to continue from there" in stopped.value.__notes__[0]
    monkeypatch.setattr(owner, name, usual)
    assert_same(model.fit(X), expected)
    assert not file.exists()


def test_a_process_that_is_killed_at_any_moment_goes_on(tmp_path, file):
    result = tmp_path / "result.npz"
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_and_go_on", str(file), str(result), "0"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "another program" not in done.stderr
    attempts = done.stdout.splitlines()
    assert len(attempts) > 2
    assert attempts[0] == "exact 1"
    assert "exact 1" not in attempts[1:]
    assert not list(tmp_path.glob("*fit.npz*"))
    samples, _ = blobs(120, 4, 8, 0)
    expected = KLSNMF(4, random_state=0, tol=0, max_iter=100).fit(samples)
    with np.load(result) as found:
        np.testing.assert_array_equal(found["labels"], expected.labels_)
        np.testing.assert_array_equal(found["W"], expected.W_)
        np.testing.assert_array_equal(found["G"], expected.G_)
        for name, values in expected.history_.items():
            np.testing.assert_array_equal(found[name], values)


def test_what_takes_long_is_not_done_again(file, monkeypatch):
    model = KLSNMF(K, checkpoint=file, **QUICK)
    interrupted(model, X, 20)

    def again(*_, **__):
        raise AssertionError

    for name in ("starts", "collapse_lam"):
        monkeypatch.setattr(f"klsnmf.estimators.by_kernel.{name}", again)
    model.set_params(callback=None).fit(X)


def test_writing_waits_for_its_turn(file, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("klsnmf.solve.checkpoint.time.monotonic", lambda: clock[0])
    times = []

    def slow_write(stream, content):
        times.append(clock[0])
        clock[0] += 2.0

    monkeypatch.setattr("klsnmf.solve.checkpoint.write", slow_write)

    def work(progress):
        clock[0] += 1.0

    KLSNMF(K, checkpoint=file, callback=work, random_state=0, tol=0, max_iter=300).fit(X)
    assert times[0] <= checkpoint.PAUSE + 2
    gaps = np.diff(times)
    assert len(gaps) >= 1
    assert (gaps >= 2.0 / checkpoint.SHARE).all()


def test_what_killed_processes_left_behind_is_removed(file):
    old, other = (
        file.with_name(f".{name}.{'0123456789abcdef'}.part") for name in ("fit.npz", "fit2.npz")
    )
    for part in (old, other):
        part.touch()
    KLSNMF(K, checkpoint=file, **QUICK).fit(X)
    assert list(file.parent.iterdir()) == [other], "of another fit"


@pytest.mark.parametrize("way", ["replaced", "rewritten", "made first", "a folder"])
def test_a_file_that_another_program_put_in_its_place_is_theirs(file, way, monkeypatch):
    """It is neither used nor written nor removed, and the fit goes on."""
    monkeypatch.setattr(checkpoint, "PAUSE", -1.0)

    def watch(progress):
        if progress.iteration != 5 or progress.phase == "screening":
            return
        if way == "rewritten":
            file.write_text("precious")
        elif way == "a folder":
            if file.is_file():
                file.unlink()
                file.mkdir()
        else:
            other = file.with_name("other")
            other.write_text("precious")
            other.replace(file)

    if way == "made first":
        monkeypatch.setattr(checkpoint, "PAUSE", 1e9)
    with pytest.warns(RuntimeWarning, match="another program"):
        model = KLSNMF(K, checkpoint=file, **QUICK, callback=watch).fit(X)
    np.testing.assert_array_equal(model.labels_, KLSNMF(K, **QUICK).fit(X).labels_)
    assert file.is_dir() if way == "a folder" else file.read_text() == "precious"


def test_a_fit_that_the_callback_ends_is_done(file):
    model = KLSNMF(K, checkpoint=file, **QUICK, callback=lambda p: p.iteration == 9)
    assert "stopped" in model.fit(X).verdict_
    assert not file.exists()


def test_two_fits_with_one_file(file, monkeypatch):
    """The file is always whole, and whoever ends first removes it."""
    monkeypatch.setattr(checkpoint, "PAUSE", -1.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    expected = KLSNMF(K, **QUICK).fit(X)
    second = KLSNMF(K, checkpoint=file, **QUICK)

    def meanwhile(progress):
        if progress.phase == "exact" and progress.iteration == 5:
            second.fit(X)

    first = clone(second).set_params(callback=meanwhile).fit(X)
    assert_same(first, expected)
    assert_same(second, expected)
    assert not file.exists()


# ---------------------------------------------------------------------- other fits


def other_kernel(A, B):
    return rbf_kernel(A, B)


REFUSED = {
    "samples": ({}, X + 1e-9, "X has other numbers"),
    "fewer samples": ({}, X[:-1], r"shape of X was \[70, 6\], and is \[69, 6\]"),
    "precision": ({}, X.astype(np.float32), "X has other numbers"),
    "sparse samples": ({}, sparse.csr_array(X), "X has other numbers"),
    "clusters": ({"n_clusters": 4}, X, "n_clusters was 3, and is 4"),
    "seed": ({"random_state": 1}, X, "random_state was 0, and is 1"),
    "no seed": ({"random_state": None}, X, "random_state was 0, and is None"),
    "lam": ({"lam": 0.5}, X, r"lam was \['auto'\], and is \[0\.5\]"),
    "function": ({"kernel": other_kernel}, X, "kernel was 'self-tuning'.*other_kernel"),
    "start": ({"init": START}, X, "init was 'auto'"),
    "two": ({"max_iter": 31, "tol": 0.5}, X, "max_iter was 30, and is 31; tol was 0, and is 0.5"),
}


@pytest.mark.parametrize(("params", "samples", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_the_checkpoint_of_another_fit_is_refused(params, samples, what, file):
    interrupted(KLSNMF(K, checkpoint=file, **QUICK), X, 20)
    before = file.read_bytes()
    with pytest.raises(CheckpointError, match=what) as caught:
        KLSNMF(**{"n_clusters": K, **QUICK, "checkpoint": file, **params}).fit(samples)
    assert re.search(r"Delete the file, or give checkpoint another name\.$", str(caught.value))
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == before


def test_another_method_or_version_is_refused(file, monkeypatch):
    interrupted(KLSNMF(K, checkpoint=file, **QUICK), X, 20)
    with pytest.raises(CheckpointError, match="method was 'KLSNMF', and is 'GLSNMF'"):
        GLSNMF(K, checkpoint=file, **QUICK).fit(X)
    monkeypatch.setattr("klsnmf.solve.fingerprints.__version__", "99.0")
    with pytest.raises(CheckpointError, match=r"version of klsnmf was .*, and is '99\.0'"):
        KLSNMF(K, checkpoint=file, **QUICK).fit(X)


def test_a_function_that_means_another_kernel_now_is_refused(file):
    """Its name is the same; what its matrix makes of the factors is not."""
    width = [1.0]

    def kernel(A, B):
        return rbf_kernel(A, B, gamma=width[0])

    model = KLSNMF(K, kernel=kernel, checkpoint=file, **QUICK)
    interrupted(model, X, 12)
    width[0] = 0.1
    with pytest.raises(CheckpointError, match="objective of its factors is another") as caught:
        model.set_params(callback=None).fit(X)
    assert not hasattr(caught.value, "__notes__")
    width[0] = 1.0
    model.fit(X)


@pytest.mark.parametrize("change", [{"verbose": 1}, {"max_memory": 1.0}, {"checkpoint": "text"}])
def test_what_has_no_effect_may_change(change, file, capsys):
    model = KLSNMF(K, checkpoint=file, **QUICK)
    interrupted(model, X, 20)
    if "checkpoint" in change:
        change = {"checkpoint": str(file)}
    model.set_params(callback=None, **change).fit(X)
    assert_same(model, KLSNMF(K, **QUICK).fit(X))
    if "verbose" in change:
        assert f"continuing from {file}, after " in capsys.readouterr().out


# ---------------------------------------------------------------------- files of strangers


class Evil:
    def __reduce__(self):
        return (Path.touch, (Path("ran").resolve(),))


def parts(node):
    """What a node of the text holds, of a dict as of a list."""
    inside = next((key for key in ("dict", "fields") if key in node), None)
    return node if inside is None else node[inside]


def node_at(text, keys):
    node = text
    for key in keys:
        node = parts(node)[key]
    return node


def put(value, *keys):
    def change(arrays, text):
        name = node_at(text, keys)["array"]
        arrays[name] = value(arrays[name])

    return change


def tell(value, *keys):
    def change(arrays, text):
        node = parts(node_at(text, keys[:-1]))
        assert keys[-1] in node or isinstance(node, list)
        node[keys[-1]] = value

    return change


def without(*keys):
    def change(arrays, text):
        del arrays[node_at(text, keys)["array"]]

    return change


def end(name, kind="Status"):
    """The node of an end with this status."""
    fields = {"status": {"record": kind, "name": name}, "trouble": None, "share": 0.0}
    return {"record": "End", "fields": fields}


# Entry 0 are the starts, 1 is the first phase, 2 the second.
START_0, FIT_1, FIT_2 = (("entries", 0, "starts", 0), *(("entries", i, "fits", 0) for i in (1, 2)))
HOSTILE = {
    "a factor of another shape": put(lambda W: W[:-1], *FIT_2, "factors", "W"),
    "a factor with a column more": put(lambda G: np.hstack([G, G]), *FIT_2, "factors", "G"),
    "a factor of another precision": put(lambda W: W.astype(np.float32), *FIT_2, "factors", "W"),
    "a factor of integers": put(lambda W: W.astype(int), *FIT_2, "factors", "W"),
    "a factor of text": put(lambda W: W.astype("U9"), *FIT_2, "factors", "W"),
    "a factor of NaN": put(lambda W: W * np.nan, *FIT_2, "factors", "W"),
    "other numbers": put(lambda W: W + 1, *FIT_2, "factors", "W"),
    "no factor": without(*FIT_2, "factors", "W"),
    "no factors": tell({"dict": {}}, *FIT_2, "factors"),
    "factors of another name": lambda arrays, text: (
        factors := parts(node_at(text, (*FIT_2, "factors")))
    ).update(V=factors.pop("W")),
    "a history of another length": put(lambda values: values[:-1], *FIT_2, "changes", "W"),
    "a longer history": put(lambda values: np.tile(values, 50), *FIT_2, "losses"),
    "a history without end": put(lambda values: values[:0], *FIT_2, "losses"),
    "a history in a square": put(lambda values: values[:, None], *FIT_2, "losses"),
    "a place that is none": tell(99, *FIT_2, "place"),
    "a place twice": tell(1, *FIT_2, "place"),
    "a place before the first": tell(-1, *FIT_2, "place"),
    "a status that is none": tell(end("WON"), *FIT_2, "end"),
    "a status of another kind": tell(end("GROWS", "Trouble"), *FIT_2, "end"),
    "an end without labels": tell(end("CONVERGED"), *FIT_2, "end"),
    "no end": tell(None, *FIT_1, "end"),
    "an end of numbers": tell(5, *FIT_1, "end"),
    "a trouble that is none": tell(5, *FIT_1, "end", "trouble"),
    "a share of more than all": tell(5.0, *FIT_1, "end", "share"),
    "a record in the place of another": tell(end("CONVERGED"), "entries", 2),
    "labels too large": put(lambda labels: labels + K, *FIT_1, "labels"),
    "labels too small": put(lambda labels: labels - K, *FIT_1, "labels"),
    "too few labels": put(lambda labels: labels[1:], *FIT_1, "labels"),
    "starts too large": put(lambda labels: labels + K, *START_0, "labels"),
    "starts too short": put(lambda labels: labels[1:], *START_0, "labels"),
    "starts with columns": tell(10**12, *START_0, "columns"),
    "starts with a column less": tell(K + 1, *START_0, "columns"),
    "starts of objects": tell("object", *START_0, "dtype"),
    "starts of another precision": tell("float32", *START_0, "dtype"),
    "no starts": tell([], "entries", 0, "starts"),
    "no threshold": tell(float("nan"), "entries", 0, "threshold"),
    "no fits": tell([], "entries", 2, "fits"),
    "starts where a phase was": lambda arrays, text: text["entries"].insert(0, text["entries"][1]),
    "no entries in a list": tell(7, "entries"),
    "entries of no kind": tell(["starts"], "entries"),
    "another format": tell("klsnmf model", "format"),
    "another version": tell(1, "version"),
    "no fingerprint": tell(3, "fingerprint"),
    "a generator out of place": lambda arrays, text: (
        text.update(generator={"tuple": ["MT19937", {"array": "twister"}, 10**9, 0, 0.0]}),
        arrays.update(twister=np.zeros(624, np.uint32)),
    ),
    "a generator that is not asked for": lambda arrays, text: (
        text.update(generator={"tuple": ["MT19937", {"array": "twister"}, 1, 0, 0.0]}),
        arrays.update(twister=np.zeros(624, np.uint32)),
    ),
}


@pytest.fixture(scope="module")
def second_phase(tmp_path_factory):
    """The bytes of a checkpoint in the second phase of a fit."""
    file = tmp_path_factory.mktemp("checkpoint") / "fit.npz"
    interrupted(KLSNMF(K, checkpoint=file, **QUICK), X, 20)
    _, text = stored(file)
    assert len(text["entries"]) == 3
    factors = node_at(text, (*FIT_1, "factors"))
    assert not parts(factors), "the second phase has its own factors"
    return file.read_bytes()


def assert_refused(file):
    before = file.read_bytes()
    with pytest.raises(CheckpointError) as caught:
        KLSNMF(K, checkpoint=file, **QUICK).fit(X)
    message = str(caught.value)
    assert str(file) in message
    assert "Delete the file" in message
    assert len(message) < 500
    assert file.read_bytes() == before


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_was_tampered_with_is_refused(change, second_phase, file):
    file.write_bytes(second_phase)
    arrays, text = stored(file)
    change(arrays, text)
    store(file, arrays, text)
    assert_refused(file)


def test_a_file_that_was_not_changed_is_not_refused(second_phase, file):
    """That is what the test above rests on."""
    file.write_bytes(second_phase)
    store(file, *stored(file))
    assert_same(KLSNMF(K, checkpoint=file, **QUICK).fit(X), KLSNMF(K, **QUICK).fit(X))


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.9, 0.9999])
def test_half_a_file_is_refused(share, second_phase, file):
    file.write_bytes(second_phase[: int(share * len(second_phase))])
    assert_refused(file)


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_file_is_refused_or_of_no_consequence(seed, second_phase, file):
    content = bytearray(second_phase)
    for place in np.random.default_rng(seed).integers(len(content), size=20):
        content[place] ^= 0xFF
    file.write_bytes(content)
    with contextlib.suppress(CheckpointError):
        model = KLSNMF(K, checkpoint=file, **QUICK).fit(X)
        assert_same(model, KLSNMF(K, **QUICK).fit(X))


@pytest.mark.parametrize("kind", ["text", "pickle", "objects", "bomb", "deep", "folder"])
def test_what_is_no_checkpoint_is_refused(kind, file, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if kind == "folder":
        file.mkdir()
        with pytest.raises(CheckpointError, match="not a regular file"):
            KLSNMF(K, checkpoint=file, **QUICK).fit(X)
        return
    if kind == "text":
        file.write_text("my thesis\n")
    elif kind == "pickle":
        file.write_bytes(pickle.dumps(Evil()))
    elif kind == "objects":
        np.savez(file, checkpoint=np.array([Evil()], dtype=object))
    elif kind == "bomb":
        np.savez_compressed(file, checkpoint=np.zeros(10**7, np.uint8))
    else:
        deep = b"[" * 100_000 + b"]" * 100_000
        np.savez(file, checkpoint=np.frombuffer(deep, np.uint8))
    assert_refused(file)
    assert not Path("ran").exists()


def test_a_header_that_promises_too_much(second_phase, file):
    file.write_bytes(second_phase)
    _, text = stored(file)
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    W, G = (f"{node_at(text, (*FIT_2, 'factors', name))['array']}.npy" for name in "WG")
    entries[W] = entries[W].replace(b"(70, 3)", b"(7e9, 3)"[:7])
    entries[G] = entries[G].replace(b"(70, 3)", b"(70,99)")
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    assert_refused(file)


# ---------------------------------------------------------------------- disks and memory


def test_a_checkpoint_that_cannot_be_written_is_told_once(file, monkeypatch):
    """A full disk: the fit goes on, and the earlier checkpoint is as it was."""
    monkeypatch.setattr(checkpoint, "PAUSE", -1.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    model = KLSNMF(K, checkpoint=file, **QUICK)
    interrupted(model, X, 12)
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    seen = []
    with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patched.setattr("klsnmf.core.writing.os.fsync", full)
        model.set_params(callback=lambda _: seen.append(file.read_bytes() == before)).fit(X)
    (warning,) = [one for one in caught if one.category is RuntimeWarning]
    assert re.search(
        r"could not be written \(No space left on device\); the fit goes on\. What was written "
        r"before is still there\.$",
        str(warning.message),
    )
    assert warning.filename == __file__
    assert all(seen)
    assert len(seen) > 5
    assert_same(model, KLSNMF(K, **QUICK).fit(X))


def test_a_folder_that_vanishes(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "PAUSE", -1.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    folder = tmp_path / "here"
    folder.mkdir()

    def vanish(progress):
        for file in folder.glob("*"):
            file.unlink()
        if folder.exists():
            folder.rmdir()

    model = KLSNMF(K, checkpoint=folder / "fit.npz", callback=vanish, **QUICK)
    with pytest.warns(RuntimeWarning, match=r"No such file or directory\); the fit goes on\.$"):
        model.fit(X)
    with pytest.raises(ValueError, match=r"there is no folder .*here\. Make it, or name"):
        model.fit(X)


def test_a_checkpoint_that_cannot_be_removed(file, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    model = KLSNMF(K, checkpoint=file, **QUICK)
    interrupted(model, X, 20)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.warns(RuntimeWarning, match=r"could not be removed \(Permission denied\)"):
            model.set_params(callback=None).fit(X)
    assert_same(model, KLSNMF(K, **QUICK).fit(X))


def test_an_interrupted_fit_that_cannot_be_kept_is_interrupted(file, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("klsnmf.core.writing.os.fsync", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        _, error = interrupted(KLSNMF(K, checkpoint=file, **QUICK), X, 12)
    assert not getattr(error, "__notes__", [])
    assert not file.exists()


def too_large(A, B):
    return np.empty((10**8, 10**8))


def test_a_kernel_matrix_that_numpy_refuses():
    with pytest.raises(MemoryError) as caught:
        KLSNMF(K, kernel=too_large).fit(X)
    message = str(caught.value)
    assert message.startswith("The kernel matrix ran out of memory (Unable to allocate ")
    assert "n_neighbors" in message
    assert 'gram="tiled"' in message
    assert "max_memory" in message
    assert "\n" not in message


@pytest.mark.parametrize("method", [KLSNMF, LSNMF, WNMF])
def test_memory_that_runs_out_in_a_fit(method):
    def fails(progress):
        raise MemoryError

    with pytest.raises(MemoryError, match=r"^The fit ran out of memory\. Lower n_init"):
        method(K, callback=fails, random_state=0).fit(X)


def test_memory_that_runs_out_leaves_a_checkpoint(file):
    model = KLSNMF(K, checkpoint=file, **QUICK)
    _, error = interrupted(model, X, 14, MemoryError)
    assert str(file) in error.__notes__[0]
    callback = Interrupt(0)
    model.set_params(callback=callback).fit(X)
    assert callback.seen[0] == ("exact", 15)
    assert_same(model, KLSNMF(K, **QUICK).fit(X))


def test_only_plain_generators_are_kept(file):
    other = np.random.RandomState(np.random.PCG64(0))
    with pytest.raises(ValueError, match="random_state must be a number, None or a plain"):
        KLSNMF(K, checkpoint=file, random_state=other).fit(X)


# ---------------------------------------------------------------------- habits


@pytest.mark.parametrize("as_text", [True, False])
def test_a_checkpoint_is_a_parameter_as_others(as_text, file, tmp_path):
    model = KLSNMF(K, checkpoint=str(file) if as_text else file, **QUICK)
    assert clone(model).get_params() == model.get_params()
    model.fit(X)
    save(model, tmp_path / "model.npz")
    found, _ = load(tmp_path / "model.npz")
    assert found.checkpoint is None  # the next fit of whoever loads it would write there
    np.testing.assert_array_equal(found.predict(X), model.labels_)
    with pytest.raises(ValueError, match="'checkpoint' parameter"):
        KLSNMF(K, checkpoint=3).fit(X)


def test_callbacks_of_scikit_learn_go_on(file):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
    model = KLSNMF(K, checkpoint=file, **QUICK)
    interrupted(model, X, 20)
    model.set_params(callback=None).set_callbacks(callback.ProgressBar()).fit(X)
    assert_same(model, KLSNMF(K, **QUICK).fit(X))


def test_a_command_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("mine.npy", X)
    arguments = ("cluster", "mine.npy", "-k", K, "--checkpoint", "fit.npz")
    run(*arguments[:-2], "--out", "expected")

    def interrupt(stage, done, total):
        if stage == "exact iterations" and done == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("klsnmf.solve.loop.tell", interrupt)
        _, error = run(*arguments, code=130)
    assert "fit.npz has the fit after 4 iterations" in error
    assert sorted(os.listdir()) == ["expected", "fit.npz", "mine.npy"]
    _, error = run(*arguments, "--seed", 1, code=3)
    assert "random_state was 0, and is 1" in error
    run(*arguments)
    np.testing.assert_array_equal(labels_of("mine-clusters"), labels_of("expected"))
    assert not Path("fit.npz").exists()
    _, error = run(*arguments, "--method", "kmeans", code=2)
    assert "not with kmeans" in error
