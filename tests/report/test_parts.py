"""The parts of the report one by one."""

import base64
import io
import unicodedata

import numpy as np
import pytest
from PIL import Image
from scipy import sparse
from sklearn.cluster import KMeans

from klsnmf import GNMF, KLSNMF
from klsnmf.metrics import accuracy
from klsnmf.report import charts, marks, page, text
from klsnmf.report.agreement import agreement
from klsnmf.report.clusters import clusters
from klsnmf.report.features import features
from klsnmf.report.pictures import as_uris, encode, sheet, shrink
from klsnmf.report.scatter import plane, sample, scatter
from klsnmf.report.similarity import similarity

from ..helpers import blobs
from ..report_runs import HOSTILE, by_hand, run_of


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (28, 28), (3, 4, 3), (1, 9, 3)])
def test_pictures_are_sound_png_files(shape):
    pixels = np.random.default_rng(0).integers(0, 256, size=shape, dtype=np.uint8)
    with Image.open(io.BytesIO(encode(pixels))) as image:
        np.testing.assert_array_equal(np.asarray(image), pixels)


def test_smooth_pictures_are_packed_well():
    ramp = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    assert len(encode(ramp)) < ramp.size / 8


def test_shrinking_averages():
    images = np.random.default_rng(0).integers(0, 256, size=(3, 12, 8), dtype=np.uint8)
    small = shrink(images, 6)
    assert small.shape == (3, 6, 4)
    blocks = images.reshape(3, 6, 2, 4, 2).mean(axis=(2, 4))
    assert np.abs(small - blocks).max() <= 0.5
    assert shrink(images, 12) is images
    assert shrink(images, 5).shape == (3, 5, 3)


def test_pictures_keep_to_their_budget():
    noise = np.random.default_rng(0).integers(0, 256, size=(50, 64, 64), dtype=np.uint8)
    assert sum(map(len, as_uris(noise, 40_000))) <= 40_000
    found = sheet(noise, 20_000)
    assert len(found.uri) <= 20_000
    assert found.columns**2 >= 50


def test_handwriting_is_ink_on_paper_and_photographs_are_not():
    rng = np.random.default_rng(0)
    estimator = KMeans(1, n_init=1)
    strokes = np.where(rng.uniform(size=(30, 64)) < 0.2, 255.0, 0.0)
    photographs = rng.uniform(size=(30, 64))
    for X, ink in ((strokes, True), (photographs, False)):
        room = run_of(estimator.fit(X), X, image_shape=(8, 8)).darkroom
        assert room.ink is ink
        brightest = np.unravel_index(X.argmax(), X.shape)
        developed = room.develop(X).reshape(30, 64)
        assert developed[brightest] == (0 if ink else 255)


@pytest.mark.parametrize("name", [*HOSTILE, "", "a\tb\nc", "\ud800", "名前", "e\u0301"])
def test_names_become_short_and_visible(name):
    shown = text.plain(name, 20)
    assert len(shown) <= 20
    shown.encode("utf-8")
    assert not {"Cc", "Cf", "Cs", "Zl"} & {unicodedata.category(c) for c in shown}
    if len(name) <= 20 and name.isprintable():
        assert shown == name


def test_joiners_of_letters_and_emoji_stay_and_what_turns_text_around_does_not():
    persian, family = "می\u200cخواهم", "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert text.plain(persian) == persian
    assert text.plain(family) == family
    turning = "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
    assert text.plain(turning) == "\ufffd" * len(turning)


def test_both_ends_of_a_long_name_are_kept():
    shown = text.plain("a" * 50 + "b" * 50, 11)
    assert shown == "aaaaa…bbbbb"


