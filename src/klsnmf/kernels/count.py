"""How many clusters? What the slow directions of a walk say of it, without labels.

A walk on a graph of samples forgets where it began, in one direction after the other: 1 - λ_j is
how much of direction j is lost in a step. Where there are k clusters, k directions are slow, and
three things can be seen.

*Persistence*. The walk forgets all but the k clusters after about 1 / (1 - λ_{k+1}) steps, and the
clusters themselves after 1 / (1 - λ_k). The time in between, in logarithms, is how long just k
clusters are seen. It is long for pieces, rings and spirals too.

*Clarity*. A direction that tells clusters apart is constant in each of them. So k clusters explain
the variance of the k slow directions. The directions of a single piece are waves, and no cuts
explain more than a share of a wave: 81 % of one along a line, 64 % where samples are normal,
less where there are more dimensions, and more where few samples are in a cluster. Clarity is what
is explained beyond that.

*Evenness*. A cluster that has nearly all samples and k - 1 specks beside it can be as clear, and
say next to nothing. Evenness is (e - 1) / (k - 1), with e the effective number of clusters, exp of
the entropy of their sizes: 1 if they are equal, and nearly 0 for specks.

The score of k is √persistence · clarity² · evenness · (k - 1)^¾: in a single piece persistence
falls like 1 / k, and that must not count for few clusters. Data may have clusters of clusters, and
often the coarse ones are the clearer ones. So the finest number is taken whose score comes near the
best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Array

#: Rates are known to this; and no walk among n samples that are linked takes much more than n²
#: steps.
KNOWN_TO = 1e-6

#: The share of slow directions that cuts of a single piece explain (see ``by_chance``).
_LEAST_CHANCE = 0.6
_CHANCE = 0.71
_OF_FEW = 0.25
_OF_TWO = 0.28
_ALL = 0.97

#: The finest number is taken whose score is at least this share of the best.
NEAR = 0.6

#: Below this no number stands out: all samples are one cluster. Of 120 draws of samples without
#: clusters, normal and uniform in 2, 10 and 50 dimensions, 95 % stay below it.
LEAST = 0.012

#: An answer is clear if its score is at least this, and no other number has more than this share of
#: it. That all samples are one piece is clear where no number has a tenth of the least score.
CLEAR = 1.5
RIVAL = 0.4
_NOTHING = LEAST / 10

#: Candidates that are told where the answer is not clear.
_TOLD = 3

#: Of two numbers of clusters within this ratio only the better is a level.
_SAME_LEVEL = 1.25

#: A level has at least this share of the best score, and there are no more than so many.
_LEVEL = 0.1
_MOST_LEVELS = 5


@dataclass(frozen=True, repr=False)
class Evidence:
    """The evidence for each number of clusters.

    Attributes
    ----------
    candidates : ndarray of shape (n_candidates,)
        Numbers of clusters, from 2 up.
    persistence : ndarray of shape (n_candidates,)
        How long just so many clusters are seen by a walk, in logarithms: log (1 - λ_{k+1}) /
        (1 - λ_k).
    explained : ndarray of shape (n_candidates,)
        The share of the variance of the k slow directions that k clusters explain.
    by_chance : ndarray of shape (n_candidates,)
        What cuts of a single piece would explain of them.
    score : ndarray of shape (n_candidates,)
        √persistence · clarity² · evenness · (k - 1)^¾, clarity = (explained - by_chance) / (1 -
        by_chance), evenness that of the sizes of the clusters.
    eigenvalues : ndarray
        The largest of S = Deg^-½ K Deg^-½, in descending order.
    chosen : int
        The number of clusters that was taken.
    """

    candidates: Array
    persistence: Array
    explained: Array
    by_chance: Array
    score: Array
    eigenvalues: Array
    chosen: int

    @property
    def clarity(self) -> Array:
        """What is explained beyond chance, as a share of what could be."""
        return clarity(self.explained, self.by_chance)

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of clusters that persist: the chosen one, then the others, best first."""
        if self.chosen == 1:
            return (1,)
        found = [self.chosen]
        for place in np.argsort(-self.score, kind="stable"):
            k = int(self.candidates[place])
            apart = all(max(k, one) > _SAME_LEVEL * min(k, one) for one in found)
            if apart and self.score[place] >= max(LEAST, _LEVEL * self.score.max()):
                found.append(k)
        return tuple(found[:_MOST_LEVELS])

    @property
    def best(self) -> tuple[int, ...]:
        """The chosen number and those that come next to it in score, three in all."""
        order = [int(k) for k in self.candidates[np.argsort(-self.score, kind="stable")]]
        scored = [k for k in order if self.of(k, "score") > _NOTHING and k != self.chosen]
        return (self.chosen, *scored[: _TOLD - 1])

    @property
    def clear(self) -> bool:
        """Whether the number is clear, so that it can be trusted."""
        if self.chosen == 1:
            return not (self.score > _NOTHING).any()
        others = self.candidates != self.chosen
        rival = self.score[others].max() if others.any() else 0.0
        best = self.of(self.chosen, "score")
        return bool(best >= CLEAR and rival <= RIVAL * best)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        others = [str(k) for k in self.best if k != self.chosen]
        look = f"look at {' and '.join(others)} too." if others else ""
        if self.chosen == 1:
            one = "The samples form one piece, without clear clusters."
            return one if self.clear else f"{one} But {look}"
        told = (
            f"{self.chosen} clusters were chosen (clarity "
            f"{self.of(self.chosen, 'clarity'):.2f} of 1)"
        )
        if self.clear:
            return f"{told}, and clearly so."
        return f"{told}, but the choice is not clear{f': {look}' if look else '.'}"

    def of(self, k: int, what: str) -> float:
        """The score, persistence, clarity, ... of k clusters; 0 for no candidate."""
        place = np.flatnonzero(self.candidates == k)
        return float(getattr(self, what)[place[0]]) if place.size else 0.0

    def __repr__(self) -> str:
        lines = [self.verdict, "clusters  score  persistence  clarity"]
        told = () if self.clear and self.chosen == 1 else {*self.levels, *self.best}
        for k in sorted({*told} - {1}):
            values = (self.of(k, name) for name in ("score", "persistence", "clarity"))
            lines.append("{:8d}  {:5.2f}  {:11.2f}  {:7.2f}".format(k, *values))
        return "\n".join(lines if len(lines) > 2 else lines[:1])


