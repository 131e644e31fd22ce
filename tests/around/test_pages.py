"""The pages say what is true: numbers are those of the committed rows, code runs, names exist."""

import contextlib
import csv
import io
import re
from pathlib import Path

import pytest
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF

import klsnmf
from klsnmf import metrics

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ONE_LINE = " ".join(README.split())
DOCS = ROOT / "docs"

#: Tools of the table in the README, as the page of rivals calls them; and groups of sets there.
NAMES = {"Spectral": "SpectralClustering", "Gaussian mixture": "GaussianMixture"}
GROUPS = ("all of these", "all shapes")


def rows(name):
    with (DOCS / "results" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def tables(text):
    """Lines of tables as lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_numbers_in_the_readme_are_those_of_the_rows():
    """They are on the page of rivals, which another test makes again from its rows."""
    page, measure, found = (DOCS / "results" / "rivals.md").read_text(encoding="utf-8"), "", {}
    for first, _, *cells in tables(page.partition("## KLSNMF minus")[0]):
        if first in ("Accuracy", "NMI", "Adjusted Rand"):
            measure, tools = first.lower(), cells
        else:
            found[measure, first] = dict(zip(tools, cells, strict=True))
    (_, *header), *body = tables(README)
    assert len(body) == 6
    for said, *numbers in body[:4]:
        measured, sets = said.split(", ")
        line = found[measured.lower(), "all shapes" if "shapes" in sets else "all of these"]
        tools = [NAMES.get(tool, tool.replace(" ", "")) for tool in header]
        assert numbers == [line[tool] for tool in tools]


def test_times_in_the_readme_are_those_of_the_rows():
    page = (DOCS / "results" / "rivals.md").read_text(encoding="utf-8").partition("## Time")[2]
    header, *lines = tables(page)
    found = {line[0]: dict(zip(header, line, strict=True)) for line in lines if line[0] in GROUPS}
    (_, *tools), *body = tables(README)
    for (said, own, *numbers), (group, seconds) in zip(body[4:], found.items(), strict=True):
        assert said == f"time, {seconds['sets']} {'shapes' if 'shapes' in group else 'sets'}"
        assert own == "1"
        assert numbers == [seconds[NAMES.get(tool, tool.replace(" ", ""))] for tool in tools[1:]]
    said = re.search(
        r"KLSNMF takes ([\d.]+) s on the 30 sets .* and ([\d.]+) s on shapes", ONE_LINE
    )
    assert said.groups() == tuple(seconds["KLSNMF, s"] for seconds in found.values())


def test_no_other_percentages_in_the_readme():
    """A number that no row backs would go unnoticed when the rows change."""
    assert not re.findall(r"\d\.\d ?%", README)


def test_the_ten_lines_run():
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    scores, verdict, shape, alike = printed.getvalue().splitlines()
    assert float(re.search(r"'accuracy': ([\d.]+)", scores)[1]) > 0.8
    assert verdict.startswith("converged")
    assert shape == "(10, 64)"
    assert len(alike.strip("[]").split()) == 5


@pytest.mark.parametrize("command", ["make demo", "make test", "klsnmf cluster"])
def test_the_first_screen_has_what_to_type(command):
    assert command in "\n".join(README.splitlines()[:45])


def test_pictures_are_there_and_small():
    names = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert names
    for name in names:
        assert 0 < (ROOT / name).stat().st_size < 200_000


def test_the_picture_is_as_new_as_the_rows():
    """``python docs/picture.py`` draws it again, and writes the numbers it shows into the file."""
    image = pytest.importorskip("PIL.Image")
    header, *measured = rows("ablation_summary.csv")
    means = {row[0]: row[header.index("mean")] for row in measured}
    with image.open(DOCS / "picture.png") as picture:
        assert picture.text == {
            "KLSNMF": means["default"],
            "SpectralClustering": means["SpectralClustering(nearest_neighbors)"],
            "KMeans": means["KMeans(n_init=10)"],
        }


@pytest.mark.parametrize("name", [*klsnmf.__all__, *metrics.__all__])
def test_the_reference_has_every_public_name(name):
    reference = (DOCS / "api.rst").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", reference)


@pytest.mark.parametrize("estimator", [KMeans, SpectralClustering, NMF])
def test_from_scikit_learn_has_every_parameter(estimator):
    page = (DOCS / "from_scikit_learn.rst").read_text(encoding="utf-8")
    missing = [name for name in estimator().get_params() if not re.search(rf"``{name}\b", page)]
    assert not missing


def test_every_example_says_what_it_shows_and_compares():
    examples = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
    assert len(examples) >= 8
    for example in examples:
        text = example.read_text(encoding="utf-8")
        assert re.match(r'"""\n(.+)\n=+\n\n\S', text), example.name
        assert re.search(r"KMeans\(|SpectralClustering\(", text), example.name
        compile(text, example.name, "exec")
