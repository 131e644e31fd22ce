"""Two runs of the same samples: partners, moves, and their picture."""

from html.parser import HTMLParser
from itertools import pairwise, permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from klsnmf.metrics import accuracy
from klsnmf.report.flow import page, svg
from klsnmf.report.moves import moves

from ..report_runs import HOSTILE

#: An attribute of the page that begins with these letters, and calls nobody.
POLICY = "http-equiv"
SVG = "{http://www.w3.org/2000/svg}"


def run_of(labels, ids=None):
    ids = [f"s{i}" for i in range(len(labels))] if ids is None else ids
    return list(zip(ids, map(str, labels), strict=True))


def test_partners_share_the_most_samples():
    """Beside every way to pair four clusters with four."""
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 4, (2, 60))
    found = moves(run_of(one), run_of(two))
    best = max(
        sum(way[a] == b for a, b in zip(one, two, strict=True)) for way in permutations(range(4))
    )
    assert len(found.moved) == 60 - best
    assert found.share == pytest.approx(1 - accuracy(one, two))
    assert found.adjusted_rand == pytest.approx(adjusted_rand_score(one, two))
    assert found.counts.sum() == 60
    for sample in range(60):
        row, column = (found.places[side][sample] for side in (0, 1))
        assert found.clusters[0][row] == str(one[sample])
        assert found.clusters[1][column] == str(two[sample])
        assert (found.partner[row] != column) == (sample in found.moved)


def test_new_names_for_all_clusters_move_nobody():
    one = np.arange(120) % 12
    found = moves(run_of(one), run_of((one * 5 + 3) % 12))
    assert len(found.moved) == 0
    assert found.adjusted_rand == 1
    assert found.partner == list(range(12))  # side by side
    assert found.clusters[0] == [str(i) for i in range(12)]  # 2 before 10


def test_more_clusters_than_before():
    found = moves(run_of([0, 0, 0, 1, 1]), run_of(["a", "a", "new", "b", "b"]))
    assert found.clusters == (["0", "1"], ["a", "b", "new"])
    assert [found.ids[sample] for sample in found.moved] == ["s2"]
    back = moves(run_of(["a", "a", "new", "b", "b"]), run_of([0, 0, 0, 1, 1]))
    assert back.partner == [0, 1, None]


def test_samples_of_one_run_only_and_ids_that_are_repeated():
    one = run_of([0, 0, 1, 1], ["a", "b", "twin", "twin"])
    two = run_of([1, 0, 1, 0], ["twin", "b", "twin", "c"])
    found = moves(one, two)
    assert found.ids == ["b", "twin", "twin"]
    assert found.only == (["a"], ["c"])
    assert found.repeated == 1
    assert len(found.moved) == 0
    with pytest.raises(ValueError, match="no sample"):
        moves(one, run_of([0], ["z"]))


class Reader(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}


def test_names_cannot_do_harm_in_the_picture():
    rng = np.random.default_rng(1)
    n = 4 * len(HOSTILE)
    ids = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(n)]
    one, two = ([HOSTILE[i] for i in rng.integers(0, len(HOSTILE), n)] for _ in range(2))
    found = moves(run_of(one, ids), run_of(two, ids))
    names = (HOSTILE[0], HOSTILE[1])
    shown = Reader(page(found, names))
    assert not shown.tags & {"script", "img", "a", "iframe", "link", "object"}
    assert not any(name.startswith("on") or name in ("href", "src") for name in shown.attributes)
    ElementTree.fromstring(svg(found, names))
    for text in (page(found, names), svg(found, names)):
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "", 1).replace(POLICY, "")
        assert "\u202e" not in text


def test_a_picture_of_36_clusters_can_be_read():
    """Names stand apart, bands end in their bars, and all is within the picture."""
    rng = np.random.default_rng(2)
    one = np.repeat(np.arange(36), np.r_[500, np.ones(34, int), 300])
    two = np.where(rng.random(len(one)) < 0.3, rng.integers(0, 36, len(one)), one)
    tree = ElementTree.fromstring(svg(moves(run_of(one), run_of(two)), ("A", "B")))
    height = float(tree.get("viewBox").split()[-1])
    for anchor in ("end", "start"):
        words = [each for each in tree.iter(f"{SVG}text") if each.get("text-anchor") == anchor]
        places = [float(each.get("y")) for each in words]
        assert len(places) == 37
        assert all(two - one >= 14 for one, two in pairwise(places))
        assert max(places) < height
    bars = [
        (float(each.get("y")), float(each.get("y")) + float(each.get("height")))
        for each in tree.iter(f"{SVG}rect")
    ]
    assert len(bars) == 72
    for band in tree.iter(f"{SVG}path"):
        top = float(band.get("d").split("C")[0].split()[1])
        assert any(low - 0.1 <= top <= high + 0.1 for low, high in bars[:36])
        assert "sample" in band.find(f"{SVG}title").text
