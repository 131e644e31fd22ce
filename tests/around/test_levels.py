"""The number of clusters not known: draws, rows, and tables made from them."""

import numpy as np
import pytest

from benchmarks import left_out, level_tables, levels


def test_draws_are_of_every_kind_and_as_they_say():
    names = {levels.planted(seed)[0] for seed in range(24)}
    assert len(names) == 24
    for seed in range(24):
        name, X, y = levels.planted(seed)
        k, p = int(name.split()[0]), int(name.split()[3])
        assert X.shape == (len(y), p)
        assert len(np.unique(y)) == k
        means = np.array([X[y == c].mean(axis=0) for c in range(k)])
        apart = np.linalg.norm(means[:, None] - means[None], axis=2) + 1e9 * np.eye(k)
        assert apart.min() > levels.APART - 2
        sizes = np.bincount(y)
        assert sizes.max() / sizes.min() == (20 if "unequal" in name else 1)
    assert len({levels.nothing(seed)[0] for seed in range(6)}) == 6


def test_a_row_has_the_number_and_the_evidence(tmp_path):
    cell = levels.Cell("planted", "3 clusters in 2 dimensions, equal", levels.OURS, "raw", 0)
    row = dict(zip(levels.COLUMNS, levels.row_of(cell, tmp_path), strict=True))
    assert (row["k"], row["chosen"], row["clear"]) == (3, 3, 1)
    other = levels.row_of(cell._replace(tool="HDBSCAN"), tmp_path)
    assert dict(zip(levels.COLUMNS, other, strict=True))["clear"] == ""


def row(name, group, tool, k, chosen, ari, scaling="raw", clear=""):
    values = (name, group, tool, scaling, 0, 300, k, chosen, ari, clear, "", 0.1, 1, "0")
    return dict(zip(levels.COLUMNS, map(str, values), strict=True))


def test_tables_are_made_from_rows_alone():
    rows = [
        row("few/rings", "shapes", "KLSNMF", 2, 2, 0.9, clear=1),
        row("few/rings", "shapes", "Leiden", 2, 12, 0.2),
        row("digits", "paper", "KLSNMF", 10, 11, 0.8, clear=0),
        row("digits", "paper", "Leiden", 10, 50, 0.5),
        row("digits", "paper", "Leiden", 10, 9, 0.7, scaling="unit"),
        row("normal in 2 dimensions", "nothing", "KLSNMF", 1, 1, 1, clear=1),
        row("normal in 2 dimensions", "nothing", "HDBSCAN", 1, 0, 1),
    ]
    known = {"set": "digits", "tool": "HDBSCAN", "scaling": "raw", "ari": "0.1", "n_found": "77"}
    page = level_tables.page(rows, [known, {**known, "set": "few/rings", "n_found": "2"}])
    assert "| shapes, at most 3000 samples | 1 | **0.900** | 0.100 | 0.200 |" in page
    assert "| images, text, speech, features | 1 | **0.800** | 0.100 | 0.700 |" in page
    assert "- HDBSCAN: digits (77 for 10)." in page
    assert "- Leiden: none." in page
    assert "| normal in 2 dimensions | 1 | 100% | 100% |" in page
    assert "| sets | 2 | 50% | 100% | 50% | 100% |" in page


def test_a_rule_takes_the_finest_number_near_the_best_or_the_smallest():
    seen = {"n": "1000", "graph": "distance", "q": "10", "dimension": "2", "value": "0.5"}
    seen |= {"evenness": "1", "modularity": "0.5"}

    def row_of_number(k, explained):
        own = {"k": k, "found": k, "persistence": 1, "explained": explained, "ari": k / 10}
        return {**seen, **{name: str(value) for name, value in own.items()}}

    rows = [row_of_number(k, 1.0 if k in (4, 5) else 0.1) for k in range(2, 9)]
    assert left_out.agreement(rows, left_out.OURS) == 0.5
    assert left_out.agreement(rows, left_out.OURS, smallest=True) == 0.4
    nothing = [row_of_number(k, 0.1) for k in range(2, 9)]
    assert left_out.agreement(nothing, left_out.OURS) == 0


@pytest.mark.parametrize("name", ["digits", "tr41", "vowel"])
def test_every_set_has_a_group(name):
    assert left_out.kind_of("elsewhere", name) in ("images", "texts", "other")
    assert left_out.kind_of("shapes", name) == "shapes"
