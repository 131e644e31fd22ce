"""The report inside a notebook."""

from __future__ import annotations

import os
from functools import cached_property
from html import escape

from ..core.words import plural
from ..core.writing import write_whole
from .page import render
from .run import Run

#: The height of the page in a notebook, in pixels; it scrolls.
_HEIGHT = 720

#: The address of a document in ``srcdoc``.
_BASE = '<base href="about:srcdoc">'


class Page:
    """The report of a run: a notebook shows it, and ``save`` writes it to a file.

    Parameters
    ----------
    run : :class:`klsnmf.report.Run`
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def content(self) -> bytes:
        """The page as one HTML file that needs nothing else."""
        return render(self.run)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears complete or not at all."""
        write_whole(path, self.content)

    def _repr_html_(self) -> str:
        # In its own frame, so that styles and scripts of page and notebook stay apart.
        # Without this base, links inside the page would lead to the notebook's address.
        page = self.content.decode("utf-8").replace("<head>", f"<head>{_BASE}", 1)
        title = escape(f"Report of {self.run.name}")
        return (
            f'<iframe srcdoc="{escape(page)}" title="{title}" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        n, k = plural(self.run.X.shape[0], "sample"), plural(self.run.n_clusters, "cluster")
        return f'Report of {n} in {k}: save("report.html") writes it to a file.'
