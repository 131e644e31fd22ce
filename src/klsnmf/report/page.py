"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import numpy as np

from ..core.version import __version__
from ..core.writing import write_whole
from ..estimators.strengths import NEIGHBORS, by_votes
from ..methods import DETAILS
from . import marks, text
from .agreement import agreement
from .clusters import CARDS, SURE, clusters
from .findings import findings
from .fitted import evidence, history
from .run import Run
from .scatter import scatter
from .similarity import similarity

#: No report has more bytes.
LIMIT = 5_000_000

#: What a report shows at most: points on the map, members of a cluster in each gallery, and
#: characters for pictures on the map and in the galleries. Where that is too much, the next.
_DETAIL = (
    (1500, 8, 800_000, 2_000_000),
    (1000, 5, 500_000, 1_200_000),
    (500, 3, 200_000, 600_000),
    (200, 1, 50_000, 150_000),
)

#: Images with longer sides are smoothed: their pixels say nothing.
_PIXELS_SHOW = 20


def write(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the report of a :class:`Run` to an HTML file, which appears complete or not at all."""
    write_whole(path, render(run))


def render(run: Run) -> bytes:
    """The report in all the detail that the limit allows."""
    shared = _once(run)
    for points, members, sheet_budget, gallery_budget in _DETAIL:
        shown = clusters(run, members, gallery_budget)
        deviations = [abs(bar.deviation) for cluster in shown for bar in cluster.bars]
        shared |= {"clusters": shown, "widest": max(deviations, default=1.0)}
        content = _fill(shared | {"map": scatter(run, points, sheet_budget)})
        if len(content) <= LIMIT:
            return content
    raise ValueError(
        f"The report of {run.name!r} has {len(content)} bytes, {LIMIT} are allowed: "
        "are there very many clusters or classes?"
    )


def _once(run: Run) -> dict[str, Any]:
    """All parts whose size does not depend on the detail."""
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
        "many": run.n_clusters > marks.MANY,
        "strength": float(np.median(run.strength)),
        "look": _look(run),
        "votes": NEIGHBORS if by_votes(estimator) else None,
        "findings": findings(run),
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
    # Ours has two names: the report shows one.
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


def _fill(context: dict[str, Any]) -> bytes:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed: pip install 'klsnmf[report]'."
        ) from error
    style, script, html = (
        (files(__package__) / "templates" / f"report.{kind}").read_text(encoding="utf-8")
        for kind in ("css", "js", "html")
    )
    style += marks.stylesheet()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = text.number, text.percent, text.duration, text.plural, marks.colour, marks.shape
    environment.filters |= {each.__name__: each for each in filters}
    template = environment.from_string(html)
    policy = (
        "default-src 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = template.render(context, style=style, script=script, policy=policy)
    return page.encode("utf-8")


def _hash(source: str) -> str:
    """How a Content-Security-Policy names the only style, or script, that may be used."""
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
