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

In many noisy dimensions a neighbour is often of another cluster, whichever. Walks then cross every
border, and yet each sample may be seen to belong to its cluster, because its walks end there more
often than in any other. So two questions come first:

* Are walks drawn to this one cluster, or do they go anywhere? A background is what crosses between
  any two clusters, in proportion to the time that walks spend there. A border is a local one if it
  stays nearly as weak without the background.
* Is the cluster firm? It is if few of its samples lie between it and another cluster, and if the
  runner-up answer has it too.

A border that is weak is doubted if it is a local one, or if neither cluster is firm; a cluster that
walks leave if it is not firm.

The place of sample i between clusters a and b is p_i(a) / (p_i(a) + p_i(b)), with p_i(a) the chance
that a walk from i is in a after T steps. If the median of the samples of a is at 0 and that of b at
1, samples of a from 1/3 on lie between them.
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

#: The background is what the pairs of clusters at this quantile exchange. A border is local if it
#: keeps at least this share of its weakness without it.
_QUIET = 0.25
_LOCAL = 0.9

#: A cluster is firm if a smaller share of its samples lies between it and another cluster, and the
#: cluster of the runner-up that is most like it has at least this Jaccard index with it.
_BETWEEN = 0.1
_FROM = 1 / 3
_FOUND_AGAIN = 0.7

#: How much weaker a border inside may be than the weakest border between clusters.
_SLACK = 0.025

#: A part with at most so many samples is too small for a cluster.
_FEWEST = 10


def doubts_of(walk: Walk, labels: Labels, others: Sequence[Answer] = ()) -> Doubts:
    """Which of these clusters are doubtful, with the other answers that were considered."""
    borders, (inside, parts) = borders_between(walk, labels), borders_inside(walk, labels)
    stays, sizes = walk.stays(labels), np.bincount(labels, minlength=walk.k)
    leaves = (stays < 1 - _LOOSE) & (sizes > 0)
    weak = borders > WEAK
    local = border(beyond_background(walk.crossings(labels))) > _LOCAL * borders
    infirm = np.zeros(walk.k, bool)
    asked = np.flatnonzero(leaves | (weak & ~local).any(axis=1))
    if asked.size:
        infirm[asked] = ~firm(walk, labels, asked, others)
    pairs = np.argwhere(np.triu(weak & (local | np.outer(infirm, infirm))))
    pairs = pairs[np.argsort(-borders[tuple(pairs.T)], kind="stable")]
    drawn = float(borders.max(initial=0.0)) + _SLACK
    hidden = [c for c in np.argsort(inside, kind="stable") if inside[c] < min(WEAK, drawn)]
    paired = {int(c) for c in pairs.ravel()}
    loose = np.flatnonzero(leaves & infirm)
    return Doubts(
        one=tuple((int(a), int(b), float(borders[a, b])) for a, b in pairs),
        two=tuple((int(c), float(inside[c]), (int(parts[c, 0]), int(parts[c, 1]))) for c in hidden),
        loose=tuple((int(c), float(stays[c])) for c in loose if int(c) not in paired),
    )


def second_best(others: Sequence[Answer], labels: Labels) -> Answer | None:
    """Of the other answers that which loses least, if it puts samples into other clusters."""
    differ = (one for one in sorted(others, key=lambda one: one.lost) if moved(labels, one.labels))
    return next(differ, None)


def moved(labels: Labels, others: Labels) -> int:
    """How many samples are in other clusters, at best."""
    shared = contingency_matrix(labels, others)
    return len(labels) - int(shared[linear_sum_assignment(-shared)].sum())


def runner_up(others: Sequence[Answer], labels: Labels) -> RunnerUp | None:
    """The second best answer, as data for a note."""
    answer = second_best(others, labels)
    if answer is None:
        return None
    return RunnerUp("even" if answer.even else "free", answer.q, moved(labels, answer.labels))


def found_again(labels: Labels, others: Labels) -> dict[int, float]:
    """For each cluster the largest Jaccard index that a cluster of the others has with it."""
    shared = contingency_matrix(labels, others)
    union = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    return dict(zip(np.unique(labels).tolist(), (shared / union).max(axis=1), strict=True))


def firm(walk: Walk, labels: Labels, asked: Array, others: Sequence[Answer]) -> Array:  # (few,)
    """Which of some clusters have few samples on the way to another, and are in the runner-up."""
    other = second_best(others, labels)
    again = {} if other is None else found_again(labels, other.labels)
    seen = np.array([again.get(int(c), 1.0) >= _FOUND_AGAIN for c in asked])
    return np.asarray(seen & (between(walk, labels, asked) <= _BETWEEN))


def between(walk: Walk, labels: Labels, asked: Array) -> Array:  # (few,) -> (few,)
    """For each of some clusters the share of its samples that lie between it and another one."""
    members, ends = members_of(labels, walk.k), walk.ends(labels)

    def own_share(c: int) -> Array:  # (few, k)
        """For the samples of c and each cluster, p(c) / (p(c) + p(cluster))."""
        p = ends(members[c])
        own = np.maximum(p[:, c], np.finfo(p.dtype).tiny)[:, None]
        return np.asarray(own / (own + p))

    used = [c for c in range(walk.k) if members[c].size]
    medians = np.ones((walk.k, walk.k))
    for c in used:
        medians[c] = np.median(own_share(c), axis=0)
    shares = np.zeros(len(asked))
    for place, c in enumerate(asked):
        way = medians[c] + medians[:, c] - 1  # from the median of c to those of the others
        others = np.flatnonzero((way > 0) & (np.arange(walk.k) != c))
        far = (medians[c, others] - own_share(c)[:, others]) / way[others]
        shares[place] = (far > _FROM).any(axis=1).mean() if members[c].size else 0
    return shares


def borders_between(walk: Walk, labels: Labels) -> Array:  # (n,) -> (k, k)
    """The border between any two clusters; 0 on the diagonal."""
    return border(walk.crossings(labels))


def beyond_background(p: Array) -> Array:  # (k, k) -> (k, k)
    """The chances without what crosses between any two clusters; two have no background."""
    r = p.sum(axis=1)
    anywhere = np.outer(r, r)
    a, b = np.triu_indices(len(p), 1)
    met = anywhere[a, b] > 0
    if np.count_nonzero(met) < 2:
        return p
    crossed = (p[a, b] / np.where(met, anywhere[a, b], 1))[met]
    return np.maximum(p - np.quantile(crossed, _QUIET, method="lower") * anywhere, 0)


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
