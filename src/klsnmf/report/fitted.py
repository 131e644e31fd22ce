"""How the fit went, and why there are so many clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import charts


@dataclass(frozen=True)
class Chart:
    title: str
    text: str
    svg: str
    lines: list[str]  # what the lines are, where there are several


def history(estimator: Any) -> list[Chart]:
    """The objective and the changes by iteration, for methods that keep them."""
    kept = getattr(estimator, "history_", None)
    if not kept or len(kept["objective"]) == 0:
        return []
    phases = [str(phase) for phase in kept["solver"]] if "solver" in kept else None
    found = [
        Chart(
            "Objective",
            "What the method makes small. " + _phases(phases),
            charts.lines(
                [np.asarray(kept["objective"], float)],
                alt="The objective by iteration",
                phases=phases,
            ),
            [],
        )
    ]
    changes = {name: values for name, values in kept.items() if name.startswith("change_")}
    if changes:
        names = [name.removeprefix("change_") for name in changes]
        found.append(
            Chart(
                "Changes of the factors",
                "How far each factor moved in a step, as Frobenius norm.",
                charts.lines(
                    [np.asarray(values, float) for values in changes.values()],
                    alt="Changes of the factors by iteration, on a logarithmic scale",
                    log=True,
                    phases=phases,
                ),
                names,
            )
        )
    return found


def _phases(phases: list[str] | None) -> str:
    names = list(dict.fromkeys(phases or []))
    if len(names) < 2:
        return "Lower is better."
    return f"The dashed line is where “{names[1]}” steps take over from “{names[0]}” ones."


def evidence(estimator: Any) -> list[Chart]:
    """What spoke for the number of clusters, if the method chose it."""
    found = getattr(estimator, "n_clusters_evidence_", None)
    if found is None or len(found.candidates) == 0:
        return []
    parts = (
        (
            "Score",
            found.score,
            charts.bars,
            "Gap, its share of the way up to 1, and stability multiplied.",
        ),
        (
            "Gap between eigenvalues",
            found.eigengap,
            charts.bars,
            "A large gap after k speaks for k clusters.",
        ),
        (
            "Stability",
            found.stability,
            charts.bars,
            "Whether parts of the samples give the same clusters: 1 is always.",
        ),
        (
            "Objective left",
            found.objective,
            charts.curve,
            "It falls with every cluster; look for the bend. The axis does not begin at 0.",
        ),
    )
    return [
        Chart(
            title,
            words,
            draw(
                np.asarray(found.candidates),
                np.asarray(values, float),
                found.chosen,
                alt=f"{title} by number of clusters; {found.chosen} was chosen",
            ),
            [],
        )
        for title, values, draw, words in parts
    ]
