"""The course of the fit, and the evidence for the number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import charts


class Chart(NamedTuple):
    title: str
    text: str
    svg: str
    lines: Sequence[str] = ()  # the names of the lines, if there are several


def history(estimator: Any) -> list[Chart]:
    """The objective and the changes by iteration, for methods that keep them."""
    kept = getattr(estimator, "history_", None)
    if not kept or len(kept["objective"]) == 0:
        return []
    phases = [str(phase) for phase in kept["solver"]] if "solver" in kept else None

    def drawn(names: list[str], alt: str, log: bool = False) -> str:
        series = [np.asarray(kept[name], float) for name in names]
        return charts.lines(series, alt=alt, log=log, phases=phases)

    words = "What the method minimises. " + _phases(phases)
    found = [Chart("Objective", words, drawn(["objective"], "The objective by iteration"))]
    if changes := [name for name in kept if name.startswith("change_")]:
        title, scale = "Changes of the factors", "on a logarithmic scale"
        svg = drawn(changes, f"{title} by iteration, {scale}", log=True)
        words = "How far each factor moved in a step, as Frobenius norm."
        found.append(Chart(title, words, svg, [name.removeprefix("change_") for name in changes]))
    return found


def _phases(phases: list[str] | None) -> str:
    names = list(dict.fromkeys(phases or []))
    if len(names) < 2:
        return "Lower is better."
    return f"The dashed line is where “{names[1]}” steps take over from “{names[0]}” ones."


def evidence(estimator: Any) -> list[Chart]:
    """The evidence for the number of clusters, if the method chose it."""
    found = getattr(estimator, "n_clusters_evidence_", None)
    if found is None or len(found.candidates) == 0:
        return []

    def chart(title: str, values: Any, words: str, draw: Any = charts.bars) -> Chart:
        alt = f"{title} by number of clusters; {found.chosen} was chosen"
        numbers = np.asarray(found.candidates), np.asarray(values, float)
        return Chart(title, words, draw(*numbers, found.chosen, alt=alt))

    score = "What decides. The largest number of clusters with a score near the best is chosen."
    time = "How long a walk from neighbour to neighbour sees exactly so many clusters (logarithm)."
    clear = "How much more the clusters explain than cuts of a single piece would."
    return [
        chart("Score", found.score, score),
        chart("Persistence", found.persistence, time),
        chart("Clarity", found.clarity, clear),
    ]
