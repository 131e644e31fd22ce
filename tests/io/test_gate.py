"""Files made to do harm: refused before memory is asked for, and compiled code sees them."""

import json
import math
import struct
import tracemalloc
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse
from scipy.io import savemat

from klsnmf import METHODS
from klsnmf.cli.commands import klsnmf
from klsnmf.core import checks
from klsnmf.io.model_checks import WANTED
from klsnmf.io.model_file import ModelError, can_save, load, save
from klsnmf.io.read import read
from klsnmf.io.table import Choice, Counted, InputError

from ..helpers import blobs

X, _ = blobs(30, 3, 6, seed=1)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(name):
    """The sentence by which a command refuses a file."""
    result = CliRunner().invoke(klsnmf, ["cluster", name, "-k", "2"])
    assert result.exit_code == 3, result.output
    assert name in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "bug in klsnmf" not in result.stderr
    return result.stderr


# ---------------------------------------------------------------------- sparse matrices

SOUND = {"data": np.ones(6), "indices": np.array([0, 1, 2, 0, 1, 2]), "indptr": np.arange(0, 7, 2)}

CRAFTED = {
    "the last pointer is negative": {"indptr": [0, 2, 4, -1]},
    "the last pointer is zero": {"indptr": [0, 10**9, 10**9, 0]},
    "the last pointer is too small": {"indptr": [0, 2, 4, 5]},
    "the last pointer is too large": {"indptr": [0, 2, 4, 7]},
    "the first pointer is not zero": {"indptr": [1, 2, 4, 6]},
    "pointers fall": {"indptr": [0, 4, 2, 6]},
    "a pointer leads far away": {"indptr": [0, 10**9, 4, 6]},
    "an index is too large": {"indices": [0, 1, 2, 0, 1, 3]},
    "an index is negative": {"indices": [0, 1, 2, 0, 1, -1]},
    "an index is huge": {"indices": np.array([0, 1, 2, 0, 1, 2**63], np.uint64)},
    "there are too few indices": {"indices": [0, 1]},
    "indices are fractions": {"indices": [0, 1, 2, 0, 1, 0.5]},
    "pointers are fractions": {"indptr": [0.0, 2, 4, 6]},
    "pointers are in a table": {"indptr": [[0, 2], [4, 6]]},
    "entries are in a table": {"data": np.ones((6, 1))},
    "entries are text": {"data": list("abcdef")},
    "there are too few pointers": {"indptr": [0, 6]},
}


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED.keys())
def test_sparse_matrices_that_would_end_the_process(change, form):
    np.savez("a.npz", format=np.array(form.encode()), shape=[3, 3], **(SOUND | change))
    refused("a.npz")


@pytest.mark.parametrize(
    "shape",
    [
        [math.inf, 3],
        [math.nan, 3],
        [3.5, 3],
        ["a", "b"],
        [3],
        [3, 3, 3],
        [-3, 3],
        [2**62, 3],
        [2**32, 2**32],
        [],
        [1e300, 3],
    ],
)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_an_odd_shape(shape, form):
    places = {"row": np.arange(6) % 3, "col": np.arange(6) // 2} if form == "coo" else {}
    np.savez("a.npz", format=np.array(form.encode()), shape=shape, **(SOUND | places))
    refused("a.npz")


def test_indices_are_sorted_for_those_that_need_it():
    parts = SOUND | {"indices": [1, 0, 2, 0, 2, 1], "data": np.arange(1.0, 7.0)}
    np.savez("a.npz", format=np.array(b"csr"), shape=[3, 3], **parts)
    found = read(Path("a.npz"), Choice()).X
    assert found.has_sorted_indices
    np.testing.assert_array_equal(found.toarray(), [[2, 1, 0], [4, 0, 3], [0, 6, 5]])


@settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
@given(
    lengths=st.lists(st.integers(0, 3), max_size=4),
    indices=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    changes=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(-3, 14)), max_size=2
    ),
)
@example(lengths=[1, 1, 1], indices=[0] * 12, changes=[(0, 1, 3), (0, 2, 1)])  # pointers fall
@example(lengths=[1, 1, 1], indices=[0] * 12, changes=[(0, 3, 2)])  # the last is too small
def test_what_the_gate_lets_in_is_sound(lengths, indices, changes):
    rows, count = len(lengths), sum(lengths)
    indptr, indices = [0, *np.cumsum(lengths)], indices[:count]
    for which, place, value in changes:
        part = (indptr, indices)[which]
        part[place % len(part) if part else 0 : place % len(part) + 1 if part else 0] = [value]
    parts = np.arange(float(count)), np.array(indices, int), np.array(indptr, int)
    data, indices, indptr = parts
    sound = (
        len(indptr) == rows + 1
        and len(indices) == count
        and indptr[0] == 0
        and indptr[-1] == count
        and all(a <= b for a, b in pairwise(indptr))
        and all(0 <= j < 4 for j in indices)
    )
    if not sound:
        with pytest.raises(ValueError, match=r"^it[ ,]"):
            checks.csr(*parts, [rows, 4], "it")
        return
    dense = np.zeros((rows, 4))
    for i in range(rows):
        for place in range(indptr[i], indptr[i + 1]):
            dense[i, indices[place]] += data[place]
    found = checks.csr(*parts, [rows, 4], "it")
    np.testing.assert_array_equal(found.toarray(), dense)
    across = checks.csr(*parts, [4, rows], "it", by="columns")
    np.testing.assert_array_equal(across.toarray(), dense.T)