def _channels(value):
    return np.array([int(value[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def _linear(value):
    s = _channels(value)
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def _luminance(value):
    return float(_linear(value) @ [0.2126, 0.7152, 0.0722])


def _lab(linear):
    to_xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    xyz = np.clip(linear, 0, 1) @ np.array(to_xyz).T / [0.9505, 1, 1.0888]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


#: How people without one of the three kinds of cones see (Machado, Oliveira, Fernandes 2009).
_SEEN = {
    "all": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("eyes", _SEEN)
@pytest.mark.parametrize(("colours", "paper"), [(marks.LIGHT, "#ffffff"), (marks.DARK, "#1c1f23")])
def test_colours_are_told_apart_by_everyone(colours, paper, eyes):
    for value in colours:
        low, high = sorted([_luminance(value), _luminance(paper)])
        assert (high + 0.05) / (low + 0.05) >= 3
    seen = np.array([_lab(np.array(_SEEN[eyes]) @ _linear(value)) for value in colours])
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)
    assert apart[np.triu_indices(len(seen), 1)].min() > 15


def test_clusters_have_marks_of_their_own():
    found = {(marks.colour(c), marks.shape(c)) for c in range(48)}
    assert len(found) == 48


def test_galleries_show_the_surest_and_the_least_sure():
    X, _ = blobs(90, 3, 6, seed=0)
    estimator = KMeans(3, n_init=1, random_state=0).fit(X)
    strength = np.random.default_rng(0).permutation(90) / 90
    run = run_of(estimator, X, strength=strength)
    for cluster in clusters(run, 4, 0):
        own = np.sort(strength[estimator.labels_ == cluster.number])
        assert [one.strength for one in cluster.typical] == own[::-1][:4].tolist()
        assert [one.strength for one in cluster.doubtful] == own[:4].tolist()


def test_no_member_of_a_small_cluster_is_shown_twice():
    X = np.arange(4.0)[:, None]
    one, three = clusters(run_of(by_hand(np.array([0, 1, 1, 1])), X), 8, 0)
    assert (len(one.typical), len(one.doubtful)) == (1, 0)
    assert (len(three.typical), len(three.doubtful)) == (2, 1)
    assert len({member.id for member in three.typical + three.doubtful}) == 3


def test_members_without_doubt_are_not_called_doubtful():
    X = np.arange(30.0)[:, None]
    labels = np.repeat([0, 1, 2], 10)
    strength = np.ones(30)
    strength[[11, 15]] = 0.2, 0.9
    strength[20:] = 0.951
    run = run_of(by_hand(labels), X, strength=strength)
    first, second, third = clusters(run, 4, 0)
    assert (first.doubtful, first.sure) == ([], True)
    assert [one.strength for one in second.doubtful] == [0.2, 0.9]
    assert not second.sure
    assert (third.doubtful, third.sure) == ([], True)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([-0.0071423, 1.4291234, 0.5], ["−0.007", "1.429", "0.500"]),
        ([5.1, 4.0, 0.2], ["5.1", "4.0", "0.2"]),
        ([1680, 0, -3], ["1\u202f680", "0", "−3"]),
        ([123456.789, -0.4, 3], ["123\u202f457", "0", "3"]),
        ([0, 0.0, -0.0], ["0", "0", "0"]),
        ([1e-9, 2.5e-9, 0], ["1e−09", "2.5e−09", "0"]),
        ([np.nan, 0.25, 1], ["not a number", "0.25", "1.00"]),
        ([1e300, 2, 3], ["1e+300", "2", "3"]),
    ],
)
def test_numbers_of_a_column_have_the_same_decimals(values, shown):
    digits = text.decimals(np.array(values, dtype=float))
    assert [text.number(value, digits) for value in values] == shown


@pytest.mark.parametrize("prototypes", [True, False])
def test_the_features_that_set_a_cluster_apart_lead(prototypes):
    X, y = blobs(60, 3, 6, seed=0)  # cluster c is large in features c and c + 3
    estimator = GNMF(3, random_state=0).fit(X) if prototypes else by_hand(y)
    if not prototypes:
        X = X * [1, 1, 1, 1, 1, 1000]  # a unit of its own does not make a feature important
    for cluster in clusters(run_of(estimator, X), 4, 0):
        (c,) = np.unique(y[estimator.labels_ == cluster.number])
        first, second = cluster.bars[:2]
        assert {first.feature, second.feature} == {f"feature {c}", f"feature {c + 3}"}
        assert min(first.deviation, second.deviation) > 1


def test_features_near_the_mean_set_nothing_apart():
    labels = np.repeat([0, 1], 50)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(50, 1))
    alike = np.vstack([noise, noise])  # the same mean in both clusters
    slight = alike + 0.02 * labels[:, None]
    X = np.hstack([slight, alike, labels[:, None] + 0.1 * alike])
    for cluster in clusters(run_of(by_hand(labels), X), 4, 0):
        assert [bar.feature for bar in cluster.bars] == ["feature 2"]
        assert "feature 2" in cluster.columns  # values are shown all the same


def test_features_stand_in_the_same_order_in_all_clusters():
    X, _ = blobs(60, 3, 9, seed=0)
    run = run_of(KMeans(3, n_init=1, random_state=0).fit(X), X)
    shown = [cluster.columns for cluster in clusters(run, 4, 0)]
    assert len({tuple(columns) for columns in shown}) > 1
    for cluster, columns in zip(clusters(run, 4, 0), shown, strict=True):
        assert columns == sorted(columns)
        for member in cluster.typical:
            row = X[int(member.id.split()[1])]
            for column, value in zip(columns, member.values, strict=True):
                assert float(value) == pytest.approx(row[int(column.split()[1])], abs=0.01)


def test_the_map_keeps_every_cluster_and_its_share():
    estimator = by_hand(np.repeat([0, 1, 2], [9000, 990, 10]))
    run = run_of(estimator, np.zeros((10_000, 2)))
    which = sample(run, 1000)
    counts = np.bincount(estimator.labels_[which])
    np.testing.assert_allclose(counts, [900, 99, 2], atol=1)
    assert len(set(which.tolist())) == len(which)


def test_near_samples_are_near_on_the_map():
    X, y = blobs(90, 3, 30, seed=0)
    run = run_of(KMeans(3, n_init=1).fit(X), X)
    Z = plane(run, np.arange(90)).positions
    d = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    assert np.mean(y[d.argmin(axis=1)] == y) > 0.9


def _nearest(run):
    """The sample that is nearest to each on the map."""
    n = len(run.labels)
    Z = plane(run, np.arange(n)).positions
    d = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    return d.argmin(axis=1)


def _two_views():
    """Samples with two classes by direction, and two by length; neither knows of the other."""
    rng = np.random.default_rng(0)
    direction, length = np.arange(80) % 2, np.arange(80) // 40
    X = np.where(direction[:, None] == np.arange(24) % 2, 2.0, 1.0)
    X += rng.uniform(0, 0.05, size=X.shape)
    return X * np.array([1, 30])[length][:, None], direction, length


def test_the_map_is_drawn_from_what_the_method_saw():
    X, direction, length = _two_views()
    unit = run_of(KLSNMF(2, row_norm="l2", random_state=0).fit(X), X)
    given = run_of(KLSNMF(2, row_norm=None, random_state=0).fit(X), X)
    near = _nearest(unit)
    assert np.mean(direction[near] == direction) > 0.9
    assert 0.2 < np.mean(length[near] == length) < 0.8
    assert np.mean(length[_nearest(given)] == length) == 1
    kernel = (direction[:, None] == direction[None]) + np.eye(80)
    estimator = KLSNMF(2, kernel="precomputed", random_state=0).fit(kernel)
    assert np.mean(direction[_nearest(run_of(estimator, kernel))] == direction) > 0.9


@pytest.mark.parametrize("size", [1e-200, 1, 1e200])
def test_a_column_of_large_numbers_rules_the_map_and_is_named(size):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 5))
    order = np.arange(60) // 20
    X[:, 2] = 1000 * order + rng.uniform(size=60)
    features = ["a", "b", "mass", "d", "e"]
    run = run_of(by_hand(order), X * size, features=features)
    assert np.mean(order[_nearest(run)] == order) == 1
    assert "mass, with 100 % of the variance" in plane(run, np.arange(60)).source
    even = run_of(by_hand(order), rng.uniform(size=(60, 5)), features=features)
    assert plane(even, np.arange(60)).source == "the samples as the method saw them"


