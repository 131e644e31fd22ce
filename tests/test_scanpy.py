"""klsnmf.scanpy: clusters of an AnnData, written where users of scanpy look for them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import klsnmf.scanpy
from klsnmf import KLSNMF
from klsnmf.metrics import accuracy

from .helpers import blobs

anndata = pytest.importorskip("anndata")


def cells():
    X, y = blobs(60, 3, 6, seed=0)
    data = anndata.AnnData(sparse.csr_matrix(np.ones((60, 4))))  # which tells nothing
    data.obsm["X_pca"] = X
    data.obs["kind"] = [f"kind {label}" for label in y]
    return data, X, y


def test_clusters_are_written_into_obs():
    data, X, y = cells()
    model = klsnmf.scanpy.cluster(data)
    assert isinstance(model, KLSNMF)
    assert model.n_clusters_ == 3
    assert accuracy(y, data.obs["klsnmf"].astype(int)) == 1
    assert str(data.obs["klsnmf"].dtype) == "category"
    assert list(data.obs["klsnmf"].cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(data.obs["klsnmf_strength"], model.strengths_)
    settings = data.uns["klsnmf"]["params"]
    assert settings == {"n_clusters": "auto", "use_rep": "X_pca", "random_state": 0}
    alone = KLSNMF("auto", random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert list(data.obs) == ["kind", "klsnmf", "klsnmf_strength"]


def test_what_to_cluster_by(tmp_path):
    data, X, y = cells()
    del data.obsm["X_pca"]
    data.X = sparse.csr_matrix(X[:, :4])
    klsnmf.scanpy.cluster(data, 3, key_added="mine", n_init=2)  # X, where there is nothing else
    assert accuracy(y, data.obs["mine"].astype(int)) > 0.9
    assert data.uns["mine"]["params"]["n_init"] == 2
    data.obsm["other"] = X
    klsnmf.scanpy.cluster(data, 3, use_rep="other")
    assert accuracy(y, data.obs["klsnmf"].astype(int)) == 1
    data.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert again.obs["klsnmf"].tolist() == data.obs["klsnmf"].tolist()
    assert again.uns["klsnmf"]["params"]["use_rep"] == "other"


def test_mistakes_are_named():
    data, X, _ = cells()
    with pytest.raises(ValueError, match=r"use_rep='umap' is not in obsm\. Use one of 'X', 'X_pc"):
        klsnmf.scanpy.cluster(data, use_rep="umap")
    with pytest.raises(TypeError, match=r"an AnnData, and ndarray has no X\. .* klsnmf\.KLSNMF"):
        klsnmf.scanpy.cluster(X)
    with pytest.raises(ValueError, match="has no X"):
        klsnmf.scanpy.cluster(anndata.AnnData(obs=data.obs), use_rep="X")
    assert list(data.obs) == ["kind"]


def test_neither_anndata_nor_scanpy_is_imported():
    code = (
        "import sys; sys.modules |= {'anndata': None, 'scanpy': None, 'h5py': None}\n"
        "import klsnmf; assert callable(klsnmf.scanpy.cluster)\n"
        "import klsnmf.io.read; assert 'openpyxl' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
