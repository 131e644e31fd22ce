"""The decision of ``klsnmf.solve.choose`` from numbers alone, and the same with a rule left out.

A case is a set, a seed and a number of clusters, with every answer that the rules could choose
there. Thresholds can be changed and rules dropped without making an answer again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from klsnmf.kernels.graphs import NOISY
from klsnmf.kernels.neighbors import how_many_neighbors
from klsnmf.solve.choose import RULE, Evidence, Rule

from .rows import Row

SCORES = ("accuracy", "nmi", "ari")

#: What a row says of a case, of a candidate, and what speaks for a free one by all judges and by
#: the usual graph alone.
OF_CASE = ["set", "group", "seed", "n", "k", "share"]
OF_CANDIDATE = ["graphs", "q", "sizes", "known", "pieces", "lost", "lost_usual", "smallest"]
OF_EVIDENCE = ["ratio", "kept", "tells"]
COLUMNS = [
    *OF_CASE,
    *OF_CANDIDATE,
    *OF_EVIDENCE,
    *(f"{name}_alone" for name in OF_EVIDENCE),
    *SCORES,
    "version",
]


@dataclass(frozen=True)
class Candidate:
    """An answer: where it comes from, what walks say of it, and how right it is.

    Attributes
    ----------
    graphs : "few" or "many": the numbers of neighbours to choose from, or the one for noise;
        "dense": links count by density
    q : neighbours of its graph; by density, of the graph of the answer that it began from
    sizes : "even", "free", or "means": the clusters of k-means, for graphs that say nothing
    known : neighbours of the graph whose answer it began from; q, unless it is looked at because
        clusters may be thin
    pieces : those of its graph
    lost, lost_usual : what is lost on its own graph, and on the usual one
    judged, alone : what speaks for it if it is free, by all judges and by the usual graph; by
        density, what speaks for it instead of the answer that it began from
    """

    graphs: str
    q: int
    sizes: str
    known: int
    pieces: int
    lost: float
    lost_usual: float
    smallest: int
    judged: Evidence | None = None
    alone: Evidence | None = None
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def even(self) -> bool:
        return self.sizes == "even"

    @property
    def thin(self) -> bool:
        return self.q != self.known


@dataclass(frozen=True)
class Case:
    """The candidates for so many clusters of a set."""

    set: str
    group: str
    seed: int
    n: int
    k: int
    share: float  # of noise
    candidates: Sequence[Candidate]

    @property
    def few(self) -> int:
        """Samples that are no cluster."""
        return how_many_neighbors(self.n, self.k)


@dataclass(frozen=True)
class Rules:
    """The thresholds, and which of the rules are followed."""

    rule: Rule = RULE
    noisy: float = NOISY
    sizes: str = "auto"
    second_judge: bool = True
    fewer: bool = True
    tells: bool = True
    smallest: bool = True
    dense: bool = True
    leaves_pieces: bool = True
    joined: bool = True  # a graph of fewer neighbours in more pieces than clusters is not asked
    means: bool = True

    def decide(self, case: Case) -> Candidate:
        """The candidate that these rules take."""
        graphs = "many" if case.share > self.noisy else "few"
        found = [each for each in case.candidates if each.graphs == graphs]
        answer = self._even_or_free([each for each in found if not each.thin], case.few)
        thin = [
            each
            for each in found
            if each.thin and (each.sizes, each.known) == (answer.sizes, answer.q)
        ]
        answer = self._thin(answer, thin, case) if self.fewer else answer
        answer = self._dense(answer, case) if self.dense and graphs == "few" else answer
        nothing = self.rule.says_nothing(answer.lost_usual)
        means = [each for each in found if each.sizes == "means"]
        return means[0] if means and nothing and self.means and self.sizes == "auto" else answer

    def _even_or_free(self, found: Sequence[Candidate], few: int) -> Candidate:
        (even,) = (each for each in found if each.even)
        free = [each for each in found if each.sizes == "free"]
        if self.sizes != "auto":
            return even if self.sizes == "even" else free[0]
        if not self.rule.is_worth_a_look(free[0].alone):
            return even
        judged = [each.judged for each in free] if self.second_judge else [free[0].alone]
        if not self.tells:
            judged = [replace(evidence, tells=1.0) for evidence in judged]
        best = self.rule.best(judged, few if self.smallest else -1)
        return even if best is None else free[best]

    def _thin(self, answer: Candidate, thin: Sequence[Candidate], case: Case) -> Candidate:
        asked = [each for each in thin if each.pieces <= case.k or not self.joined]
        if not asked:
            return answer
        other = min(asked, key=lambda each: each.q)
        sound, rule = self._sound(other, case), self._of_pieces
        return other if sound and rule.is_thin(other.lost, answer.lost_usual) else answer

    def _dense(self, answer: Candidate, case: Case) -> Candidate:
        begun = answer.sizes, answer.q, answer.known
        lost = answer.lost if answer.thin else answer.lost_usual
        for other in case.candidates if lost >= self._of_pieces.separate else ():
            if other.graphs == "dense" and (other.sizes, other.q, other.known) == begun:
                better = self._sound(other, case) and self.rule.is_denser(other.judged)
                return other if better else answer
        return answer

    @property
    def _of_pieces(self) -> Rule:
        return self.rule if self.leaves_pieces else replace(self.rule, separate=0.0)

    def _sound(self, other: Candidate, case: Case) -> bool:
        strict = self.smallest and self.sizes == "auto" and not other.even
        return not strict or other.smallest > case.few


#: What is dropped -> the rules without it.
DROPPED = {
    "always even": Rules(sizes="even"),
    "always free": Rules(sizes="free"),
    "no second judge": Rules(second_judge=False),
    "no fewer neighbours": Rules(fewer=False),
    "no links by density": Rules(dense=False),
    "no many neighbours": Rules(noisy=float("inf")),
    "free answers may tell less": Rules(tells=False),
    "a few samples may be a cluster": Rules(smallest=False),
    "separate pieces are looked at again": Rules(leaves_pieces=False),
    "graphs in more pieces are asked too": Rules(joined=False),
    "no means of samples": Rules(means=False),
}


def as_row(case: Case, candidate: Candidate, version: str) -> list[str]:
    """In the order of the columns."""
    mine = candidate
    told = [mine.judged, mine.alone]
    return [
        *(case.set, case.group, str(case.seed), str(case.n), str(case.k), f"{case.share:.6g}"),
        *(mine.graphs, str(mine.q), mine.sizes, str(mine.known)),
        *(str(mine.pieces), f"{mine.lost:.6g}", f"{mine.lost_usual:.6g}", str(mine.smallest)),
        *(cell for evidence in told for cell in _evidence_cells(evidence)),
        *(f"{mine.scores[name]:.6g}" for name in SCORES),
        version,
    ]


def _evidence_cells(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return [""] * len(OF_EVIDENCE)
    return [f"{value:.6g}" for value in (evidence.ratio, evidence.kept, evidence.tells)]


def cases_of(rows: Iterable[Row]) -> list[Case]:
    """The cases that these rows are of."""
    found: dict[tuple[str, ...], list[Candidate]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in OF_CASE), []).append(_candidate(row))
    return [
        Case(name, group, int(seed), int(n), int(k), float(share), candidates)
        for (name, group, seed, n, k, share), candidates in found.items()
    ]


def _candidate(row: Row) -> Candidate:
    return Candidate(
        row["graphs"],
        int(row["q"]),
        row["sizes"],
        int(row["known"]),
        int(row["pieces"]),
        float(row["lost"]),
        float(row["lost_usual"]),
        int(row["smallest"]),
        _evidence(row, ""),
        _evidence(row, "_alone"),
        {name: float(row[name]) for name in SCORES},
    )


def _evidence(row: Row, ending: str) -> Evidence | None:
    cells = [row[name + ending] for name in OF_EVIDENCE]
    return Evidence(*map(float, cells), int(row["smallest"])) if all(cells) else None
