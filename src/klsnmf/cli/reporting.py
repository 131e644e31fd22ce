"""The report of a clustering, and what it finds; one that fails leaves the other results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..io import Table
from .fits import Fitted, in_options


class ReportError(RuntimeError):
    """A report that could not be made, though the other results could."""


def write_report(
    table: Table,
    fitted: Fitted,
    strength: Any,  # (n,)
    path: Path,
    *,
    command: str,
    method: str,
    warnings: Sequence[str],
    notes: Sequence[str],
) -> tuple[list[str], ReportError | None]:
    """What the report says besides the warnings, or what to install for one; and its failure."""
    told: list[str] = []
    try:
        from .. import report
        from ..report.findings import findings

        run = report.Run(
            name=table.name,
            command=command,
            method=method,
            estimator=fitted.estimator,
            X=table.X,
            ids=table.ids,
            features=table.features,
            target=table.target,
            image_shape=table.image_shape,
            strength=strength,
            seconds=fitted.seconds,
            messages=list(warnings),
            notes=list(notes),
        )
        # The warnings come first, one for one.
        told += [in_options(finding) for finding in findings(run)[len(warnings) :]]
        report.write(run, path)
    except OSError:
        raise
    except ImportError as error:
        told.append(f"There is no {path.name}: {error}")
    except Exception as error:
        failure = ReportError(
            f"There is no {path.name}: it could not be made ({type(error).__name__}: {error}). "
            "The labels and the other results were kept."
        )
        failure.__cause__ = error
        return told, failure
    return told, None
