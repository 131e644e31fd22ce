"""From scores to labels and strengths.

A score says how well a cluster suits a sample; the largest score names the sample's cluster. The
*strength* of the sample is 1 - second/first: 0 is a tie, 1 leaves no doubt. What the scores are
depends on the method:

- KLS-NMF, LS-NMF, GLS-NMF, RMNMF: what is gained by putting the sample into the cluster, b_k/√C_kk;
- WNMF, ONMF, Semi-NMF, GNMF, CNMF, KNMF: the coefficients, a row of G;
- kernel k-means, k-means, and ``labels="kmeans"``: one over the distance to the mean.

So the strengths of different methods cannot be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from ..core.arithmetic import nearness, one_a_row, plus, taken
from ..core.arrays import cast, namespace, tiny, widest
from ..core.kmeans import by_appearance, draw_seed, kmeans
from ..core.types import Array, Labels

#: The smallest lead of one score over another, in units of rounding.
_HAIR = 2

#: A cluster in which more than this share of the samples stay is the same cluster.
_NEARLY_ALL = 0.9

#: Runs of k-means on the coefficients; the best is kept.
_RUNS = 10


def led_by(scores: Array, labels: Labels) -> Array:  # (m, k), (m,) -> (m, k)
    """Scores ≥ 0 in which the label has the largest score, if need be by a tiny amount.

    Some labels do not follow the largest score: those of samples that no cluster suits, and those
    that rounding decides. Such samples get a strength of about 0.
    """
    xp = namespace(scores)
    astray = xp.argmax(scores, axis=1) != labels
    most = xp.max(scores, axis=1)
    level = xp.where(most > 0, most, tiny(scores))
    nothing = astray & (most == 0)
    scores = xp.where(nothing[:, None], level[:, None], scores)
    hair = level * (1 + _HAIR * xp.finfo(scores.dtype).eps)
    return scores + one_a_row(scores, labels, xp.where(astray, hair - taken(scores, labels), 0))


def strength(scores: Array, labels: Labels) -> Array:  # (n, k), (n,) -> (n,)
    """1 - second/first; 0 if the own score is not positive, 1 if there is only one cluster."""
    xp = namespace(scores)
    rounding = 2 * _HAIR * xp.finfo(scores.dtype).eps
    scores = plus(cast(scores, widest(scores)))
    own = taken(scores, labels)
    if scores.shape[1] == 1:
        return xp.ones_like(own)
    second = xp.max(scores - one_a_row(scores, labels, own), axis=1)
    # If another score is larger, another rule decided the label: this counts as a tie.
    found = 1 - xp.minimum(second, own) / xp.where(own > 0, own, 1)
    return xp.where((own > 0) & (found > rounding), found, 0)


def numbers_kept(labels: Labels, known: Labels, k: int) -> Labels:  # (n,), (n,) -> (k,)
    """A number below k for each cluster: that of the earlier cluster it shares most samples with.

    Each number is given once, so that as many samples as can keep theirs. Clusters that have no
    earlier one get the numbers that are left.
    """
    shared = np.zeros((k, max(k, int(known.max()) + 1)))
    np.add.at(shared, (labels, known), 1)
    number = linear_sum_assignment(shared, maximize=True)[1]
    gone = number >= k  # of a cluster that was, among more than there are now
    number[gone] = np.setdiff1d(np.arange(k), number)[: gone.sum()]
    return np.asarray(number)


def in_pieces(strange: Array, judged: Labels, now: Labels, few: int) -> Array:  # (n,)
    """Strange samples that are many in a cluster: a piece that its prototype does not know.

    Few of them are outliers, of which a graph tells nothing. And the cluster must be what it was:
    nearly all of its other samples are still in it.
    """
    k = int(judged.max()) + 1
    many = np.bincount(judged[strange], minlength=k) > few
    of_others, stayed = (
        np.bincount(judged[some], minlength=k) for some in (~strange, ~strange & (now == judged))
    )
    return strange & (many & (stayed > _NEARLY_ALL * of_others))[judged]


@dataclass(frozen=True)
class Largest:
    """labels="argmax": the largest coefficient names the cluster.

    Attributes
    ----------
    default : the label of a sample whose coefficients are all zero
    """

    default: int

    def scores(self, G: Array, gains: Array) -> Array:  # (m, k), (m, k) -> (m, k)
        """The gains, led by the largest coefficients."""
        labels = np.where(G.any(axis=1), np.argmax(G, axis=1), self.default)
        return led_by(gains, labels)


@dataclass(frozen=True)
class Grouped:
    """labels="kmeans": the nearest mean of the rows of G, with rows scaled to length 1.

    Attributes
    ----------
    means : the fitted k-means
    number : (k,) array, the label of each of its clusters
    default : the label of a sample whose coefficients are all zero
    """

    means: KMeans
    number: Labels
    default: int

    def scores(self, G: Array, gains: Array) -> Array:  # (m, k), (m, k) -> (m, k)
        known = G.any(axis=1)
        labels = np.full(len(G), self.default, dtype=np.intp)
        found = np.empty((len(G), len(self.number)), G.dtype)
        if len(G):
            rows = normalize(G)
            found[:, self.number] = nearness(self.means.transform(rows))
            labels[known] = self.number[self.means.predict(rows)][known]
        return led_by(found, labels)


Reading = Largest | Grouped


def lost_with_most(labels: Labels, G: Array) -> Labels:  # (n,), (n, k) -> (n,)
    """The labels, but samples whose coefficients are all zero go to the largest cluster."""
    known = G.any(axis=1)
    most = np.argmax(np.bincount(labels[known])) if known.any() else 0
    return np.where(known, labels, most)


def read_labels(
    G: Array,
    labels: Labels,
    how: str,
    rng: np.random.RandomState,
    weight: Array | None = None,
) -> tuple[Labels, Reading]:  # (n, k), (n,) -> (n,)
    """The labels of the samples, and the rule for new ones.

    ``G`` has columns of length 1, and ``labels`` are those of the largest coefficients. Samples may
    have weights, (n,).
    """
    known = np.asarray(G.any(axis=1))
    if how == "kmeans" and known.any():
        return _grouped(G, known, rng, weight)
    lost = labels[~known]
    return labels, Largest(int(lost[0] if lost.size else np.argmax(np.bincount(labels))))


def _grouped(
    G: Array, known: Array, rng: np.random.RandomState, weight: Array | None
) -> tuple[Labels, Grouped]:
    """k-means on the rows that are not zero: the others would become a cluster of their own."""
    rows, k = normalize(G[known]), G.shape[1]
    some = None if weight is None else weight[known]
    means = kmeans(rows, min(k, len(rows)), draw_seed(rng), n_init=_RUNS, weight=some)
    number = np.zeros(len(means.cluster_centers_), dtype=np.intp)
    number[means.labels_] = by_appearance(means.labels_)
    default = int(np.argmax(np.bincount(number[means.labels_])))
    reading = Grouped(means, number, default)
    labels = np.full(len(G), default, dtype=np.intp)
    labels[known] = number[means.labels_]
    return labels, reading
