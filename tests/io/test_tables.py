"""Reading the files of people: what is understood, and how each wrong file is refused."""

import contextlib
import io
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from scipy import sparse
from scipy.io import loadmat, mmwrite, savemat

from klsnmf.cli.commands import klsnmf
from klsnmf.core import memory
from klsnmf.io import images
from klsnmf.io.matlab import read_mat
from klsnmf.io.read import read
from klsnmf.io.table import Choice, InputError, taken_as_names, text_left_out

X = np.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(name, content, **choice):
    Path(name).write_text(content, encoding="utf-8")
    return read(Path(name), Choice(**choice))


# ---------------------------------------------------------------------- tables of text


def test_columns():
    found = table("a.csv", 'id,a,"b, c",kind\nx,1,2.5,u\n\ny,-3,1e2,v\n', id_column="id")
    assert found.ids == ["x", "y"]
    assert found.features == ["a", "b, c"]
    assert found.lines == [2, 4]
    np.testing.assert_array_equal(found.X, [[1, 2.5], [-3, 100]])
    assert found.target is None
    assert found.messages == [text_left_out(["kind"])]
    found = table("a.csv", "a,b,c\n1,2,u\n3,4,v\n", columns=["b"], label_column="c")
    assert found.features == ["b"]
    assert found.target.tolist() == ["u", "v"]
    assert table("a.csv", "a,c\n1,u\n3,\n", label_column="c").target.tolist() == ["u", None]


def test_a_column_of_different_texts_names_the_samples():
    rows = "a,cell,kind\n1,x,u\n2,y,u\n"
    found = table("a.csv", rows)
    assert found.ids == ["x", "y"]
    assert found.features == ["a"]
    assert found.messages == [taken_as_names("cell"), text_left_out(["kind"])]
    assert table("a.csv", rows, columns=["a"]).ids == ["x", "y"]  # as for a model
    for choice in ({"exclude": ["cell"]}, {"label_column": "cell"}, {"words": ["cell"]}):
        assert list(table("a.csv", rows, **choice).ids) == ["1", "2"]
    assert table("a.csv", rows, id_column="kind").ids == ["u", "u"]
    for cells in ("xx", "1y", "x?", "x" + "y" * 61):  # equal, a number, missing, long
        first, second = cells[0], cells[1:]
        rows = f"a,cell\n1,{first}\n2,{second}\n3,{first}{first}\n"
        assert list(table("a.csv", rows, columns=["a"]).ids) == ["1", "2", "3"]


def test_names_of_columns_are_optional():
    found = table("a.csv", "1.5,2\n3,4\n")
    assert found.features == ["1", "2"]
    np.testing.assert_array_equal(found.X, [[1.5, 2], [3, 4]])
    assert "no line of column names" in found.messages[0]
    found = table("a.csv", ",0,1\n7,1.5,2\n8,3,4\n")  # as pandas writes an unnamed table
    assert found.features == ["0", "1"]
    assert found.ids == ["7", "8"]
    assert table("a.csv", "0,1\n1.5,2\n").X.shape == (1, 2)


def test_many_rows_are_read_in_parts():
    rows = [f"{i},{2 * i}" if i != 4321 else "NA," for i in range(5000)]
    found = table("a.csv", "\ufeffa,b\n" + "\n".join(rows))
    expected = np.stack([np.arange(5000.0), 2 * np.arange(5000.0)], axis=1)
    expected[4321] = np.nan
    np.testing.assert_array_equal(found.X, expected)
    assert found.features == ["a", "b"]


def test_decimal_commas():
    found = table("a.csv", "a;b\n1,5;x\n2;y\n")
    np.testing.assert_array_equal(found.X, [[1.5], [2]])


