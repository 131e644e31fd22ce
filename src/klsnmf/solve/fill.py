"""Missing entries of a table: factors fitted to the known ones, and rows that are alike.

First, a mean of several factorizations GFᵀ with a ridge fills the gaps. It knows what holds for the
whole table. Then the distances of rows of the filled table are known, and a missing entry is the
weighted mean of the nearest rows in which it is known. Done once more with the table that this
fills, it finds better neighbours. The guess is a mixture of these three and of the means of the
columns, with weights that fit entries best that were hidden. So are the rank and the ridge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ..core.arithmetic import all_distances
from ..core.arrays import slices
from ..core.types import Array
from ..grams.base import Data
from ..models.extrapolated import Extrapolated
from ..models.nmf import FilledNMF, Penalty
from ..models.quadratic import swept_by_row
from .loop import solve

#: The share of the known entries that is hidden to choose by, and the fewest.
HIDDEN = 0.1
FEWEST = 20

#: Ranks that are tried, one after the other while the error falls, and ridges as shares of the
#: largest singular value. The search begins with the first ridge.
RANKS = tuple(5 * 2**power for power in range(8))
RIDGES = (0.01, 0.003, 0.001, 0.03, 0.1)

#: A guess is the mean of so many rows. They are among the nearest ones, as many times more as
#: entries are unknown, but no more than this.
NEIGHBOURS = 10
MOST_LOOKED_AT = 100

#: The most rows whose known entries are used, drawn at random.
MOST_ROWS = 20_000

#: How many numbers are handled together.
_BLOCK = 2**22

#: Sweeps for the coefficients of new rows.
_SWEEPS = 200


@dataclass(frozen=True)
class Settings:
    """What fits have in common.

    Attributes
    ----------
    fits : how many are averaged
    max_iter, tol : of each of them
    """

    fits: int
    max_iter: int
    tol: float
    rng: np.random.RandomState


@dataclass(frozen=True)
class Factors:
    """Prototypes of several fits, each (p, k), found with a ridge in so many iterations."""

    prototypes: tuple[Array, ...]
    ridge: float
    n_iter: int

    @property
    def rank(self) -> int:
        return self.prototypes[0].shape[1]

    def guess(self, X: Array) -> Array:  # (m, p) -> (m, p)
        """The mean of GFᵀ with the best G of each fit, for rows that were not in it."""
        M = (~np.isnan(X)).astype(X.dtype)
        X = np.nan_to_num(X)
        total = np.zeros_like(X)
        for F in self.prototypes:
            G = np.zeros((len(X), F.shape[1]), X.dtype)
            G = swept_by_row(G, M, F, X @ F, _SWEEPS, self.ridge, goes_on=1e-3)
            total += G @ F.T
        return total / len(self.prototypes)


@dataclass(frozen=True)
class Filling:
    """How gaps are filled.

    Attributes
    ----------
    factors : the factorizations
    donors : (n, p) the rows with known entries, NaN elsewhere
    tables : the donors as the first and as the second search for neighbours sees them
    means : (p,) of the known entries
    weights : the shares of the factorizations, of both searches, and of the means
    error : root mean squared error of hidden entries; NaN if too few are known to hide any
    """

    factors: Factors
    donors: Array
    tables: tuple[Array, Array]
    means: Array
    weights: Array
    error: float

    def filled(self, X: Array) -> Array:  # (m, p) -> (m, p)
        """Rows that were not in the fit."""
        first = self.factors.guess(X)
        second = by_neighbours(X, first, self.donors, self.tables[0])
        third = by_neighbours(X, second, self.donors, self.tables[1])
        return mixture(X, [first, second, third, means_for(X, self.means)], self.weights)


def filling(
    X: Array, rank: int | None, settings: Settings
) -> tuple[Filling, Array]:  # (n, p) -> _, (n, p)
    """The filling with the lowest error of hidden entries, and X filled. No entry is negative."""
    known = np.argwhere(~np.isnan(X))
    hidden = tuple(known[settings.rng.random_sample(len(known)) < HIDDEN].T)
    norm = largest_singular_value(X)
    best = Tried(rank or 1, RIDGES[0] * norm, np.array([1.0, 0, 0, 0]), np.nan)
    if len(hidden[0]) >= FEWEST:
        best = min(tried_out(X, hidden, rank, norm, settings), key=lambda one: one.error)
    factors, guess = fitted(X, best.rank, best.ridge, settings)
    some = donors_of(X, settings.rng)
    donors = X[some]
    guesses = all_guesses(X, guess, donors, some)
    first, second = (np.where(np.isnan(donors), each[some], donors) for each in guesses[:2])
    found = Filling(factors, donors, (first, second), means(X), best.weights, best.error)
    return found, mixture(X, guesses, best.weights)


@dataclass(frozen=True)
class Tried:
    """A rank and a ridge, the weights of guesses that go with them, and the error."""

    rank: int
    ridge: float
    weights: Array
    error: float


def tried_out(
    X: Array, hidden: tuple[Array, ...], rank: int | None, norm: float, settings: Settings
) -> Iterator[Tried]:
    """Higher ranks while the error of hidden entries falls, then other ridges for the best rank."""
    seen = X.copy()
    seen[hidden] = np.nan

    some = donors_of(seen, settings.rng)

    def judged(rank: int, share: float) -> Tried:
        _, guess = fitted(seen, rank, share * norm, settings)
        guesses = all_guesses(seen, guess, seen[some], some)
        values = np.stack([each[hidden] for each in guesses], axis=1).astype(np.float64)
        truth = X[hidden].astype(np.float64)
        weights = shares(values, truth)
        error = float(np.sqrt(np.mean((values @ weights - truth) ** 2)))
        return Tried(rank, share * norm, weights, error)

    ranks = [rank] if rank else [each for each in RANKS if each < min(X.shape)] or [1]
    least, chosen = np.inf, ranks[0]
    for each in ranks:
        found = judged(each, RIDGES[0])
        yield found
        if not found.error < least:
            break
        least, chosen = found.error, each
    for way in (RIDGES[1:3], RIDGES[3:]):
        for ridge in way:
            found = judged(chosen, ridge)
            yield found
            if not found.error < least:
                break
            least = found.error


def donors_of(X: Array, rng: np.random.RandomState) -> Any:
    """The rows whose known entries are used: all, or some at random."""
    if len(X) <= MOST_ROWS:
        return slice(None)
    return np.sort(rng.choice(len(X), MOST_ROWS, replace=False))


def all_guesses(X: Array, first: Array, donors: Array, some: Any) -> list[Array]:
    """By factors, by both searches for neighbours among ``some`` rows of X, and by the means."""
    known = ~np.isnan(donors)
    second = by_neighbours(X, first, donors, np.where(known, donors, first[some]))
    third = by_neighbours(X, second, donors, np.where(known, donors, second[some]))
    return [first, second, third, means_for(X, means(X))]


def means(X: Array) -> Array:  # (n, p) -> (p,)
    """Of the known entries of each column, or 0."""
    return np.nan_to_num(X).sum(axis=0) / np.maximum((~np.isnan(X)).sum(axis=0), 1)


def means_for(X: Array, means: Array) -> Array:  # (m, p), (p,) -> (m, p)
    return np.broadcast_to(means.astype(X.dtype), X.shape)


def mixture(X: Array, guesses: list[Array], weights: Array) -> Array:
    guess = np.tensordot(weights, np.stack(guesses), 1)
    return np.where(np.isnan(X), guess, X)


def shares(guesses: Array, truth: Array) -> Array:  # (m, 4), (m,) -> (4,)
    """The w ≥ 0 with sum 1 and the smallest squared error; the sum is a very heavy equation."""
    heavy = 1e3 * np.linalg.norm(guesses)
    A = np.vstack([guesses, np.full(guesses.shape[1], heavy)])
    weights, _ = nnls(A, np.append(truth, heavy))
    return weights / weights.sum()


def fitted(
    X: Array, rank: int, ridge: float, settings: Settings
) -> tuple[Factors, Array]:  # (n, p) -> _, (n, p)
    """Fits from random starts, side by side, and the mean of their GFᵀ."""
    M = (~np.isnan(X)).astype(X.dtype)
    X = np.where(M > 0, X, 0)
    size = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    if size == 0:
        return Factors((np.zeros((X.shape[1], rank), X.dtype),), ridge, 0), X
    penalty = Penalty(square=ridge)
    model = Extrapolated(FilledNMF(Data(X), M, size, on_G=penalty, on_F=penalty))
    width = 2 * np.sqrt(X.sum() / M.sum() / rank)
    starts = [
        {
            name: (width * (1 - settings.rng.uniform(size=(rows, rank)))).astype(X.dtype)
            for name, rows in zip(("G", "F"), X.shape, strict=True)
        }
        for _ in range(settings.fits)
    ]
    found = solve(
        [model] * settings.fits,
        starts,
        max_iter=settings.max_iter,
        tol=settings.tol,
        phase=f"rank {rank}",
    )
    guess = np.mean([one.factors["G"] @ one.factors["F"].T for one in found], axis=0)
    prototypes = tuple(np.ascontiguousarray(one.factors["F"]) for one in found)
    return Factors(prototypes, ridge, max(one.n_iter for one in found)), guess


def by_neighbours(X: Array, guess: Array, donors: Array, table: Array) -> Array:
    """Each entry as the mean of the nearest donors that know it, weighted by 1/d⁴; else the guess.

    Rows of X are compared by their known entries and their guesses, and donors by ``table``.
    """
    known = ~np.isnan(donors)
    share = max(known.mean(), 1e-3)
    looked_at = min(int(np.ceil(1.5 * NEIGHBOURS / share)), MOST_LOOKED_AT, len(donors))
    values = np.where(known, donors, 0)
    full, found = np.where(np.isnan(X), guess, X), guess.copy()
    gaps = np.flatnonzero(np.isnan(X).any(axis=1))
    together = max(1, _BLOCK // max(len(donors), looked_at * X.shape[1]))
    for some in slices(len(gaps), together):
        rows = gaps[some]
        d2 = all_distances(full[rows], table)
        near = np.argpartition(d2, looked_at - 1, axis=1)[:, :looked_at]
        d2 = np.take_along_axis(d2, near, axis=1)
        order = np.argsort(d2, axis=1, kind="stable")
        near, d2 = (np.take_along_axis(A, order, axis=1) for A in (near, d2))
        least = np.finfo(d2.dtype).eps * np.maximum(d2[:, -1:], np.finfo(d2.dtype).tiny)
        weight = (d2[:, -1:] / np.maximum(d2, least)) ** 2
        used = known[near]  # (rows, looked_at, p)
        used &= np.cumsum(used, axis=1) <= NEIGHBOURS
        share_of = weight[:, :, None] * used
        total = share_of.sum(axis=1)
        mean = np.einsum("ijp,ijp->ip", share_of, values[near]) / np.where(total > 0, total, 1)
        found[rows] = np.where(np.isnan(X[rows]) & (total > 0), mean, guess[rows])
    return found


def largest_singular_value(X: Array) -> float:
    """Of X with zeros for its gaps, by the power method: a few digits will do."""
    X = np.nan_to_num(X)
    v: Any = X.sum(axis=0)
    for _ in range(20):
        v = v / max(float(np.linalg.norm(v)), np.finfo(X.dtype).tiny)
        v = X.T @ (X @ v)
    return float(np.sqrt(np.linalg.norm(v)))
