"""The page of ``benchmarks.levels``, from its rows and those of ``benchmarks.rivals``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from klsnmf.core.tables import head, line

from .rival_sets import GROUPS
from .rows import Row

OURS = "KLSNMF"

#: Tools whose rows are those of ``benchmarks.rivals``: they are not told the number there either.
KNOWN = ("HDBSCAN", "UMAP+HDBSCAN")
TOOLS = (OURS, "HDBSCAN", "Leiden", "UMAP+HDBSCAN", "silhouette")

#: Shapes of at most so many samples are in the mean.
MOST = 3000

#: An answer is far off if it is wrong by more than this factor.
FAR = 4

#: Of a set and a tool: the mean adjusted Rand, and the numbers of clusters that were found.
Answers = dict[tuple[str, str], tuple[float, list[int]]]


def page(rows: list[Row], rivals: list[Row]) -> str:
    sets = [row for row in rows if row["group"] in GROUPS]
    answers = answers_of([*sets, *(as_ours(row) for row in rivals if row["tool"] in KNOWN)])
    about = {row["set"]: row for row in sets if row["tool"] == OURS}
    tools = [tool for tool in TOOLS if any((name, tool) in answers for name in about)]
    groups = {
        f"shapes, at most {MOST} samples": [
            name
            for name, row in about.items()
            if row["group"] == "shapes" and int(row["n"]) <= MOST
        ],
        "shapes, more samples": [
            name for name, row in about.items() if row["group"] == "shapes" and int(row["n"]) > MOST
        ],
        "images, text, speech, features": [
            name for name, row in about.items() if row["group"] != "shapes"
        ],
    }
    text = ["# The number of clusters not known", "", *_means(answers, groups, tools)]
    text += ["", *_far(answers, about, tools), "", *_drawn(rows), "", *_clear(rows)]
    text += ["", *_each(answers, about, groups, tools)]
    return "\n".join(text) + "\n"


def as_ours(row: Row) -> Row:
    return {**row, "chosen": row["n_found"]}


def answers_of(rows: Iterable[Row]) -> Answers:
    """Of raw rows and unit rows those that a tool is better with."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        by_scaling = found.setdefault((row["set"], row["tool"]), {})
        by_scaling.setdefault(row["scaling"], []).append(row)
    return {
        key: max(
            (float(np.mean([float(row["ari"]) for row in some])), [int(r["chosen"]) for r in some])
            for some in by_scaling.values()
        )
        for key, by_scaling in found.items()
    }


def _means(answers: Answers, groups: dict[str, list[str]], tools: list[str]) -> list[str]:
    text = ["The mean adjusted Rand index.", "", *head("", "sets", *tools)]
    for group, names in groups.items():
        shared = [name for name in names if all((name, tool) in answers for tool in tools)]
        if not shared:
            continue
        means = [float(np.mean([answers[name, tool][0] for name in shared])) for tool in tools]
        told = [f"{mean:.3f}" for mean in means]
        best = max(told, key=float)
        bold = [f"**{one}**" if one == best else one for one in told]
        text.append(line(group, len(shared), *bold))
    return text


def _far(answers: Answers, about: dict[str, Row], tools: list[str]) -> list[str]:
    names = [name for name, row in about.items() if row["group"] != "shapes"]
    text = [
        f"Sets other than shapes on which the number is wrong by more than a factor of {FAR}:",
        "",
    ]
    for tool in tools:
        far = [
            f"{name} ({answers[name, tool][1][0]} for {about[name]['k']})"
            for name in names
            if (name, tool) in answers
            and _off(answers[name, tool][1][0], int(about[name]["k"])) > FAR
        ]
        text.append(f"- {tool}: {', '.join(far) if far else 'none'}.")
    return text


def _off(found: int, right: int) -> float:
    found = max(found, 1)
    return max(found / right, right / found)


def _drawn(rows: list[Row]) -> list[str]:
    """How often the number is exact, where it was planted."""
    text = ["The share of draws in which the number of clusters is exact.", ""]
    drawn = [row for row in rows if row["group"] in ("planted", "nothing")]
    tools = [tool for tool in TOOLS if any(row["tool"] == tool for row in drawn)]
    kinds = {
        "clusters, equal": [
            r for r in drawn if "clusters" in r["set"] and "unequal" not in r["set"]
        ],
        "clusters, 1 : 20": [row for row in drawn if "unequal" in row["set"]],
        **{
            f"{kind} in {p} dimensions": [
                r for r in drawn if r["set"] == f"{kind} in {p} dimensions"
            ]
            for kind in ("normal", "uniform")
            for p in (2, 10, 50)
        },
    }
    text += head("", "draws", *tools)
    for kind, some in kinds.items():
        shares = []
        for tool in tools:
            of_tool = [row for row in some if row["tool"] == tool]
            exact = [max(int(row["chosen"]), 1) == int(row["k"]) for row in of_tool]
            shares.append(f"{np.mean(exact):.0%}" if exact else "")
        text.append(line(kind, len([row for row in some if row["tool"] == OURS]), *shares))
    return text


def _clear(rows: list[Row]) -> list[str]:
    """Whether an answer that KLSNMF calls clear is right."""
    text = ["Answers that KLSNMF calls clear.", ""]
    text += head("", "answers", "clear", "right if clear", "right in all", "clear if right")
    ours = [row for row in rows if row["tool"] == OURS]
    for name, some in (
        ("sets", [row for row in ours if row["group"] in GROUPS]),
        ("draws of clusters", [row for row in ours if row["group"] == "planted"]),
        ("draws without clusters", [row for row in ours if row["group"] == "nothing"]),
        ("all", ours),
    ):
        if not some:
            continue
        right = np.array([row["chosen"] == row["k"] for row in some])
        clear = np.array([row["clear"] == "1" for row in some])
        shares = [
            f"{part.mean():.0%}" if part.size else ""
            for part in (clear, right[clear], right, clear[right])
        ]
        text.append(line(name, len(some), *shares))
    return text


def _each(
    answers: Answers, about: dict[str, Row], groups: dict[str, list[str]], tools: list[str]
) -> list[str]:
    text = ["Each set: the adjusted Rand index and, in brackets, the number of clusters."]
    for group, names in groups.items():
        text += ["", *head(group, "samples", "right", *tools)]
        for name in sorted(names):
            cells = [
                f"{answers[name, tool][0]:.3f} ({answers[name, tool][1][0]})"
                if (name, tool) in answers
                else ""
                for tool in tools
            ]
            text.append(line(name, about[name]["n"], about[name]["k"], *cells))
    return text
