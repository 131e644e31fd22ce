"""Cells in .h5ad files: as anndata writes them, and as a stranger might."""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from klsnmf.io import h5ad
from klsnmf.io.read import READERS, read
from klsnmf.io.table import Choice, InputError

anndata = pytest.importorskip("anndata")

X = np.round(np.random.default_rng(0).poisson(1.0, (6, 4)), 1).astype(np.float32)
PATH = Path("a.h5ad")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files are read in this process, which is the same and takes less time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(READERS, ".h5ad", h5ad.read_here)


def write(matrix=X, **more):
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["u", "v", None, "u", "v", "u"]),
            "batch": list("abcabc"),
            "depth": np.arange(6.0),
            "count": pd.array([1, 2, None, 4, 5, 6], dtype="Int64"),
        },
        index=[f"cell {i}" for i in range(6)],
    )
    var = pd.DataFrame(index=["gene a", "gene b", "MT-1", "MT-2"])
    data = anndata.AnnData(matrix, obs=obs, var=var, **more)
    data.write_h5ad(PATH)
    return data


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse(form):
    write(form(X))
    found = read(PATH, Choice(label_column="kind"))
    dense = found.X.toarray() if sparse.issparse(found.X) else found.X
    assert sparse.issparse(found.X) == (form is not np.asarray)
    np.testing.assert_array_equal(dense, X)
    assert found.X.dtype == np.float32
    assert found.ids == [f"cell {i}" for i in range(6)]
    assert found.features == ["gene a", "gene b", "MT-1", "MT-2"]
    assert found.target.tolist() == ["u", "v", None, "u", "v", "u"]


def test_another_process_reads_the_same(monkeypatch):
    write(sparse.csr_matrix(X))
    here = read(PATH, Choice(label_column="count"))
    monkeypatch.setattr("h5py.File", None)  # of no use in this process
    there = h5ad.read(PATH, Choice(label_column="count"))
    assert (there.X != here.X).nnz == 0
    assert there.target.tolist() == here.target.tolist()
    assert (there.ids, there.features) == (here.ids, here.features)
    PATH.write_bytes(PATH.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"a\.h5ad is not a valid \.h5ad file"):
        h5ad.read(PATH, Choice())


def test_columns_of_obs_and_genes_by_name():
    write()
    found = read(PATH, Choice(columns=["MT-*"], id_column="batch", label_column="count"))
    assert found.features == ["MT-1", "MT-2"]
    np.testing.assert_array_equal(found.X, X[:, 2:])
    assert found.ids == list("abcabc")
    assert found.target.tolist() == [1, 2, None, 4, 5, 6]
    assert read(PATH, Choice(words=["batch"])).words == {"batch": list("abcabc")}
    with pytest.raises(InputError, match=r"a\.h5ad has no column 'knd' in obs\. Did you mean 'ki"):
        read(PATH, Choice(label_column="knd"))
    with pytest.raises(InputError, match=r"a\.h5ad has no column 'gene c'"):
        read(PATH, Choice(columns=["gene c"]))


def test_layers_and_embeddings():
    data = write(layers={"counts": sparse.csr_matrix(2 * X)}, obsm={"X_pca": X[:, :2] - 1})
    found = read(PATH, Choice(sheets=["counts"]))
    np.testing.assert_array_equal(found.X.toarray(), 2 * X)
    found = read(PATH, Choice(sheets=["X_pca"]))
    np.testing.assert_array_equal(found.X, X[:, :2] - 1)
    assert found.features is None
    with pytest.raises(InputError, match="obsm/X_pca has no names of columns"):
        read(PATH, Choice(sheets=["X_pca"], columns=["MT-*"]))
    with pytest.raises(InputError, match=r"no matrix 'pca'.*--sheet: 'X', 'counts', 'X_pca'\."):
        read(PATH, Choice(sheets=["pca"]))
    data.raw = data
    data = data[:, :2].copy()
    data.write_h5ad(PATH)
    assert read(PATH, Choice()).X.shape == (6, 2)
    assert read(PATH, Choice(sheets=["raw"])).X.shape == (6, 4)
    anndata.AnnData(obs=data.obs, obsm={"X_pca": X}).write_h5ad(PATH)
    with pytest.raises(InputError, match=r"no matrix 'X'.*--sheet: 'X_pca'\."):
        read(PATH, Choice())