# ---------------------------------------------------------------------- small files, large claims


def most_memory(action):
    """The most bytes that Python and numpy held during an action, beyond what they held before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sides", ["100000000 3", "3 100000000", "100000000 100000000"])
@pytest.mark.parametrize("entries", [0, 1])
def test_a_matrix_of_a_few_bytes_that_claims_many_rows(sides, entries):
    head = "%%MatrixMarket matrix coordinate real general"
    Path("a.mtx").write_text(f"{head}\n{sides} {entries}\n" + "1 1 1\n" * entries)
    assert most_memory(lambda: refused("a.mtx")) < 2**25


def test_a_sparse_matrix_that_claims_many_columns():
    parts = {"data": np.ones(2), "indices": np.arange(2), "indptr": np.arange(3)}
    np.savez("a.npz", format=np.array(b"csr"), shape=[2, 10**8], **parts)
    assert "nearly all are empty" in refused("a.npz")
    parts = {"data": np.ones(2), "row": np.arange(2), "col": np.arange(2)}
    np.savez("a.npz", format=np.array(b"coo"), shape=[10**8, 2], **parts)
    assert "nearly all are empty" in refused("a.npz")


@pytest.mark.parametrize(("n", "p"), [(10**6 + 1, 3), (3, 2**22 + 1)])
def test_rows_and_columns_for_next_to_no_entry(n, p):
    with pytest.raises(ValueError, match="nearly all are empty"):
        checks.require_filled(n, p, 1, "it")
    checks.require_filled(n, p, 10**5, "it")


def test_a_mat_that_has_no_room(monkeypatch):
    """Neither as it is, nor once it is unpacked."""
    savemat("a.mat", {"X": np.zeros((300, 300))}, do_compression=True)
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 400_000)
    monkeypatch.setattr("klsnmf.core.memory._SMALL", 0)
    assert "would take" in refused("a.mat")
    savemat("a.mat", {"X": np.zeros((300, 300))})
    assert "would take" in refused("a.mat")


def test_many_columns_of_which_each_text_has_a_few():
    """What HashingVectorizer makes of a few texts is no crafted file."""
    few = sparse.csr_array((np.ones(30), (np.repeat(range(3), 10), np.arange(30))), (3, 2**20))
    sparse.save_npz("a.npz", few)
    assert read(Path("a.npz"), Choice()).X.shape == (3, 2**20)


def variable(*parts):
    """A MATLAB file of one variable with these parts, each a type and bytes."""
    body = b"".join(
        struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)
        for kind, content in parts
    )
    return struct.pack("<II", 14, len(body)) + body


def write_mat(*variables):
    Path("a.mat").write_bytes(bytes(124) + b"\x00\x01IM" + b"".join(variables))


def packed(content):
    content = zlib.compress(content, 9)
    return struct.pack("<II", 15, len(content)) + content


def numbers(dims, kind=9, matrix_class=6):
    flags = struct.pack("<II", matrix_class, 0)
    return [(6, flags), (kind, dims.tobytes()), (1, b"X"), (9, np.ones(9).tobytes())]


def test_a_mat_of_millions_of_empty_parts():
    write_mat(packed(variable(*numbers(np.array([3, 3], "<i4"), 5)) + variable()))
    refused("a.mat")
    body = bytes(8) * 2**20
    write_mat(packed(struct.pack("<II", 14, len(body)) + body))
    # What is packed is there twice for a moment, as 8 MB; each part would be an object of 100 B.
    assert most_memory(lambda: refused("a.mat")) < 2**26


def test_a_mat_of_many_empty_variables():
    write_mat(variable() * 20_000)
    assert "variables" in refused("a.mat") or "not a valid" in refused("a.mat")
    Path("a.mat").write_bytes(bytes(124) + b"\x00\x01IM" + struct.pack("<II", 1, 0) * 20_000)
    assert "more than 10000 variables" in refused("a.mat")


@pytest.mark.parametrize(
    "dims", [[math.inf, 3.0], [math.nan, 3.0], [-1.0, -9.0], [1e300, 1e300], [], [2.5, 3.6]]
)
def test_a_mat_of_odd_sides(dims):
    write_mat(variable(*numbers(np.array(dims, "<f8"))))
    refused("a.mat")


def test_a_mat_whose_sides_are_fractions_that_are_whole():
    write_mat(variable(*numbers(np.array([3.0, 3.0], "<f8"))))
    assert read(Path("a.mat"), Choice()).X.shape == (3, 3)


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED.keys())
def test_a_sparse_mat_that_would_end_the_process(change):
    parts = {name: np.asarray(value) for name, value in (SOUND | change).items()}
    if any(part.dtype.kind == "U" or part.ndim > 1 for part in parts.values()):
        pytest.skip("a MATLAB file has no such parts")
    stored = [(9, parts["indices"].astype("<f8").tobytes())]
    if parts["indices"].dtype.kind == "i":
        stored = [(5, parts["indices"].astype("<i4").tobytes())]
    kind = (5, "<i4") if parts["indptr"].dtype.kind == "i" else (9, "<f8")
    stored += [(kind[0], parts["indptr"].astype(kind[1]).tobytes())]
    stored += [(9, parts["data"].astype("<f8").tobytes())]
    flags, dims = struct.pack("<II", 5, 6), np.array([3, 3], "<i4").tobytes()
    write_mat(variable((6, flags), (5, dims), (1, b"X"), *stored))
    if change == {"indptr": [0, 2, 4, 5]}:  # MATLAB keeps room for more entries than there are
        assert read(Path("a.mat"), Choice()).X.sum() == 5
    else:
        refused("a.mat")


@pytest.mark.parametrize("size", ["0 0 0", "0 3 0", "3 0 0"])
def test_a_matrix_without_rows_or_columns(size):
    Path("a.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{size}\n")
    refused("a.mtx")


def test_whole_numbers_that_have_no_room_as_fractions(monkeypatch):
    np.save("a.npy", np.ones((1000, 1000), np.uint8))
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 4_000_000)
    assert "as numbers with fractions" in refused("a.npy")


def test_names_of_rows_are_made_when_asked_for():
    names = Counted(10**12)
    assert len(names) == 10**12
    assert (names[0], names[-1], names[2:4]) == ("1", str(10**12), ["3", "4"])


# ---------------------------------------------------------------------- Parquet, images


def test_parquet_with_two_columns_of_one_name():
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = [pa.array([1.0, 2, 3]), pa.array([4.0, 5, 6]), pa.array([7.0, 8, 9])]
    pq.write_table(pa.table(columns, names=["a", "a", "b"]), "a.parquet")
    assert "'a'" in refused("a.parquet")


def test_parquet_with_fewer_rows_than_none():
    pq = pytest.importorskip("pyarrow.parquet")
    from klsnmf.io import parquet

    class Claiming:
        def __init__(self, path):
            self.file = pq.ParquetFile(path)
            self.schema_arrow, self.metadata = self.file.schema_arrow, self

        num_rows = -4

    pq.write_table(pytest.importorskip("pyarrow").table({"a": [1.0, 2.0]}), "a.parquet")
    with pytest.raises(InputError, match="-4 rows"):
        parquet._read(Claiming("a.parquet"), Path("a.parquet"), Choice())


@pytest.mark.parametrize("kind", ["TGA", "PCX", "SGI", "DDS"])
def test_images_of_uncommon_kinds_are_refused_whatever_they_are_called(kind):
    """Each decoder is a program of its own, and some would start others."""
    Path("images").mkdir()
    Image.new("RGB", (4, 4)).save("images/a.png", kind)
    assert "unknown format" in refused("images")


def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path):
    Path("images/sub").mkdir(parents=True)
    Path("elsewhere").mkdir()
    for i, place in enumerate(["images/a.png", "images/sub/b.png", "elsewhere/c.png"]):
        Image.new("L", (4, 4), 40 * i).save(place)
    Path("images/inside.png").symlink_to("sub/b.png")
    Path("images/out.png").symlink_to(tmp_path / "elsewhere" / "c.png")
    Path("images/out").symlink_to(tmp_path / "elsewhere")
    found = read(Path("images"), Choice())
    assert found.ids == ["a.png", "inside.png", "sub/b.png"]
    assert "out.png" in " ".join(found.messages)


# ---------------------------------------------------------------------- models


def parts_of(name):
    """The text and the arrays of a model."""
    with np.load(name) as stored:
        arrays = dict(stored)
    return json.loads(arrays.pop("model").tobytes()), arrays


def write_model(name, text, arrays):
    np.savez(name, model=np.frombuffer(json.dumps(text).encode(), np.uint8), **arrays)


def fitted_arrays(node, found, shown=False):
    """The names of all arrays in a node that a model computes with."""
    if isinstance(node, list):
        for item in node:
            fitted_arrays(item, found, shown)
    elif isinstance(node, dict):
        for name, part in node.items():
            if name in ("history_", "n_clusters_evidence_", "feature_names_in_", "notes_"):
                continue
            if name == "array":
                found.append(part)
            elif name == "sparse":
                found.append(part[0])
            else:
                fitted_arrays(part, found, shown)
    return found


SAVED = [name for name, one in METHODS.items() if can_save(one())]


@pytest.mark.parametrize(("name", "copies"), [*((name, 1) for name in SAVED), ("kls-nmf", 2)])
def test_no_array_of_a_model_may_be_altered(name, copies):
    model = METHODS[name](3, random_state=0).fit(np.tile(X, (copies, 1)))
    save(model, "good.npz", n_features=6)
    text, arrays = parts_of("good.npz")
    for place in fitted_arrays(text["estimator"]["fitted"], []):
        good = arrays[place]
        bad = [good[..., None]]
        if name != "kmeans" or good.ndim > 1:  # whose labels alone say how many samples there were
            bad.append(good[:-1])
        if good.dtype.kind == "f":
            bad += [np.full_like(good, value) for value in (np.nan, np.inf, -np.inf)]
            bad += [good.astype(complex), good.astype(str)]
        else:
            bad += [np.full_like(good, -1), np.full_like(good, 3), good.astype(float)]
        for value in bad:
            write_model("bad.npz", text, arrays | {place: value})
            with pytest.raises(ModelError, match=r"bad\.npz"):
                load("bad.npz")


@pytest.mark.parametrize("name", SAVED)
def test_every_array_of_a_model_is_in_the_list(name):
    """An attribute that is new says what it must be, in ``WANTED``."""
    model = METHODS[name](3, random_state=0).fit(X)
    shown = ("history_", "n_clusters_evidence_")
    for attribute, value in vars(model).items():
        if isinstance(value, np.ndarray) and attribute not in shown:
            assert attribute in WANTED


@pytest.mark.parametrize("name", ["W_", "G_", "strengths_"])
def test_signs_of_factors(name):
    save(METHODS["kls-nmf"](3, random_state=0).fit(X), "good.npz")
    text, arrays = parts_of("good.npz")
    place = text["estimator"]["fitted"][name]["array"]
    write_model("bad.npz", text, arrays | {place: -1 - arrays[place]})
    with pytest.raises(ModelError, match=f"{name} has an entry below 0"):
        load("bad.npz")


@pytest.mark.parametrize("shape", [[10**30, 3], [3, 10**9], [-1, 3], ["a", 3], [3], None])
@pytest.mark.parametrize("indptr", [[0, 1, 1, 1], [0, 10**9, 10**9, 0], [0, 1, 1, -1]])
def test_a_model_with_a_crafted_matrix(shape, indptr):
    save(METHODS["kmeans"](3, n_init=1, random_state=0).fit(X), "good.npz")
    text, arrays = parts_of("good.npz")
    arrays |= {"d": np.ones(1), "i": np.array([0]), "p": np.array(indptr)}
    text["estimator"]["fitted"]["extra_"] = {"sparse": ["d", "i", "p"], "shape": shape}
    write_model("bad.npz", text, arrays)
    with pytest.raises(ModelError, match=r"bad\.npz"):
        load("bad.npz")


def test_numbers_of_a_model_are_finite():
    save(METHODS["kls-nmf"](3, random_state=0).fit(X), "good.npz")
    text, arrays = parts_of("good.npz")
    odd = [("lam_", math.nan), ("_unit", math.inf), ("n_clusters_", 10**9), ("n_iter_", 10**30)]
    for name, value in odd:
        changed = json.loads(json.dumps(text))
        changed["estimator"]["fitted"][name] = value
        write_model("bad.npz", changed, arrays)
        with pytest.raises(ModelError, match=name):
            load("bad.npz")


def test_the_checkpoint_of_a_loaded_model_is_nobodys_file():
    Path("precious.npz").write_text("of another program")
    save(METHODS["kls-nmf"](3, random_state=0).fit(X), "model.npz")
    text, arrays = parts_of("model.npz")
    assert text["estimator"]["parameters"]["checkpoint"] is None
    text["estimator"]["parameters"]["checkpoint"] = "precious.npz"
    write_model("model.npz", text, arrays)
    model, _ = load("model.npz")
    model.fit(X)
    assert model.checkpoint is None
    assert Path("precious.npz").read_text() == "of another program"


def test_a_text_that_grows(monkeypatch):
    save(METHODS["kmeans"](3, n_init=1, random_state=0).fit(X), "good.npz")
    text, arrays = parts_of("good.npz")
    text["about"] = {"dict": {"much": [[]] * 200_000}}
    write_model("bad.npz", text, arrays)
    load("bad.npz")
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 16_000_000)
    with pytest.raises(MemoryError, match="The text of"):
        load("bad.npz")
