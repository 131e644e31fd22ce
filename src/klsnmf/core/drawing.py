"""Axes to draw on. matplotlib is imported only when something is drawn."""

from __future__ import annotations

from typing import Any


def axes(ax: Any = None) -> Any:
    """The given axes of matplotlib, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'klsnmf[plot]'.") from error
    return plt.subplots()[1]