def hostile(change):
    write(sparse.csr_matrix(X))
    with h5py.File(PATH, "r+") as file:
        change(file)
    with pytest.raises(InputError, match=r"a\.h5ad"):
        read(PATH, Choice(label_column="kind"))


def put(place, value, **more):
    def change(file):
        del file[place]
        if isinstance(value, h5py.ExternalLink | h5py.SoftLink):
            file[place] = value
        else:
            file.create_dataset(place, data=value, **more)

    return change


def virtual(file):
    layout = h5py.VirtualLayout((6, 4), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "X", (6, 4))
    del file["X"]
    file.create_virtual_dataset("X", layout)


def huge(file):
    del file["X"]
    file.create_dataset("X", (6, 10**11), "f4", chunks=(1, 1000))  # of which nothing is stored


def elsewhere(file):
    Path("numbers.bin").write_bytes(bytes(96))
    del file["X"]
    file.create_dataset("X", (6, 4), "f4", external=[("numbers.bin", 0, 96)])


@pytest.mark.parametrize(
    "change",
    [
        put("X", h5py.ExternalLink("/etc/passwd", "/X")),
        put("X", h5py.SoftLink("/obs/depth")),
        put("X/indices", np.array([0, 99] * 9)),
        put("X/indptr", np.arange(7) * 1000),
        put("X/data", np.array(["a", "b"], dtype="S1")),
        put("X", np.zeros((6, 4), dtype="c8")),
        put("X", np.zeros((5, 4))),
        put("X", np.zeros((6, 3))),
        put("X", np.zeros(6)),
        put("X", np.float32(1)),
        put("obs/kind/codes", np.array([0, 1, 2, 9, 0, 1], dtype="i1")),
        put("obs/kind/codes", np.array([0, 1], dtype="i1")),
        put("obs/_index", np.zeros((6, 2))),
        put("obs", np.zeros(6)),
        put("var/_index", h5py.ExternalLink("/etc/passwd", "/X")),
        virtual,
        huge,
        elsewhere,
        lambda file: file["X"].attrs.modify("shape", np.array([10**9, 10**9])),
        lambda file: file["X"].attrs.modify("encoding-type", "dataframe"),
        lambda file: file["X"].attrs.create("encoding-type", 3),
    ],
)
def test_hostile_files(change):
    hostile(change)


@pytest.mark.parametrize("link", [h5py.ExternalLink("b.h5ad", "/X"), h5py.SoftLink("/other")])
def test_links_are_not_followed_to_sound_matrices(link):
    write().write_h5ad("b.h5ad")
    with h5py.File(PATH, "r+") as file:
        file.move("X", "other")
        file["X"] = link
    with pytest.raises(InputError, match=r"a\.h5ad: 'X' is a link to another place"):
        read(PATH, Choice())


def test_one_long_text_in_every_row_is_counted(monkeypatch):
    write()
    monkeypatch.setattr("klsnmf.io.h5ad.LIMIT", 4 * 10**5)
    with h5py.File(PATH, "r+") as file:
        del file["obs/batch"]
        file.create_dataset("obs/batch", data=["x" * 10**5] * 6, dtype=h5py.string_dtype())
    with pytest.raises(InputError, match=r"a\.h5ad: obs/batch unpacks to too much text"):
        read(PATH, Choice(id_column="batch"))


def test_damaged_files():
    write()
    whole = PATH.read_bytes()
    for content in (b"", b"\x89HDF\r\n\x1a\n", whole[:1000], b"a,b\n1,2\n", bytes(5000)):
        PATH.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.h5ad is not a valid \.h5ad file"):
            read(PATH, Choice())
    with h5py.File(PATH, "w") as file:
        file["X"] = X
    with pytest.raises(InputError, match=r"has no table 'obs'.* anndata\.read_h5ad"):
        read(PATH, Choice())
