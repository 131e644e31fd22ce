"""Invented shapes: every one is drawn as it says, and tables are made from rows alone."""

import numpy as np
import pytest

from benchmarks import invented
from benchmarks.invented_shapes import SHAPES, shape
from benchmarks.shape_parts import NOISE


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_the_same_for_the_same_seed_and_another_for_another(name):
    X, y = shape(name, 0)
    assert X.shape == (len(y), X.shape[1])
    assert np.isfinite(X).all()
    same, labels = shape(name, 0)
    np.testing.assert_array_equal(X, same)
    np.testing.assert_array_equal(y, labels)
    other, others = shape(name, 1)
    assert other.shape != X.shape or not np.array_equal(other, X)
    assert set(others) == set(y)
    sizes = np.bincount(y[y != NOISE])
    assert len(sizes) > 1
    assert sizes.min() >= 20
    assert np.mean(y == NOISE) < 0.15


def test_a_row_is_of_a_tool_that_is_told_the_number_or_not():
    for told in (False, True):
        cell = invented.Cell("bars", 0, "KLSNMF", told)
        row = dict(zip(invented.COLUMNS, invented.row_of(cell), strict=True))
        assert (row["shape"], row["told"], row["k"]) == ("bars", int(told), 4)
        assert (row["clear"] == "") == told
        assert row["chosen"] == 4 or not told


def test_each_tool_is_asked_what_it_can_answer():
    cells = list(invented.wanted(["KLSNMF", "HDBSCAN", "Genie"], 2))
    assert len(cells) == len(set(cells)) == 2 * 4 * len(SHAPES)
    assert not any(cell.told for cell in cells if cell.tool == "HDBSCAN")
    assert all(cell.told for cell in cells if cell.tool == "Genie")


def row(name, tool, told, k, chosen, ari, clear=""):
    values = (name, 0, tool, int(told), 300, k, chosen, ari, clear, 0.1, 1, "0")
    return dict(zip(invented.COLUMNS, map(str, values), strict=True))


def test_tables_are_made_from_rows_alone():
    rows = [
        row("bars", "KLSNMF", False, 4, 4, 1.0, clear=1),
        row("moons", "KLSNMF", False, 2, 12, 0.4, clear=0),
        row("bars", "HDBSCAN", False, 4, 0, 0.0),
        row("bars", "KLSNMF", True, 4, 4, 0.9),
        row("bars", "Genie", True, 4, 4, 0.8),
    ]
    rows.append(row("wheels", "KLSNMF", False, 2, 2, 0.6, clear=0))
    page = invented.page(rows)
    assert "| KLSNMF | 0.700 (2) | 0.600 (1) | 67% | 1 |" in page
    assert "| HDBSCAN | 0.000 (1) |  | 0% | 0 |" in page
    assert "1 of its 3 answers clear" in page
    assert "| Genie | 0.800 (1) |  |" in page
    assert "| bars | 4 | 1.000 | 0.000 | 0.900 | 0.800 |" in page
    assert "| moons | 2 | 0.400 |" in page
