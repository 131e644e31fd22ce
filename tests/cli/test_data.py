"""The command ``klsnmf data``: what it prints, and its exit codes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import klsnmf as package
from klsnmf.cli.commands import klsnmf
from klsnmf.cli.output import show_table
from klsnmf.datasets import REGISTRY, store

from ..small_sets import empty_home, names_in, serving, shrink


@pytest.fixture
def home(tmp_path, monkeypatch):
    return empty_home(tmp_path, monkeypatch)


def run(*arguments, code=0):
    """The standard output, and the standard error, of a command that ends with this exit code."""
    result = CliRunner().invoke(klsnmf, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def table(text):
    """Rows by their first field, without the line of names."""
    return {line.split("\t")[0]: line.split("\t")[1:] for line in text.splitlines()[1:]}


# ---------------------------------------------------------------------- list and info


def test_list(home, monkeypatch):
    _, content = shrink(monkeypatch, "yale")
    (home / "Yale.mat").write_bytes(content)
    shown = run("data", "list")[0]
    assert shown.splitlines()[0] == "name\tsamples\tfeatures\tclasses\tlicence\there"
    rows = table(shown)
    assert list(rows) == list(REGISTRY)
    assert rows["digits"] == ["1797", "64", "10", "CC BY 4.0", "scikit-learn"]
    assert rows["yale"][-1] == str(home / "Yale.mat")
    assert rows["pix"][-1] == "no"


def test_list_as_json(home):
    found = json.loads(run("data", "list", "--json")[0])
    assert [each["name"] for each in found] == list(REGISTRY)
    assert found[1]["original"]["url"] == REGISTRY["semeion"].original.url
    assert found[1]["path"] is None
    assert found[1]["n_features"] == 256


@pytest.mark.parametrize("name", REGISTRY)
def test_info(name, home):
    dataset = REGISTRY[name]
    rows = table(run("data", "info", name)[0])
    assert rows["publisher"] == [dataset.publisher]
    assert rows["licence"] == [dataset.licence]
    assert rows["redistribution"] == [dataset.redistribution]
    assert json.loads(run("data", "info", name, "--json")[0])["address"] == dataset.address


@pytest.mark.parametrize("rich", [True, False])
def test_tables_in_a_terminal(rich, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    show_table(["name", "here"], [["yale", "/a [bold]folder[/bold]/Yale.mat"]])
    shown = capsys.readouterr().out
    assert "/a [bold]folder[/bold]/Yale.mat" in shown
    assert "here" in shown
    assert ("yale\t" in shown) == (not rich)


# ---------------------------------------------------------------------- fetch


@pytest.fixture
def server(home, monkeypatch):
    """A server with a small semeion and a small pix, but no other set."""
    pages = {}
    with serving(pages) as root:
        for name in ("semeion", "pix", "yale", "alphadigit"):
            file = REGISTRY[name].original.file
            _, content = shrink(monkeypatch, name, f"{root}/{file}")
            if name in ("semeion", "pix"):
                pages[f"/{file}"] = content
        yield pages


def test_fetch(home, server):
    rows = table(run("data", "fetch", "semeion", "pix", "semeion")[0])
    assert rows == {
        "semeion": ["fetched", str(home / "semeion.data")],
        "pix": ["fetched", str(home / "pixraw10P.mat")],
    }
    assert names_in(home) == ["pixraw10P.mat", "semeion.data"]
    server.clear()
    assert table(run("data", "fetch", "semeion", "digits")[0]) == {
        "semeion": ["ok", str(home / "semeion.data")],
        "digits": ["ok", "scikit-learn"],
    }


def test_fetch_into_another_folder(home, server):
    run("data", "fetch", "semeion", "--data-home", home / "new")
    assert names_in(home / "new") == ["semeion.data"]


def test_fetch_goes_on_after_a_failure(home, server):
    rows = table(run("data", "fetch", "yale", "pix", code=1)[0])
    assert rows["yale"][0] == "failed"
    assert "answered 404" in rows["yale"][1]
    assert rows["pix"][0] == "fetched"
    found = json.loads(run("data", "fetch", "yale", "pix", "--json", code=1)[0])
    assert [each["status"] for each in found] == ["failed", "ok"]


def test_an_interrupt_tells_what_was_already_downloaded(home, server, monkeypatch):
    fetch = store.fetch

    def interrupted(dataset, folder):
        if dataset.name == "yale":
            raise KeyboardInterrupt
        return fetch(dataset, folder)

    monkeypatch.setattr(store, "fetch", interrupted)
    result = CliRunner().invoke(klsnmf, ["data", "fetch", "pix", "yale"])
    assert result.exit_code == 130
    assert "Already downloaded: pix." in result.stderr
    result = CliRunner().invoke(klsnmf, ["data", "fetch", "yale"])
    assert "Nothing was written" in result.stderr


def test_fetch_what_one_has_to_ask_for(home):
    rows = table(run("data", "fetch", "jaffe", code=1)[0])
    assert rows["jaffe"][0] == "by hand"
    assert "zenodo" in rows["jaffe"][1]


def test_fetch_all(home, server, monkeypatch):
    rows = table(run("data", "fetch", "--all", code=1)[0])
    assert {name: row[0] for name, row in rows.items()} == {
        "digits": "ok",
        "semeion": "fetched",
        "alphadigit": "failed",
        "jaffe": "by hand",
        "pix": "fetched",
        "yale": "failed",
        "faces94": "by hand",
    }
    for name in ("yale", "alphadigit"):
        monkeypatch.delitem(REGISTRY, name)
    run("data", "fetch", "--all")  # sets to ask for are no failure of --all


def test_fetch_does_not_replace_a_file_of_the_user(home, server):
    (home / "semeion.data").write_bytes(b"mine")
    rows = table(run("data", "fetch", "semeion", code=1)[0])
    assert rows["semeion"][0] == "refused"
    assert (home / "semeion.data").read_bytes() == b"mine"


# ---------------------------------------------------------------------- check


def test_check(home, monkeypatch):
    arrays, content = shrink(monkeypatch, "yale")
    (home / "Yale.mat").write_bytes(content)
    rows = table(run("data", "check")[0])
    assert rows["yale"] == ["ok", str(home / "Yale.mat")]
    assert rows["pix"][0] == "missing"
    run("data", "check", "pix", code=1)
    np.savez(home / "yale.npz", X=arrays.X[::-1], y=arrays.y, image_shape=arrays.image_shape)
    rows = table(run("data", "check", code=1)[0])
    assert rows["yale"][0] == "refused"
    assert "not that of the published data" in rows["yale"][1]
    (found,) = json.loads(run("data", "check", "yale", "--json", code=1)[0])
    assert found["status"] == "refused"
    assert found["path"] == str(home / "yale.npz")


# ---------------------------------------------------------------------- usage and errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["data", "nonsense"],
        ["data", "info"],
        ["data", "info", "mnist"],
        ["data", "check", "mnist"],
        ["data", "fetch"],
        ["data", "fetch", "yale", "--all"],
        ["data", "list", "--nonsense"],
    ],
)
def test_usage(arguments, home):
    _, error = run(*arguments, code=2)
    assert "Usage:" in error
    assert "Traceback" not in error


def test_an_unknown_set_is_told_what_there_is(home):
    assert "Choose one of digits, semeion" in run("data", "info", "mnist", code=2)[1]
    assert "Did you mean 'semeion'?" in run("data", "info", "semion", code=2)[1]


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (MemoryError(), "MemoryError"),
        (
            ZeroDivisionError("oh"),
            "ZeroDivisionError: oh. This is a bug in klsnmf; please report it.",
        ),
    ],
)
def test_errors_are_one_paragraph(raised, words, home, monkeypatch):
    def fail(*_):
        raise raised

    monkeypatch.setattr(store, "find", fail)
    _, error = run("data", "check", code=1)
    assert words in error
    assert len(error.splitlines()) == 1
    assert "Traceback" not in error
    result = CliRunner().invoke(klsnmf, ["--debug", "data", "check"])
    assert result.exception is raised


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **options
    )


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from klsnmf.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    assert not {'numpy', 'scipy', 'sklearn', 'rich'} & set(sys.modules)"
    )
    for arguments in (["--help"], ["data", "--help"], ["data", "fetch", "-h"], ["--version"]):
        done = command("-c", code, *arguments)
        assert done.returncode == 0, done.stderr
        assert package.__version__ in done.stdout or "Usage: klsnmf" in done.stdout


def test_without_click():
    code = "import sys; sys.modules['click'] = None; from klsnmf.cli import main; main()"
    done = command("-c", code)
    assert done.returncode == 1
    assert done.stderr == (
        'The command klsnmf needs the package click. Run: pip install ".[demo]" in a clone, '
        'or pip install "klsnmf[demo]"\n'
    )
