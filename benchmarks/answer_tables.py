"""The page of the rules: what each is worth, and whether they hold on a group left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from klsnmf.core.tables import head, line
from klsnmf.kernels.graphs import NOISY
from klsnmf.solve.choose import RULE, Rule

from .answer_rules import DROPPED, SCORES, Case, Rules, cases_of
from .elsewhere import SOURCES
from .rival_tables import best_scalings
from .rival_tools import OURS
from .rows import Row

#: The groups that sets are in here, and what of a set counts there.
COUNTS = {
    "shapes": ["ari"],
    "images and faces": ["accuracy", "nmi"],
    "text": ["accuracy", "nmi"],
    "others": ["accuracy", "nmi"],
    "planted": ["ari"],
}
TITLES = {"accuracy": "accuracy", "nmi": "NMI", "ari": "adjusted Rand"}

#: Thresholds that are tried; beyond 1 means of samples are never taken. Group means that
#: differ by less than so many points are as good.
GRID = {
    "look": (0.68, 0.8, 0.9, 1.0),
    "clear": (0.5, 0.6, 0.68, 0.7, 0.8, 0.9),
    "less": (0.75, 0.8, 0.85, 7 / 8, 0.9, 0.95),
    "keeps": (0.7, 0.75, 0.8, 0.85, 1.0),
    "noisy": (0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9),
    "nothing": (2.0, 0.9),
}
AS_GOOD = 0.1

#: Ratios of what free and even answers lose, from which to which answers are counted together.
RATIOS = (0.0, 0.4, 0.6, 0.65, 0.68, 0.7, 0.8, 0.9, 1.1, np.inf)

#: Points by which a set must change to be named, and how many are.
NAMED = 1.0
MOST_NAMED = 4

#: Score -> points.
Scores = Mapping[str, float]


def rule_of(look: float, clear: float, less: float, keeps: float, nothing: float) -> Rule:
    return replace(RULE, look=look, clear=clear, less=less, keeps=keeps, nothing=nothing)


class Point(NamedTuple):
    """Thresholds."""

    look: float
    clear: float
    less: float
    keeps: float
    noisy: float
    nothing: float

    def rules(self) -> Rules:
        rule = rule_of(self.look, self.clear, self.less, self.keeps, self.nothing)
        return Rules(rule, self.noisy)


PACKAGE = Point(RULE.look, RULE.clear, RULE.less, RULE.keeps, NOISY, RULE.nothing)


def group_of(case: Case) -> str:
    """Which of the groups a set is in."""
    if case.group in COUNTS:
        return case.group
    if case.group == "elsewhere":
        kind = SOURCES[case.set].kind
        image = kind.startswith(("digits", "faces"))
        return "images and faces" if image else "text" if kind == "text" else "others"
    return "text" if case.set == "tr41" else "images and faces"


class Measured:
    """Cases in their groups, and how right the answers are that are chosen for them."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.groups: dict[str, dict[str, None]] = {group: {} for group in COUNTS}
        for case in cases:
            self.groups[group_of(case)][case.set] = None
        self.groups = {group: sets for group, sets in self.groups.items() if sets}

    def by(self, rules: Rules) -> dict[str, Scores]:
        return self.by_set([rules.decide(case).scores for case in self.cases])

    def by_labels(self) -> dict[str, Scores]:
        """Of all candidates the best one, which nobody knows without labels."""
        every = [[each.scores for each in case.candidates] for case in self.cases]
        pairs = zip(self.cases, every, strict=True)
        return self.by_set(
            [max(found, key=lambda one: value(group_of(case), one)) for case, found in pairs]
        )

    def by_set(self, chosen: Sequence[Scores]) -> dict[str, Scores]:
        """Set -> the mean over seeds; of several right numbers of clusters the best match."""
        best: dict[tuple[str, int], Scores] = {}
        for case, scores in zip(self.cases, chosen, strict=True):
            before = best.setdefault((case.set, case.seed), scores)
            if scores["ari"] > before["ari"]:
                best[case.set, case.seed] = scores
        sets: dict[str, list[Scores]] = {}
        for (name, _), scores in best.items():
            sets.setdefault(name, []).append(scores)
        return {
            name: {score: float(np.mean([one[score] for one in found])) for score in SCORES}
            for name, found in sets.items()
        }

    def values(self, of_sets: Mapping[str, Scores]) -> dict[str, float]:
        """Group -> the one number that counts."""
        return {
            group: value(group, mean_of(of_sets[name] for name in sets))
            for group, sets in self.groups.items()
        }

    def on_grid(self) -> dict[Point, dict[str, float]]:
        """Point -> group -> the number that counts, for all thresholds of the grid."""
        found = {}
        of_rule = (*Point._fields[:4], "nothing")
        for look, clear, less, keeps, nothing in product(*(GRID[name] for name in of_rule)):
            if look < clear:  # what two graphs find clear must have been looked at on both
                continue
            rule = rule_of(look, clear, less, keeps, nothing)
            few = [Rules(rule, np.inf).decide(case).scores for case in self.cases]
            # Where noise is less than all thresholds the graph of many neighbours is not needed.
            many = {
                place: Rules(rule, -np.inf).decide(case).scores
                for place, case in enumerate(self.cases)
                if case.share > min(GRID["noisy"])
            }
            for noisy in GRID["noisy"]:
                chosen = [
                    many[place] if case.share > noisy else few[place]
                    for place, case in enumerate(self.cases)
                ]
                point = Point(look, clear, less, keeps, noisy, nothing)
                found[point] = self.values(self.by_set(chosen))
        return found


