"""Scores of a clustering, each against its definition written out."""

from itertools import permutations
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klsnmf.metrics import accuracy, nmi, purity, scores

MEASURES = [accuracy, nmi, lambda y, labels: nmi(y, labels, "max"), purity]
measures = pytest.mark.parametrize("measure", MEASURES, ids=["accuracy", "sqrt", "max", "purity"])


def labelings(most=5):
    """Classes and clusters of some samples; as many of either as it comes, some perhaps empty."""

    def of_seed(seed):  # lists are slow to draw number by number
        rng = np.random.default_rng(seed)
        n, classes, clusters = rng.integers(1, [26, most + 1, most + 1])
        return rng.integers(classes, size=n).tolist(), rng.integers(clusters, size=n).tolist()

    return st.integers(0, 2**32 - 1).map(of_seed)


def count(y, labels):
    """How many samples have both values, for every pair of values."""
    return {
        (a, b): sum(1 for pair in zip(y, labels, strict=True) if pair == (a, b))
        for a in set(y)
        for b in set(labels)
    }


def accuracy_of_all_maps(y, labels):
    """The best over all one-to-one maps; what is left over on either side has no partner."""
    classes, clusters = sorted(set(y)), sorted(set(labels))
    longest = max(len(classes), len(clusters))
    partners = classes + [None] * (longest - len(classes))
    best = 0
    for chosen in permutations(partners, len(clusters)):
        name = dict(zip(clusters, chosen, strict=True))
        best = max(best, sum(name[b] == a for a, b in zip(y, labels, strict=True)))
    return best / len(y)


def nmi_of_counts(y, labels, average):
    """I(y; labels) over the mean of the entropies, from the counts; 0/0 is 1 if both are one."""
    n = len(y)

    def entropy(values):
        shares = [list(values).count(v) / n for v in set(values)]
        return -sum(share * log(share) for share in shares)

    shared = 0.0
    for (a, b), both in count(y, labels).items():
        if both:
            expected = list(y).count(a) * list(labels).count(b) / n
            shared += both / n * log(both / expected)
    H, H_labels = entropy(y), entropy(labels)
    if len(set(y)) == len(set(labels)) == 1:
        return 1.0
    mean = sqrt(H * H_labels) if average == "sqrt" else max(H, H_labels)
    return shared / mean if mean > 0 else 0.0


# ---------------------------------------------------------------------- definitions


@given(labelings())
@settings(max_examples=200, deadline=None)
def test_accuracy_is_the_best_of_all_maps(pair):
    assert accuracy(*pair) == pytest.approx(accuracy_of_all_maps(*pair), abs=1e-12)


def test_accuracy_with_more_and_with_fewer_clusters():
    y = [0, 0, 0, 0, 1, 1]
    assert accuracy(y, [0, 0, 1, 1, 2, 2]) == pytest.approx(4 / 6)
    assert accuracy(y, [5, 5, 5, 5, 5, 5]) == pytest.approx(4 / 6)
    assert accuracy(y, [0, 1, 2, 3, 4, 5]) == pytest.approx(2 / 6)
    # The best map is not the greedy one: giving cluster 0 its commonest class costs more.
    assert accuracy([0] * 5 + [1] * 4 + [0] * 4, [0] * 9 + [1] * 4) == pytest.approx(8 / 13)


@given(labelings())
@settings(max_examples=100, deadline=None)
def test_purity_is_the_share_of_the_commonest_class(pair):
    y, labels = pair
    right = sum(
        max(both for (_, b), both in count(y, labels).items() if b == c) for c in set(labels)
    )
    assert purity(y, labels) == pytest.approx(right / len(y), abs=1e-12)


@pytest.mark.parametrize("average", ["sqrt", "max"])
@given(pair=labelings())
@settings(max_examples=100, deadline=None)
def test_nmi_is_the_formula(average, pair):
    assert nmi(*pair, average) == pytest.approx(nmi_of_counts(*pair, average), abs=1e-9)


def test_nmi_of_a_known_table():
    """Two classes of 4 in clusters of 5 and 3: I = 0.3804 nat, H = ln 2, H' = 0.6616."""
    y, labels = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1]
    assert nmi(y, labels) == pytest.approx(0.3804 / sqrt(0.69315 * 0.66156), abs=1e-3)
    assert nmi(y, labels, average="max") == pytest.approx(0.3804 / 0.69315, abs=1e-3)


# ---------------------------------------------------------------------- properties


