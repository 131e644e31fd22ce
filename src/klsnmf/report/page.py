"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from ..core.version import __version__
from ..core.writing import write_whole
from ..estimators.strengths import NEIGHBORS, WEAK, by_votes
from ..methods import DETAILS
from . import marks, text
from .agreement import agreement
from .clusters import CARDS, SURE, clusters
from .features import columns, columns_aside, features, packed_features
from .findings import findings, in_doubt
from .fitted import evidence, history
from .levels import levels
from .run import Run
from .scatter import scatter
from .shell import fill
from .similarity import similarity
from .workbench import workbench

#: No report has more bytes.
LIMIT = 5_000_000


class _Detail(NamedTuple):
    """What a report shows at most."""

    points: int  # on the map
    members: int  # of a cluster, in each gallery
    sheet: int  # characters for pictures on the map
    gallery: int  # characters for pictures of members
    samples: int  # characters for the names, clusters and strengths of all samples
    entries: int  # numbers of clusters times features
    columns: int  # characters for the values that colour the map


#: If the page is too large with one, the next is used.
_DETAIL = (
    _Detail(1500, 8, 800_000, 2_000_000, 3_200_000, 200_000, 800_000),
    _Detail(1000, 5, 500_000, 1_200_000, 3_200_000, 100_000, 400_000),
    _Detail(500, 3, 200_000, 600_000, 1_600_000, 50_000, 200_000),
    _Detail(200, 1, 50_000, 150_000, 400_000, 20_000, 50_000),
)

#: In the order in which they are joined.
_STYLES = ("base.css", "workbench.css", "charts.css", "clusters.css", "narrow.css")
_SCRIPTS = (
    "data.js",
    "changes.js",
    "colours.js",
    "map.js",
    "samples.js",
    "inspector.js",
    "features.js",
    "download.js",
    "start.js",
)

#: With more clusters than this, all begin folded.
_OPEN = 12

_FILTERS = (text.number, text.percent, text.duration, text.plural, marks.colour, marks.shape)

#: Images with longer sides are smoothed, because single pixels do not matter.
_PIXELS_SHOW = 20


def write(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the report of a :class:`Run` to an HTML file, which appears complete or not at all."""
    write_whole(path, render(run))


def render(run: Run) -> bytes:
    """The report in all the detail that the limit allows."""
    shared = _once(run)
    for detail in _DETAIL:
        shown = clusters(run, detail.members, detail.gallery)
        deviations = [abs(bar.deviation) for cluster in shown for bar in cluster.bars]
        drawn = scatter(run, detail.points, detail.sheet)
        known = features(run, detail.entries)
        data = workbench(run, drawn.which, detail.samples) | {
            "columns": [
                *columns(run, drawn.which, known, detail.columns),
                *columns_aside(run, drawn.which, detail.columns),
            ],
            "features": None if known is None else packed_features(run, known),
        }
        context = shared | {
            "clusters": shown,
            "widest": max(deviations, default=1.0),
            "map": drawn,
            "data": data,
        }
        content = fill(
            "report.html",
            context,
            styles=_STYLES,
            scripts=_SCRIPTS,
            more_style=marks.stylesheet(),
            filters=_FILTERS,
        )
        if len(content) <= LIMIT:
            return content
    raise ValueError(
        f"The report of {run.name!r} has {len(content)} bytes, {LIMIT} are allowed: "
        "are there very many clusters or classes?"
    )


def _once(run: Run) -> dict[str, Any]:
    """All parts that do not depend on the detail."""
    estimator = run.estimator
    method = DETAILS.get(run.method)
    defaults, params = (
        {name: text.setting(value) for name, value in one.get_params(deep=False).items()}
        for one in (type(estimator)(), estimator)
    )
    return {
        "run": run,
        "name": text.plain(run.name, 120),
        "command": text.plain(run.command, 2000),
        "title": type(estimator).__name__,
        "description": method.description if method else "",
        "n": run.X.shape[0],
        "p": run.X.shape[1],
        "k": run.n_clusters,
        "cards": CARDS,
        "sure": SURE,
        "weak": WEAK,
        "many": run.n_clusters > marks.MANY,
        "strength": float(np.median(run.strength)),
        "look": _look(run),
        "votes": NEIGHBORS if by_votes(estimator) else None,
        "findings": findings(run),
        "in_doubt": in_doubt(run),
        "levels": levels(run),
        "open": run.n_clusters <= _OPEN,
        "name_length": text.LONGEST,
        "notes": [text.plain(note, 600) for note in run.notes],
        "similarity": similarity(run),
        "agreement": agreement(run),
        "history": history(estimator),
        "evidence": evidence(estimator),
        "choice": getattr(estimator, "n_clusters_evidence_", None),
        "status": getattr(estimator, "status_", ""),
        "verdict": getattr(estimator, "verdict_", ""),
        "params": [(name, params[name], params[name] != defaults[name]) for name in sorted(params)],
        "found": _found(estimator),
        "versions": _versions(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "shapes": marks.SHAPES,
    }


def _look(run: Run) -> str:
    """How images are drawn: as ink on paper, and with or without visible pixels."""
    if run.image_shape is None:
        return ""
    return " ink" * run.darkroom.ink + " smooth" * (max(run.image_shape[:2]) > _PIXELS_SHOW)


def _found(estimator: Any) -> list[tuple[str, str]]:
    """Numbers that the fit chose or reached."""
    names = ("n_clusters_", "lam_", "radius_", "diffusion_", "row_norm_", "n_iter_")
    # Our objective has two names; the report shows one.
    goal = "objective_" if hasattr(estimator, "objective_") else "inertia_"
    values = [(name, getattr(estimator, name, None)) for name in (*names, goal)]
    known = [(name, value) for name, value in values if value is not None and np.ndim(value) == 0]
    return [(name, v if isinstance(v, str) else text.number(v)) for name, v in known]


def _versions() -> list[tuple[str, str]]:
    import scipy
    import sklearn

    return [
        ("klsnmf", __version__),
        ("numpy", np.__version__),
        ("scipy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
        ("Python", platform.python_version()),
    ]
