"""The leading eigenvectors of a symmetric matrix that is known by its products.

Why not a library: ARPACK (scipy's eigsh) needed 0.3 to 0.9 of the time of `subspace_iteration` on
the neighbour graphs of digits and Semeion, which hang together. Graphs in pieces are what it cannot
do: of the 20 eigenvectors of eigenvalue 1 of 20 far blobs, 10,000 samples, it found 17 in 4.4 times
the time of a filtered subspace iteration, and 9 with a tolerance of 1e-3; on two moons of 10,000
samples it took 42 times as long. LOBPCG took 1.2 to 9 times as long. `leading` takes a third to a
fifth of the time of that iteration. One thread of an x86-64 server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .arithmetic import row_parts, tall_times, times
from .arrays import slices
from .bases import beside, orthogonal, tall_inner
from .types import Array, Labels
from .work import side_by_side, tell, threads_for, threads_of_blas

#: Up to this many samples eigenvectors are computed by a dense solver, which is fast there.
_SMALL = 400

#: Vectors beyond those asked for: the last ones of a block converge late.
SPARE = 8

#: Bytes of a number in single precision, in which most of the search is done.
SINGLE = 4

#: Plain subspace iteration: products between two orthogonalisations, and rounds at most.
_STEPS = 5
_ROUNDS = 12

#: What the leading vectors gain in a round that leaves them as they are, to all intents.
_STILL = 1e-5

#: With a filter: its degree for a first look, its lowest and its highest, how steeply it rises
#: between the edge and 1 (the hyperbolic cosine of this), further looks at many samples, of which
#: eigenvalues crowd, from what degree on they are worth it (twice that at few samples), how often
#: it is applied to a block of columns after them and in each round that follows, and the most
#: products.
_FIRST_DEGREE = 12
_LEAST_DEGREE = 4
_MOST_DEGREE = 200
_RISE = 5.0
_LOOKS = 2
_MANY = 5000
_HIGH_DEGREE = 7
BLOCKS = 6
MORE = 3
_MOST_PRODUCTS = 600

#: Residuals that are small enough, and as a share of the way from the last eigenvalue up to 1.
_RESIDUAL = 1e-3
_SHARE = 0.02

#: The least squared length that a lone sample must have beside the vectors that are known.
_BESIDE = 0.01

#: Eigenvalues this close to 1, in units of the precision, cannot be told from it; and this close
#: they are better looked for in a higher precision.
_UNRESOLVED = 64
_CROWDED = 2**13

#: Where the edge is before it is known, and how low it may go, as shares of the way from the lowest
#: eigenvalue up to 1; and how close to 1.
_FIRST_EDGE = 0.75
_LEAST_EDGE = 0.25
_LAST_EDGE = 1 - 1e-6

#: Products with a single vector that tell where eigenvalues begin.
_LANCZOS_STEPS = 12

#: Numbers to filter, times the degree, for which a thread more is worth it.
_NUMBERS_PER_THREAD = 2**21

#: Rows of a sparse product that are made together: they stay in the cache until they are used.
_TOGETHER = 2**12


class ByRows:
    """Products with a sparse matrix, all rows at once or some after the others."""

    def __init__(self, S: sparse.csr_array) -> None:
        self.S, self.parts = S, row_parts(S, -(-S.shape[0] // _TOGETHER))

    def __call__(self, V: Array) -> Array:  # (n, b) -> (n, b)
        return times(self.S, V)

    def some(self, V: Array) -> Iterator[tuple[slice, Array]]:
        """Rows, and these rows of the product."""
        return ((rows, part @ V) for rows, part in self.parts)

    def lone(self, edge: float, most: int) -> tuple[Labels, Array]:
        """Samples that are eigenvectors beyond the edge by themselves, and their residuals.

        The row of such a sample is its diagonal, to within a residual that is small enough.
        """
        diagonal = self.S.diagonal()
        found = np.argsort(-diagonal, kind="stable")[:most]
        found = found[diagonal[found] > edge]
        rows = self.S[found].tocoo()
        links = rows.col != found[rows.row]
        squares = np.bincount(rows.row[links], np.square(rows.data[links]), len(found))
        hardly = squares <= _RESIDUAL**2
        return found[hardly], np.sqrt(squares[hardly])


def subspace_iteration(
    multiply: Callable[[Array], Array], n: int, k: int, rng: np.random.RandomState
) -> tuple[Array, Array]:  # (k,), (n, k)
    """The largest eigenvalues of a symmetric matrix, known by its products, and their vectors.

    A neighbour graph often falls into pieces, and then the largest eigenvalue has as many
    eigenvectors as there are pieces: a block of vectors finds them all, where Lanczos iterations,
    which grow from a single vector, miss most of them. Not many digits are needed here.
    """
    if n <= _SMALL:
        S = multiply(np.eye(n))
        values, vectors = linalg.eigh((S + S.T) / 2, subset_by_index=(n - k, n - 1))
        return values[::-1], vectors[:, ::-1]
    Q = rng.normal(size=(n, min(n, k + SPARE)))
    for _ in range(_ROUNDS):
        before = Q
        for _ in range(_STEPS):
            Q = multiply(Q)
        Q = orthogonal(Q)
        leading = Q[:, :k]
        if linalg.norm(leading - before @ (before.T @ leading)) < _STILL:
            break
    values, small = linalg.eigh(Q.T @ multiply(Q))
    return values[::-1][:k], (Q @ small)[:, ::-1][:, :k]


def leading(
    multiply: Callable[[Array], Array],
    Q: Array,
    m: int,
    *,
    wanted: int | None = None,
    known: Array | None = None,
    rough: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:  # (m,), (n, m)
    """The m largest eigenvalues of a matrix with eigenvalues in [-1, 1], and their vectors.

    Filtered block Krylov iteration from the block Q, (n, b). The filter is a Chebyshev polynomial,
    which stays small from the lowest eigenvalue to an edge and rises steeply above it, so that on
    long thin curves, where eigenvalues crowd below 1, a hundred products do the work of thousands.
    Filtered again and again, a block of few columns spans many eigenvectors: several times fewer
    products than all of them together would take. It finds an eigenvalue as often as the block has
    columns; ``known`` are eigenvectors of eigenvalue 1, (n, c), if there may be more. Where the
    ``wanted`` leading ones of the m are not yet found then, a block of those that are known worst
    goes on beside all others, by an edge that follows the smallest eigenvalue found so far. Q is
    overwritten.

    ``rough`` multiplies in single precision. It goes as far as the tolerance asks, in half the
    time, unless eigenvalues crowd too close to 1 or rounding is all that is left.
    """
    V = np.empty((len(Q), 0), Q.dtype) if known is None else known[:, :m].astype(Q.dtype)
    c = V.shape[1]
    if c == m:
        return np.ones(m), V
    search = _Search(V, m - c, max(wanted or m, c) - c)
    if rough is None:
        search.begin(multiply, Q)
    else:
        search.known = V.astype(np.float32)
        search.begin(rough, Q.astype(np.float32))
        before = np.inf
        while search.goes_on(_CROWDED) and search.residual <= before / 2:
            before = search.residual
            search.filter(rough)
        search.known = V
        search.continue_in(Q.dtype, multiply)
    while search.goes_on(_UNRESOLVED):
        search.filter(multiply)
    found = np.concatenate([np.ones(c), search.values]), np.hstack([V, search.Q])
    return found[0][:m], found[1][:, :m]


class _Search:
    """Where a search stands: its vectors, their eigenvalues, and the edge of the next filter.

    All of it is beside the vectors that are known.
    """

    Q: Array  # (n, at most m + SPARE)
    values: Array
    residual: float  # the largest of the wanted vectors, in units of what is small enough
    worst: Array  # (b,), places of the wanted vectors with the largest residuals, then of others
    b: int  # columns of a block
    lone: Labels  # samples that are eigenvectors by themselves, all but
    links: Array  # how much these leave over

    def __init__(self, known: Array, m: int, wanted: int) -> None:
        self.known, self.m, self.wanted = known, m, wanted
        self.low, self.products, self.residual = -1.0, 0, np.inf
        self.edge = self._up(_FIRST_EDGE)
        self.lone, self.links = np.empty(0, np.intp), np.empty(0)

    def _up(self, share: float) -> float:
        """A share of the way from the lowest eigenvalue up to 1."""
        return self.low + share * (1 - self.low)

    def goes_on(self, unresolved: float) -> bool:
        """Whether vectors are not yet found, and can be told apart in this precision."""
        enough = self.residual < 1 or self.products > _MOST_PRODUCTS
        return not enough and self._resolved(unresolved, self.Q)

    def _resolved(self, unresolved: float, V: Array) -> bool:
        return 1 - self.edge >= unresolved * float(np.finfo(V.dtype).eps)

    def begin(self, multiply: Callable[[Array], Array], block: Array) -> None:  # (n, b)
        """Looks at the block tell where the edge is; then it is filtered again and again.

        A first look from random columns sees an edge that is far too low where eigenvalues crowd
        below 1. The next ones begin where it ended. Samples that are eigenvectors beyond that edge
        by themselves need no filter: of 300,000 samples with outliers most of the leading vectors
        are single outliers, and would take most of the products.
        """
        n, self.b = block.shape
        self.low = lowest(multiply, block[:, :1])
        self.edge = self._up(_FIRST_EDGE)
        block = self._look(multiply, self.known, block, _FIRST_DEGREE)
        lone = self._lone_vectors(multiply)
        c, e = self.known.shape[1], lone.shape[1]
        least = self.b * max(-(-(self.m + SPARE - e) // self.b), 1)
        V = self._room(n, max(self.b * BLOCKS, least, e + self.b * MORE), block.dtype)
        V[:, c : c + e] = lone
        given = V[:, : c + e]
        if e:
            block = beside(given, block)
        looks, worth_it = (_LOOKS, _HIGH_DEGREE) if n > _MANY else (1, 2 * _HIGH_DEGREE)
        for _ in range(looks):
            if self._degree() >= worth_it:
                block = self._look(multiply, given, block, self._degree())
        V[:, c + e :][:, : self.b] = block[:, : V.shape[1] - c - e]
        filled, edge = e + self.b, self.edge
        room = V.shape[1] - c
        for columns in (*range(e + least, room, least), room):
            self.edge = edge
            block = self._extend(multiply, V, block, filled, columns)
            filled = columns
            if not self.goes_on(0):  # there may be enough before the end
                return

    def _lone_vectors(self, multiply: Callable[[Array], Array]) -> Array:  # (n, e)
        """An orthogonal basis of what lone samples have beside the vectors that are known."""
        n, dtype = len(self.known), self.known.dtype
        if isinstance(multiply, ByRows):
            self.lone, self.links = multiply.lone(self.edge, min(self.m + SPARE, n - self.b))
        if not len(self.lone):
            return np.empty((n, 0), dtype)
        A = self.known[self.lone].astype(np.float64)
        # Of a piece in which all samples are lone its eigenvector is known.
        lengths, small = linalg.eigh(np.eye(len(A)) - A @ A.T)
        small = small[:, lengths > _BESIDE] / np.sqrt(lengths[lengths > _BESIDE])
        found = -tall_times(self.known, (A.T @ small).astype(dtype))
        found[self.lone] += small.astype(dtype)
        return found

    def _look(
        self, multiply: Callable[[Array], Array], given: Array, block: Array, degree: int
    ) -> Array:  # (n, c), (n, b) -> (n, b)
        """The block filtered, beside what is given; its smallest eigenvalue tells the edge."""
        block = beside(given, self._filtered(multiply, block, degree))
        with threads_for(0):
            first = linalg.eigvalsh(tall_inner(block, multiply(np.ascontiguousarray(block))))
        self._edge_at(first[0])
        if not self._resolved(_UNRESOLVED, block):  # the block is all there is at 1, as it seems
            self.edge = self._up(_FIRST_EDGE)
        return block

    def _room(self, n: int, columns: int, dtype: np.dtype[Any]) -> Array:
        """For the vectors that are known, and so many others."""
        c = self.known.shape[1]
        V = np.empty((n, min(c + columns, n)), dtype, order="F")
        V[:, :c] = self.known
        return V

    def _extend(
        self, multiply: Callable[[Array], Array], V: Array, block: Array, filled: int, columns: int
    ) -> Array:
        """Filter the block again and again, until so many columns are filled; the last block."""
        c = self.known.shape[1]
        end = min(c + columns, V.shape[1])
        for start in range(c + filled, end, self.b):
            block = self._filtered(multiply, block, self._degree())
            block = beside(V[:, :start], block)[:, : end - start]
            V[:, start : start + block.shape[1]] = block
        self.Q = V[:, c:end]
        self.align(multiply)
        return block

    def continue_in(self, dtype: np.dtype[Any], multiply: Callable[[Array], Array]) -> None:
        """Go on from here in a higher precision, with as many products as from the beginning."""
        unfinished = self.goes_on(0) or not self._resolved(_CROWDED, self.Q)
        self.Q, self.products = self.Q.astype(dtype), 0
        if unfinished:
            # A filter of all that is below the first edge takes the rounding away, which one with
            # an edge close to 1 would leave there.
            self.edge = self._up(_FIRST_EDGE)
            block = self._filtered(multiply, np.ascontiguousarray(self.Q), self._degree())
            self.Q = beside(self.known, block)
            self.align(multiply)

    def filter(self, multiply: Callable[[Array], Array]) -> None:
        """Filter the block of vectors that are known worst again and again, beside all others.

        To filter all of them would take several times as many products.
        """
        Q, filled = self.Q, self.Q.shape[1]
        V = self._room(len(Q), filled + MORE * self.b, Q.dtype)
        V[:, self.known.shape[1] :][:, :filled] = Q
        block, end = np.ascontiguousarray(Q[:, self.worst]), filled + MORE * self.b
        for columns in range(filled, end, self.b):
            block = self._extend(multiply, V, block, columns, columns + self.b)
            if not self.goes_on(0):
                return

    def _edge_at(self, value: float) -> None:
        self.edge = float(np.clip(value, self._up(_LEAST_EDGE), _LAST_EDGE))

    def _degree(self) -> int:
        """As high as the filter must be to rise so much between the edge and 1."""
        steepness = np.sqrt(4 * (1 - self.edge) / (self.edge - self.low))
        return int(np.clip(_RISE / steepness, _LEAST_DEGREE, _MOST_DEGREE))

    def _filtered(self, multiply: Callable[[Array], Array], Q: Array, degree: int) -> Array:
        """Columns know nothing of each other: each thread has some, and waits for nobody."""
        self.products += degree
        tell("eigenvectors", min(self.products, _MOST_PRODUCTS), _MOST_PRODUCTS)
        threads = min(1 + int(Q.size * degree // _NUMBERS_PER_THREAD), Q.shape[1])
        threads = threads_of_blas(threads)
        if threads == 1:
            return _filtered(multiply, Q, self.low, self.edge, degree)
        found = np.empty_like(Q)

        def work(columns: slice) -> None:
            part = np.ascontiguousarray(Q[:, columns])
            found[:, columns] = _filtered(multiply, part, self.low, self.edge, degree)

        side_by_side(work, list(slices(Q.shape[1], -(-Q.shape[1] // threads))))
        return found

    def align(self, multiply: Callable[[Array], Array]) -> None:
        """The best eigenvectors that the orthogonal columns span, and how good they are."""
        V, product = self.Q, np.empty_like(self.Q)
        for some in slices(V.shape[1], self.b):  # a copy of all columns would take as much as V
            product[:, some] = multiply(np.ascontiguousarray(V[:, some]))
        self.products += 1
        with threads_for(0):
            # In single precision its own rounding would be most of the residual.
            values, small = linalg.eigh(tall_inner(V, product))
        kept = slice(-1, -1 - min(self.m + SPARE, len(values)), -1)
        self.values = values[kept].astype(V.dtype)
        small = np.ascontiguousarray(small[:, kept], V.dtype)
        self.Q, product = tall_times(V, small), tall_times(product, small)
        product -= self.Q * self.values
        self._edge_at(self.values[-1])
        residuals = np.sqrt(np.einsum("ij,ij->j", product, product)) / self._small_enough()
        self.residual = float(residuals[: self.wanted].max(initial=0))
        wanted = np.argsort(-residuals[: self.wanted])
        self.worst = np.concatenate([wanted, np.arange(self.wanted, len(residuals))])[: self.b]

    def _small_enough(self) -> Array:  # (m,)
        """The residual that each vector may have, beside what lone samples leave over in it.

        That is spread over samples with many links, whose eigenvalues are far away: the vector is
        much closer to the true one than its residual says.
        """
        left = self.links[:, None] * self.Q[self.lone]
        return min(_RESIDUAL, _SHARE * (1 - self.edge)) + np.sqrt(np.square(left).sum(axis=0))


def lowest(multiply: Callable[[Array], Array], start: Array) -> float:  # (n, 1)
    """A lower bound of the eigenvalues, by a few steps of Lanczos's iteration; -1 at least.

    The smallest Ritz value less the length of what is left (Zhou and Li, "Bounding the spectrum of
    large Hermitian matrices", 2011). A sample is most alike itself, so that steps between samples
    have hardly any eigenvalue below zero: in clusters of 50 dimensions they begin at 0.75, and a
    filter that knows it takes a third of the products.
    """
    before, now = np.zeros_like(start), start / linalg.norm(start)
    diagonal, beside = list[float](), [0.0]
    for _ in range(min(_LANCZOS_STEPS, len(start))):
        following = multiply(now) - beside[-1] * before
        diagonal.append(float(np.vdot(now, following)))
        following -= diagonal[-1] * now
        beside.append(float(linalg.norm(following)))
        if beside[-1] == 0:
            break
        before, now = now, following / beside[-1]
    ritz = linalg.eigvalsh_tridiagonal(diagonal, beside[1:-1])
    return max(float(ritz[0]) - beside[-1], -1.0)


def _filtered(
    multiply: Callable[[Array], Array], Q: Array, low: float, edge: float, degree: int
) -> Array:
    """T(A) Q, T the Chebyshev polynomial of [low, edge], scaled to T(1) = 1; Q is overwritten.

    A row of the next iterate takes the place of that row of the last but one, which nobody else
    needs: memory is gone through once for each product.
    """
    half, middle = (edge - low) / 2, (edge + low) / 2
    scale = first = half / (1 - middle)
    before, now = Q, multiply(Q)
    now -= middle * before
    now *= scale / half
    for _ in range(degree - 1):
        following = 1 / (2 / first - scale)
        for rows, product in _some_rows(multiply, now):
            product -= middle * now[rows]
            product *= 2 * following / half
            before[rows] *= -scale * following
            before[rows] += product
        before, now, scale = now, before, following
    return now


def _some_rows(
    multiply: Callable[[Array], Array], V: Array
) -> Iterator[tuple[slice, Array]]:  # (n, b)
    """Rows, and these rows of the product; all at once where they cannot be had in parts."""
    if isinstance(multiply, ByRows):
        return multiply.some(V)
    return iter([(slice(None), multiply(V))])
