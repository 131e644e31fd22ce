"""Eigenvectors of steps S = Deg^-½ K Deg^-½ between samples, and diffusion along them.

The eigenvalues of S go from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from sklearn.preprocessing import normalize

from ..core import memory
from ..core.arithmetic import plus, row_lengths, step, tall_times
from ..core.arrays import cast, like, namespace, on_host, precision, set_diagonal, to_host
from ..core.bases import tall_inner
from ..core.eigenvectors import (
    BLOCKS,
    MORE,
    SINGLE,
    SPARE,
    ByRows,
    leading,
    subspace_iteration,
)
from ..core.types import Array, Matrix
from ..core.work import threads_for
from .array import DenseGram
from .base import Gram, Order, inverse_root
from .low_rank import LowRankGram

#: With more samples than this, many eigenvalues can be close to 1, and a filter is used.
_MANY = 4000

#: diffusion="auto": the fewest and the most steps, and tr(S^t) for each cluster that is enough.
#: Spirals of 3000 samples need 65,536; each doubling costs one product, or nothing.
FEWEST_STEPS = 4
MOST_STEPS = 2**17
ENOUGH = 2

#: Eigenvectors for each cluster: four times those of tr(S^t) up to so many numbers in all of them,
#: which stay in the processor's cache, then twice; and fewer where they would be too many.
_PLENTY = 8
_VECTORS = 4
_FEWEST_VECTORS = 2
_MOST_VECTORS = 256
_NUMBERS = 2**20

#: Steps after which what eigenvectors leave out is measured, and columns of random signs for it.
_PROBED_STEPS = 16
_PROBES = 64

#: Up to so many samples for each column of a block a dense solver is as fast, and finds them all.
_FEW = 12


def spectral_embedding(K: Gram, k: int, rng: np.random.RandomState) -> Array:  # (n, k)
    """The k leading eigenvectors of S, rows scaled to length 1."""
    return np.asarray(normalize(leading_eigenvectors(K, k, rng)[1]))


def leading_eigenvectors(
    K: Gram, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of S in descending order, and their vectors."""
    n = K.shape[0]
    degrees = np.abs(K.dot(K.root * np.ones((n, 1), K.dtype)) / K.root).astype(np.float64)
    root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    if n > _MANY and K.nonnegative and not K.clipped:  # then no eigenvalue is beyond 1
        root = root.astype(K.dtype)
        Q = rng.normal(size=(n, k + SPARE)).astype(K.dtype)
        return leading(lambda V: root * K.dot(root * V), Q, k)
    return subspace_iteration(lambda V: root * K.dot((root * V).astype(K.dtype)), n, k, rng)


def first_steps(k: Matrix, degrees: Array) -> Matrix:  # (m, n), (n,) -> (m, n)
    """From new samples to old ones: k(y, x) scaled as the steps S between old ones are."""
    root = inverse_root(degrees)
    if not on_host(k):
        return inverse_root(namespace(k).sum(k, axis=1)) * k * root[:, 0]
    k = sparse.csr_array(k)
    own = sparse.diags_array(inverse_root(k.sum(axis=1))[:, 0])
    return (own @ k @ sparse.diags_array(root[:, 0])).tocsr()