@measures
@given(pair=labelings(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_names_do_not_matter(measure, pair, data):
    y, labels = pair
    other = data.draw(st.permutations(range(5)))
    words = [f"cluster {c}" for c in data.draw(st.permutations(range(5)))]
    expected = measure(y, labels)
    assert measure(y, [other[c] for c in labels]) == pytest.approx(expected, abs=1e-12)
    assert measure([other[c] for c in y], labels) == pytest.approx(expected, abs=1e-12)
    assert measure(y, [words[c] for c in labels]) == pytest.approx(expected, abs=1e-12)


@measures
@given(pair=labelings(), data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_order_of_the_samples_does_not_matter(measure, pair, data):
    y, labels = (np.array(values) for values in pair)
    order = data.draw(st.permutations(range(len(y))))
    assert measure(y[order], labels[order]) == pytest.approx(measure(y, labels), abs=1e-12)


@given(labelings())
@settings(max_examples=200, deadline=None)
def test_purity_is_never_below_accuracy(pair):
    assert purity(*pair) >= accuracy(*pair) - 1e-12


@given(labelings())
@settings(max_examples=200, deadline=None)
def test_nmi_max_is_never_above_nmi_sqrt(pair):
    assert nmi(*pair, "max") <= nmi(*pair, "sqrt") + 1e-12


@measures
@given(pair=labelings())
@settings(max_examples=60, deadline=None)
def test_scores_are_shares(measure, pair):
    value = measure(*pair)
    assert type(value) is float
    assert -1e-12 <= value <= 1 + 1e-12


@given(pair=labelings())
@settings(max_examples=60, deadline=None)
def test_accuracy_and_nmi_are_symmetric(pair):
    y, labels = pair
    assert accuracy(labels, y) == pytest.approx(accuracy(y, labels), abs=1e-12)
    for average in ("sqrt", "max"):
        expected = nmi(y, labels, average)
        assert nmi(labels, y, average) == pytest.approx(expected, abs=1e-9)


# ---------------------------------------------------------------------- special labelings


@measures
@given(pair=labelings())
@settings(max_examples=30, deadline=None)
def test_perfect_is_one(measure, pair):
    y, _ = pair
    assert measure(y, [10 - c for c in y]) == pytest.approx(1)


@given(pair=labelings())
@settings(max_examples=60, deadline=None)
def test_one_cluster_for_all(pair):
    y, _ = pair
    constant = np.zeros(len(y), dtype=int)
    largest = max(y.count(c) for c in y) / len(y)
    assert accuracy(y, constant) == pytest.approx(largest)
    assert purity(y, constant) == pytest.approx(largest)
    for average in ("sqrt", "max"):
        assert nmi(y, constant, average) == pytest.approx(float(len(set(y)) == 1))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_cluster_for_each_sample(n):
    y = [0] * n
    assert purity(y, range(n)) == 1
    assert accuracy(y, range(n)) == pytest.approx(1 / n)


@measures
def test_labels_of_any_kind(measure):
    y, labels = [0, 0, 1, 1, 2, 2, 2], [1, 1, 1, 0, 2, 2, 0]
    expected = measure(y, labels)
    words = ["zebra", "ant", "bee"]
    for a, b in [
        ([words[c] for c in y], [words[c] for c in labels]),
        (np.array(words)[y], np.array(labels, dtype=np.int8)),
        (np.array([words[c] for c in y], dtype=object), labels),
        (tuple(y), np.array(labels, dtype=float)),
        ([-5 * c for c in y], [10**12 * c for c in labels]),
    ]:
        assert measure(a, b) == pytest.approx(expected, abs=1e-12)


@given(pair=labelings())
@settings(max_examples=20, deadline=None)
def test_scores_has_all_three(pair):
    assert scores(*pair) == {
        "accuracy": accuracy(*pair),
        "nmi": nmi(*pair),
        "purity": purity(*pair),
    }


# ---------------------------------------------------------------------- errors


ALL = [*MEASURES, scores]
every = pytest.mark.parametrize("measure", ALL, ids=["accuracy", "sqrt", "max", "purity", "scores"])


@every
@pytest.mark.parametrize(("m", "n"), [(3, 4), (4, 3), (0, 1), (1, 0)])
def test_different_lengths(measure, m, n):
    with pytest.raises(
        ValueError, match=rf"y has shape \({m},\) and labels \({n},\).*equally long"
    ):
        measure([0] * m, [0] * n)


@every
def test_nothing_to_compare(measure):
    with pytest.raises(ValueError, match="y and labels are empty"):
        measure([], [])


@every
def test_labels_in_a_table(measure):
    with pytest.raises(ValueError, match=r"shape \(2, 2\).*one-dimensional"):
        measure([[0, 1], [1, 0]], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"labels \(3, 1\).*one-dimensional"):
        measure([0, 1, 1], [[0], [1], [1]])


def test_unknown_average():
    with pytest.raises(ValueError, match="average must be 'sqrt' or 'max', not 'mean'"):
        nmi([0, 1], [0, 1], average="mean")


@every
def test_labels_are_not_modified(measure):
    y, labels = np.array([2, 2, 7, 7]), np.array([3, 1, 1, 1])
    y.flags.writeable = labels.flags.writeable = False
    measure(y, labels)
    assert y.tolist() == [2, 2, 7, 7]
    assert labels.tolist() == [3, 1, 1, 1]
