"""A bounded sample of a stream, uniform among all that has been seen; and how large samples are.

Each sample of the stream is given a random key, and those with the smallest keys are kept
(bottom-k sampling). The key depends on the seed and on the place of a sample in the stream only,
so the sketch is the same however the stream is cut into batches, and no generator has to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .types import Array, Labels, Matrix

#: All samples are fitted up to so many, and so many of more.
ALL = 1_000_000
PART = 200_000

#: For new samples only cells are searched among more samples than these: nobody knows how many new
#: ones come, and each of them would be compared with all.
MANY = 30_000

#: The most samples that are kept of a stream, where fit_on does not say how many.
SKETCH = 50_000

#: Clusters are renewed when the stream has grown by this factor.
_GROWTH = 2

#: Or when so many samples of the sketch can be expected to belong to none: three neighbourhoods.
_ENOUGH = 30

#: Standard deviations by which outliers of a batch may exceed their usual number.
_USUAL = 2.0


@dataclass(frozen=True)
class Sketch:
    """What is kept of a stream.

    Attributes
    ----------
    X : (m, p) the samples that are kept, in the order in which they came
    keys : (m,) their random keys, from 0 to 1
    places : (m,) their places in the stream, from 0
    size : the most samples that are kept
    seed : of the keys
    seen : how many samples there were
    """

    X: Matrix
    keys: Array
    places: Labels
    size: int
    seed: int
    seen: int = 0

    @classmethod
    def empty(cls, like: Matrix, size: int, seed: int) -> Sketch:
        """Before the first of samples that are like these."""
        return cls(like[:0], np.empty(0), np.empty(0, np.int64), size, seed)

    @classmethod
    def of_known(cls, X: Matrix, places: Labels, seen: int, size: int, seed: int) -> Sketch:
        """A sketch that goes on from a uniform sample X of what has been seen.

        If X is not all of it, the sketch can keep no more than X has: others are gone.
        """
        whole = X.shape[0] == seen
        keys = keys_of(seed, 0, seen)
        if not whole:  # as if X were those with the smallest keys
            size = min(size, X.shape[0])
            smallest = np.sort(np.partition(keys, X.shape[0] - 1)[: X.shape[0]])
            keys = np.random.default_rng(seed).permutation(smallest)
        return cls(X, keys, places, size, seed, seen)._smallest()

    def add(self, batch: Matrix) -> Sketch:  # (b, p)
        """The sketch after a batch."""
        count = batch.shape[0]
        keys = keys_of(self.seed, self.seen, count)
        # Of a large batch only those are copied that can stay.
        some = np.sort(np.argsort(keys, kind="stable")[: self.size])
        places = np.concatenate([self.places, self.seen + some])
        keys = np.concatenate([self.keys, keys[some]])
        below = sparse.vstack if sparse.issparse(batch) else np.concatenate
        X = below([self.X, batch[some].astype(self.X.dtype, copy=False)])
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        return replace(self, X=X, keys=keys, places=places, seen=self.seen + count)._smallest()

    def _smallest(self) -> Sketch:
        if len(self.keys) <= self.size:
            return self
        kept = np.sort(np.argsort(self.keys, kind="stable")[: self.size])
        return replace(self, X=self.X[kept], keys=self.keys[kept], places=self.places[kept])


def keys_of(seed: int, start: int, count: int) -> Array:  # (count,)
    """The keys of the samples of a stream from this place on."""
    generator = np.random.PCG64(seed).advance(start)  # a number needs one step
    return np.random.Generator(generator).random(count)


@dataclass(frozen=True)
class Stream:
    """What ``partial_fit`` knows of the batches before.

    Attributes
    ----------
    sketch : of all samples that came
    renewed : how many there were when clusters were last renewed
    wide : (m,) how wide the neighbourhoods of the samples of that fit are
    usual : the share of outliers among them
    strange : outliers that came since, beyond the usual share
    """

    sketch: Sketch
    renewed: int = 0
    wide: Array | None = None
    usual: float = 0.0
    strange: float = 0.0

    def after(self, sketch: Sketch, outliers: int, count: int) -> Stream:
        """The stream after a batch of so many samples and outliers."""
        expected = self.usual * count
        more = outliers - expected - _USUAL * expected**0.5
        return replace(self, sketch=sketch, strange=max(0.0, self.strange + more))

    @property
    def due(self) -> bool:
        """Whether clusters are to be renewed."""
        sketch = self.sketch
        kept = self.strange * len(sketch.keys) / sketch.seen
        return sketch.seen >= _GROWTH * self.renewed or kept >= _ENOUGH