@dataclass(frozen=True)
class SpectralDiffusion:
    """UΛᵗUᵀ ≈ Sᵗ on the samples of a fit, t > 1 any number, and the scale that K_t has.

    K_t = c^α Sᵗ c^α, where α = 1 gives a unit diagonal: samples have equal weight. With α = 0 every
    separate piece of the graph has the eigenvalue 1, whatever its size: clusters have equal weight.
    All of K_t is then multiplied so that its diagonal has the mean 1.

    What the eigenvectors leave out of a sample fades with the steps. The rest is kept as similarity
    of the sample to itself. So a sample far from all others does not become a member of the cluster
    that happens to be nearest.
    """

    U: Array  # (n, m)
    values: Array  # (m,)
    degrees: Array  # (n,)
    steps: float
    c: Array  # (n, 1), c² is 1 over the diagonal of Sᵗ
    faded: float  # the share that remains after t steps of what is left out after 2
    even: bool = True  # whether α is 1, or 0

    way: ClassVar[str] = "eigenvectors"
    cheaper: ClassVar[bool] = True  # products with K_t take less time than those with K

    def gram(self) -> Gram:
        """K_t, with what the eigenvectors leave out on its diagonal; formed on a device."""
        features = self.U * self._powers(self.steps / 2)
        features *= self.scale
        own = self.c[:, 0] > 0 if self.even else self._own_values * self._unit
        own = cast(own, features.dtype)
        if on_host(features):
            return LowRankGram(features, own, nonnegative=True)
        K = plus(features @ features.T)
        set_diagonal(K, own)
        return DenseGram(K)

    @property
    def scale(self) -> Array:  # (n, 1)
        """c^α, and what it takes for a mean of 1."""
        return self.c if self.even else self.c * 0 + self._unit**0.5

    def walk(self, V: Array, steps: float) -> Array:  # (n, k) -> (n, k)
        """S^steps V."""
        return self.U @ (self._powers(steps)[:, None] * (self.U.T @ V))

    def walk_on(self, V: Array) -> Array:  # (n, k) -> (n, k)
        """S^(t - 1) V: what is left of the way after a new sample's first step."""
        return self.walk(V, self.steps - 1)

    def lengths(self, rows: Matrix) -> Array:  # (m, n) -> (m,)
        """Squared lengths of what rows of first steps become half-way."""
        xp = namespace(self.U)
        along = xp.square(rows @ self.U)
        left_out = plus(row_lengths(rows) - xp.sum(along, axis=1))
        return along @ self._powers(self.steps - 2) + self.faded * left_out

    def of_new(self, product: Array, lengths: Array) -> tuple[Array, Array]:  # (m, k), (m,)
        """k(y, X) W and k(y, y), from S^t(y, X) ``scale`` W and S^t(y, y)."""
        xp = namespace(lengths)
        if self.even:
            return product / xp.sqrt(lengths)[:, None], xp.ones_like(lengths)
        return product * self._unit**0.5, lengths * self._unit

    def beside(self, home: Array) -> SpectralDiffusion:
        """The same on the device of ``home``."""
        dtype = home.dtype
        moved = {name: like(getattr(self, name), home, dtype) for name in ("U", "degrees", "c")}
        return replace(self, **moved)

    def host_copy(self) -> SpectralDiffusion:
        moved = {name: to_host(getattr(self, name)) for name in ("U", "degrees", "c")}
        return replace(self, **moved)

    @property
    def _own_values(self) -> Array:  # (n,)
        """The diagonal of Sᵗ."""
        return inverse_root(self.c[:, 0] ** 2)[:, 0] ** 2

    @property
    def _unit(self) -> float:
        return 1 / float(to_host(self._own_values).mean(dtype=np.float64))

    def _powers(self, steps: float) -> Array:  # (m,)
        return like((self.values**steps).astype(precision(self.U)), self.U)


