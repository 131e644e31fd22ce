"""What a fitted estimator shows in a notebook: its answer, a report, plots."""

from __future__ import annotations

from abc import abstractmethod
from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import host_copy
from ..core.types import Array, Labels, Matrix
from .edge import public
from .notes import Note, answer_of


class Shown:
    """Ways to look at a fit.

    In a notebook, the answer and the notes stand above scikit-learn's diagram.
    """

    labels_: Labels
    strengths_: Array
    verdict_: str
    notes_: tuple[Note, ...]

    @abstractmethod
    def _on_host(self, X: Any) -> Matrix:
        """Samples with the features of the fit, as numbers on the host."""

    def report(self, X: Any, *, name: str = "samples", **about: Any) -> Any:
        """The report of the fit, which a notebook shows and ``save`` writes to a file.

        It is the page that the command ``klsnmf cluster`` writes. It needs ``klsnmf[report]``.

        Parameters
        ----------
        X : the samples of the fit, as they were given to ``fit``
            The report uses the names of columns, and of the rows of a pandas.DataFrame.
        name : str, default="samples"
            What you call the data.
        **about : further parts of :class:`klsnmf.report.Run`
            ``ids``, ``features``, ``target`` (known classes), ``image_shape`` and others.

        Returns
        -------
        page : :class:`klsnmf.report.Page`
            A notebook shows it as the last value of a cell; ``page.save("report.html")`` writes it.
        """
        check_is_fitted(self)
        index = getattr(X, "index", None)  # of a data frame; a list has a method of this name
        known = {
            "features": getattr(self, "feature_names_in_", None),
            "ids": None if index is None or callable(index) else [str(one) for one in index],
        }
        known |= about
        model, samples = host_copy(self._as_shown()), self._on_host(X)
        if (rows := self._rows_shown(samples)) is not None:
            samples = samples[rows]
            for each in {"ids", "target", "strength"} & known.keys():
                values: Any = known[each]
                known[each] = None if values is None else np.asarray(values)[rows]
        module = public("report")
        return module.Page(module.Run(name, model, samples, **known))

    def _as_shown(self) -> Any:
        """The fit with labels of the samples that it was made of: all of X, or a part of it."""
        return self

    def _rows_shown(self, X: Matrix) -> Labels | None:
        """The rows of X that these samples are; None for all."""
        return None

    @property
    def plot(self) -> Plot:
        """Plots of the fit with matplotlib: ``map``, ``sizes``, ``evidence`` and ``history``."""
        return Plot(self)

    @abstractmethod
    def _kept(self) -> Matrix | None:
        """The samples that the fit keeps, if it keeps any."""

    def _repr_html_inner(self) -> str:
        return self._answer_in_html() + super()._repr_html_inner()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._answer_in_html() + bundle["text/html"]
        return bundle

    def _answer_in_html(self) -> str:
        if not hasattr(self, "labels_"):
            return ""
        answer = escape(answer_of(self.labels_, self.verdict_))
        notes = "".join(f"<li>{escape(str(note))}</li>" for note in self.notes_)
        notes = f"<ul>{notes}</ul>" if notes else ""
        return f"<p><strong>{escape(type(self).__name__)}</strong>: {answer}</p>{notes}"


class Plot:
    """Plots of a fitted estimator, ``model.plot``. They need matplotlib: ``klsnmf[plot]``.

    Each draws on the axes ``ax``, or on new ones, and returns them.
    """

    def __init__(self, estimator: Shown) -> None:
        self._estimator = estimator

    def map(self, X: Any = None, *, ax: Any = None) -> Any:
        """Draw samples as points in a plane, with colours and numbers of clusters.

        The plane is that of the report: two features if there are only two, else t-SNE, which knows
        nothing of the clusters. At most 1500 samples are drawn.

        Parameters
        ----------
        X : the samples of the fit, or None
            None takes what the fit keeps: the samples as the kernel saw them, or the coefficients
            for methods that factorize the samples themselves. A fit with ``kernel="precomputed"``
            keeps neither.
        ax : axes of matplotlib, or None for new ones
        """
        model = self._fitted()
        samples: Any = model._kept() if X is None else model._on_host(X)
        if X is not None and (rows := model._rows_shown(samples)) is not None:
            samples = samples[rows]
        if samples is None:
            raise ValueError(
                'A fit with kernel="precomputed" keeps no samples: give the kernel matrix, '
                "plot.map(K)."
            )
        return public("report").plots.draw_map(host_copy(model._as_shown()), samples, ax)

    def sizes(self, *, ax: Any = None) -> Any:
        """Draw how many samples each cluster has."""
        return public("report").plots.draw_sizes(self._fitted(), ax)

    def evidence(self, *, ax: Any = None) -> Any:
        """Draw the evidence for each number of clusters, after a fit with n_clusters="auto"."""
        return public("report").plots.draw_evidence(self._fitted(), ax)

    def history(self, *, ax: Any = None) -> Any:
        """Draw the objective by iteration."""
        return public("report").plots.draw_history(self._fitted(), ax)

    def _fitted(self) -> Shown:
        check_is_fitted(self._estimator)
        return self._estimator
