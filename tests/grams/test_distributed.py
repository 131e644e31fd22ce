"""Fits on a Dask cluster of two processes: the same labels, whoever dies, or one clear sentence."""

import asyncio
import os
import pickle
import signal
import sys
import time
from functools import partial
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from distributed import Client, KilledWorker, LocalCluster
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from klsnmf import KLSNMF, LSNMF, n_clusters_evidence
from klsnmf.core import files
from klsnmf.grams import block_tasks, distributed
from klsnmf.grams.distributed import ClusterError, DistributedGram, Workers, cut_rows
from klsnmf.io import model_file
from klsnmf.kernels import worker_tasks as tasks
from klsnmf.kernels.build import fit_kernel
from klsnmf.kernels.functions import KERNELS
from klsnmf.kernels.neighbors import neighbor_indices
from klsnmf.kernels.plan import make_plan
from klsnmf.kernels.workers import RemoteSamples, locate

from .test_grams import GramContract

LocalWorkers = partial(LocalCluster, threads_per_worker=1, dashboard_address=":0")


@pytest.fixture(scope="module")
def client():
    with LocalWorkers(n_workers=2) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def doomed():
    """The client of a cluster whose workers may be killed: who knows when they are back."""
    with LocalWorkers(n_workers=2) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(distributed, "ROWS", 70)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(distributed, "PATIENCE", 0.5)
    monkeypatch.setattr(distributed, "_LOOK_EVERY", 0.1)
    monkeypatch.setattr(distributed, "_ANSWER", 0.2)


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:200]


@pytest.fixture(params=["array", "path", "dask.array"])
def given(request, X, tmp_path):
    """The same samples in other hands."""
    if request.param == "array":
        return X
    if request.param == "dask.array":
        return da.from_array(X, chunks=(90, 64))
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


def fit(X, kind=KLSNMF, **params):
    options = {"n_clusters": 5, "random_state": 0, "n_init": 2, "max_iter": 6, "tol": 0, **params}
    return kind(**options).fit(X)


#: Starts that need no eigenvectors of K, which take hundreds of messages.
EASY = {"kernel": "rbf", "init": "kmeans", "solver": "soft"}


def kill_one(client):
    """SIGKILL for a worker: it cannot say goodbye."""
    pids = client.run(os.getpid)
    os.kill(pids[min(pids)], signal.SIGKILL)


class TestContract(GramContract):
    @pytest.fixture(autouse=True)
    def cluster(self, client, monkeypatch):
        monkeypatch.setattr(distributed, "ROWS", 5)
        self.workers = Workers(client)

    def make(self, K):
        cut = cut_rows(len(K))
        assert len(cut) == 3
        blocks = [self.workers.submit(block_tasks.same, K[rows]) for rows in cut]
        return DistributedGram(self.workers, blocks, cut)

    @pytest.mark.parametrize("limit", ["_MESSAGE", "_WITH_EVERY_BLOCK"])
    def test_small_and_large_messages(self, limit, monkeypatch):
        K = np.eye(13)
        monkeypatch.setattr(distributed, limit, 13 * 8 * 2)
        V = np.arange(65.0).reshape(13, 5)
        np.testing.assert_array_equal(self.make(K).dot(V), V)


def moved(A, offset):
    """A copy of A at an address that is off by so many bytes, as it may come out of a message."""
    room = np.zeros(A.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 16 + offset
    copy = room[start : start + A.nbytes].view(A.dtype).reshape(A.shape)
    copy[...] = A
    return copy


@pytest.mark.parametrize("offset", [1, 3, 8])
def test_where_a_message_puts_numbers_does_not_matter(X, offset):
    block, V = np.sqrt(X), X[:20].copy()
    expected = block_tasks.product(block, V)
    np.testing.assert_array_equal(block_tasks.product(block, moved(V, offset)), expected)
    np.testing.assert_array_equal(block_tasks.product(moved(block, offset), V), expected)
    cut, prepare = cut_rows(len(X)), tasks.Preparation(X.dtype, 1.0, False)
    more = cut, prepare, KERNELS["rbf"], np.full(len(X), 30.0), X.dtype
    expected = tasks.kernel_rows(0, [X[rows] for rows in cut], *more)
    for change in (lambda part: moved(part, offset), np.asfortranarray):
        found = tasks.kernel_rows(0, [change(X[rows]) for rows in cut], *more)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [1, 69, 70, 71, 1000, 150_000, 200_000, 10**8])
