"""Tables packed by gzip: read as the plain ones are; bombs and damage are refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from klsnmf.core.files import UnsafeFileError, ending, unpacked_size
from klsnmf.io.read import read
from klsnmf.io.table import Choice, InputError, text_left_out


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_a_packed_table_is_the_plain_one(name, separator):
    content = separator.join("abc") + "\n" + f"1{separator}2.5{separator}x\n" * 5000
    Path(name).write_text(content)
    with gzip.open(f"{name}.gz", "wb") as file:
        file.write(content.encode())
    plain, packed = read(Path(name), Choice()), read(Path(f"{name}.gz"), Choice())
    np.testing.assert_array_equal(packed.X, plain.X)
    assert packed.X.shape == (5000, 2)
    assert (packed.features, packed.lines) == (plain.features, plain.lines)
    assert packed.messages == plain.messages == [text_left_out(["c"])]


def test_a_gzip_bomb_is_counted_while_it_unpacks(monkeypatch):
    with gzip.open("bomb.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 10**6)
    assert Path("bomb.csv.gz").stat().st_size < 20_000
    assert unpacked_size(Path("bomb.csv.gz")) == 4 * 10**6 + 4
    with pytest.raises(UnsafeFileError, match=r"bomb\.csv\.gz unpacks to more than the 1000000 b"):
        unpacked_size(Path("bomb.csv.gz"), limit=10**6)
    # What it unpacks to is held against the memory, not what it takes on the disk.
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 10**6)
    monkeypatch.setattr("klsnmf.core.memory._SMALL", 0)
    with pytest.raises(InputError, match=r"bomb\.csv\.gz.*Use fewer rows"):
        read(Path("bomb.csv.gz"), Choice())


def test_damaged_gzip():
    whole = gzip.compress(b"a,b\n1,2\n3,4\n" * 500)
    parts = {"cut": whole[:-12], "no gzip": b"a,b\n1,2\n", "changed": whole[:40] + b"\0" * 9}
    parts["empty"] = b""
    for content in parts.values():
        Path("a.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"a\.csv\.gz is"):
            read(Path("a.csv.gz"), Choice())


def test_an_error_in_a_packed_table_names_the_line():
    Path("a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n3,x\n4,5\n"))
    with pytest.raises(InputError, match=r"a\.csv\.gz, line 3, column 'b': 'x' is not a number"):
        read(Path("a.csv.gz"), Choice())
    Path("a.csv.gz").write_bytes(gzip.compress("a,b\n1,2\n".encode("utf-16")))
    with pytest.raises(InputError, match=r"a\.csv\.gz is text in UTF-16"):
        read(Path("a.csv.gz"), Choice())


def test_endings():
    names = {
        "a.csv": ".csv",
        "A.CSV.GZ": ".csv.gz",
        "a.b.tsv.gz": ".tsv.gz",
        "a": "",
        "a.gz": ".gz",
    }
    for name, expected in names.items():
        assert ending(Path(name)) == expected
    Path("a.txt.gz").write_bytes(gzip.compress(b"1"))
    with pytest.raises(InputError, match=r"\.csv\.gz"):
        read(Path("a.txt.gz"), Choice())