@pytest.mark.parametrize(
    ("content", "choice", "expected"),
    [
        ("", {}, "a.csv is empty"),
        ("a,b\n", {}, "a.csv has column names but no rows"),
        ("a,b\n1,2\n3\n", {}, "a.csv, line 3, after column 1: the line has 1 cell, the first"),
        ("a,b\n1,2\n3,4,5\n", {}, "a.csv, line 3, from column 3: the line has 3 cells"),
        ("a,b\n1,2\n3,4\nx,5\n", {}, "a.csv, line 4, column 'a': 'x' is not a number"),
        ("a,b\n1,2\n1_0,4\n", {}, "a.csv, line 3, column 'a': '1_0' is not a number"),
        ("a,b\nx,y\n", {}, "no column of numbers"),
        ('a,b\n"1,234",2\n1234,4\n', {}, "a.csv, line 2, column 'a': '1,234' is not a number"),
        ('a,b\n"1,234",2\n1234,4\n', {}, "Write commas between thousands in every number of a"),
        ('a,b\n"12,34",2\n5,4\n', {}, "a.csv, line 2, column 'a': '12,34' is not a number"),
        ("a,b\nx,1\n", {"columns": ["a"]}, "a.csv, line 2, column 'a': 'x' is not a number"),
        ("weight,b\n1,2\n", {"columns": ["wieght"]}, "no column 'wieght'. Did you mean 'weight'?"),
        ("a,b\n1,2\n", {"label_column": "kind"}, "a.csv has no column 'kind'. It has 'a', 'b'"),
        ("a,b\n1,2\n", {"id_column": "kind"}, "a.csv has no column 'kind'"),
        ("a,a\n1,2\n", {"columns": ["a"]}, "a.csv has 2 columns called 'a'"),
        ('a,b\n1,"2\n3,4\n', {}, "a.csv, line 3: unexpected end of data"),
        ("a,b\n1,2\n3,\x004\n", {}, "a.csv, line 3, column 'b'"),
    ],
)
def test_wrong_tables(content, choice, expected):
    with pytest.raises(InputError) as refusal:
        table("a.csv", content, **choice)
    assert expected in str(refusal.value)


def test_all_words_among_numbers_are_counted():
    content = "a,b,c\n" + "1,2,3\n" * 5 + "1,x,3\ny,z,3\n"
    with pytest.raises(InputError) as refusal:
        table("a.csv", content)
    assert "a.csv, line 7, column 'b': 'x' is not a number" in str(refusal.value)
    assert "the first of 3 such cells in 2 columns ('a', 'b'). Correct them" in str(refusal.value)


def test_all_gaps_are_counted():
    content = "a,b\n1,2\n,\n3,\n4,5\n"
    with pytest.raises(InputError) as refusal:
        table("a.csv", content).require_numbers(gaps=False)
    expected = (
        "a.csv has 3 missing values in 2 rows, the first in line 3, column 'a'. Fill them in, or "
    )
    assert str(refusal.value).startswith(expected)
    matrix = sparse.csr_array([[0, 1.0], [np.nan, 0], [np.inf, np.inf]])
    sparse.save_npz("a.npz", matrix)
    with pytest.raises(InputError, match=r"1 missing value, in row 2, column 1\. Fill it in"):
        read(Path("a.npz"), Choice()).require_numbers(gaps=False)
    with pytest.raises(
        InputError, match="2 infinite values in 1 row, the first in row 3, column 1"
    ):
        read(Path("a.npz"), Choice()).require_numbers(gaps=True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_text_of_spreadsheets(encoding):
    Path("a.csv").write_bytes("a,b\n1,2\n".encode(encoding))
    with pytest.raises(InputError, match=r"a\.csv is text in UTF-16. Save .* UTF-8"):
        read(Path("a.csv"), Choice())


def test_a_spreadsheet_is_saved_as_csv():
    Path("a.ods").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"a\.ods.* Save the sheet as CSV\."):
        read(Path("a.ods"), Choice())


def test_text_in_another_encoding():
    Path("a.csv").write_bytes("grün,b\n1,2\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"a\.csv, after line 0: this is not text in UTF-8"):
        read(Path("a.csv"), Choice())


# ---------------------------------------------------------------------- parquet


def parquet(name, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), name)


def test_parquet():
    from datetime import date

    parquet("a.parquet", a=[1, 2], b=[1.5, None], c=[True, False], d=[date(2020, 1, 1)] * 2)
    found = read(Path("a.parquet"), Choice(label_column="d"))
    np.testing.assert_array_equal(found.X, [[1, 1.5, 1], [2, np.nan, 0]])
    assert found.target.tolist() == ["2020-01-01"] * 2
    found = read(Path("a.parquet"), Choice())
    assert found.messages == [text_left_out(["d"])]
    parquet("b.parquet", a=[1, 2], cell=["x", "y"])
    found = read(Path("b.parquet"), Choice())
    assert (found.ids, found.messages) == (["x", "y"], [taken_as_names("cell")])


