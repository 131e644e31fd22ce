"""Did a change of the code change a result? The same fits before and after, to the last bit.

Before the change, and after it::

    python -m benchmarks.unchanged store before.npz --files before
    python -m benchmarks.unchanged compare before.npz --files before

Both make the same list of fits, each with a fixed seed and on one thread. ``store`` keeps labels
and objectives, and hashes of everything else that a fitted estimator shows: its attributes, its
warnings, ``transform`` and ``similarity``. ``compare`` prints a line for each fit, and ends with
exit code 1 unless all are the same to the last bit; attributes that are new have nothing to be
compared with. ``store --quick`` leaves out the larger sets.
``PYTHONPATH`` chooses the code, for example that of another checkout.

``--files`` is for what older code wrote: models of ``klsnmf cluster`` and checkpoints of fits that
were interrupted. ``compare`` predicts with the models, and goes on from the checkpoints.

Fits with torch or Dask are left out where these are not installed, and those of the
paper's data sets where ``KLSNMF_DATA`` does not name their folder. Both runs belong on one machine
with the same packages: others may come to other bits with the same code.
"""

from __future__ import annotations

import os

os.environ.update(  # read by these libraries when they are loaded, and by other processes
    dict.fromkeys(
        ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"], "1"
    )
)

import argparse
import dataclasses
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_moons
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import scale

import klsnmf
from benchmarks import machine
from klsnmf import (
    CNMF,
    GLSNMF,
    GNMF,
    KLSNMF,
    KNMF,
    LSNMF,
    METHODS,
    ONMF,
    RMNMF,
    WNMF,
    KernelKMeans,
    SemiNMF,
    metrics,
    n_clusters_evidence,
    path,
)
from klsnmf.datasets import load

#: The paper's data sets, and seeds.
PAPER = {"jaffe": 2, "yale": 2, "pix": 2, "semeion": 2, "alphadigit": 2, "faces94": 1}

#: Models in files, by name: arguments of ``klsnmf cluster``.
MODELS = {
    "digits": ["--dataset", "digits", "-k", "10"],
    "auto": ["samples.npy"],
    **{
        method: ["samples.npy", "-k", "10", "--method", method]
        for method in ("ls-nmf", "cnmf", "kernel-kmeans", "wnmf", "rmnmf", "kmeans")
    },
}

#: Fits that are interrupted.
INTERRUPTED = {
    "defaults": {},
    "two kernels": {"kernel": ["self-tuning", "linear"]},
}


@dataclasses.dataclass
class Case:
    """What ``run`` returns is compared: a fitted estimator, or any other value.

    Estimators have to place new samples too, if there are any.
    """

    name: str
    run: Callable[[], Any]
    new: Any = None


def fit(name: str, estimator: Any, X: Any, new: Any = None, **more: Any) -> Case:
    return Case(name, partial(estimator.fit, X, **more), X[::3] if new is None else new)


def cases(quick: bool) -> Iterator[Case]:
    """The list; small sets first."""
    yield from methods()
    yield from parameters()
    yield from other_data()
    yield from other_arrays()
    if not quick:
        yield from larger_sets()


def small_digits() -> tuple[Any, Any]:
    """Samples, and others to place, of which a third are samples."""
    X = load_digits().data
    return X[:300], X[250:400]


def methods() -> Iterator[Case]:
    """Every method with its defaults, in both precisions, from dense and sparse samples."""
    X, new = small_digits()
    forms: dict[str, Callable[[Any], Any]] = {
        "float64": lambda A: A,
        "float32": lambda A: A.astype(np.float32),
        "sparse": sparse.csr_array,
    }
    for method, estimator in METHODS.items():
        for form, of in forms.items():
            yield fit(f"{method}, {form}", estimator(10, random_state=0), of(X), of(new))


