"""Doubtful clusters: which they are, as data; why, and what to try, in words."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..core.arrays import to_host
from ..core.types import Labels
from ..core.words import plural
from ..solve.solution import Doubts, RunnerUp
from .notes import Note

#: At most this many doubts of a kind are told in words. The data hold all of them.
_NAMED = 3

#: A border that a smaller share of walks crosses has nothing on it.
_NOTHING = 0.005

#: A cluster is tiny below this share of the mean size, or with one or two samples.
_TINY = 0.1

#: More tiny clusters than this are counted, not named.
_TINY_NAMED = 5

#: Kinds of doubts, the most certain first, in words. A part is two groups inside of cluster c.
_WORDS = {
    "apart": "Cluster {c} is two groups, {parts}.",
    "swap": "Clusters {a} and {b} look more like one cluster ({crossed} cross between them) than "
    "cluster {c} does, which is two groups, {parts}.",
    "misplaced": "The border between clusters {a} and {b} may be in the wrong place: {crossed} "
    "cross it. There is a clearer one inside cluster {c}, which is two groups, {parts}.",
    "one": "Clusters {a} and {b} may be one: {crossed} cross the border between them.",
    "two": "Cluster {c} may be two groups, {parts}.",
    "loose": "Cluster {c} is loose: {crossed} leave it for other clusters.",
}

_SCALE = (
    "Borders are measured by random walks from neighbour to neighbour. If nothing links two "
    "groups, 0% of the walks cross between them. If there is no border at all, 50% do."
)


class Reason(NamedTuple):
    """A doubt of the clusters with these numbers.

    Attributes
    ----------
    kind : "apart", "swap", "misplaced", "one", "two" or "loose"
    clusters : their numbers; if two of them may be one, these come first
    words : the doubt as a sentence
    """

    kind: str
    clusters: tuple[int, ...]
    words: str


@dataclass(frozen=True, repr=False)
class InDoubt(Note):
    """Doubtful clusters.

    Attributes
    ----------
    doubts : which they are, and why: see :class:`klsnmf.solve.solution.Doubts`
    n_clusters : how many clusters there are
    runner_up : another answer that was considered, if there was one: see
        :class:`klsnmf.solve.solution.RunnerUp`
    """

    warns: ClassVar[bool] = False

    doubts: Doubts
    n_clusters: int
    runner_up: RunnerUp | None = None

    def __str__(self) -> str:
        return self._told(self.advice)

    @property
    def in_command(self) -> str:
        return self._told(self.advice_in_command)

    def _told(self, advice: str) -> str:
        words = [self.count, *(each.words for each in self.reasons), advice]
        return " ".join(filter(None, [*words, self.other_answer, self.scale]))

    @property
    def count(self) -> str:
        """How many clusters are doubtful, as a sentence."""
        count = len(self.doubts.clusters)
        return f"{count} of {self.n_clusters} clusters {'is' if count == 1 else 'are'} doubtful."

    @property
    def reasons(self) -> list[Reason]:
        """Each doubt once, those that are nearly certain first.

        A border inside a cluster is clearer than any that is called weak. So if there is one
        inside, and a weak one elsewhere, the weak border is in the wrong place.
        """
        two, paired = list(self.doubts.two), {c for pair in self.doubts.one for c in pair[:2]}
        told: dict[str, list[Reason]] = {kind: [] for kind in _WORDS}
        for a, b, crossed in self.doubts.one:
            own = [part for part in two if part[0] in (a, b)]
            inside = (own or [part for part in two if part[0] not in paired])[:1]
            kind = "misplaced" if own else "swap" if inside else "one"
            which = (a, b, inside[0][0]) if kind == "swap" else (a, b)
            words = _WORDS[kind].format(a=a, b=b, crossed=_walks(crossed), **_told(*inside))
            told[kind].append(Reason(kind, which, words))
            two = [part for part in two if part not in inside]
        for part in two:
            kind = "apart" if part[1] < _NOTHING else "two"
            told[kind].append(Reason(kind, part[:1], _WORDS[kind].format(**_told(part))))
        for c, stays in self.doubts.loose:
            words = _WORDS["loose"].format(c=c, crossed=_walks(1 - stays))
            told["loose"].append(Reason("loose", (c,), words))
        return [each for some in told.values() for each in some[:_NAMED]]

    @property
    def advised(self) -> tuple[int, ...]:
        """Numbers of clusters to try: without weak borders, and with those that were not drawn."""
        fewer = self.n_clusters - self._joins
        if not self.doubts.one and not self.doubts.two:
            fewer -= len(self.doubts.loose)
        tried = {max(fewer, 1), self.n_clusters + len(self.doubts.two)} - {self.n_clusters}
        return tuple(sorted(tried))

    @property
    def _joins(self) -> int:
        """How many clusters fewer there are if all pairs that may be one are joined."""
        pairs = np.array([pair[:2] for pair in self.doubts.one]).reshape(-1, 2).T
        graph = coo_array((np.ones(pairs.shape[1]), tuple(pairs)), (self.n_clusters,) * 2)
        return self.n_clusters - int(connected_components(graph, directed=False)[0])

    @property
    def advice(self) -> str:
        """What to try, as a sentence with Python's parameters."""
        return self._advice("n_clusters=", ', or another value of sizes ("even", "free")')

    @property
    def advice_in_command(self) -> str:
        """What to try, as a sentence with options of the command."""
        return self._advice("-k ", ", or --sizes even or --sizes free")

    def _advice(self, name: str, sizes: str) -> str:
        more = sizes if len(self.advised) > 1 else ""
        if self.advised[0] == 1:
            return (
                "Perhaps the samples form no clusters"
                + "".join(f"; or try {name}{k}{more}" for k in self.advised[1:])
                + "."
            )
        return f"Try {' and '.join(f'{name}{k}' for k in self.advised)}{more}."

    @property
    def other_answer(self) -> str:
        """What the runner-up says, as a sentence; empty if there is none."""
        if self.runner_up is None:
            return ""
        sizes, neighbors, moved = astuple(self.runner_up)
        return (
            f"Another answer that was considered, with {neighbors} neighbours and {sizes} sizes, "
            f"puts {plural(moved, 'sample')} into other clusters."
        )

    @property
    def scale(self) -> str:
        """What shares of walks mean, as a sentence; empty if none is told."""
        return "" if {each.kind for each in self.reasons} == {"apart"} else _SCALE


