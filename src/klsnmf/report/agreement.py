"""How clusters and known classes agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from .. import metrics
from ..core.types import Array, Labels
from .pictures import shaded
from .run import Run
from .text import plain

#: A table with more rows or columns than the first number is drawn as a picture, and with more than
#: the second it is left out.
_WIDEST = 26
_LARGEST = 500

#: So many of the largest mix-ups are listed below such a picture.
_MIXUPS = 12

#: What the scores are, by their names in :func:`klsnmf.metrics.scores`.
_MEANINGS = {
    "accuracy": "The share of samples whose cluster and label match. Each cluster is matched to "
    "one label and each label to one cluster, in the best way.",
    "nmi": "Normalised mutual information: how much the clusters tell about the labels, and the "
    "labels about the clusters. 1 means everything, and 0 means nothing.",
    "purity": "The share of samples that have the most common label of their cluster. It grows "
    "with the number of clusters, so compare it only for the same number.",
}


class Score(NamedTuple):
    name: str
    value: float
    meaning: str


class Agreement(NamedTuple):
    scores: list[Score]
    known: int  # samples with a label
    classes: list[str]
    clusters: list[int]  # in the order of the columns: next to the class they match best
    counts: Array  # (classes, clusters)
    table: bool  # whether counts are few enough to be read
    picture: str | None  # of the counts, where they are not
    mixups: list[tuple[str, int, int]]  # class, cluster, how many; where there is a picture

    def tone(self, row: int, column: int) -> int:
        """0 to 9: how much of the class is in the cluster."""
        total = self.counts[row].sum()
        return int(np.ceil(9 * self.counts[row, column] / total)) if total else 0


def agreement(run: Run) -> Agreement | None:
    """How clusters and labels agree; None without labels."""
    if run.classes is None:
        return None
    names, which = run.classes
    known = which >= 0
    y, labels = which[known], run.labels[known]
    counts = np.zeros((len(names), run.n_clusters), dtype=int)
    np.add.at(counts, (y, labels), 1)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    place = dict(zip(columns.tolist(), rows.tolist(), strict=True))
    # Further clusters stand beside the class that most of their samples have.
    order = sorted(
        range(run.n_clusters),
        key=lambda c: (place.get(c, int(counts[:, c].argmax())), c not in place),
    )
    ordered = counts[:, order]
    shares = ordered / np.maximum(ordered.sum(axis=1, keepdims=True), 1)
    side = max(ordered.shape)
    large = side > _WIDEST
    return Agreement(
        _scores(y, labels),
        int(known.sum()),
        [plain(name) for name in names],
        order,
        ordered,
        not large,
        shaded(shares) if large and side <= _LARGEST else None,
        _mixups(ordered, names, order, place) if large else [],
    )


def _scores(y: Labels, labels: Labels) -> list[Score]:
    meanings = dict(_MEANINGS)
    extra = len(np.unique(labels)) - len(np.unique(y))
    if extra > 0:
        left, it = ("one cluster is", "it") if extra == 1 else (f"{extra} clusters are", "them")
        meanings["accuracy"] += (
            f" There are more clusters than labels, so {left} left over and all samples in {it} "
            "count as errors."
        )
    found = metrics.scores(y, labels)
    return [Score({"nmi": "NMI"}.get(name, name), found[name], meanings[name]) for name in found]


def _mixups(
    counts: Labels, names: list[str], order: list[int], place: dict[int, int]
) -> list[tuple[str, int, int]]:
    wrong = counts.copy()
    for column, cluster in enumerate(order):
        if cluster in place:
            wrong[place[cluster], column] = 0
    most = np.argsort(wrong, axis=None)[::-1][:_MIXUPS]
    cells = zip(*np.unravel_index(most, wrong.shape), strict=True)
    found = [(plain(names[row]), order[column], int(wrong[row, column])) for row, column in cells]
    return [mixup for mixup in found if mixup[2] > 0]
