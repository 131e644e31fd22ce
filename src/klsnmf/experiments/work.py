"""One cell of a table: its fits, scored, as rows."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from .. import metrics, path
from ..core.types import Array, Labels
from ..core.version import __version__
from ..core.work import threads_for
from ..estimators.labels import read_labels
from ..methods import METHODS
from .protocol import Cell, Table, Trial
from .rows import Row
from .subsets import classes_of, samples, width


def run_cell(table: Table, cell: Cell, data_home: str | None) -> list[Row]:
    """Fit all that a cell asks for, and score it."""
    data = samples(table.dataset, data_home)
    chosen = np.isin(data.y, classes_of(data.n_classes, cell.size, cell.subset, table.seed))
    X, y = data.X[chosen], data.y[chosen]
    trial = table.trial(cell.column)
    if trial.rows == "unit":
        X = normalize(X)
    seed = table.seed + cell.subset
    # Of the processor, not of the clock: what else the machine does is not counted.
    start = time.process_time()
    # On one thread wherever it runs: with several, rounding may lead a fit to another end.
    with warnings.catch_warnings(), threads_for(0):
        # A grid goes to where fits collapse or do not converge; the rows tell.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
        fits = list(_fits(trial, dict(cell.setting), X, cell.size, seed))
    seconds = (time.process_time() - start) / len(fits)
    which = table.name, cell.size, cell.subset, cell.column
    made_by = f"{seconds:.3f}", __version__, table.fingerprints(data.hash)[cell.column]
    rows = []
    for params, labels, objective, iterations, lam in fits:
        scores = (
            *(metrics.accuracy(y, labels), metrics.nmi(y, labels)),
            *(metrics.nmi(y, labels, average="max"), metrics.purity(y, labels)),
        )
        accuracy, nmi, nmi_max, purity = (f"{100 * score:.2f}" for score in scores)
        told = json.dumps(params, sort_keys=True), seed, accuracy, nmi, nmi_max, purity
        reached = f"{objective:.7g}", iterations, f"{lam:.5g}"
        fields = (*which, *told, *reached, *made_by)
        rows.append(Row(*fields))
    return rows


_Fit = tuple[dict[str, Any], Labels, float, int, float]


def _fits(trial: Trial, setting: dict[str, Any], X: Array, k: int, seed: int) -> Iterator[_Fit]:
    """Parameters, labels, objective, iterations and λ of each fit of a cell."""
    options = {**trial.fixed, **setting, "random_state": seed}
    estimator = METHODS[trial.method]
    if trial.rows == "unit" and "row_norm" in estimator().get_params():
        options["row_norm"] = None
    if "radius" in options:
        options["radius"] = width(X, options["radius"])
    if lams := trial.lams():
        for asked, model in zip(lams, path(X, k, lams=lams, **options), strict=True):
            told = model.objective_, model.n_iter_, model.lam_
            yield ({**setting, "lam": asked}, model.labels_, *told)
        return
    model = estimator(k, **options).fit(X)
    told = (
        float(getattr(model, "objective_", getattr(model, "inertia_", math.nan))),
        int(getattr(model, "n_iter_", 0)),
        float(getattr(model, "lam_", math.nan)),
    )
    if not trial.readings:
        yield (setting, model.labels_, *told)
    for how in trial.readings:
        labels, _ = read_labels(model.G_, model.labels_, how, check_random_state(seed))
        yield ({**setting, "labels": how}, labels, *told)
