"""Model files: what is saved comes back, and no code runs from a file of a stranger."""

import dataclasses
import io
import json
import pickle
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from klsnmf import KLSNMF, METHODS
from klsnmf.cli.commands import klsnmf
from klsnmf.estimators.strengths import assign
from klsnmf.grams.spectral import SpectralDiffusion
from klsnmf.io.model_file import ModelError, can_save, load, save

from ..helpers import blobs

X, _ = blobs(50, 3, 6, seed=1)

# Some methods are slow to converge on so few samples, which does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same(found, expected):
    if isinstance(expected, np.generic):
        expected = expected.item()
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    elif sparse.issparse(expected):
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            assert_same(found[name], expected[name])
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            assert_same(one, two)
    else:
        assert found == expected


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", [name for name, one in METHODS.items() if can_save(one())])
def test_what_is_saved_comes_back(name, storage):
    model = METHODS[name](n_clusters=3, random_state=0).fit(storage(X))
    save(model, "model.npz", columns=["a", "b"], shape=(2, 3), none=None)
    found, about = load("model.npz")
    preparation = about.pop("preparation")
    assert about == {"columns": ["a", "b"], "shape": (2, 3), "none": None}
    assert (preparation.n_features, preparation.steps) == (X.shape[1], ())
    assert found.get_params() == model.get_params()
    state = {name: value for name, value in vars(model).items() if name != "_n_threads"}
    assert set(vars(found)) == set(vars(model))
    for each, value in state.items():
        assert_same(getattr(found, each), value)
    for one, two in zip(assign(found, storage(X)), assign(model, storage(X)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": ["rbf", "linear"]},
        {"kernel": "rbf", "n_neighbors": None},
        {"kernel": "cosine"},
        {"n_clusters": "auto"},
    ],
)
def test_kernels_come_back(parameters):
    model = KLSNMF(**{"n_clusters": 3, "random_state": 0} | parameters).fit(X)
    save(model, "model.npz")
    # Arrays may lie in the memory in another order, and sums be rounded in another way.
    np.testing.assert_allclose(
        load("model.npz")[0].transform(X), model.transform(X), rtol=1e-9, atol=1e-12
    )


def test_names_of_columns_come_back():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = METHODS["gnmf"](3, labels="kmeans", random_state=0).fit(frame)
    save(model, "model.npz")
    found, _ = load("model.npz")
    assert found.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(found.predict(frame), model.predict(frame))


def test_an_interrupt_waits_for_the_archive(monkeypatch):
    """While a part of an archive is open, closing the archive is another error."""
    model, usual = KLSNMF(3, random_state=0).fit(X), zipfile._ZipWriteFile.__init__

    def followed_by_a_signal(*arguments):
        usual(*arguments)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(zipfile._ZipWriteFile, "__init__", followed_by_a_signal)
    with pytest.raises(KeyboardInterrupt):
        save(model, "model.npz")
    assert not list(Path().iterdir())


def test_functions_are_not_saved():
    model = KLSNMF(3, kernel=lambda A, B: A @ B.T, random_state=0).fit(X)
    with pytest.raises(ModelError, match=r"KLSNMF\.kernel is of type function"):
        save(model, "model.npz")
    with pytest.raises(ModelError, match="SpectralClustering is not"):
        save(METHODS["spectral"](), "model.npz")
    assert list(Path().iterdir()) == []


# ---------------------------------------------------------------------- files of strangers


class Hostile:
    """Unpickled, it would leave a file."""

    def __reduce__(self):
        return (Path.touch, (Path("ran").resolve(),))


def saved():
    """The text and the arrays of a good model."""
    save(METHODS["kmeans"](3, n_init=1, random_state=0).fit(X), "good.npz", n_features=6)
    with np.load("good.npz") as arrays:
        parts = dict(arrays)
    return json.loads(parts.pop("model").tobytes()), parts


def write_model(text, arrays):
    np.savez("bad.npz", model=np.frombuffer(json.dumps(text).encode(), np.uint8), **arrays)


def as_pickle():
    Path("bad.npz").write_bytes(pickle.dumps(Hostile()))


def as_object_array():
    np.savez("bad.npz", model=np.array([Hostile()], dtype=object))


def as_pickle_in_the_archive():
    with zipfile.ZipFile("bad.npz", "w") as archive:
        archive.writestr("model.npy", pickle.dumps(Hostile()))


def as_joblib():
    import joblib

    joblib.dump(Hostile(), "bad.npz")


