"""Files of strangers: refused before memory is asked for, with one sentence that names the file."""

import contextlib
import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from klsnmf.core.files import UnsafeFileError, open_zip, read_npy, read_npz

HUGE = 2**40


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def lying_npy(shape, descr="<f8", data=b"\0" * 64, version=1):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def zipped(entries, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


def assert_refused(read, path, words, limit=2**24):
    """The file is refused with these words, and without memory for what it claims to hold."""
    tracemalloc.start()
    try:
        with pytest.raises(UnsafeFileError, match=words) as refusal:
            read(path, limit)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    assert path.name in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.arange(5, dtype=">i2"),
        np.array(7.5),
        np.zeros((0, 3), np.float32),
        np.array(["a", "bc"]),
        np.array([True, False]),
        np.array([b"x", b"yz"]),
    ],
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_honest_files_are_read(array, version, tmp_path):
    one, many = tmp_path / "a.npy", tmp_path / "a.npz"
    one.write_bytes(npy(array, version=version))
    np.savez_compressed(many, a=array, b=array)
    for found in (read_npy(one), read_npz(many)["a"], read_npz(str(many))["b"]):
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


HOSTILE_ARRAYS = {
    "objects": (npy(np.array([{}, []], dtype=object)), "holds objects"),
    "objects that fit": (lying_npy((8,), "|O"), "holds objects"),
    "records": (npy(np.zeros(3, [("a", "<f8")])), "holds records"),
    "objects in records": (lying_npy((1,), [("a", "|O")]), "holds objects"),
    "more than any limit": (lying_npy((HUGE,)), "has 64: it is incomplete, or damaged"),
    "more than there is": (lying_npy((1000, 1000)), "claims 8000000 bytes of data and has 64"),
    "less than there is": (lying_npy((2,)), "claims 16 bytes of data and has 64"),
    "negative": (lying_npy((-8,)), "impossible"),
    "two negatives": (lying_npy((-1, -8)), "impossible"),
    "items of no size": (lying_npy((HUGE,), "|S0"), "impossible"),
    "more numbers than a machine counts": (lying_npy((2**62, 2**62)), "incomplete, or damaged"),
    "too many axes": (lying_npy((1,) * 80, data=b"\0" * 8), "impossible|damaged"),
    "an endless header": (
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 100,
        "header of 4294967295",
    ),
    "a shape of words": (lying_npy(("a", "b")), "damaged header"),
    "code as a header": (lying_npy((1,)).replace(b"(1,)", b"f(1)"), "damaged header"),
    "nested brackets": (lying_npy(()).replace(b"()", b"(" * 900 + b")" * 900), "damaged|header"),
    "a short header": (lying_npy((8,))[:30], "damaged header"),
    "another version": (b"\x93NUMPY\x09\x00" + b"\0" * 80, "version"),
    "text": (b"hello, this is no array", "not a .npy array"),
    "nothing": (b"", "not a .npy array"),
}


@pytest.mark.parametrize("kind", HOSTILE_ARRAYS)
def test_hostile_arrays(kind, tmp_path):
    content, words = HOSTILE_ARRAYS[kind]
    one, many = tmp_path / "a.npy", tmp_path / "a.npz"
    one.write_bytes(content)
    assert_refused(read_npy, one, words)
    many.write_bytes(zipped([("a.npy", content)]))
    assert_refused(read_npz, many, words)


def test_a_sound_array_larger_than_the_limit(tmp_path):
    file = tmp_path / "a.npy"
    file.write_bytes(npy(np.arange(1000.0)))
    assert_refused(read_npy, file, "takes 8000 bytes; at most 7999 are allowed", limit=7999)
    np.testing.assert_array_equal(read_npy(file, limit=8000), np.arange(1000.0))


def test_truncated_array(tmp_path):
    file = tmp_path / "a.npy"
    content = npy(np.arange(1000.0))
    for n in (0, 5, 9, 60, 500, len(content) - 1):
        file.write_bytes(content[:n])
        assert_refused(read_npy, file, r"not a \.npy|damaged|claims")