def value(group: str, scores: Scores) -> float:
    """What counts in a group, as one number."""
    return float(np.mean([scores[score] for score in COUNTS[group]]))


def mean_of(found: Iterable[Scores]) -> Scores:
    each = list(found)
    return {score: float(np.mean([one[score] for one in each])) for score in SCORES}


def told(group: str, scores: Scores) -> str:
    return " / ".join(f"{scores[score]:.1f}" for score in COUNTS[group])


class Plateau(NamedTuple):
    """Thresholds that are as good as the best, and the one in their middle."""

    centre: Point
    points: list[Point]

    def reach(self, name: str) -> str:
        values = sorted({getattr(point, name) for point in self.points})
        return f"{getattr(self.centre, name):.3g} ({values[0]:.3g} to {values[-1]:.3g})"


def plateau(grid: Mapping[Point, Mapping[str, float]], groups: Sequence[str]) -> Plateau:
    """By the mean over these groups; of two in the middle the lower: a rule must show its use."""
    means = {point: np.mean([of[group] for group in groups]) for point, of in grid.items()}
    least = max(means.values()) - AS_GOOD
    good = [point for point, mean in means.items() if mean >= least]
    places = np.array(
        [[GRID[name].index(at) for name, at in point._asdict().items()] for point in good]
    )
    far = np.abs(places - np.median(places, axis=0)).sum(axis=1)
    return Plateau(good[int(far.argmin())], good)


def page(rows: list[Row], rivals: list[Row]) -> str:
    measured = Measured(cases_of(rows))
    return "\n".join(
        [
            *_introduction(measured),
            *worth(measured),
            *_left_out(measured, rivals),
            *_ratios(measured),
            "",
        ]
    )


def _introduction(measured: Measured) -> list[str]:
    seeds: dict[str, set[int]] = {}
    for case in measured.cases:
        seeds.setdefault(case.set, set()).add(case.seed)
    parts = []
    for group, sets in measured.groups.items():
        counts = {len(seeds[name]) for name in sets}
        over = " to ".join(map(str, sorted({min(counts), max(counts)})))
        parts.append(f"{len(sets)} of {group} ({over})")
    return [
        "# The rules, measured",
        "",
        "The groups of sets, with the number of seeds in brackets, or of draws for planted sets: "
        + ", ".join(parts)
        + ". Shapes and planted sets are scored by the adjusted Rand index in hundredths, the "
        "others by accuracy / NMI in percent. An answer is scored when it is chosen. The last "
        "steps of a fit change little after that, and on average improve it.",
        "",
        "The rows are in `docs/results/answers.csv`, one for each answer that could be chosen. "
        "`python -m benchmarks.answers run` makes them, and `python -m benchmarks.answers tables` "
        "makes these tables.",
    ]


def worth(measured: Measured) -> list[str]:
    """Means with all rules and with each rule left out, and the sets that change."""
    groups, full = measured.groups, measured.by(Rules())
    titles = [
        f"{group}, {' / '.join(TITLES[score] for score in COUNTS[group])}" for group in groups
    ]
    text = ["", "## What each rule is worth", "", *head("", *titles)]
    dropped = {name: measured.by(rules) for name, rules in DROPPED.items()}
    lines = {
        "**all rules**": full,
        **dropped,
        "the best candidate, by labels": measured.by_labels(),
    }
    for name, found in lines.items():
        means = [mean_of(found[one] for one in sets) for sets in groups.values()]
        text.append(line(name, *map(told, groups, means)))
    text += [
        "",
        f"How many sets change by more than {NAMED:.0f} point when a rule is dropped, and the "
        "names of those that change most. Shapes and planted sets are compared by the adjusted "
        "Rand index, the others by the mean of accuracy and NMI:",
        "",
        *head("dropped", "worse without it", "better without it", "by how much"),
    ]
    of = {name: group for group, sets in groups.items() for name in sets}
    for name, found in dropped.items():
        change = {one: value(of[one], found[one]) - value(of[one], full[one]) for one in of}
        worse = sum(points < -NAMED for points in change.values())
        better = sum(points > NAMED for points in change.values())
        largest = sorted(change, key=lambda one: -abs(change[one]))[:MOST_NAMED]
        names = [f"{one} {change[one]:+.1f}" for one in largest if abs(change[one]) > NAMED]
        text.append(line(name, worse, better, ", ".join(names)))
    return text


