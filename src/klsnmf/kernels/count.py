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

*Modularity*. The chance that a walk is in the same cluster one step later, as far as the k slow
directions tell, beyond the chance that two samples are: at most 1 - 1 / k. In many dimensions
samples differ in so many ways that a few clear parts can be cut off from most data, and say little.
In the plane two pieces can be all there is. So the power m of the modularity is 0 up to two
dimensions, and 2 from four dimensions on.

The score of k is √(p / (1 + p)) · (k - 1)^¼ · clarity³ · evenness · (2 · modularity)^m, p the
persistence: 1 for two equal pieces, whatever m is. In a single piece persistence falls like 1 / k,
and that must not count for few clusters: so (k - 1). And a walk that is kept for ever sees clusters
no better than one that is kept for long: so p / (1 + p), or the separate pieces of a graph would
outweigh whatever is inside of them. Data may have clusters of clusters, and often the coarse ones
are the clearer ones. So the finest number is taken whose score comes near the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Array

#: Rates are known to this; and no walk among n samples that are linked takes much more than n²
#: steps.
KNOWN_TO = 1e-6

#: The share of slow directions that cuts of a single piece explain (see ``by_chance``).
_LEAST_CHANCE = 0.2
_CHANCE = 0.71
_OF_A_LINE = 0.88
_BY_DIMENSION = 1 / 7
OF_FEW = 0.86
_OF_TWO = 0.28
_ALL = 0.97

#: The dimension that is taken where none is known: in more, less is explained by chance.
PLANE = 2.0

#: The finest number is taken whose score is at least this share of the best; 0.6 to 0.7 do alike.
NEAR = 0.7

#: The power of modularity is how many more dimensions than two there are, but at most this.
MOST_POWER = 2.0

#: Below this no number stands out: all samples are one cluster. Of 120 draws of samples without
#: clusters, normal and uniform in 2, 10 and 50 dimensions, all stay below two thirds of it.
LEAST = 0.02

#: An answer is clear if its score is at least this, where all of the time counts, √p in the place
#: of √(p / (1 + p)), and no other number has more than this share of its score. That all samples
#: are one piece is clear where no number has a fifth of the least score.
CLEAR = 0.6
RIVAL = 0.5
_NOTHING = LEAST / 5

#: Of two numbers of clusters within this ratio only the better is a level.
_SAME_LEVEL = 1.25

#: A level has at least this share of the best score, and there are no more than so many.
_LEVEL = 0.1
_MOST_LEVELS = 3


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
        √(p / (1 + p)) · (k - 1)^¼ · clarity³ · evenness · (2 · modularity)^m, p the persistence,
        clarity = (explained - by_chance) / (1 - by_chance), evenness that of the sizes of the
        clusters, and m from 0 in two dimensions to 2 in four and more.
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
        found = [self.chosen]
        least = _NOTHING if self.chosen == 1 else max(LEAST, _LEVEL * self.score.max())
        for place in np.argsort(-self.score, kind="stable"):
            k = int(self.candidates[place])
            apart = all(max(k, one) > _SAME_LEVEL * min(k, one) for one in found)
            if apart and self.score[place] > least:
                found.append(k)
        return tuple(found[:_MOST_LEVELS])

    @property
    def clear(self) -> bool:
        """Whether the number is clear, so that it can be trusted."""
        if self.chosen == 1:
            return not (self.score > _NOTHING).any()
        own, time = self.of(self.chosen, "score"), self.of(self.chosen, "persistence")
        rival = self.score[self.candidates != self.chosen].max(initial=0.0)
        return bool(own * np.sqrt(1 + time) >= CLEAR and rival <= RIVAL * own)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        others = " and ".join(str(k) for k in self.levels if k != self.chosen)
        if self.chosen == 1:
            one = "The samples form one piece, without clear clusters."
            return one if self.clear else f"{one} But look at {others} too."
        told = f"{self.chosen} clusters were chosen"
        if self.clear:
            return f"{told}, and the choice is clear."
        return f"{told}, but the choice is not clear{f': look at {others} too' if others else ''}."

    def of(self, k: int, what: str) -> float:
        """The score, persistence, clarity, ... of k clusters; 0 for no candidate."""
        place = np.flatnonzero(self.candidates == k)
        return float(getattr(self, what)[place[0]]) if place.size else 0.0

    def __repr__(self) -> str:
        lines = [self.verdict, "clusters  score  persistence  clarity"]
        for k in sorted({*self.levels} - {1}):
            values = (self.of(k, name) for name in ("score", "persistence", "clarity"))
            lines.append("{:8d}  {:5.2f}  {:11.2f}  {:7.2f}".format(k, *values))
        return "\n".join(lines if len(lines) > 2 else lines[:1])


def chosen_of(candidates: Array, score: Array) -> int:
    """The finest number whose score comes near the best; 1 if none is clear."""
    if not len(candidates) or score.max() < LEAST:
        return 1
    return int(candidates[score >= NEAR * score.max()].max())


def scores(
    numbers: Array,
    persistence: Array,
    clarity: Array,
    evenness: Array,
    modularity: Array,
    dimension: float,
) -> Array:  # (candidates,) each
    kept = np.sqrt(persistence / (1 + persistence))
    seen = kept * (numbers - 1.0) ** 0.25 * clarity**3 * evenness
    return np.asarray(seen * (2 * modularity) ** np.clip(dimension - PLANE, 0, MOST_POWER))


def evenness_of(sizes: Array) -> float:  # (k,)
    """How much the sizes of clusters are alike: 1 if they are equal, 0 if one has all samples."""
    shares = sizes[sizes > 0] / sizes.sum()
    effective = np.exp(-(shares * np.log(shares)).sum())
    return max(0.0, float(effective - 1)) / max(len(sizes) - 1, 1)


def clarity(explained: Array, chance: Array) -> Array:
    return np.asarray(np.clip((explained - chance) / (1 - chance), 0, 1))


def by_chance(
    values: Array,
    numbers: Array,
    n: int,
    q: int,
    dimension: float = PLANE,
    of_few: float = OF_FEW,
) -> Array:  # (m,), (candidates,)
    """The share of the slow directions that k cuts of a single piece explain.

    The more dimensions samples lie in, the less is explained. More is explained where there are
    only two clusters, and where a cluster has few samples beside the q neighbours, above all if
    pieces are thin: there the rates, which in d dimensions grow like j^(2/d), grow fast. The form
    was read from draws of single pieces, normal or uniform, of 2 to 50 dimensions; the constants
    are those with which the number of clusters is found best.
    """
    rates = np.maximum(1 - values, KNOWN_TO)
    j = np.arange(5, min(60, len(rates) - 1, n // 8) + 1)
    slope = np.polyfit(np.log(j), np.log(rates[j]), 1)[0] if len(j) > 2 else 1.0
    many = _OF_A_LINE - _BY_DIMENSION * np.log(max(dimension, 1.0))
    many = np.clip(many, _LEAST_CHANCE, _CHANCE)
    crowd = q * numbers / n
    few = of_few * np.sqrt(np.minimum(crowd, 1)) * (1 + 2 * (np.clip(slope, 1, 2) - 1) * crowd)
    return np.asarray(np.minimum(many + (1 - many) * few + _OF_TWO / numbers**2, _ALL))