@pytest.mark.parametrize(
    ("choice", "expected"),
    [({"columns": ["d"]}, "column 'd' holds string"), ({"columns": ["e"]}, "no column 'e'")],
)
def test_wrong_columns_of_parquet(choice, expected):
    parquet("a.parquet", a=[1, 2], d=["x", "y"])
    with pytest.raises(InputError, match=expected):
        read(Path("a.parquet"), Choice(**choice))


def test_parquet_that_unpacks_to_gigabytes(monkeypatch):
    parquet("a.parquet", **{f"f{j}": np.zeros(10_000) for j in range(5)})
    monkeypatch.setattr("klsnmf.io.parquet.LIMIT", 399_999)
    with pytest.raises(InputError, match="unpacks to 400000 bytes"):
        read(Path("a.parquet"), Choice())


# ---------------------------------------------------------------------- arrays


def test_small_numbers_stay_small():
    pairs = {"u1": "f4", "i2": "f4", "?": "f4", "f2": "f4", "f4": "f4", "i4": "f8", "f8": "f8"}
    for dtype, expected in pairs.items():
        np.save("a.npy", X.astype(dtype))
        found = read(Path("a.npy"), Choice())
        assert found.X.dtype == expected
        np.testing.assert_array_equal(found.X, X.astype(dtype))


def test_images_in_arrays():
    np.save("a.npy", np.zeros((2, 4, 5, 3), np.uint8))
    assert read(Path("a.npy"), Choice()).image_shape == (4, 5, 3)
    np.savez("a.npz", data=np.zeros((2, 20)), image_shape=[4, 5], target=[0, 1])
    found = read(Path("a.npz"), Choice())
    assert found.image_shape == (4, 5)
    assert found.target.tolist() == [0, 1]
    np.savez("a.npz", X=X, y=[0.5, 1, 2, 3], target=[1.0, 1, 2, np.nan])  # measurements
    assert read(Path("a.npz"), Choice()).target is None
    assert read(Path("a.npz"), Choice(label_column="target")).target.tolist() == [1, 1, 2, None]


@pytest.mark.parametrize(
    ("arrays", "choice", "expected"),
    [
        ({"a": X, "b": X}, {}, "several arrays: a (4, 3), b (4, 3). Choose"),
        ({"X": X}, {"columns": ["Z"]}, "no column 'Z'"),
        ({"X": X}, {"label_column": "y"}, "no column 'y'"),
        ({"X": X, "y": np.zeros(3)}, {"label_column": "y"}, "y has 3 entries, and there are 4"),
        ({"X": X + 1j}, {}, "complex numbers"),
        ({"X": np.array([["a", "b"]])}, {}, "holds text"),
        ({"X": np.zeros(3)}, {}, "has shape (3,)"),
        ({"X": np.zeros((0, 3))}, {}, "has shape (0, 3)"),
        ({"X": np.zeros((3, 0))}, {}, "has shape (3, 0)"),
        ({"X": np.zeros((2, 2, 2, 2))}, {}, "has shape (2, 2, 2, 2)"),
    ],
)
def test_wrong_arrays(arrays, choice, expected):
    np.savez("a.npz", **arrays)
    with pytest.raises(InputError) as refusal:
        read(Path("a.npz"), Choice(**choice))
    assert expected in str(refusal.value)
    assert "a.npz" in str(refusal.value)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices(form):
    sparse.save_npz("a.npz", sparse.coo_array(X).asformat(form))
    np.testing.assert_array_equal(read(Path("a.npz"), Choice()).X.toarray(), X)


def test_long_indices_are_made_short():
    parts = {"data": X.ravel(), "indices": np.tile([0, 1, 2], 4), "indptr": np.arange(0, 13, 3)}
    np.savez("a.npz", format=np.array(b"csr"), shape=X.shape, **parts)
    found = read(Path("a.npz"), Choice()).X
    assert found.indices.dtype == found.indptr.dtype == np.int32  # k-means insists on it
    np.testing.assert_array_equal(found.toarray(), X)


@pytest.mark.parametrize(
    "change", [{"indices": [0, 9]}, {"indices": [-9, 0]}, {"indptr": [0, 9, 2]}]
)
def test_sparse_matrices_that_lead_outside(change):
    parts = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2]} | change
    np.savez("a.npz", format=np.array(b"csr"), shape=[2, 3], **parts)
    with pytest.raises(InputError, match=r"a\.npz is not a valid sparse matrix"):
        read(Path("a.npz"), Choice())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "1 2 3\n",
        "%%MatrixMarket matrix coordinate real general\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 999999999999\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n999999999999999 3 1\n1 1 1\n",
        "%%MatrixMarket matrix array real general\n99999 99999\n1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n9 9 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n0 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1.5 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 one\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n3 -3 1\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real symmetric\n3 2 1\n1 1 1\n",
        "%%MatrixMarket matrix array real symmetric\n2 3\n1\n2\n3\n4\n5\n6\n",
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 \u00b2\n",
        "%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 1 1 1\n",
    ],
)
def test_wrong_mtx(content):
    Path("a.mtx").write_text(content)
    result = CliRunner().invoke(klsnmf, ["cluster", "a.mtx"])
    assert result.exit_code == 3
    assert "a.mtx" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.coo_array])