def _walks(share: float) -> str:
    return f"{share:.0%} of walks"


def _told(part: tuple[int, float, tuple[int, int]] | None = None) -> dict[str, Any]:
    """A cluster that is two, and its parts in words; nothing for None."""
    if part is None:
        return {}
    c, crossed, sizes = part
    between = (
        "nothing links them" if crossed < _NOTHING else f"{_walks(crossed)} cross between them"
    )
    return {"c": c, "parts": f"of {sizes[0]} and {sizes[1]} samples: {between}"}


@dataclass(frozen=True, repr=False)
class TinyClusters(Note):
    """Clusters that are tiny beside the others.

    Attributes
    ----------
    sizes : the number of each tiny cluster, and how many samples it has
    n_samples : how many samples there are
    """

    warns: ClassVar[bool] = False

    sizes: tuple[tuple[int, int], ...]
    n_samples: int

    def __str__(self) -> str:
        if len(self.sizes) > _TINY_NAMED:
            most = max(size for _, size in self.sizes)
            return (
                f"{len(self.sizes)} clusters are tiny, with at most {most} of "
                f"{plural(self.n_samples, 'sample')} each. They may be outliers rather than groups."
            )
        which = ", ".join(f"cluster {c} ({plural(size, 'sample')})" for c, size in self.sizes)
        return (
            f"Tiny next to the others: {which}. Look at the members; they may be outliers rather "
            "than a group."
        )

    @property
    def in_command(self) -> str:
        return str(self)


def tiny_clusters(labels: Labels, k: int) -> tuple[TinyClusters, ...]:  # (n,)
    """A note on tiny clusters, if there are any. If all clusters are small, none is remarkable."""
    labels = to_host(labels)
    n, sizes = len(labels), np.bincount(labels[labels >= 0], minlength=k)
    tiny = np.flatnonzero((sizes > 0) & (sizes <= max(2.0, _TINY * n / k)))
    if len(tiny) == 0 or n <= 4 * k:
        return ()
    return (TinyClusters(tuple((int(c), int(sizes[c])) for c in tiny), n),)
