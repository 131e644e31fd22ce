"""Names are imported on first use: whichever is first, it must work."""

import subprocess
import sys

import pytest

import klsnmf

#: What the package needs is imported once; then each name has a process where none of ours is.
EACH_FIRST = """
import os, sys
import scipy.sparse.linalg, sklearn.cluster, sklearn.neighbors, sklearn.utils.estimator_checks
failed = []
for name in sys.argv[1:]:
    assert "klsnmf" not in sys.modules
    child = os.fork()
    if not child:
        code = 1
        try:
            exec(f"from klsnmf import {name}; from klsnmf.methods import METHODS; assert METHODS")
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(" ".join(failed) or None)
"""


def test_any_name_can_be_imported_first():
    names = ["DETAILS", "KLSNMF", "KNMF", "METHODS", "WNMF", "datasets"]
    done = subprocess.run(
        [sys.executable, "-c", EACH_FIRST, *names], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_table_of_methods_imports_a_class_when_it_is_asked_for():
    code = (
        "import sys; from klsnmf import DETAILS, METHODS\n"
        "assert list(METHODS) == list(DETAILS) and 'gnmf' in METHODS and 'nmf' not in METHODS\n"
        "assert 'sklearn' not in sys.modules\n"
        "from sklearn.cluster import KMeans; assert METHODS['kmeans'] is KMeans\n"
        "assert not any(name.startswith('klsnmf.estimators') for name in sys.modules)\n"
        "from klsnmf import KLSNMF; assert KLSNMF in METHODS.values()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    assert all(getattr(klsnmf, name) is not None for name in klsnmf.__all__)
    assert set(klsnmf.__all__) <= set(dir(klsnmf))
    with pytest.raises(AttributeError, match="no attribute 'Clusters'"):
        _ = klsnmf.Clusters


@pytest.mark.parametrize("module", ["klsnmf", "klsnmf.cli"])
def test_the_package_runs_as_the_command(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("klsnmf, version")
