"""Data sets: found, checked, parsed and downloaded, and what is refused."""

import hashlib
import os
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import klsnmf
from klsnmf.datasets import REGISTRY, DatasetError, DatasetNotFoundError, data_folder, load
from klsnmf.datasets.arrays import as_arrays, content_hash
from klsnmf.datasets.originals import PARSERS, parse_faces94
from klsnmf.datasets.store import read

from ..small_sets import assert_same, empty_home, faces, names_in, register, shrink, zip_of

STORED = os.environ.get("KLSNMF_DATA")


@pytest.fixture
def home(tmp_path, monkeypatch):
    return empty_home(tmp_path, monkeypatch)


# ---------------------------------------------------------------------- the registry


def test_the_registry_is_complete():
    assert set(REGISTRY) == {"digits", "semeion", "alphadigit", "jaffe", "pix", "yale", "faces94"}
    for name, dataset in REGISTRY.items():
        assert dataset.name == name
        assert all(getattr(dataset, field.name) for field in fields(dataset)[:-2])
        assert len(dataset.content) == 64
        if dataset.original is None:
            continue
        assert (name in PARSERS) == bool(dataset.original.sha256)
        assert all(len(each) == 64 for each in dataset.original.sha256)
        if dataset.original.url:
            assert dataset.original.url.startswith("https://")
            assert dataset.original.url.endswith(f"/{dataset.original.file}")


def test_digits_are_always_there(home):
    found, expected = load("digits"), load_digits()
    assert found.data.dtype == np.float64
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.target, expected.target)
    arrays = as_arrays(found.data, found.target, found.image_shape)
    assert content_hash(arrays) == REGISTRY["digits"].content
    assert found.name == "digits"
    assert "1797 images of 8 × 8 pixels in 10 classes" in found.DESCR
    assert klsnmf.datasets.load is load


def test_unknown_name():
    with pytest.raises(ValueError, match=r"no data set 'mnist'; there are digits, semeion"):
        load("mnist")


def test_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KLSNMF_DATA", str(tmp_path))
    assert data_folder("there") == Path("there")
    assert data_folder() == tmp_path
    monkeypatch.setenv("KLSNMF_DATA", "")
    assert data_folder() == Path.home() / "klsnmf_data"
    assert data_folder("~/x") == Path.home() / "x"


# ---------------------------------------------------------------------- files in the folder


@pytest.mark.parametrize("place", [".", "raw"])
@pytest.mark.parametrize("name", PARSERS)
def test_originals_are_parsed(name, place, home, monkeypatch):
    arrays, content = shrink(monkeypatch, name)
    (home / place).mkdir(exist_ok=True)
    (home / place / REGISTRY[name].original.file).write_bytes(content)
    assert_same(load(name), arrays)
    assert_same(load(name, home, download=False), arrays)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float64])
def test_prepared_arrays_are_known_by_their_content(dtype, home, monkeypatch):
    arrays, _ = shrink(monkeypatch, "yale")
    X = np.asfortranarray(arrays.X, dtype=dtype)
    y = arrays.y.astype(dtype)
    for save in (np.savez, np.savez_compressed):
        save(home / "yale.npz", X=X, y=y, image_shape=arrays.image_shape)
        assert_same(load("yale"), arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s["X"].__setitem__((0, 0), s["X"][0, 0] ^ 1), "not that of the published"),
        (lambda s: s["y"].__setitem__(0, 3), "not that of the published"),
        (lambda s: s.update(X=s["X"] / 2), "not a whole number"),
        (lambda s: s.update(X=s["X"] * np.nan), "not within 0 and 255"),
        (lambda s: s.update(X=s["X"].astype(str)), "no type for pixels"),
        (lambda s: s.update(y=s["y"][1:]), "does not go with"),
        (lambda s: s.update(image_shape=np.array([32])), "height and a width"),
        (lambda s: s.update(image_shape=np.array([64, 16])), "not that of the published"),
        (lambda s: s.pop("y"), "lacks the array y"),
        (lambda s: s.update(X=s["X"].astype(object)), "objects"),
        (lambda s: s.update(more=np.zeros(10**6)), "unpacks to"),
    ],
)
def test_other_content_is_refused(change, words, home, monkeypatch):
    arrays, _ = shrink(monkeypatch, "yale")
    stored = {name: np.array(value) for name, value in arrays._asdict().items()}
    change(stored)
    np.savez(home / "yale.npz", **stored)
    with pytest.raises(DatasetError, match=words) as refusal:
        load("yale")
    assert str(home / "yale.npz") in str(refusal.value)
    assert "Remove it" in str(refusal.value)


@pytest.mark.parametrize("content", [b"MATLAB 5.0 nonsense", b"\0" * 300, b"", b"x" * 10**6])
@pytest.mark.parametrize("name", PARSERS)
def test_an_original_with_another_hash_is_not_even_parsed(name, content, home, monkeypatch):
    shrink(monkeypatch, name)
    monkeypatch.setitem(PARSERS, name, lambda *_: pytest.fail("parsed"))
    (home / REGISTRY[name].original.file).write_bytes(content)
    with pytest.raises(DatasetError, match=r"sha256|larger than"):
        load(name)


def test_a_folder_in_the_place_of_a_file(home):
    for name in ("yale.npz", "semeion.data"):
        (home / name).mkdir()
        with pytest.raises(DatasetError, match="not a regular file"):
            load(name.partition(".")[0])


