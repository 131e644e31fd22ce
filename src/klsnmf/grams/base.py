"""A matrix is its products.

The solver keeps the factors of many fits side by side in a *stack* of shape
``(fits, rows, k)`` and asks for the product of one matrix with all of them at
once. Only the operator knows how the product is computed, and which memory
order is fastest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..core import memory
from ..core.arithmetic import canonical, row_blocks
from ..core.arrays import namespace, on_host, precision, slices, to_host
from ..core.types import Array, Matrix

#: An order of samples, for rows of an array.
Order = slice | np.ndarray[Any, np.dtype[np.integer[Any]]]

#: How many columns are multiplied together; sparse products are fast with a few dozen or more.
COLUMNS = 128

#: Rows that are as good as one long row, for a sum with the same numbers in each.
_TOGETHER = 64


#: Kinds of sparse matrices whose products are used.
Stored = sparse.csr_array | sparse.csc_array


class Operator(ABC):
    """A matrix of shape (rows, columns) that can be multiplied with a stack."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]  # of the factors that go with it
    order: str  # "F" or "C", the memory order of each fit's (rows, k) block
    flops: float  # operations of one product with one column, to choose the number of threads

    @abstractmethod
    def multiply(self, V: Array, out: Array) -> None:
        """Write the product with every fit of the stack V into the stack out."""

    def stack(self, fits: int, rows: int, k: int) -> Array:  # (fits, rows, k)
        """Room for one factor of every fit, in the memory order that is best for products."""
        if self.order == "F":
            return np.zeros((fits, k, rows), self.dtype).transpose(0, 2, 1)
        return np.zeros((fits, rows, k), self.dtype)

    def hold(self, V: Array) -> Array:
        """A copy of a host array on the device and in the precision of the products."""
        return V.astype(self.dtype)

    def dot(self, V: Array) -> Array:  # (columns, k) -> (rows, k)
        """The product with a single block."""
        contiguous = V.flags.c_contiguous if self.order == "C" else V.flags.f_contiguous
        if contiguous and V.dtype == self.dtype:
            stack = V[None]
        else:
            stack = self.stack(1, *V.shape)
            stack[0] = V
        out = self.stack(1, self.shape[0], V.shape[1])
        self.multiply(stack, out)
        return out[0]


