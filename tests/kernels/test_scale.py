"""Many samples: which matrix is chosen, what is said of it, and that it finds the clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.scale import curves
from klsnmf import KLSNMF, KNMF, LSNMF, KernelKMeans
from klsnmf.core import kmeans as lloyd
from klsnmf.core import memory
from klsnmf.core.arithmetic import filled_share
from klsnmf.core.kmeans import how_many_starts, kmeans
from klsnmf.grams.array import DenseGram
from klsnmf.grams.sparse import SparseGram
from klsnmf.grams.spectral import SpectralDiffusion
from klsnmf.kernels import neighbors
from klsnmf.kernels.build import fit_kernel
from klsnmf.kernels.neighbors import nearest
from klsnmf.kernels.plan import choose_search, make_plan
from klsnmf.kernels.tiles import KernelTiles
from klsnmf.metrics import accuracy

SEEDS = range(2)


def clear(seed, n=150, k=3, p=6):
    return make_blobs(n, centers=8 * np.eye(k, p), random_state=seed)


# -------------------------------------------------------------------------------- the same clusters


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        ("rbf", np.float32),
        ("self-tuning", np.float64),
        ("self-tuning", np.float32),
        ("linear", np.float64),
        ("cosine", np.float32),
        ("polynomial", np.float64),
    ],
)
def test_tiles_give_the_labels_of_the_array(kernel, dtype, monkeypatch):
    monkeypatch.setattr("klsnmf.grams.tiled.TILE", 40)
    X, _ = clear(0)
    X = X.astype(dtype)
    options = {"kernel": kernel, "n_neighbors": None, "random_state": 0, "max_iter": 3000}
    dense = KLSNMF(3, gram="dense", diffusion=0, **options).fit(X)
    tiled = KLSNMF(3, gram="tiled", diffusion=0, **options).fit(X)
    np.testing.assert_array_equal(tiled.labels_, dense.labels_)
    assert_allclose(tiled.objective_, dense.objective_, rtol=1e-2)
    np.testing.assert_array_equal(tiled.predict(X), tiled.labels_)
    assert tiled.W_.dtype == dtype


@pytest.mark.parametrize("gram", ["tiled", "low-rank"])
@pytest.mark.parametrize("diffusion", [0, 2, 4, "auto"])
@pytest.mark.parametrize("seed", SEEDS)
def test_diffusion_goes_with_every_gram(gram, diffusion, seed, monkeypatch):
    monkeypatch.setattr("klsnmf.kernels.tiles.LANDMARKS", 60)
    X, y = clear(seed)
    options = {"gram": gram, "diffusion": diffusion, "random_state": seed, "max_iter": 3000}
    model = KLSNMF(3, **options).fit(X)
    assert accuracy(y, model.labels_) > 0.98
    assert np.mean(model.predict(X) == model.labels_) > 0.98


@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        ("rbf", "auto"),
        ("rbf", "soft"),
        ("rbf", "exact"),
        ("polynomial", "auto"),
        ("linear", "soft"),
        ("cosine", "exact"),
    ],
)
def test_low_rank_kernels_find_clear_clusters(kernel, solver, monkeypatch):
    monkeypatch.setattr("klsnmf.kernels.tiles.LANDMARKS", 40)
    X, y = clear(0)
    radius = 3.0 if kernel == "rbf" else "auto"
    model = KLSNMF(
        3,
        kernel=kernel,
        radius=radius,
        gram="low-rank",
        solver=solver,
        random_state=0,
        max_iter=3000,
    ).fit(X)
    assert accuracy(y, model.labels_) > 0.98


def test_sparse_samples_in_tiles():
    X, _ = clear(0)
    X = np.maximum(X, 0)
    options = {"kernel": "rbf", "gram": "tiled", "random_state": 0}
    dense = KLSNMF(3, **options).fit(X)
    np.testing.assert_array_equal(
        KLSNMF(3, **options).fit(sparse.csr_array(X)).labels_, dense.labels_
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_rings_of_more_samples_than_can_be_squared(seed):
    X, y = make_circles(6000, noise=0.04, factor=0.6, random_state=seed)
    model = KLSNMF(2, random_state=seed).fit(X.astype(np.float32))
    assert accuracy(y, model.labels_) > 0.98
    assert model.diffusion_ > 8
    assert np.mean(model.predict(X[:200]) == model.labels_[:200]) > 0.98


@pytest.mark.parametrize("seed", SEEDS)
def test_many_steps_are_taken_along_eigenvectors_and_find_the_same(monkeypatch, seed):
    """Squaring S again and again would take most of the time of the fit."""
    X, y = curves(1200, seed)
    quick = KLSNMF(6, diffusion="unweighted", random_state=seed).fit(X)
    monkeypatch.setattr("klsnmf.grams.diffused._FEW_SAMPLES", 2000)
    slow = KLSNMF(6, diffusion="unweighted", random_state=seed).fit(X)
    assert isinstance(quick._similarity.diffusion, SpectralDiffusion)
    assert not isinstance(slow._similarity.diffusion, SpectralDiffusion)
    assert 16 < quick.diffusion_ <= 2 * slow.diffusion_ <= 4 * quick.diffusion_
    assert accuracy(y, quick.labels_) > 0.98
    assert accuracy(slow.labels_, quick.labels_) > 0.98


# ----------------------------------------------------------------------------------- what is chosen


def chosen(shape, kernel="rbf", n_neighbors=None, **options):
    return make_plan(shape, 4, kernel, n_neighbors, **options).gram


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (8e4, "80 kB"), (1.6e9, "1.6 GB"), (4e18, "4,000,000 TB")],
)
def test_amounts_of_memory_are_told_in_a_unit_that_suits_them(size, said):
    assert memory.amount(size) == said


def test_the_matrix_is_chosen_by_size_and_memory(monkeypatch):
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 24 * 10**9)
    assert chosen((1000, 5)) == "dense"
    assert chosen((50_000, 50)) == "dense"
    assert chosen((50_000, 50), max_memory=2) == "tiled"
    assert chosen((90_000, 50)) == "tiled"
    assert chosen((200_000, 50)) == "low-rank"
    assert chosen((200_000, 50), gram="tiled") == "tiled"
    assert chosen((90_000, 50), "linear") == "low-rank"
    assert chosen((10**6, 50), "self-tuning", 10) == "sparse"
    # K of both signs goes with its positive part.
    assert chosen((51_000, 50), nonnegative=True) == "dense"
    assert chosen((52_000, 50), "polynomial", nonnegative=True) == "dense"
    assert chosen((52_000, 50_000), "linear") == "tiled"
    with pytest.raises(MemoryError, match="sparse kernel of 1000000000 samples"):
        chosen((10**9, 50), "self-tuning", 10)
    with pytest.raises(MemoryError, match="by its name"):
        chosen((90_000, 50), rbf_kernel)
    with pytest.raises(ValueError, match="needs a kernel by its name"):
        chosen((100, 5), rbf_kernel, gram="tiled")
    with pytest.raises(ValueError, match="n_neighbors=10 keeps"):
        chosen((100, 5), "rbf", 10, gram="tiled")


def test_linear_kernels_of_few_nonnegative_features_are_products_with_the_samples():
    plain = {"nonnegative": True, "by_samples": True}
    assert chosen((1000, 5), "linear", **plain) == "low-rank"
    assert chosen((1000, 5), "cosine", **plain) == "low-rank"
    assert chosen((1000, 5), "linear", **plain, room=1e12) == "low-rank"
    assert chosen((1000, 5), "linear", nonnegative=True) == "dense"
    assert chosen((1000, 5), "linear", by_samples=True) == "dense"
    assert chosen((1000, 400), "linear", **plain) == "dense"
    assert chosen((1000, 5), "linear", **plain, gram="dense") == "dense"
    assert chosen((1000, 5), "rbf", **plain) == "dense"


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("seed", SEEDS)
def test_products_with_the_samples_find_what_the_array_finds(kernel, seed, capsys):
    rng = np.random.default_rng(seed)
    X = rng.random((3, 12)).repeat(60, axis=0) * rng.uniform(0.9, 1.1, (180, 12))
    params = {"kernel": kernel, "max_iter": 40, "tol": 0, "random_state": seed}
    quick = KLSNMF(3, verbose=1, **params).fit(X)
    assert "kernel of rank 12, exact" in capsys.readouterr().out
    slow = KLSNMF(3, gram="dense", **params).fit(X)
    assert_allclose(quick.objective_, slow.objective_, rtol=1e-8)
    assert_array_equal(quick.labels_, slow.labels_)
    assert_allclose(quick.transform(X), slow.transform(X), rtol=1e-6, atol=1e-9)
    for needing_entries in ({"kernel": [kernel, "rbf"]}, {"diffusion": 2}):
        KLSNMF(3, verbose=1, **{**params, **needing_entries}).fit(X)
        assert "dense kernel" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_new_samples_of_a_linear_kernel_need_no_pairs(kernel, kind):
    rng = np.random.default_rng(0)
    X, Y, W = rng.normal(size=(40, 6)), rng.normal(size=(7, 6)), rng.random((40, 3))
    _, fitted = fit_kernel(kind(X), kernel, "auto", None)
    values, own = fitted.rows(kind(Y))
    product, lengths = fitted.product(kind(Y), W)
    assert_allclose(product, values @ W)
    assert_allclose(lengths, own)


def test_verbose_says_what_was_chosen_and_why(capsys):
    X, _ = clear(0)
    KLSNMF(3, kernel="rbf", max_memory=1e-5, random_state=0, verbose=1).fit(X)
    said = capsys.readouterr().out
    assert "tiled kernel" in said
    assert "an array would take 180 kB" in said
    KLSNMF(3, random_state=0, verbose=1).fit(X)
    said = capsys.readouterr().out
    assert "sparse kernel, 25 neighbours" in said
    assert "graph of 10 neighbours" in said
    assert "searched exactly" in said
    assert "steps of diffusion" in said
    KLSNMF(3, random_state=0).fit(X)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("method", [LSNMF, KNMF, KernelKMeans])
def test_other_methods_take_what_fits(method, monkeypatch):
    X, y = clear(0, n=600)
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 2 * 10**6)
    assert accuracy(y, method(3, random_state=0, max_iter=3000).fit(X).labels_) > 0.98


@pytest.mark.parametrize(
    "params", [{"gram": "sparse"}, {"max_memory": 0}, {"neighbor_search": "fast"}]
)
def test_wrong_parameters_of_the_matrix(params):
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
        KLSNMF(3, **params).fit(clear(0)[0])


# --------------------------------------------------------------------------------------- neighbours


def search(shape, how="auto"):
    plan = make_plan(shape, 4, "self-tuning", 10, neighbor_search=how)
    return plan.approximate, plan.reasons[-1]


def test_the_search_is_chosen_by_its_work(monkeypatch):
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 24 * 10**9)
    assert not search((60_000, 50))[0]
    assert search((70_000, 50))[0]
    assert search((60_000, 1000))[0]
    said = "neighbours are searched approximately, in cells of samples that are near"
    assert search((1_000_000, 50)) == (True, said)
    assert not search((1_000_000, 3))[0]  # trees are fast there
    assert not search((1_000_000, 50), "exact")[0]
    assert search((100, 3), "approximate")[0]


def test_sparse_samples_are_compared_by_their_entries():
    """Texts have many words, and a text has few of them: no reason to search approximately."""
    shape = (10_000, 50_000)
    assert choose_search(shape, "auto")[0]
    assert not choose_search(shape, "auto", filled=1e-3)[0]
    assert filled_share(sparse.csr_array(np.eye(4))) == 0.25
    assert filled_share(np.eye(4)) == 1


# ------------------------------------------------------------------------------------------- starts


def test_starts_are_bounded_by_their_work():
    assert how_many_starts(4000, 10, flops=2 * 4000**2, features=784) == 64
    assert how_many_starts(70_000, 10, flops=70_000 * 160, features=784) < 64
    assert how_many_starts(50_000, 10, flops=2 * 50_000**2, features=50) <= 8
    assert how_many_starts(10**6, 20, flops=10**6 * 320, features=50) == 3
    assert how_many_starts(10**7, 20, flops=10**7 * 320, features=50) == 2


@pytest.mark.parametrize("full_round", [0, np.inf])
@pytest.mark.parametrize("seed", SEEDS)
def test_k_means_of_many_samples(monkeypatch, seed, full_round):
    monkeypatch.setattr(lloyd, "PART", 300)
    monkeypatch.setattr(lloyd, "_FULL_ROUND", full_round)
    X, y = clear(seed, n=2000, k=15, p=20)
    fitted = kmeans(X, 15, seed)
    assert isinstance(fitted, MiniBatchKMeans if full_round == 0 else KMeans)
    assert accuracy(y, fitted.labels_) > 0.98  # one try with all would miss clusters now and then


def test_workers_search_exactly_unless_told_otherwise():
    for search in ("auto", "exact"):
        assert choose_search((10**7, 50), search, workers=True) == (
            False,
            True,
            "neighbours are searched exactly, by the workers",
        )


def test_one_tree_is_faster_than_workers():
    approximate, by_workers, how = choose_search((10**7, 3), "auto", workers=True)
    assert not approximate
    assert not by_workers
    assert "here: with fewer than 16 features" in how


def test_the_limit_of_memory_is_for_low_rank_too():
    with pytest.raises(MemoryError, match=r"low-rank kernel of 200000 samples .* max_memory=0.001"):
        make_plan((200_000, 50), 4, "rbf", None, gram="low-rank", max_memory=0.001)


@pytest.mark.parametrize(
    "said", ["CUDA out of memory. Tried to allocate 2 GiB", "can't allocate memory"]
)
def test_memory_of_other_libraries_runs_out(said):
    lack = pytest.raises(MemoryError, match=f"The fit ran out of memory .*{said}")
    with lack, memory.explained("The fit"):
        raise RuntimeError(said)
    with pytest.raises(RuntimeError, match="something else"), memory.explained("The fit"):
        raise RuntimeError("something else")


# ---------------------------------------------------------------------- memory of others, of tiles


@pytest.mark.parametrize(
    ("names", "statistics"),
    [
        (("memory.max", "memory.current", "memory.stat"), "anon 4\ninactive_file 1000\n"),
        (
            ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
            "inactive_file 4\ntotal_inactive_file 1000\n",
        ),
    ],
    ids=["version 2", "version 1"],
)
def test_a_container_may_take_less_than_the_system_has(names, statistics, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    system = memory.available()
    (tmp_path / "memory").mkdir()
    for name, text in zip(names, ("5000000\n", "2000000\n", statistics), strict=True):
        (tmp_path / name).write_text(text)
    assert memory.available() == 3_001_000
    (tmp_path / names[0]).write_text("max\n")
    assert memory.available() == pytest.approx(system, rel=0.5)
    (tmp_path / names[0]).write_text("1000\n")
    assert memory.available() == 0


@pytest.mark.parametrize(
    ("folder", "names", "copies"),
    [
        ("", ("memory.max", "memory.current"), "inactive_file"),
        ("memory", ("memory.limit_in_bytes", "memory.usage_in_bytes"), "total_inactive_file"),
    ],
    ids=["version 2", "version 1"],
)
def test_a_batch_job_has_the_limits_of_all_groups_around_it(
    folder, names, copies, tmp_path, monkeypatch
):
    """Its group is not the outermost, whose files have no limit."""
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_MEMBERSHIP", tmp_path / "membership")
    (tmp_path / "membership").write_text(
        "12:memory:/slurm/job_7/step_0\n0::/slurm/job_7/step_0\n3:cpu:/../outside\n"
    )
    system = memory.available()

    def limit(group, most):
        place = tmp_path / folder / group
        place.mkdir(parents=True, exist_ok=True)
        for name, text in zip((*names, "memory.stat"), (most, "1000", f"{copies} 0"), strict=True):
            (place / name).write_text(f"{text}\n")

    limit("slurm/job_7/step_0", "max")
    assert memory.available() == pytest.approx(system, rel=0.5)
    limit("slurm/job_7", "5000")
    assert memory.available() == 4000
    limit("slurm/job_7/step_0", "3000")
    assert memory.available() == 2000
    limit("slurm/job_8", "1500")  # that of somebody else
    assert memory.available() == 2000


@pytest.mark.parametrize("max_memory", [1e-6, 1e-4, 1e-2, None])
def test_tiles_take_no_more_than_they_may(max_memory, monkeypatch):
    X = clear(0)[0]
    sizes = []
    tile = KernelTiles.tile

    def spy(self, rows, columns):
        found = tile(self, rows, columns)
        if isinstance(rows, slice):  # not the samples that are looked at once, for the mean
            sizes.append(found.nbytes)
        return found

    monkeypatch.setattr(KernelTiles, "tile", spy)
    model = KLSNMF(3, kernel="rbf", gram="tiled", max_memory=max_memory, random_state=0).fit(X)
    assert max(sizes) <= (16**2 * 8 if max_memory == 1e-6 else (max_memory or 1) * 1e9)
    full = KLSNMF(3, kernel="rbf", gram="dense", random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, full.labels_)


def test_a_kernel_of_both_signs_needs_room_for_its_positive_part(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 30))
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 10**4)
    monkeypatch.setattr("klsnmf.core.memory._SMALL", 0)
    assert DenseGram(np.abs(X @ X.T)).positive.nonnegative
    with pytest.raises(MemoryError, match=r"positive part of the kernel matrix.*negative entries"):
        _ = DenseGram(X @ X.T).positive


def test_samples_with_many_neighbours_stay_where_they_are(monkeypatch):
    K = sparse.csr_array(np.eye(30) + np.eye(30)[:, ::-1] / 2)
    assert isinstance(SparseGram(K).reordered()[1], np.ndarray)
    monkeypatch.setattr("klsnmf.grams.sparse._MOST_NEIGHBORS", 1)
    other, order, back = SparseGram(K).reordered()
    assert (order, back) == (slice(None), slice(None))
    assert other.K is K


@pytest.mark.parametrize("seed", SEEDS)
def test_ties_are_searched_until_none_is_left_out(seed, monkeypatch):
    """For the samples that have any."""
    searched, among = [], neighbors.search_among

    def noted(X):
        def search(rows, m):
            searched.append(len(rows))
            return among(X)(rows, m)

        return search

    monkeypatch.setattr(neighbors, "search_among", noted)
    rng = np.random.default_rng(seed)
    nearest(rng.normal(size=(500, 3)), 10)
    assert searched == [500]
    grid = rng.integers(0, 3, size=(400, 6)).astype(float)
    _, d2 = nearest(grid, 10)
    truth = np.sort(np.square(grid[:, None] - grid).sum(axis=2), axis=1)[:, 1:]
    reach = truth[:, 9]
    assert len(searched) > 2
    assert_allclose((d2 <= reach[:, None]).sum(axis=1), (truth <= reach[:, None]).sum(axis=1))