def test_mtx_of_every_kind(symmetry, storage):
    square = X[:3] + X[:3].T if symmetry == "symmetric" else X[:3] - X[:3].T
    matrix = X if symmetry == "general" else square
    for numbers in (matrix, matrix.astype(int), -matrix / 3):
        mmwrite("a.mtx", storage(numbers), symmetry=symmetry, comment="a comment")
        found = read(Path("a.mtx"), Choice()).X
        dense = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_allclose(dense, numbers, rtol=1e-12)
        assert sparse.issparse(found) == (storage is sparse.coo_array)


def test_mtx_without_values():
    pattern = "%%MatrixMarket matrix coordinate pattern general\n% note\n\n2 3 2\n1 1\n2 3\n"
    found = table("a.mtx", pattern)
    np.testing.assert_array_equal(found.X.toarray(), [[1, 0, 0], [0, 0, 1]])


# ---------------------------------------------------------------------- MATLAB


def test_mat_reads_real_numbers_only():
    content = {
        "X": X,
        "s": {"a": X},
        "c": np.array([X, "b"], dtype=object),
        "t": "text",
        "z": X + 1j,
    }
    for compress in (True, False):
        savemat("a.mat", content, do_compression=compress)
        assert set(read_mat("a.mat")) == {"X"}
        np.testing.assert_array_equal(read_mat("a.mat")["X"], X)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"])
def test_mat_as_scipy_reads_it(dtype, compress):
    rng = np.random.default_rng(0)
    arrays = {
        "X": rng.integers(0, 9, (7, 3)).astype(dtype),
        "images": rng.integers(0, 9, (4, 2, 3)).astype(dtype),
        "a_long_name_of_an_array": np.ones((1, 1), dtype),
        "s": sparse.random_array((9, 5), density=0.3, rng=rng).tocsc(),
    }
    savemat("a.mat", arrays, do_compression=compress)
    found, expected = read_mat("a.mat"), loadmat("a.mat")
    assert set(found) == set(arrays)
    np.testing.assert_array_equal(found.pop("s").toarray(), expected["s"].toarray())
    for name, array in found.items():
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name])


def test_mat_of_another_version():
    savemat("a.mat", {"X": X}, format="4")
    with pytest.raises(InputError, match="version 5 to 7"):
        read(Path("a.mat"), Choice())


def test_mat_that_unpacks_to_gigabytes():
    savemat("a.mat", {"X": np.zeros((1000, 1000))}, do_compression=True)
    assert Path("a.mat").stat().st_size < 20_000
    with pytest.raises(ValueError, match=r"a\.mat unpacks to more bytes than are allowed"):
        read_mat("a.mat", limit=1_000_000)


def test_mat_with_a_lying_header():
    stream = io.BytesIO()
    savemat(stream, {"X": np.zeros((4, 3))})
    whole = stream.getvalue()
    sides = struct.pack("<ii", 4, 3)
    assert whole.count(sides) == 1
    Path("a.mat").write_bytes(whole.replace(sides, struct.pack("<ii", 2**20, 2**20)))
    with pytest.raises(InputError, match="claims shape"):
        read(Path("a.mat"), Choice())
    packed = zlib.compress(whole[128:])
    Path("a.mat").write_bytes(whole[:128] + struct.pack("<II", 15, len(packed)) + packed[:-9])
    with pytest.raises(InputError, match=r"a\.mat is not a valid MATLAB file"):
        read(Path("a.mat"), Choice())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.7, 0.9])
def test_damaged_mat(share):
    savemat("a.mat", {"X": np.random.default_rng(0).normal(size=(40, 3)), "y": np.arange(40)})
    whole = Path("a.mat").read_bytes()
    Path("a.mat").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"a\.mat"):
        read(Path("a.mat"), Choice())


# ---------------------------------------------------------------------- images


def picture(path, mode, size, colour):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)