def parameters() -> Iterator[Case]:
    """One parameter after the other, on digits."""
    X, new = small_digits()
    W0, G0 = np.random.RandomState(0).uniform(0.01, 1, (2, len(X), 10))
    F0 = np.random.RandomState(1).uniform(0.01, 16, (X.shape[1], 10))
    links = kneighbors_graph(X, 8)
    links = sparse.csr_array(links + links.T)
    ours: list[dict[str, Any]] = [
        *({"kernel": kernel} for kernel in ("rbf", "linear", "polynomial", "cosine")),
        {"kernel": "rbf", "radius": 20.0, "row_norm": None},
        {"kernel": "rbf", "n_neighbors": 10},
        {"kernel": "cosine", "n_neighbors": 10, "diffusion": 4},
        {"kernel": laplacian_kernel},
        {"kernel": ["self-tuning", "rbf", "linear"]},
        {"kernel": ["rbf", laplacian_kernel], "n_clusters": "auto"},
        *(
            {"kernel": kernel, "solver": solver, "lam": lam}
            for kernel in ("self-tuning", "rbf")
            for solver in ("paper", "soft", "exact", "auto")
            for lam in (0.0, 1e-3)
        ),
        *(
            {"init": init, "solver": solver}
            for init in ("spectral", "kmeans", "random", (W0, G0))
            for solver in ("auto", "soft")
        ),
        {"n_init": 3},
        {"regroup": False},
        {"max_iter": 20, "tol": 0},
        *({"gram": gram, "kernel": "rbf"} for gram in ("dense", "tiled", "low-rank")),
        *({"gram": gram, "kernel": "linear"} for gram in ("dense", "tiled", "low-rank")),
        {"gram": "tiled", "kernel": "self-tuning", "n_neighbors": None, "max_memory": 1e-4},
        {"gram": "tiled", "kernel": "rbf", "diffusion": 2},
        *({"n_neighbors": count} for count in (5, 20, None)),
        *({"diffusion": steps} for steps in (0, 2, 4, 16, "unweighted")),
        *({"kernel": "rbf", "diffusion": steps} for steps in (2, 4)),
        *({"row_norm": norm} for norm in ("l2", None)),
        *({"lam": lam} for lam in (0.0, 1e-4, 1.0, 1e6)),
        *({"kernel": "rbf", "lam": lam} for lam in (1.0, 1e6)),
        {"graph_weight": 0.5, "solver": "paper"},
        {"graph_weight": 0.5, "solver": "soft"},
        {"graph_weight": 0.5, "graph_neighbors": links, "kernel": "rbf"},
        {"graph_weight": 1e6},
        {"n_clusters": "auto"},
    ]
    for more in ours:
        estimator = KLSNMF(**{"n_clusters": 10, "random_state": 0, **more})
        yield fit(f"KLSNMF, {told(more)}", estimator, X, new)
    others: list[tuple[type, dict[str, Any]]] = [
        (GLSNMF, {"kernel": "rbf", "solver": "paper"}),
        (GLSNMF, {"graph_neighbors": links, "graph_weight": 0.1}),
        (LSNMF, {"orthogonal": False}),
        (LSNMF, {"orthogonal": False, "lam": 1.0, "init": "random", "row_norm": None}),
        *((LSNMF, {"solver": solver}) for solver in ("paper", "soft", "exact")),
        (LSNMF, {"n_neighbors": 10, "diffusion": 4}),
        (LSNMF, {"n_clusters": "auto"}),
        *((WNMF, {"init": init}) for init in ("random", (G0, F0))),
        *((RMNMF, {"init": init, "n_init": 3}) for init in ("random", (G0, F0))),
        *((method, {"labels": "kmeans"}) for method in (WNMF, ONMF, CNMF, KNMF, GNMF, SemiNMF)),
        *((method, {"graph_neighbors": links, "n_init": 3}) for method in (GNMF, RMNMF)),
        (GNMF, {"graph_weight": 100.0}),
        (CNMF, {"init": "random", "row_norm": None}),
        *((method, {"kernel": "rbf"}) for method in (KNMF, KernelKMeans)),
        *((method, {"kernel": ["rbf", "cosine"]}) for method in (KNMF, KernelKMeans)),
        *((method, {"init": (W0, G0)}) for method in (CNMF, KNMF, KernelKMeans)),
    ]
    for method, more in others:
        estimator = method(**{"n_clusters": 10, "random_state": 0, **more})
        yield fit(f"{method.__name__}, {told(more)}", estimator, X, new)
    lams = [0.0, 1e-2, "auto", 1e3]
    for kernel in ("self-tuning", "rbf", ["rbf", "linear"]):
        models = cache(partial(path, X, 10, lams=lams, kernel=kernel, random_state=0))
        for place, lam in enumerate(lams):
            name = f"path, {told({'kernel': kernel, 'lam': lam})}"
            yield Case(name, lambda models=models, place=place: models()[place], new)
    for kernel in ("self-tuning", "rbf"):
        evidence = partial(n_clusters_evidence, X, kernel=kernel, random_state=0)
        yield Case(f"n_clusters_evidence, kernel={kernel}", evidence)


