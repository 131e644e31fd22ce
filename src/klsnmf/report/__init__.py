"""The report of a clustering: one HTML file that shows what was found, and how sure it is."""

from __future__ import annotations

from . import plots
from .inline import Page
from .page import write
from .run import Run

__all__ = ["Page", "Run", "plots", "write"]