@dataclass(frozen=True)
class Spectrum:
    """The leading eigenvectors of S, and how much of each sample they leave out."""

    U: Array  # (n, m)
    values: Array  # (m,), descending, none below zero
    degrees: Array  # (n,)
    left_out: Array  # (few, n), row h - 1 is the diagonal of S^t - UΛᵗUᵀ for t = 2h

    def rest(self, steps: float) -> Array:  # (n,)
        """The diagonal of S^t - UΛᵗUᵀ."""
        half = max(1, min(int(steps) // 2, len(self.left_out)))
        fading = self._fading(max(steps / (2 * half), 1.0)) * self.values[-1] ** (steps - 2 * half)
        return np.asarray(self.left_out[half - 1] * self.U.dtype.type(fading))

    def _fading(self, longer: float) -> float:
        """How much faster than its largest eigenvalue what is left out fades, in so many times t.

        Eigenvalues below the last one known, λ, get more the further down one looks. Where their
        number grows as a power β of the distance, Σ μᵗ is proportional to λᵗ t^-β. What fades
        between half of the steps that were measured and all of them says how large β is.
        """
        measured = self.left_out.sum(axis=1, dtype=np.float64)
        half = len(measured) // 2
        if half == 0 or not measured[-1] > 0:
            return 1.0
        as_one = self.values[-1] ** (2.0 * (len(measured) - half))
        power = np.log2(max(measured[half - 1] * as_one / measured[-1], 1.0))
        return float(longer**-power)

    def in_order(self, order: Order) -> Spectrum:
        """The spectrum with the samples in another order."""
        U = self.U.T[:, order].T
        return Spectrum(U, self.values, self.degrees[order], self.left_out[:, order])

    def joined(self, piece: Array, group: Array) -> Spectrum:  # (n,), (n,)
        """As if all pieces of a group were one: a walk that leaves a sample may go on in any.

        Of the eigenvectors of eigenvalue 1, one for each separate piece, those that tell pieces of
        one group apart are left out: a walk forgets them at once. All others stay.
        """
        pieces, groups = (_Parts.of(each, self.degrees) for each in (piece, group))
        inside = pieces.projected(self.U)
        others = self.U - inside
        lengths = np.sqrt(row_lengths(others.T))
        kept = lengths > 0.5  # an eigenvector is inside, or it is not
        unseen = np.maximum(np.square(pieces.vector) - row_lengths(inside), 0)
        return Spectrum(
            np.hstack([groups.dense(), others[:, kept] / lengths[kept]]).astype(self.U.dtype),
            np.concatenate([np.ones(groups.count), self.values[kept]]),
            self.degrees,
            np.maximum(self.left_out - unseen.astype(self.left_out.dtype), 0),
        )

    def trace(self, steps: float) -> float:
        """tr(S^t): the directions in which samples still differ after t steps."""
        return float((self.values**steps).sum() + self.rest(steps).sum(dtype=np.float64))

    def diffusion(self, steps: float, *, even: bool = True) -> SpectralDiffusion:
        """t steps, every sample with the same weight, or every piece of the graph."""
        dtype, beyond = self.U.dtype, self.rest(steps)
        c = inverse_root(np.square(self.U) @ (self.values**steps).astype(dtype) + beyond)
        faded = float(beyond.sum() / max(float(self.left_out[0].sum()), np.finfo(dtype).tiny))
        return SpectralDiffusion(self.U, self.values, self.degrees, steps, c, faded, even)


@dataclass(frozen=True)
class _Parts:
    """Parts of the samples that no walk leaves, each with its eigenvector of eigenvalue 1."""

    part: Array  # (n,), numbered from 0
    vector: Array  # (n,), all eigenvectors side by side: each is zero outside of its part

    @classmethod
    def of(cls, part: Array, degrees: Array) -> _Parts:
        whole = np.bincount(part, weights=degrees)[part]
        return cls(part, np.sqrt(degrees / np.where(whole > 0, whole, 1)))

    @property
    def count(self) -> int:
        return int(self.part.max()) + 1

    def dense(self) -> Array:  # (n, count)
        vectors = np.zeros((len(self.part), self.count))
        vectors[np.arange(len(self.part)), self.part] = self.vector
        return vectors

    def projected(self, V: Array) -> Array:  # (n, m) -> (n, m)
        """What V has along the eigenvectors."""
        n = len(self.part)
        columns = sparse.csr_array((self.vector, self.part, np.arange(n + 1)))
        return np.asarray(columns @ (columns.T @ V))


def how_many_vectors(n: int, k: int) -> int:
    """Eigenvectors that k clusters of n samples are given: all of them where samples are few."""
    if n <= _FEW * _columns(k):
        return n
    cheap = min(_PLENTY * k, _NUMBERS // n)
    return min(max(min(max(_VECTORS * k, cheap), _MOST_VECTORS), _FEWEST_VECTORS * k), n - SPARE)


def _columns(k: int) -> int:
    """The number of columns of the block from which eigenvectors for k clusters are found."""
    return k + SPARE


def bytes_needed(n: int, k: int, itemsize: int) -> float:
    """The bytes for the eigenvectors of n samples, and then for random signs."""
    m = how_many_vectors(n, k)
    basis = max(BLOCKS * _columns(k), m + SPARE + MORE * _columns(k))
    search = 2 * SINGLE * (basis + m + SPARE)
    return float(n) * max(search, m * itemsize + _PROBES * (3 * SINGLE + itemsize))


def diffuse_along_eigenvectors(
    K: Gram, k: int, steps: int | None = None
) -> tuple[Gram, SpectralDiffusion]:
    """K_t by the eigenvectors of S; steps that are not given are doubled until tr(S^t) ≤ 2k.

    Only a few eigenvalues still count after that many steps. Those that are known give their part
    of tr(S^t), and random signs the rest of it.
    """
    spectrum = spectrum_of(K, k)
    if steps is None:
        steps = FEWEST_STEPS
        while steps < MOST_STEPS and spectrum.trace(steps) > ENOUGH * k:
            steps *= 2
    diffusion = spectrum.diffusion(steps)
    return diffusion.gram(), diffusion


def spectrum_of(K: Gram, k: int) -> Spectrum:
    """The leading eigenvectors of S that k clusters need."""
    n, dtype = K.shape[0], K.dtype
    m = how_many_vectors(n, k)
    memory.require(
        bytes_needed(n, k, dtype.itemsize),
        f"Diffusion along {m} eigenvectors of {n} samples",
        "Set diffusion=0, or fit a part of the rows.",
    )
    K, order, back = K.reordered()
    with threads_for(K.flops * m):
        S, degrees = K.normalized(formed=False)
        if m == n:
            return _all_at_once(step(S, np.eye(n, dtype=dtype)), degrees).in_order(back)
        rough, known = S, None
        if sparse.issparse(S):
            rough, known = S.astype(np.float32, copy=False), _piece_vectors(S, degrees, m)
        rng = np.random.RandomState(0)
        values, U = leading(
            _products(S),
            rng.normal(size=(n, _columns(k))).astype(dtype)[order],
            m,
            wanted=min(ENOUGH * k, m),
            known=known,
            rough=None if rough is S else _products(rough),
        )
        values = np.clip(values.astype(np.float64), 0, 1)
        signs = (2 * rng.randint(2, size=(n, _PROBES)) - 1).astype(rough.dtype)[order]
        left_out = _left_out(rough, U.astype(rough.dtype, copy=False), signs)
    return Spectrum(U, values, degrees, left_out).in_order(back)


def _products(S: Any) -> Callable[[Array], Array]:
    return ByRows(S) if sparse.issparse(S) else lambda V: step(S, V)


def _piece_vectors(S: sparse.csr_array, degrees: Array, m: int) -> Array:  # (n, at most m)
    """The eigenvectors of eigenvalue 1: each is one of the largest separate pieces."""
    count, piece = csgraph.connected_components(S, directed=False)
    largest = np.argsort(-np.bincount(piece), kind="stable")[:m]
    column = np.full(count, -1)
    column[largest] = np.arange(len(largest))
    rows = np.flatnonzero(column[piece] >= 0)
    vectors = np.zeros((len(piece), len(largest)), S.dtype)
    vectors[rows, column[piece[rows]]] = _Parts.of(piece, degrees).vector[rows]
    return vectors


def _all_at_once(S: Array, degrees: Array) -> Spectrum:  # (n, n), (n,)
    """All eigenvectors by a dense solver.

    Of eigenvalues below zero the size counts, as it does where random signs tell what is left out.
    """
    values, U = linalg.eigh(S.astype(np.float64), driver="evd")
    values = np.minimum(np.abs(values), 1)
    order = np.argsort(-values, kind="stable")
    nothing = np.zeros((1, len(S)), S.dtype)
    return Spectrum(U[:, order].astype(S.dtype), values[order], degrees, nothing)


def _left_out(S: Any, U: Array, signs: Array) -> Array:  # (few, n)
    """The diagonal of S^t - UΛᵗUᵀ for t = 2, 4, ...

    For random signs z the square of (S^(t/2) (I - UUᵀ) z)_i is that in the mean.
    """
    Z = _beside(U, signs)
    found = []
    for turn in range(_PROBED_STEPS // 2):
        Z = step(S, Z)
        if turn % 2:  # U is not exact, and what is left of it fades least
            Z = _beside(U, Z)
        found.append(row_lengths(Z) / signs.shape[1])
    return np.array(found)


def _beside(U: Array, Z: Array) -> Array:  # (n, m), (n, k) -> (n, k)
    """What Z has beside the orthogonal columns of U."""
    return Z - tall_times(U, tall_inner(U, Z).astype(U.dtype))