def other_data() -> Iterator[Case]:
    """Both signs, gaps, weights, matrices of a kernel, curves, and scores."""
    X, new = small_digits()
    for name, Z in (("iris", scale(load_iris().data)), ("wine", scale(load_wine().data))):
        ours: list[dict[str, Any]] = [
            {},
            *({"kernel": "linear", "solver": solver} for solver in ("auto", "soft", "exact")),
            {"kernel": "polynomial"},
            {"kernel": "cosine"},
            {"kernel": ["rbf", "linear"]},
            {"kernel": "linear", "lam": 1e-3},
            {"kernel": "linear", "graph_weight": 0.5},
            {"n_clusters": "auto"},
        ]
        for more in ours:
            estimator = KLSNMF(**{"n_clusters": 3, "random_state": 0, **more})
            yield fit(f"{name}, KLSNMF, {told(more)}", estimator, Z)
        for form, of in (("dense", np.asarray), ("sparse", sparse.csr_array)):
            for method in (LSNMF, CNMF, SemiNMF, RMNMF, KNMF, KernelKMeans):
                estimator = method(3, random_state=0)
                yield fit(f"{name}, {form}, {method.__name__}", estimator, of(Z))
        yield fit(f"{name}, LSNMF, free", LSNMF(3, orthogonal=False, random_state=0), Z)
    rng = np.random.RandomState(0)
    gaps = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X)
    weights = rng.uniform(size=X.shape)
    short = WNMF(10, random_state=0, max_iter=200)
    yield fit("WNMF, gaps", short, gaps, gaps[::5])
    yield fit("WNMF, gaps and weights", short, gaps, gaps[::5], weights=weights)
    yield fit("WNMF, weights", WNMF(10, random_state=0), X, new, weights=weights)
    dense = rbf_kernel(X, gamma=1e-3)
    links = kneighbors_graph(X, 8, include_self=True)
    linked = sparse.csr_array((links + links.T) / 2)
    for form, K in (("dense", dense), ("sparse", linked)):
        for method in (KLSNMF, KNMF, KernelKMeans):
            estimator = method(10, kernel="precomputed", random_state=0)
            yield fit(f"precomputed, {form}, {method.__name__}", estimator, K)
        estimator = GLSNMF(10, kernel="precomputed", graph_neighbors=linked, random_state=0)
        yield fit(f"precomputed, {form}, GLSNMF", estimator, K)
        estimator = KLSNMF("auto", kernel="precomputed", diffusion=4, random_state=0)
        yield fit(f"precomputed, {form}, diffusion=4", estimator, K)
    moons, _ = make_moons(400, noise=0.06, random_state=0)
    for method in (KLSNMF, GLSNMF, KNMF, KernelKMeans):
        yield fit(f"moons, {method.__name__}", method(2, random_state=0), moons)
    yield fit("moons, auto", KLSNMF("auto", random_state=np.random.RandomState(0)), moons)
    y, labels = rng.randint(5, size=(2, 200))
    yield Case("metrics", lambda: [metrics.scores(y, labels), metrics.nmi(y, labels, "max")])