def lying_size(size):
    """An archive whose directory claims that its entry unpacks to so many bytes."""
    content = bytearray(zipped([("a.npy", lying_npy((HUGE,)))]))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = content.index(signature) + offset
        content[at : at + 4] = struct.pack("<I", size)
    return bytes(content)


def encrypted():
    content = bytearray(zipped([("a.npy", npy(np.ones(3)))]))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    content[content.index(b"PK\x03\x04") + 6] |= 1
    return bytes(content)


HOSTILE_ARCHIVES = {
    "a bomb": (zipped([("a.npy", npy(np.zeros(2**22)))]), "unpacks to"),
    "many small bombs": (
        zipped([(f"{i}.npy", npy(np.zeros(2**17))) for i in range(20)]),
        "unpacks to",
    ),
    "a claim of gigabytes": (lying_size(2**32 - 2), "more than can be packed"),
    "a parent folder": (zipped([("../a.npy", npy(np.ones(3)))]), "leads out"),
    "a parent folder inside": (zipped([("a/../../a.npy", npy(np.ones(3)))]), "leads out"),
    "a root": (zipped([("/a.npy", npy(np.ones(3)))]), "leads out"),
    "a drive": (zipped([("C:a.npy", npy(np.ones(3)))]), "leads out"),
    "backslashes": (zipped([("..\\a.npy", npy(np.ones(3)))]), "leads out"),
    "no arrays": (zipped([("a.pkl", b"cos\nsystem\n")]), "not a .npy array"),
    "another compression": (zipped([("a.npy", b"")], zipfile.ZIP_LZMA), "unusual"),
    "encryption": (encrypted(), "not a valid zip"),
    "no archive": (b"PK but not really", "not a valid zip"),
    "a truncated archive": (zipped([("a.npy", npy(np.ones(300)))])[:-40], "not a valid zip"),
}


@pytest.mark.parametrize("kind", HOSTILE_ARCHIVES)
def test_hostile_archives(kind, tmp_path):
    content, words = HOSTILE_ARCHIVES[kind]
    file = tmp_path / "a.npz"
    file.write_bytes(content)
    assert_refused(read_npz, file, words)
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_the_same_name_twice(tmp_path):
    file = tmp_path / "a.npz"
    file.write_bytes(zipped([("a.npy", npy(np.ones(3))), ("a.npy", npy(np.zeros(3)))]))
    assert_refused(read_npz, file, "twice")


@pytest.mark.parametrize("read", [read_npy, read_npz])
def test_what_is_no_regular_file(read, tmp_path):
    assert_refused(read, tmp_path, "not a regular file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert_refused(read, tmp_path / "pipe", "not a regular file")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing", 10)


def test_damage_is_always_told_in_the_same_way(tmp_path):
    """Whatever bytes are changed: the same arrays, or other values in them, or a refusal."""
    file = tmp_path / "a.npz"
    rng = np.random.default_rng(0)
    arrays = {"X": rng.integers(0, 9, (20, 6)), "y": np.arange(20)}
    for save in (np.savez, np.savez_compressed):
        save(file, **arrays)
        content = np.frombuffer(file.read_bytes(), np.uint8)
        for _ in range(150):
            damaged = content.copy()
            at = rng.integers(0, len(content), rng.integers(1, 4))
            damaged[at] = rng.integers(0, 256, len(at))
            file.write_bytes(
                damaged[: rng.integers(1, len(content) + 1)] if rng.random() < 0.1 else damaged
            )
            with contextlib.suppress(UnsafeFileError):
                read_npz(file, 2**20)


def test_entries_are_read_within_the_context(tmp_path):
    file = tmp_path / "a.zip"
    content = bytearray(zipped([("a.txt", os.urandom(500))], zipfile.ZIP_STORED))
    content[60] ^= 255
    file.write_bytes(content)
    with pytest.raises(UnsafeFileError, match="CRC"), open_zip(file) as archive:
        archive.read("a.txt")
