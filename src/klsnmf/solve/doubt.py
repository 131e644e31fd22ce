"""Which clusters are doubtful: borders that walks cross, and borders that were not drawn.

One number for every border: the share of walks that change sides before details are forgotten. Only
two sets of samples are looked at, and half of the walks begin in each of them:

    border(a, b) = ½ p_ab / (p_aa + p_ab) + ½ p_ab / (p_bb + p_ab).

Here p_ab is the chance that a walk is in a now and in b after T steps (:mod:`klsnmf.grams.walk`).
The share is 0 for separate pieces, and 1/2 if there is nothing between the two sets.

* Two clusters may be one if the border between them is weak.
* A cluster may be two if it has a border inside that is neither weak nor much weaker than the
  borders between clusters.
* A cluster is loose if many walks leave it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from ..core.types import Array, Labels
from ..grams.walk import Walk
from .choose import Answer
from .perron import halves, members_of
from .solution import Doubts, RunnerUp

#: A border that is crossed by a larger share is weak. docs/results/doubts.md tells how many of the
#: clusters that are then doubted are wrong, and how many of the others; 0.1 to 0.15 differ little.
WEAK = 0.125

#: A cluster is loose if a larger share of walks leaves it.
_LOOSE = 0.25

#: How much weaker a border inside may be than the weakest border between clusters.
_SLACK = 0.025

#: A part with at most so many samples is too small for a cluster.
_FEWEST = 10


def doubts_of(walk: Walk, labels: Labels) -> Doubts:
    """Which of these clusters are doubtful."""
    borders, (inside, parts) = borders_between(walk, labels), borders_inside(walk, labels)
    stays, sizes = walk.stays(labels), np.bincount(labels, minlength=walk.k)
    pairs = np.argwhere(np.triu(borders, 1) > WEAK)
    pairs = pairs[np.argsort(-borders[tuple(pairs.T)], kind="stable")]
    drawn = float(borders.max(initial=0.0)) + _SLACK
    hidden = [c for c in np.argsort(inside, kind="stable") if inside[c] < min(WEAK, drawn)]
    weak = {int(c) for c in pairs.ravel()}
    loose = np.flatnonzero((stays < 1 - _LOOSE) & (sizes > 0))
    return Doubts(
        one=tuple((int(a), int(b), float(borders[a, b])) for a, b in pairs),
        two=tuple((int(c), float(inside[c]), (int(parts[c, 0]), int(parts[c, 1]))) for c in hidden),
        loose=tuple((int(c), float(stays[c])) for c in loose if int(c) not in weak),
    )


def runner_up(others: Sequence[Answer], labels: Labels) -> RunnerUp | None:
    """Of the other answers that which loses least, if it puts samples into other clusters."""
    for answer in sorted(others, key=lambda one: one.lost):
        shared = contingency_matrix(labels, answer.labels)
        moved = len(labels) - int(shared[linear_sum_assignment(-shared)].sum())
        if moved:
            return RunnerUp("even" if answer.even else "free", answer.q, moved)
    return None


def borders_between(walk: Walk, labels: Labels) -> Array:  # (n,) -> (k, k)
    """The border between any two clusters; 0 on the diagonal."""
    return border(walk.crossings(labels))


def borders_inside(walk: Walk, labels: Labels) -> tuple[Array, Labels]:  # (n,) -> (k,), (k, 2)
    """The clearest border that was found inside each cluster, and the sizes of the two parts.

    The border is 1/2 if there is none, and the second part is empty then. Clusters are cut along
    the direction in which they are widest, once with equal weights of samples and once with equal
    weights of clusters.
    """
    k, members = walk.k, members_of(labels, walk.k)
    found, parts = np.full(k, 0.5), np.array([(len(each), 0) for each in members])
    for even in (True, False):
        sides = np.zeros(len(labels), np.intp)
        for each, cut in zip(members, halves(walk.features(even=even), members), strict=True):
            sides[each] = cut.side
        two = 2 * labels + sides
        sizes = np.sort(np.bincount(two, minlength=2 * k).reshape(-1, 2))[:, ::-1]
        A = walk.sums(two, 2 * k)
        for c in np.flatnonzero(sizes[:, 1] > _FEWEST):
            own = A[2 * c : 2 * c + 2]
            p = np.maximum((own * walk.spectrum.values**walk.time) @ own.T, 0)
            if (crossed := border(p)[0, 1]) < found[c]:
                found[c], parts[c] = crossed, sizes[c]
    return found, parts


def border(p: Array) -> Array:  # (k, k) -> (k, k)
    """The borders, from the chances that a walk is in one set now and in another later."""
    own = np.maximum(p.diagonal(), np.finfo(float).tiny)
    crossed = p / (own[:, None] + p)
    found = (crossed + p / (own + p)) / 2
    np.fill_diagonal(found, 0)
    return np.asarray(found)