def other_arrays() -> Iterator[Case]:
    """Tensors, and workers."""
    X, new = small_digits()
    if find_spec("torch") and find_spec("array_api_compat"):
        import torch

        for kernel in ("self-tuning", "rbf", "linear"):
            for dtype in (torch.float32, torch.float64):
                tensors = torch.tensor(X, dtype=dtype), torch.tensor(new, dtype=dtype)
                estimator = KLSNMF(10, kernel=kernel, random_state=0)
                yield fit(f"{dtype}, kernel={kernel}", estimator, *tensors)
    else:
        print("left out: tensors, because torch or array-api-compat is not installed")
    if find_spec("distributed"):
        for kernel in ("self-tuning", "rbf"):
            estimator = KLSNMF(10, kernel=kernel, random_state=0)
            yield Case(f"Dask, kernel={kernel}", partial(fit_by_workers, estimator, X), new)
    else:
        print("left out: workers, because Dask is not installed")


def larger_sets() -> Iterator[Case]:
    """More samples, where eigenvectors stand in for the whole matrix; what else takes long."""
    X = load_digits().data
    for dtype in (np.float64, np.float32):
        for seed in (0, 1):
            estimator = KLSNMF(10, random_state=seed)
            yield fit(f"digits, {dtype.__name__}, seed {seed}", estimator, X.astype(dtype))
    yield fit("digits, rbf", KLSNMF(10, kernel="rbf", random_state=0), X)
    yield fit("digits, auto", KLSNMF("auto", random_state=0), X)
    for method in (LSNMF, CNMF, KNMF, KernelKMeans, WNMF):
        yield fit(f"digits, {method.__name__}", method(10, random_state=0), X)
    blobs, _ = make_blobs(5000, 10, centers=12, cluster_std=3.0, random_state=0)
    yield fit("blobs", KLSNMF(12, random_state=0), blobs)
    yield fit("blobs, float32", KLSNMF(12, random_state=0), blobs.astype(np.float32))
    yield fit("blobs, unweighted", KLSNMF(12, diffusion="unweighted", random_state=0), blobs)
    estimator = KLSNMF(10, neighbor_search="approximate", random_state=0)
    yield fit("neighbours found approximately", estimator, *small_digits())
    if "KLSNMF_DATA" not in os.environ:
        print("left out: the paper's data sets, because KLSNMF_DATA does not name their folder")
        return
    for name, seeds in PAPER.items():
        data = load(name, download=False)
        for seed in range(seeds):
            estimator = KLSNMF(len(np.unique(data.target)), random_state=seed)
            yield fit(f"{name}, seed {seed}", estimator, data.data)


def fit_by_workers(estimator: Any, X: Any) -> Any:
    from distributed import Client, LocalCluster

    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=False, **how) as cluster, Client(cluster) as client:
        return estimator.set_params(engine=client).fit(X)


def told(parameters: dict[str, Any]) -> str:
    """Parameters in a few words."""

    def short(value: Any) -> str:
        if isinstance(value, list):
            return "+".join(map(short, value))
        if callable(value):
            return value.__name__
        return "given" if isinstance(value, tuple) or sparse.issparse(value) else str(value)

    return ", ".join(f"{name}={short(value)}" for name, value in parameters.items()) or "defaults"


