"""Every test of a command works in an empty folder; many of them cluster the same samples."""

import pytest

from ..helpers import blobs


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True, scope="package")
def short_map():
    """As few steps as t-SNE takes: these tests are not about the map of the report."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("klsnmf.report.scatter._ITERATIONS", 250)
        yield


@pytest.fixture
def samples():
    return blobs(60, 3, 6, seed=0)
