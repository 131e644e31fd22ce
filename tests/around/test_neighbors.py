"""The comparison of searches for neighbours."""

import numpy as np

from benchmarks import neighbors
from benchmarks.rows import read_file


def test_recall_is_the_share_of_true_neighbours():
    X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    order = np.argsort(distances, axis=1)
    recall = neighbors.recall_of(X)
    assert recall(order[:, 1 : neighbors.M + 1]) == 1
    assert recall(order[:, -neighbors.M :]) == 0
    half = np.hstack([order[:, 1 : neighbors.M // 2 + 1], order[:, -(neighbors.M // 2) :]])
    assert recall(half) == 0.5


def test_exact_searches_find_all_but_the_sample_itself():
    X = np.random.default_rng(0).normal(size=(300, 30)).astype(np.float32)
    recall = neighbors.recall_of(X)
    for find in neighbors.tools(X, recall).values():
        seconds, found = neighbors.measured(find, X)
        assert seconds >= 0
        assert found.shape == (len(X), neighbors.M)
        assert not (found == np.arange(len(X))[:, None]).any()
        assert recall(found) == 1


def test_itself_is_left_out_wherever_it_is():
    found = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]])
    assert neighbors.without_itself(found).tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]


def test_the_search_in_cells_finds_as_much_as_it_promises():
    rows = [row for row in read_file(neighbors.ROWS) if row["tool"].startswith("klsnmf")]
    exact = [float(row["recall"]) for row in rows if row["tool"] == "klsnmf, exact"]
    cells = [float(row["recall"]) for row in rows if row["tool"] == "klsnmf, in cells"]
    assert exact
    assert min(exact) == 1
    assert cells
    assert min(cells) >= 0.95
