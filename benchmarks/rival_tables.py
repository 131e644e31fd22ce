"""The page of tools beside each other, from their rows alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from klsnmf.core.tables import head, line

from .ablation import interval
from .rival_sets import GROUPS, MORE
from .rival_tools import OURS, TOOLS
from .rows import Row

#: Score -> its name, how many digits are told, and a difference that counts.
SCORES = {
    "accuracy": ("Accuracy", 1, 1.0),
    "nmi": ("NMI", 1, 1.0),
    "ari": ("Adjusted Rand", 3, 0.05),
}
UNIT = "°"

#: Set -> tool -> score -> mean over seeds.
Means = dict[str, dict[str, dict[str, float]]]

#: Set and tool -> rows, one a seed.
Kept = dict[tuple[str, str], list[Row]]


def best_scalings(rows: Iterable[Row]) -> Kept:
    """For each set and tool the rows of the scaling with the higher mean accuracy."""
    by_scaling: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        found = by_scaling.setdefault((row["set"], row["tool"]), {})
        found.setdefault(row["scaling"], []).append(row)
    return {key: max(found.values(), key=_accuracy) for key, found in by_scaling.items()}


def _accuracy(rows: list[Row]) -> float:
    return float(np.mean([float(row["accuracy"]) for row in rows]))


def page(rows: list[Row], times: list[Row]) -> str:
    kept = best_scalings(rows)
    tools = [tool for tool in TOOLS if any(key[1] == tool for key in kept)]
    groups = {row["set"]: row["group"] for row in rows}
    in_order = sorted(groups, key=lambda name: (GROUPS.index(groups[name]), name))
    # A mean over other sets would be no comparison: all tools have the same ones.
    sets = [name for name in in_order if all((name, tool) in kept for tool in tools)]
    means: Means = {
        name: {
            tool: {
                score: float(np.mean([float(row[score]) for row in kept[name, tool]]))
                for score in SCORES
            }
            for tool in tools
        }
        for name in sets
    }
    high = [name for name in sets if groups[name] != "shapes"]
    shapes = [name for name in sets if groups[name] == "shapes"]
    unit = {key for key, found in kept.items() if found[0]["scaling"] == "unit"}
    return "\n".join(
        [
            *_introduction(kept, sets, [name for name in in_order if name not in means]),
            *_mean_tables(means, tools, summaries(means, groups)),
            *_differences(means, tools, {"accuracy": high, "nmi": high, "ari": shapes}),
            *_per_set(means, tools, {"accuracy": high, "nmi": high, "ari": shapes}, unit),
            *_other_counts(kept, means),
            *_times(times),
            "",
        ]
    )


def summaries(sets: Iterable[str], groups: dict[str, str]) -> dict[str, list[str]]:
    """The lines of the tables of means: what a line is called, and the sets it is over."""

    names = list(sets)

    def of(*wanted: str) -> list[str]:
        return [name for name in names if groups[name] in wanted]

    shapes = of("shapes")
    batteries = {name.partition("/")[0] for name in shapes}
    lines = {
        "the paper's sets": of("paper"),
        " and ".join(MORE): of("coil20 and tr41"),
        "sets from elsewhere": of("elsewhere"),
        "all of these": [name for name in names if name not in shapes],
        **{
            f"shapes, {battery}": [name for name in shapes if name.startswith(f"{battery}/")]
            for battery in sorted(batteries)
        },
        "all shapes": shapes,
    }
    return {name: members for name, members in lines.items() if members}


def _introduction(kept: Kept, sets: list[str], incomplete: list[str]) -> list[str]:
    seeds = {
        len(rows) for (name, tool), rows in kept.items() if name in sets and TOOLS[tool].seeded
    }
    told = " to ".join(map(str, sorted({min(seeds, default=0), max(seeds, default=0)})))
    lines = [
        "# Tools compared",
        "",
        f"{len(sets)} sets. Mean over {told} seeds. Some tools do not depend on a seed and were "
        "run once: "
        + ", ".join(tool for tool in TOOLS if not TOOLS[tool].seeded)
        + ". KLSNMF gets raw rows and decides itself. Each other tool has, on each set, raw rows "
        "or unit rows, whichever gives it the higher mean accuracy. The best of a line is bold.",
        "",
        "The rows are in `docs/results/rivals.csv`. `python -m benchmarks.rivals run` makes them, "
        "and `python -m benchmarks.rivals tables` makes this text.",
    ]
    if incomplete:
        lines += ["", f"Left out, because rows are missing: {', '.join(incomplete)}."]
    return lines


def _bold(values: list[float], digits: int) -> list[str]:
    """Numbers as text, the best of them bold; those that look the same are equally good."""
    told = [f"{value:.{digits}f}" for value in values]
    best = max(told, key=float)
    return [f"**{text}**" if text == best else text for text in told]


def _mean_tables(means: Means, tools: list[str], lines: dict[str, list[str]]) -> list[str]:
    text = ["", "## Means"]
    for score, (title, digits, _) in SCORES.items():
        text += ["", *head(title, "sets", *tools)]
        for name, sets in lines.items():
            values = [float(np.mean([means[s][tool][score] for s in sets])) for tool in tools]
            text.append(line(name, len(sets), *_bold(values, digits)))
    return text


def _differences(means: Means, tools: list[str], over: dict[str, list[str]]) -> list[str]:
    """On how many sets KLSNMF is ahead of each tool, and how far it is behind."""
    if OURS not in tools:
        return []
    text = ["", "## KLSNMF minus each other tool", ""]
    text += ["The mean over the sets with its 95 % interval. Ahead and behind are numbers of sets."]
    for score, sets in over.items():
        title, digits, counts = SCORES[score]
        if not sets:
            continue
        unit = "points" if digits == 1 else "hundredths"
        text += ["", *head(f"{title}, {unit}", "difference", "ahead", "behind", "at worst", "on")]
        for tool in tools:
            if tool == OURS:
                continue
            ahead = np.array([means[s][OURS][score] - means[s][tool][score] for s in sets])
            factor = 1 if digits == 1 else 100
            worst = int(ahead.argmin())
            text.append(
                line(
                    tool,
                    interval(factor * ahead),
                    int(np.sum(ahead > counts)),
                    int(np.sum(ahead < -counts)),
                    f"{factor * ahead[worst]:+.1f}",
                    sets[worst],
                )
            )
    text += [
        "",
        "Ahead and behind mean by more than a point of accuracy or NMI, or by more than 0.05 of "
        "Rand.",
    ]
    return text


def _per_set(
    means: Means, tools: list[str], over: dict[str, list[str]], unit: set[tuple[str, str]]
) -> list[str]:
    text = ["", "## Set by set", "", f"{UNIT} marks unit rows."]
    for score, sets in over.items():
        title, digits, _ = SCORES[score]
        if sets:
            text += ["", *head(title, *tools)]
        for name in sets:
            marks = [UNIT if (name, tool) in unit else "" for tool in tools]
            values = [means[name][tool][score] for tool in tools]
            text.append(line(name, *map("".join, zip(_bold(values, digits), marks, strict=True))))
    return text


def _other_counts(kept: Kept, means: Means) -> list[str]:
    """Where a tool that was asked for k clusters found another number of them."""
    other: dict[str, list[str]] = {}
    for (name, tool), rows in kept.items():
        if name in means and TOOLS[tool].needs_k and any(r["n_found"] != r["k"] for r in rows):
            other.setdefault(tool, []).append(name)
    text = ["", "## Another number of clusters than was asked for", ""]
    text += [f"- {tool}: {', '.join(sorted(sets))}." for tool, sets in other.items()]
    return text if other else []


def _times(times: list[Row]) -> list[str]:
    """Seconds of KLSNMF, and of the others as multiples of them."""
    fastest: dict[tuple[str, str], Row] = {}
    for row in times:
        key = row["set"], row["tool"]
        if key not in fastest or _seconds(row) < _seconds(fastest[key]):
            fastest[key] = row
    groups = {row["set"]: row["group"] for row in times if (row["set"], OURS) in fastest}
    in_order = sorted(groups, key=lambda name: (GROUPS.index(groups[name]), name))
    tools = [tool for tool in TOOLS if any((name, tool) in fastest for name in in_order)]
    # A mean over other sets would be no comparison: all tools have the same ones.
    sets = [name for name in in_order if all((name, tool) in fastest for tool in tools)]
    if not sets:
        return []
    others = [tool for tool in tools if tool != OURS]
    text = ["", "## Time", ""]
    text += [
        "The seconds of KLSNMF, and those of each other tool as a multiple of them. A number below "
        "1 means that the other tool is faster. Each tool has the number of threads with which it "
        "is fastest on the set. Each time is the best of three, or of fewer if they take more than "
        "three seconds together. UMAP's part is timed once for both tools that use it. Leiden's "
        "time includes the search for the resolution. The rows are in "
        "`docs/results/rivals_times.csv`, made by `python -m benchmarks.rivals times` on two "
        "cores.",
        "",
        "Geometric means over the sets:",
        "",
        *head("multiples", "sets", f"{OURS}, s", *others),
    ]
    for name, members in summaries(sets, groups).items():
        means = [
            np.exp(np.mean([np.log(_multiple(fastest, s, tool)) for s in members]))
            for tool in others
        ]
        own = np.exp(np.mean([np.log(_seconds(fastest[s, OURS])) for s in members]))
        text.append(line(name, len(members), *(f"{value:.2g}" for value in (own, *means))))
    text += ["", "Set by set, the number of threads in brackets:", ""]
    text += head("set", "n × p, k", f"{OURS}, s", *others)
    for name in sets:
        own = fastest[name, OURS]
        cells = [(_seconds(own), own["threads"])]
        cells += [
            (_multiple(fastest, name, tool), fastest[name, tool]["threads"]) for tool in others
        ]
        told = [f"{value:.2g} ({threads})" for value, threads in cells]
        text.append(line(name, f"{own['n']} × {own['p']}, {own['k']}", *told))
    return text


def _seconds(row: Row) -> float:
    return float(row["seconds"])


def _multiple(fastest: dict[tuple[str, str], Row], name: str, tool: str) -> float:
    """The seconds of a tool on a set, as a multiple of those of KLSNMF."""
    return _seconds(fastest[name, tool]) / _seconds(fastest[name, OURS])