def as_skops():
    """A file in the format of skops that asks for a function to be called."""
    schema = {
        "__class__": "system",
        "__module__": "posix",
        "__loader__": "ReduceNode",
        "content": {"__class__": "touch ran", "__loader__": "JsonNode", "content": '"touch ran"'},
        "protocol": 2,
    }
    with zipfile.ZipFile("bad.npz", "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))


def as_an_unknown_class():
    text, arrays = saved()
    text["estimator"]["estimator"] = "os.system"
    write_model(text, arrays)


def as_an_unknown_record():
    text, arrays = saved()
    text["estimator"]["fitted"]["extra_"] = {"record": "eval", "fields": {"source": "1"}}
    write_model(text, arrays)


def in_the_place_of_a_method():
    text, arrays = saved()
    text["estimator"]["fitted"]["predict"] = "os.system"
    write_model(text, arrays)


def in_the_place_of_the_class():
    text, arrays = saved()
    text["estimator"]["fitted"]["__class__"] = "Hostile"
    write_model(text, arrays)


def with_an_unknown_parameter():
    text, arrays = saved()
    text["estimator"]["parameters"]["command"] = "touch ran"
    write_model(text, arrays)


def with_centres_of_another_shape():
    text, arrays = saved()
    text["estimator"]["fitted"]["n_features_in_"] = 6_000_000
    write_model(text, arrays)


def with_indices_that_lead_outside():
    text, arrays = saved()
    arrays |= {"d": np.ones(1), "i": np.array([10**6]), "p": np.array([0, 1])}
    text["estimator"]["fitted"]["extra_"] = {"sparse": ["d", "i", "p"], "shape": [1, 3]}
    write_model(text, arrays)


def with_a_missing_array():
    text, arrays = saved()
    arrays.popitem()
    write_model(text, arrays)


def nested_deeply():
    text = b'{"format": "klsnmf model", "version": 1, "estimator": ' + b"[" * 200_000
    np.savez("bad.npz", model=np.frombuffer(text, np.uint8))


def of_a_later_version():
    text, arrays = saved()
    write_model(text | {"version": 99}, arrays)


def of_another_kind():
    np.savez("bad.npz", X=X)


def that_unpacks_to_terabytes():
    stream = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": (2**42,)}
    np.lib.format.write_array_header_1_0(stream, header)
    with zipfile.ZipFile("bad.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.npy", stream.getvalue() + bytes(10_000))


@pytest.mark.parametrize(
    "make",
    [
        as_pickle,
        as_object_array,
        as_pickle_in_the_archive,
        as_joblib,
        as_skops,
        as_an_unknown_class,
        as_an_unknown_record,
        in_the_place_of_a_method,
        in_the_place_of_the_class,
        with_an_unknown_parameter,
        with_centres_of_another_shape,
        with_indices_that_lead_outside,
        with_a_missing_array,
        nested_deeply,
        of_a_later_version,
        of_another_kind,
        that_unpacks_to_terabytes,
    ],
)
def test_hostile_models_run_no_code(make):
    make()
    np.save("mine.npy", X)
    with pytest.raises(ModelError, match=r"bad\.npz"):
        load("bad.npz")
    result = CliRunner().invoke(klsnmf, ["predict", "bad.npz", "mine.npy"])
    assert result.exit_code == 3, result.output
    assert "bad.npz" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert not Path("ran").exists()


def test_the_hostile_object_would_run():
    pickle.loads(pickle.dumps(Hostile()))
    assert Path("ran").exists()


def test_a_model_whose_parts_do_not_fit():
    save(KLSNMF(3, random_state=0).fit(X), "bad.npz", n_features=6)
    with np.load("bad.npz") as stored:
        arrays = dict(stored)
    text = json.loads(arrays.pop("model").tobytes())
    name = text["estimator"]["fitted"]["W_"]["array"]
    arrays[name] = arrays[name][:7]
    write_model(text, arrays)
    np.save("mine.npy", X)
    result = CliRunner().invoke(klsnmf, ["predict", "bad.npz", "mine.npy"])
    assert result.exit_code == 3
    assert "W_ has shape (7, 3)" in result.stderr


def test_a_model_of_many_samples_comes_back():
    many, _ = blobs(4200, 3, 4, seed=0)
    model = KLSNMF(3, random_state=0).fit(many)
    save(model, "model.npz")
    again, _ = load("model.npz")
    assert type(again._similarity.diffusion) is SpectralDiffusion
    np.testing.assert_array_equal(again.predict(many[:200]), model.predict(many[:200]))