def test_blocks_of_rows(n):
    cut = cut_rows(n)
    sizes = [rows.stop - rows.start for rows in cut]
    assert sum(sizes) == n
    assert max(sizes) - min(sizes) <= 1
    assert len(cut) <= 1024
    assert max(sizes) <= 70 or len(cut) >= 512
    for i in {0, n // 2, n - 1}:
        block, place = cut.place(i)
        assert cut[block].start + place == i < cut[block].stop


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_of_kernels(X, kernel, dtype):
    X = X[:150].astype(dtype)
    truth, fitted = fit_kernel(X, kernel, "auto", None)
    cut, prepare = cut_rows(150), tasks.Preparation(X.dtype, 1.0, kernel == "cosine")
    parts = [X[rows] for rows in cut]
    K = [
        tasks.kernel_rows(i, parts, cut, prepare, KERNELS[kernel], fitted.r, X.dtype)
        for i in range(len(cut))
    ]
    np.testing.assert_allclose(np.vstack(K), truth.K, rtol=1e-3, atol=1e-6 * truth.largest)
    if kernel in ("rbf", "self-tuning"):
        assert (np.diag(np.vstack(K)) == 1).all()


@pytest.mark.parametrize("features", [3, 64])
def test_neighbours_part_by_part(features):
    X = np.random.default_rng(0).normal(size=(150, features))
    cut, prepare = cut_rows(150), tasks.Preparation(X.dtype, 1.0, False)
    parts = [X[rows] for rows in cut]
    found = [tasks.nearest_rows(i, parts, cut, prepare, 60) for i in range(len(cut))]
    np.testing.assert_array_equal(np.vstack(found), neighbor_indices(X, 60))


@pytest.mark.parametrize("params", [{"kernel": "rbf"}, {}], ids=["dense", "default"])
def test_the_same_labels_as_here(client, X, given, params):
    alone, together = fit(X, **params), fit(given, engine=client, **params)
    np.testing.assert_array_equal(together.labels_, alone.labels_)
    assert together.objective_ == pytest.approx(alone.objective_, rel=1e-6)
    np.testing.assert_allclose(together.components_, alone.components_, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(together.predict(X[:20]), alone.predict(X[:20]))
    assert "_workers" not in vars(together)


def test_all_workers_get_blocks(client, given, monkeypatch):
    monkeypatch.setattr(distributed, "ROWS", 20)
    client.wait_for_workers(2, timeout=60)
    here, send = locate(given, client, "rbf", "auto")
    K = send(here, None, 1.0).gram(KERNELS["rbf"], np.full(len(here), 30.0))
    held = client.who_has(K.blocks).values()
    assert len({worker for workers in held for worker in workers}) == 2


@pytest.mark.parametrize(
    "params",
    [
        {"kind": LSNMF, "init": "kmeans", "solver": "soft"},
        {"kernel": "cosine", "row_norm": None},
        {"kernel": "rbf", "n_neighbors": 8, "diffusion": 2},
        {"kernel": "rbf", "diffusion": 2},
        {**EASY, "radius": 500.0, "row_norm": None},
    ],
    ids=["LSNMF", "cosine", "sparse", "diffused", "wide"],
)
def test_kernels_in_single_precision(client, X, params):
    X = X.astype(np.float32)
    alone, together = fit(X, **params), fit(X, engine=client, **params)
    np.testing.assert_array_equal(together.labels_, alone.labels_)
    assert together.W_.dtype == np.float32
    assert together.lam_ == pytest.approx(alone.lam_, rel=0.1)


def test_a_path_is_read_here_too(X, tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    here = fit(X)
    np.testing.assert_array_equal(fit(str(tmp_path / "x.npy")).labels_, here.labels_)
    np.testing.assert_array_equal(here.predict(tmp_path / "x.npy"), here.labels_)


def test_a_file_too_large_for_memory_stays_on_the_disk(client, X, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr("klsnmf.kernels.inputs.memory", SimpleNamespace(fits=lambda size: False))
    assert isinstance(locate(tmp_path / "x.npy", None, "rbf", "auto")[0], np.memmap)
    np.testing.assert_array_equal(fit(tmp_path / "x.npy", engine=client).labels_, fit(X).labels_)


def test_the_client_made_last_serves_dask_arrays_and_verbose_says_where(client, X, capsys):
    found = fit(da.from_array(X, chunks=(90, 64)), **EASY, verbose=1)
    assert "in blocks of rows on the workers" in capsys.readouterr().out
    np.testing.assert_array_equal(found.labels_, fit(X, **EASY).labels_)


def test_the_number_of_clusters(client, X):
    found = n_clusters_evidence(X, engine=client, kernel="rbf", random_state=0)
    alone = n_clusters_evidence(X, kernel="rbf", random_state=0)
    assert found.chosen == alone.chosen
    np.testing.assert_allclose(found.eigenvalues, alone.eigenvalues, rtol=1e-6)


def test_workers_place_new_samples_side_by_side(client, X):
    model = fit(X[:100], engine=client)
    array = da.from_array(X, chunks=(90, 64))
    labels = array.map_blocks(model.predict, dtype=int, drop_axis=1).compute()
    np.testing.assert_array_equal(labels, model.predict(X))


def test_a_killed_worker_changes_nothing(doomed, given):
    undisturbed = fit(given, **EASY, engine=doomed)
    killed = []

    def kill(progress):
        if not killed and progress.iteration == 2:
            killed.append(kill_one(doomed))

    disturbed = fit(given, **EASY, engine=doomed, callback=kill)
    assert killed
    np.testing.assert_array_equal(disturbed.labels_, undisturbed.labels_)
    assert disturbed.objective_ == undisturbed.objective_
    np.testing.assert_array_equal(disturbed.W_, undisturbed.W_)


def test_the_only_worker_dies_and_comes_back(X):
    """Under another address, and nothing that it had made is left."""
    killed = []
    with LocalWorkers(n_workers=1) as cluster, Client(cluster, set_as_default=False) as client:

        def kill(progress):
            if not killed and progress.iteration == 2:
                killed.append(kill_one(client))
                cluster.scale(2)  # should the first not be started again, the second comes

        undisturbed = fit(X, **EASY, engine=client)
        disturbed = fit(X, **EASY, engine=client, callback=kill)
    assert killed
    assert disturbed.objective_ == undisturbed.objective_
    np.testing.assert_array_equal(disturbed.W_, undisturbed.W_)


def test_with_few_features_neighbours_are_searched_here(client, X, monkeypatch, capsys):
    def not_here(self, m):
        raise AssertionError("workers were asked")

    monkeypatch.setattr(RemoteSamples, "neighbor_indices", not_here)
    few = X[:, 20:30]
    found = fit(few, engine=client, verbose=1)
    assert "fewer than 16 features" in capsys.readouterr().out
    np.testing.assert_array_equal(found.labels_, fit(few).labels_)
    with pytest.raises(AssertionError, match="workers were asked"):
        fit(X, engine=client)


@pytest.mark.parametrize("given", ["dask.array"], indirect=True)
def test_neighbours_are_found_by_who_is_left(doomed, X, given):
    here, send = locate(given, doomed, "self-tuning", "auto")
    samples = send(here, None, 1.0)
    before = samples.neighbor_indices(10)
    kill_one(doomed)
    np.testing.assert_array_equal(samples.neighbor_indices(10), before)
    d2 = np.square(X[:, None] - X[before]).sum(axis=2)
    truth = np.square(X[:, None] - X[neighbor_indices(X, 10)]).sum(axis=2)
    np.testing.assert_allclose(np.sort(d2), np.sort(truth))


def test_clones_share_the_client_and_files_do_not_hold_it(client, X, tmp_path):
    model = fit(X, engine=client)
    assert clone(model).engine is client
    assert clone(model).get_params()["engine"] is client
    assert "engine" in repr(model)
    again = pickle.loads(pickle.dumps(model))
    assert again.engine is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model_file.save(model, tmp_path / "model.npz")
    loaded, _ = model_file.load(tmp_path / "model.npz")
    assert loaded.engine is None
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert client.status == "running"


def test_what_only_workers_know_is_in_no_file(client, X, tmp_path, monkeypatch):
    monkeypatch.setattr("klsnmf.grams.diffused._MOST_SQUARED", 100)
    model_file.save(fit(X, **EASY, diffusion=4, engine=client), tmp_path / "four.npz")
    model = fit(X, **EASY, diffusion=2, engine=client)
    with pytest.raises(TypeError, match=r"asks the workers at each step.*set diffusion=0"):
        pickle.dumps(model)
    with pytest.raises(model_file.ModelError, match=r"asked at each step, by workers.*diffusion=0"):
        model_file.save(model, tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


class Accident:
    """Does something at the given iteration, and notes those that it sees."""

    def __init__(self, iteration=0, what=None):
        self.iteration, self.what, self.seen = iteration, what, []

    def __call__(self, progress):
        self.seen.append(progress.iteration)
        if progress.phase == "soft" and progress.iteration == self.iteration:
            self.what()


RUN = {"kernel": "rbf", "solver": "soft", "max_iter": 30}


def test_a_run_goes_on_on_another_cluster(client, X, tmp_path, impatient):
    file = tmp_path / "run.npz"
    with (
        LocalWorkers(n_workers=1, processes=False) as cluster,
        Client(cluster, set_as_default=False, timeout=2) as first,
    ):
        accident = Accident(15, cluster.close)
        with pytest.raises(ClusterError, match="was lost") as caught:
            fit(X, engine=first, checkpoint=file, callback=accident, **RUN)
    assert any(str(file) in note for note in caught.value.__notes__)
    after = Accident()
    found = fit(X, engine=client, checkpoint=file, callback=after, **RUN)
    assert 1 < after.seen[0] <= 16
    whole = fit(X, **RUN)
    np.testing.assert_array_equal(found.labels_, whole.labels_)
    assert found.n_iter_ == whole.n_iter_


def test_a_run_goes_on_when_its_file_is_back(client, doomed, X, tmp_path):
    samples, file = tmp_path / "x.npy", tmp_path / "run.npz"
    np.save(samples, X)

    def vanish():
        samples.unlink()
        kill_one(doomed)

    with pytest.raises(tasks.SourceError, match="cannot read") as caught:
        fit(samples, engine=doomed, checkpoint=file, callback=Accident(15, vanish), **RUN)
    assert any(str(file) in note for note in caught.value.__notes__)
    np.save(samples, X)
    after = Accident()
    found = fit(samples, engine=client, checkpoint=file, callback=after, **RUN)
    assert 1 < after.seen[0] <= 16
    np.testing.assert_array_equal(found.labels_, fit(X, **RUN).labels_)


class TestBadInput:
    """Each ends in one clear sentence, and leaves no half-fitted estimator behind."""

    def refuses(self, error, match, X, **params):
        model = KLSNMF(3, kernel="rbf", random_state=0, tol=0, max_iter=6, n_init=2).set_params(
            **params
        )
        with pytest.raises(error, match=match):
            model.fit(X)
        assert not hasattr(model, "labels_")
        assert "_workers" not in vars(model)

    def test_dask_not_installed(self, client, X, monkeypatch):
        monkeypatch.setitem(sys.modules, "distributed", None)
        self.refuses(ImportError, r'pip install "klsnmf\[dask\]"', X, engine=client)

    def test_not_a_client(self, X):
        named = r"'engine' parameter of KLSNMF must be a client of Dask, such as Client\(cluster\)"
        self.refuses(ValueError, named, X, engine="tcp://x:1")

        class Other:
            def submit(self): ...

            gather = submit

        self.refuses(TypeError, "must be a distributed.Client", X, engine=Other())

    def test_no_workers(self, X):
        with LocalWorkers(n_workers=0) as cluster, Client(cluster, set_as_default=False) as empty:
            self.refuses(ClusterError, "has no workers.*dask worker", X, engine=empty)
        self.refuses(ClusterError, "is closed: make a new one", X, engine=empty)

    def test_a_dask_array_without_a_client(self, X, monkeypatch):
        def none():
            raise ValueError("No clients found")

        monkeypatch.setattr("distributed.default_client", none)
        self.refuses(ClusterError, "no Dask client: make one", da.from_array(X))

    @pytest.mark.parametrize("what", ["workers", "scheduler"])
    def test_a_cluster_that_dies(self, X, what, impatient):
        with (
            LocalWorkers(n_workers=1, processes=False) as cluster,
            Client(cluster, set_as_default=False, timeout=2) as client,
        ):

            def end(progress):
                if what == "workers":
                    cluster.scale(0)
                else:
                    cluster.close()

            sentence = {"workers": "All workers.*are gone, .* 0.5 s", "scheduler": "was lost"}[what]
            self.refuses(ClusterError, f"{sentence}.*fit again", X, engine=client, callback=end)

    def test_a_scheduler_that_falls_silent(self, client, X, impatient, monkeypatch):
        workers = Workers(client)
        waiting = [workers.submit(time.sleep, 2)]

        async def silence(**details):
            await asyncio.sleep(2)

        for question in ("ncores", "identity"):
            monkeypatch.setattr(client.scheduler, question, silence, raising=False)
        with pytest.raises(ClusterError, match=r"scheduler is silent, for 0.5 s.*fit again"):
            workers.results(waiting)
        client.cancel(waiting, force=True)
        with pytest.raises(ClusterError, match=r"not answered for 0.2 s.*Start the cluster"):
            workers.memory()
        self.refuses(ClusterError, "not answered for 0.2 seconds", X, engine=client)

    def test_a_task_that_kills_its_workers(self, client):
        workers = Workers(client)
        last = SimpleNamespace(address="tcp://worker")
        killed = KilledWorker("task", last, 3)  # what the scheduler says then
        with pytest.raises(ClusterError, match=r"died during the same task.*memory"):
            workers.results([workers.submit(_raise, killed)])

    def test_workers_without_klsnmf(self, client):
        workers = Workers(client)
        with pytest.raises(ClusterError, match=r"lacks a package.*Install klsnmf"):
            workers.results([workers.submit(__import__, "no_such_package")])

    def test_an_error_of_a_task_is_told_as_it_is(self, client):
        workers = Workers(client)
        with pytest.raises(TimeoutError, match="mine"):
            workers.results([workers.submit(_raise, TimeoutError("mine"))])

    def test_a_file_that_vanishes_when_it_is_needed_again(self, doomed, X, tmp_path):
        path = tmp_path / "x.npy"
        np.save(path, X)

        def vanish(progress):
            path.unlink()
            kill_one(doomed)

        match = r"cannot read X=.*x.npy"
        self.refuses(tasks.SourceError, match, path, engine=doomed, callback=vanish)

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("after", ["another shape", "another type", "another moment"])
    def test_a_file_that_changes(self, X, tmp_path, after, order):
        path = tmp_path / "x.npy"
        X = np.asarray(X, order=order)
        np.save(path, X)
        rows = file_rows(path, slice(3, 5))
        np.testing.assert_array_equal(rows.read(), X[3:5])
        if after == "another moment":
            os.utime(path, ns=(1, rows.changed[1] + 1000))
        else:
            np.save(path, X.T if after == "another shape" else X.astype(np.int64))
            os.utime(path, ns=(1, rows.changed[1]))
        with pytest.raises(tasks.SourceError, match="is not the file that the fit began with"):
            rows.read()

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_a_file_that_is_cut_short(self, X, tmp_path, order, monkeypatch):
        path = tmp_path / "x.npy"
        np.save(path, np.asarray(X, order=order))
        rows, whole = file_rows(path, slice(190, 200)), files.npy_header(path)
        os.truncate(path, 4096)
        with pytest.raises(tasks.SourceError, match=r"cannot read X=.*claims"):
            rows.read()
        # Between the look at its header and that at its rows.
        monkeypatch.setattr(files, "npy_header", lambda path: whole)
        with pytest.raises(tasks.SourceError, match=r"cannot read X=.*ends before its last row"):
            rows.read()

    def test_a_file_that_workers_do_not_see(self, client, X, tmp_path):
        np.save(tmp_path / "x.npy", X)
        here, send = locate(tmp_path / "x.npy", client, "rbf", "auto")
        samples = send(here, None, 1.0)
        (tmp_path / "x.npy").rename(tmp_path / "y.npy")
        with pytest.raises(tasks.SourceError, match="all workers must see the file"):
            samples.neighbor_indices(3)

    def test_files_that_are_no_samples(self, client, tmp_path):
        self.refuses(FileNotFoundError, "does not exist", tmp_path / "no.npy", engine=client)
        np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object))
        self.refuses(ValueError, "holds objects", tmp_path / "objects.npy", engine=client)
        (tmp_path / "text.npy").write_text("1,2,3")
        self.refuses(ValueError, "not a .npy array", tmp_path / "text.npy", engine=client)
        self.refuses(ValueError, "not a regular file", tmp_path, engine=client)

    def test_dask_arrays_that_are_no_samples(self, client, X):
        array = da.from_array(X, chunks=(90, 64))
        refuses = partial(self.refuses, ValueError, engine=client)
        refuses("compute_chunk_sizes", array[array[:, 3] > 1])
        refuses(r"cut along its features.*rechunk\({1: -1}\)", array.rechunk((110, 30)))
        refuses("type complex128; it must hold real numbers", array.astype(complex))
        refuses("type <U", da.from_array(np.array([["a"]])))
        refuses("of 1 dimensions; it must have 2", array[0])
        refuses(r"Found array with 0 sample\(s\)", da.zeros((0, 5)))
        refuses("contains NaN", da.where(array == 0, np.nan, array))

    def test_what_workers_cannot_do(self, client, X):
        refuses = partial(self.refuses, ValueError, engine=client)
        refuses("kernel='precomputed' cannot be made by workers", X @ X.T, kernel="precomputed")
        refuses("cannot be made by workers", X, kernel=lambda X, Y: X @ Y.T)
        refuses(r"kernel=\['rbf'\] cannot be made by workers", X, kernel=["rbf"])
        refuses("gram='tiled' is for one machine", X, gram="tiled")
        refuses("dense samples only", sparse.csr_array(X))

    def test_too_large_for_the_workers(self, client, X, monkeypatch):
        monkeypatch.setattr(Workers, "memory", lambda self: 1e5)
        said = "^The kernel matrix of .* workers have 100 kB together"
        self.refuses(MemoryError, said, X, engine=client)

    def test_a_dask_array_too_large_for_the_client(self, client):
        large = da.zeros((10**9, 10**4), chunks=(10**6, 10**4))
        self.refuses(MemoryError, "Write X into a .npy", large, engine=client)


def file_rows(path, rows):
    return tasks.FileRows(str(path), rows, files.npy_header(path), tasks.changed(path))


def _raise(error):
    raise error


def test_no_second_matrix_where_workers_have_no_room(client, monkeypatch):
    """K fits, and its positive part beside it would not; single precision can be done without."""
    workers, K = Workers(client), np.random.default_rng(0).normal(size=(40, 40))
    K = K + K.T + 10 * np.eye(40)
    gram = DistributedGram(workers, [workers.submit(block_tasks.same, K)], cut_rows(40))
    monkeypatch.setattr(Workers, "memory", lambda self: 2.1 * K.nbytes)
    assert gram.in_single_precision().dtype == np.float32
    with pytest.raises(MemoryError, match=r"no room for another 12\.8 kB, its positive part"):
        _ = gram.positive
    monkeypatch.setattr(Workers, "memory", lambda self: 1.5 * K.nbytes)
    assert gram.in_single_precision() is gram
    monkeypatch.setattr(Workers, "memory", lambda self: 4 * K.nbytes)
    assert gram.positive.nonnegative


def test_a_wide_kernel_in_double_precision_needs_room_too(client, monkeypatch):
    X = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    model = KLSNMF(3, **EASY, radius=100.0, engine=client, random_state=0, max_iter=5)
    monkeypatch.setattr(Workers, "memory", lambda self: 50**2 * 12)  # 8 would be half of it
    with pytest.raises(MemoryError, match=r"kernel matrix of 50 samples would take 20 kB"):
        model.fit(X)
    monkeypatch.setattr(Workers, "memory", lambda self: 50**2 * 20)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        model.fit(X)


def test_workers_that_are_paused_for_lack_of_memory(doomed, X, impatient):
    """They are alive, and nobody works: a sentence, not a fit that waits for ever."""

    def pause(dask_worker):
        from distributed.core import Status

        dask_worker.memory_manager.memory_pause_fraction = 1e-9
        dask_worker.memory_manager.memory_terminate_fraction = False
        dask_worker.status = Status.paused

    doomed.run(pause)
    model = KLSNMF(10, engine=doomed, kernel="rbf", n_neighbors=None, random_state=0)
    with pytest.raises(MemoryError, match="are paused"):
        model.fit(X)
    assert not hasattr(model, "labels_")


def test_the_patience_is_told_within_a_minute():
    looks = distributed._LOOK_EVERY + distributed._ANSWER
    assert distributed.PATIENCE + looks < 60


def test_workers_of_another_version_are_refused(client, X, monkeypatch):
    monkeypatch.setattr(distributed, "__version__", "0.0.1")
    model = KLSNMF(10, engine=client, kernel="rbf", n_neighbors=None, random_state=0)
    with pytest.raises(ClusterError, match=r"its client 0\.0\.1.*Install klsnmf 0\.0\.1"):
        model.fit(X)


def test_the_memory_of_workers(client):
    assert Workers(client).memory() > 1e6
    plan = make_plan((1000, 5), 8, "rbf", None, room=1e9)
    assert plan.gram == "distributed"
    assert make_plan((1000, 5), 8, "rbf", 10, room=1e9).gram == "sparse"
