"""The table of doubts."""

import numpy as np

from benchmarks import doubts
from benchmarks.rows import read_file


def test_clusters_are_matched_with_their_best_class():
    y = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 2])
    found = doubts.best_matches(y, labels)
    assert found == {0: 3 / 4, 1: 2 / 3}


def test_clusters_are_counted():
    given = [("1", 0.2), ("1", 0.9), ("0", 0.3), ("0", 0.8), ("0", 1.0)]
    rows = [
        {"sizes": "auto", "group": "shapes", "doubted": told, "jaccard": str(match)}
        for told, match in given
    ]
    *_, line = doubts.table(rows)
    assert line == "| the defaults, all but planted | 1 | 1 | 1 | 2 | 50% | 33% |"


def test_the_page_is_that_of_its_rows():
    page = doubts.PAGE.read_text(encoding="utf-8")
    rows = read_file(doubts.ROWS)
    assert "\n".join(doubts.table(rows)) in page
    assert "\n".join(doubts.of_planted(rows)) in page


def test_answers_for_planted_sets_are_counted():
    given = [("0", 0.95, "1"), ("0", 0.95, "0"), ("1", 0.5, "0"), ("2", 0.2, "1")]
    rows = [
        {"set": "a", "group": "planted", "sizes": "auto", "draw": draw, "ari": str(ari)}
        | {"doubted": told}
        for draw, ari, told in given
    ]
    assert doubts.of_planted(rows)[2:] == ["| a | 3 | 2 | 1 | 1 |"]