def test_images_of_many_kinds():
    picture("p/a.png", "L", (4, 3), 10)
    picture("p/deep/b.bmp", "RGB", (4, 3), (20, 20, 20))
    picture("p/c.png", "I;16", (4, 3), 30 * 257)
    picture("p/d.png", "LA", (4, 3), (0, 0))
    Path("p/notes.txt").write_text("text")
    Path("p/.hidden.png").write_text("text")
    found = read(Path("p"), Choice())
    assert found.ids == ["a.png", "c.png", "d.png", "deep/b.bmp"]
    assert found.image_shape == (3, 4)
    assert found.X.dtype == np.float32
    np.testing.assert_array_equal(found.X[:, 0], [10, 30, 255, 20])
    assert found.messages == ["1 file in p is no image and was left out: 'notes.txt'."]
    picture("p/e.gif", "RGB", (4, 3), (200, 0, 0))
    assert read(Path("p"), Choice(label_column="folder")).image_shape == (3, 4, 3)
    found = read(Path("p"), Choice(label_column="folder"))
    assert found.target.tolist() == [".", ".", ".", "deep", "."]


def test_images_of_many_sizes():
    for i, size in enumerate([(4, 2), (4, 2), (8, 8), (500, 300)]):
        picture(f"p/{i}.png", "L", size, i)
    found = read(Path("p"), Choice())
    assert found.image_shape == (2, 4)
    assert found.messages == ["2 of 4 images were resized to 2 × 4 pixels."]
    np.testing.assert_array_equal(found.X, np.repeat(np.arange(4.0)[:, None], 8, axis=1))
    picture("q/0.png", "L", (512, 256), 9)
    assert read(Path("q"), Choice()).image_shape == (64, images.LONGEST_SIDE)


def test_image_bombs(monkeypatch):
    picture("p/a.png", "1", (900, 900), 0)
    with monkeypatch.context() as patch:
        patch.setattr(images, "MOST_PIXELS", 800_000)
        with pytest.raises(InputError, match=r"p/a\.png unpacks to 900 × 900 pixels"):
            read(Path("p"), Choice())
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    chunk = (
        struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    )
    Path("p/a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk)
    with pytest.raises(InputError, match=r"a\.png"):
        read(Path("p"), Choice())


@pytest.mark.parametrize(
    "content", [b"", b"text", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"]
)
def test_files_that_are_no_images(content):
    Path("p").mkdir()
    Path("p/a.png").write_bytes(content)
    with pytest.raises(InputError, match=r"p/a\.png is not a valid image"):
        read(Path("p"), Choice())


def test_a_cut_image():
    noise = np.random.default_rng(0).integers(0, 255, (50, 50), np.uint8)
    Path("p").mkdir()
    Image.fromarray(noise).save("p/a.png")
    whole = Path("p/a.png").read_bytes()
    Path("p/a.png").write_bytes(whole[:1000])
    with pytest.raises(InputError, match=r"p/a\.png is not a valid image"):
        read(Path("p"), Choice())


def test_broken_images_are_told_together_or_left_out():
    for i in range(4):
        picture(f"p/good {i}.png", "L", (4, 3), i)
    noise = np.random.default_rng(0).integers(0, 255, (50, 50), np.uint8)
    Image.fromarray(noise).save("p/cut.jpg")  # whose beginning is sound
    Path("p/cut.jpg").write_bytes(Path("p/cut.jpg").read_bytes()[:1000])
    for i in range(5):
        Path(f"p/text {i}.png").write_text("text")
    with pytest.raises(InputError) as refusal:
        read(Path("p"), Choice())
    assert "6 of 10 images in p cannot be used: p/cut.jpg is not a valid" in str(refusal.value)
    assert "p/text 3.png is not a valid image (unknown format); and 1 more." in str(refusal.value)
    found = read(Path("p"), Choice(skip_broken=True))
    assert found.ids == [f"good {i}.png" for i in range(4)]
    np.testing.assert_array_equal(found.X[:, 0], np.arange(4))
    assert found.image_shape == (3, 4)
    assert found.messages[0].startswith("6 of 10 images in p cannot be used: ")
    for i in range(4):
        Path(f"p/good {i}.png").unlink()
    with pytest.raises(InputError, match="6 of 6 images in p cannot be used"):
        read(Path("p"), Choice(skip_broken=True))


# ---------------------------------------------------------------------- wrong files of all kinds


def bad_files():
    """Files that no command can use, by name."""
    np.save("objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    np.save("whole.npy", X)
    whole = Path("whole.npy").read_bytes()
    Path("cut.npy").write_bytes(whole[:-9])
    Path("lying.npy").write_bytes(whole.replace(b"(4, 3), ", b"(4, 999)"))
    with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        stream = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 1)}
        np.lib.format.write_array_header_1_0(stream, header)
        archive.writestr("X.npy", stream.getvalue() + bytes(10_000))
    kinds = ["a.npz", "b.mat", "c.parquet", "d.npy", "e.mtx"]
    for name in kinds:
        Path(name).write_bytes(b"this is no such file")
        Path(f"empty-{name}").write_bytes(b"")
    Path("table.xlsx").write_bytes(b"PK")
    Path("no images").mkdir()
    arrays = ["objects.npy", "cut.npy", "lying.npy", "bomb.npz"]
    others = ["table.xlsx", "no images", "missing.csv", "missing"]
    return [*arrays, *kinds, *(f"empty-{name}" for name in kinds), *others]


def test_every_wrong_file_is_one_paragraph():
    for name in bad_files():
        for command in (["cluster", name, "-k", "2"], ["compare", name, "-k", "2"]):
            result = CliRunner().invoke(klsnmf, command)
            assert result.exit_code == 3, (name, result.output)
            assert name in result.stderr
            assert len(result.stderr.splitlines()) == 1, result.stderr
            assert "bug in klsnmf" not in result.stderr
            assert result.stdout == ""
            assert not Path(f"{Path(name).stem}-clusters").exists()


def damaged(whole, rng):
    """The bytes of a file with one or a few changes."""
    content = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        place, way = int(rng.integers(len(content))), rng.integers(3)
        if way == 0:
            content[place] ^= 1 << int(rng.integers(8))
        elif way == 1:
            del content[place : place + int(rng.integers(1, 20))]
        else:
            content[place : place + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"9999"])
    return bytes(content)