def _left_out(measured: Measured, rivals: list[Row]) -> list[str]:
    """Thresholds chosen without a group, scored on it."""
    groups, grid = list(measured.groups), measured.on_grid()
    columns = ["without it", "with all groups", "as they are", "always even", "always free"]
    beside = ["best other tool", "the first column is ahead by", "on sets"]
    text = [
        "",
        "## A group left out",
        "",
        "Thresholds are chosen on all groups except one, by the mean of the groups' means. The "
        "answers they lead to are scored on the group that was left out. Of "
        f"{len(grid)} combinations, those within {AS_GOOD} points of the best count as equally "
        "good (from and to, in brackets), and the one in the middle is taken. A rule that these "
        "groups do not need is dropped: means of samples, with a threshold above 1. The best "
        "other tool on the group comes from `docs/results/rivals.csv`, with its better row "
        "scaling.",
        "",
        *head("left out", *Point._fields),
    ]
    everywhere = plateau(grid, groups)
    # Planted rings and moons are shapes too, and planted clusters are no evidence on images: once
    # more without either.
    out_together = [(group,) for group in groups] + [
        ("shapes", "planted"),
        ("images and faces", "planted"),
    ]
    found: dict[tuple[str, ...], Plateau] = {
        out: plateau(grid, others)
        for out in out_together
        if (others := [group for group in groups if group not in out])
    }
    shown = {" and ".join(out): one for out, one in found.items()} | {"none": everywhere}
    for name, chosen in shown.items():
        text.append(line(name, *map(chosen.reach, Point._fields)))
    text.append(line("as they are", *(f"{at:.3g}" for at in PACKAGE)))
    text += ["", *head("left out, scored on", *columns, *beside)]
    for out, chosen in found.items():
        ways = [chosen.centre.rules(), everywhere.centre.rules(), Rules()]
        ways += [DROPPED["always even"], DROPPED["always free"]]
        of_sets = [measured.by(rules) for rules in ways]
        for group in [one for one in groups if one in out]:
            sets = list(measured.groups[group])
            means = [told(group, mean_of(of[name] for name in sets)) for of in of_sets]
            title = group if len(out) == 1 else f"{' and '.join(out)}: {group}"
            text.append(line(title, *means, *_best_rivals(group, of_sets[0], sets, rivals)))
    return text


def _best_rivals(
    group: str, ours: Mapping[str, Scores], sets: list[str], rivals: list[Row]
) -> list[str]:
    """For each score the best other tool, with its better scaling, and how far ours is ahead.

    On the sets that all tools have, and how many these are.
    """
    kept = best_scalings(row for row in rivals if row["tool"] != OURS and row["set"] in sets)
    tools = {tool for _, tool in kept}
    common = [name for name in sets if tools and all((name, tool) in kept for tool in tools)]
    if not common:
        return ["", "", ""]
    means = {tool: mean_of(_points(kept[name, tool]) for name in common) for tool in sorted(tools)}
    here, best, ahead = mean_of(ours[name] for name in common), [], []
    for score in COUNTS[group]:
        tool = max(means, key=lambda one: means[one][score])
        best.append(f"{tool} {means[tool][score]:.1f}")
        ahead.append(f"{here[score] - means[tool][score]:+.1f}")
    return [" / ".join(best), " / ".join(ahead), f"{len(common)} of {len(sets)}"]


def _points(rows: list[Row]) -> Scores:
    scale = {"accuracy": 1, "nmi": 1, "ari": 100}
    return {
        score: scale[score] * float(np.mean([float(row[score]) for row in rows]))
        for score in SCORES
    }


def _ratios(measured: Measured) -> list[str]:
    """How often free answers are better than even ones, by what both lose."""
    pairs = []
    for case in measured.cases:
        graphs = "many" if case.share > NOISY else "few"
        first = [one for one in case.candidates if one.graphs == graphs and not one.thin]
        (even,) = (one for one in first if one.even)
        for free in first:
            if free.judged is not None and free.smallest > case.few:
                gain = value(group_of(case), free.scores) - value(group_of(case), even.scores)
                pairs.append((free.judged.ratio, gain))
    text = [
        "",
        "## Free answers compared with even ones",
        "",
        "All free answers without a cluster of a few samples, sorted by what they lose as a share "
        f"of what the even answer loses. Those below {RULE.clear:.2f} are taken if they also tell "
        f"as much, or keep more than {RULE.keeps} of the walks in each cluster.",
        "",
        *head("ratio", "answers", "better than even", "worse", "as good", "mean gain"),
    ]
    for low, high in pairwise(RATIOS):
        gains = np.array([gain for ratio, gain in pairs if low <= ratio < high])
        if len(gains):
            name = f"{low:.2f} to {high:.2f}" if np.isfinite(high) else f"above {low:.2f}"
            counts = np.sum(gains > NAMED), np.sum(gains < -NAMED), np.sum(np.abs(gains) <= NAMED)
            text.append(line(name, len(gains), *map(int, counts), f"{gains.mean():+.1f}"))
    return text
