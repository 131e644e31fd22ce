"""How a command begins: what can be told at once is, and shells can complete its words."""

import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from klsnmf.cli.commands import klsnmf
from klsnmf.datasets.registry import REGISTRY
from klsnmf.methods import METHODS

#: Runs a command, and prints which of the large packages it has imported by its end.
AND_THEN_TELL = """
import sys
from klsnmf.cli import main
try:
    main()
finally:
    print(*sorted({"numpy", "scipy", "sklearn", "pandas", "torch"} & set(sys.modules)))
"""


def imported_by(*arguments):
    """The exit code, the large packages, and the error of a command."""
    done = subprocess.run(
        [sys.executable, "-c", AND_THEN_TELL, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("cluster", "missing.csv"),
        ("compare", "missing.csv"),
        ("predict", "missing.npz", "missing.csv"),
        ("predict", "missing", "missing.csv"),
    ],
)
def test_a_missing_file_is_told_before_anything_large_is_imported(arguments):
    code, packages, error = imported_by(*arguments)
    assert code == 3
    assert arguments[1] in error
    assert packages == []


def test_a_wrong_name_of_a_data_set_is_told_without_scikit_learn():
    code, packages, error = imported_by("cluster", "--dataset", "digit")
    assert code == 2
    assert "Did you mean 'digits'?" in error
    assert packages == ["numpy"]


def test_a_folder_that_is_taken_is_told_before_the_data_are_read(folder):
    (folder / "mine.csv").write_text("a,b\n1,2\n")
    (folder / "mine-clusters").mkdir()
    (folder / "mine-clusters/notes.txt").write_text("mine")
    code, packages, error = imported_by("cluster", "mine.csv")
    assert code == 4
    assert "mine-clusters-2" in error
    assert "sklearn" not in packages


def completions(*words, incomplete=""):
    shell = ShellComplete(klsnmf, {}, "klsnmf", "_KLSNMF_COMPLETE")
    return [item.value for item in shell.get_completions(list(words), incomplete)]


def test_words_that_a_shell_completes():
    assert completions("cluster", "--dataset") == list(REGISTRY)
    assert completions("compare", "--dataset", incomplete="j") == ["jaffe"]
    assert completions("data", "info", incomplete="sem") == ["semeion"]
    assert completions("data", "fetch", "jaffe", incomplete="sem") == ["semeion"]
    assert completions("cluster", "--method") == list(METHODS)
    assert completions("cluster", "--method", incomplete="kls") == ["kls-nmf"]
    assert "cluster" in completions(incomplete="cl")
    assert "--dataset" in completions("cluster", incomplete="--da")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell):
    done = subprocess.run(
        [sys.executable, "-c", "from klsnmf.cli import main; main()"],
        env={"_KLSNMF_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "_KLSNMF_COMPLETE" in done.stdout
