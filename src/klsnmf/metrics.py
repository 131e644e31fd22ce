"""How well a clustering agrees with known classes.

Labels are numbers or strings. There may be more clusters than classes, or fewer. All scores are
between 0 and 1, and renaming the clusters does not change them.

Use ``accuracy_scorer``, ``nmi_scorer`` and ``purity_scorer`` as ``scoring=`` of ``GridSearchCV``
and ``cross_validate``. Each predicts the clusters of the samples that were left out, and compares
them with the classes.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import make_scorer, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from .core.types import Array

__all__ = [
    "accuracy",
    "accuracy_scorer",
    "nmi",
    "nmi_scorer",
    "purity",
    "purity_scorer",
    "scores",
]


def _counts(y: Any, labels: Any) -> Array:  # (classes, clusters)
    """How many samples of each class are in each cluster."""
    y, labels = np.asarray(y), np.asarray(labels)
    if y.ndim != 1 or labels.ndim != 1 or len(y) != len(labels):
        raise ValueError(
            f"y has shape {y.shape} and labels {labels.shape}; both must be one-dimensional "
            "and equally long."
        )
    if len(y) == 0:
        raise ValueError("y and labels are empty; there is nothing to compare.")
    counts: Array = contingency_matrix(y, labels)
    return counts


def accuracy(y: Any, labels: Any) -> float:
    """The share of samples whose cluster has their class, with the best class for each cluster.

    No two clusters get the same class. If there are more clusters than classes, those without a
    class count as wrong.
    """
    counts = _counts(y, labels)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


def purity(y: Any, labels: Any) -> float:
    """The share of samples that have the most common class of their cluster."""
    counts = _counts(y, labels)
    return float(counts.max(axis=0).sum() / counts.sum())


def nmi(y: Any, labels: Any, average: Literal["sqrt", "max"] = "sqrt") -> float:
    """Normalised mutual information: I(y; labels) divided by a mean of the two entropies.

    ``average="sqrt"`` divides by √(H·H'), "max" by max(H, H'). Both are in use; "max" never gives
    more. scikit-learn's default is a third choice, the arithmetic mean.
    """
    if average not in ("sqrt", "max"):
        raise ValueError(f"average must be 'sqrt' or 'max', not {average!r}.")
    _counts(y, labels)
    method = {"sqrt": "geometric", "max": "max"}[average]
    return float(normalized_mutual_info_score(y, labels, average_method=method))


def scores(y: Any, labels: Any) -> dict[str, float]:
    """Accuracy, NMI (√) and purity, by name."""
    return {
        "accuracy": accuracy(y, labels),
        "nmi": nmi(y, labels),
        "purity": purity(y, labels),
    }


#: ``scorer(estimator, X, y)``: the accuracy, NMI (√) or purity of ``estimator.predict(X)``.
accuracy_scorer: Any = make_scorer(accuracy)
nmi_scorer: Any = make_scorer(nmi)
purity_scorer: Any = make_scorer(purity)
