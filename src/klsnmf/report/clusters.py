"""The clusters one by one: what sets each apart, and its most typical and most doubtful members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from ..core.types import Array, Labels
from .marks import MANY
from .pictures import as_uris
from .run import Run
from .text import decimals, number, plain

#: At most so many clusters are shown one by one, the largest ones.
CARDS = 150

#: Members of each cluster, if there are many clusters.
_FEW_MEMBERS = 4

#: How many features of a cluster are shown, how many of each member, and how many words.
_LEADING = 6
_COLUMNS = 4
_WORDS = 6

#: A feature sets a cluster apart if it differs from the mean by so many standard deviations.
_APART = 0.1

_LONGEST_FEATURE = 32

#: A member with more strength than this is not doubtful.
SURE = 0.95


class Bar(NamedTuple):
    feature: str
    deviation: float  # from the mean of all samples, in standard deviations
    value: str
    mean: str


class Member(NamedTuple):
    id: str
    strength: float
    label: str | None
    odd: bool  # its label is not the most common one of the cluster
    picture: str | None
    values: list[str]  # of the columns of the cluster, or its own leading features


class Cluster(NamedTuple):
    number: int
    size: int
    strength: float  # the median of its members
    weak: int  # how many members have little strength, where this tells
    label: tuple[str, float] | None  # the most common, and its share
    prototype: str | None  # a picture
    bars: list[Bar]
    columns: list[str]
    typical: list[Member]
    doubtful: list[Member]  # none if all are sure, or if there are too few members
    sure: bool  # whether no member is doubtful


def clusters(run: Run, members: int, budget: int) -> list[Cluster]:
    """The clusters that have samples, in order; only the largest if there are very many.

    Each shows up to ``members`` typical and as many doubtful members. All pictures together take
    about ``budget`` characters.
    """
    members = min(members, _FEW_MEMBERS) if run.n_clusters > MANY else members
    largest = np.argsort(-run.sizes, kind="stable")[:CARDS]
    shown = [int(c) for c in np.sort(largest) if run.sizes[c] > 0]
    galleries = [_gallery(run, cluster, members) for cluster in shown]
    pictures, prototypes = _pictures(run, shown, galleries, budget)
    profile = None if run.image_shape or run.kernel_only else _Profile(run)

    def member(i: int, common: str | None, columns: list[int]) -> Member:
        label = run.label_of(i)
        odd = label is not None and label != common
        values = profile.values(i, columns) if profile else []
        return Member(run.id_of(i), float(run.strength[i]), label, odd, pictures.get(i), values)

    found = []
    for place, (cluster, gallery) in enumerate(zip(shown, galleries, strict=True)):
        bars, columns = profile.leading(cluster) if profile else ([], [])
        label = _commonest(run, cluster)
        common = label[0] if label else None
        typical, doubtful = (
            [member(i, common, columns) for i in part.tolist()] for part in gallery
        )
        strength = run.strength[run.labels == cluster]
        found.append(
            Cluster(
                cluster,
                int(run.sizes[cluster]),
                float(np.median(strength)),
                0 if run.weak is None else int(run.weak[cluster]),
                label,
                prototypes[place] if prototypes else None,
                bars,
                [profile.name(j) for j in columns] if profile else [],
                typical,
                doubtful,
                bool(strength.min() > SURE),
            )
        )
    return found


def _commonest(run: Run, cluster: int) -> tuple[str, float] | None:
    """The most common class of a cluster, and its share."""
    if run.classes is None:
        return None
    names, which = run.classes
    counts = np.bincount(which[(run.labels == cluster) & (which >= 0)], minlength=1)
    share = float(counts.max() / max(counts.sum(), 1))
    return (plain(names[counts.argmax()]), share) if share else None


def _gallery(run: Run, cluster: int, count: int) -> tuple[Labels, Labels]:
    """The most typical and the most doubtful members; no sample is in both lists."""
    members = np.flatnonzero(run.labels == cluster)
    # Among equally sure samples, those near the mean are more typical.
    order = members[np.lexsort((_distance(run, members), -run.strength[members]))]
    typical = order[: min(count, (len(order) + 1) // 2)]
    doubtful = order[::-1][: min(count, len(order) // 2)]
    return typical, doubtful[run.strength[doubtful] <= SURE]


def _distance(run: Run, members: Labels) -> Array:  # (m,)
    if run.kernel_only:
        return np.zeros(len(members))
    if sparse.issparse(run.X):
        some = run.X[members]
        mean = np.asarray(some.mean(axis=0)).ravel()
        squares = np.asarray(some.multiply(some).sum(axis=1)).ravel()
        return np.asarray(squares - 2 * safe_sparse_dot(some, mean))
    rows = run.rows(members)
    rows = rows - rows.mean(axis=0)
    return np.einsum("ij,ij->i", rows, rows)


def _pictures(
    run: Run, shown: list[int], galleries: list[tuple[Labels, Labels]], budget: int
) -> tuple[dict[int, str], list[str]]:
    """Pictures by sample, and of the prototypes, if there are any."""
    if run.image_shape is None:
        return {}, []
    which = np.concatenate([part for gallery in galleries for part in gallery])
    images = run.darkroom.develop(run.rows(which))
    if run.prototypes is not None:
        images = np.concatenate([images, run.darkroom.develop_apart(run.prototypes[shown])])
    uris = as_uris(images, budget)
    return dict(zip(which.tolist(), uris, strict=False)), uris[len(which) :]


class _Profile:
    """What sets the clusters apart from all samples, feature by feature.

    It uses the prototypes, each scaled to the size of the mean of its cluster. If a method has no
    prototypes, it uses the means.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        # Sparse samples have few features, so each shows its own, not those of the cluster.
        self.words = sparse.issparse(run.X)
        filled: Any = run.X if self.words else run.rows(slice(None))
        sums = run.sums(filled)
        sums = sums.toarray() if self.words else np.asarray(sums)
        centers = sums / np.maximum(run.sizes, 1)[:, None]
        squares = filled.multiply(filled) if self.words else filled**2
        variance = np.asarray(squares.mean(axis=0)).ravel() - run.means**2
        if run.prototypes is not None:
            size = np.einsum("kp,kp->k", run.prototypes, run.prototypes)
            along = np.einsum("kp,kp->k", run.prototypes, centers)
            factor = np.divide(along, size, out=np.zeros_like(size), where=size > 0)
            centers = factor[:, None] * run.prototypes
        floor = 1e-12 * np.maximum(run.means**2, np.finfo(np.float64).tiny)
        spread = np.where(variance > floor, np.sqrt(np.maximum(variance, floor)), np.inf)
        self.centers = centers  # (k, p)
        self.deviations = (centers - run.means) / spread  # (k, p)
        self.decimals: dict[int, int | None] = {}  # by feature, the same in all clusters

    def name(self, j: int) -> str:
        # Made only when needed: a sparse matrix may have millions of columns.
        features = self.run.features
        return plain(features[j] if features is not None else f"feature {j}", _LONGEST_FEATURE)

    def leading(self, cluster: int) -> tuple[list[Bar], list[int]]:
        """The features that set a cluster apart most, as bars, and the columns of the first few.

        Columns are sorted, so that the tables of all clusters have the same order.
        """
        deviation = self.deviations[cluster]
        first = np.argsort(-np.abs(deviation), kind="stable")[:_LEADING]
        first = first[deviation[first] != 0]
        bars = []
        for j in first[np.abs(deviation[first]) >= _APART]:
            both = np.array([self.centers[cluster, j], self.run.means[j]])
            value, mean = (number(each) for each in self.run.in_units(both, j))
            bars.append(Bar(self.name(j), float(deviation[j]), value, mean))
        return bars, [] if self.words else np.sort(first[:_COLUMNS]).tolist()

    def values(self, i: int, columns: list[int]) -> list[str]:
        X: Any = self.run.X
        if self.words:
            row = sparse.coo_array(X[[i]])
            most = np.argsort(-np.abs(row.data), kind="stable")[:_WORDS]
            return [self.name(j) for j in row.col[most]]
        for j in columns:
            if j not in self.decimals:
                self.decimals[j] = decimals(self.run.in_units(X[:, j].astype(np.float64), j))
        row = self.run.in_units(X[i].astype(np.float64))
        return ["?" if np.isnan(row[j]) else number(row[j], self.decimals[j]) for j in columns]
