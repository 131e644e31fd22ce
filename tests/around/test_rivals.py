"""Tools beside each other: how sets are read, resolutions searched, and tables made from rows."""

import gzip

import numpy as np
import pytest
from scipy import sparse

from benchmarks import rival_sets, rival_tables, rival_tools, rivals
from benchmarks.rival_tools import OURS, TOOLS, at_resolution

# --------------------------------------------------------------------------------------- the sets


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of data sets with two shapes, a dense set and a sparse one."""
    monkeypatch.setenv("KLSNMF_DATA", str(tmp_path))
    rng = np.random.RandomState(0)
    folder = tmp_path / "shapes" / "few"
    folder.mkdir(parents=True)
    y = np.repeat([0, 1, 2, 2], [2, 20, 10, 10])
    X = rng.normal(size=(42, 2)) + 50 * y[:, None] + 7
    write(folder / "pair.data.gz", X)
    write(folder / "pair.labels0.gz", y)
    write(folder / "pair.labels1.gz", np.where(np.arange(42) < 32, y, 3))
    write(folder / "long.data.gz", np.zeros((60, 2)))
    write(folder / "long.labels0.gz", np.ones(60, int))
    np.savez(tmp_path / "coil20.npz", X=np.eye(6, dtype=np.uint8), y=np.arange(6) // 3)
    S = sparse.csr_array(np.eye(4, 9))
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
    np.savez(tmp_path / "tr41.npz", **parts, y=np.arange(4) // 2)
    rival_sets.load.cache_clear()
    rivals.prepared.cache_clear()
    return tmp_path


def write(file, array):
    with gzip.open(file, "wt") as stream:
        np.savetxt(stream, array, fmt="%d" if array.dtype.kind == "i" else "%.17g")


def test_sets_that_are_there_are_found(home):
    assert rival_sets.names("paper", home) == ["digits"]
    assert rival_sets.names("coil20 and tr41", home) == ["coil20", "tr41"]
    assert rival_sets.names("elsewhere", home) == []
    assert rival_sets.names("shapes", home) == ["few/long", "few/pair"]
    assert rival_sets.names("shapes", home, most=50) == ["few/pair"]


def test_a_shape_is_centred_and_of_one_scale_and_has_every_answer(home):
    X, answers = rival_sets.load("shapes", "few/pair", home)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert X.std(ddof=1) == pytest.approx(1)
    assert [rivals.count_classes(y) for y in answers] == [2, 3]
    assert answers[0].min() == -1  # noise


def test_dense_and_sparse_sets_are_read(home):
    X, (y,) = rival_sets.load("coil20 and tr41", "coil20", home)
    np.testing.assert_array_equal(X, np.eye(6))
    np.testing.assert_array_equal(y, [0, 0, 0, 1, 1, 1])
    X, (y,) = rival_sets.load("coil20 and tr41", "tr41", home)
    np.testing.assert_array_equal(X, np.eye(4, 9))
    assert X.dtype == np.float32


def test_rows_are_scaled_where_that_changes_them():
    X = np.array([[3.0, 4.0], [0.0, 2.0]])
    assert rival_sets.scalings("paper", X) == ["raw", "unit"]
    assert rival_sets.scalings("shapes", X) == ["raw"]
    assert rival_sets.scalings("paper", X - 1) == ["raw"]
    unit = rival_sets.scaled(X, "unit")
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 1]])
    assert rival_sets.scalings("paper", unit) == ["raw"]
    assert rival_sets.scaled(X, "raw") is X


# -------------------------------------------------------------------------------------- the tools


@pytest.mark.parametrize("k", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("rate", [0.03, 1.0, 30.0])
def test_the_search_ends_at_k(k, rate):
    labels = at_resolution(lambda resolution: np.arange(int(1 + rate * resolution)), k)
    assert len(labels) == k


def test_the_search_ends_with_the_nearest_where_k_never_comes():
    asked = []

    def pieces(resolution):
        asked.append(resolution)
        return np.arange(6 if resolution < 3 else 20)

    assert len(at_resolution(pieces, 2)) == 6
    assert len(at_resolution(pieces, 10)) == 6
    assert len(at_resolution(pieces, 17)) == 20
    assert len(asked) <= 3 * rival_tools.MOST_PARTITIONS
    assert np.isfinite(asked).all()


@pytest.mark.parametrize("k", [2, 4, 8])
def test_leiden_finds_planted_groups(k):
    pytest.importorskip("leidenalg", reason="leidenalg is not installed")
    pytest.importorskip("igraph", reason="igraph is not installed")
    y = np.repeat(np.arange(k), 30)
    X = np.random.RandomState(k).normal(size=(30 * k, 5)) + 6 * np.eye(8, 5)[y] + 9 * y[:, None]
    labels = rival_tools.leiden(rival_tools.neighbour_graph(X, 0), k, 0)
    assert rivals.scores(y, labels) == pytest.approx((1, 1, 1))


def test_a_package_that_is_missing_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setattr(rival_tools, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r'genieclust.* pip install "klsnmf\[rivals\]"'):
        rival_tools.require(["KMeans", "Genie"])
    rival_tools.require([OURS, "KMeans", "SpectralClustering", "Ward", "HDBSCAN"])


# --------------------------------------------------------------------------------------- the rows


def test_noise_is_not_scored_and_noise_of_a_tool_is_a_cluster():
    y = np.array([-1, 0, 0, 1, 1])
    ari, right, shared = rivals.scores(y, np.array([0, 3, 3, -1, -1]))
    assert (ari, right, shared) == pytest.approx((1, 1, 1))
    assert rivals.count_classes(np.array([3, 3, -1])) == 1


def test_a_run_makes_what_is_missing_and_the_best_match_counts(home, tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    tools = ["KMeans", "Ward"]
    asked = rivals.Asked(["shapes"], tools, seeds=2, most=50, folder=home)
    rivals.run(file, asked, jobs=1)
    made = rivals.read_file(file)
    assert [(row["tool"], row["seed"]) for row in made] == [
        ("KMeans", "0"),
        ("Ward", "0"),
        ("KMeans", "1"),
    ]
    for row in made:
        assert (row["k"], row["n_found"], row["ari"]) == ("2", "2", "1.0000")
    assert rivals.missing(file, asked) == []
    more = asked._replace(tools=["KMeans", "SpectralClustering"], seeds=3)
    assert [cell.key() for cell in rivals.missing(file, more)] == [
        ("few/pair", "SpectralClustering", "raw", "0"),
        ("few/pair", "SpectralClustering", "raw", "1"),
        ("few/pair", "KMeans", "raw", "2"),
        ("few/pair", "SpectralClustering", "raw", "2"),
    ]


def test_times_are_measured_once(home, tmp_path):
    asked = rivals.Asked(["shapes"], ["KMeans", "Ward"], seeds=1, most=50, folder=home)
    file = tmp_path / "times.csv"
    rivals.times_here(file, asked._replace(tools=["Ward"]), 1)
    rivals.times_here(file, asked, 1)
    rivals.times_here(file, asked, 2)
    made = [(row["tool"], row["threads"]) for row in rivals.read_file(file)]
    assert made == [("Ward", "1"), ("KMeans", "1"), ("KMeans", "2"), ("Ward", "2")]


def test_ours_decides_on_rows_itself_and_others_get_both(home):
    asked = rivals.Asked(["paper"], [OURS, "Ward"], seeds=1, most=50, folder=home)
    keys = [cell.key() for cell in rivals.wanted(asked)]
    assert keys == [
        ("digits", OURS, "raw", "0"),
        ("digits", "Ward", "raw", "0"),
        ("digits", "Ward", "unit", "0"),
    ]


def test_tools_with_the_same_first_step_share_it(home, monkeypatch):
    steps = []

    def step(X, seed):
        steps.append(seed)
        return X

    first = rivals.prepared("shapes", "few/pair", "raw", 0, step, home)
    assert rivals.prepared("shapes", "few/pair", "raw", 0, step, home) is first
    rivals.prepared("shapes", "few/pair", "raw", 1, step, home)
    assert steps == [0, 1]
    assert TOOLS["UMAP+KMeans"].prepare is TOOLS["UMAP+HDBSCAN"].prepare


# -------------------------------------------------------------------------------------- the page


def rows_of(group, scores, **more):
    """Two seeds a row, one point above and one below the scores."""
    return [
        {
            "set": name,
            "group": group,
            "tool": tool,
            "scaling": "raw",
            "seed": str(seed),
            "k": "3",
            "n_found": "3",
            "accuracy": str(score + 2 * seed - 1),
            "nmi": "50",
            "ari": str(score / 100),
            **more,
        }
        for (name, tool), score in scores.items()
        for seed in range(2)
    ]


def test_the_page_has_means_over_the_same_sets_and_the_better_scaling():
    rows = rows_of("paper", {("digits", OURS): 80, ("digits", "Ward"): 60, ("yale", OURS): 50})
    rows += rows_of("paper", {("yale", "Ward"): 40})
    rows += rows_of("paper", {("digits", "Ward"): 90, ("yale", "Ward"): 30}, scaling="unit")
    rows += rows_of(
        "shapes", {("few/pair", OURS): 95, ("few/pair", "Ward"): 70, ("few/x", OURS): 1}
    )
    page = rival_tables.page(rows, [])
    assert "3 sets. Mean over 2 seeds" in page
    assert "rows are missing: few/x." in page
    assert "| Accuracy | sets | KLSNMF | Ward |" in page
    assert "| the paper's sets | 2 | **65.0** | **65.0** |" in page
    assert "| all shapes | 1 | **0.950** | 0.700 |" in page
    assert "| digits | 80.0 | **90.0**° |" in page
    assert "| yale | **50.0** | 40.0 |" in page
    assert "| few/pair | **0.950** | 0.700 |" in page
    assert "| Ward | 0.0 ± 127.1 | 1 | 1 | -10.0 | digits |" in page
    assert "## Time" not in page
    assert "Another number" not in page


def test_the_page_names_sets_where_k_did_not_come_out():
    rows = rows_of("shapes", {("few/pair", "Leiden"): 95}, n_found="4")
    rows += rows_of("shapes", {("few/pair", "HDBSCAN"): 95}, n_found="5")
    page = rival_tables.page(rows, [])
    assert "- Leiden: few/pair." in page
    assert "- HDBSCAN" not in page
    assert "minus each other tool" not in page  # there is nothing to subtract from


def test_times_are_multiples_of_ours_with_the_best_threads():
    same = {"set": "digits", "group": "paper", "n": "1797", "p": "64", "k": "10"}
    times = [
        {**same, "tool": tool, "threads": str(threads), "seconds": str(seconds)}
        for tool, threads, seconds in [
            (OURS, 1, 2.0),
            (OURS, 2, 1.5),
            ("Genie", 1, 0.3),
            ("Genie", 2, 0.6),
        ]
    ]
    page = rival_tables.page(rows_of("paper", {("digits", OURS): 80}), times)
    assert "| the paper's sets | 1 | 1.5 | 0.2 |" in page
    assert "| set | n × p, k | KLSNMF, s | Genie |" in page
    assert "| digits | 1797 × 64, 10 | 1.5 (2) | 0.2 (1) |" in page