class Data(Operator):
    """The samples X of shape (n, p), dense or in CSR form; neither copied nor changed."""

    def __init__(self, X: Matrix) -> None:
        ready = not sparse.issparse(X) or (isinstance(X, Stored) and X.has_canonical_format)
        self.X = X if ready else canonical(X)
        self.shape = (X.shape[0], X.shape[1])
        self.dtype = X.dtype
        self.order = "C" if self.is_sparse else "F"
        self.flops = 2.0 * self.values.size

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def values(self) -> Array:
        """The entries that are stored."""
        return self.X.data if sparse.issparse(self.X) else self.X

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is below zero."""
        return bool(self.values.min(initial=0) >= 0)

    @cached_property
    def T(self) -> Data:
        if not self.is_sparse:
            return Data(self.X.T)
        transposed = Data(turned(self.X))
        transposed.along = turned(self.along)
        return transposed

    @cached_property
    def along(self) -> Matrix:
        """A sparse X with its entries in the order of the longer side.

        A product goes through one factor in this order and through the other at random. So that is
        the shorter one, which the processor's cache can hold.
        """
        return self.X.asformat("csr" if self.shape[0] >= self.shape[1] else "csc")

    def in_single_precision(self) -> Data:
        """A copy in float32; itself if it is that already, or if there is no room."""
        if self.dtype == np.float32 or not memory.fits(self.values.nbytes / 2):
            return self
        if self.is_sparse:
            rough = Data(with_values(self.along, self.along.data.astype(np.float32)))
        else:
            rough = Data(self.X.astype(np.float32))
        rough.square_sum = self.square_sum
        return rough

    def multiply(self, V: Array, out: Array) -> None:
        if self.is_sparse:
            for block, product in zip(V, out, strict=True):
                product[...] = self.along @ np.ascontiguousarray(block)
            return
        # (XV)ᵀ = VᵀXᵀ: in this order every fit's block is contiguous, and one product serves all.
        fits, p, k = V.shape
        np.matmul(V.mT.reshape(fits * k, p), self.X.T, out=out.mT.reshape(fits * k, self.shape[0]))

    @cached_property
    def square_sum(self) -> float:
        """‖X‖², added up in float64."""
        values = self.values.ravel(order="K")
        if values.dtype == np.float64:
            return float(np.vdot(values, values))
        return float(np.einsum("i,i->", values, values, dtype=np.float64))

    @cached_property
    def row_square_sums(self) -> Array:  # (n,)
        """‖x_i‖²."""
        if sparse.issparse(self.X):
            # What overflows is infinite, as in the sum below: checks say it in words.
            with np.errstate(over="ignore"):
                return np.asarray(self.X.power(2).sum(axis=1), self.dtype).ravel()
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))


def turned(X: Matrix) -> Matrix:
    """The transpose of a sparse matrix that has each entry once, without a copy or another look."""
    return as_canonical(X.T)


def with_values(X: Matrix, values: Array) -> Matrix:
    """A sparse matrix with other values in the same places, which it shares."""
    return as_canonical(type(X)((values, X.indices, X.indptr), shape=X.shape))


def as_canonical(X: Matrix) -> Matrix:
    """X, of which it is known that each entry is there once, in order: scipy would look again."""
    X.has_canonical_format = True
    return X


class Weights(Operator):
    """The symmetric weights A ≥ 0 of a graph of n samples."""

    @property
    @abstractmethod
    def degrees(self) -> Array:  # (n, 1)
        """The sums of the rows of A."""


class Gram(Operator):
    """A symmetric kernel matrix K.

    A new kind of Gram needs the abstract methods, ``order`` and the attributes below; everything
    else follows from them.
    """

    diagonal: Array  # (n,), the squared length of each sample in kernel space
    largest: float  # the largest |K_ij|, or a bound of it
    nonnegative: bool  # whether no entry of K is below zero

    def __init__(self, diagonal: Array, flops: float, largest: float, nonnegative: bool) -> None:
        n = diagonal.shape[0]
        self.shape, self.dtype, self.flops = (n, n), precision(diagonal), flops
        self.diagonal, self.largest, self.nonnegative = diagonal, largest, nonnegative

    #: The weights ω of samples, (n,), and √ω, (n, 1), which stands for the vector of ones. Only a
    #: `WeightedGram` has some.
    weight: Array | None = None
    root: Any = 1.0

    #: Whether its entries are at hand, as an array or a sparse matrix ``K``.
    stored: bool = False

    #: Whether products with factors are raised to what the diagonal gives, where an approximation
    #: leaves less: they are no longer those of one matrix, and bounds of eigenvalues do not hold.
    clipped: bool = False

    @property
    def trace(self) -> float:
        return float(to_host(self.diagonal).sum(dtype=np.float64))

    def count(self, some: Array) -> float:  # (n,)
        """How many samples these are."""
        return int(namespace(some).count_nonzero(some))

    def median(self, values: Array) -> float:  # (n,)
        """The median over samples."""
        return float(np.median(to_host(values)))

    def each(self, values: Array) -> Array:  # (n,)
        """What a sample has of something that its weight multiplies."""
        return values

    def entries(self) -> Matrix:  # (n, n)
        """All entries: those that are stored, or an array made of as many products as columns."""
        return self.dot(np.eye(self.shape[0], dtype=self.dtype))

    def normalized(self, *, formed: bool = True) -> tuple[Any, Array]:  # (n, n), (n,)
        """One step of diffusion S = Deg^-½ K Deg^-½, and the degrees.

        S is a matrix where entries are stored, unless ``formed`` says that another array of K's
        size is not wanted; else it is known by its products, as K is.
        """
        S = StepByProducts(self)
        return S, S.degrees

    @abstractmethod
    def column(self, i: int) -> Array:  # (n,)
        """Column i of K, dense."""

    @cached_property
    @abstractmethod
    def positive(self) -> Gram:
        """The Gram of K⁺ = max(K, 0)."""

    @abstractmethod
    def smallest_distance(self) -> float:
        """The smallest entry of D, D_ij = K_ii + K_jj - 2 K_ij, relative to ``largest``."""

    def in_single_precision(self) -> Gram:
        """The same matrix in single precision for faster rough work, if this is possible."""
        return self

    def reordered(self) -> tuple[Gram, Order, Order]:
        """K with its samples in an order that is good for products, the order, and the way back.

        If most entries of K are zero, products are fast if samples with links between them are
        close to each other in memory.
        """
        return self, slice(None), slice(None)

    def square_sums(self, weights: Array) -> Array:  # (n,) -> (n,)
        """Σ_j K_ij² w_j for w ≥ 0, from some columns of K at a time.

        A kind of Gram that has its entries in memory is faster.
        """
        n = self.shape[0]
        sums = np.zeros(n, self.dtype)
        for some in slices(n, COLUMNS):
            units = np.eye(n, some.stop - some.start, -some.start, self.dtype)
            sums += np.square(self.dot(units)) @ weights[some]
        return sums

    def distances(self, V: Array, KV: Array, scale: float = 1.0) -> Array:  # all (n, k)
        """scale · DV, with DV = 1(dᵀV) + d(1ᵀV) - 2KV: D is never formed.

        Rounding can leave a small negative number where K is close to constant; its size is
        all that it tells, so the sign is dropped.
        """
        d, xp = self.diagonal, namespace(V)
        DV = KV * (-2 * scale)
        if self.constant_diagonal:
            DV = with_row_added(DV, (2 * scale * float(d[0])) * column_sums(V))
        else:
            DV = with_row_added(DV, scale * (d @ V))
            # Transposed where V is: an array in the other memory order is slow to add.
            flat = not on_host(V) or V.flags.c_contiguous
            sums = scale * column_sums(V)
            DV += d[:, None] * sums if flat else (sums[:, None] * d).T
        return np.abs(DV, out=DV) if on_host(DV) else xp.abs(DV)

    def total_distance(self, W: Array, G: Array, WKG: float) -> float:
        """tr(WᵀDG), from a known ⟨W, KG⟩."""
        d, sums_W, sums_G = self.diagonal, column_sums(W), column_sums(G)
        if self.constant_diagonal:
            return 2 * float(d[0]) * float(sums_W @ sums_G) - 2 * WKG
        return float((d @ W) @ sums_G + sums_W @ (d @ G)) - 2 * WKG

    @cached_property
    def constant_diagonal(self) -> bool:
        """Whether all samples have the same length in kernel space, as with Gaussian kernels."""
        return bool(namespace(self.diagonal).all(self.diagonal == self.diagonal[0]))


class StepByProducts:
    """S = Deg^-½ K Deg^-½ for a K that is known by its products."""

    def __init__(self, K: Gram) -> None:
        self.K, self.shape, self.dtype = K, K.shape, K.dtype
        self.degrees = K.dot(np.ones((K.shape[0], 1), K.dtype))[:, 0]
        self.root = inverse_root(self.degrees)

    def __matmul__(self, V: Array) -> Array:  # (n, k) -> (n, k)
        return self.root * self.K.dot(self.root * V)


def inverse_root(values: Array) -> Array:  # (n,) -> (n, 1)
    """1/√v, or 0 for a sample that resembles none, not even itself."""
    xp = namespace(values)
    return xp.where(values > 0, 1 / xp.sqrt(xp.where(values > 0, values, 1)), 0)[:, None]


def fits_single_precision(largest: float, mean: float) -> bool:
    """Whether float32 is precise enough: numbers are neither far from 1 nor nearly equal."""
    return 1e-6 < largest < 1e6 and mean < 0.98 * largest


def column_sums(V: Array) -> Array:  # (n, k) -> (k,)
    """1ᵀV, some rows at a time where columns are not contiguous: faster, and more precise."""
    if not on_host(V):
        return namespace(V).sum(V, axis=0)
    if V.flags.f_contiguous:
        return np.asarray(V.sum(axis=0))
    return np.asarray(np.add.reduce([np.ones(len(A), V.dtype) @ A for A in row_blocks(V)]))


def with_row_added(V: Array, row: Array) -> Array:  # (n, k), (k,) -> (n, k)
    """V + 1·row, in place where numpy does so.

    numpy adds row by row, and rows are short: in C order, many of them are added as one long row.
    """
    if on_host(V) and V.flags.c_contiguous:
        n, k = V.shape
        whole = n - n % _TOGETHER
        V[:whole].reshape(-1, _TOGETHER * k)[...] += np.tile(row, _TOGETHER)
        V[whole:] += row
    else:
        V += row
    return V


def multiply_wide(product: Callable[[Array], Array], V: Array, out: Array) -> None:
    """The product, a function (n, columns) -> (m, columns), of a stack: some fits side by side."""
    fits, n, k = V.shape
    together = max(1, COLUMNS // k)
    for first in range(0, fits, together):
        some = V[first : first + together].transpose(1, 0, 2)
        done = product(np.ascontiguousarray(some).reshape(n, -1))
        out[first : first + together] = done.reshape(-1, *some.shape[1:]).transpose(1, 0, 2)
