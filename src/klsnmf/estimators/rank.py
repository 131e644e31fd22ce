"""How many components data have, found with entries that are hidden from the fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..core.types import Array
from ..core.work import steps
from .factor import WNMF
from .validate import as_numbers

#: The share of the known entries that is hidden, and how many times this is repeated.
HIDDEN = 0.1
REPEATS = 3


@dataclass(frozen=True)
class RankEvidence:
    """The evidence for each number of components.

    Attributes
    ----------
    ranks : the numbers that were tried
    errors : root mean squared errors of hidden entries, of shape (repeats, ranks)
    chosen : the smallest rank whose mean error is within one standard error of the lowest
    """

    ranks: tuple[int, ...]
    errors: Array
    chosen: int

    @property
    def mean(self) -> Array:  # (ranks,)
        return self.errors.mean(axis=0)

    def __str__(self) -> str:
        lines = ["components  error of hidden entries"]
        for rank, error in zip(self.ranks, self.mean, strict=True):
            lines.append(f"{rank:>10}  {error:.4g}{'  chosen' if rank == self.chosen else ''}")
        return "\n".join(lines)


def rank_evidence(X: Any, ranks: Iterable[int], **params: Any) -> RankEvidence:
    """How well :class:`WNMF` of each rank predicts entries of X that it has not seen.

    A tenth of the known entries is hidden at random, and this is done three times. With too few
    components the prediction misses structure; with too many it follows the noise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), nonnegative; NaN for unknown entries
    ranks : iterable of int
        The numbers of components to try, such as ``range(2, 15)``.
    **params : further parameters of :class:`WNMF`
        ``n_init=1`` unless given.

    Returns
    -------
    RankEvidence
    """
    tried = tuple(sorted({int(rank) for rank in ranks}))
    if not tried:
        raise ValueError("ranks is empty; give at least one number of components.")
    params = {"n_init": 1, **params}
    X = as_numbers(WNMF(), X, gaps=True)
    if not isinstance(X, np.ndarray):
        X = np.asarray(X.toarray())
    if tried[0] < 1 or tried[-1] > min(X.shape):
        raise ValueError(
            f"ranks go from {tried[0]} to {tried[-1]}; with X of shape {X.shape} they must be "
            f"between 1 and {min(X.shape)}."
        )
    rng = check_random_state(params.pop("random_state", None))
    known = np.argwhere(~np.isnan(X))
    if len(known) < 10:
        raise ValueError(f"X has {len(known)} known entries; that is too few to hide any.")
    errors = np.empty((REPEATS, len(tried)))
    for repeat in steps(range(REPEATS), "parts that are hidden"):
        hidden = tuple(known[rng.random_sample(len(known)) < HIDDEN].T)
        seen = X.copy()
        seen[hidden] = np.nan
        seed = int(rng.randint(2**31))
        for place, rank in enumerate(tried):
            model = WNMF(rank, random_state=seed, **params).fit(seen)
            found = model.inverse_transform(model.G_)[hidden]
            errors[repeat, place] = np.sqrt(np.mean((found - X[hidden]) ** 2))
    mean = errors.mean(axis=0)
    best = int(np.argmin(mean))
    within = mean[best] + errors[:, best].std(ddof=1) / np.sqrt(REPEATS)
    chosen = next(rank for rank, error in zip(tried, mean, strict=True) if error <= within)
    return RankEvidence(tried, errors, chosen)
