"""The nearest samples in the cells around each sample, cell by cell.

A product of a few samples with a cell takes twice as long for each of them as one of many, and to
make the cells around a few ready for products takes longer than the products. So all cells are made
ready once, and each is compared at once with all samples that look into it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from ..core.arithmetic import over_threads
from ..core.arrays import slices
from ..core.types import Array, Labels, Matrix
from .search import Bounds, Found, Ready, Rough, block_of

#: Distances that are held at once, for each thread: those of samples that are compared together.
_BLOCK = 2**22

#: The places of some samples, and the cells that they look into.
Question = tuple[Labels, Labels]


class Around:
    """The samples of X in some cells."""

    def __init__(self, X: Matrix, members: Sequence[Labels], cells: Labels) -> None:
        self.X, self.cells = X, cells.tolist()
        self.places = np.concatenate([members[c] for c in self.cells])
        edges = np.cumsum([0, *(members[c].size for c in self.cells)]).tolist()
        self.parts = [slice(*each) for each in pairwise(edges)]

    def nearest(self, Y: Matrix, bounds: Bounds | None, wanted: int, reach: Array | None) -> Found:
        """As ``Rough.nearest``, with bounds that tell, or may tell, who is near."""
        wanted = min(wanted, len(self.places))
        near = None if bounds is None else bounds.nearest(wanted)
        if bounds is None or near is None:
            return self._rough.nearest(Y, wanted, reach)
        return bounds.pairs(near, Y, self.X, self.places, reach)

    @cached_property
    def _rough(self) -> Rough:
        """Distances about the mean of these samples, which rounding changes less."""
        return Rough(self.X, some=self.places)


class CellByCell:
    """Samples X in cells, given by their members, to be searched for the nearest of others.

    A dense X is copied, in single precision, with one cell after the other.
    """

    def __init__(self, X: Matrix, members: Sequence[Labels]) -> None:
        self.X, self.members = X, members
        edges = np.cumsum([0, *(each.size for each in members)]).tolist()
        self.parts = [slice(*each) for each in pairwise(edges)]
        order = np.concatenate(members)
        self.ready = None if sparse.issparse(X) else Ready(X, np.float32, order)

    def nearest(
        self,
        Y: Matrix,
        asked: Sequence[Question],
        wanted: int,
        answer: Callable[[Labels, Found], None],
        reach: Array | None = None,
    ) -> None:
        """As ``Rough.nearest``, in the cells that each y looks into.

        ``answer`` gets the places of some y and what is found for these. Any thread calls it.
        """
        groups = self._groups(asked)

        def work(group: int) -> None:
            for rows, arounds in self._blocks(groups[group]):
                samples = [Y[each] for each in rows]
                bounds = self._bounds(samples, arounds)
                for each, own, around, its in zip(rows, samples, arounds, bounds, strict=True):
                    answer(each, around.nearest(own, its, wanted, reach))

        over_threads(work, len(groups))

    def _groups(self, asked: Sequence[Question]) -> list[list[Question]]:
        """Questions that are answered together. Those that follow each other share cells."""
        groups, room = list[list[Question]](), 0
        for rows, cells in asked:
            size = len(rows) * sum(self.members[c].size for c in cells)
            if size > room:
                groups.append([])
                room = _BLOCK
            groups[-1].append((rows, cells))
            room -= size
        return groups

    def _blocks(self, group: list[Question]) -> Iterator[tuple[list[Labels], list[Around]]]:
        """Samples that are compared at once: of all questions, or some of a large one."""
        arounds = [Around(self.X, self.members, cells) for _, cells in group]
        if len(group) > 1:
            yield [rows for rows, _ in group], arounds
            return
        rows = group[0][0]
        for some in slices(len(rows), block_of(len(arounds[0].places))):
            yield [rows[some]], arounds

    def _bounds(self, samples: list[Matrix], arounds: list[Around]) -> Sequence[Bounds | None]:
        """Of distances to those around each: cell by cell, of all that look into it.

        None for sparse samples.
        """
        if self.ready is None:
            return [None] * len(samples)
        made, lookers = [], defaultdict[int, list[tuple[Array, Array]]](list)
        for Y, around in zip(samples, arounds, strict=True):
            sides, lengths = self.ready.sides(Y)
            below = np.empty((len(Y), len(around.places)), self.ready.dtype)
            made.append(Bounds(below, lengths, self.ready.slack))
            for cell, part in zip(around.cells, around.parts, strict=True):
                lookers[cell].append((sides, below[:, part]))
        for cell in sorted(lookers):
            multiply(lookers[cell], self.ready.columns[:, self.parts[cell]])
        return made


def multiply(pairs: list[tuple[Array, Array]], B: Array) -> None:  # (m, p) and (m, n), (p, n)
    """Write the product of each A with B where it is wanted, by one product of all."""
    if len(pairs) == 1:
        A, wanted = pairs[0]
        np.matmul(A, B, out=wanted)
        return
    products, done = np.concatenate([A for A, _ in pairs]) @ B, 0
    for A, wanted in pairs:
        wanted[:] = products[done : done + len(A)]
        done += len(A)
