"""How the factors and the objective settle: the paper's convergence figures as rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ..core.types import Array
from ..core.version import __version__
from ..core.work import steps
from ..methods import METHODS
from .behaviour import ITERATIONS, LAM, RADIUS, SUBSETS, Point
from .protocol import KERNEL, fingerprint
from .rows import read_rows, write_rows
from .subsets import classes_of, identity, samples, width

#: Set -> N: the smallest of its table. The paper draws Yale too, and has no table of it.
SIZES = {"pix": 2, "alphadigit": 5, "semeion": 2, "jaffe": 2, "yale": 5}
SOLVERS = ("paper", "soft", "exact")

#: All of the first hundred iterations, then fewer and fewer.
SHOWN = np.unique(np.r_[1:101, np.geomspace(100, ITERATIONS, 60).astype(int)])

#: What changes by less than this share of its scale changes by rounding only.
_ROUNDING = 1e-12


def protocol_of(name: str, data_home: str | None) -> str:
    """The fingerprint of all that the rows of a set depend on."""
    data_hash, _ = identity(name, data_home)
    told = [SIZES[name], SUBSETS, LAM, RADIUS, ITERATIONS, *SOLVERS, KERNEL]
    return fingerprint(convergence=name, data=data_hash, told=told)


def points(name: str, data_home: str | None) -> Iterator[Point]:
    """The fits of one set: as printed, symmetrised, and exact, from the same starts."""
    data = samples(name, data_home)
    protocol = protocol_of(name, data_home)
    for subset in steps(range(SUBSETS), f"{name}, convergence: subsets"):
        chosen = np.isin(data.y, classes_of(data.n_classes, SIZES[name], subset, seed=0))
        X = normalize(data.X[chosen].astype(np.float64))
        for solver in SOLVERS:
            model = METHODS["kls-nmf"](
                SIZES[name],
                kernel="rbf",
                n_neighbors=None,
                radius=width(X, RADIUS),
                row_norm=None,
                lam=LAM,
                solver=solver,
                init="kmeans",
                n_init=1,
                regroup=False,
                max_iter=ITERATIONS,
                tol=0,
                random_state=subset,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                history = model.fit(X).history_
            objective = history["objective"]
            change = np.hypot(history["change_W"], history["change_G"])
            for iteration in SHOWN[len(objective) >= SHOWN]:
                yield Point(
                    set=name,
                    N=SIZES[name],
                    subset=subset,
                    solver=solver,
                    rises=rises(objective, len(X)),
                    settled=settled_after(objective),
                    rate=round(rate(change), 5),
                    iteration=int(iteration),
                    objective=_short(objective[iteration - 1]),
                    change_W=_short(history["change_W"][iteration - 1]),
                    change_G=_short(history["change_G"][iteration - 1]),
                    version=__version__,
                    protocol=protocol,
                )


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def rises(objective: Array, scale: float) -> int:  # (t,) -> count
    """How often the objective goes up; ``scale`` is the size of what it is a difference of."""
    return int((np.diff(objective) > _ROUNDING * scale).sum())


def settled_after(objective: Array) -> int:  # (t,) -> iteration
    """The iteration from which on the objective is within 1/1000 of its lowest value."""
    far = np.flatnonzero(objective > 1.001 * objective.min())
    return int(far[-1]) + 2 if far.size else 1


def rate(change: Array) -> float:  # (t,) -> factor
    """The median factor from a change to the next, over the last half of those above rounding."""
    still = np.flatnonzero(change < _ROUNDING * change[0])
    moving = change[: still[0]] if still.size else change
    late = moving[len(moving) // 2 :]
    return float(np.median(late[1:] / late[:-1])) if len(late) > 1 else 0.0


def write(folder: Path, name: str, data_home: str | None) -> None:
    """The rows of one set, unless they are there."""
    if not read_one(folder, name, data_home):
        write_rows(_file(folder, name), Point, points(name, data_home))


def read(folder: Path, data_home: str | None) -> list[Point]:
    """The rows of all sets that are there."""
    return [point for name in SIZES for point in read_one(folder, name, data_home)]


def read_one(folder: Path, name: str, data_home: str | None) -> list[Point]:
    """The rows of one set, if they are there; others than today's program makes are refused."""
    path = _file(folder, name)
    return read_rows(path, Point, protocol_of(name, data_home)) if path.exists() else []


def _file(folder: Path, name: str) -> Path:
    return folder / "rows" / f"{name}-convergence.csv.gz"