@pytest.mark.parametrize("kind", ["csv", "npy", "npz", "mtx", "mat", "parquet", "packed.mat"])
def test_random_damage_is_borne_or_refused(kind):
    good = Path(f"good.{kind}")
    if kind == "csv":
        good.write_text("id,a,b\n" + "".join(f"n{i},{i},{i / 3}\n" for i in range(20)))
    elif kind == "npy":
        np.save(good, X)
    elif kind == "npz":
        sparse.save_npz(good, sparse.csr_array(X), compressed=False)
    elif kind == "mtx":
        mmwrite(good, sparse.coo_array(X))
    elif kind == "parquet":
        parquet(good, id=["a", "b"], b=[1.5, 2])
    else:
        content = {"X": X, "s": sparse.csc_array(X), "t": "text"}
        savemat(good, content, do_compression=kind == "packed.mat")
    whole, rng = good.read_bytes(), np.random.default_rng(0)
    read(good, Choice(columns=["X"] if "mat" in kind else None))
    for _ in range(100):
        good.write_bytes(damaged(whole, rng))
        with contextlib.suppress(InputError):
            found = read(good, Choice())
            assert found.X.shape[0] == len(found.ids)


def test_debug_shows_the_traceback():
    result = CliRunner().invoke(klsnmf, ["--debug", "cluster", "missing.csv"])
    assert isinstance(result.exception, InputError)


def test_more_than_the_memory_is_refused(monkeypatch):
    np.save("a.npy", X)
    Path("a.csv").write_text("a\n" + "1\n" * 100)
    monkeypatch.setattr(memory, "available", lambda: 10)
    monkeypatch.setattr(memory, "_SMALL", 0)
    for name in ("a.npy", "a.csv"):
        result = CliRunner().invoke(klsnmf, ["cluster", name])
        assert result.exit_code == 3
        assert name in result.stderr
        assert "memory" in result.stderr


def test_names_do_not_command_the_terminal():
    result = CliRunner().invoke(klsnmf, ["cluster", "\x1b[31mred.csv"])
    assert result.exit_code == 3
    assert "\x1b" not in result.stderr


def test_commas_between_thousands(tmp_path):
    rows = ['"1,234",1', "999,2", '"-1,234,567.5",3', ",4"]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["income,b", *rows]))
    table = read(path, Choice())
    np.testing.assert_array_equal(table.X[:, 0], [1234, 999, -1234567.5, np.nan])
    assert table.messages == ["Read as numbers with commas between thousands: 'income'."]