def chosen_of(candidates: Array, score: Array) -> int:
    """The finest number whose score comes near the best; 1 if none is clear."""
    if not len(candidates) or score.max() < LEAST:
        return 1
    return int(candidates[score >= NEAR * score.max()].max())


def scores(
    persistence: Array, explained: Array, chance: Array, evenness: Array, numbers: Array
) -> Array:  # (candidates,) each
    seen = np.sqrt(persistence) * clarity(explained, chance) ** 2 * evenness
    return np.asarray(seen * (numbers - 1.0) ** 0.75)


def evenness_of(sizes: Array) -> float:  # (k,)
    """How much the sizes of clusters are alike: 1 if they are equal, 0 if one has all samples."""
    shares = sizes[sizes > 0] / sizes.sum()
    effective = np.exp(-(shares * np.log(shares)).sum())
    return max(0.0, float(effective - 1)) / max(len(sizes) - 1, 1)


def clarity(explained: Array, chance: Array) -> Array:
    return np.asarray(np.clip((explained - chance) / (1 - chance), 0, 1))


def by_chance(values: Array, numbers: Array, n: int, q: int) -> Array:  # (m,), (candidates,)
    """The share of the slow directions that k cuts of a single piece explain.

    The rates of a piece of d dimensions grow like j^(2/d), which tells d. The more dimensions, the
    less is explained. More is explained where there are only two clusters, and where a cluster
    has few samples beside the q neighbours, above all if pieces are thin. The numbers are those
    that few pieces exceed, normal or uniform, of 2 to 50 dimensions and 100 to 5000 samples.
    """
    rates = np.maximum(1 - values, KNOWN_TO)
    j = np.arange(5, min(60, len(rates) - 1, n // 8) + 1)
    slope = np.polyfit(np.log(j), np.log(rates[j]), 1)[0] if len(j) > 2 else 1.0
    many = np.clip(0.3 + 0.4 * np.sqrt(max(slope, 0)), _LEAST_CHANCE, _CHANCE)
    crowd = q * numbers / n
    few = _OF_FEW * np.sqrt(crowd) * (1 + 2 * (np.clip(slope, 1, 2) - 1) * crowd)
    return np.asarray(np.minimum(many + few + _OF_TWO / numbers**2, _ALL))