@pytest.mark.parametrize("name", ["jaffe", "faces94"])
def test_a_set_to_ask_for(name, home):
    with pytest.raises(DatasetNotFoundError) as refusal:
        load(name)
    text = str(refusal.value)
    assert "\n" not in text
    for words in (REGISTRY[name].address, REGISTRY[name].original.file, str(home), "KLSNMF_DATA"):
        assert words in text


def test_no_download_unless_allowed(home, monkeypatch):
    shrink(monkeypatch, "semeion", "http://127.0.0.1:9/semeion.data")
    with pytest.raises(DatasetNotFoundError, match="klsnmf data fetch semeion"):
        load("semeion", download=False)


# ---------------------------------------------------------------------- Faces94


def small_faces94(monkeypatch):
    entries = list(faces())
    X = np.repeat([[grey] for _, _, grey in entries], 50 * 45, axis=1)
    arrays = as_arrays(X, np.repeat([0, 1], 3), (50, 45))
    register(monkeypatch, "faces94", arrays, b"0" * 10**6)
    return [(name, content) for name, content, _ in entries], arrays


def test_faces94_from_an_archive_or_a_folder(home, monkeypatch):
    entries, arrays = small_faces94(monkeypatch)
    others = [("faces94/female/c/c.1.jpg", b"not read"), ("faces94/male/readme.txt", b"")]
    (home / "faces94.zip").write_bytes(zip_of(others + entries[::-1]))
    assert_same(load("faces94"), arrays)
    (home / "faces94.zip").unlink()
    for name, content in entries:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    assert_same(load("faces94"), arrays)


def test_faces94_of_another_decoder(home, monkeypatch):
    entries, arrays = small_faces94(monkeypatch)
    monkeypatch.setitem(REGISTRY, "faces94", replace(REGISTRY["faces94"], content="0" * 64))
    (home / "faces94.zip").write_bytes(zip_of(entries))
    with pytest.warns(UserWarning, match="JPEG decoders may differ") as caught:
        assert_same(load("faces94"), arrays)
    assert caught[0].filename == __file__


def test_hostile_faces94(home, monkeypatch):
    entries, _ = small_faces94(monkeypatch)
    (name, face), *rest = entries
    wide = next(faces(size=(1800, 200)))[1]
    for content, words in {
        zip_of(rest): "5 images of 2 men",
        zip_of([]): "no image",
        zip_of([*entries, ("../evil.jpg", b"")]): "leads out",
        zip_of([(name, wide), *rest]): r"has \(1800, 200\) pixels",
        zip_of([(name, b"GIF89a"), *rest]): "not a valid JPEG",
        zip_of([(name, face[:-300]), *rest]): "not a valid JPEG",
        zip_of([(name, face), ("a", b"0" * 2 * 10**6)]): "unpacks to",
        b"no archive": "not a valid zip",
    }.items():
        (home / "faces94.zip").write_bytes(content)
        with pytest.raises(DatasetError, match=words):
            load("faces94")
        assert names_in(home) == ["faces94.zip"]
        assert names_in(home.parent) == ["data"]


def test_faces94_without_pillow(home, monkeypatch):
    entries, _ = small_faces94(monkeypatch)
    (home / "faces94.zip").write_bytes(zip_of(entries))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DatasetError, match=r"pip install pillow"):
        load("faces94")


# ---------------------------------------------------------------------- the real data

stored_data = pytest.mark.skipif(not STORED, reason="KLSNMF_DATA is not set")


def stored(*parts):
    """A file in the folder of the stored data; the test is skipped where it is not there."""
    path = Path(STORED, *parts)
    if not path.exists():
        pytest.skip(f"{path.name} is not in the folder")
    return path


@stored_data
@pytest.mark.parametrize("name", list(REGISTRY)[1:])
def test_stored_data(name):
    dataset = REGISTRY[name]
    arrays = read(dataset, stored(f"{name}.npz"))
    assert arrays.X.shape == (dataset.n_samples, dataset.n_features)
    assert set(arrays.y.tolist()) == set(range(dataset.n_classes))
    if name in PARSERS:
        original = read(dataset, stored("raw", dataset.original.file))
        np.testing.assert_array_equal(original.X, arrays.X)
        np.testing.assert_array_equal(original.y, arrays.y)


@stored_data
def test_semeion_as_its_publisher_ends_lines():
    """Copies without a blank at the end of lines go around; both give the same arrays."""
    dataset = REGISTRY["semeion"]
    lines = stored("raw", "semeion.data").read_bytes().splitlines()
    content = b"".join(line.rstrip() + b" \r\n" for line in lines)
    assert hashlib.sha256(content).hexdigest() == dataset.original.sha256[0]
    assert len(content) == dataset.original.size
    assert content_hash(PARSERS["semeion"](content, dataset)) == dataset.content


@stored_data
def test_stored_faces94_images():
    """A part of the images gives a part of the prepared array."""
    arrays = read(REGISTRY["faces94"], stored("faces94.npz"))
    part = parse_faces94(stored("raw", "faces94_sample.zip"), REGISTRY["faces94"])
    np.testing.assert_array_equal(part.X, arrays.X[: len(part.X)])
    np.testing.assert_array_equal(part.y, arrays.y[: len(part.y)])
