"""What a reader should know before trusting the result, in words."""

from __future__ import annotations

import numpy as np

from ..estimators.strengths import by_votes
from .run import Run
from .text import number, plain, plural

#: A cluster below this share of the mean size, or of one or two samples, is tiny.
_TINY = 0.1

#: More tiny clusters than this are counted, not named.
_NAMED = 5

#: Where the median strength is below this, most samples could as well be in another cluster. Only
#: for methods whose strengths are high where clusters are clear: others measure it by scores or
#: distances that are close for all clusters on any data.
_WEAK = 0.3
_TELLING = ("kls-nmf", "gls-nmf", "spectral")


def findings(run: Run) -> list[str]:
    """Warnings of the fit and of what came out of it; none is good news."""
    said = [plain(message, 600) for message in run.messages]
    heard = " ".join(run.messages)
    estimator = run.estimator
    verdict = str(getattr(estimator, "verdict_", ""))
    if verdict.startswith("stopped") or _ran_out(run):
        if "converge" not in heard:
            said.append(
                f"The fit ended after {plural(int(estimator.n_iter_), 'iteration')}, before it "
                "converged: raise max_iter and run it again."
            )
    elif verdict and not verdict.startswith("converged") and verdict not in heard:
        said.append(f"The fit collapsed: {plain(verdict, 300)}. Do not trust these clusters.")
    empty = np.flatnonzero(run.sizes == 0)
    if len(empty) and "clusters have samples" not in heard:
        filled = run.n_clusters - len(empty)
        said.append(
            f"Only {filled} of {run.n_clusters} clusters have samples: ask for fewer clusters."
        )
    said.extend(_few_distinct(run) or _weak(run))  # equal samples explain that none is sure
    said.extend(_tiny(run))
    evidence = getattr(estimator, "n_clusters_evidence_", None)
    # The command may have said it already, and have gone on with an option of its own.
    if (
        evidence is not None
        and not evidence.clear
        and evidence.verdict.removesuffix(".") not in heard
    ):
        said.append(evidence.verdict)
    return said


def _ran_out(run: Run) -> bool:
    """Whether a method without a verdict used all of its iterations."""
    most = run.estimator.get_params(deep=False).get("max_iter")
    used = getattr(run.estimator, "n_iter_", None)
    return not hasattr(run.estimator, "verdict_") and most is not None and used == most


def _few_distinct(run: Run) -> list[str]:
    seen: set[int] = set()
    for i in range(len(run.labels)):
        # Hashes take little room beside wide rows; a sum with 0 makes one zero of -0 and 0.
        seen.add(hash((run.rows([i]) + 0.0).tobytes()))
        if len(seen) >= run.n_clusters:
            return []
    return [
        f"There are {run.n_clusters} clusters, but only {plural(len(seen), 'distinct sample')}: "
        "equal samples cannot be told apart. Ask for fewer clusters."
    ]


def _weak(run: Run) -> list[str]:
    median = float(np.median(run.strength))
    if median >= _WEAK or run.method not in _TELLING:
        return []
    if by_votes(run.estimator):
        words = "Most samples have most of their nearest neighbours in other clusters"
    else:
        words = "Most samples are hardly more like their own cluster than like another"
    return [f"{words}: the median strength is {median:.2f}."]


def _tiny(run: Run) -> list[str]:
    sizes = run.sizes
    limit = max(2.0, _TINY * len(run.labels) / run.n_clusters)
    tiny = np.flatnonzero((sizes > 0) & (sizes <= limit))
    if len(tiny) == 0 or len(run.labels) <= 4 * run.n_clusters:
        return []  # where all clusters are small, none is conspicuous
    if len(tiny) > _NAMED:
        return [
            f"{len(tiny)} clusters are tiny, with at most {number(sizes[tiny].max())} of "
            f"{plural(len(run.labels), 'sample')} each. They may be outliers rather than groups."
        ]
    which = ", ".join(f"cluster {c} ({plural(int(sizes[c]), 'sample')})" for c in tiny)
    return [
        f"Tiny next to the others: {which}. Look at the members; they may be outliers rather "
        "than a group."
    ]
