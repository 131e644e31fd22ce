"""What stands above the estimators and is yet a method of theirs: reports, plots, a score.

The arrows of the house go from reports to estimators. So an estimator knows these by their public
names alone, and asks the package for one when a user does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def public(name: str) -> Any:
    """A public name of the package, imported on first use."""
    return getattr(import_module(__name__.partition(".")[0]), name)
