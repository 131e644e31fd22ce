"""Where clusters are in doubt: borders that walks cross, and borders that were not drawn.

One number for every border: of two sets of samples looked at alone, the share of walks that change
sides before detail is forgotten, 0 for separate pieces and 1 where there is nothing between them:

    border(a, b) = p_ab / (p_aa + p_ab) + p_ab / (p_bb + p_ab),

p_ab the chance that a walk is in a now and in b after T steps (:mod:`klsnmf.grams.walk`).

* Two clusters may be one if the border between them is weak.
* A cluster may be two if there is a border inside it that is not weak, nor much weaker than those
  that were drawn.
* A cluster is loose if walks leave it for many others.
"""

from __future__ import annotations

import numpy as np

from ..core.types import Array, Labels
from ..grams.walk import Walk, sums_over_clusters
from .perron import halves
from .solution import Doubts

#: A border that is crossed by more is weak. Of the clusters that are doubted at 0.2, 0.25 and 0.3,
#: 79, 83 and 85 in a hundred were wrong, of the others 8, 10 and 13.
WEAK = 0.25

#: How much weaker than the weakest border that was drawn one may be that was not.
_SLACK = 0.05

#: The fewest samples of a part that may be a cluster: more than a neighbourhood.
_FEWEST = 10


def doubts_of(walk: Walk, labels: Labels) -> Doubts:
    """Where these clusters are in doubt."""
    borders, inside = borders_between(walk, labels), borders_inside(walk, labels)
    stays, sizes = walk.stays(labels), np.bincount(labels, minlength=walk.k)
    pairs = np.argwhere(np.triu(borders, 1) > WEAK)
    pairs = pairs[np.argsort(-borders[tuple(pairs.T)], kind="stable")]
    drawn = float(borders.max(initial=0.0)) + _SLACK
    hidden = [c for c in np.argsort(inside, kind="stable") if inside[c] < min(WEAK, drawn)]
    weak = {int(c) for c in pairs.ravel()}
    loose = np.flatnonzero((stays < 1 - WEAK) & (sizes > 0))
    return Doubts(
        one=tuple((int(a), int(b), float(borders[a, b])) for a, b in pairs),
        two=tuple((int(c), float(inside[c])) for c in hidden),
        loose=tuple((int(c), float(stays[c])) for c in loose if int(c) not in weak),
    )


def borders_between(walk: Walk, labels: Labels) -> Array:  # (n,) -> (k, k)
    """The border between any two clusters; 0 of a cluster with itself."""
    return border(walk.crossings(labels))


def borders_inside(walk: Walk, labels: Labels) -> Array:  # (n,) -> (k,)
    """The clearest border inside each cluster that was looked at; 1 where there is none.

    Clusters are cut along the direction in which they are widest, where every sample weighs the
    same and where every cluster does.
    """
    found = np.ones(walk.k)
    for even in (True, False):
        F = walk.features(even=even)
        for c in range(walk.k):
            members = np.flatnonzero(labels == c)
            side = halves(F[members]).side
            if min(side.sum(), (~side).sum()) <= _FEWEST:
                continue
            two = np.full(len(labels), 2)
            two[members] = side
            found[c] = min(found[c], border(_between_sides(walk, two))[0, 1])
    return found


def border(p: Array) -> Array:  # (k, k) -> (k, k)
    """Borders from how likely walks are in each set now and in each later."""
    own = np.maximum(p.diagonal(), np.finfo(float).tiny)
    crossed = p / (own[:, None] + p)
    found = crossed + (p / (own + p))
    np.fill_diagonal(found, 0)
    return np.asarray(found)


def _between_sides(walk: Walk, sides: Labels) -> Array:  # (n,) -> (2, 2)
    """The crossings between sides 0 and 1 of a cluster; others are 2."""
    A = (sums_over_clusters(sides, 3) @ walk.weighed)[:2]
    return np.maximum((A * walk.spectrum.values**walk.time) @ A.T, 0)
