"""A stranger's walk: a table, the command, and nothing else."""

import csv
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks.planted import cells
from klsnmf.cli.options import Source, Steps
from klsnmf.cli.samples import prepared, read
from klsnmf.io.table import Choice
from klsnmf.metrics import accuracy
from klsnmf.preparation.gaps import FillMedian
from klsnmf.report import scatter

from ..command_runs import labels_of, rows_of, run


@pytest.fixture(autouse=True)
def short_map(monkeypatch):
    """Only as many steps as t-SNE needs at least: these tests are not about the map."""
    monkeypatch.setattr(scatter, "_ITERATIONS", 250)


def write_table(path, names, X, y, *, of_class="kind"):
    """A table with its classes in a column of words, which must have no say."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, of_class])
        writer.writerows([*row, f"kind {c}"] for row, c in zip(X.tolist(), y, strict=True))


def walk(path, *options):
    """What a stranger is told, and how many clusters there are."""
    _, told = run("cluster", path, *options)
    folder = f"{Path(path).stem}-clusters"
    run("predict", folder, path, "--out", "again.csv", "--force")
    labels = labels_of(folder)
    again = [int(row["cluster"]) for row in rows_of("again.csv")]
    assert np.mean(again == labels) > 0.99  # some between clusters may change sides
    return told, labels


def test_counts_of_cells():
    X, y = cells(0)
    write_table("counts.csv", [f"GENE{j}" for j in range(1, 501)], X.astype(int), y)
    told, labels = walk("counts.csv")
    print(f"counts: {accuracy(y, labels):.3f} in {labels.max() + 1} clusters")
    assert accuracy(y, labels) >= 0.98
    assert labels.max() + 1 == 8
    assert "Note: 500 columns, 'GENE1' to 'GENE500': counts (whole numbers, " in told
    assert "the median of these sums. Per 10,000: --scale log. As they are: --scale none." in told
    assert "Left out, because they hold text: 'kind'." in told


def test_penguins():
    """By their bodies they are two kinds first, Gentoo and the others; then three."""
    shutil.copy(str(files("palmerpenguins") / "data" / "penguins.csv"), "penguins.csv")
    with open("penguins.csv", encoding="utf-8") as file:
        species = np.array([row["species"] for row in csv.DictReader(file)])
    told, labels = walk("penguins.csv", "--force")
    assert "Left out: 'year', a year." in told
    assert "Left out, because they hold text: 'species', 'island', 'sex'." in told
    assert "2 of 344 rows left out: most values are missing." in told
    assert "different units (spreads differ 410 times)" in told
    known = species[[int(row["id"]) - 1 for row in rows_of("penguins-clusters/labels.csv")]]
    print(f"penguins: {accuracy(known, labels):.3f} in {labels.max() + 1} clusters")
    assert accuracy(known == "Gentoo", labels > 0) == 1
    _, labels = walk("penguins.csv", "-k", 3, "--force")
    print(f"penguins, -k 3: {accuracy(known, labels):.3f}")
    assert accuracy(known, labels) >= 0.95


@pytest.mark.parametrize(
    ("load", "floor"), [(load_wine, 0.9), (load_breast_cancer, 0.9), (load_iris, 0.5)]
)
def test_measurements(load, floor):
    found = load()
    write_table("mine.csv", found.feature_names, found.data, found.target)
    told, labels = walk("mine.csv")
    print(f"{load.__name__}: {accuracy(found.target, labels):.3f}")
    assert accuracy(found.target, labels) >= floor
    assert ("different units" in told) == (load is not load_iris)


def test_pixels_in_a_table_are_left_as_they_are():
    """Whole numbers, half of them 0, some of a column few: and yet neither counts nor kinds."""
    found = load_digits()
    write_table("mine.csv", found.feature_names, found.data.astype(int), found.target)
    source = Source(Path("mine.csv"), None, Choice(), Steps())
    table, preparation = prepared(read(source), source, ["kls-nmf"])
    assert ([type(step) for step in preparation.steps], table.warnings) == ([FillMedian], [])
    np.testing.assert_array_equal(table.X, found.data)


def test_stored_sets_arrays_and_images_are_left_as_they_are():
    X, _ = cells(0)
    np.save("mine.npy", X[::20])
    np.save("images.npy", X[::20].reshape(150, 20, 25))
    sources = [Source(None, "digits", Choice(), Steps())]
    sources += [Source(Path(name), None, Choice(), Steps()) for name in ("mine.npy", "images.npy")]
    for source in sources:
        before = read(source)
        after, preparation = prepared(before, source, ["kls-nmf"])
        assert after.X is before.X
        assert (after.messages, after.warnings) == ([], [])
        assert all(isinstance(step, FillMedian) for step in preparation.steps)
