"""Every test of a command works in an empty folder; many of them cluster the same samples."""

import pytest

from ..helpers import blobs


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def samples():
    return blobs(60, 3, 6, seed=0)