def test_numbers_stand_among_the_points_of_a_cluster_in_two_pieces():
    rng = np.random.default_rng(0)
    piece = np.repeat([0, 1, 2], [30, 30, 3])  # the median is in the last
    X = np.array([[0, 0], [100, 0], [50, 0]])[piece] + rng.normal(size=(63, 2))
    labels = np.append(np.zeros(63, int), 1)
    (first, _) = scatter(run_of(by_hand(labels), np.vstack([X, [[50, 90]]])), 100, 0).groups
    apart = sorted(abs(first.x - point.x) + abs(first.y - point.y) for point in first.points)
    assert apart[0] == 0
    assert apart[20] < 40  # of 640, the side of the map


@pytest.mark.parametrize(("k", "numbered"), [(40, True), (41, False)])
def test_very_many_numbers_do_not_hide_the_map(k, numbered):
    X = np.random.default_rng(0).uniform(size=(82, 2))
    run = run_of(by_hand(np.arange(82) % k), X)
    assert scatter(run, 100, 0).numbered is numbered
    assert ('<g class="numbers' in page.render(run).decode("utf-8")) is numbered


@pytest.mark.parametrize("name", ["", "  ", "\u200d"])
def test_a_sample_without_a_name_is_shown_as_its_row(name):
    run = run_of(by_hand(np.array([0, 0, 1])), np.eye(3), ids=["a", name, "c"])
    assert [run.id_of(i) for i in scatter(run, 10, 0).which] == ["a", "row 2", "c"]
    shown = [one.id for cluster in clusters(run, 4, 0) for one in cluster.typical]
    assert "row 2" in shown + [one.id for c in clusters(run, 4, 0) for one in c.doubtful]


