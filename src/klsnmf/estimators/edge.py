"""How estimators reach reports, plots and the score, which belong to later folders.

Reports import estimators, and not the other way round. So an estimator asks the package for a
public name, and only when a user calls the method.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def public(name: str) -> Any:
    """A public name of the package, imported on first use."""
    return getattr(import_module(__name__.partition(".")[0]), name)