def outcome(case: Case) -> dict[str, Any]:
    """What is stored of a case: arrays, and "rest", hashes by name, as a text in JSON."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        model = case.run()
        shown = {"value": model}
        if hasattr(model, "labels_"):
            names = [name for name in dir(model) if name.endswith("_") and name[0] != "_"]
            shown = {name: getattr(model, name) for name in names if hasattr(model, name)}
            for method in ("predict", "transform"):
                if case.new is not None and hasattr(model, method):
                    shown[method] = getattr(model, method)(case.new)
            if hasattr(model, "similarity"):
                shown["similarity"] = model.similarity(0)
    shown["warnings"] = [str(one.message) for one in caught]
    return {
        "labels": np.asarray(shown.get("labels_", [])),
        "predict": np.asarray(shown.get("predict", [])),
        "objective": np.float64(shown.get("objective_", 0)),
        "n_iter": np.int64(shown.get("n_iter_", 0)),
        "rest": json.dumps({name: digest(value) for name, value in shown.items()}),
    }


def digest(value: Any) -> str:
    """A hash of a value to the last bit; where it is a record, of all that it holds."""
    if isinstance(value, np.generic):
        value = value.item()
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if sparse.issparse(value):
        value = sparse.csr_array(value)
        value = [value.shape, value.data, value.indices, value.indptr]
    if isinstance(value, dict):
        value = [digest([name, value[name]]) for name in sorted(value)]
    if isinstance(value, list | tuple):
        text = repr([digest(item) for item in value]).encode()
    elif hasattr(value, "__array__"):
        value = np.asarray(value)
        text = f"{value.dtype} {value.shape}".encode() + value.tobytes()
    else:
        text = repr(value).encode()
    return hashlib.sha256(text).hexdigest()[:16]


def difference(then: dict[str, Any], now: dict[str, Any]) -> str:
    """What is different, in words; empty if nothing is."""
    moved = count(then["labels"], now["labels"])
    objective, other = float(then["objective"]), float(now["objective"])
    if moved:
        return f"labels differ in {moved}"
    if objective != other:
        share = abs(other - objective) / (abs(objective) or 1)
        return f"labels same, objective differs by {share:.1e} relative"
    before, after = json.loads(str(then["rest"])), json.loads(now["rest"])
    names = [name for name in before if before[name] != after.get(name)]
    if placed := count(then["predict"], now["predict"]):
        return f"labels and objective same, predict differs in {placed}"
    return f"labels and objective same, other bits in {', '.join(names)}" if names else ""


def count(then: np.ndarray, now: np.ndarray) -> str:
    """How many labels are not what they were: "N of n", or nothing."""
    moved = np.count_nonzero(then != now) if then.shape == now.shape else len(then)
    return f"{moved} of {len(then)}" if moved else ""


def timed(case: Case) -> tuple[dict[str, Any], float]:
    begun = time.perf_counter()
    return outcome(case), time.perf_counter() - begun


def store(file: Path, quick: bool, files: Path | None) -> int:
    kept: dict[str, Any] = {"quick": quick, "machine": json.dumps(machine.describe())}
    names: list[str] = []
    for case in cases(quick):
        found, seconds = timed(case)
        assert case.name not in names, case.name
        kept |= {f"{len(names)} {part}": value for part, value in found.items()}
        names.append(case.name)
        print(f"{seconds:6.2f} s  {case.name}: {found['n_iter']} iterations", flush=True)
    with file.open("wb") as target:
        np.savez_compressed(target, names=names, **kept)
    print(f"{len(names)} fits stored in {file}")
    if files is not None:
        store_files(files)
    return 0


def compare(file: Path, files: Path | None) -> int:
    with np.load(file) as archive:
        stored = dict(archive)
    before, here = json.loads(str(stored["machine"])), machine.describe()
    for name in before:
        if before[name] != here[name]:
            print(f"{name} was {before[name]}, and is {here[name]}: that alone may change bits")
    places = {str(name): place for place, name in enumerate(stored["names"])}
    same, different = 0, []
    for case in cases(bool(stored["quick"])):
        place = places.pop(case.name, None)
        if place is None:
            print(f"          {case.name}: not in {file}")
            continue
        then = {part: stored[f"{place} {part}"] for part in ("labels", "predict", "objective")}
        then["rest"] = stored[f"{place} rest"]
        try:
            now, seconds = timed(case)
            words = difference(then, now)
        except Exception as error:
            seconds, words = 0.0, f"fails: {type(error).__name__}: {error}"
        print(f"{seconds:6.2f} s  {case.name}: {words or 'same to the last bit'}", flush=True)
        same += not words
        different += [case.name] if words else []
    print(f"{same} of {len(stored['names'])} fits are the same to the last bit")
    for title, some in (("not the same", different), ("not made", list(places))):
        if some:
            print(f"{title}: {'; '.join(some)}")
    failed = compare_files(files) if files is not None else 0
    return int(bool(different or places or failed))


def store_files(folder: Path) -> None:
    """Models and checkpoints, and beside them what should come of them."""
    folder.mkdir(parents=True, exist_ok=True)
    X, new = small_digits()
    np.save(folder / "samples.npy", X)
    np.save(folder / "new.npy", new)
    for name, arguments in MODELS.items():
        for command in (
            ["cluster", *arguments, "--out", f"{name}-model", "--force", "--quiet"],
            ["predict", f"{name}-model", "new.npy", "--out", f"{name}.csv", "--force", "--quiet"],
        ):
            done = run_klsnmf(command, folder)
            if done.returncode:
                raise SystemExit(f"klsnmf {' '.join(command)}: {done.stderr}")
    for name, more in INTERRUPTED.items():
        labels, objective, heard = listened(X, None, **more)
        np.savez(folder / f"{name}.npz", labels=labels, objective=objective, heard=heard)
        checkpoint = folder / f"{name}.checkpoint"
        checkpoint.unlink(missing_ok=True)
        with suppress(KeyboardInterrupt):
            listened(X, checkpoint, stop=heard * 3 // 4, **more)
        assert checkpoint.exists()
    print(f"{len(MODELS)} models and {len(INTERRUPTED)} checkpoints stored in {folder}")


def compare_files(folder: Path) -> int:
    """How many of the files are refused, or lead elsewhere."""
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in MODELS:
            out = Path(scratch) / f"{name}.csv"
            done = run_klsnmf(
                ["predict", f"{name}-model", "new.npy", "--out", str(out), "--quiet"], folder
            )
            words = f"refused: {' '.join(done.stderr.split())}"
            if done.returncode == 0:
                then, now = (file.read_text().split() for file in (folder / out.name, out))
                labels = [np.array([line.split(",")[1] for line in text]) for text in (then, now)]
                words = f"loads, labels differ in {moved}" if (moved := count(*labels)) else ""
                if not moved and then != now:
                    words = "loads, labels same, strengths differ"
            print(f"model {name}: {words or 'loads, labels and strengths same'}", flush=True)
            failed += bool(words)
        X = np.load(folder / "samples.npy")
        for name, more in INTERRUPTED.items():
            checkpoint = Path(scratch) / f"{name}.checkpoint"
            shutil.copy(folder / checkpoint.name, checkpoint)  # it is removed in the end
            with np.load(folder / f"{name}.npz") as archive:
                then = dict(archive)
            words, good = went_on(then, X, checkpoint, more)
            print(f"checkpoint {name}: {words}", flush=True)
            failed += not good
    return failed


def went_on(
    then: dict[str, Any], X: Any, checkpoint: Path, more: dict[str, Any]
) -> tuple[str, bool]:
    """How a fit went on from a checkpoint, and whether as it should."""
    try:
        labels, objective, heard = listened(X, checkpoint, **more)
    except Exception as error:
        return f"refused: {error}", False
    if moved := count(then["labels"], labels):
        return f"goes on, labels differ in {moved}", False
    share = abs(objective / float(then["objective"]) - 1)
    end = f"labels same, objective {f'differs by {share:.1e} relative' if share else 'same'}"
    if heard >= then["heard"]:
        return f"begins anew, {end}", False
    return f"goes on for {heard} of {then['heard']} iterations, {end}", not share


def listened(
    X: Any, checkpoint: Path | None, stop: int | None = None, **more: Any
) -> tuple[Any, float, int]:
    """Labels and objective of a fit, and its iterations; one of them may interrupt it."""
    heard = 0

    def callback(progress: Any) -> None:
        nonlocal heard
        heard += 1
        if heard == stop:
            raise KeyboardInterrupt

    estimator = KLSNMF(10, random_state=0, checkpoint=checkpoint, callback=callback, **more)
    estimator.fit(X)
    return estimator.labels_, estimator.objective_, heard


def run_klsnmf(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command of the same code, run in a folder."""
    code = Path(klsnmf.__file__).resolve().parents[1]
    return subprocess.run(
        [sys.executable, "-m", "klsnmf", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.unchanged",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (("store", "make the fits and keep them"), ("compare", "make them again")):
        command = commands.add_parser(name, help=words)
        command.add_argument("file", type=Path, help="an .npz file")
        command.add_argument("--files", type=Path, help="a folder for models and checkpoints")
        if name == "store":
            command.add_argument("--quick", action="store_true", help="leave out larger sets")
    given = parser.parse_args()
    print(f"klsnmf of {Path(klsnmf.__file__).parent}", flush=True)
    if given.command == "store":
        return store(given.file, given.quick, given.files)
    return compare(given.file, given.files)


if __name__ == "__main__":
    sys.exit(main())