def test_points_of_the_map_are_the_samples_they_say():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(70, 12)).astype(float)
    X[0, 0], X[1, 1] = 0, 255
    estimator = by_hand(rng.permutation(np.arange(70) % 5))
    run = run_of(estimator, X, image_shape=(3, 4))
    found = scatter(run, 40, 100_000)
    content = base64.b64decode(found.sheet.uri.partition(",")[2])
    with Image.open(io.BytesIO(content)) as image:
        tiles = np.asarray(image).reshape(-1, 3, found.sheet.columns, 4).swapaxes(1, 2)
    tiles = tiles.reshape(-1, 12)
    points = [(group.number, point) for group in found.groups for point in group.points]
    assert len(points) == len(found.which) <= 45
    for tile, (number, point), i in zip(tiles, points, found.which, strict=False):
        assert number == estimator.labels_[i]
        np.testing.assert_array_equal(tile, X[i])
        assert 0 < point.x < found.width
        assert 0 < point.y < found.height


def test_the_share_of_similarity_within_clusters():
    X, _ = blobs(40, 3, 8, seed=0)
    estimator = KLSNMF(3, random_state=0).fit(X)
    S = estimator.W_ @ estimator.G_.T
    same = estimator.labels_[:, None] == estimator.labels_[None]
    found = similarity(run_of(estimator, X))
    np.testing.assert_allclose(found.within, S[same].sum() / S.sum())
    assert found.bounds[0][1] == 0
    assert found.bounds[-1][2] == 1


def test_clusters_stand_next_to_the_classes_they_match():
    y = np.repeat(["b", "a", "10", "9"], [5, 6, 7, 8])
    estimator = KMeans(5)
    estimator.labels_ = np.repeat([4, 0, 1, 2], [5, 6, 7, 8])
    estimator.labels_[-1] = 3
    run = run_of(estimator, np.zeros((26, 2)), target=y)
    found = agreement(run)
    assert found.classes == ["9", "10", "a", "b"]
    assert found.clusters == [2, 3, 1, 0, 4]
    assert found.counts.sum() == 26
    assert [score.name for score in found.scores] == ["accuracy", "NMI", "purity"]
    assert found.scores[0].value == accuracy(y, estimator.labels_)
    assert "one cluster is left over" in found.scores[0].meaning


@pytest.mark.parametrize(
    "values",
    [[1.0], [3.0, 3.0], [1e-30, 1e30], [5.0, np.inf, 4.0], [0.0, 0.0, 0.0], list(range(5000))],
)
@pytest.mark.parametrize("log", [False, True])
def test_charts_draw_any_numbers(values, log):
    svg = charts.lines([np.array(values, float)], alt="test", log=log)
    assert svg.startswith("<svg")
    assert "nan" not in svg
    assert "inf" not in svg
    assert len(svg) < 20_000


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_features_are_measured_as_they_are_written(size):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], [30, 20, 10]))
    X = rng.poisson(1.0, size=(60, 5)) * 1.0
    X[:, 3] = 7  # constant: it sets nothing apart
    X[:, 4] += 5 * labels
    found = features(run_of(by_hand(labels), X * size), 100)
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    centers = (means - X.mean(axis=0)) / spread
    np.testing.assert_allclose(found.centers, centers, atol=1e-9)
    np.testing.assert_allclose(found.means, X.mean(axis=0) * size)
    assert found.telling[3] == 0
    if size == 1:
        packed = features(run_of(by_hand(labels), sparse.csr_array(X)), 100)
        np.testing.assert_allclose(packed.centers, centers, atol=1e-9)
        np.testing.assert_allclose(packed.spreads, found.spreads)
    few = features(run_of(by_hand(labels), X), 6)
    assert len(few.places) == 2
    assert 4 in few.places


def test_pixels_and_kernels_have_no_features():
    X, y = blobs(20, 2, 4, seed=0)
    assert features(run_of(by_hand(y), X, image_shape=(2, 2)), 100) is None
